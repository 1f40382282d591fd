"""Counts and sums that are only added up are one sum: the same answers to hostile rows, no more moved than claimed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest

from privql.diagnostics import Source
from privql.kernel.measure import Measured
from privql.kernel.scalars import Value
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from tests.assurance import assured, length
from tests.soundness.exactly import Exactly, public_engine
from tests.soundness.neighbours import moves
from tests.soundness.world import KINDS, environment, random_row

QUERIES = length(40, 2000)
ENV = environment()
ARGUMENTS = ["COUNT(*", "COUNT(a", "COUNT(k", "SUM(a", "SUM(b", "SUM(c", "SUM(f", "SUM(a * b", "SUM(CLAMP(w, -2, 1)"]
FILTERS = [
    "",
    "",
    "",
    " FILTER (WHERE k)",
    " FILTER (WHERE s = 'x')",
    " FILTER (WHERE a > 0)",
    " FILTER (WHERE b IS NULL)",
]
FACTORS = ["", "", "2 * ", "0.25 * ", "-3 * ", "10000 * "]
CASTS = ["INT", "FLOAT", "DECIMAL(38, 0)", "DECIMAL(30, 1)", "DECIMAL(38, 4)", "DECIMAL(2, 1)"]


@pytest.fixture(scope="module")
def exactly() -> Iterator[Exactly]:
    post = public_engine(ENV.catalog, {})
    yield Exactly(post)
    post.close()


def checked(query: str) -> StatementCheck:
    one, _ = next(iter(check_text(Source(query), ENV)))
    assert one.ok, f"{query}\n{one.diagnostics}"
    return one


def combination(choice: random.Random) -> tuple[str, str]:
    """As it is, and of parts with clauses of their own, which are measured apart."""
    together, apart = "", ""
    everywhere = choice.choice(FILTERS)
    for at in range(choice.randint(2, 4)):
        where = choice.choice([everywhere, everywhere, choice.choice(FILTERS)])
        sign = choice.choice([" + ", " - "]) if at else choice.choice(["", "- "])
        start, call = f"{sign}{choice.choice(FACTORS)}", choice.choice(ARGUMENTS)
        one, other = f"{call}){where}", f"{call} SHARE 1){where}"
        if choice.random() < 0.2:
            type = choice.choice(CASTS)
            one, other = f"CAST({one} AS {type})", f"CAST({other} AS {type})"
        together, apart = f"{together}{start}{one}", f"{apart}{start}{other}"
    return together, apart


def test_without_noise_the_answers_are_those_of_the_parts(exactly: Exactly) -> None:
    with assured("one-sum") as tally:
        tally["tried"] += QUERIES
        choice, merged = random.Random(8), 0
        for _ in range(QUERIES):
            first, second = combination(choice), combination(choice)
            table, group = choice.choice(["people", "events", "strict"]), choice.choice(["", " GROUP BY s"])
            key, having = ("s, " if group else ""), choice.choice(["", " HAVING {} IS NOT NULL"])
            of = f" FROM {table}{group}"
            one, other = (
                checked(f"SELECT {key}{x} AS x, ({y}) * 2 AS y{of}{having.format(y)} SPEND EPSILON 1")
                for x, y in zip(first, second, strict=True)
            )
            merged += len(one.measurements) < len(other.measurements)
            for _ in range(3):
                rows: list[Mapping[str, Value]] = [
                    {**random_row(choice), "id": f"u{at // KINDS[table].rows_per_unit}"} for at in range(7)
                ]
                answers = zip(
                    exactly.answer(one, {table: rows}).rows, exactly.answer(other, {table: rows}).rows, strict=True
                )
                for row, same in answers:
                    for value, expected in zip(row, same, strict=True):
                        alike = (
                            value == pytest.approx(expected, abs=1e-6)
                            if isinstance(expected, float)
                            else value == expected
                        )
                        assert alike, (one.source.text, value, expected, rows)
        assert merged > QUERIES / 2


CLAIMS = [
    ("people", "", "SUM(a) + 2 * SUM(b) - COUNT(*)"),
    ("members", "", "SUM(a) FILTER (WHERE k) - SUM(b) FILTER (WHERE a > 0)"),
    ("dues", "s", "SUM(c) - 0.5 * COUNT(a)"),
    ("events", "", "SUM(b) - SUM(a)"),
]


@pytest.mark.parametrize(("table", "key", "combined"), CLAIMS)
def test_no_neighbour_moves_it_beyond_the_claim(table: str, key: str, combined: str) -> None:
    group = f" GROUP BY {key}" if key else ""
    check = checked(f"SELECT {combined} AS x FROM {table}{group} SPEND EPSILON 1")
    assert check.plan is not None and len(check.measurements) == 1
    measured = check.plan.blocks[0].measured
    assert isinstance(measured, Measured)
    (part,) = measured.parts
    farthest = max(move.l1 for (move,) in moves(measured, random.Random(3)))
    assert 0.8 * part.sensitivity.l1 <= farthest <= part.sensitivity.l1


def texts(query: str) -> list[str]:
    return sorted(one.text for each in checked(query).measurements for one in (each.aggregate, *each.also))


PLANS = [
    ("SUM(a) + SUM(b) AS x, SUM(b) * 1 + SUM(a) AS y", ["SUM(a) + SUM(b)", "SUM(b) + SUM(a)"]),
    ("SUM(a) + SUM(b) - COUNT(*) AS x, COUNT(*) AS n", ["COUNT(*)", "SUM(a) + SUM(b)"]),
    ("SUM(a) + SUM(b) AS x, SUM(a) - SUM(b) AS y", ["SUM(a)", "SUM(b)"]),
    ("-SUM(a) + SUM(b) AS x", ["-SUM(a) + SUM(b)"]),
    ("-(SUM(a) - SUM(b) * 2) * 3 AS x", ["-3 * SUM(a) + 6 * SUM(b)"]),
    ("SUM(a) / COUNT(*) AS x", ["COUNT(*)", "SUM(a)"]),
    ("SUM(a) * SUM(b) AS x", ["SUM(a)", "SUM(b)"]),
    ("SUM(a) - SUM(a) AS x, SUM(b) + 5 AS y", ["SUM(a)", "SUM(b)"]),
    ("SUM(a) - SUM(a) + SUM(b) AS x", ["SUM(a)", "SUM(b)"]),
    ("SUM(a SHARE 2) + SUM(b) AS x", ["SUM(a SHARE 2)", "SUM(b)"]),
    ("COUNT(DISTINCT a) + COUNT(*) AS x", ["COUNT(*)", "COUNT(DISTINCT a)"]),
    ("AVG(a) AS m, SUM(a) - 2 * COUNT(a) AS x", ["AVG(a)", "COUNT(a)", "SUM(a)"]),
    ("2 * (SUM(c) - COUNT(*)) + AVG(a) AS x", ["AVG(a)", "2 * SUM(c) - 2 * COUNT(*)"]),
    ("CAST(SUM(c) + SUM(b) AS INT) AS x", ["SUM(c) + SUM(b)"]),
    ("CAST(SUM(c) AS INT) + SUM(b) AS x", ["SUM(b)", "SUM(c)"]),
    ("CAST(SUM(c) AS DECIMAL(38, 0)) + SUM(b) AS x", ["SUM(b)", "SUM(c)"]),
    ("CAST(SUM(c) + SUM(b) AS DECIMAL(38, 4)) AS x", ["SUM(c) + SUM(b)"]),
    ("CAST(COUNT(*) AS DECIMAL(19, 0)) + SUM(c) AS x", ["COUNT(*) + SUM(c)"]),
    ("CAST(COUNT(*) AS DECIMAL(18, 0)) + SUM(c) AS x", ["COUNT(*)", "SUM(c)"]),
    ("CAST(COUNT(*) AS DECIMAL(19, 1)) + SUM(c) AS x", ["COUNT(*)", "SUM(c)"]),
    ("CAST(CAST(COUNT(*) AS DECIMAL(20, 0)) AS DECIMAL(21, 0)) + SUM(c) AS x", ["COUNT(*) + SUM(c)"]),
    ("CAST(CAST(COUNT(*) AS DECIMAL(20, 0)) AS DECIMAL(21, 1)) + SUM(f) AS x", ["COUNT(*) + SUM(f)"]),
    ("CAST(CAST(COUNT(*) AS DECIMAL(20, 0)) AS DECIMAL(30, 2)) + SUM(c) AS x", ["COUNT(*)", "SUM(c)"]),
    ("CAST(CAST(COUNT(*) AS DECIMAL(20, 1)) AS DECIMAL(21, 0)) + SUM(c) AS x", ["COUNT(*)", "SUM(c)"]),
    ("CAST(CAST(COUNT(*) AS DECIMAL(21, 1)) AS DECIMAL(22, 2)) + SUM(f) AS x", ["COUNT(*) + SUM(f)"]),
    ("CAST(SUM(f) AS FLOAT) + SUM(c) AS x", ["SUM(f) + SUM(c)"]),
    ("CAST(SUM(f) AS DECIMAL(38, 4)) + SUM(c) AS x", ["SUM(c)", "SUM(f)"]),
    ("9000000000000000000 * SUM(a) + SUM(b) AS x", ["SUM(a)", "SUM(b)"]),
    ("9000000000000000000 * SUM(a) + SUM(f) AS x", ["SUM(a)", "SUM(f)"]),
    ("1e308 * SUM(a) + SUM(f) AS x", ["SUM(a)", "SUM(f)"]),
    ("SUM(a) + SUM(CLAMP(z, 0, 2000000000000000000)) AS x", ["SUM(CLAMP(z, 0, 2000000000000000000))", "SUM(a)"]),
]


@pytest.mark.parametrize(("items", "measured"), PLANS)
def test_what_is_one_sum(items: str, measured: list[str]) -> None:
    found = texts(f"SELECT {items} FROM people SPEND EPSILON 1")
    assert found == sorted(measured) or (len(measured) == 2 and "SUM(b) + SUM(a)" in measured and found[0] in measured)


ONCE = [
    "COUNT(*) AS x, COUNT(1) AS y, COUNT(*) + 1 AS z",
    "AVG(a) AS x, AVG(a) * 2 AS y",
    "SUM(a) FILTER (WHERE k AND b > 1) AS x, SUM(a) FILTER (WHERE k AND b > 1) / 2 AS y",
    "COUNT(DISTINCT s) AS x, COUNT(DISTINCT s) - 1 AS y",
    "MEDIAN(b) AS x, MEDIAN(b) + 1 AS y",
    "VARIANCE(b) AS x, STDDEV(b) AS y, VAR_SAMP(b) AS z",
]


@pytest.mark.parametrize("items", ONCE)
def test_what_stands_twice_is_measured_once(items: str) -> None:
    first = items.split(" AS x")[0]
    query = f"SELECT {items} FROM people HAVING {first} > 0 ORDER BY {first} SPEND EPSILON 1"
    assert len(checked(query).measurements) == 1
