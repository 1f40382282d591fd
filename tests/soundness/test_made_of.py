"""Aggregates that are made of others mean what SQL means by them: without noise, the answers of a plain engine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import duckdb
import pytest

from privql.diagnostics import Source
from privql.kernel.scalars import Value
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from tests.soundness.exactly import Exactly, public_engine
from tests.soundness.world import environment

ENV = environment()
ITEMS = [
    "REGR_COUNT(a, b)",
    "REGR_AVGX(a, b)",
    "REGR_AVGY(a, b)",
    "REGR_SXX(a, b)",
    "REGR_SYY(a, b)",
    "REGR_SXY(a, b)",
    "REGR_SXX(a, b) FILTER (WHERE k)",
    "COUNT_IF(a > 2)",
    "COUNTIF(k) FILTER (WHERE b > 1)",
    "COVAR_POP(DISTINCT a, b)",
    "CORR(DISTINCT a, b) FILTER (WHERE s = 'x')",
    "VAR_POP(DISTINCT a)",
    "MEAN(a)",
]


@pytest.fixture(scope="module")
def exactly() -> Iterator[Exactly]:
    post = public_engine(ENV.catalog, {})
    yield Exactly(post)
    post.close()


def checked(query: str) -> StatementCheck:
    one, _ = next(iter(check_text(Source(query), ENV)))
    assert one.ok, f"{query}\n{one.diagnostics}"
    return one


def rows_of(choice: random.Random) -> list[Mapping[str, Value]]:
    made: list[Mapping[str, Value]] = []
    for at in range(choice.choice([0, 1, 3, 8, 15])):
        a, b = choice.choice([None, -3, 0, 2, 5, 7]), choice.choice([None, 0, 1, 3, 5])
        row: dict[str, Value] = dict.fromkeys("cfdzwt")
        made.append(
            {**row, "id": f"u{at}", "a": a, "b": b, "k": choice.choice([True, False, None]), "s": choice.choice("xy")}
        )
    return made


def plainly(item: str, rows: Sequence[Mapping[str, Value]], grouped: bool) -> dict[Value, Value]:
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE people (a BIGINT, b BIGINT, k BOOL, s TEXT)")
        for row in rows:
            engine.execute("INSERT INTO people VALUES (?, ?, ?, ?)", [row[name] for name in "abks"])
        key = "s" if grouped else "1"
        return dict(engine.execute(f"SELECT {key}, {item} FROM people GROUP BY {key}").fetchall())


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("grouped", [False, True])
def test_without_noise_the_answers_are_plain_sqls(item: str, grouped: bool, exactly: Exactly) -> None:
    choice = random.Random(4)
    group = "s, " if grouped else ""
    check = checked(f"SELECT {group}{item} AS x FROM people{' GROUP BY s' if grouped else ''} SPEND EPSILON 1")
    for _ in range(4):
        rows = rows_of(choice)
        wanted = plainly(item, rows, grouped)
        for row in exactly.answer(check, {"people": rows}).rows:
            value, expected = row[-1], wanted.get(row[0] if grouped else 1)
            if value is None or expected is None or expected != expected:
                assert not value and (not expected or expected != expected), (item, value, expected, rows)
            else:
                assert isinstance(value, int | float | Fraction)
                assert float(value) == pytest.approx(expected, abs=1e-9), (item, rows)


def test_r_squared_is_the_square_of_the_correlation(exactly: Exactly) -> None:
    check = checked("SELECT REGR_R2(a, b) AS x, CORR(a, b) AS r FROM people SPEND EPSILON 1")
    assert len(check.measurements) == 1
    rows = rows_of(random.Random(9)) + rows_of(random.Random(10)) + rows_of(random.Random(11))
    ((square, r),) = exactly.answer(check, {"people": [{**row, "id": f"v{at}"} for at, row in enumerate(rows)]}).rows
    assert isinstance(r, float) and square == r * r != 0


FREE = (
    "SELECT REGR_COUNT(y, x), REGR_AVGX(y, x), REGR_AVGY(y, x), REGR_SXX(y, x), REGR_SYY(y, x), REGR_SXY(y, x) FROM t"
)
VALUES = "(VALUES (1, 2), (3, 5), (NULL, 4), (2, NULL), (7, 1), (5, 5))"


def test_of_public_rows_too(exactly: Exactly) -> None:
    query = FREE.replace("FROM t", f"FROM {VALUES} AS t (y, x)")
    with duckdb.connect() as engine:
        (wanted,) = engine.execute(query).fetchall()
    (found,) = exactly.answer(checked(query), {}).rows
    assert found == pytest.approx(wanted)
    windowed = checked(f"SELECT REGR_SXX(y, x) OVER () AS x FROM {VALUES} AS t (y, x)")
    assert [row[0] for row in exactly.answer(windowed, {}).rows] == [pytest.approx(wanted[3])] * 6
