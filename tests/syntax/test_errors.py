"""Every way a text can be wrong, with the message for it: `errors.golden`, rewritten by `make golden`.

Each repair that is offered as an edit is applied, and must read.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from privql.diagnostics import Diagnostic, PrivQLError, Source, render
from privql.syntax import parse_expression, parse_file, parse_query, parse_statement, unparse
from tests.assurance import assured, length
from tests.generate_ast import Trees
from tests.syntax.test_differential import mutated

GOLDEN = Path(__file__).with_name("errors.golden")
MUTANTS = length(300, 20_000)

WRONG = r"""
SELEC a FROM t
SELECT a FORM t
SELECT a FROM t WHER x = 1
SELECT a FROM t WHERE x = %s
SELECT a FROM t WHERE x = %(name)s
SELECT a AS 'it''s' FROM t
SELECT a AS 'total' FROM t
SELECT a AS 'order' FROM t
SELECT a AS'total'FROM t
SELECT a AS '' FROM t
SELECT a, 'x' 'y', b FROM t
SELECT DECIMAL '1.5'
SELECT a FROM t WHERE x LIKE %smith%
GRANT b TO 'bob'
SHOW COLUMNS FROM t
SELECT a FROM t GRUOP BY a
SELECT a FROM t GROUPBY a
SELECT a FROM t ORDER BY a DSC
SELECT a FROM t WEHRE x = 1 y
SELECT order FROM t
SELECT a FROM order
SELECT a FROM t GROUP a
SELECT a FROM t ORDER a
SELECT CASE WHEN a THEN b FROM t
SELECT CASE a WHEN 1 b END FROM t
SELECT CAST(a INT) FROM t
SELECT 1 < a < 3
SELECT a = b = c
SELECT a FROM t WHERE a = 1 b = 2
SELECT a AS FROM t
SELECT
SELECT a FROM
SELECT FROM t
SELECT a FROM t WHERE
SELECT a FROM t WHERE x 5
SELECT a FROM t WHERE x IN ()
SELECT a FROM t LEFT JOIN s
SELECT NOT
SHOW
CREATE PRIVATE TABLE t (a)
CREATE BUDGET b FOR u EPSILON 1
GRANT b alice
SELECT a FROM t SPEND EPSILON = 0.5
SELECT a FROM t SPEND EPSILON 0.5 FOR x
SELECT a FROM t SPEND EPSILON
SELECT a FROM t WITHIN 20 AT 95
SELECT a FROM t AT MOST 3 PER UNIT
SELECT a FROM t SELECT b FROM t
CREATE UNIT u CREATE UNIT v
SELECT a FROM t AT MOST 3 ROWS
SELECT a FROM t AT MOST 2 GROUPS PER UNIT AT MOST 5 ROWS PER UNIT
SELECT a FROM t LIMIT 5 PER patient
SELECT 'abc
SELECT "a
SELECT /* x /* y */
SELECT a FROM t WHERE x = 1 WHERE y = 2
SELECT a FROM t GROUP BY a GROUP BY b
SELECT a FROM t SPEND 0.5 SPEND 0.6
SELECT a FROM t AT MOST 3 ROWS AND 4 ROWS PER UNIT
SELECT SUM(x SHARE 1 SHARE 2) FROM t
CREATE PRIVATE TABLE t (a INT KEY KEY)
CREATE PRIVATE TABLE t (a INT) FROM 'x' FROM 'y'
CREATE BUDGET b FOR UNIT u EPSILON 1 EPSILON 2
SELECT a FROM t WHERE x == 1
SELECT a FROM t WHERE x && y
SELECT a FROM t WHERE !x
SELECT a FROM t WHERE x ≤ 1
SELECT a FROM t |> WHERE x
SELECT `a` FROM t
SELECT ?
SELECT :name
SELECT @name
SELECT a FROM t WHERE a #>> '{b,c}' = 'd'
SELECT a FROM t WHERE a @> '{"b": 1}'
SELECT “a”
SELECT a # comment
SELECT $
SELECT {{ a }}
SELECT a; b…
SELECT 1.2.3
SELECT 12abc
SELECT 0x1F
SELECT 1e9999
SELECT ٣
SELECT ""
SELECT x::DECIMAL(1.5)
SELECT INTERVAL 3 FORTNIGHTS
SELECT COUNT(*) WITHIN 20 FROM t
SELECT COUNT(*) WITHIN 20 AS n FROM t
SELECT COUNT(*) WITHIN 20, b FROM t
SELECT COUNT(*) FROM t SPEND EPSILON 0,1
SELECT COUNT(*) FROM t SPEND EPSILON 0.1 DELTA 1,5e-9
SELECT COUNT(*) SHARE 2 FROM t
SELECT a FROM t MAX EPSILON 1
SELECT a FROM t GIVEN COUNT >= 5
SELECT a FROM t AT 95%
SELECT a FROM t AT MOST 2 ROWS PER UNIT GIVEN COUNT >= 5
SELECT a FROM t WITHIN 2 GIVEN COUNT > 5
SELECT a FROM t WITHIN 2 GIVEN SUM >= 5
SELECT a FROM t WITHIN 2 GIVEN 5
SELECT given 5 FROM t
SELECT a FROM t USING AUTO MAX EPSILON 1
SELECT a FROM t WITHIN 20 SPEND EPSILON 1
CREATE BUDGET b FOR UNIT u DELTA 1e-6
SELECT a FROM t GROUP BY a WHERE b
SELECT a FROM t ORDER BY b LIMIT 3 HAVING c
SELECT a FROM t SPEND 0.1 LIMIT 3
SELECT a FROM t LIMIT 1 UNION SELECT b FROM t
SELECT a FROM t WHERE x JOIN b ON y
SELECT a, FROM t
SELECT a FROM t, WHERE x
SELECT f(a,) FROM t
SELECT a,, b
SELECT a b c FROM t
CREATE PRIVATE TABLE t (a INT, b TEXT,)
CREATE PRIVATE TABLE t (a INT b TEXT)
CREATE PRIVATE TABLE t (a INT BETWEEN 0, 5)
SELECT a FROM t WHERE (x = 1
SELECT a FROM t WHERE x = 1)
SELECT (a, b FROM t
SELECT a FROM (SELECT 1
INSERT INTO t VALUES (1)
FROM t
REVOKE b FROM alice
CREATE TABLE t (a INT)
CREATE OR REPLACE VIEW v AS SELECT 1
DROP TABLE t
BEGIN TRANSACTION
EXPLAIN ANALYZE SELECT 1
SELECT TOP 5 a FROM t
SELECT * EXCEPT (a) FROM t
SELECT DISTINCT ON (a) b FROM t
SELECT E'a' FROM t
SELECT SUM(x) OVER PARTITION BY a
SELECT a FROM t WHERE a IS NOT IN (1)
SELECT a FROM t WHERE a SIMILAR 'x'
SELECT a FROM t TABLESAMPLE (10)
SELECT a FROM t USING SAMPLE 10
SELECT COUNT(*) FROM t LIMIT 2, 3
SELECT a FROM t LIMIT 2, x
SELECT a FROM t LIMIT 2,
SELECT * FROM t PIVOT (COUNT(*) FOR k IN ('a', 'b'))
SELECT * FROM t UNPIVOT (x FOR k IN (a, b))
SELECT a AT TIME ZONE 'UTC' FROM t
SELECT a FROM t CROSS APPLY (SELECT 1)
SELECT a INTO s FROM t
SELECT a FROM t ORDER BY ALL
SELECT a FROM t FOR UPDATE
SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP
SELECT COUNT(*) FROM t WITH EPSILON 1
GRANT SELECT ON t TO bob
CREATE PRIVATE TABLE t (id TEXT PRIVACY UNIT)
SELECT COUNT(*) FROM t SPEND EPSILON 1, DELTA 1e-6
SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY COUNT(*) SPEND EPSILON 1 AND DELTA 1e-6
SELECT COUNT(*) FROM t SPEND DELTA 1e-6 EPSILON 1
SELECT COUNT(*) FROM t SPEND DELTA 1e-6, EPSILON 1
SELECT a FROM t MINUS SELECT b FROM s
CREATE PRIVATE TABLE t (a INT PRIMARY KEY)
CREATE PRIVATE TABLE t (a INT CHECK (a > 1))
SELECT a FROM t; SELECT b FROM t
-- nothing
REFRESH t AS "v"
SELECT a FROM t WHERE d > DATE "2024-01-01"
CREATE PUBLIC TABLE t (a TEXT IN ("x", 'y'))
CREATE PUBLIC TABLE t (a TEXT IN (F, M))
CREATE PUBLIC TABLE t (a INT IN (x, 3))
CREATE PUBLIC TABLE t (a TEXT IN (lower('F'), 'M'))
CREATE PUBLIC TABLE t (a TEXT IN ('F', M))
""".strip().splitlines()

HOSTILE = [
    "SELECT '\x1b[31m' 1 FROM",
    "SELECT a\0b",
    "SELECT '\ud800'",
    "SELECT 1 -- \u202e",
    "SELECT 'a\u2066b'",
    "SELECT\u200b 1",
]


def fault(text: str) -> Diagnostic:
    with pytest.raises(PrivQLError) as caught:
        parse_statement(Source(text, "q.pql"))
    (found,) = caught.value.diagnostics
    return found


def applied(text: str, diagnostic: Diagnostic) -> str:
    for fix in sorted(diagnostic.fixes, key=lambda fix: fix.span, reverse=True):
        text = text[: fix.span.start] + fix.text + text[fix.span.end :]
    return text


def rendered() -> str:
    out = []
    for text in [*WRONG, *HOSTILE]:
        found = fault(text)
        shown = render(found)
        if found.fixes:
            shown += f"\nfixed: {applied(text, found)}"
        out.append(shown)
    return "\n\n".join(out) + "\n"


def test_every_message() -> None:
    said = rendered()
    if os.environ.get("PRIVQL_GOLDEN"):
        GOLDEN.write_text(said, encoding="utf-8")
    assert said == GOLDEN.read_text(encoding="utf-8")


def test_every_code_has_its_example() -> None:
    codes = {fault(text).code for text in [*WRONG, *HOSTILE]} | {"PQL0103", "PQL0104"}  # those in test_limits
    assert codes == {f"PQL01{number:02}" for number in range(1, 15)}


def test_messages_are_written_as_the_house_writes_them() -> None:
    for text in WRONG:
        found = fault(text)
        assert not re.match(r"[A-Z][a-z]", found.message) and not found.message.endswith("."), found.message
        assert found.span.start < found.span.end
        assert found.label or found.why or found.help, f"nothing helps with {text}"


@pytest.mark.parametrize("text", WRONG)
def test_repairs_repair(text: str) -> None:
    found = fault(text)
    if found.fixes:
        parse_statement(applied(text, found))


def test_most_slips_are_repaired() -> None:
    assert sum(bool(fault(text).fixes) for text in WRONG) >= 45


def test_repairs_of_mutants() -> None:
    """An edit to the form of a statement makes it readable; what it then says may still be refused."""
    with assured("grammar") as tally:
        tally["tried"] += MUTANTS
        choose, repaired = random.Random(3), 0
        for seed in range(MUTANTS):
            text = mutated(unparse(Trees(seed).statement(2)), choose)
            _, wrong = parse_file(Source(text))
            for found in wrong:
                if found.fixes and found.code in ("PQL0101", "PQL0110", "PQL0111", "PQL0112", "PQL0114"):
                    repaired += 1
                    _, still = parse_file(Source(applied(text, found)))
                    assert {each.code for each in still} <= {"PQL0105", "PQL0107", "PQL0108"}, (
                        text,
                        applied(text, found),
                    )
        assert repaired > MUTANTS // 40


def test_each_statement_of_a_file_has_its_own_error() -> None:
    source = Source(
        "SELECT 1;\nSELECT a, FROM t;;\nSELECT 'a;b' AS c;\nSELECT ? ? ?;\nSELEC 1;\nSELECT $;\nBEGIN", "report.pql"
    )
    parsed, wrong = parse_file(source)
    assert [unparse(each.statement) for each in parsed] == ["SELECT 1", "SELECT 'a;b' AS c", "BEGIN"]
    assert [(each.code, source.position(each.span.start)[0]) for each in wrong] == [
        ("PQL0110", 2),
        ("PQL0106", 4),
        ("PQL0101", 5),
        ("PQL0106", 6),
    ]
    assert all(each.source is source for each in wrong)


def test_a_string_without_an_end_takes_the_rest() -> None:
    parsed, wrong = parse_file(Source("SELECT 1; SELECT 'abc; SELECT 2;"))
    assert len(parsed) == 1
    assert [each.code for each in wrong] == ["PQL0102"]


def test_exactly_one() -> None:
    assert fault("").code == fault(" ;; -- x").code == fault("SELECT 1; SELECT 2").code == "PQL0113"
    assert unparse(parse_statement(";SELECT 1;;")) == "SELECT 1"
    with pytest.raises(PrivQLError, match="PQL0113"):
        parse_query("BEGIN")
    with pytest.raises(PrivQLError, match="PQL0113"):
        parse_expression("")
    with pytest.raises(PrivQLError, match="PQL0101"):
        parse_expression("SELECT 1")
