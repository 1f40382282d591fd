"""The shapes that queries come in, each a text of `shapes.pql` that DuckDB runs, too.

With next to no noise the answer is DuckDB's own: the same groups, in the same order if one is asked for.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import privql
from privql.finish.result import Release
from tests.queries.clinic import FRAMES, POLICY

_SHAPE = re.compile(
    r"^-- (?P<shape>.+) \[(?P<keys>\d)\]\n(?P<text>(?s:.+?));\n(-- plainly\n(?P<plain>(?s:.+?));\n)?", re.MULTILINE
)
TEXTS = Path(__file__).with_name("shapes.pql").read_text(encoding="utf-8")
SHAPES = [pytest.param(*one.group("keys", "text", "plain"), id=one["shape"]) for one in _SHAPE.finditer(TEXTS)]


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, frame in FRAMES.items():
            connection.register(name, frame)
        yield connection


def test_every_text_is_one_of_the_shapes() -> None:
    assert len(SHAPES) == TEXTS.count("\n-- ") - TEXTS.count("\n-- plainly\n") - 1


@pytest.mark.parametrize(("keys", "text", "in_plain"), SHAPES)
def test_an_answer_is_the_plain_one(
    keys: str, text: str, in_plain: str | None, plain: duckdb.DuckDBPyConnection
) -> None:
    wanted = [tuple(map(comparable, row)) for row in plain.execute(in_plain or text).fetchall()]
    with privql.connect(policy=POLICY, frames=FRAMES, analyst="alice") as session:
        session.run("SET epsilon = 1000000")
        answer = session.run(text)
    assert answer.cost.epsilon == (0 if text.startswith("SELECT DISTINCT sex") else 10**6)
    compare(answer, wanted, int(keys), ordered="ORDER BY" in text.rsplit(")", 1)[-1])


def comparable(value: Any) -> Any:
    match value:
        case bool() | str() | None:
            return value
        case datetime.datetime():
            return comparable(value.date())
        case datetime.date():
            return (value - datetime.date(1970, 1, 1)).days
        case _:
            assert isinstance(value, Decimal | int | float | Fraction)
            return Fraction(value)


def compare(answer: Release, wanted: list[tuple[Any, ...]], keys: int, ordered: bool) -> None:
    found = [tuple(map(comparable, row)) for row in answer.rows]
    truth = {row[:keys]: row for row in wanted}
    assert len(truth) == len(wanted)
    groups = [row[:keys] for row in found]
    assert len(set(groups)) == len(groups) > 0
    assert set(groups) >= set(truth)
    if ordered:
        assert [group for group in groups if group in truth] == list(truth)
    for row in found:
        exact = truth.get(row[:keys])
        for at in range(keys, len(row)):
            near(row[at], None if exact is None else exact[at], answer.columns[at].law is not None)


def near(got: Any, exact: Any, measured: bool) -> None:
    """`exact` None: nobody is in the group, or nothing was added up, so that a measured number is noise about 0."""
    if exact is None:
        assert got is None or not measured or abs(got) < 1
    elif isinstance(exact, Fraction):
        assert got is not None and abs(got - exact) <= max(abs(exact), 1) / 1000
    else:
        assert got == exact
