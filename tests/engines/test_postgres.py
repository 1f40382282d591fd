"""PostgreSQL: the same integers as elsewhere, from whatever is stored there."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from privql.conformance.kit import FULL, QUICK, Extent, conformance
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
from privql.kernel.terms import Gather, Mark, Project, Scan, Unit
from tests.assurance import assured, length
from tests.ledger.servers import available

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

import psycopg

from privql.engines import postgres
from privql.engines.postgres.dialect import POSTGRESQL
from privql.engines.postgres.engine import PostgresEngine
from tests.engines import on_postgres
from tests.engines.on_postgres import asked, opened, own_schema

SALT = b"salt"
DATABASES, TERMS = length(2, 2000), 12


def of_values(stored: Any) -> PostgresEngine:
    return postgres.of_values(on_postgres.database(), stored, lambda cause: None)


@pytest.fixture
def server() -> Iterator[Any]:
    with own_schema() as connection:
        yield connection


# ---- the same integers


@pytest.mark.parametrize("seed", range(DATABASES))
def test_every_primitive_means_what_the_reference_says(seed: int) -> None:
    with assured("postgres") as tally:
        report = conformance(of_values, Extent(1, 0, 10**6, 1, TERMS), seed, postgres.holds)
        tally["tried"] += 2 * TERMS
        assert report.ok, str(report)
    assert report.cases > 100 and sum(each.refused for each in report.outcomes) < report.cases / 3


def test_every_operation_means_what_it_should() -> None:
    with assured("conformance") as tally:
        report = conformance(of_values, length(QUICK, FULL), 1, postgres.holds)
        tally["tried"] += report.cases
        assert report.ok, str(report)


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
    assert any(not conformance(of_values, extent, seed, postgres.holds).ok for seed in range(24)), name


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
    random, type = Random(4), decimal(10, 2)
    low, high = bounds
    for key in ("many", "some", "none", "all"):
        some = {"many": 50, "some": 1, "none": 0, "all": 0}[key]
        values = [str(random.randrange(-(10**10) + 1, 10**10) / 100) for _ in range(some)]
        values += ["NULL"] * 3 + ["'NaN'"] * {"many": 7, "some": 40, "none": 0, "all": 9}[key]
        server.execute(f"INSERT INTO t VALUES {', '.join(f'({key!r}, {value})' for value in values)}")
    stored = server.execute("SELECT k, (x * 100)::text FROM t").fetchall()
    x, steps = Field("x", type), Steps(Field("x", type), Fraction(1, 100), low, high)
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


def test_a_row_that_meets_several_is_there_once(server: Any) -> None:
    """EXISTS with a further condition: of each unit's rows, whether another of its own is larger."""
    server.execute("CREATE TABLE t (u bigint, x bigint)")
    server.execute("INSERT INTO t VALUES (1, 1), (1, 1), (1, 5), (1, 7), (1, NULL), (2, 9), (2, 9), (NULL, 1)")
    scan = Scan("t", Unit("person"), ("u", INT), False, (("x", INT),))
    x, y, larger = Field("x", INT), Field("y", INT), Field("larger", BOOL)
    others = Project(scan, (("y", x),))
    marked = Mark(scan, "larger", others, (), Apply("lt", (x, y), BOOL))
    with opened(server, owner_log=print) as engine:
        found = engine.run(Sums(marked, (Key(larger, (True, False)), Key(x, (1, 5, 7, 9, None))), (Tally(),)), SALT)
    assert found.reshape(2, 5).tolist() == [[2, 1, 0, 0, 0], [0, 0, 1, 2, 1]]


def test_by_a_truth_that_is_written_out_rows_are_grouped_as_by_any(server: Any) -> None:
    server.execute("CREATE TABLE t (u bigint, x bigint)")
    server.execute("INSERT INTO t VALUES (1, 1), (1, 2), (2, 9)")
    sure, scan = Const(True, BOOL), Scan("t", Unit("person"), ("u", INT), False, (("x", INT),))
    by_itself = Sums(scan, (Key(sure, (True, False)), Key(Field("x", INT), (1, 2))), (Tally(),))
    gathered = Gather(scan, (("sure", sure),), (("n", Tally()),))
    with opened(server) as engine:
        for term, counts in (
            (by_itself, [[1], [1], [0], [0]]),
            (Sums(gathered, (Key(Field("n", INT), (1, 2, None)),), (Tally(),)), [[1], [1], [0]]),
        ):
            engine.rehearse(term)
            assert engine.run(term, SALT).tolist() == counts
