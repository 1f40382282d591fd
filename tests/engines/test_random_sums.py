"""DuckDB against the conformance kit: in any order of rows, on 1 thread and on 8, with its optimizer and without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from privql.engines.duckdb import DuckDBEngine, casts, engine, sources, spelling, steps
from privql.engines.interface import Source
from privql.engines.sql import choices, ordering, rows
from privql.engines.sql.relations import Draft, Names, Rows
from privql.engines.sql.scalars import ScalarEmitter
from privql.engines.sql.stored import Table
from privql.kernel.terms import KeepRows, Scan
from tests.assurance import assured, length
from tests.engines.conformance import Open, disagreement

SEEDS, EACH = range(length(2, 4000)), 25


def opening(threads: int, optimizer: bool) -> Open:
    return lambda path: DuckDBEngine({"table": Source((str(path),))}, threads=threads, optimizer=optimizer)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_engine_computes_what_the_reference_says(seed: int, tmp_path: Path) -> None:
    with assured("sums") as tally:
        tally["tried"] += EACH
        found = disagreement(seed, tmp_path, [opening(1, True), opening(8, False)], EACH)
        assert found is None, found


def test_without_its_optimizer_the_engine_does_what_is_written() -> None:
    """So that what is held against each other are two ways."""
    for optimizer in (True, False):
        with DuckDBEngine({}, optimizer=optimizer) as opened:
            ((_, plan),) = opened._connection.execute(
                "EXPLAIN SELECT i FROM range(3) AS r(i) WHERE 1 + 1 = 2"
            ).fetchall()
            assert ("Filter" in plan) != optimizer, plan


# ---- planted faults, each of which the kit must see


def _clamped_by_greatest(x: str, low: str, high: str) -> str:
    return f"least(greatest({x}, {low}), {high})"  # NULL becomes a bound


def _in_order_of_rows(below: Rows, draft: Draft) -> str:
    return "random()"


def _unit_forgotten(below: Rows, term: KeepRows, draft: Draft) -> Rows:
    return below


def _null_units_kept(scan: Scan, table: Table, names: Names) -> Rows:
    read = sources.read_scan(scan, table, names)
    return replace(read, layers=read.layers[:1])


@pytest.mark.parametrize(
    ("module", "name", "fault", "soon"),  # with which seed it is seen soon
    [
        (steps, "clamped", _clamped_by_greatest, 4),
        (ordering, "row_hash", _in_order_of_rows, 6),
        (rows, "keep_rows", _unit_forgotten, 3),
        (engine, "read_scan", _null_units_kept, 2),
        (ScalarEmitter, "_settle", lambda emitter, spelled: spelled, 6),
        (steps, "outward", lambda end, side: float(end), 2),
        (casts, "WITH_EXPONENT", "x", 4),
    ],
)
def test_a_planted_fault_is_seen(
    module: object, name: str, fault: object, soon: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, fault)
    assert any(disagreement(seed, tmp_path, [opening(2, True)], 30) for seed in (soon, *range(30))), name


@pytest.mark.parametrize("op", ["clamp", "is_null", "greatest", "coalesce"])
def test_a_wrong_spelling_is_seen(op: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "clamp": lambda call: f"least(greatest({call.args[0]}, {call.args[1]}), {call.args[2]})",
        "is_null": lambda call: "FALSE",
        "greatest": lambda call: choices.SPELLINGS["least"](call),
        "coalesce": lambda call: call.args[0].sql,
    }[op]
    monkeypatch.setitem(spelling.SPELLINGS, op, wrong)
    assert any(disagreement(seed, tmp_path, [opening(2, True)], 30) for seed in range(30)), op
