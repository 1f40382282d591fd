"""A unit's identifier meets only its like, however a value is put beside it; a hidden column meets nothing."""

from __future__ import annotations

import pytest

from privql.session import Session

NAMED = """
SELECT COUNT(*) FROM patients WHERE patient_id = 'p1'
SELECT COUNT(*) FROM patients WHERE 'p1' <> patient_id
SELECT COUNT(*) FROM patients WHERE patient_id IN ('p1', 'p2')
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT 'p1')
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT code FROM regions)
SELECT COUNT(*) FROM patients WHERE patient_id = ANY (SELECT 'p1')
SELECT COUNT(*) FROM patients WHERE patient_id = (SELECT MIN(code) FROM regions)
SELECT COUNT(*) FROM visits v WHERE 'p1' IN (SELECT p.patient_id FROM patients p WHERE p.patient_id = v.patient_id)
SELECT COUNT(*) FROM visits v WHERE (SELECT p.patient_id FROM patients p WHERE p.patient_id = v.patient_id) = 'p1'
SELECT COUNT(*) FROM patients JOIN (SELECT 'p1' AS id) AS x ON patient_id = id
SELECT COUNT(*) FROM patients JOIN (SELECT 'p1' AS patient_id) AS x USING (patient_id)
SELECT COUNT(*) FROM patients NATURAL JOIN (SELECT 'p1' AS patient_id) AS x
SELECT COUNT(*) FROM patients FULL JOIN visits USING (patient_id) WHERE patient_id = 'p1'
SELECT COUNT(*) FROM (SELECT patient_id FROM visits INTERSECT SELECT 'p1' FROM visits) AS x
SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT ward FROM visits) AS x
SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id KEYS ('p1')) AS x
SELECT COUNT(*) FROM (SELECT visit_id, MAX(patient_id) AS m FROM visits GROUP BY visit_id) AS x WHERE m = 'p1'
SELECT COUNT(*) FROM (SELECT LAG(patient_id) OVER (PARTITION BY patient_id ORDER BY visit_id) FROM visits) AS x
SELECT CASE patient_id WHEN 'p1' THEN 1 END AS k, COUNT(*) FROM patients GROUP BY k
SELECT COUNT(NULLIF(patient_id, 'p1')) FROM patients
SELECT COUNT(*) FROM patients WHERE patient_id LIKE 'p1%'
SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id < v.patient_id
""".strip().splitlines()

HIDDEN = """
SELECT COUNT(*) FROM patients WHERE note = 'private'
SELECT COUNT(*) FROM patients JOIN (SELECT 'private' AS note) AS x USING (note)
SELECT COUNT(*) FROM patients p JOIN patients q USING (patient_id, note)
SELECT COUNT(DISTINCT note) FROM patients
""".strip().splitlines()

NOT_IN_STAR = """
SELECT COUNT(*) FROM (SELECT * FROM patients UNION ALL SELECT * FROM patients) AS x WHERE note = 'private'
SELECT COUNT(*) FROM (SELECT * FROM patients) AS x GROUP BY note KEYS ('private')
SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM patients) AS x ORDER BY note LIMIT 1 PER UNIT) AS y
WITH x AS (SELECT * FROM patients) SELECT COUNT(*) FROM (SELECT patient_id FROM x ORDER BY note LIMIT 1 PER UNIT) AS y
""".strip().splitlines()

ALIKE = """
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits)
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE ward = 'a')
SELECT COUNT(*) FROM patients WHERE patient_id IS NOT NULL
SELECT COUNT(DISTINCT patient_id) FROM visits
SELECT COUNT(*) FROM patients FULL JOIN visits USING (patient_id)
SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION SELECT patient_id FROM patients) AS x
SELECT COUNT(*) FROM (SELECT patient_id, ward FROM visits UNION ALL SELECT NULL, ward FROM visits) AS x
SELECT COUNT(*) FROM (SELECT patient_id, COUNT(patient_id) AS n FROM visits GROUP BY patient_id) AS x WHERE n > 3
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT v.patient_id FROM visits v WHERE v.patient_id = p.patient_id)
""".strip().splitlines()


def said(session: Session, text: str) -> list[str]:
    return [d.code for d in session.check_text(f"{text} SPEND EPSILON 1").diagnostics if d.severity == "error"]


@pytest.mark.parametrize("text", NAMED)
def test_a_unit_is_named_nowhere(text: str, session: Session) -> None:
    assert said(session, text) == ["PQL0405"]


@pytest.mark.parametrize("text", HIDDEN)
def test_a_hidden_column_is_read_nowhere(text: str, session: Session) -> None:
    assert said(session, text) == ["PQL0406"]


@pytest.mark.parametrize("operation", ["UNION ALL", "UNION", "INTERSECT", "EXCEPT"])
@pytest.mark.parametrize("turned", [False, True])
def test_beside_nulls_an_identifier_may_be_read_as_little(operation: str, turned: bool, session: Session) -> None:
    sides = ["SELECT patient_id AS i, patient_id AS x FROM patients", "SELECT patient_id AS i, NULL AS x FROM patients"]
    one, other = reversed(sides) if turned else sides
    met = f"SELECT COUNT(*) FROM ({one} {operation} {other}) AS t"
    assert said(session, met) == []
    assert said(session, f"{met} WHERE x = 'p1'") == ["PQL0405"]


@pytest.mark.parametrize("text", NOT_IN_STAR)
def test_a_star_brings_no_hidden_column(text: str, session: Session) -> None:
    assert said(session, text) == ["PQL0202"]


def test_a_hidden_column_orders_nothing(session: Session) -> None:
    ordered = "SELECT COUNT(*) FROM (SELECT * FROM patients ORDER BY note LIMIT 1 PER UNIT) AS x"
    assert said(session, ordered) == ["PQL0406"]


@pytest.mark.parametrize("text", ALIKE)
def test_identifiers_meet_each_other(text: str, session: Session) -> None:
    assert said(session, text) == []
