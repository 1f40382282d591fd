"""The example hospital is a policy without complaint, its data keeps it, and its report can be read."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import privql
from privql.demo import write_example
from privql.diagnostics import Source
from privql.pipeline.apply import apply_policy
from privql.policy.build import build_catalog
from privql.syntax import ast, parse_file


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hospital") / "demo"
    write_example(folder)
    return folder


def test_the_policy_is_applied_without_a_warning(example: Path) -> None:
    applied = apply_policy(example / "policy.pql", example / "ledger.db")
    assert (applied.version, applied.warnings) == (1, ())


def test_the_report_names_what_the_policy_declares(example: Path) -> None:
    catalog, _ = build_catalog(Source((example / "policy.pql").read_text()))
    parsed, wrong = parse_file(Source((example / "report.pql").read_text()))
    assert not wrong
    assert len(parsed) == 12
    assert all(isinstance(each.statement, (ast.Query, ast.CreateRelease)) for each in parsed)
    assert {table.name for table in catalog.tables} == {"regions", "patients", "visits", "ward_checks"}


def test_the_data_is_what_the_policy_speaks_of(example: Path) -> None:
    with duckdb.connect() as connection:

        def ask(query: str) -> int:
            (answer,) = connection.execute(query.replace("@", f"{example}/")).fetchone() or (None,)
            return int(answer)

        assert ask("SELECT COUNT(*) FROM '@patients.parquet'") == 2000
        assert 7000 < ask("SELECT COUNT(*) FROM '@visits.parquet'") < 9000
        most = ask("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM '@visits.parquet' GROUP BY patient_id)")
        assert most > 20, "AT MOST has something to do"
        assert ask("SELECT COUNT(*) FROM '@patients.parquet' ANTI JOIN '@regions.csv' ON region = code") == 0


def test_the_example_is_the_same_every_time(example: Path, tmp_path: Path) -> None:
    write_example(tmp_path)
    for file in example.glob("*.p*"):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


def test_the_report_is_accepted_and_paid_for(example: Path) -> None:
    with privql.connect(policy=example / "policy.pql", analyst="alice") as session:
        checked = session.check_file(example / "report.pql")
        assert checked.ok, str(checked)
        assert {cost.budget: cost.fits for cost in checked.costs} == {"research": True, "inspections": True}
