"""A PostgreSQL server that refuses a password, or whose disk takes no more: what the owner is told, what an analyst is,
and what is charged."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.ledger import Ledger
from privql.pipeline.doctor import doctor
from tests.ledger.servers import available

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.engines import on_postgres

POLICY = """\
CREATE UNIT patient;
CREATE PRIVATE TABLE visits (patient_id INT UNIT patient, cost INT BETWEEN 0 AND 100)
  AT MOST 3 ROWS PER UNIT FROM clinic.{schema}.visits;
CREATE BUDGET research FOR UNIT patient EPSILON 1000000;
GRANT research TO alice;
"""
SUM = "SELECT SUM(cost) FROM visits SPEND EPSILON 900"
ROWS = 500_000


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with psycopg.connect(on_postgres.database(), autocommit=True) as made:
        yield made


@pytest.fixture
def policy(server: Any, tmp_path: Path) -> Iterator[Path]:
    schema = f"fails_{time.monotonic_ns()}"
    server.execute(f"CREATE SCHEMA {schema}")
    made = (
        f"SELECT i % {ROWS // 2} AS patient_id, (i % 7)::bigint AS cost FROM generate_series(1, {ROWS}::bigint) AS r(i)"
    )
    server.execute(f"CREATE TABLE {schema}.visits AS {made}")
    (tmp_path / "policy.pql").write_text(POLICY.format(schema=schema))
    leads(tmp_path, on_postgres.database())
    yield tmp_path / "policy.pql"
    server.execute(f"DROP SCHEMA {schema} CASCADE")


def leads(folder: Path, address: str) -> None:
    (folder / "connections.toml").write_text(f'clinic = "{address}"\n')
    (folder / "connections.toml").chmod(0o600)


def refused(ledger: Path, query: str = SUM) -> tuple[str, str]:
    """In words that lead nowhere, nor does what they came from."""
    with privql.connect(ledger, analyst="alice") as session, pytest.raises(PrivQLError) as told:
        session.run(query)
    (said,) = told.value.diagnostics
    problem: BaseException | None = told.value
    while problem is not None:
        for secret in (RIGHT, WRONG, "olga", "password", "host=", *FULL, "pgsql_tmp"):
            assert secret not in f"{problem} {problem.args}"
        problem = problem.__cause__ or problem.__context__
    return said.code, said.message


UNREACHED = ("PQL0602", "the database with the data of table `visits` cannot be reached")
FAILED = ("PQL0601", "the engine could not finish this query")
RIGHT, WRONG = "r1ght", "S3cr3tly"
FULL = ("No space left on device", "temporary file size exceeds")


def charged(ledger: Path) -> list[tuple[str, int]]:
    with Ledger.open(ledger) as found:
        return [(each.state, each.resumes) for each in found.history()]


# ---- a password


@pytest.fixture
def olga(server: Any, policy: Path) -> Iterator[str]:
    """A role that has to say a password, on a server that asks nobody else for one."""
    parts = conninfo_to_dict(on_postgres.database())
    (file,) = server.execute("SHOW hba_file").fetchone()
    try:
        rules = Path(file).read_text()
        if not str(parts["host"]).startswith("/"):
            raise OSError
    except OSError:
        pytest.skip("who must say a password can be set on a server of the tests' own alone")
    role = f"olga_{time.monotonic_ns()}"
    (schema,) = (line.split(".")[1] for line in policy.read_text().splitlines() if "FROM clinic" in line)
    server.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{RIGHT}'")
    server.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    server.execute(f"GRANT SELECT ON {schema}.visits TO {role}")
    Path(file).write_text(f"local all {role} scram-sha-256\n{rules}")
    server.execute("SELECT pg_reload_conf()")
    time.sleep(0.5)
    yield f"postgresql://{role}:{{}}@/{parts['dbname']}?host={parts['host']}&port={parts['port']}"
    Path(file).write_text(rules)
    server.execute("SELECT pg_reload_conf()")
    server.execute(f"DROP OWNED BY {role}")
    server.execute(f"DROP ROLE {role}")


def test_a_wrong_password_is_told_the_owner_and_to_an_analyst_that_nobody_is_there(
    policy: Path, olga: str, server: Any
) -> None:
    ledger = policy.parent / "ledger.db"
    leads(policy.parent, olga.format(WRONG))
    with pytest.raises(PrivQLError) as told:
        privql.apply(policy, ledger)
    assert {each.code for each in told.value.diagnostics} == {"PQL0750"}
    assert "password authentication failed" in str(told.value) and WRONG not in str(told.value)
    (finding,) = (str(each) for each in doctor(policy).findings if each.level == "wrong")
    assert "password authentication failed" in finding and WRONG not in finding

    leads(policy.parent, olga.format(RIGHT))
    privql.apply(policy, ledger)
    with privql.connect(ledger, analyst="alice") as session:
        session.run(SUM)  # with the right one, all is well
        role = olga.partition("//")[2].partition(":")[0]
        server.execute(f"ALTER ROLE {role} PASSWORD 'another'")
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,))
        with pytest.raises(PrivQLError, match="cannot be reached"):
            session.run(SUM.replace("900", "901"))
    assert refused(ledger, SUM.replace("900", "902")) == UNREACHED
    assert charged(ledger) == [("released", 0)]


# ---- a disk


@contextmanager
def full(server: Any) -> Iterator[None]:
    """While what statements write beside themselves goes to a disk of 1 MB; where none can be made, to one that takes
    no more by decree."""
    (data,) = server.execute("SHOW data_directory").fetchone()
    (own,) = server.execute("SELECT current_database()").fetchone()
    small = Path(tempfile.mkdtemp())
    try:
        os.chmod(small, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        settings, mounted = "temp_file_limit = '8kB'", False
    else:
        mounted, user = True, os.stat(data)
        os.chown(small, user.st_uid, user.st_gid)
        server.execute(f"CREATE TABLESPACE small LOCATION '{small}'")
        settings = "temp_tablespaces = 'small'"
    server.execute(f'ALTER DATABASE "{own}" SET {settings}')
    try:
        yield
    finally:
        server.execute(f'ALTER DATABASE "{own}" RESET ALL')
        if mounted:
            server.execute("DROP TABLESPACE small")
            subprocess.run(["umount", str(small)], check=True)
        small.rmdir()


def test_a_full_disk_is_one_failure_and_the_charge_is_taken_up(policy: Path, server: Any) -> None:
    ledger = policy.parent / "ledger.db"
    privql.apply(policy, ledger)
    with full(server):
        assert (refused(ledger), charged(ledger)) == (FAILED, [("reserved", 0)])
    with Ledger.open(ledger) as found:
        (incident,) = found.incidents()
        assert any(words in incident.words for words in FULL), "the owner alone reads it"
    with privql.connect(ledger, analyst="alice") as session:
        (total,) = session.run(SUM).rows[0]
    assert 0 < total < 6 * ROWS
    assert charged(ledger) == [("released", 1)], "nothing was charged twice"


def test_a_disk_that_is_full_before_the_charge_costs_nothing(policy: Path, server: Any) -> None:
    """A key of so many values cannot be verified there."""
    keyed = policy.read_text().replace("UNIT patient,", "UNIT patient KEY,").replace("AT MOST 3 ROWS PER UNIT", "")
    policy.write_text(keyed)
    (schema,) = (line.split(".")[1] for line in keyed.splitlines() if "FROM clinic" in line)
    server.execute(f"TRUNCATE {schema}.visits")
    server.execute(f"INSERT INTO {schema}.visits SELECT i, 1 FROM generate_series(1, {ROWS}::bigint) AS r(i)")
    ledger = policy.parent / "ledger.db"
    privql.apply(policy, ledger)
    with full(server):
        assert (refused(ledger), charged(ledger)) == (FAILED, [])
    with privql.connect(ledger, analyst="alice") as session:
        session.run(SUM)
    assert charged(ledger) == [("released", 0)]
