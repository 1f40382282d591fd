"""TPC-H on Spark: what each of the 22 queries has measured comes to the same integers there as on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privql.engines.interface import Engine
from tests.assurance import SOAK, assured
from tests.engines.spark.local import engine
from tests.queries.test_tpch import KEYS
from tests.queries.tpch.beside import measures_the_same, written

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'privql[spark]'")


@pytest.fixture(scope="module")
def there(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Engine]]:
    folder = tmp_path_factory.mktemp("tpch")
    with engine(spark, written(folder)) as opened:
        yield folder, opened


@pytest.mark.parametrize("number", sorted(KEYS) if SOAK else [1, 4, 6, 13, 18, 22])
def test_what_is_measured_is_the_same(number: int, there: tuple[Path, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    with assured("tpch") as tally:
        tally["tried"] += 1
        measures_the_same(number, *there, monkeypatch)
