"""What texts mean: precedence, spellings of one meaning, and the characters of names, strings, numbers and comments."""

from __future__ import annotations

import pytest

from privql.syntax import ast, parse_expression, parse_query, parse_statement, unparse

# Both are read as the same tree; the second says with parentheses what the first leaves to precedence.
PRECEDENCE = [
    ("a OR b AND c", "a OR (b AND c)"),
    ("NOT a AND b", "(NOT a) AND b"),
    ("NOT a = b", "NOT (a = b)"),
    ("NOT a IS NULL", "NOT (a IS NULL)"),
    ("a = b IS NULL", "(a = b) IS NULL"),
    ("a IS NOT DISTINCT FROM b = c", "a IS NOT DISTINCT FROM (b = c)"),
    ("a < b + c", "a < (b + c)"),
    ("a IN (1) = b", "(a IN (1)) = b"),
    ("a BETWEEN b AND c AND d", "(a BETWEEN b AND c) AND d"),
    ("a BETWEEN b + 1 AND c || d", "a BETWEEN (b + 1) AND (c || d)"),
    ("a || b LIKE c || d", "(a || b) LIKE (c || d)"),
    ("a || b + c", "a || (b + c)"),
    ("a & b | c", "(a & b) | c"),
    ("a - b - c", "(a - b) - c"),
    ("a - b + c", "(a - b) + c"),
    ("a + b * c", "a + (b * c)"),
    ("a / b // c % d * e", "(((a / b) // c) % d) * e"),
    ("a * b ^ c", "a * (b ^ c)"),
    ("a ^ b ^ c", "(a ^ b) ^ c"),
    ("-a ^ b", "(-a) ^ b"),
    ("-a * b", "(-a) * b"),
    ("- a::INT", "-(a::INT)"),
    ("-a[1]", "-(a[1])"),
    ("a::INT[1]::TEXT", "((a::INT)[1])::TEXT"),
    ("~ a & b", "(~ a) & b"),
    ("a -> b ->> c", "(a -> b) ->> c"),
]

SPELLINGS = [
    ("a != 1", "a <> 1"),
    ("a ISNULL", "a IS NULL"),
    ("a NOTNULL", "a IS NOT NULL"),
    ("a = SOME (SELECT 1)", "a = ANY (SELECT 1)"),
    ("a::DECIMAL(10, 2)", "CAST(a AS decimal(10,2))"),
    ("TRY_CAST(a AS INT)", "CAST(a AS INT)"),
    ("TRIM(BOTH 'x' FROM a)", "TRIM(a, 'x')"),
    ("TRIM('x' FROM a)", "TRIM(a, 'x')"),
    ("TRIM(LEADING 'x' FROM a)", "LTRIM(a, 'x')"),
    ("trim(trailing 'x' from a)", "RTRIM(a, 'x')"),
    ("SUBSTRING(a FROM 2 FOR 3)", "SUBSTRING(a, 2, 3)"),
    ("POSITION('x' IN a)", "\"POSITION\"('x', a)"),
    ("INTERVAL 3 DAYS", "INTERVAL 3 DAY"),
    ("interval '3' month", "INTERVAL '3' MONTH"),
    ("ARRAY[1, 2]", "[1, 2]"),
    ("ROW(1, 2)", "(1, 2)"),
    ("COUNT(ALL x)", "COUNT(x)"),
    ("1_000.5", "1000.5"),
    ("f(x ORDER BY y ASC)", "f(x ORDER BY y)"),
    ("((a))", "a"),
]

QUERIES = [
    ("SELECT ALL a FROM t AS u", "select a from t u"),
    ("SELECT a FROM t FETCH FIRST ROW ONLY", "SELECT a FROM t LIMIT 1"),
    ("SELECT a FROM t OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY", "SELECT a FROM t LIMIT 3 OFFSET 2"),
    ("SELECT a FROM t OFFSET 2 LIMIT 3", "SELECT a FROM t LIMIT 3 OFFSET 2"),
    ("SELECT a FROM t GROUP BY (a, b), c", "SELECT a FROM t GROUP BY a, b, c"),
    ("SELECT 1 GROUP BY GROUPING SETS ((a), (b, c), ())", "SELECT 1 GROUP BY GROUPING SETS (a, (b, c), ())"),
    ("SELECT 1 GROUP BY GROUPING SETS (ROW(a), ROW(a, b)), ROW(c)", "SELECT 1 GROUP BY GROUPING SETS (a, (a, b)), c"),
    ("SELECT a FROM t INNER JOIN s USING (k)", "SELECT a FROM t JOIN s USING (k)"),
    ("SELECT a FROM t LEFT OUTER JOIN s ON x", "SELECT a FROM t LEFT JOIN s ON x"),
    ("SELECT a FROM t JOIN s JOIN r ON x ON y", "SELECT a FROM t JOIN (s JOIN r ON x) ON y"),
    ("SELECT a FROM t JOIN s ON x JOIN r ON y", "SELECT a FROM (t JOIN s ON x) JOIN r ON y"),
    ("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", "SELECT 1 UNION DISTINCT SELECT 2 INTERSECT SELECT 3"),
    ("SELECT a FROM t USING AUTO SPEND 0.5 AT MOST 2 GROUPS AND 3 ROWS PER UNIT",
     "SELECT a FROM t AT MOST 3 ROWS AND 2 GROUPS PER UNIT SPEND EPSILON 0.5 USING auto"),
    ("SELECT a FROM t AT 95% MAX EPSILON 1 WITHIN 20", "SELECT a FROM t WITHIN 20 AT 95 % MAX EPSILON 1"),
    ("SELECT a given FROM given GIVEN WITHIN 20 GIVEN count >= 1/2 AT 95%",
     "SELECT a AS given FROM given AS GIVEN WITHIN 20 AT 95 % GIVEN COUNT >= 1/2"),
    ("WITH a AS NOT MATERIALIZED (SELECT 1) SELECT 1", "WITH a AS (SELECT 1) SELECT 1"),
    ("SELECT * EXCLUDE a FROM t", "SELECT * EXCLUDE (a) FROM t"),
    ("SELECT a FROM t AT MOST 1 ROW AND 1 GROUP PER UNIT", "SELECT a FROM t AT MOST 1 GROUPS AND 1 ROWS PER UNIT"),
    ("CREATE PRIVATE TABLE t (a INT HIDDEN NOT NULL KEY) FROM 'f' AT MOST 2 ROWS PER UNIT UNIT u",
     "CREATE PRIVATE TABLE t (a INT KEY NOT NULL HIDDEN) UNIT u AT MOST 2 ROWS PER UNIT FROM 'f'"),
    ("CREATE BUDGET b FOR UNIT u MAX EPSILON 1 PER QUERY DELTA 1e-6 EPSILON 3",
     "CREATE BUDGET b FOR UNIT u EPSILON 3 DELTA 1e-6 MAX EPSILON 1 PER QUERY"),
    ("CREATE BUDGET b FOR UNIT u every 1 days SHARES (keys 1/4, Plain 0) EPSILON 3",
     "CREATE BUDGET b FOR UNIT u EPSILON 3 SHARES (KEYS 1/4, PLAIN 0) EVERY DAY"),
    ("ALTER BUDGET b ADD DELTA 1e-9 EPSILON 1 REASON 'why'", "alter budget b add EPSILON 1 DELTA 1e-9 REASON 'why'"),
    ("CREATE RELEASE r AS SELECT every FROM t EVERY 2 WEEKS FOR 9 RUNS SPEND 1",
     "CREATE RELEASE r AS SELECT every FROM t SPEND EPSILON 1 EVERY 2 week FOR 9 RUNS"),
    ("refine r to within 5 at 95%", "REFINE r TO WITHIN 5 AT 95 %"),
    ("refine r to within 5 given count >= 9 max epsilon 1 at 95% as s",
     "REFINE r TO WITHIN 5 AT 95% MAX EPSILON 1 GIVEN COUNT >= 9 AS s"),
    ("explain refine r to within 5", "EXPLAIN REFINE r TO WITHIN 5"),
    ("begin delta 1e-7", "BEGIN DELTA 1e-7"),
    ("SET epsilon TO 0.1", "SET epsilon = 0.1"),
    ("show budget", "SHOW BUDGET"),
    ("(SELECT 1)", "SELECT 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "other"), PRECEDENCE + SPELLINGS)
def test_expressions(text: str, other: str) -> None:
    assert parse_expression(text) == parse_expression(other)


@pytest.mark.parametrize(("text", "other"), QUERIES)
def test_statements(text: str, other: str) -> None:
    assert parse_statement(text) == parse_statement(other)


def test_set_operations_go_from_left_to_right_and_intersect_first() -> None:
    one, two, three = (parse_query(f"SELECT {each}").body for each in (1, 2, 3))

    def read(text: str) -> ast.Body:
        return parse_query(text).body

    assert not isinstance(one, ast.Query) and not isinstance(two, ast.Query)
    union = ast.SetOperation("UNION", False, one, two)
    assert read("SELECT 1 UNION SELECT 2 EXCEPT ALL SELECT 3") == ast.SetOperation("EXCEPT", True, union, three)
    inner = ast.SetOperation("INTERSECT", False, two, three)
    assert read("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3") == ast.SetOperation("UNION", False, one, inner)
    arm = parse_query("SELECT 2 UNION SELECT 3")
    assert read("SELECT 1 UNION (SELECT 2 UNION SELECT 3)") == ast.SetOperation("UNION", False, one, arm)
    text = unparse(ast.Query(ast.SetOperation("INTERSECT", False, union, union)))  # a tree that no text has
    assert text == "(SELECT 1 UNION SELECT 2) INTERSECT (SELECT 1 UNION SELECT 2)"


def test_the_clause_of_an_arm_and_of_the_whole() -> None:
    whole = parse_query("(SELECT 1 SPEND 0.1) UNION SELECT 2 SPEND 0.2")
    assert isinstance(whole.body, ast.SetOperation) and isinstance(whole.body.left, ast.Query)
    assert whole.privacy == ast.Privacy(epsilon=ast.Number("0.2"))
    assert whole.body.left.privacy == ast.Privacy(epsilon=ast.Number("0.1"))


def test_trees_of_the_privacy_clause() -> None:
    query = parse_query(
        "SELECT COUNT(* WITHIN 5% AT $p% GIVEN COUNT >= $n) FROM t WITHIN 1/3 MAX EPSILON (2 * $e) SPEND DELTA 1e-6"
    )
    assert isinstance(query.body, ast.Select)
    assert query.body.items[0].expr == ast.Call(
        "COUNT",
        (ast.Star(),),
        privacy=ast.Privacy(
            within=ast.Number("5"), within_percent=True, confidence=ast.Param("p"), given=ast.Param("n")
        ),
    )
    assert query.privacy == ast.Privacy(
        within=ast.Binary("/", ast.Number("1"), ast.Number("3")),
        max_epsilon=ast.Binary("*", ast.Number("2"), ast.Param("e")),
        delta=ast.Number("1e-6"),
    )


def test_a_policy() -> None:
    statement = parse_statement("""
        CREATE PRIVATE TABLE patients (
          id TEXT UNIT id AS person KEY, region TEXT REFERENCES regions(code),
          cost DECIMAL(10,2) BETWEEN -1.5 AND 20000, sex TEXT IN ('F', 'M'), KEY (id, region)
        ) UNIT ROW AS visit FROM 'a.parquet', 'b.parquet'
    """)
    decimal = ast.TypeName("DECIMAL", (10, 2))
    low = ast.Unary("-", ast.Number("1.5"))
    assert statement == ast.CreateTable(
        "patients",
        True,
        (
            ast.ColumnDefinition("id", ast.TypeName("TEXT"), unit="id", unit_alias="person", key=True),
            ast.ColumnDefinition("region", ast.TypeName("TEXT"), references=ast.References("regions", "code")),
            ast.ColumnDefinition("cost", decimal, low=low, high=ast.Number("20000")),
            ast.ColumnDefinition("sex", ast.TypeName("TEXT"), values=(ast.String("F"), ast.String("M"))),
        ),
        keys=(("id", "region"),),
        unit=ast.TableUnit("visit", row=True),
        sources=("a.parquet", "b.parquet"),
    )


def test_characters() -> None:
    assert parse_expression("'it''s'") == ast.String("it's")
    assert parse_expression(r"'\n'") == ast.String(r"\n")
    assert parse_expression('"say ""so"""') == ast.Column(('say "so"',))
    assert parse_expression("größe") == ast.Column(("größe",))
    assert parse_expression("$1") == ast.Param("1")
    assert parse_expression("1 /* a /* nested */ comment */ + -- to the end\n 2") == parse_expression("1+2")
    assert parse_expression("1--1") == ast.Number("1")
    assert parse_expression("\ufeff1\u00a0+\u20032") == parse_expression("1 + 2")
    assert parse_expression("'\u200f'") == ast.String("\u200f")  # a mark of right-to-left text turns nothing around
    for number in ("1", "1.", ".5", "1.5e-3", "1E5"):
        assert parse_expression(number) == ast.Number(number)


def test_only_ascii_letters_have_a_case() -> None:
    for text in ("ſELECT", "ın", "ﬁrst"):
        assert parse_expression(text) == ast.Column((text,))
    assert unparse(parse_expression("nOt A")) == "NOT A"


def test_within_group_is_told_from_within() -> None:
    assert parse_expression("f(x) WITHIN /* here */ GROUP (ORDER BY y)") == parse_expression(
        "f(x) WITHIN GROUP (ORDER BY y)"
    )
    query = parse_query("SELECT a AS within FROM within GROUP BY (a)")
    assert isinstance(query.body, ast.Select)
    assert query.body.items[0].alias == "within"
    assert len(query.body.group) == 1
