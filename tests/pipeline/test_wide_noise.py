"""Numbers with more noise than their type holds: they are priced, said to be so, and shown."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pandas as pd
import pytest

import privql
from privql.finish.text import text_table
from privql.pipeline.figures import rough

POLICY = """
CREATE UNIT person;
CREATE PRIVATE TABLE t (
  id INT UNIT person KEY, x FLOAT BETWEEN -1e308 AND 1e308,
  i INT BETWEEN -9000000000000000000 AND 9000000000000000000, n INT BETWEEN 0 AND 9
);
CREATE BUDGET all_of_it FOR UNIT person EPSILON 100;
"""
ROWS = pd.DataFrame({"id": [1, 2], "x": [1.0, -1e308], "i": [1, 2], "n": [1, 2]})


@pytest.mark.parametrize(
    ("asked", "beyond"),
    [
        ("SUM(x)", "FLOAT"),
        ("SUM(i)", "INT"),
        ("SUM(n)", ""),
        ("COUNT(*)", ""),
        ("SUM(n) + 1.5", ""),
    ],
)
def test_noise_that_is_more_than_the_type_holds_is_told_before_and_shown_after(asked: str, beyond: str) -> None:
    with privql.connect(policy=POLICY, frames={"t": ROWS}, analyst="alice") as session:
        query = f"SELECT {asked} AS wide FROM t SPEND EPSILON 1"
        told = str(session.check(query))
        assert (f"NULL where it is too large for {beyond}" in told) == bool(beyond) == ("too large" in told)
        assert all(len(line) < 100 for line in told.splitlines())
        for at in range(8):
            shown = str(session.run(query.replace("wide", f"wide{at}")))
            assert all(len(line) < 100 for line in shown.splitlines())


def test_errors_are_never_printed_smaller_than_they_are() -> None:
    random = Random(1)
    for _ in range(2000):
        width = random.randint(1, 10 ** random.randint(1, 330))
        exact = Fraction(width, random.choice((1, 7, 1000)))
        assert exact <= Fraction(rough(exact)) <= exact * Fraction(1001, 1000) + Fraction(1, 1000)
        shown = text_table(["x"], [[0]], [[width]]).splitlines()[2].split(" ± ")[1]
        assert width <= Fraction(shown) + 1 and Fraction(shown) <= max(width * Fraction(102, 100), width + 1)
