"""What the checker refuses and how it says so: `refusals.golden`, rewritten by `make golden`.

Each repair that is offered as an edit is applied: the query then passes, or at least is no longer wrong in that way.
"""

from __future__ import annotations

import os
import re
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
SELECT SUM(staff) OVER (ORDER BY id ROWS INTERVAL '1' DAY PRECEDING) FROM stations
SELECT SUM(staff) OVER (ORDER BY NULL RANGE 5 PRECEDING) FROM stations
SELECT SUM(staff) OVER (ORDER BY INTERVAL '1' DAY RANGE 5 PRECEDING) FROM stations
SELECT SUM(staff) OVER (ORDER BY id RANGE INTERVAL '1' DAY PRECEDING) FROM stations
SELECT SUM(staff) OVER (ORDER BY checked RANGE BETWEEN CURRENT ROW AND 5 FOLLOWING) FROM stations
SELECT SUM(staff) OVER (ORDER BY checked RANGE INTERVAL '1 month -40 days' PRECEDING) FROM stations
SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id ORDER BY visit_id ROWS INTERVAL '1' DAY PRECEDING) AS n FROM visits) AS x SPEND EPSILON 1
SELECT SUM(staff) OVER ww FROM stations WINDOW w AS (ORDER BY id)
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
SELECT CLAMP(population, 5, 2) FROM regions
SELECT CLAMP(population, 5, 'two') FROM regions
SELECT CLAMP(population, 5, TRUE) FROM regions
SELECT CLAMP(population, 5, INTERVAL '1' DAY) FROM regions
SELECT CLAMP(founded, '2024-02-01', '2024-01-01') FROM regions
SELECT CLAMP(founded, DATE '2024-02-01', TIMESTAMP '2024-01-01 00:00:00') FROM regions
SELECT SUM(population) OVER (ORDER BY population RANGE 0.5 PRECEDING) FROM regions
SELECT ARRAY[1, 2] FROM regions
SELECT DATE '2024-13-01'
SELECT 1e400
SELECT 123456789012345678901234567890123456789012
SELECT INTERVAL '3 fortnights' + DATE '2024-01-01'
SELECT INTERVAL '10001' YEAR + DATE '2024-01-01'
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
SELECT SUM(GREATEST(income, 7)) FROM patients SPEND EPSILON 1
SELECT SUM(LEAST(income, 7)) FROM patients SPEND EPSILON 1
SELECT SUM(town) FROM patients SPEND EPSILON 1
SELECT COUNT(DISTINCT *) FROM patients SPEND EPSILON 1
SELECT COUNT(DISTINCT *) FROM stations
SELECT SUM(n) FROM (SELECT COUNT(DISTINCT *) AS n FROM visits GROUP BY patient_id) AS v SPEND EPSILON 1
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
SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 10) AS some_visits SPEND EPSILON 1
SELECT AVG(r) FROM (SELECT RANK() OVER (PARTITION BY sex ORDER BY age) AS r FROM patients) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id ORDER BY visit_id RANGE 5 PRECEDING) FROM visits) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT NTH_VALUE(minutes, 0) OVER (PARTITION BY patient_id) FROM visits) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT LAG(minutes) FILTER (WHERE TRUE) OVER (PARTITION BY patient_id) FROM visits) AS x SPEND EPSILON 1
SELECT AVG(s) FROM (SELECT CORR(minutes, n) AS s FROM (SELECT patient_id, minutes, visit_id AS n FROM visits) AS v GROUP BY patient_id) AS x SPEND EPSILON 1
SELECT AVG(s) FROM (SELECT SUM(minutes ORDER BY visit_id) AS s FROM visits GROUP BY patient_id) AS x SPEND EPSILON 1
SELECT AVG(s) FROM (SELECT SUM(minutes) WITHIN GROUP (ORDER BY visit_id) AS s FROM visits GROUP BY patient_id) AS x SPEND EPSILON 1
SELECT AVG(s) FROM (SELECT MEDIAN(minutes ORDER BY visit_id) AS s FROM visits GROUP BY patient_id) AS x SPEND EPSILON 1
SELECT AVG(s) FROM (SELECT QUANTILE_CONT(minutes, 2) AS s FROM visits GROUP BY patient_id) AS x SPEND EPSILON 1
SELECT QUANTILE(age, NULL) FROM patients SPEND EPSILON 1
SELECT sex, COUNT(*) FROM patients SPEND EPSILON 1
SELECT age, COUNT(*) FROM patients GROUP BY sex SPEND EPSILON 1
SELECT p.age, r.name FROM patients p JOIN regions r ON p.region = r.code SPEND EPSILON 1
SELECT COUNT(*) FROM patients CROSS JOIN visits SPEND EPSILON 1
SELECT COUNT(*) FROM patients p CROSS JOIN visits v WHERE p.town = 'Ash' AND p.age = 93 SPEND EPSILON 1
SELECT COUNT(*) FROM patients p, visits v WHERE p.age = 93 OR v.minutes = 7 SPEND EPSILON 1
SELECT COUNT(*) FROM patients p JOIN visits v ON p.age = v.minutes SPEND EPSILON 1
SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON p.age = v.minutes SPEND EPSILON 1
SELECT COUNT(*) FROM visits a JOIN visits b USING (ward) SPEND EPSILON 1
SELECT DATE_TRUNC('month', '2024-01-01')
SELECT DATE_DIFF('day', '2024-01-01', '2024-12-31')
SELECT COUNT(*) FROM patients JOIN visits USING (patient_id) JOIN adults a ON a.age = minutes SPEND EPSILON 1
SELECT COUNT(*) FROM patients p, patients q WHERE p.age = q.age SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT age FROM patients) AS p JOIN visits v ON p.age = v.minutes SPEND EPSILON 1
SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id <> v.patient_id SPEND EPSILON 1
SELECT COUNT(*) FROM patients p JOIN members m ON p.age = m.age SPEND EPSILON 1
SELECT r.name, COUNT(*) FROM regions r LEFT JOIN patients p ON p.region = r.code GROUP BY r.name SPEND EPSILON 1
SELECT r.name, COUNT(*) FROM patients p RIGHT JOIN regions r ON p.region = r.code GROUP BY r.name SPEND EPSILON 1
SELECT r.name, COUNT(*) FROM patients p FULL JOIN regions r ON p.region = r.code GROUP BY r.name SPEND EPSILON 1
SELECT name FROM regions r WHERE NOT EXISTS (SELECT * FROM patients p WHERE p.region = r.code) SPEND EPSILON 1
SELECT name FROM regions WHERE code IN (SELECT region FROM patients) SPEND EPSILON 1
SELECT code FROM regions EXCEPT SELECT region FROM patients SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT region FROM patients EXCEPT SELECT code FROM regions) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT age FROM patients INTERSECT SELECT minutes FROM visits) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT age FROM patients UNION SELECT minutes FROM visits) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT * FROM visits v WHERE v.minutes = p.age) SPEND EPSILON 1
SELECT COUNT(*) FROM patients p WHERE p.age IN (SELECT minutes FROM visits) SPEND EPSILON 1
SELECT COUNT(*) FROM patients p WHERE p.age > (SELECT minutes FROM visits) SPEND EPSILON 1
SELECT * FROM regions WHERE population > (SELECT age FROM patients) SPEND EPSILON 1
SELECT patient_id FROM patients SPEND EPSILON 1
SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id SPEND EPSILON 1
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT code FROM regions) SPEND EPSILON 1
SELECT AVG(COUNT(*)) FROM visits GROUP BY patient_id SPEND EPSILON 1
SELECT COUNT(*) FROM visits LIMIT 5 PER UNIT SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, ward FROM visits LIMIT 0 PER UNIT) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT ward FROM visits LIMIT 1) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM patients WHERE (sex, smoker) = 'F' SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT ward FROM visits AT MOST 3 ROWS PER UNIT) AS v SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT ward FROM visits LIMIT 9 PER UNIT AT MOST 3 ROWS PER UNIT) AS v SPEND EPSILON 1
SELECT COUNT(*) FROM patients p, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.minutes > p.age) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM patients p, LATERAL (SELECT minutes FROM visits v WHERE v.patient_id = p.patient_id UNION SELECT p.age) AS x SPEND EPSILON 1
SELECT COUNT(*) FROM patients p FULL JOIN LATERAL (SELECT minutes FROM visits v WHERE v.patient_id = p.patient_id) AS x ON TRUE SPEND EPSILON 1
SELECT COUNT(*) FROM patients p WHERE 2 < (SELECT COUNT(*) FROM visits v WHERE v.minutes > p.age) SPEND EPSILON 1
SELECT COUNT(*) FROM patients p, LATERAL (SELECT ward, COUNT(*) AS n FROM visits v WHERE v.patient_id = p.patient_id GROUP BY ROLLUP (ward)) AS x SPEND EPSILON 1
SELECT patient_id, SUM(minutes SPEND 0.1) FROM visits GROUP BY patient_id SPEND EPSILON 1
SELECT COUNT(*) FROM (SELECT patient_id, ward FROM visits GROUP BY ROLLUP (patient_id, ward)) AS x SPEND EPSILON 1
SELECT BOOL_OR(smoker) FROM patients SPEND EPSILON 1
SELECT COUNT(*) FROM patients WHERE smoker = 1 SPEND EPSILON 1
SELECT COUNT(*) FROM patients WHERE 0 = smoker SPEND EPSILON 1
SELECT COUNT(*) FROM patients WHERE smoker IN (0, 2) SPEND EPSILON 1
SELECT EVERY(age > 3 OR smoker) FILTER (WHERE cost > 3) AS x FROM patients SPEND EPSILON 1
SELECT BIT_OR(age) FROM patients SPEND EPSILON 1
SELECT ANY_VALUE(age) FROM patients SPEND EPSILON 1
SELECT STRING_AGG(town, ',') FROM patients SPEND EPSILON 1
SELECT PRODUCT(age) FROM patients SPEND EPSILON 1
SELECT COUNT_IF(DISTINCT smoker) FROM patients SPEND EPSILON 1
SELECT COUNT_IF(*) FROM patients SPEND EPSILON 1
SELECT COUNT_IF(age) FROM patients SPEND EPSILON 1
SELECT SUM(smoker) FROM patients SPEND EPSILON 1
SELECT AVG(smoker) FROM patients SPEND EPSILON 1
SELECT REGR_AVGX(age) FROM patients SPEND EPSILON 1
SELECT REGR_AVGX(cost, income) FROM patients SPEND EPSILON 1
SELECT REGR_R2(DISTINCT cost, age) FROM patients SPEND EPSILON 1
SELECT REGR_SXX(cost, age SPEND 0.1) FROM patients
SELECT sex, MEDIAN(age) FROM patients GROUP BY CUBE (sex) SPEND EPSILON 1
SELECT MAX(age BOUNDS AUTO) FROM patients SPEND EPSILON 1
SELECT MEDIAN(age ORDER BY age) FROM patients SPEND EPSILON 1
SELECT QUANTILE(age) FROM patients SPEND EPSILON 1
SELECT QUANTILE(age, 2) FROM patients SPEND EPSILON 1
SELECT QUANTILE(age, age) FROM patients SPEND EPSILON 1
SELECT MEDIAN(income) FROM patients SPEND EPSILON 1
SELECT MEDIAN(age WITHIN 3) FROM patients
SELECT MEDIAN(admitted) FROM patients SPEND EPSILON 1
SELECT MIN(CAST(town AS DATE)) FROM patients SPEND EPSILON 1
SELECT DISTINCT town FROM patients
SELECT DISTINCT sex FROM patients ORDER BY age
SELECT sex, smoker, COUNT(DISTINCT age) FROM patients GROUP BY CUBE (sex, smoker) SPEND EPSILON 1
SELECT age FROM patients UNION SELECT 1
SELECT COUNT(*) FROM patients USING GAUSSIAN SPEND EPSILON 1
SELECT MAX(code SPEND 1) FROM regions
SELECT COUNT(*) FROM patients WHERE RANDOM() < 0.5 SPEND EPSILON 1
SELECT AVG(age WITHIN 2) FROM patients
SELECT AVG(age WITHIN 2 GIVEN COUNT >= 0) FROM patients
SELECT AVG(age WITHIN 2 GIVEN COUNT >= 1.5) FROM patients
SELECT AVG(age WITHIN 2 GIVEN COUNT >= $n) FROM patients
SELECT sex, VARIANCE(age) FROM patients GROUP BY sex WITHIN 200
SELECT COVAR_POP(age, cost) FROM patients WITHIN 100000
SELECT STDDEV(age WITHIN 20 GIVEN COUNT >= 9) FROM patients
SELECT CORR(age, cost WITHIN 1/2 GIVEN COUNT >= 9000) FROM patients
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


# What a refusal without an edit says to write, and that it passes.
FOLLOWED = [
    (
        "SELECT sex, COUNT(*) FROM patients SPEND EPSILON 1",
        "add `sex` to GROUP BY",
        "SELECT sex, COUNT(*) FROM patients GROUP BY sex SPEND EPSILON 1",
    ),
    (
        "SELECT age, sex FROM patients SPEND EPSILON 1",
        "aggregate them, for example `SELECT COUNT(*) FROM …`",
        "SELECT COUNT(*) FROM patients SPEND EPSILON 1",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT age FROM patients) AS p JOIN visits v ON p.age = v.minutes SPEND EPSILON 1",
        "select the unit's column in `p`, too, and join on it",
        "SELECT COUNT(*) FROM (SELECT patient_id, age FROM patients) AS p JOIN visits v"
        " ON p.age = v.minutes AND p.patient_id = v.patient_id SPEND EPSILON 1",
    ),
    (
        "SELECT COUNT(*) FROM patients p JOIN members m ON p.age = m.age SPEND EPSILON 1",
        "aggregate one of them first; the answer may be joined",
        "SELECT COUNT(*) FROM patients p JOIN (SELECT age, COUNT(*) AS n FROM members GROUP BY age SPEND EPSILON 1) m"
        " ON p.age = m.age SPEND EPSILON 1",
    ),
    (
        "SELECT name FROM regions WHERE code IN (SELECT region FROM patients) SPEND EPSILON 1",
        "count them: `(SELECT COUNT(*) FROM … WHERE …) > 10`",
        "SELECT name FROM regions WHERE (SELECT COUNT(*) FROM patients WHERE region = code) > 10 SPEND EPSILON 1",
    ),
    (
        "SELECT code FROM regions EXCEPT SELECT region FROM patients SPEND EPSILON 1",
        "aggregate the private side",
        "SELECT code FROM regions EXCEPT"
        " SELECT region FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) AS x WHERE n > 10"
        " SPEND EPSILON 1",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT age FROM patients UNION SELECT minutes FROM visits) AS x SPEND EPSILON 1",
        "select the unit's column on both sides, or write UNION ALL",
        "SELECT COUNT(*) FROM (SELECT patient_id, age FROM patients UNION SELECT patient_id, minutes FROM visits) AS x"
        " SPEND EPSILON 1",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT age FROM patients UNION SELECT minutes FROM visits) AS x SPEND EPSILON 1",
        "or write UNION ALL",
        "SELECT COUNT(*) FROM (SELECT age FROM patients UNION ALL SELECT minutes FROM visits) AS x SPEND EPSILON 1",
    ),
    (
        "SELECT AVG(r) FROM (SELECT RANK() OVER (ORDER BY minutes) AS r FROM visits) AS x SPEND EPSILON 1",
        "PARTITION BY `patient_id`, or aggregate first",
        "SELECT AVG(CLAMP(r, 1, 20)) FROM"
        " (SELECT RANK() OVER (PARTITION BY patient_id ORDER BY minutes) AS r FROM visits) AS x SPEND EPSILON 1",
    ),
    (
        "SELECT RANK() OVER (ORDER BY age) FROM patients SPEND EPSILON 1",
        "windows over released groups are free",
        "SELECT age, RANK() OVER (ORDER BY COUNT(*)) FROM patients GROUP BY age SPEND EPSILON 1",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY minutes LIMIT 3) AS x SPEND EPSILON 1",
        "ORDER BY … LIMIT n PER UNIT keeps the first rows of each unit",
        "SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY minutes LIMIT 3 PER UNIT) AS x SPEND EPSILON 1",
    ),
    (
        "SELECT COUNT(*) FROM patients WHERE patient_id = 'p1' SPEND EPSILON 1",
        "count them, `COUNT(patient_id)`; or join and group by it",
        "SELECT COUNT(patient_id) FROM patients SPEND EPSILON 1",
    ),
    (
        "SELECT SUM(minutes) FROM calls SPEND EPSILON 1",
        "end the query with `AT MOST 10 ROWS PER UNIT`",
        "SELECT SUM(minutes) FROM calls AT MOST 10 ROWS PER UNIT SPEND EPSILON 1",
    ),
    (
        "SELECT AVG(COUNT(*)) FROM visits GROUP BY patient_id SPEND EPSILON 1",
        "compute the inner one in a subquery",
        "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY patient_id) AS x SPEND EPSILON 1",
    ),
    (
        "SELECT DISTINCT town FROM patients SPEND EPSILON 1",
        "`GROUP BY town KEYS (…)`",
        "SELECT town FROM patients GROUP BY town KEYS ('Ash')",
    ),
]


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


@pytest.mark.parametrize(("text", "said", "followed"), FOLLOWED)
def test_what_a_refusal_says_to_write_passes(text: str, said: str, followed: str, session: Session) -> None:
    (one,) = faults(session, text)
    assert one.why and said in one.help
    assert faults(session, followed) == []


@pytest.mark.parametrize("text", [text for text in REFUSED if " JOIN " in text or "EXISTS" in text])
def test_an_edit_where_rows_meet_makes_the_query_pass(text: str, session: Session) -> None:
    (one,) = faults(session, text)
    if one.code == "PQL0412" and one.fixes:
        assert faults(session, applied(text, one)) == []


def test_a_parameter_is_not_edited() -> None:
    with clinic() as session:
        (wrong,) = session.check("SELECT COUNT(*) FROM patients WHERE smoker = $x SPEND EPSILON 1", x=1).diagnostics
        assert wrong.code == "PQL0301" and not wrong.fixes
