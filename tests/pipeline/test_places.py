"""Tables of several places: each answered by the engine that has it, never joined with another, and failing alike."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.ledger import Ledger
from privql.session import Session

POLICY = """\
CREATE UNIT patient;
CREATE PUBLIC TABLE regions (code TEXT KEY, weight DECIMAL(4,2), since DATE) FROM clinic.regions;
CREATE PUBLIC TABLE wards (code TEXT KEY) FROM 'wards.csv';
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY, region TEXT REFERENCES regions(code), ward TEXT REFERENCES wards(code)
) FROM clinic.people.patients;
CREATE PRIVATE TABLE visits (patient_id TEXT UNIT patient, minutes INT BETWEEN 0 AND 60) AT MOST 3 ROWS PER UNIT
  FROM Clinic.people.visits;
CREATE PRIVATE TABLE tests (patient_id TEXT UNIT patient, level INT BETWEEN 0 AND 9) AT MOST 3 ROWS PER UNIT
  FROM lab.tests;
CREATE PRIVATE TABLE calls (patient_id TEXT UNIT patient, ward TEXT IN ('A', 'B')) AT MOST 3 ROWS PER UNIT
  FROM 'calls.csv';
CREATE BUDGET research FOR UNIT patient EPSILON 10000;
"""


def made(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as database:
        for statement in statements:
            database.execute(statement)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people = "SELECT 'p' || i AS patient_id, ['N', 'S'][1 + i % 2] AS region, ['A', 'B'][1 + i % 2] AS ward"
    made(
        tmp_path / "clinic.duckdb",
        "CREATE SCHEMA people",
        f"CREATE TABLE people.patients AS {people} FROM range(100) r(i)",
        "CREATE VIEW people.visits AS SELECT patient_id, 10 AS minutes FROM people.patients",
        "CREATE TABLE regions AS SELECT * FROM (VALUES ('N', 1.5, DATE '2024-02-29'), ('S', 2.25, NULL)) r(code, weight, since)",
    )
    made(tmp_path / "lab.duckdb", "CREATE TABLE tests AS SELECT 'p' || i AS patient_id, 3 AS level FROM range(40) r(i)")
    (tmp_path / "wards.csv").write_text("code\nA\nB\n")
    (tmp_path / "calls.csv").write_text("patient_id,ward\n" + "".join(f"p{i},A\n" for i in range(30)))
    (tmp_path / "connections.toml").write_text('clinic = "clinic.duckdb"\nlab = "duckdb://lab.duckdb"\n')
    (tmp_path / "connections.toml").chmod(0o600)
    (tmp_path / "policy.pql").write_text(POLICY)
    return tmp_path


@pytest.fixture
def ledger(folder: Path) -> Path:
    privql.apply(folder / "policy.pql", folder / "ledger.db")
    return folder / "ledger.db"


def connect(ledger: Path) -> Session:
    return privql.connect(ledger, analyst="alice")


def rows(session: Session, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.run(query).rows]


def code(session: Session, query: str) -> str:
    with pytest.raises(PrivQLError) as raised:
        session.run(query)
    return raised.value.diagnostics[0].code


def charges(ledger: Path) -> int:
    with Ledger.open(ledger) as found:
        return len(found.history())


def test_each_table_is_answered_by_its_own_place(ledger: Path) -> None:
    with connect(ledger) as session:
        assert rows(session, "SELECT COUNT(*) FROM patients SPEND EPSILON 100") == [(100,)]
        assert rows(session, "SELECT SUM(level) FROM tests SPEND EPSILON 300") == [(120,)]
        assert rows(session, "SELECT ward, COUNT(*) FROM calls GROUP BY ward SPEND EPSILON 300") == [
            ("A", 30),
            ("B", 0),
            (None, 0),
        ]
        joined = "SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id SPEND EPSILON 300"
        assert rows(session, joined) == [(100,)]
        both = "SELECT (SELECT COUNT(*) FROM patients), (SELECT COUNT(*) FROM tests), (SELECT COUNT(*) FROM calls) SPEND EPSILON 900"
        assert rows(session, both) == [(100, 40, 30)]


def test_public_rows_of_a_database_are_exact_and_meet_all(ledger: Path) -> None:
    with connect(ledger) as session:
        assert [(code, str(weight), str(since)) for code, weight, since in rows(session, "SELECT * FROM regions")] == [
            ("N", "3/2", "19782"),
            ("S", "9/4", "None"),
        ]
        grouped = "SELECT region, COUNT(*), SUM(weight) FROM patients JOIN regions ON code = region GROUP BY region SPEND EPSILON 900"
        assert [row[:2] for row in rows(session, grouped)] == [("N", 50), ("S", 50)]
        assert rows(session, "SELECT COUNT(*) FROM patients JOIN wards ON code = ward SPEND EPSILON 100") == [(100,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM patients p JOIN tests t ON p.patient_id = t.patient_id SPEND EPSILON 1",
        "SELECT COUNT(*) FROM tests t, calls c WHERE t.patient_id = c.patient_id SPEND EPSILON 1",
        "SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT * FROM tests t WHERE t.patient_id = p.patient_id) SPEND EPSILON 1",
        "SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM calls) SPEND EPSILON 1",
        "SELECT COUNT(*) FILTER (WHERE patient_id IN (SELECT patient_id FROM tests)) FROM patients SPEND EPSILON 1",
        "SELECT COUNT(*) FROM patients GROUP BY patient_id IN (SELECT patient_id FROM tests) SPEND EPSILON 1",
        "SELECT DISTINCT patient_id IN (SELECT patient_id FROM tests) AS tested FROM patients",
        "SELECT COUNT(*) FROM (SELECT patient_id FROM patients INTERSECT SELECT patient_id FROM tests) t SPEND EPSILON 1",
        "SELECT COUNT(*) FROM (SELECT patient_id FROM calls UNION ALL SELECT patient_id FROM tests) t SPEND EPSILON 1",
        "SELECT SUM(n) FROM (SELECT p.patient_id, (SELECT COUNT(*) FROM tests t WHERE t.patient_id = p.patient_id) AS n"
        " FROM patients p) q SPEND EPSILON 1",
    ],
)
def test_private_rows_of_two_places_never_meet(ledger: Path, query: str) -> None:
    with connect(ledger) as session:
        checked = session.check(query)
        assert [d.code for d in checked.diagnostics] == ["PQL0414"], checked.diagnostics
        assert "ask the owner to put" in checked.diagnostics[0].help
        assert code(session, query) == "PQL0414"
    assert charges(ledger) == 0


def test_an_analyst_learns_no_address(ledger: Path, folder: Path) -> None:
    with connect(ledger) as session:
        told = [str(session.run(f"DESCRIBE {table}")) for table in ("patients", "regions", "tests")]
        told += [str(session.run("SHOW TABLES")), session.explain("SELECT COUNT(*) FROM tests SPEND EPSILON 1")]
        (folder / "lab.duckdb").unlink()
        with pytest.raises(PrivQLError) as raised:
            session.run("SELECT COUNT(*) FROM tests SPEND EPSILON 2")
        told.append(str(raised.value))
    for text in told:
        assert "duckdb" not in text and "lab" not in text and "clinic" not in text and str(folder) not in text


def test_nothing_is_opened_before_it_is_needed(ledger: Path, folder: Path) -> None:
    (folder / "lab.duckdb").unlink()
    with connect(ledger) as session:
        assert rows(session, "SELECT COUNT(*) FROM patients SPEND EPSILON 100") == [(100,)]
        assert session.check("SELECT COUNT(*) FROM tests SPEND EPSILON 1").ok
        assert code(session, "SELECT COUNT(*) FROM tests SPEND EPSILON 1") == "PQL0602"
    assert charges(ledger) == 1


def test_who_only_checks_needs_no_connection(folder: Path) -> None:
    (folder / "connections.toml").unlink()
    with privql.connect(policy=folder / "policy.pql", ledger=":memory:", analyst="alice") as session:
        assert session.check("SELECT COUNT(*) FROM tests SPEND EPSILON 1").ok
        assert code(session, "SELECT COUNT(*) FROM tests SPEND EPSILON 1") == "PQL0602"


def test_where_connections_lead_may_be_said_from_python(ledger: Path, folder: Path, tmp_path: Path) -> None:
    made(tmp_path / "other.duckdb", "CREATE TABLE tests AS SELECT 'q' AS patient_id, 1 AS level")
    (folder / "connections.toml").unlink()
    with privql.connect(ledger, analyst="alice", connections={"LAB": str(tmp_path / "other.duckdb")}) as session:
        assert rows(session, "SELECT COUNT(*) FROM tests SPEND EPSILON 100") == [(1,)]
        assert code(session, "SELECT COUNT(*) FROM patients SPEND EPSILON 1") == "PQL0602"


def test_a_key_that_breaks_in_a_database_is_refused(ledger: Path, folder: Path) -> None:
    with connect(ledger) as session:
        assert rows(session, "SELECT COUNT(*) FROM patients SPEND EPSILON 100") == [(100,)]
        twin = f"import duckdb; duckdb.connect({str(folder / 'clinic.duckdb')!r}).execute("
        twin += "\"INSERT INTO people.patients VALUES ('p1', 'N', 'A')\")"
        (folder / "clinic.duckdb").rename(folder / "old")  # what is attached stays what it was
        (folder / "clinic.duckdb").write_bytes((folder / "old").read_bytes())
        subprocess.run([sys.executable, "-c", twin], check=True)
        assert code(session, "SELECT COUNT(*) FROM patients SPEND EPSILON 99") == "PQL0603"
    assert charges(ledger) == 1


@pytest.mark.parametrize(
    ("connections", "said"),
    [
        ('clinic = "clinic.duckdb"\n', "no connection is named `lab`"),
        ('clinic = "clinic.duckdb"\nlab = "nowhere.duckdb"\n', "there is no database at"),
        ('clinic = "clinic.duckdb"\nlab = "oracle://scott:s3cret@h/"\n', "nothing here reads `oracle://scott:…@h/`"),
        ('clinic = "clinic.duckdb"\nlab = "calls.csv"\n', "cannot be reached"),
    ],
)
def test_the_owner_reads_why_a_connection_cannot_be_used(folder: Path, connections: str, said: str) -> None:
    (folder / "connections.toml").write_text(connections)
    with pytest.raises(PrivQLError) as raised:
        privql.apply(folder / "policy.pql", folder / "ledger.db")
    (found,) = raised.value.diagnostics
    assert found.code == "PQL0750" and said in f"{found.message} {found.why}" and "s3cret" not in str(found)
    assert not (folder / "ledger.db").exists()


def test_a_table_that_is_not_behind_its_connection(folder: Path) -> None:
    made(folder / "lab.duckdb", "DROP TABLE tests")
    with pytest.raises(PrivQLError) as raised:
        privql.apply(folder / "policy.pql", folder / "ledger.db")
    (found,) = raised.value.diagnostics
    assert found.code == "PQL0741" and "after `lab` in FROM" in found.help


def test_a_frame_is_no_table_of_a_database(folder: Path) -> None:
    import pandas

    with pytest.raises(PrivQLError) as raised:
        privql.apply(folder / "policy.pql", folder / "ledger.db", {"tests": pandas.DataFrame({"patient_id": []})})
    assert raised.value.diagnostics[0].code == "PQL0744"
