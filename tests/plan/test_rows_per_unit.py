"""How many rows of a unit a feature is made of: the checker never says fewer than the kernel lets through.

What is computed of a unit is clamped into what so many rows can come to, so too few would change true answers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import product

from privql.check.beside import rows_per_unit
from privql.check.env import Env
from privql.check.relations import Around, Gathered
from privql.check.typed import Context
from privql.diagnostics import Source
from privql.frozen import inside
from privql.pipeline.check import check_text
from privql.plan.lower import rows_within
from privql.policy.build import build_catalog
from tests.soundness.related import environment
from tests.soundness.related_queries import Queries

QUERIES = 130
JOINED = """
CREATE UNIT person;
CREATE PRIVATE TABLE a (k INT KEY, u TEXT UNIT person, x TEXT) AT MOST 3 ROWS PER UNIT;
CREATE PRIVATE TABLE b (a INT REFERENCES a(k), u TEXT UNIT person, x TEXT) AT MOST 2 ROWS PER UNIT;
CREATE BUDGET everything FOR UNIT person EPSILON 1000000;
"""


def gathered(node: object) -> Iterator[Gathered]:
    """Those whose rows are counted for each unit, not for each row around them."""
    if isinstance(node, Gathered) and not any(isinstance(one, Around) for one in walked(node)):
        yield node
    for one in inside(node):
        yield from gathered(one)


def walked(node: object) -> Iterator[object]:
    yield node
    for one in inside(node):
        yield from walked(one)


def compared(text: str, env: Env) -> Iterator[str]:
    """Of each feature of what is measured: what is said of its rows, against what is proved."""
    check, _ = next(iter(check_text(Source(text), env)))
    if not check.ok or check.query is None:
        return
    for block in check.query.blocks:
        proved = rows_within(block, env, check.query)
        for one in gathered(block.rel):
            if id(one.input) in proved:
                said, rows = rows_per_unit(one.input, Context(env)), proved[id(one.input)]
                assert said is None or (rows is not None and rows <= said), (text, said, rows)
                yield "unknown" if said is None else "as proved" if said == rows else "more"


def test_no_fewer_than_the_kernel_lets_through() -> None:
    choice, queries, met = random.Random(19), Queries(17), Counter[str]()
    envs = [environment(at_most, False) for at_most in (2, None)]
    for _ in range(QUERIES):
        met.update(compared(queries.query().sql, choice.choice(envs)))
    assert met["as proved"] > 20 and met["unknown"] > 10, met


def test_no_fewer_of_any_join() -> None:
    """A unit has more rows in the table whose keys are referred to than in the other."""
    catalog, found = build_catalog(Source(JOINED))
    assert not found
    env, met = Env(catalog), Counter[str]()
    ties = ("a.u = b.u", "a.u = b.u AND a.k = b.a", "a.k = b.a", "a.k = b.a AND a.x = b.x", "a.u = b.u AND a.x = b.x")
    for kind, tie, (one, other) in product(("", "LEFT ", "RIGHT ", "FULL "), ties, (("a", "b"), ("b", "a"))):
        joined = f"(SELECT a.u AS left_u, b.u AS right_u FROM {one} {kind}JOIN {other} ON {tie}) AS j"
        for unit in ("left_u", "right_u"):
            features = f"SELECT {unit}, COUNT(*) AS n FROM {joined} WHERE {unit} IS NOT NULL GROUP BY {unit}"
            met.update(compared(f"SELECT SUM(CLAMP(n, 0, 9)) FROM ({features}) AS f SPEND EPSILON 1", env))
    assert met["as proved"] > 20, met
