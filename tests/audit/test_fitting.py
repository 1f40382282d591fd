"""Rows are found that a query measures, whatever it asks of them: one claim after the other is reached, whole."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from privql.audit.auditing import Given
from privql.audit.faults import FAULTS
from privql.audit.fitting import fitting
from privql.audit.pools import compared, inside
from privql.domains import Domain
from privql.kernel.scalars import BOOL, INT, TEXT, Apply, Const, Field
from tests.audit.test_auditing import audited

QUICK = Given(draws=20, databases=40, replays=0, watched=1)
JOINED = "FROM visits AS v JOIN patients AS p USING (patient_id)"
QUERIES = [
    "SELECT COUNT(*) FROM patients WHERE age >= 65 AND smoker AND region = 'ASH' AND sex = 'F' AND cost > 500",
    "SELECT MEDIAN(cost) FROM patients WHERE smoker AND age = 42 AND sex = 'F' AND region = 'ASH'",
    f"SELECT COUNT(*) {JOINED} WHERE p.smoker AND p.region = 'ASH' AND p.sex = 'M' AND p.age BETWEEN 65 AND 70",
    f"SELECT SUM(v.minutes) {JOINED} WHERE v.minutes > p.age + 100 AND v.ward = 'general' AND p.sex = 'F' AND p.smoker",
    "SELECT COUNT(*) FROM patients WHERE age % 7 = 3 AND EXTRACT(MONTH FROM admitted) = 7 AND cost > 5 AND cost < 5.02",
    "SELECT COUNT(*) FROM patients AS p WHERE EXISTS (SELECT 1 FROM visits AS v WHERE v.patient_id = p.patient_id "
    "AND v.ward = 'oncology' AND v.minutes > 200) AND p.age = 100 AND smoker",
    "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits WHERE ward = 'surgery' AND minutes = 7 "
    "GROUP BY patient_id) AS f WHERE n >= 9",
    "SELECT taken, AVG(level) FROM samples AS s JOIN visits AS v USING (visit_id) WHERE v.ward = 'oncology' "
    "AND v.minutes BETWEEN 50 AND 51 AND s.level > 20 GROUP BY taken",
]


@pytest.mark.parametrize("query", QUERIES)
def test_the_claim_is_reached(query: str) -> None:
    for seed in (1, 2):
        report = audited(f"{query} SPEND EPSILON 0.5", replace(QUICK, seed=seed))
        assert report.ok, str(report)
        for tried in report.statements[0].steps:
            for *_, price in tried.brute.moved:
                assert price.far == price.claim.most, (seed, str(report))
            assert tried.black_box.best is not None


RARE = "p.smoker AND p.region = 'ASH' AND p.sex = 'M' AND p.age = 66"
FOUND = {
    "sensitivity": (f"SELECT p.sex, COUNT(*) {JOINED} WHERE {RARE} GROUP BY p.sex", "small databases", 20),
    "clamp": (f"SELECT SUM(v.minutes) {JOINED} WHERE {RARE}", "small databases", 20),
    "rows": (f"SELECT MEDIAN(v.minutes) {JOINED} WHERE {RARE}", "small databases", 20),
    "noise": (f"SELECT COUNT(*) FROM patients AS p WHERE {RARE}", "black box", 10_000),
}


@pytest.mark.parametrize("fault", FOUND)
def test_a_planted_fault_is_found_behind_conditions(fault: str) -> None:
    """By one of three audits, as elsewhere: the answers that choose an event may choose a poor one."""
    query, layer, draws = FOUND[fault]
    given = replace(QUICK, fault=FAULTS[fault], draws=draws)
    assert any(layer in audited(f"{query} SPEND EPSILON 2", given).found for _ in range(3))


def test_what_fits_already_is_not_made_better() -> None:
    """A default audit takes no longer for it: where some rows are measured, no others are looked for."""
    bag = ()
    assert fitting(None, [bag], lambda _: [(3.0, 3)], random.Random(1)) == []


def test_long_lists_leave_room_for_what_else_is_compared() -> None:
    many = Apply("in", (Field("job", TEXT), *(Const(f"job {at}", TEXT) for at in range(100))), BOOL)
    one = Apply("eq", (Field("name", TEXT), Const("nurse", TEXT)), BOOL)
    for terms in ([many, one], [one, many]):
        known = compared(terms)["TEXT"]
        assert "nurse" in known and "job 0" in known and len(known) < 10


def test_values_are_drawn_from_inside_and_from_beside_what_is_compared() -> None:
    domain = Domain(Fraction(0), Fraction(1000), grid=Fraction(1))
    found = set(inside(INT, domain, {"INT": (500,)}, (), random.Random(1)))
    assert {499, 501} <= found and len(found) > 15 and all(isinstance(one, int) for one in found)
    assert "ambers aa" in set(inside(TEXT, Domain(), {"TEXT": ("%s _a",)}, ("x",), random.Random(1)))
