"""What a TPC-H query has measured on DuckDB, asked of another engine, too: both must find the same integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import privql
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Engine, scans
from privql.policy.build import build_catalog
from privql.policy.findings import accepted
from tests.queries.test_tpch import TPCH, text_of
from tests.queries.tpch.data import write_tables


def written(folder: Path) -> dict[str, Path]:
    """The policy and its tables in this folder: where the private ones lie."""
    write_tables(folder)
    (folder / "policy.pql").write_text((TPCH / "policy.pql").read_text(encoding="utf-8"), encoding="utf-8")
    catalog = accepted(*build_catalog(Source((folder / "policy.pql").read_text(encoding="utf-8"))))
    return {table.name: folder / table.files[0] for table in catalog.tables if table.private}


def measures_the_same(number: int, folder: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def beside(name: str) -> None:
        here, there = getattr(DuckDBEngine, name), getattr(engine, name)

        def both(self: DuckDBEngine, term: Any, *given: Any) -> Any:
            found = here(self, term, *given)
            engine.preflight(scans(term.input))
            engine.rehearse(term)
            assert _plain(there(term, *given)) == _plain(found)
            compared.append(name)
            return found

        monkeypatch.setattr(DuckDBEngine, name, both)

    for name in ("run", "ranks", "groups"):
        beside(name)
    with privql.connect(policy=folder / "policy.pql", analyst="alice") as session:
        session.run("SET epsilon = 1000000")
        answer = session.run(text_of(number))
    assert compared or answer.cost.epsilon == 0


def _plain(found: Any) -> Any:
    return found.tolist() if hasattr(found, "tolist") else found
