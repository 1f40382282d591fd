"""DuckDB against the reference where rows of a unit meet: in any order of rows, on any threads, optimized or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from privql.audit import reference
from privql.conformance.trees import Trees, tables
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError, Source
from privql.engines.sql import aggregates, joins, ordering, windows
from privql.kernel.scalars import Value, ValueType
from tests.assurance import assured, length
from tests.engines.conformance import SALT
from tests.engines.files import write

SEEDS, EACH = range(length(2, 2500)), length(12, 40)
_ALL = ((1, True), (2, True), (2, False))  # threads, optimized or not
Ways = tuple[tuple[int, bool], ...]
_MOST = 4000  # rows, that the reference takes a while for


@dataclass(frozen=True)
class Given:
    columns: tuple[tuple[str, ValueType], ...]
    rows: tuple[tuple[Value, ...], ...]


def engines(
    folder: Path, data: dict[str, list[dict[str, Value]]], random: Random, ways: Ways = _ALL
) -> list[DuckDBEngine]:
    """Each is given the same rows in an order of its own."""
    made = []
    for place, (threads, optimizer) in enumerate(ways):
        sources = {}
        for table, rows in data.items():
            path = folder / f"{table}{place}.parquet"
            write(random.sample(rows, len(rows)), path)
            sources[table] = Source((str(path),))
        made.append(DuckDBEngine(sources, threads=threads, optimizer=optimizer))
    return made


def disagreement(seed: int, folder: Path, terms: int, ways: Ways = _ALL) -> str | None:
    random = Random(seed)
    data = tables(random, 24)
    opened = engines(folder, data, random, ways)
    try:
        for _ in range(terms):
            trees = Trees(random, random.choice((None, "u", "u", "v")))
            relation = trees.once(trees.tree(random.choice((1, 1, 2, 2, 3, 4))))
            rows = reference.rows(relation, data, SALT, trees.publics)
            if len(rows) > _MOST:
                continue
            sums = trees.sums_of(relation, [dict(row) for _, row in rows])
            wanted = reference.run(sums, data, SALT, trees.publics)
            publics = {name: Given((), rows) for name, rows in trees.publics.items()}
            for place, engine in enumerate(opened):
                try:
                    found = engine.run(sums, SALT, publics).tolist()
                except EngineError as error:
                    if error.kind == "unsupported":
                        break
                    return f"seed {seed}, engine {place}: {error}: {sums}"
                if found != wanted:
                    return f"seed {seed}, engine {place}: {found} instead of {wanted}: {sums}"
        return None
    finally:
        for engine in opened:
            engine.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_engine_computes_what_the_reference_says(seed: int, tmp_path: Path) -> None:
    with assured("trees") as tally:
        tally["tried"] += EACH
        found = disagreement(seed, tmp_path, EACH)
        assert found is None, found


# ---- planted faults, each of which must be seen


@pytest.mark.parametrize(
    ("module", "name", "fault", "soon"),  # with which seed it is seen soon
    [
        (joins, "same_unit", lambda left, right: ("1", "1"), 5),
        (joins, "_where", lambda left, right, where: None, 0),
        (ordering, "row_hash", lambda below, draft: "random()", 8),
        (windows, "row_hash", lambda below, draft: "random()", 14),
        (windows, "written", lambda value, order, dialect: f"{value} DESC NULLS LAST", 9),
        (ordering, "written", lambda value, order, dialect: f"{value} ASC NULLS LAST", 3),
        (aggregates, "STEP_LIMIT", 1, 5),
    ],
)
def test_a_planted_fault_is_seen(
    module: object, name: str, fault: object, soon: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, fault)
    assert any(disagreement(seed, tmp_path, 25, _ALL[1:2]) for seed in (soon, *range(20))), name
