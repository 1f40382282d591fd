"""What is not needed is not imported: this, not a stopwatch, keeps starting cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

HEAVY = {"pandas", "numpy", "duckdb", "typeguard", "prompt_toolkit", "pygments", "pyarrow"}
POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120) FROM 'patients.parquet';
CREATE BUDGET research FOR UNIT patient EPSILON 3;
GRANT research TO alice;
"""


READING = (
    "privql.engines.duckdb",
    "privql.engines.sql",
    "privql.noise",
    "privql.post",
    "privql.release",
    "privql.finish.result",
)
ERRORS = {  # what computes errors: loaded for an answer that was computed with, or that tells them
    "privql.finish.resampling",
    "privql.pipeline.errors",
    "privql.pipeline.told",
    "privql.post.shadow_calls",
    "privql.post.shadow_terms",
    "privql.post.shadows",
}


SELDOM = {  # rooms for owners, for attackers, for what is asked again and again, for servers, for what did not go well
    "privql.attacks",
    "privql.finish.hats",
    "privql.finish.resampling",
    "privql.finish.runs",
    "privql.ledger.postgres",
    "privql.pipeline.entries",
    "privql.pipeline.other_ledgers",
    "privql.pipeline.runs",
    "privql.pipeline.versions",
    "privql.pipeline.what_if",
    "privql.surfaces.demo",
    "privql.surfaces.repl",
}


def imported(code: str, folder: Path) -> set[str]:
    """The modules that a fresh process holds after running this, and the packages around them."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    names = done.stderr.split()
    return {*names, *(name.partition(".")[0] for name in names)}


def test_the_version_imports_next_to_nothing(tmp_path: Path) -> None:
    modules = imported("from privql.__main__ import main\nassert main(['--version']) == 0", tmp_path)
    assert not modules & (HEAVY | {"privql.attacks", "lark", "argparse", "sqlite3", "json", "dataclasses", "re"})


def test_importing_privql_imports_next_to_nothing(tmp_path: Path) -> None:
    assert not imported("import privql", tmp_path) & (HEAVY | {"lark", "argparse", "sqlite3", "dataclasses", "re"})


@pytest.mark.parametrize("command", ["check", "explain"])
def test_checking_imports_nothing_that_reads_data(tmp_path: Path, command: str) -> None:
    (tmp_path / "policy.pql").write_text(POLICY, encoding="utf-8")
    arguments = [
        command,
        "-c",
        "SELECT AVG(age) FROM patients SPEND EPSILON 1",
        "--policy",
        "policy.pql",
        "--as",
        "alice",
    ]
    modules = imported(f"from privql.__main__ import main\nassert main({arguments!r}) == 0", tmp_path)
    assert not modules & HEAVY
    if command == "check":
        assert not {name for name in modules if name.startswith(READING)} and not modules & (ERRORS | SELDOM)


def test_running_imports_what_computes_errors_only_where_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "policy.pql").write_text(POLICY, encoding="utf-8")
    duckdb.sql(f"COPY (SELECT 'a' AS patient_id, 1 AS age) TO '{tmp_path / 'patients.parquet'}'")

    def of(*arguments: str) -> set[str]:
        return imported(f"from privql.__main__ import main\nassert main({arguments!r}) == 0", tmp_path)

    def of_a_run(number: str) -> set[str]:
        return of("run", "-c", f"SELECT {number} AS n FROM patients SPEND EPSILON 1", "--as", "alice")

    of("policy", "apply", "policy.pql")
    assert of_a_run("AVG(age)") & (ERRORS | SELDOM | {"pandas", "typeguard", "prompt_toolkit", "pygments"}) == set()
    assert of_a_run("round(AVG(age)) / COUNT(*)") >= ERRORS - {"privql.pipeline.told"}
