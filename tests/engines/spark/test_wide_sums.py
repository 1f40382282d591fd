"""Sums of a unit's own rows that are too long for a total, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.engines.spark.local import engine
from tests.engines.wide_sums import disagreement, table

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'privql[spark]'")


def test_spark_computes_what_the_reference_says(spark: Any, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "w.parquet")
    with engine(spark, {"w": tmp_path / "w.parquet"}) as opened:
        assert disagreement(opened) is None
