"""A PostgreSQL server as a place of private rows: what is there, who may read it, and that it fails in one way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privql.engines.interface import EngineError, Recognised
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import INT, TEXT, TIMESTAMP, Field
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Scan
from tests.ledger.servers import available

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

import psycopg
from psycopg.sql import SQL, Identifier

from privql.engines.opening import open_engine
from privql.engines.postgres.engine import PostgresEngine
from privql.engines.postgres.roles import Granted, role_script
from tests.engines import on_postgres
from tests.engines.breaking_off import ctrl_c
from tests.engines.on_postgres import asked, opened, own_schema, schema_of

SALT = b"salt"


@pytest.fixture
def server() -> Iterator[Any]:
    with own_schema() as connection:
        yield connection


# ---- what is there, and who may read it


def kind(engine: PostgresEngine, scan: Scan) -> str:
    with pytest.raises(EngineError) as told:
        engine.preflight([scan])
    assert told.value.__cause__ is None and told.value.__context__ is None
    return told.value.kind


def test_what_is_not_there_is_named_beforehand(server: Any) -> None:
    server.execute("CREATE TABLE t (x bigint)")
    with opened(server, "t", "gone") as engine:
        engine.preflight([asked((("x", INT),))])
        assert kind(engine, asked((("y", INT),))) == "missing column"
        assert kind(engine, asked((("x", INT),), "gone")) == "missing source"
        assert kind(engine, asked((("x", INT),), "other")) == "missing source"
        server.execute("DROP TABLE t")
        assert kind(engine, asked((("x", INT),))) == "missing source"


def test_a_table_that_everybody_may_write_is_refused(server: Any) -> None:
    server.execute("CREATE TABLE t (x bigint, y bigint)")
    with opened(server) as engine:
        for right in ("INSERT", "UPDATE (x)", "DELETE"):
            server.execute(f"GRANT {right} ON t TO PUBLIC")
            assert kind(engine, asked((("x", INT),))) == "exposed source", right
            server.execute(f"REVOKE {right} ON t FROM PUBLIC")
        server.execute("GRANT SELECT ON t TO PUBLIC")
        engine.preflight([asked((("x", INT),))])
        (advice,) = engine.advice({"t": Recognised((), ())})
        assert advice.table == "t" and "write" in advice.what


@pytest.fixture
def role(server: Any) -> Iterator[str]:
    role = f"reader_{time.monotonic_ns()}"
    yield role
    server.execute(f"DROP OWNED BY {role}")
    server.execute(f"DROP ROLE {role}")


def as_role(role: str) -> str:
    """The same database for another role; an administrator takes its part, which needs no password."""
    return psycopg.conninfo.make_conninfo(on_postgres.database(), options=f"-c role={role}")


def test_the_role_of_the_script_reads_what_is_declared_and_nothing_else(server: Any, role: str) -> None:
    server.execute('CREATE TABLE t (x bigint, "two words" text, secret text)')
    server.execute("INSERT INTO t VALUES (1, 'a', 's'), (2, 'b', 's')")
    server.execute(role_script(role, [Granted((schema_of(server), "t"), ("x", "two words"))]))
    columns = (("x", INT), ("two words", TEXT))
    with opened(server, address=as_role(role), owner_log=print) as engine:
        engine.preflight([asked(columns)])
        term = Sums(asked(columns), (), (Tally(), Total(Steps(Field("x", INT), Fraction(1), 0, 9))))
        engine.rehearse(term)
        assert engine.run(term, SALT).tolist() == [[2, 3]]
        assert engine.advice({"t": Recognised((), ())}) == []
        assert kind(engine, asked((("secret", TEXT),))) == "unreadable source"
    with psycopg.connect(as_role(role), autocommit=True) as theirs:
        table = f"{schema_of(server)}.t"
        for statement in (
            f"SELECT secret FROM {table}",
            f"SELECT * FROM {table}",
            f"INSERT INTO {table} VALUES (1)",
            f"UPDATE {table} SET x = 1",
            f"CREATE TABLE {schema_of(server)}.mine (x int)",
        ):
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)):
                theirs.execute(statement)


def test_rows_that_a_policy_of_the_server_hides_are_no_answer(server: Any, role: str) -> None:
    server.execute("CREATE TABLE t (x bigint)")
    server.execute("INSERT INTO t VALUES (1), (2)")
    server.execute(role_script(role, [Granted((schema_of(server), "t"), ("x",))]))
    server.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    server.execute("CREATE POLICY few ON t USING (x = 1)")
    with opened(server, address=as_role(role)) as engine, pytest.raises(EngineError, match="could not complete"):
        engine.run(Sums(asked((("x", INT),)), (), (Tally(),)), SALT)


# ---- how it fails


def test_whatever_goes_wrong_is_said_in_the_same_words(server: Any) -> None:
    """A view may raise; what the server says of it, which quotes a row, is for the owner."""
    server.execute("CREATE TABLE s (x text)")
    server.execute("INSERT INTO s VALUES ('Ada Lovelace')")
    server.execute("CREATE VIEW t AS SELECT x::bigint AS x FROM s")
    told: list[BaseException] = []
    with opened(server, owner_log=told.append) as engine:
        term = Sums(asked((("x", INT),)), (), (Total(Steps(Field("x", INT), Fraction(1), 0, 9)),))
        engine.rehearse(term)
        with pytest.raises(EngineError) as failed:
            engine.run(term, SALT)
        assert "Ada Lovelace" in str(told[0])
        assert failed.value.kind == "failed" and failed.value.__cause__ is None and failed.value.__context__ is None
        assert not engine.readable("t", (("x", INT),))
        server.execute("DELETE FROM s")
        assert engine.run(term, SALT).tolist() == [[0]]  # and goes on


def test_of_one_state_what_fails_leaves_the_rest(server: Any) -> None:
    """Until it is let go, whatever is written meanwhile, and whatever fails."""
    server.execute("CREATE TABLE t (x bigint)")
    server.execute("INSERT INTO t VALUES (1), (2)")
    server.execute("CREATE TABLE s (x text)")
    server.execute("INSERT INTO s VALUES ('Ada')")
    server.execute("CREATE VIEW v AS SELECT x::bigint AS x FROM s")
    columns = (("x", INT),)
    with opened(server, "t", "v") as engine:

        def counted() -> Any:
            return engine.run(Sums(asked(columns), (), (Tally(),)), SALT).tolist()

        engine.steady()
        assert engine.unique("t", columns)
        server.execute("INSERT INTO t VALUES (1)")
        assert not engine.readable("v", columns)
        assert engine.unique("t", columns) and counted() == [[2]]
        server.execute("SET lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            server.execute("TRUNCATE t")  # which no snapshot would hide
        engine.let_go()
        assert not engine.unique("t", columns) and counted() == [[3]]
        server.execute("TRUNCATE t")
        assert counted() == [[0]]


SLOW = "CREATE VIEW t AS SELECT pg_sleep(20)::text AS x"


def test_ctrl_c_stops_it(server: Any) -> None:
    server.execute(SLOW)
    columns = (("x", TEXT),)
    with opened(server) as engine:
        began = time.monotonic()
        with ctrl_c(1):
            engine.groups(Keys(asked(columns), columns), SALT)
        assert time.monotonic() - began < 15


def test_a_statement_takes_no_longer_than_the_limit(server: Any) -> None:
    server.execute(SLOW)
    columns = (("x", TEXT),)
    with opened(server, limit=1) as engine, pytest.raises(EngineError, match="could not complete"):
        engine.groups(Keys(asked(columns), columns), SALT)


def test_a_connection_that_was_lost_is_said_before_a_charge(server: Any) -> None:
    server.execute("CREATE TABLE t (x bigint)")
    with opened(server) as engine:
        engine.preflight([asked((("x", INT),))])
        pid = engine._connection.info.backend_pid
        server.execute("SELECT pg_terminate_backend(%s)", (pid,))
        assert kind(engine, asked((("x", INT),))) == "unreachable"


def test_nothing_is_written_and_settings_of_the_role_do_not_count(server: Any, role: str) -> None:
    server.execute("CREATE TABLE t (x timestamptz)")
    server.execute("INSERT INTO t VALUES ('1970-01-01 00:00:00+00')")
    server.execute(role_script(role, [Granted((schema_of(server), "t"), ("x",))]))
    server.execute(f"ALTER ROLE {role} SET timezone = 'Asia/Kathmandu'")
    columns = (("x", TIMESTAMP),)
    with opened(server, address=as_role(role)) as engine:
        assert engine.groups(Keys(asked(columns), columns), SALT) == [((0,), 1)]
    own = schema_of(server)
    server.execute(
        f"CREATE FUNCTION w() RETURNS bigint LANGUAGE sql AS 'INSERT INTO {own}.t VALUES (now()) RETURNING 1'"
    )
    server.execute(f"CREATE VIEW writing AS SELECT {own}.w() AS x")
    with opened(server, "writing") as engine, pytest.raises(EngineError, match="could not complete"):
        engine.groups(Keys(asked((("x", INT),), "writing"), (("x", INT),)), SALT)
    with opened(server) as engine, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        engine._connection.execute(SQL("DELETE FROM {}.t").format(Identifier(schema_of(server))))


def test_who_is_not_reached_and_what_is_no_server_is_said(tmp_path: Path) -> None:
    with pytest.raises(psycopg.OperationalError):
        open_engine("postgresql://nobody@127.0.0.1:1/none", {"t": ("t",)}, lambda cause: None)
