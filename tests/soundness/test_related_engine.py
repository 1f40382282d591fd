"""Random SQL over related tables, over hostile rows: the engine computes bit for bit what the reference says."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from privql.audit import reference
from privql.audit.reference.ranks import ranked
from privql.audit.reference.values import Tables
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.finish.table import Table
from privql.kernel.ranks import Placed
from privql.kernel.selection import Selected
from tests.assurance import assured, length
from tests.soundness.related import PRIVATE_COLUMNS, together
from tests.soundness.related_neighbours import SALT, World, databases, made_once_found, random_public
from tests.soundness.related_queries import Queries
from tests.soundness.test_related import accepted

PARTS, EACH = range(length(1, 1000)), 30
TEXTS = ("pid", "sex", "ward", "kind", "job")
BOOLS = ("smoker", "urgent")


def frames(tables: Tables) -> dict[str, Source]:
    out = {}
    for name, columns in PRIVATE_COLUMNS.items():
        frame = pd.DataFrame({c: pd.Series([row[c] for row in tables[name]], dtype=_dtype(c)) for c in columns})
        out[name] = Source(frame=frame)
    return out


def _dtype(column: str) -> str:
    return "string" if column in TEXTS else "boolean" if column in BOOLS else "Int64"


@pytest.mark.parametrize("seed", PARTS)
def test_the_engine_relates_rows_as_the_reference_does(seed: int) -> None:
    choice, queries = random.Random(seed + 17), accepted(Queries(seed + 17), random.Random(seed + 19))
    with assured("related-engine") as tally:
        for _ in range(EACH):
            tally["tried"] += 1
            check, _ = next(queries)
            rest, own = databases(choice, 2)
            tables = together(rest, *(unit for unit in own[:1]))
            engine = DuckDBEngine(frames(tables), threads=1)
            try:
                assert check.plan is not None
                for plan in check.plan.blocks:
                    publics = {name: random_public(columns, choice) for name, _, columns in plan.publics}
                    given = {name: Table(columns, tuple(publics[name])) for name, _, columns in plan.publics}
                    where = f"{check.source.text}\n{tables}\n{publics}"
                    last = made_once_found(plan, World(publics, (tables,), False), choice)
                    for one in (*plan.looked_for, last, *plan.beside):
                        match one:
                            case None:
                                pass
                            case Selected():
                                groups = [
                                    (tuple(group), units) for group, units in engine.groups(one.term, SALT, given)
                                ]
                                assert groups == reference.counted(one.term, tables, SALT, publics), where
                            case Placed():
                                assert engine.ranks(one.term, SALT, given) == ranked(one.term, tables, SALT, publics), (
                                    where
                                )
                            case _:
                                cells = [list(map(int, row)) for row in engine.run(one.term, SALT, given)]
                                assert cells == reference.run(one.term, tables, SALT, publics), where
            finally:
                engine.close()
