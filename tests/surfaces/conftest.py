"""A hospital of twelve in a folder of its own, applied to a ledger, and the command as a function."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY,
  age INT BETWEEN 0 AND 120,
  sex TEXT IN ('F', 'M'),
  cost DECIMAL(10,2) BETWEEN 0 AND 20000
) FROM 'patients.csv';
CREATE BUDGET research FOR UNIT patient EPSILON 3;
GRANT research TO alice, bob LIMIT EPSILON 1 EACH;
"""
REPORT = """\
-- Two statements.
SELECT COUNT(*) AS n, AVG(age) AS mean_age FROM patients SPEND EPSILON 0.4;
SELECT sex, SUM(cost) AS total FROM patients GROUP BY sex SPEND EPSILON 0.2;
"""
ROWS = [f"p{at},{20 + 5 * at},{'FM'[at % 2]},{100 * at}.50" for at in range(12)]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def furnish(folder: Path) -> None:
    (folder / "policy.pql").write_text(POLICY, encoding="utf-8")
    (folder / "report.pql").write_text(REPORT, encoding="utf-8")
    (folder / "patients.csv").write_text("\n".join(["patient_id,age,sex,cost", *ROWS]) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def applied_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that holds the policy; each test spends from a copy of its own."""
    from privql.session import apply

    folder = tmp_path_factory.mktemp("applied")
    furnish(folder)
    apply(folder / "policy.pql", folder / "ledger.db")
    return folder / "ledger.db"


@pytest.fixture
def privql(hospital: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    from privql.__main__ import main  # not above: what pytest imports this early, typeguard cannot check

    def command(*arguments: str, stdin: bytes | str = b"") -> Done:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        capsys.readouterr()
        code = main(list(arguments))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Done(code, captured.out, captured.err)

    return command


@pytest.fixture
def applied(privql: Command, applied_once: Path, hospital: Path) -> Command:
    """The command in a folder where the policy is already in `ledger.db`."""
    shutil.copy(applied_once, hospital / "ledger.db")
    return privql
