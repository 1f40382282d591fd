"""How many public rows agree in some columns: never more than is claimed, on random tables; simple claims are tight.

A claim that is too small would leave out rows where private ones meet public ones. NULLs meet nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import duckdb
import pytest

from privql.check.env import Env
from privql.diagnostics import Source
from privql.kernel.scalars import Value
from privql.pipeline.check import check_text
from privql.plan.fanout import most_alike
from privql.policy.build import build_catalog
from privql.syntax import ast

POLICY = "CREATE PUBLIC TABLE p (x INT, y INT); CREATE PUBLIC TABLE q (k INT KEY, z INT);"
Tables = dict[str, tuple[tuple[str, ...], list[tuple[Value, ...]]]]


class Held:
    """What the tables hold."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def column(self, table: str, column: str) -> tuple[Value, ...] | None:
        return None

    def query(self, query: ast.Query) -> tuple[Value, ...] | None:
        return None

    def most_alike(self, table: str, columns: tuple[str, ...]) -> int | None:
        names, rows = self.tables[table]
        return alike([tuple(row[names.index(c)] for c in columns) for row in rows])


def alike(rows: list[tuple[Value, ...]]) -> int:
    return max(Counter(row for row in rows if None not in row).values(), default=0) or 1


def random_tables(choice: random.Random) -> Tables:
    values = (None, 0, 1, 1, 2)
    p = [(choice.choice(values), choice.choice(values)) for _ in range(choice.randint(0, 6))]
    q = [(key, choice.choice(values)) for key in choice.sample(range(4), choice.randint(0, 4))]
    return {"p": (("x", "y"), list(p)), "q": (("k", "z"), list(q))}


def claims(text: str, env: Env) -> dict[tuple[int, ...], int | None]:
    one, _ = next(iter(check_text(Source(text), env)))
    assert one.ok and one.query is not None, str(one)
    ids = [column.id for column in one.query.columns]
    places = [some for size in range(len(ids) + 1) for some in combinations(range(len(ids)), size)]
    return {some: most_alike(one.query.rel, frozenset(ids[at] for at in some), one.query, env) for some in places}


def environment(tables: Tables) -> Env:
    return Env(build_catalog(Source(POLICY, "policy"))[0], public=Held(tables))


QUERIES = [
    "SELECT x, y FROM p",
    "SELECT y + 1 AS a, x FROM p",
    "SELECT x AS a, x AS b, y FROM p",
    "SELECT k, z FROM q",
    "SELECT z, k FROM q WHERE z = k",
    "SELECT x, y FROM p WHERE x = y",
    "SELECT x, y FROM p WHERE x <= y",
    "SELECT x, y FROM p WHERE x + 1 = y",
    "SELECT x, y FROM p ORDER BY y LIMIT 2",
    "SELECT x, y FROM p ORDER BY x LIMIT 0",
    "SELECT k, z FROM q ORDER BY z LIMIT 3",
    "SELECT DISTINCT x FROM p",
    "SELECT a, b FROM (VALUES (1, 2), (1, 3), (1, 2)) AS v (a, b)",
    "WITH t AS (SELECT y AS a, x AS b FROM p) SELECT b, a FROM t",
    "SELECT x, COUNT(*) AS n FROM p GROUP BY x",
    "SELECT x, y, COUNT(*) AS n FROM p GROUP BY x, y",
    "SELECT COUNT(*) AS n FROM p",
    "SELECT x, y, COUNT(*) AS n FROM p GROUP BY CUBE (x, y)",
    "SELECT x, y, COUNT(*) AS n FROM p GROUP BY GROUPING SETS ((x), (x, y), (x))",
    "SELECT x, y, ROW_NUMBER() OVER (ORDER BY x, y) AS r FROM p",
    "SELECT x, y, k, z FROM p JOIN q ON x = k",
    "SELECT x, y, k, z FROM p JOIN q ON x = z",
    "SELECT x, y, k, z FROM p JOIN q ON x < z",
    "SELECT x, y, k, z FROM p LEFT JOIN q ON x = k",
    "SELECT x, y, k, z FROM q LEFT JOIN p ON x = z",
    "SELECT x, y, k, z FROM p FULL JOIN q ON x = k",
    "SELECT x, y, k, z FROM p FULL JOIN q ON y = z",
    "SELECT x, y, k, z FROM p CROSS JOIN q",
    "SELECT x, y FROM p UNION ALL SELECT z, k FROM q",
    "SELECT x, y FROM p UNION SELECT k, z FROM q",
    "SELECT x FROM p INTERSECT SELECT k FROM q",
    "SELECT x, y FROM p EXCEPT ALL SELECT k, z FROM q",
]


@pytest.mark.parametrize("text", QUERIES)
def test_no_more_rows_agree_than_is_claimed(text: str) -> None:
    choice = random.Random(text)
    connection = duckdb.connect()
    for _ in range(8):
        tables = random_tables(choice)
        for name, (columns, rows) in tables.items():
            listed = ", ".join(f"{column} BIGINT" for column in columns)
            connection.execute(f"CREATE OR REPLACE TABLE {name} ({listed})")
            if rows:
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        found = connection.execute(text).fetchall()
        for places, most in claims(text, environment(tables)).items():
            there = alike([tuple(row[at] for at in places) for row in found])
            assert most is None or there <= most, (tables, places)


PAIRS: Tables = {"p": (("x", "y"), [(1, 1), (1, 2), (1, 2), (2, 2), (3, 3)]), "q": (("k", "z"), [(1, 5), (2, 5)])}
TIGHT = [
    ("SELECT x, y FROM p", {(): 5, (0,): 3, (1,): 3, (0, 1): 2}),
    ("SELECT k, z FROM q", {(0,): 1, (0, 1): 1, (1,): 2}),
    ("SELECT x, y FROM p WHERE x = y", {(0,): 2, (1,): 2}),
    ("SELECT x, y FROM p ORDER BY y LIMIT 2", {(): 2, (0,): 2, (0, 1): 2}),
    ("SELECT x, y FROM p ORDER BY y LIMIT 4", {(): 4, (0,): 3}),
    ("SELECT x, COUNT(*) AS n FROM p GROUP BY x", {(0,): 1, (): 5}),
    ("SELECT x, y, COUNT(*) AS n FROM p GROUP BY x, y", {(0, 1): 1, (0,): 3}),
    ("SELECT x, y, k, z FROM p JOIN q ON x = k", {(0,): 3, (2,): 3, (0, 1): 2, (3,): 10}),
    ("SELECT x, y FROM p UNION ALL SELECT k, z FROM q", {(0,): 4, (1,): 5}),
    ("SELECT a, b FROM (VALUES (1, 2), (1, 3)) AS v (a, b)", {(): 2, (0, 1): 2}),
    ("SELECT COUNT(*) AS n FROM p", {(): 1}),
    ("SELECT DISTINCT y, x FROM p", {(1,): 3}),
    ("SELECT y, x, ROW_NUMBER() OVER (ORDER BY x, y) AS r FROM p", {(1,): 3, (2,): 5}),
    ("WITH t AS (SELECT y AS a, x AS b FROM p) SELECT b FROM t", {(0,): 3}),
    ("SELECT y + 0 AS a, x FROM p", {(0,): 5, (1,): 3}),
    ("SELECT x, y FROM p LIMIT 0", {(0,): 1}),
]


@pytest.mark.parametrize(("text", "wanted"), TIGHT)
def test_simple_claims_are_tight(text: str, wanted: dict[tuple[int, ...], int]) -> None:
    found = claims(text, environment(PAIRS))
    assert {places: found[places] for places in wanted} == wanted


def test_of_what_cannot_be_read_a_key_alone_is_known() -> None:
    env = Env(build_catalog(Source(POLICY, "policy"))[0])
    for text in ("SELECT k, x FROM q JOIN p ON k = x", "SELECT k, x FROM p JOIN q ON k = x"):
        assert set(claims(text, env).values()) == {None}
    assert claims("SELECT k, z FROM q", env) == {(): None, (0,): 1, (1,): None, (0, 1): 1}
    unknown = claims("SELECT x FROM p UNION ALL SELECT k FROM q", env)
    assert set(unknown.values()) == {None}
    assert claims("SELECT x, COUNT(*) AS n FROM p GROUP BY x", env) == {(): None, (0,): 1, (1,): None, (0, 1): 1}
    assert claims("SELECT x, y FROM p ORDER BY x LIMIT 2", env)[()] == 2
