"""Neighbours through the whole house: the engine's own sums stay within the claim, and all else is the same."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import numpy as np
import pytest

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Rows
from privql.kernel.measure import Measured
from tests.hostile.clinic import observed, table
from tests.soundness.neighbours import SALT, Bag, Cells, apart, bags, extremes, scanned
from tests.soundness.queries import Queries
from tests.soundness.test_neighbours import accepted
from tests.soundness.world import KINDS, Kind, random_row

SOAK = bool(os.environ.get("PRIVQL_SOAK"))
MORE = 20 if SOAK else 1


def counted(measured: Measured, units: Sequence[Bag], kind: Kind) -> Cells:
    with DuckDBEngine({kind.table: Rows(frame=table(units, kind))}, threads=1) as engine:
        return [[int(cell) for cell in group] for group in np.asarray(engine.run(measured.term, SALT))]


@pytest.mark.parametrize("seed", range(50, 50 + MORE))
def test_the_engine_keeps_every_claim(seed: int) -> None:
    choice = random.Random(seed)
    reached = claims = 0
    for check in accepted(seed, 12 if SOAK else 6):
        assert check.plan is not None
        for block in check.plan.blocks:
            assert block.measured is not None
            kind = KINDS[scanned(block.measured.term).table]
            rows = extremes(block.measured, choice)
            own = bags(rows, kind, choice)
            beside = [(), tuple(choice.choices(own, k=2))]
            farthest = [0] * len(block.measured.parts)
            for others in beside:
                sides = choice.sample(own, min(len(own), 6))
                answers = [counted(block.measured, [*others, bag], kind) for bag in [(), *sides]]
                pairs = (
                    [(x, y) for x in answers for y in answers]
                    if kind.change_one
                    else [(answers[0], y) for y in answers]
                )
                for one, other in pairs:
                    moved = apart(block.measured, one, other)
                    for at, (move, part) in enumerate(zip(moved, block.measured.parts, strict=True)):
                        assert move.l1 <= part.sensitivity.l1, check.source.text
                        assert move.l2_squared <= part.sensitivity.l2_squared, check.source.text
                        farthest[at] = max(farthest[at], move.l1)
            claims += len(farthest)
            reached += sum(f == p.sensitivity.l1 for f, p in zip(farthest, block.measured.parts, strict=True))
    assert reached >= claims / 2  # else the neighbours were too tame to say anything


GUARDED = (
    "SELECT COUNT(*) FROM {t} WHERE 1 / (a - 5) > 2",
    "SELECT COUNT(*) FROM {t} WHERE a % (a - 5) = 1 OR 1 // (a - 5) > 0",
    "SELECT COUNT(*) FROM {t} WHERE z // -1 > 0 OR z % (a - 6) = 0 OR z // NULLIF(a - 6, 0) = z",
    "SELECT COUNT(*) FROM {t} WHERE ABS(-9223372036854775807 + a - 6) > 3",
    "SELECT SUM(CLAMP(z * z * 9223372036854775807, 0, 9)), AVG(CLAMP(-z, 0, 9)) FROM {t}",
    "SELECT COUNT(*) FROM {t} WHERE CAST(t AS INT) > 0 OR CAST(t AS DATE) > DATE '2024-01-01' OR CAST(t AS BOOL)",
    "SELECT COUNT(*) FROM {t} WHERE t LIKE '%\\%_' OR t LIKE 'x%x%x%x%x%'",
    "SELECT COUNT(*) FROM {t} WHERE SUBSTRING(t, z, z) = '' OR LEFT(t, z) = 'x'",
    "SELECT COUNT(*) FROM {t} WHERE REPLACE(t, t, t || t) = '' OR POSITION(t IN t) > 0 OR RIGHT(t, -z) = ''",
    "SELECT s, COUNT(*) FROM {t} GROUP BY s KEYS ('nobody', 'x')",
    "SELECT d + z AS x, COUNT(*) FROM {t} GROUP BY x KEYS (DATE '2024-02-27', NULL)",
    "SELECT COUNT(*) FROM {t} WHERE d + z > DATE '2024-01-01' OR d + INTERVAL '9000' YEAR IS NULL",
    "SELECT DATE_TRUNC('week', d + z) AS x, COUNT(*) FROM {t} GROUP BY x KEYS (DATE '0001-01-01')",
    "SELECT SUM(CLAMP(EXP(w * w), -1e300, 1e300)), SUM(CLAMP(LN(w), 0, 1)), SUM(CLAMP(w ^ w, 0, 1)) FROM {t}",
    "SELECT AVG(CLAMP(w / f, 0, 1)), AVG(CLAMP(SQRT(w), 0, 1)), SUM(CLAMP(c / c, 0, 1)) FROM {t}",
    "SELECT SUM(CLAMP(CAST(w AS INT), 0, 5)), SUM(CLAMP(CAST(w AS DECIMAL(4,1)), 0, 5)) FROM {t}",
    "SELECT AVG(a) FROM {t} WHERE FALSE HAVING COUNT(*) > -100000000 OR TRUE",
)


# a quick run asks each of one table
TABLES = ("people", "dues")
CASES = [(name, query) for at, query in enumerate(GUARDED) for name in (TABLES if SOAK else TABLES[at % 2 :][:1])]


@pytest.mark.parametrize(("name", "query"), CASES)
def test_one_row_changes_neither_error_nor_shape_nor_price(name: str, query: str) -> None:
    choice, kind = random.Random(query), KINDS[name]
    text = query.format(t=name) + " SPEND EPSILON 1"
    nobody = observed(text, {name: table([], kind)})
    assert "error[PQL0" not in str(nobody), nobody
    few = [(random_row(choice),) for _ in range(40)]
    few += [({**few[0][0], "z": -(2**63), "a": 5},)]
    assert observed(text, {name: table(few[-1:], kind)}) == nobody
    assert observed(text, {name: table(few, kind)}) == nobody


def test_nothing_but_numbers_differs_between_neighbours() -> None:
    choice, queries = random.Random(7), Queries(99)
    for _ in range(10 * MORE):
        text = queries.query()
        kind = (
            next(k for name, k in KINDS.items() if name in text) if any(n in text for n in KINDS) else KINDS["people"]
        )
        others = [(random_row(choice),) for _ in range(3)]
        mine = tuple(random_row(choice) for _ in range(kind.rows_per_unit + 1 if kind.rows_per_unit > 1 else 1))
        without, with_me = ({kind.table: table(units, kind)} for units in (others, [*others, mine]))
        assert observed(text, without) == observed(text, with_me), text
