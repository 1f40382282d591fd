"""The conformance kit on Spark: every scalar operation and every primitive; and faults that are planted are seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from privql.conformance import kit
from privql.conformance.kit import FULL, Extent, Stored, conformance
from privql.conformance.pools import calls
from privql.conformance.report import Report
from privql.engines.interface import Engine
from tests.assurance import SOAK, assured, length

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'privql[spark]'")

from privql.engines.spark import casts, numbers, of_values, spelling, texts
from privql.engines.spark import dialect as room
from privql.engines.spark import steps as steps_of
from privql.engines.sql.expressions import function

REFUSED = {"json_array_length", "json_exists", "json_typeof", "json_valid", "json_value", "regexp_count",
           "regexp_extract", "regexp_instr", "regexp_part", "regexp_replace"}  # fmt: skip


def on(spark: Any) -> Callable[[Stored], Engine]:
    return lambda stored: of_values(spark, stored, lambda cause: None)


def wrong(report: Report) -> list[str]:
    return [f"{each.operation}: {each.example}" for each in report.outcomes if each.differences]


@pytest.mark.parametrize("part", range(length(1, FULL.databases)))
def test_spark_means_what_it_should(part: int, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a soak, the parts together are the whole kit, an hour's work: each has its share of the operations, and one
    database of random terms. Else one part, with two signatures of every operation."""
    some = calls()
    if SOAK:
        names = sorted({call.resolved.op for call in some})[part :: FULL.databases]
        some = [call for call in some if call.resolved.op in names]
    monkeypatch.setattr(kit, "calls", lambda: some)
    extent = replace(FULL, databases=1) if SOAK else Extent(40, 2, 10**6, 1, 8)
    with assured("conformance") as tally:
        report = conformance(on(spark), extent, seed=5 + part)
        tally["tried"] += report.cases
        assert report.ok, str(report)
    refused = {each.operation for each in report.outcomes if each.refused}
    assert {op for op in refused if op.islower()} <= REFUSED
    tried = {each.operation for each in report.outcomes if each.cases > each.refused}
    assert tried >= {call.resolved.op for call in some} - REFUSED


def _rounded(call: Any) -> str:
    return f"CAST(round({call.args[0]} / {call.args[1]}) AS BIGINT)"


@pytest.mark.parametrize(
    ("module", "name", "fault", "op"),
    [
        (spelling.SPELLINGS, "abs", function("abs"), "abs"),
        (spelling.SPELLINGS, "int_div", _rounded, "int_div"),
        (spelling.SPELLINGS, "lower", function("lower"), "lower"),
        (casts, "_to_int", lambda x: f"TRY_CAST(round({x}, 0) AS BIGINT)", "cast"),
        (texts, "exactly", lambda character: character, "like"),
        (numbers, "_WHOLE", "1e30D", "floor"),
    ],
)
def test_a_wrong_spelling_is_seen(
    module: Any, name: str, fault: Any, op: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"INT", "FLOAT", "TEXT"}
    some = [c for c in calls() if c.resolved.op == op and {type.kind for type in c.resolved.arg_types} <= kinds]
    monkeypatch.setattr(kit, "calls", lambda: some)
    extent = Extent(60, 10**6, 10**6, 0, 0)
    assert not wrong(conformance(on(spark), extent))
    if isinstance(module, dict):
        monkeypatch.setitem(module, name, fault)
    else:
        monkeypatch.setattr(module, name, fault)
    assert wrong(conformance(on(spark), extent))


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        (steps_of, "_PART", 64),
        (steps_of, "clamped", lambda x, low, high: f"greatest(least({x}, {high}), {low})"),
        (room._Spark, "fingerprint", lambda self, parts: f"md5(concat({', '.join(parts)}))"),
    ],
)
def test_a_wrong_sum_or_order_is_seen(
    module: Any, name: str, fault: Any, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kit, "calls", list)
    monkeypatch.setattr(module, name, fault)
    assert any(wrong(conformance(on(spark), Extent(1, 0, 1, 1, 8), seed=seed)) for seed in range(4)), name
