"""Random SQL over related tables, over hostile rows: Spark computes bit for bit what the reference says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.assurance import assured, length
from tests.engines.spark.local import engine
from tests.soundness.related_measured import agree, arrow, drawn

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'privql[spark]'")
# With the other tests, one that reads a UNION ALL twice is among the second's: Spark's optimizer failed at it.
PARTS, EACH = length((0, 45), range(200)), length(4, 10)


@pytest.mark.parametrize("seed", PARTS)
def test_the_engine_relates_rows_as_the_reference_does(seed: int, spark: Any, tmp_path: Path) -> None:
    with assured("related-spark") as tally:
        for check, tables, choice in drawn(seed, EACH):
            tally["tried"] += 1
            files = {name: tmp_path / f"{name}.parquet" for name in tables}
            for name, rows in arrow(tables).items():
                pq.write_table(rows, files[name])
            with engine(spark, files) as opened:
                agree(opened, check, tables, choice)
