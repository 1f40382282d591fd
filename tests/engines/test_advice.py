"""What the owner of tables on a PostgreSQL server is told of them, from its catalog alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from privql.engines.interface import Advice, Recognised
from privql.kernel.scalars import INT, TEXT, ValueType
from tests.ledger.servers import available

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

import psycopg

from privql.engines.postgres import advice as room
from privql.engines.postgres.engine import PostgresEngine
from tests.engines import on_postgres


@pytest.fixture
def server() -> Iterator[Any]:
    with psycopg.connect(on_postgres.database(), autocommit=True) as connection:
        schema = f"told_{time.monotonic_ns()}"
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}, public")
        yield connection
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def told(server: Any, owner: ValueType, keys: tuple[tuple[str, ...], ...] = ()) -> list[Advice]:
    """Of a table `t` of an administrator, whose unit is `x`."""
    (schema,) = server.execute("SELECT current_schema()").fetchone()
    with PostgresEngine(on_postgres.database(), {"t": (schema, "t")}) as engine:
        found = engine.advice({"t": Recognised((("x", owner),), keys)})
    return [each for each in found if "write" not in each.what]


CITEXT = """
CREATE TYPE citext;
CREATE FUNCTION citextin(cstring) RETURNS citext LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION citextout(citext) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE citext (INPUT = citextin, OUTPUT = citextout, LIKE = text);
CREATE CAST (citext AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION citext_cmp(citext, citext) RETURNS integer LANGUAGE sql IMMUTABLE STRICT
  AS 'SELECT bttextcmp(lower($1::text), lower($2::text))';
CREATE FUNCTION citext_lt(citext, citext) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT
  AS 'SELECT lower($1::text) < lower($2::text)';
CREATE FUNCTION citext_eq(citext, citext) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT
  AS 'SELECT lower($1::text) = lower($2::text)';
CREATE OPERATOR < (LEFTARG = citext, RIGHTARG = citext, PROCEDURE = citext_lt);
CREATE OPERATOR = (LEFTARG = citext, RIGHTARG = citext, PROCEDURE = citext_eq);
CREATE OPERATOR CLASS citext_ops DEFAULT FOR TYPE citext USING btree
  AS OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 citext_cmp(citext, citext);
"""


def extension(server: Any) -> None:
    """The server's own, or what it is made of where that was not installed."""
    try:
        server.execute("CREATE EXTENSION IF NOT EXISTS citext SCHEMA public")
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
        server.execute(CITEXT)


def folding(server: Any) -> None:
    try:
        server.execute("CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this server was built without ICU: it has no collation that calls different texts equal")


@pytest.mark.parametrize(
    ("stored", "first", "second", "prepare"),
    [
        ("numeric", "1.0", "1.00", None),
        ("jsonb", "'[1.0]'", "'[1.00]'", None),
        ("citext", "'Ann'", "'ann'", extension),
        ("text COLLATE folded", "'Ann'", "'ann'", folding),
        ("varchar(9) COLLATE folded", "'Ann'", "'ann'", folding),
    ],
)
def test_a_unit_that_the_server_takes_for_one_and_is_two_here_is_told(
    server: Any, stored: str, first: str, second: str, prepare: Any
) -> None:
    if prepare is not None:
        prepare(server)
    server.execute(f"CREATE TABLE t (x {stored})")
    server.execute(f"INSERT INTO t VALUES ({first}), ({second})")
    (schema,) = server.execute("SELECT current_schema()").fetchone()
    with PostgresEngine(on_postgres.database(), {"t": (schema, "t")}) as engine:
        assert engine.unique("t", (("x", TEXT),)), "two of them, here"
    assert server.execute("SELECT count(DISTINCT x) FROM t").fetchone() == (1,), "and one, there"
    (advice,) = told(server, TEXT)
    assert "`x`" in advice.what and "view" in advice.help


@pytest.mark.parametrize(
    ("stored", "owner"),
    [("text", TEXT), ("varchar(9)", TEXT), ("char(9)", TEXT), ("uuid", TEXT), ("bigint", INT), ("bigint", TEXT),
     ("numeric(10,2)", TEXT), ("numeric(40,2)", TEXT), ("numeric", INT), ("date", TEXT), ("boolean", TEXT)],
)  # fmt: skip
def test_what_is_one_there_and_here_is_not(server: Any, stored: str, owner: ValueType) -> None:
    server.execute(f"CREATE TABLE t (x {stored})")
    assert told(server, owner) == []


def test_a_key_without_an_index_that_helps_to_verify_it(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MANY", 100)
    made = "SELECT i AS x, 'p' || i AS name, i::integer AS small FROM generate_series(1, 500::bigint) AS r(i)"
    server.execute(f"CREATE TABLE t AS {made}")
    keys = (("x",), ("x", "name"), ("name",), ("small",))
    assert told(server, INT, keys) == [], "nobody has counted its rows"
    server.execute("VACUUM ANALYZE t")
    found = told(server, INT, keys)
    assert [each.what.partition("(")[2].partition(")")[0] for each in found] == ["x", "x, name", "name"]
    for useless in (
        "CREATE INDEX ON t (lower(name))",
        "CREATE INDEX ON t (name)",  # in an order of the database's own
        "CREATE INDEX ON t (x) WHERE x > 5",
        "CREATE INDEX ON t USING hash (x)",
        "CREATE INDEX ON t (small, x)",
    ):
        server.execute(useless)
    assert told(server, INT, keys) == found
    for each in found:
        server.execute(each.help.split("`")[1])
        assert each not in told(server, INT, keys), each
    assert told(server, INT, keys) == []


def test_the_server_verifies_a_key_by_such_an_index(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is advised is of use: the plan of the statement that looks for twins."""
    monkeypatch.setattr(room, "MANY", 100)
    made = "SELECT i AS x, repeat('p', 300) || i AS name FROM generate_series(1, 5000::bigint) AS r(i)"
    server.execute(f"CREATE TABLE t AS {made}")
    server.execute("VACUUM ANALYZE t")
    for key, type in ((("x",), INT), (("name",), TEXT)):
        (advice,) = told(server, INT, (key,))
        server.execute(advice.help.split("`")[1])
        server.execute("VACUUM ANALYZE t")
        (schema,) = server.execute("SELECT current_schema()").fetchone()
        plans: list[str] = []
        with PostgresEngine(on_postgres.database(), {"t": (schema, "t")}) as engine:
            execute = engine._execute

            def planned(sql: str, values: tuple[Any, ...] = (), execute: Any = execute, plans: Any = plans) -> Any:
                plans.append("\n".join(line for (line,) in execute(f"EXPLAIN {sql}")[1]))
                return execute(sql, values)

            monkeypatch.setattr(engine, "_execute", planned)
            assert engine.unique("t", ((key[0], type),))
        assert "Index Only Scan" in plans[0], plans
