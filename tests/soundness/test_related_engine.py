"""Random SQL over related tables, over hostile rows: the engine computes bit for bit what the reference says."""

from __future__ import annotations

import os
import random

import pandas as pd

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.finish.table import Table
from privql.kernel.selection import Selected
from tests import reference
from tests.reference.values import Tables
from tests.soundness.related import PRIVATE_COLUMNS, together
from tests.soundness.related_neighbours import SALT, World, databases, once_found, random_public
from tests.soundness.related_queries import Queries
from tests.soundness.test_related import accepted

QUERIES = 20_000 if os.environ.get("PRIVQL_SOAK") else 30
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


def test_the_engine_relates_rows_as_the_reference_does() -> None:
    choice, queries = random.Random(17), accepted(Queries(17), random.Random(19))
    for _ in range(QUERIES):
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
                for one in (*plan.looked_for, once_found(plan, World(publics, (tables,), False), choice)):
                    if isinstance(one, Selected):
                        groups = [(tuple(group), units) for group, units in engine.groups(one.term, SALT, given)]
                        assert groups == reference.counted(one.term, tables, SALT, publics), where
                    elif one is not None:
                        cells = [list(map(int, row)) for row in engine.run(one.term, SALT, given)]
                        assert cells == reference.run(one.term, tables, SALT, publics), where
        finally:
            engine.close()
