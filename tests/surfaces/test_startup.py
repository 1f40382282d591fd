"""What is not needed is not imported: this, not a stopwatch, keeps starting cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"pandas", "numpy", "duckdb", "typeguard", "prompt_toolkit", "pygments", "pyarrow"}
POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120) FROM 'patients.parquet';
CREATE BUDGET research FOR UNIT patient EPSILON 3;
GRANT research TO alice;
"""


def imported(code: str, folder: Path) -> set[str]:
    """The top-level modules that a fresh process holds after running this."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return {name.partition(".")[0] for name in done.stderr.split()}


def test_the_version_imports_next_to_nothing(tmp_path: Path) -> None:
    modules = imported("from privql.__main__ import main\nassert main(['--version']) == 0", tmp_path)
    assert not modules & (HEAVY | {"lark", "argparse", "sqlite3", "json", "dataclasses", "re"})


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
