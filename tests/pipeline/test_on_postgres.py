"""Private tables on a PostgreSQL server, from the policy to the answer; and the role that the owner lets read them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.ledger import Ledger
from privql.surfaces.cli import main
from tests.ledger.servers import available

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

import psycopg

from privql.engines.postgres.engine import PostgresEngine
from tests.engines import on_postgres

POLICY = """\
CREATE UNIT patient;
CREATE PUBLIC TABLE wards (code TEXT KEY) FROM 'wards.csv';
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120, ward TEXT REFERENCES wards(code)
) FROM clinic.{schema}.patients;
CREATE PRIVATE TABLE visits (patient_id TEXT UNIT patient, cost DECIMAL(8,2) BETWEEN 0 AND 100)
  AT MOST 3 ROWS PER UNIT FROM clinic.{schema}.visits;
CREATE BUDGET research FOR UNIT patient EPSILON 100000 DELTA 1e-6;
GRANT research TO alice;
"""


@pytest.fixture
def schema() -> Iterator[str]:
    schema = f"clinic_{time.monotonic_ns()}"
    with psycopg.connect(on_postgres.database(), autocommit=True) as server:
        server.execute(f"CREATE SCHEMA {schema}")
        server.execute(f"SET search_path = {schema}")
        server.execute(
            "CREATE TABLE patients AS SELECT 'p' || i AS patient_id, (i % 90)::integer AS age,"
            " (ARRAY['A', 'B'])[1 + i % 2] AS ward FROM generate_series(0, 199) AS r(i)"
        )
        server.execute(
            "CREATE TABLE visits AS SELECT 'p' || i % 100 AS patient_id, 12.50::numeric(8,2) AS cost"
            " FROM generate_series(0, 999) AS r(i)"
        )
        yield schema
        server.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def policy(schema: str, tmp_path: Path) -> Path:
    (tmp_path / "wards.csv").write_text("code\nA\nB\nC\n")
    (tmp_path / "policy.pql").write_text(POLICY.format(schema=schema))
    (tmp_path / "connections.toml").write_text(f'clinic = "{on_postgres.database()}"\n')
    (tmp_path / "connections.toml").chmod(0o600)
    return tmp_path / "policy.pql"


@pytest.fixture
def ledger(policy: Path) -> Path:
    privql.apply(policy, policy.parent / "ledger.db")
    return policy.parent / "ledger.db"


def asked(ledger: Path, query: str) -> list[tuple[Any, ...]]:
    with privql.connect(ledger, analyst="alice") as session:
        return [tuple(row) for row in session.run(query).rows]


def test_queries_are_answered_there(ledger: Path) -> None:
    assert asked(ledger, "SELECT COUNT(*) FROM patients SPEND EPSILON 300") == [(200,)]
    grouped = "SELECT ward, COUNT(*) FROM patients GROUP BY ward SPEND EPSILON 300"
    assert asked(ledger, grouped) == [("A", 100), ("B", 100), ("C", 0), (None, 0)]
    bounded = "SELECT SUM(cost) FROM visits SPEND EPSILON 9000"
    ((total,),) = asked(ledger, bounded)
    assert abs(total - 12_500) < 1
    joined = "SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id SPEND EPSILON 900"
    assert asked(ledger, joined) == [(300,)]


def charged(ledger: Path) -> list[str]:
    with Ledger.open(ledger) as found:
        return [each.state for each in found.history()]


def test_groups_and_ranks_that_have_to_be_found(ledger: Path) -> None:
    found = "SELECT age, COUNT(*) FROM patients GROUP BY age SPEND EPSILON 900"
    assert len(asked(ledger, found)) >= 90
    ((median,),) = asked(ledger, "SELECT MEDIAN(age) FROM patients SPEND EPSILON 300")
    assert 35 <= median <= 45


def test_a_declaration_that_does_not_hold_is_found(policy: Path, schema: str) -> None:
    with psycopg.connect(on_postgres.database(), autocommit=True) as server:
        server.execute(f"INSERT INTO {schema}.patients VALUES ('p1', 5, 'A')")
    with pytest.raises(PrivQLError, match="patient_id"):
        privql.apply(policy, policy.parent / "ledger.db")


def test_what_the_role_may_not_read_and_what_everybody_may_write_is_said(policy: Path, schema: str) -> None:
    with psycopg.connect(on_postgres.database(), autocommit=True) as server:
        server.execute(f"GRANT UPDATE ON {schema}.visits TO PUBLIC")
        with pytest.raises(PrivQLError, match="can be written by every account") as told:
            privql.apply(policy, policy.parent / "ledger.db")
        assert "REVOKE" in str(told.value)
        server.execute(f"REVOKE UPDATE ON {schema}.visits FROM PUBLIC")
        role = f"stranger_{time.monotonic_ns()}"
        server.execute(f"CREATE ROLE {role}")
        address = psycopg.conninfo.make_conninfo(on_postgres.database(), options=f"-c role={role}")
        with pytest.raises(PrivQLError, match="source script"):
            privql.apply(policy, policy.parent / "ledger.db", connections={"clinic": f"postgresql:///?{uri(address)}"})
        server.execute(f"DROP ROLE {role}")


def uri(parameters: str) -> str:
    """The parameters of an address, as they stand in one that begins with `postgresql://`."""
    from urllib.parse import quote, urlencode

    return urlencode(psycopg.conninfo.conninfo_to_dict(parameters), quote_via=quote)


def test_what_fails_says_nothing_and_its_words_are_the_owners(ledger: Path, schema: str) -> None:
    with psycopg.connect(on_postgres.database(), autocommit=True) as server:
        server.execute(f"DROP TABLE {schema}.visits")
        server.execute(
            f"CREATE VIEW {schema}.visits AS SELECT patient_id, (patient_id || ' Lovelace')::numeric(8,2) AS cost"
            f" FROM {schema}.patients"
        )
    with privql.connect(ledger, analyst="alice") as session, pytest.raises(PrivQLError) as told:
        session.run("SELECT SUM(cost) FROM visits SPEND EPSILON 1")
    assert "Lovelace" not in str(told.value) and told.value.__context__ is None


def meanwhile(monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    """Somebody else runs this just before each charge."""
    reserve = Ledger.reserve

    def later(self: Ledger, *given: Any) -> Any:
        with psycopg.connect(on_postgres.database(), autocommit=True) as server:
            server.execute(statement)
        return reserve(self, *given)

    monkeypatch.setattr(Ledger, "reserve", later)


COUNT = "SELECT COUNT(*) FROM patients SPEND EPSILON 300"


def test_what_is_summed_is_what_was_held_against_the_policy(
    ledger: Path, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that break a key come in after it was verified, and before they would be counted."""
    meanwhile(monkeypatch, f"INSERT INTO {schema}.patients VALUES ('p1', 5, 'A')")
    with privql.connect(ledger, analyst="alice") as session:
        assert tuple(session.run(COUNT).rows[0]) == (200,)
        with psycopg.connect(on_postgres.database(), autocommit=True) as server:
            wanted = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'privql' AND state LIKE %s"
            assert server.execute(wanted, ("idle in transaction%",)).fetchone() == (0,), "what was seen is let go"
        with pytest.raises(PrivQLError, match="not what the policy declares"):
            session.run(COUNT.replace("300", "301"))
    assert charged(ledger) == ["released"]


def test_planted_each_statement_sees_what_is_there(ledger: Path, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, f"INSERT INTO {schema}.patients VALUES ('p1', 5, 'A')")
    monkeypatch.setattr(PostgresEngine, "steady", lambda self: None)
    assert asked(ledger, COUNT) == [(201,)]


LOSE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'privql'"


def test_a_connection_that_was_lost_is_made_again_and_not_once_keys_were_verified_over_it(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with privql.connect(ledger, analyst="alice") as session:
        session.run(COUNT)
        with psycopg.connect(on_postgres.database(), autocommit=True) as server:
            server.execute(LOSE)
            assert tuple(session.run(COUNT.replace("300", "301")).rows[0]) == (200,)
            preflight = PostgresEngine.preflight
            readings = []

            def lost(self: PostgresEngine, scans: Any) -> None:
                readings.append(1)
                if len(readings) == 3:  # each value can be read, keys hold; now it is said what is there
                    server.execute(LOSE)
                preflight(self, scans)

            monkeypatch.setattr(PostgresEngine, "preflight", lost)
            with pytest.raises(PrivQLError, match="cannot be reached"):
                session.run(COUNT.replace("300", "302"))
            assert tuple(session.run(COUNT.replace("300", "302")).rows[0]) == (200,)
            meanwhile(monkeypatch, LOSE)
            with pytest.raises(PrivQLError, match="could not finish") as told:
                session.run(COUNT.replace("300", "303"))
            assert told.value.__context__ is None
    assert charged(ledger) == ["released"] * 3 + ["reserved"]


NAMED = """\
WITH big AS (SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward SPEND EPSILON 300)
SELECT COUNT(*) FROM patients p
JOIN (SELECT big.ward, w.name FROM big JOIN wards w ON big.ward = w.code WHERE n > 5) AS b ON p.ward = b.ward
WHERE b.name <> 'C' SPEND EPSILON 300
"""
MET = (
    "SELECT COUNT(*) FROM patients p JOIN wards w ON p.ward = w.code WHERE w.name <> 'C' SPEND EPSILON 300",
    NAMED,
    "SELECT COUNT(*) FROM patients p JOIN (SELECT code, $x AS name FROM wards) AS w ON p.ward = w.code"
    " WHERE w.name <> 'C' SPEND EPSILON 300",
)


@pytest.mark.parametrize("query", MET)
@pytest.mark.parametrize("name", ["Ward\0A", "Ward A"])
def test_a_public_text_that_the_server_cannot_hold_is_refused_before_the_charge(
    policy: Path, query: str, name: str
) -> None:
    wards = pa.table({"code": ["A", "B"], "name": ["A" if "$x" in query else name, "B"]})
    pq.write_table(wards, policy.parent / "wards.parquet")
    declared = policy.read_text().replace("'wards.csv'", "'wards.parquet'")
    policy.write_text(declared.replace("(code TEXT KEY)", "(code TEXT KEY, name TEXT)"))
    ledger = policy.parent / "ledger.db"
    privql.apply(policy, ledger)
    with privql.connect(ledger, analyst="alice") as session:
        given = {"x": name} if "$x" in query else {}
        if "\0" not in name:
            assert tuple(session.run(query, params=given).rows[0]) == (200,)
            return
        with pytest.raises(PrivQLError, match="character of number 0") as told:
            session.run(query, params=given)
    assert told.value.diagnostics[0].code == "PQL0602" and charged(ledger) == []


def test_the_script_names_what_the_policy_declares(
    policy: Path, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["source", "script", "clinic", "--policy", str(policy), "--role", "reader"]) == 0
    printed = capsys.readouterr().out
    assert f'GRANT SELECT ("patient_id", "age", "ward") ON "{schema}"."patients" TO "reader";' in printed
    assert 'CREATE ROLE "reader" LOGIN NOSUPERUSER' in printed and "wards" not in printed
    assert main(["source", "script", "elsewhere", "--policy", str(policy)]) == 2
