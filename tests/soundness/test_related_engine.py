"""Random SQL over related tables, over hostile rows: DuckDB computes bit for bit what the reference says."""

from __future__ import annotations

import pytest

from privql.engines.duckdb import DuckDBEngine
from tests.assurance import assured, length
from tests.soundness.related_measured import agree, drawn, frames

PARTS, EACH = range(length(1, 1000)), 30


@pytest.mark.parametrize("seed", PARTS)
def test_the_engine_relates_rows_as_the_reference_does(seed: int) -> None:
    with assured("related-engine") as tally:
        for check, tables, choice in drawn(seed, EACH):
            tally["tried"] += 1
            with DuckDBEngine(frames(tables), threads=1) as engine:
                agree(engine, check, tables, choice)
