"""Random SQL over related tables, over hostile rows: any engine computes bit for bit what the reference says.

The queries and rows of a seed are the same for every engine, so that engines that agree with it agree with each other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

from privql.audit import reference
from privql.audit.reference.ranks import ranked
from privql.audit.reference.values import Tables
from privql.engines.interface import Engine, Source, scans
from privql.finish.table import Table
from privql.kernel.ranks import Placed
from privql.kernel.selection import Selected
from privql.pipeline.report import StatementCheck
from tests.soundness.related import PRIVATE_COLUMNS, together
from tests.soundness.related_neighbours import SALT, World, databases, made_once_found, random_public
from tests.soundness.related_queries import Queries
from tests.soundness.test_related import accepted

TEXTS = ("pid", "sex", "ward", "kind", "job")
BOOLS = ("smoker", "urgent")


def drawn(seed: int, how_many: int) -> Iterator[tuple[StatementCheck, Tables, random.Random]]:
    """Queries that the checker accepts, each with rows of its own and what draws the rest."""
    choice, queries = random.Random(seed + 17), accepted(Queries(seed + 17), random.Random(seed + 19))
    for _ in range(how_many):
        check, _ = next(queries)
        rest, own = databases(choice, 2)
        yield check, together(rest, *(unit for unit in own[:1])), choice


def frames(tables: Tables) -> dict[str, Source]:
    out = {}
    for name, columns in PRIVATE_COLUMNS.items():
        values = {c: pd.Series([row[c] for row in tables[name]], dtype=_dtype(c)) for c in columns}
        out[name] = Source(frame=pd.DataFrame(values))
    return out


def arrow(tables: Tables) -> dict[str, pa.Table]:
    return {name: pa.Table.from_pandas(source.frame) for name, source in frames(tables).items()}


def _dtype(column: str) -> str:
    return "string" if column in TEXTS else "boolean" if column in BOOLS else "Int64"


def agree(engine: Engine, check: StatementCheck, tables: Tables, choice: random.Random) -> None:
    """Every term that the query measures, as a run asks for it: looked at, rehearsed, computed."""
    assert check.plan is not None
    for plan in check.plan.blocks:
        publics = {name: random_public(columns, choice) for name, _, columns in plan.publics}
        given = {name: Table(columns, tuple(publics[name])) for name, _, columns in plan.publics}
        where = f"{check.source.text}\n{tables}\n{publics}"
        last = made_once_found(plan, World(publics, (tables,), False), choice)
        for one in (*plan.looked_for, last, *plan.beside):
            if one is None:
                continue
            engine.preflight(scans(one.term.input))
            engine.rehearse(one.term)
            match one:
                case Selected():
                    groups = [(tuple(group), units) for group, units in engine.groups(one.term, SALT, given)]
                    assert groups == reference.counted(one.term, tables, SALT, publics), where
                case Placed():
                    assert engine.ranks(one.term, SALT, given) == ranked(one.term, tables, SALT, publics), where
                case _:
                    cells = [list(map(int, row)) for row in engine.run(one.term, SALT, given)]
                    assert cells == reference.run(one.term, tables, SALT, publics), where
