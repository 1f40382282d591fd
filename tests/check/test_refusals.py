"""What the checker refuses and how it says so: `refusals.golden`, rewritten by `make golden`.

Each repair that is offered as an edit is applied: the query then passes, or at least is no longer wrong in that way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from privql.diagnostics import Diagnostic, render
from privql.session import Session
from tests.check.clinic import clinic

GOLDEN = Path(__file__).with_name("refusals.golden")

REFUSED = r"""
SELECT name FROM region
SELECT r.name FROM region r WHERE r.open
SELECT * FROM DUMMY patient
SELECT nam FROM regions
SELECT reg.name FROM regions r
SELECT r.nam, r.code FROM regions AS r
SELECT code FROM regions r JOIN stations s ON r.code = s.code
SELECT "long nam" FROM stations
SELECT s.* FROM stations AS t
SELECT station.* FROM stations
SELECT * EXCLUDE (heigth) FROM stations
SELECT * REPLACE (1 AS stuff) FROM stations
SELECT *
SELECT UPER(code) FROM regions
SELECT rnak() OVER (ORDER BY id) FROM stations
SELECT SUM(staff) OVER v FROM stations WINDOW w AS (ORDER BY id)
SELECT SUM(staff) OVER (ww ROWS 1 PRECEDING) FROM stations WINDOW w AS (ORDER BY id)
SELECT SUM(staff) OVER w FROM stations WINDOW w AS (w ORDER BY id)
SELECT x.a FROM (SELECT 1 AS a) x, (SELECT 2 AS a) x
WITH a AS (SELECT 1), a AS (SELECT 2) SELECT * FROM a
SELECT code FROM regions ORDER BY 3
SELECT code FROM regions GROUP BY 0
CREATE RELEASE patients AS SELECT 1
CREATE RELEASE three (a, b) AS SELECT 1
SHOW TABLEZ
DESCRIBE patient
SET epsilom = 1
SET budget = resarch
SELECT UPPER(population) FROM regions
SELECT name + 1 FROM regions
SELECT '1' || 1
SELECT DATE '2024-01-01' + DATE '2024-01-01'
SELECT EXTRACT(FORTNIGHT FROM founded) FROM regions
SELECT DATE_TRUNC('hour', founded) FROM regions
SELECT CAST(code AS BLOB) FROM regions
SELECT code FROM regions WHERE population
SELECT CASE WHEN population THEN 1 END FROM regions
SELECT INTERVAL 1 MONTH
SELECT name FROM regions WHERE founded = '1950-02-31'
SELECT population IN (1, 'two') FROM regions
SELECT DATE '2024-13-01'
SELECT 1e400
SELECT 123456789012345678901234567890123456789012
SELECT INTERVAL '3 fortnights' + DATE '2024-01-01'
SELECT (SELECT code, name FROM regions)
SELECT code FROM regions WHERE code IN (SELECT code, name FROM regions)
SELECT * FROM regions AS r (a, b)
SELECT COUNT(age, cost) FROM patients SPEND EPSILON 1
SELECT code FROM regions LIMIT $n
SELECT name FROM regions LIMIT 1.5
SELECT name LIKE code FROM regions
SELECT COUNT(*) FROM patients GROUP BY town KEYS (town) SPEND EPSILON 1
SELECT ROUND(1.5, population) FROM regions
SELECT SUM(COUNT(*)) FROM stations
SELECT code FROM stations WHERE COUNT(*) > 1
SELECT code FROM stations GROUP BY COUNT(*)
SELECT id FROM stations WHERE RANK() OVER (ORDER BY id) = 1
SELECT LAG(code) FROM regions
SELECT UPPER(DISTINCT code) FROM regions
SELECT GROUPING(code) FROM regions
SELECT code, name FROM regions GROUP BY code
SELECT r.name, (SELECT MAX(height) FROM stations s WHERE s.code = r.code) FROM regions r GROUP BY r.name
SELECT DISTINCT code FROM regions ORDER BY name
SELECT * FROM regions UNION SELECT 1
SELECT 1 UNION SELECT DATE '2024-01-01'
VALUES (1), (1, 2)
VALUES (1), (TRUE)
SELECT age FROM patients
SELECT * FROM (SELECT age, sex FROM patients WHERE age > 3) AS p
SELECT SUM(income) FROM patients SPEND EPSILON 1
SELECT AVG(income + 1) FROM patients WHERE income > 0 SPEND EPSILON 1
SELECT SUM(town) FROM patients SPEND EPSILON 1
SELECT town, COUNT(*) FROM patients GROUP BY town SPEND EPSILON 1
SELECT cost, COUNT(*) FROM patients GROUP BY cost SPEND EPSILON 1
SELECT age, "größe", admitted, COUNT(*) FROM patients GROUP BY ALL SPEND EPSILON 1
SELECT age, COUNT(*) FROM patients WHERE age > 200 GROUP BY age SPEND EPSILON 1
SELECT COUNT(*) FROM patients WHERE patient_id = 'p1' SPEND EPSILON 1
SELECT COUNT(*) FROM patients GROUP BY patient_id SPEND EPSILON 1
SELECT COUNT(note) FROM patients SPEND EPSILON 1
SELECT SUM(minutes) FROM calls SPEND EPSILON 1
SELECT RANK() OVER (ORDER BY age) FROM patients
SELECT COUNT(*) FROM (SELECT age FROM patients ORDER BY age LIMIT 10) AS p SPEND EPSILON 1
SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id SPEND EPSILON 1
SELECT COUNT(*) FROM patients WHERE region IN (SELECT code FROM regions) SPEND EPSILON 1
SELECT MEDIAN(age) FROM patients SPEND EPSILON 1
SELECT COUNT(DISTINCT sex) FROM patients SPEND EPSILON 1
SELECT DISTINCT sex FROM patients
SELECT sex, COUNT(*) FROM patients GROUP BY ROLLUP (sex) SPEND EPSILON 1
SELECT age FROM patients UNION SELECT 1
SELECT COUNT(*) FROM patients USING GAUSSIAN SPEND EPSILON 1
SELECT MAX(code SPEND 1) FROM regions
SELECT COUNT(*) FROM patients WHERE RANDOM() < 0.5 SPEND EPSILON 1
SELECT AVG(age WITHIN 2) FROM patients
SELECT COUNT(*) FROM patients WITHIN 5%
CREATE VIEW v AS SELECT 1
GRANT research TO mallory
BEGIN
SELECT COUNT(*) FROM patients
SELECT COUNT(*) FROM patients SPEND EPSILON 5000
SELECT COUNT(*) FROM patients SPEND EPSILON 0
SELECT COUNT(*), SUM(age) FROM patients SPEND EPSILON ($e * $e)
SELECT COUNT(*) FROM patients SPEND EPSILON (0.1 - 0.2)
SELECT COUNT(*) FROM patients WITHIN 10 AT 20%
SELECT COUNT(*) FROM patients WITHIN 10 AT 95% MAX EPSILON 0.1
SELECT COUNT(* SPEND 0.2), SUM(age) FROM patients SPEND EPSILON 0.1
SELECT COUNT(* SHARE 0), SUM(age) FROM patients SPEND EPSILON 0.1
""".strip().splitlines()


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened


def faults(session: Session, text: str) -> list[Diagnostic]:
    return [d for d in session.check_text(text).diagnostics if d.severity == "error"]


def applied(text: str, diagnostic: Diagnostic) -> str:
    for fix in sorted(diagnostic.fixes, key=lambda fix: fix.span, reverse=True):
        text = text[: fix.span.start] + fix.text + text[fix.span.end :]
    return text


def test_every_message(session: Session) -> None:
    out = []
    for text in REFUSED:
        for found in faults(session, text):
            shown = render(found)
            out.append(f"{shown}\nfixed: {applied(text, found)}" if found.fixes else shown)
    said = "\n\n".join(out) + "\n"
    if os.environ.get("PRIVQL_GOLDEN"):
        GOLDEN.write_text(said, encoding="utf-8")
    assert said == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_is_one_message_that_helps_and_its_repairs_repair(text: str, session: Session) -> None:
    found = faults(session, text)
    assert len(found) == 1
    (one,) = found
    assert not re.match(r"[A-Z][a-z]", one.message) and not one.message.endswith("."), one.message
    for said in (one.why, one.help, one.label):
        assert not said.endswith((".", "!")) and "\n" not in said, said
    assert one.help, one.message
    assert 0 <= one.span.start < one.span.end <= len(text)
    if one.fixes:
        still = faults(session, applied(text, one))
        assert (one.code, one.message) not in {(d.code, d.message) for d in still}
        assert not {d.code for d in still} & {"PQL0101"}
