"""The doctor finds each thing that was made wrong, says what to do about it, and tells no row."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.engines.interface import Advice, Recognised
from privql.engines.opening import Engines
from privql.kernel.scalars import TEXT
from privql.pipeline import doctor as told
from privql.pipeline.doctor import Diagnosis, doctor

POLICY = """\
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120, born DATE)
  FROM 'patients.parquet';
CREATE PRIVATE TABLE visits (patient_id TEXT UNIT patient, minutes INT BETWEEN 0 AND 60) AT MOST 3 ROWS PER UNIT
  FROM clinic.visits;
CREATE BUDGET research FOR UNIT patient EPSILON 3;
"""
PATIENTS = "SELECT 'secret-' || i AS patient_id, 30 + i AS age, DATE '1990-01-01' AS born FROM range(17) r(i)"


def parquet(path: Path, query: str) -> None:
    duckdb.sql(query).write_parquet(str(path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    parquet(tmp_path / "patients.parquet", PATIENTS)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute("CREATE TABLE visits AS SELECT 'secret-1' AS patient_id, 10 AS minutes")
    (tmp_path / "connections.toml").write_text('clinic = "clinic.duckdb"\n')
    (tmp_path / "connections.toml").chmod(0o600)
    (tmp_path / "policy.pql").write_text(POLICY)
    return tmp_path


@pytest.fixture(autouse=True)
def _a_good_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "_memory", lambda: 64 << 30)
    monkeypatch.setattr(told, "LITTLE_ROOM", 0)
    monkeypatch.setattr(told, "SLOW_DISK", 1e9)


def found(diagnosis: Diagnosis, level: str) -> list[tuple[str, str]]:
    assert all(each.help for each in diagnosis.findings if each.level == "wrong")
    assert "secret" not in str(diagnosis) and "17" not in str(diagnosis)
    return [(each.about, each.what) for each in diagnosis.findings if each.level == level]


def test_what_is_well(folder: Path) -> None:
    privql.apply(folder / "policy.pql", folder / "ledger.db")
    diagnosis = doctor(folder / "policy.pql", folder / "ledger.db")
    assert diagnosis.ok and not found(diagnosis, "wrong") and not found(diagnosis, "unwise")
    assert str(diagnosis).endswith("0 wrong, 0 unwise, 4 well")
    assert found(diagnosis, "well")[1:] == [
        ("patients", "every declared column is there, its keys hold"),
        ("visits", "every declared column is there"),
        ("the ledger", "has this policy in force, as version 1"),
    ]


def test_a_broken_key(folder: Path) -> None:
    parquet(folder / "patients.parquet", f"{PATIENTS} UNION ALL {PATIENTS}")
    ((about, what),) = found(doctor(folder / "policy.pql"), "wrong")
    assert about == "patients" and what.startswith("the data of `patients` breaks its key")


def test_a_column_of_which_nothing_reads_as_declared(folder: Path) -> None:
    parquet(folder / "patients.parquet", PATIENTS.replace("DATE '1990-01-01'", "'in May'"))
    assert found(doctor(folder / "policy.pql"), "wrong") == [("patients.born", "holds no value of its declared type")]
    parquet(folder / "patients.parquet", f"{PATIENTS} WHERE false")
    assert doctor(folder / "policy.pql").ok, "of no rows nothing is known"


def test_a_column_that_is_not_there(folder: Path) -> None:
    parquet(folder / "patients.parquet", PATIENTS.replace("AS born", "AS birthday"))
    assert found(doctor(folder / "policy.pql"), "wrong") == [
        ("patients", "the data of `patients` has no column `born`")
    ]


def test_a_connection_that_leads_nowhere(folder: Path) -> None:
    (folder / "connections.toml").write_text('clinic = "oracle://scott:secret@h/"\n')
    ((about, what),) = found(doctor(folder / "policy.pql"), "wrong")
    assert about == "visits" and "nothing here reads `oracle://scott:…@h/`" in what
    (folder / "connections.toml").chmod(0o644)
    ((about, what),) = found(doctor(folder / "policy.pql"), "wrong")
    assert "can be read by others than you" in what


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes here")
def test_who_may_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    privql.apply(folder / "policy.pql", folder / "ledger.db")
    (folder / "ledger.db").chmod(0o666)
    (folder / "patients.parquet").chmod(0o646)
    diagnosis = doctor(folder / "policy.pql", folder / "ledger.db")
    assert [about for about, _ in found(diagnosis, "wrong")] == ["patients", "the ledger"]
    (folder / "patients.parquet").chmod(0o664)
    monkeypatch.setattr(told, "_shared", lambda path: path.endswith("patients.parquet"))
    assert ("patients", "may be written by a group of accounts") in found(doctor(folder / "policy.pql"), "unwise")


def test_what_is_slow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb.sql(PATIENTS).write_csv(str(folder / "patients.csv"))
    (folder / "policy.pql").write_text(POLICY.replace("patients.parquet", "patients.csv"))
    privql.apply(folder / "policy.pql", folder / "ledger.db")
    (folder / "policy.pql").write_text(POLICY.replace("patients.parquet", "patients.csv").replace("60", "90"))
    monkeypatch.setattr(told, "_memory", lambda: 1 << 30)
    monkeypatch.setattr(told, "LITTLE_ROOM", 1 << 80)
    monkeypatch.setattr(told, "SLOW_DISK", 0)
    monkeypatch.setattr(told, "SLOW_TABLE", 0)
    monkeypatch.setattr(Engines, "of_table", lambda self, table: _Adviser())
    diagnosis = doctor(folder / "policy.pql", folder / "ledger.db")
    unwise = [about for about, _ in found(diagnosis, "unwise")]
    assert unwise == [
        "the machine", "the machine", "patients", "patients", "visits", "visits", "the ledger", "the ledger",
    ]  # fmt: skip
    assert diagnosis.ok


class _Adviser:
    def advice(self, tables: dict[str, Recognised]) -> list[Advice]:
        assert tables == {"visits": Recognised((("patient_id", TEXT),), ())}
        return [Advice("visits", "has no index on `patient_id`", "CREATE INDEX …")]


def test_a_ledger_that_is_none(folder: Path) -> None:
    (folder / "ledger.db").write_bytes(b"not a ledger" * 100)
    ((about, _),) = found(doctor(folder / "policy.pql", folder / "ledger.db"), "wrong")
    assert about == "the ledger"


def test_a_policy_that_is_none(folder: Path) -> None:
    (folder / "policy.pql").write_text("CREATE NONSENSE;")
    with pytest.raises(PrivQLError):
        doctor(folder / "policy.pql")
