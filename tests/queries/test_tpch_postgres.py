"""TPC-H on PostgreSQL: what each of the 22 queries has measured comes to the same integers there as on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from privql.engines.interface import Engine
from tests.assurance import assured
from tests.ledger.servers import available
from tests.queries.test_tpch import KEYS
from tests.queries.tpch.beside import measures_the_same, written

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

from tests.engines import on_postgres


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Engine]]:
    folder = tmp_path_factory.mktemp("tpch")
    with on_postgres.engine(written(folder), owner_log=print) as engine:
        yield folder, engine


@pytest.mark.parametrize("number", sorted(KEYS))
def test_what_is_measured_is_the_same(number: int, there: tuple[Path, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    with assured("tpch") as tally:
        tally["tried"] += 1
        measures_the_same(number, *there, monkeypatch)
