"""What a policy without contradictions declares."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from privql.diagnostics import Diagnostic, Source
from privql.domains import finite, interval, whole
from privql.domains.types import value_type
from privql.kernel.filters import Shares
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, decimal
from privql.kernel.terms import Unit
from privql.policy.build import build_catalog, build_statements
from privql.policy.catalog import Budget, Catalog, Column, Grant, Table
from privql.policy.views import tables_named
from privql.syntax import ast, parse_file, parse_query

LANGUAGE = """
CREATE UNIT patient;

CREATE PUBLIC TABLE regions (code TEXT KEY, name TEXT, population INT) FROM 'regions.csv';

CREATE PRIVATE TABLE patients (
  patient_id  TEXT UNIT patient KEY,
  age         INT BETWEEN 0 AND 120,
  sex         TEXT IN ('F', 'M', 'X'),
  region      TEXT REFERENCES regions(code),
  smoker      BOOL,
  cost        DECIMAL(10,2) BETWEEN 0 AND 20000,
  admitted    DATE BETWEEN DATE '2024-01-01' AND DATE '2025-12-31',
  note        TEXT HIDDEN
) FROM 'patients.parquet';

CREATE PRIVATE TABLE visits (
  visit_id INT KEY, patient_id TEXT UNIT patient, ward TEXT, minutes INT BETWEEN 0 AND 600
) AT MOST 20 ROWS PER UNIT
  FROM 'visits/*.parquet';

CREATE PRIVATE TABLE tests (test_id INT, visit_id INT REFERENCES visits(visit_id), level FLOAT BETWEEN 0 AND 9)
  UNIT patient VIA visit_id FROM 'tests.parquet';

CREATE VIEW adults AS SELECT * FROM patients WHERE age >= 18;

CREATE BUDGET research FOR UNIT patient EPSILON 3 DELTA 1e-6 DEFAULT EPSILON 0.1 MAX EPSILON 0.5 PER QUERY;
GRANT research TO alice, bob LIMIT EPSILON 1 EACH;
REFRESH patients AS '2025-12';
"""


def build(text: str) -> tuple[Catalog, list[Diagnostic]]:
    return build_catalog(Source(text, "policy.pql"))


def accepted(text: str) -> Catalog:
    catalog, diagnostics = build(text)
    assert not [each for each in diagnostics if each.severity == "error"], "\n".join(map(str, diagnostics))
    return catalog


def table(catalog: Catalog, name: str) -> Table:
    found = catalog.table(name)
    assert found is not None
    return found


def column(catalog: Catalog, of: str, name: str) -> Column:
    found = table(catalog, of).column(name)
    assert found is not None
    return found


def day(year: int, month: int, of_month: int) -> int:
    return (date(year, month, of_month) - date(1970, 1, 1)).days


def test_the_policy_of_the_language() -> None:
    catalog, diagnostics = build(LANGUAGE)
    assert [each.code for each in diagnostics] == ["PQL0730"]  # test_id
    assert catalog.units == (Unit("patient"),)
    patients, visits, tests = (table(catalog, name) for name in ("PATIENTS", "visits", "tests"))
    assert (patients.unit, patients.unit_column, patients.one_row_per_unit) == (Unit("patient"), "patient_id", True)
    assert (patients.keys, patients.files, patients.at_most) == ((("patient_id",),), ("patients.parquet",), None)
    assert (visits.one_row_per_unit, visits.at_most, visits.keys) == (False, 20, (("visit_id",),))
    assert (tests.unit, tests.unit_column, tests.via) == (Unit("patient"), None, ("visit_id",))
    assert not tests.one_row_per_unit and not table(catalog, "regions").private
    expected = {
        "patient_id": whole(TEXT, nullable=False),
        "age": interval(0, 120, True, Fraction(1)),
        "sex": finite(["F", "M", "X"], True),
        "region": whole(TEXT),
        "smoker": finite([False, True], True),
        "cost": interval(0, 20000, True, Fraction(1, 100)),
        "admitted": interval(day(2024, 1, 1), day(2025, 12, 31), True, Fraction(1)),
        "note": whole(TEXT),
    }
    assert {each.name: each.domain for each in patients.columns} == expected
    region = column(catalog, "patients", "region")
    assert (region.references, region.values_from) == (("regions", "code"), ("regions", "code"))
    visit = column(catalog, "tests", "visit_id")
    assert (visit.references, visit.values_from) == (("visits", "visit_id"), None)
    assert column(catalog, "patients", "note").hidden
    assert [view.name for view in catalog.views] == ["adults"]
    assert catalog.budgets == (
        Budget(
            "research", "patient", Fraction(3), Fraction(1, 10**6), Fraction(1, 10), None, Fraction(1, 2),
            span=catalog.budgets[0].span,
        ),
    )  # fmt: skip
    (stated,) = {grant.span for grant in catalog.grants}
    assert catalog.grants == tuple(Grant("research", name, Fraction(1), span=stated) for name in ("alice", "bob"))
    assert catalog.refreshed == (("patients", "2025-12"),)


def test_the_order_of_statements_does_not_matter() -> None:
    parsed, _ = parse_file(Source(LANGUAGE))
    statements = [each.statement for each in parsed]
    straight, _ = build_statements(statements, Source(LANGUAGE))
    turned, _ = build_statements(statements[::-1], Source(LANGUAGE))
    for kind in ("units", "tables", "views", "budgets", "refreshed"):
        assert set(getattr(straight, kind)) == set(getattr(turned, kind)), kind
    assert set(straight.grants) == set(turned.grants)


def test_each_row_its_own_unit() -> None:
    catalog = accepted("""
      CREATE UNIT household;
      CREATE PRIVATE TABLE checks (score INT BETWEEN 0 AND 9) UNIT ROW;
      CREATE PRIVATE TABLE houses (rooms INT BETWEEN 1 AND 20) UNIT ROW AS household;
      CREATE BUDGET b FOR UNIT Checks EPSILON 1;
      CREATE BUDGET c FOR UNIT household EPSILON 1;""")
    assert set(catalog.units) == {Unit("household"), Unit("checks")}
    for name in ("checks", "houses"):
        assert table(catalog, name).one_row_per_unit and table(catalog, name).unit_column is None
    assert (catalog.budgets[0].unit, catalog.budgets[0].delta) == ("checks", 0)


def test_neighbours_that_change() -> None:
    catalog = accepted("CREATE UNIT u NEIGHBOURS CHANGE ONE; CREATE PRIVATE TABLE t (id INT UNIT u);")
    assert table(catalog, "t").unit == Unit("u", change_one=True)


def test_a_key_of_several_columns_is_no_key_of_the_unit() -> None:
    catalog = accepted("""
      CREATE UNIT u; CREATE BUDGET b FOR UNIT u EPSILON 1;
      CREATE PRIVATE TABLE t (who TEXT UNIT u, day DATE, KEY (WHO, day));
      CREATE PRIVATE TABLE s (who TEXT UNIT u, day DATE, KEY (Who));""")
    assert table(catalog, "t").keys == (("who", "day"),) and not table(catalog, "t").one_row_per_unit
    assert table(catalog, "s").keys == (("who",),) and table(catalog, "s").one_row_per_unit


def test_options_in_any_order() -> None:
    catalog = accepted(
        """
      CREATE UNIT u;
      CREATE PRIVATE TABLE t (id VISIBLE INT UNIT u) UNIT u;""".replace("VISIBLE INT UNIT u", "INT VISIBLE KEY UNIT u")
    )
    told = column(catalog, "t", "id")
    assert told.visible and told.key and told.unit == "u" and not told.domain.nullable


def test_domains_as_declared() -> None:
    catalog = accepted("""
      CREATE PUBLIC TABLE r (code TEXT KEY);
      CREATE PUBLIC TABLE t (
        a INT IN (3, -1, 2) NOT NULL, b FLOAT BETWEEN -0.1 AND 1e3, c DECIMAL(6,2) BETWEEN -0.05 AND +9.95 GRID 0.05,
        d TIMESTAMP BETWEEN '1970-01-01 00:00:01' AND DATE '1970-01-02', e BOOL IN (TRUE) NOT NULL,
        f TEXT IN (SELECT code FROM r), g DECIMAL(4,1) IN (0.5, 1), h DATE IN ('1970-01-02', DATE '1969-12-31'),
        i FLOAT BETWEEN 0 AND 9 GRID 0.5, j TEXT REFERENCES R, k FLOAT IN (0.1, 2), l INT NOT NULL
      );""")
    domains = {each.name: each.domain for each in table(catalog, "t").columns}
    assert domains["a"] == finite([-1, 2, 3], False, Fraction(1))
    assert domains["b"] == interval(Fraction(-1, 10), 1000, True, None)
    assert domains["c"] == interval(Fraction(-1, 20), Fraction(199, 20), True, Fraction(1, 20))
    assert domains["d"] == interval(1_000_000, 86_400_000_000, True, Fraction(1))
    assert domains["e"] == finite([True], False)
    assert domains["g"] == finite([Fraction(1, 2), Fraction(1)], True, Fraction(1, 10))
    assert domains["h"].values == (-1, 1)
    assert domains["i"].grid == column(catalog, "t", "i").grid == Fraction(1, 2)
    assert domains["k"].values == (0.1, 2.0)
    assert domains["l"] == whole(INT, nullable=False)
    assert isinstance(column(catalog, "t", "f").values_from, ast.Query)
    assert column(catalog, "t", "j").values_from == ("r", "code")


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        ("INT INTEGER BIGINT SMALLINT int8", INT),
        ("FLOAT DOUBLE REAL FLOAT8 double", FLOAT),
        ("BOOL BOOLEAN", BOOL),
        ("TEXT STRING VARCHAR CHAR", TEXT),
        ("DATE", DATE),
        ("TIMESTAMP DATETIME TIMESTAMPTZ", TIMESTAMP),
        ("DECIMAL NUMERIC", decimal(18, 3)),
    ],
)
def test_types_by_their_usual_names(names: str, meant: object) -> None:
    assert {value_type(ast.TypeName(name)) for name in names.split()} == {meant}


def test_types_of_two_words_and_with_arguments() -> None:
    catalog = accepted("""CREATE PUBLIC TABLE t (a DOUBLE PRECISION, b CHARACTER VARYING(20), c NUMERIC(12,4),
      d DECIMAL(5), e VARCHAR(3));""")
    assert [each.type for each in table(catalog, "t").columns] == [FLOAT, TEXT, decimal(12, 4), decimal(5, 0), TEXT]


@pytest.mark.parametrize(
    "written",
    [("DECIMAL", (39, 0)), ("DECIMAL", (2, 3)), ("DECIMAL", (0,)), ("DECIMAL", (1, 1, 1)), ("INT", (4,)),
     ("VARCHAR", (0,)), ("VARCHAR", (1, 2)), ("TEXT", (1, 2)), ("TIME", ()), ("INTERVAL", ()), ("BLOB", ()),
     ("HUGEINT", ())],
)  # fmt: skip
def test_types_that_there_are_not(written: tuple[str, tuple[int, ...]]) -> None:
    assert value_type(ast.TypeName(*written)) is None


def test_tables_a_query_names() -> None:
    query = parse_query("""
      WITH a AS (SELECT * FROM a), b AS (SELECT * FROM a JOIN x ON TRUE)
      SELECT (SELECT MAX(n) FROM (SELECT 1 AS n FROM y) AS q), EXISTS (WITH c AS (SELECT 1) SELECT * FROM c, b)
      FROM b, c WHERE k IN (SELECT k FROM z UNION SELECT k FROM A)""")
    assert sorted(".".join(each.path) for each in tables_named(query)) == ["a", "c", "x", "y", "z"]
    recursive = parse_query("WITH RECURSIVE a AS (SELECT * FROM a, b, t), b AS (SELECT 1) SELECT * FROM a")
    assert [each.path for each in tables_named(recursive)] == [("t",)]


def test_what_could_not_be_read_is_not_missing() -> None:
    catalog, diagnostics = build("""
      CREATE UNIT u CREATE PUBLIC TABLE regions (code TEXT KEY);
      CREATE PRIVATE TABLE a (id TEXT UNIT u, region TEXT REFERENCES regions(code), x INT BETWEEN 9 AND 0);
      CREATE VIEW v AS SELECT * FROM regions;
      CREATE BUDGET b FOR UNIT u EPSILON 1;""")
    assert catalog == Catalog()
    assert [each.code[:5] for each in diagnostics] == ["PQL01", "PQL07"]
    assert diagnostics[1].code == "PQL0704"


def test_repairs_are_edits_that_pass() -> None:
    for broken, codes in [
        ("CREATE PUBLIC TABLE t (a INT BETWEEN 9 AND -1);", ["PQL0704"]),
        ("CREATE UNIT patient; CREATE PRIVATE TABLE t (x INT KEY) UNIT ROW AS pateint;", ["PQL0708"]),
        ("CREATE PUBLIC TABLE r (code TEXT KEY); CREATE PUBLIC TABLE t (a TEXT REFERENCES r(coed));", ["PQL0713"]),
        ("CREATE PUBLIC TABLE t (one TEXT, two TEXT, KEY (one, tow));", ["PQL0717"]),
        ('CREATE PUBLIC TABLE "my table" (x INT); CREATE VIEW v AS SELECT * FROM mytable;', ["PQL0725"]),
        ("CREATE PRIVATE TABLE t (x BOOL) UNIT ROW; CREATE BUDGET b1 FOR UNIT t EPSILON 1; GRANT b TO a;", ["PQL0720"]),
        ("CREATE PUBLIC TABLE regions (code TEXT); CREATE VIEW v AS SELECT * FROM region;", ["PQL0725"]),
    ]:  # fmt: skip
        _, diagnostics = build(broken)
        assert [each.code for each in diagnostics] == codes
        text = broken
        for fix in sorted(diagnostics[0].fixes, key=lambda fix: -fix.span.start):
            text = text[: fix.span.start] + fix.text + text[fix.span.end :]
        assert text != broken
        assert not [each for each in build(text)[1] if each.severity == "error"]


def test_a_bound_of_float_is_the_number_as_written() -> None:
    catalog = accepted("CREATE PUBLIC TABLE t (a FLOAT BETWEEN 0.1 AND 1.7976931348623157e308);")
    low, high = column(catalog, "t", "a").domain.low, column(catalog, "t", "a").domain.high
    assert low == Fraction(1, 10) and high == Fraction(17976931348623157 * 10**292)


@pytest.mark.parametrize(
    ("said", "shares"),
    [
        ("", ("1/4", "1/4", "1/4", "1/4")),
        ("SHARES (KEYS 1/2, PLAIN 0)", ("1/2", "0", "1/4", "1/4")),
        ("SHARES (gaussian 1)", ("0", "0", "0", "1")),
        ("SHARES (RENYI 1/10, KEYS (1 - 9/10), PLAIN 0.3, GAUSSIAN 0.5)", ("1/10", "3/10", "1/10", "1/2")),
    ],
)
def test_what_shares_leave_is_split_in_equal_parts(said: str, shares: tuple[str, ...]) -> None:
    text = f"CREATE UNIT u; CREATE BUDGET b FOR UNIT u EPSILON 1 DELTA 1e-6 {said};"
    catalog, _ = build_catalog(Source(text))
    assert catalog.budgets[0].shares == Shares(*map(Fraction, shares))


def test_a_budget_has_what_was_declared_and_what_was_added() -> None:
    text = """CREATE UNIT u; CREATE BUDGET b FOR UNIT u EPSILON 1 MAX EPSILON 2 PER QUERY;
    ALTER BUDGET B ADD EPSILON 1/3 DELTA 1e-6 REASON 'one'; ALTER BUDGET b ADD EPSILON 1 REASON 'two';"""
    catalog, _ = build_catalog(Source(text))
    (budget,) = catalog.budgets
    assert (budget.epsilon, budget.delta) == (Fraction(7, 3), Fraction(1, 10**6))
    assert [each.reason for each in budget.raises] == ["one", "two"]
