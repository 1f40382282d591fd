"""PostgreSQL: the same integers as elsewhere, from a server that is only read, and fails in one way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from privql.conformance.kit import Extent, conformance
from privql.engines.interface import EngineError, Recognised
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    TEXT,
    TIMESTAMP,
    Apply,
    Const,
    Field,
    ValueType,
    decimal,
)
from privql.kernel.sums import Balance, Key, Keys, Sums
from privql.kernel.terms import Scan, Unit
from tests.assurance import assured, length
from tests.ledger.servers import available

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

import psycopg

from privql.engines import postgres
from privql.engines.opening import open_engine
from privql.engines.postgres.dialect import POSTGRESQL
from privql.engines.postgres.engine import PostgresEngine
from privql.engines.postgres.roles import Granted, role_script
from tests.engines import on_postgres

SALT = b"salt"
DATABASES, TERMS = length(2, 2000), 12


def asked(columns: tuple[tuple[str, ValueType], ...], table: str = "t") -> Scan:
    return Scan(table, Unit("row"), None, False, columns)


def of_values(stored: Any) -> PostgresEngine:
    return postgres.of_values(on_postgres.database(), stored, lambda cause: None)


@pytest.fixture
def server() -> Iterator[Any]:
    """A schema of its own, as an administrator sees it."""
    with psycopg.connect(on_postgres.database(), autocommit=True) as connection:
        schema = f"own_{id(connection)}_{time.monotonic_ns()}"
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}")
        yield connection
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def schema_of(server: Any) -> str:
    return str(server.execute("SELECT current_schema()").fetchone()[0])


def opened(server: Any, *tables: str, address: str | None = None, **options: Any) -> PostgresEngine:
    inside = {table: (schema_of(server), table) for table in tables or ("t",)}
    return PostgresEngine(address or on_postgres.database(), inside, **options)


# ---- the same integers


@pytest.mark.parametrize("seed", range(DATABASES))
def test_every_primitive_means_what_the_reference_says(seed: int) -> None:
    with assured("postgres") as tally:
        report = conformance(of_values, Extent(1, 0, 10**6, 1, TERMS), seed, postgres.holds)
        tally["tried"] += 2 * TERMS
        assert report.ok, str(report)
    assert report.cases > 100 and sum(each.refused for each in report.outcomes) < report.cases / 3


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("fingerprint", lambda parts: f"md5(concat({', '.join(parts)}))"),  # in the order of the bytes as they are
        ("extreme", lambda value, greatest, of: f"max({value}){of}"),
        ("quotient", lambda dividend, divisor: f"round({dividend} / {divisor})"),
        ("mode", lambda listed, of: f"(SELECT v FROM unnest({listed}) AS t(v) ORDER BY v LIMIT 1)"),
    ],
)
def test_a_planted_fault_is_seen(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(POSTGRESQL), name, lambda self, *given: fault(*given))
    extent = Extent(1, 0, 10**6, 1, 25)
    assert any(not conformance(of_values, extent, seed, postgres.holds).ok for seed in range(12)), name


# ---- stored types


STORED: tuple[tuple[str, str, ValueType, tuple[tuple[str, object], ...]], ...] = (
    ("smallint", "smallint", INT, (("-32768", -32768), ("32767", 32767))),
    ("integer", "integer", INT, (("2147483647", 2**31 - 1),)),
    ("bigint", "bigint", INT, (("-9223372036854775808", -(2**63)),)),
    ("bigint", "bigint", TEXT, (("7", "7"),)),
    ("real", "real", FLOAT, (("'NaN'", None), ("0.5", 0.5), ("'-Infinity'", None))),
    ("double precision", "float", FLOAT, (("'NaN'", None), ("'Infinity'", None), ("1e300", 1e300), ("5e-324", 5e-324))),
    ("double precision", "float as a number", decimal(10, 2), (("'NaN'", None), ("1.125", "1.13"), ("1e300", None))),
    ("numeric(10,2)", "decimal", decimal(10, 2), (("12.34", "12.34"), ("'NaN'", None))),
    ("numeric(10,2)", "decimal as INT", INT, (("12.50", 13), ("'NaN'", None))),
    ("numeric(10,2)", "decimal with more digits", decimal(12, 4), (("12.34", "12.34"), ("'NaN'", None))),
    ("numeric(10,2)", "decimal with fewer", decimal(38, 0), (("12.34", "12"), ("'NaN'", None))),
    ("numeric(10,2)", "decimal as FLOAT", FLOAT, (("12.50", 12.5), ("'NaN'", None))),
    ("numeric(10,2)", "decimal as TEXT", TEXT, (("12.50", "12.50"), ("'NaN'", None))),
    ("numeric", "any number", decimal(10, 2), (
        ("12.345", "12.35"), ("'NaN'", None), ("'Infinity'", None), ("1e40", None),
    )),
    ("numeric(40,2)", "a long number", INT, (("5", 5), ("1e30", None))),
    ("boolean", "boolean", BOOL, (("true", True),)),
    ("text", "text", TEXT, (("'a'", "a"),)),
    ("text", "text as INT", INT, (("'12'", 12), ("'x'", None))),
    ("varchar(10)", "varchar", TEXT, (("'a '", "a "),)),
    ("char(5)", "char", TEXT, (("'ab'", "ab"),)),
    ("uuid", "uuid", TEXT, (
        ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    )),
    ("jsonb", "jsonb", TEXT, (("'{\"a\": 1}'", '{"a": 1}'),)),
    ("date", "date", DATE, (
        ("'2024-02-29'", 19782), ("'infinity'", None), ("'10000-01-01'", None), ("'0001-01-01 BC'", None),
    )),
    ("timestamp", "timestamp", TIMESTAMP, (
        ("'1970-01-01 00:00:01'", 10**6), ("'-infinity'", None), ("'20000-01-01'", None),
    )),
    ("timestamptz", "timestamptz", TIMESTAMP, (("'1970-01-01 02:00:00+02'", 0), ("'infinity'", None))),
    ("bytea", "bytes are none of the language's", TEXT, (("'\\x00'", None),)),
    ("integer[]", "nor are arrays", INT, (("'{1}'", None),)),
)  # fmt: skip


@pytest.mark.parametrize(("stored", "name", "type", "values"), STORED, ids=[f"{s} {n}" for s, n, _, _ in STORED])
def test_a_stored_type_is_read_as_declared(server: Any, stored: str, name: str, type: ValueType, values: Any) -> None:
    server.execute(f"CREATE TABLE t (n bigint, x {stored})")
    for at, (written, _) in enumerate(values):
        server.execute(f"INSERT INTO t VALUES ({at}, {written})")
    columns = (("n", INT), ("x", type))
    with opened(server, owner_log=print) as engine:
        engine.preflight([asked(columns)])
        found = engine.groups(Keys(asked(columns), columns), SALT)
        assert engine.readable("t", columns)
    wanted = [(at, decimal_of(value) if type.kind == "DECIMAL" else value) for at, (_, value) in enumerate(values)]
    assert [group for group, _ in found] == wanted


def decimal_of(value: str | None) -> object:
    from fractions import Fraction

    return None if value is None else Fraction(value)


def test_rows_of_nobody_are_looked_for_unless_the_server_lets_none_in(server: Any) -> None:
    """NOT NULL of a table is its own word; that of one which others inherit from is not theirs, nor is a view's."""
    server.execute("CREATE TABLE t (n bigint NOT NULL, i integer NOT NULL, x text NOT NULL, d date NOT NULL, o bigint)")
    server.execute("INSERT INTO t VALUES (1, 1, 'a', 'infinity', NULL), (2, 2, 'b', '2024-02-29', 2)")
    server.execute("CREATE TABLE parent (n bigint NOT NULL)")
    server.execute("CREATE TABLE child () INHERITS (parent)")
    server.execute("CREATE TABLE parts (n bigint NOT NULL) PARTITION BY LIST (n)")
    server.execute("CREATE TABLE one PARTITION OF parts FOR VALUES IN (1)")
    server.execute("CREATE VIEW v AS SELECT n FROM t")

    def counted(table: str, column: str, type: ValueType) -> tuple[bool, Any]:
        scan = Scan(table, Unit("person"), (column, type), False, ())
        with opened(server, "t", "parent", "parts", "v") as engine:
            term = Sums(scan, (), (Tally(),))
            return "IS NOT NULL" in engine.emit(term), engine.run(term, SALT).tolist()

    assert counted("t", "n", INT) == counted("t", "i", INT) == counted("t", "x", TEXT) == (False, [[2]])
    assert counted("t", "o", INT) == (True, [[1]])
    assert counted("t", "d", DATE) == (True, [[1]]), "infinity is no day"
    assert counted("t", "x", INT) == (True, [[0]]), "no number"
    assert counted("t", "n", TEXT)[0]
    assert counted("parent", "n", INT)[0] and counted("v", "n", INT)[0]
    assert counted("parts", "n", INT) == (False, [[0]])


@pytest.mark.parametrize("bounds", [(-5000, 5000), (0, 700), (300, 99_999_999_99)])
def test_how_many_numbers_are_nan_is_told_by_their_sum(server: Any, bounds: tuple[int, int]) -> None:
    server.execute("CREATE TABLE t (k text, x numeric(10,2))")
    random, type, low, high = Random(4), decimal(10, 2), *bounds
    for key in ("many", "some", "none", "all"):
        some = {"many": 50, "some": 1, "none": 0, "all": 0}[key]
        values = [str(random.randrange(-(10**10) + 1, 10**10) / 100) for _ in range(some)]
        values += ["NULL"] * 3 + ["'NaN'"] * {"many": 7, "some": 40, "none": 0, "all": 9}[key]
        server.execute(f"INSERT INTO t VALUES {', '.join(f'({key!r}, {value})' for value in values)}")
    stored = server.execute("SELECT k, (x * 100)::text FROM t").fetchall()
    x, steps = Field("x", type), Steps(Field("x", type), Fraction(1, 100), low, high)  # type: ignore[arg-type]
    some = Apply("lt", (x, Const(Fraction(12), type)), BOOL)
    whats = (Tally(), Total(steps), Balance(steps), Total(steps, some), Balance(steps, some))
    members = ("none", "all", "some", "many", None)
    with opened(server, owner_log=print) as engine:
        columns = (("k", TEXT), ("x", type))
        found = engine.run(Sums(asked(columns), (Key(Field("k", TEXT), members),), whats), SALT).tolist()
        (whole,) = engine.run(Sums(asked(columns), (), whats), SALT).tolist()
    for key, cells in [*zip(members[:-1], found[:-1], strict=True), ("", whole)]:
        mine = [None if v in (None, "NaN") else int(float(v)) for k, v in stored if k == key or not key]
        values = [v for v in mine if v is not None]

        def sums(values: list[int]) -> list[int]:
            total = sum(min(max(v, low), high) for v in values)
            return [total, total - low * len(values), high * len(values) - total]

        under = [v for v in values if v < 1200]
        assert cells == [len(mine), *sums(values), sums(under)[0], *sums(under)[1:]], key
    assert found[-1] == [0] * 7


def test_domains_and_enums_are_read_as_what_they_are_of(server: Any) -> None:
    server.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    server.execute("CREATE DOMAIN amount AS numeric(10,2) CHECK (VALUE >= 0)")
    server.execute("CREATE DOMAIN price AS amount")
    server.execute("CREATE TABLE t (m mood, p price)")
    server.execute("INSERT INTO t VALUES ('sad', 1.50), ('glad', 2)")
    columns = (("m", TEXT), ("p", decimal(10, 2)))
    with opened(server) as engine:
        assert [(m, str(p)) for (m, p), _ in engine.groups(Keys(asked(columns), columns), SALT)] == [
            ("glad", "2"),
            ("sad", "3/2"),
        ]


def test_texts_are_told_apart_and_put_in_order_by_their_characters(server: Any) -> None:
    """Whatever a column's collation calls equal or first."""
    try:
        server.execute("CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this server was built without ICU: it has no collation that calls different texts equal")
    server.execute("CREATE TABLE t (x text COLLATE folded)")
    server.execute("INSERT INTO t VALUES ('a'), ('A'), ('b'), ('B'), ('é')")
    columns = (("x", TEXT),)
    with opened(server) as engine:
        assert [group for group, _ in engine.groups(Keys(asked(columns), columns), SALT)] == [
            ("A",), ("B",), ("a",), ("b",), ("é",),
        ]  # fmt: skip
        assert engine.unique("t", columns)


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
        term = Sums(asked(columns), (), (Tally(), Total(Steps(Field("x", INT), 1, 0, 9))))  # type: ignore[arg-type]
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
        term = Sums(asked((("x", INT),)), (), (Total(Steps(Field("x", INT), 1, 0, 9)),))  # type: ignore[arg-type]
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


def test_another_thread_can_stop_it(server: Any) -> None:
    server.execute(SLOW)
    columns = (("x", TEXT),)
    with opened(server) as engine:
        began = time.monotonic()
        timer = threading.Timer(1, engine.interrupt)
        timer.start()
        with pytest.raises(EngineError, match="could not complete"):
            engine.groups(Keys(asked(columns), columns), SALT)
        timer.join()
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
        engine._connection.execute(f"DELETE FROM {schema_of(server)}.t")  # type: ignore[call-overload]


def test_who_is_not_reached_and_what_is_no_server_is_said(tmp_path: Path) -> None:
    with pytest.raises(psycopg.OperationalError):
        open_engine("postgresql://nobody@127.0.0.1:1/none", {"t": ("t",)}, lambda cause: None)


def test_many_groups_and_public_rows_are_handed_over(server: Any) -> None:
    """As parameters: a text with a quote is no SQL."""
    from privql.kernel.sums import Key

    random = Random(1)
    texts = [f"it's {at}; --" for at in range(300)]
    server.execute("CREATE TABLE t (x text)")
    given = [random.choice(texts) for _ in range(1000)] + [None] * 3
    with server.cursor().copy("COPY t FROM STDIN") as copy:
        for text in given:
            copy.write_row([text])
    with opened(server) as engine:
        members = (*texts, None)
        term = Sums(asked((("x", TEXT),)), (Key(Field("x", TEXT), members),), (Tally(),))
        engine.rehearse(term)
        assert engine.run(term, SALT).tolist() == [[given.count(member)] for member in members]
