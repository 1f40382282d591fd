"""Every aggregate and window of one unit's rows: what plain SQL says it is, within the range that is claimed for it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import pandas as pd
import pytest

import privql
from privql.audit import reference
from privql.audit.reference.values import Tables
from privql.check.relations import Aggregate
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.kernel.sums import Sums
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from privql.plan.bounds import contribution
from tests.assurance import assured, length
from tests.soundness.plain import Plain
from tests.soundness.related import HONEST, PUBLIC, Database, environment, honest, policy, together
from tests.soundness.related_measured import frames
from tests.soundness.related_neighbours import SALT

MANY = 1_000_000
ENV = environment(MANY, change_one=False)
DATABASES = length(2, 40)
Worlds = list[tuple[Tables, DuckDBEngine, Plain]]
X, Y = "v.minutes", "v.vid % 7"
THIRD = f"CAST({X} AS DOUBLE) / 3"  # no grid holds it
MONEY = "CAST(v.minutes * 1.25 AS DECIMAL(10,2))"

AGGREGATES = (
    *(f"{f}({x})" for f in ("VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV_POP", "STDDEV_SAMP", "STDDEV")
      for x in (X, THIRD, MONEY)),
    f"MEDIAN({X})", f"MEDIAN({THIRD})",
    *(f"{f}({THIRD}, CLAMP({Y}, 0, 6))" for f in ("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT")),
    *(f"{f}({X}, {share})" for f in ("QUANTILE_CONT", "QUANTILE_DISC") for share in (0, 0.1, 0.25, 0.57, 0.9, 1)),
    f"PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {THIRD} DESC)",
    f"PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY {X} DESC)",
    f"COUNT_IF({X} IS NOT NULL AND {X} > 0)",
    f"BIT_AND({X})", f"BIT_OR(CLAMP({X}, 0, 4))", f"BIT_XOR({Y})",
    f"COUNT(DISTINCT {X})", f"SUM(DISTINCT {X})", f"AVG(DISTINCT {X})", f"SUM(DISTINCT {MONEY})",
    f"STDDEV(DISTINCT {X})", f"MEDIAN(DISTINCT {THIRD})", f"BIT_XOR(DISTINCT {Y})",
    f"CORR(DISTINCT {X}, CLAMP({Y}, 0, 6))", f"MAX(DISTINCT {X})",
)  # fmt: skip
TEXTS = (
    "STRING_AGG(v.ward, ',' ORDER BY v.vid)",
    "STRING_AGG(v.ward, '''' ORDER BY v.minutes DESC NULLS FIRST, v.ward)",
    "STRING_AGG(DISTINCT v.ward, '' ORDER BY v.ward)",
    "QUANTILE_DISC(v.ward, 0.5)",
)
FRAMES = (
    "ROWS 1 PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 2 PRECEDING AND 3 PRECEDING",
    "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
)
OVER = (
    *(f"NTILE({n}) OVER ({{part}} ORDER BY v.ward DESC NULLS FIRST, v.vid)" for n in ("2", "3", "1 + v.vid % 3")),
    *(f"{f}() OVER ({{part}} ORDER BY v.ward)" for f in ("PERCENT_RANK", "CUME_DIST")),
    *(f"{f} OVER ({{part}})" for f in ("PERCENT_RANK()", "CUME_DIST()", f"STDDEV({X})")),
    *(f"{f} OVER ({{part}} ORDER BY v.ward NULLS FIRST, v.vid {frame})"
      for frame in FRAMES for f in (f"SUM({X})", "COUNT(*)", f"MIN({X})", f"VAR_POP({X})", f"QUANTILE_CONT({X}, 0.3)",
                                     f"LAST_VALUE({X})", f"FIRST_VALUE({X} IGNORE NULLS)", f"NTH_VALUE({X}, 2)")),
    *(f"{f} OVER ({{part}} ORDER BY v.urgent {frame})"
      for frame in FRAMES[4:] for f in (f"SUM({X})", "COUNT(*)", f"MAX({X})", f"MEDIAN({X})", f"BIT_XOR({Y})")),
    f"FIRST_VALUE({X}) OVER ({{part}} ORDER BY v.vid DESC)",
    f"SUM({X}) FILTER (WHERE v.urgent) OVER ({{part}} ORDER BY v.vid ROWS 1 PRECEDING)",
)  # fmt: skip
ROOMY = ("REGR", "SUM", "COUNT", "BIT_AND", "BIT_XOR")  # nothing bounds these but the query


@pytest.fixture(scope="module")
def worlds() -> Iterator[Worlds]:
    choice, made = random.Random(23), []
    for _ in range(DATABASES):
        tables = together(*(Database(choice, HONEST, visits=10 * at).unit(f"u{at}", 6) for at in range(4)))
        plain = Plain(ENV.catalog, policy(MANY, change_one=False), PUBLIC)
        plain.hold(tables)
        made.append((tables, DuckDBEngine(frames(tables), threads=1), plain))
    yield made
    for _, engine, plain in made:
        engine.close()
        plain.close()


def wanted(inner: str, value: str) -> str:
    bounded = f"CLAMP({value}, -1000, 1000)" if any(name in inner for name in ROOMY) else value
    return f"SELECT COUNT(t.s SHARE 1) AS n, AVG({bounded}) AS mean FROM ({inner}) AS t"  # each measured apart


def numbers() -> Iterator[str]:
    yield from (f"SELECT v.pid, {one} AS s FROM visits v GROUP BY v.pid" for one in AGGREGATES)
    filtered = (f"SELECT v.pid, {one} FILTER (WHERE v.urgent) AS s FROM visits v GROUP BY v.pid, v.ward"
                for one in AGGREGATES[::4] if "WITHIN" not in one and "COUNT_IF" not in one)  # fmt: skip
    yield from filtered
    split = (one for one in AGGREGATES if "DISTINCT" in one)
    yield from (f"SELECT v.pid, {one} AS s FROM visits v GROUP BY v.pid, v.ward" for one in split)
    yield from (f"SELECT v.pid, {one.format(part='PARTITION BY v.pid')} AS s FROM visits v" for one in OVER)


def checked(sql: str) -> StatementCheck:
    one, _ = next(iter(check_text(Source(f"{sql} AT MOST {MANY} ROWS PER UNIT"), ENV)))
    assert one.ok, (sql, [d.message for d in one.diagnostics])
    return one


def measured(check: StatementCheck) -> tuple[Aggregate, Sums]:
    assert check.plan is not None and check.query is not None
    (plan,) = check.plan.blocks
    assert plan.measured is not None
    return plan.block.aggregates[-1], plan.measured.term


@pytest.mark.parametrize("inner", tuple(numbers()))
def test_a_number_of_a_unit_is_what_plain_sql_says_and_lies_where_it_is_said_to(inner: str, worlds: Worlds) -> None:
    with assured("features") as tally:
        tally["tried"] += len(worlds)
        check = checked(wanted(inner, "t.s"))
        aggregate, sums = measured(check)
        steps = contribution(aggregate).steps
        for tables, engine, plain in worlds:
            found = plain.rows(f"SELECT t.s FROM ({inner}) AS t") or []
            exact = [row[0] for row in found if row[0] is not None and row[0] == row[0]]
            spread = wanted(inner, "t.s").count("CLAMP(t.s") == 1
            for value in exact:
                at = Fraction(value)
                assert spread or (aggregate.domain.low is not None and aggregate.domain.high is not None)
                near = Fraction(1, 10**9)
                assert spread or aggregate.domain.low - near <= at <= aggregate.domain.high + near, (inner, value)
            (cells,) = reference.run(sums, tables, SALT)
            count, below, above = cells[0], *cells[-2:]
            assert count == len(exact), (inner, tables)
            total = (below + count * steps.low) * steps.grid
            clamped = sum((min(max(Fraction(v), Fraction(-1000)), Fraction(1000)) for v in exact), Fraction())
            assert abs(total - clamped) <= Fraction(1, 10**6), (inner, tables, float(total), float(clamped), above)
            assert [list(map(int, row)) for row in engine.run(sums, SALT)] == [cells], (inner, tables)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_a_unit_is_what_plain_sql_says(text: str, worlds: Worlds) -> None:
    with assured("features") as tally:
        tally["tried"] += len(worlds)
        inner = f"SELECT v.pid, {text} AS s FROM visits v GROUP BY v.pid"
        for tables, engine, plain in worlds:
            found = [row[0] for row in plain.rows(inner.replace("v.pid, ", "", 1)) or []]
            for one in {str(value) for value in found if value is not None} | {"a,b", "nothing"}:
                sql = f"SELECT COUNT(*) AS n FROM ({inner}) AS t WHERE t.s = '{one.replace(chr(39), chr(39) * 2)}'"
                _, sums = measured(checked(sql))
                (cells,) = reference.run(sums, tables, SALT)
                assert cells == [found.count(one)], (sql, tables)
                assert [list(map(int, row)) for row in engine.run(sums, SALT)] == [cells]


def test_of_values_as_frequent_the_least_is_the_mode_and_any_value_is_the_least() -> None:
    choice = random.Random(5)
    for _ in range(10):
        tables = honest(choice)
        for call in ("MODE(v.minutes)", "ANY_VALUE(v.minutes)"):
            sql = (
                f"SELECT COUNT(t.s SHARE 1) AS n, AVG(t.s) FROM (SELECT {call} AS s FROM visits v GROUP BY v.pid) AS t"
            )
            aggregate, sums = measured(checked(sql))
            steps = contribution(aggregate).steps
            units: dict[object, list[int]] = {}
            for row in tables["visits"]:
                if row["minutes"] is not None:
                    units.setdefault(row["pid"], []).append(row["minutes"])
            (cells,) = reference.run(sums, tables, SALT)
            modes = [min(v, key=lambda x: (-v.count(x), x)) if "MODE" in call else min(v) for v in units.values()]
            assert cells[0] == len(modes) and cells[-2] + len(modes) * steps.low == sum(modes)


def test_a_units_sum_is_counted_in_steps_of_its_grid() -> None:
    policy = "CREATE UNIT u; CREATE BUDGET b FOR UNIT u EPSILON 1000;"
    policy += "CREATE PRIVATE TABLE t (u INT UNIT u, x INT BETWEEN 0 AND 100 GRID 10) AT MOST 9 ROWS PER UNIT;"
    rows = pd.DataFrame({"u": [1, 1, 2, 2, 3], "x": [20, 40, 30, 34, 60]})
    query = "SELECT COUNT(*) AS n FROM (SELECT u, SUM(x) AS s FROM t GROUP BY u) AS f WHERE s = 60 SPEND EPSILON 500"
    with privql.connect(policy=policy, frames={"t": rows}, analyst="a") as session:
        assert list(session.run(query).rows) == [(3,)]


@pytest.mark.parametrize("spread", ["VAR_POP({})", "STDDEV_SAMP({})", "COVAR_POP({}, v.minutes * 1e150)"])
def test_a_spread_is_kept_between_ends_that_a_double_can_have(spread: str) -> None:
    clamped = []
    for far in ("1e100", "1e200"):
        value = spread.format(f"v.minutes * {far}")
        inner = f"SELECT v.pid, {value} AS s FROM visits v GROUP BY v.pid"
        check = checked(f"SELECT COUNT(*) FROM ({inner}) AS t WHERE t.s > 0")
        assert check.plan is not None and check.plan.blocks[0].measured is not None
        clamped.append(repr(check.plan.blocks[0].measured.term).count("op='clamp'"))
    assert clamped[0] == clamped[1] + 1
