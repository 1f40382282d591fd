"""REFINE r TO WITHIN a: the answer is as near as is said."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from privql.kernel import merged
from privql.pipeline import merging
from privql.session import Session, connect
from tests.pipeline.refining.people import END, FRAMES, POLICY, halves


def test_thousands_of_refined_answers_are_as_near_as_is_said(session: Session) -> None:
    """Of counts of nobody, of which all is noise. Coverage is 95% or little more, and the variance that of the law."""
    keys = ", ".join(map(str, range(1000, 4000)))
    text = f"SELECT age + 100 * LENGTH(sex) AS k, COUNT(*) AS n FROM people GROUP BY k KEYS ({keys})"
    first = session.run(f"{text} WITHIN 40 SPEND DELTA 1e-6 USING GAUSSIAN")
    second = session.run(f"REFINE {first.release_id} TO WITHIN 25")
    third = session.run(f"REFINE {second.release_id} TO WITHIN 18")
    for answer, width in ((second, 25), (third, 18)):
        numbers = [n for _, n in answer.rows]
        far = sum(abs(n) > width for n in numbers) / len(numbers)
        assert len(numbers) == 3000 and 0.025 < far < 0.068
        sigma = float(Fraction(answer.certificate["measurements"][0]["merged"]["scale"]))
        square = sum(n * n for n in numbers) / len(numbers)
        assert 0.87 < square / (sigma**2 + 1 / 8) < 1.13


@pytest.mark.parametrize("fault", ["swapped", "first alone"])
def test_planted_answers_that_are_merged_wrongly_are_too_far(
    session: Session, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    keys = ", ".join(map(str, range(1000, 3000)))
    text = f"SELECT age + 200 * LENGTH(sex) AS k, COUNT(*) AS n FROM people GROUP BY k KEYS ({keys})"
    ask = f"{text} WITHIN {41 if fault == 'swapped' else 42} SPEND DELTA 1e-6 USING GAUSSIAN"
    first, honest = session.run(ask), merged.weights

    def wrong(deviations: Any) -> tuple[int, ...]:
        return honest(deviations)[::-1] if fault == "swapped" else (1, *[0] * (len(deviations) - 1))

    monkeypatch.setattr(merging, "weights", wrong)
    answer = session.run(f"REFINE {first.release_id} TO WITHIN 15")
    assert sum(abs(n) > 15 for _, n in answer.rows) / len(answer.rows) > 0.1


def test_means_sums_and_what_is_computed_have_the_errors_of_what_is_merged(session: Session) -> None:
    text = "SELECT sex, COUNT(*) AS n, SUM(age) AS a, AVG(age) AS m, SUM(age) / COUNT(*) AS r FROM people GROUP BY sex"
    first = session.run(f"CREATE RELEASE wide AS {text} HAVING COUNT(*) > -100000 ORDER BY sex DESC {END}")
    answer = session.run("REFINE wide TO WITHIN 300 GIVEN COUNT >= 100 AS narrow")
    assert [row[0] for row in answer.rows] == ["m", "f"]
    for column in ("n", "a", "m", "r"):
        assert all(new < old for new, old in zip(halves(answer, column), halves(first, column), strict=True)), column
    for row, (low, high) in zip(answer.rows, answer.interval(0.999999)[["m_low", "m_high"]].values, strict=True):
        assert low <= 30 <= high and low <= float(row[3]) <= high
    read = session.run("SELECT SUM(n) AS n FROM narrow")
    assert read.rows[0][0] == sum(row[1] for row in answer.rows) and halves(read, "n")[0] < 2 * halves(first, "n")[0]


def test_means_of_merged_cells_lie_in_their_intervals() -> None:
    with connect(policy=POLICY, frames=FRAMES, analyst="ada") as session:
        inside = 0
        for run in range(60):
            where = f"WHERE age < {31 + run}"
            first = session.run(f"SELECT AVG(age) AS m FROM people {where} SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN")
            answer = session.run(f"REFINE {first.release_id} TO WITHIN 0.2 AT 80% GIVEN COUNT >= 400")
            ((low, high),) = answer.interval(0.8)[["m_low", "m_high"]].values
            inside += low <= 30 <= high
    assert inside >= 36  # of 48 that are promised: fewer come in one of 10^4 runs
