"""Sums of a unit's own rows that are too long for a total, on the engines at hand."""

from __future__ import annotations

import pytest

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from tests.engines.wide_sums import disagreement, table
from tests.ledger.servers import available


def test_duckdb_computes_what_the_reference_says() -> None:
    with DuckDBEngine({"w": Source(frame=table())}) as engine:
        assert disagreement(engine) is None


@pytest.mark.skipif(not available(), reason="needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG")
def test_postgresql_does_too() -> None:
    from tests.engines import on_postgres

    with on_postgres.engine({"w": table()}) as engine:
        assert disagreement(engine) is None
