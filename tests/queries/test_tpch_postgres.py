"""TPC-H on PostgreSQL: what each of the 22 queries has measured comes to the same integers there as on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import privql
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import scans
from privql.policy.build import build_catalog
from privql.policy.findings import accepted
from tests.ledger.servers import available
from tests.queries.test_tpch import KEYS, TPCH, text_of
from tests.queries.tpch.data import write_tables

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

from privql.engines.postgres.engine import PostgresEngine
from tests.engines import on_postgres


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("tpch")
    write_tables(made)
    (made / "policy.pql").write_text((TPCH / "policy.pql").read_text(encoding="utf-8"), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[PostgresEngine]:
    catalog = accepted(*build_catalog(Source((folder / "policy.pql").read_text(encoding="utf-8"))))
    private = [table for table in catalog.tables if table.private]
    with on_postgres.engine({table.name: folder / table.files[0] for table in private}, owner_log=print) as made:
        yield made


@pytest.mark.parametrize("number", sorted(KEYS))
def test_what_is_measured_is_the_same(
    number: int, folder: Path, server: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def beside(name: str) -> None:
        here, there = getattr(DuckDBEngine, name), getattr(server, name)

        def both(self: DuckDBEngine, term: Any, *given: Any) -> Any:
            found = here(self, term, *given)
            server.preflight(scans(term.input))
            server.rehearse(term)
            assert plain(there(term, *given)) == plain(found)
            compared.append(name)
            return found

        monkeypatch.setattr(DuckDBEngine, name, both)

    for name in ("run", "ranks", "groups"):
        beside(name)
    with privql.connect(policy=folder / "policy.pql", analyst="alice") as session:
        session.run("SET epsilon = 1000000")
        answer = session.run(text_of(number))
    assert compared or answer.cost.epsilon == 0


def plain(found: Any) -> Any:
    return found.tolist() if hasattr(found, "tolist") else found
