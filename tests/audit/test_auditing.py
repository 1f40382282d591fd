"""Queries of every kind are audited and nothing contradicts their claims; each fault is found where it can be seen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from scipy import stats

from privql.audit.auditing import Given, audit
from privql.audit.faults import FAULTS, NO_FAULT
from privql.audit.replay import Asked
from privql.audit.report import Report
from privql.audit.shown import lowest
from privql.diagnostics import Source
from privql.kernel.parts import Parts
from privql.plan.program import Plan
from privql.policy.build import build_catalog
from privql.policy.findings import accepted
from tests.docs.markdown import DOCS
from tests.soundness.world import POLICY

HOSPITAL = DOCS / "example" / "policy.pql"
FEW = Given(draws=300, databases=60, replays=1, watched=3)


def audited(query: str, given: Given = FEW) -> Report:
    """Under the policy of the documentation, or under the one that has a table of every kind."""
    hospital = any(name in query for name in ("patients", "visits", "samples"))
    source = Source(HOSPITAL.read_text("utf-8") if hospital else POLICY, "policy")
    base = HOSPITAL.parent if hospital else Path()
    asked = Asked(source, accepted(*build_catalog(source)), base, "alice", Source(query, "query"), {})
    return audit(asked, given)


QUERIES = [  # and how many steps are audited of it
    ("SELECT s, COUNT(*), AVG(b) FROM people GROUP BY s SPEND EPSILON 1", 1),
    ("SELECT s, COUNT(*) FROM members GROUP BY s SPEND EPSILON 1", 1),  # CHANGE ONE
    ("SELECT SUM(a) FROM rows_alone WHERE k SPEND EPSILON 1", 1),  # UNIT ROW
    ("SELECT t, SUM(b) FROM dues GROUP BY t SPEND EPSILON 4 DELTA 0.01", 2),  # groups that are found
    ("SELECT t, COUNT(*) FROM people GROUP BY t SPEND EPSILON 1 DELTA 0.01", 1),
    ("SELECT s, MEDIAN(a) FROM events GROUP BY s SPEND EPSILON 1", 1),
    ("SELECT MODE(b), TOP(b, 2 USING GUMBEL) FROM people SPEND EPSILON 2 DELTA 0.01", 1),
    ("SELECT s, k, SUM(b) FROM people GROUP BY CUBE(s, k) SPEND EPSILON 1", 1),
    ("SELECT s, AVG(b) FROM events GROUP BY CUBE(s) USING GAUSSIAN SPEND EPSILON 1 DELTA 0.01", 1),
    ("SELECT SUM(z BOUNDS AUTO) FROM people SPEND EPSILON 1", 2),
    ("SELECT sex, COUNT(*) FROM patients JOIN visits USING (patient_id) GROUP BY sex SPEND EPSILON 1", 1),
    ("SELECT taken, AVG(level) FROM samples GROUP BY taken SPEND EPSILON 1", 1),  # VIA
    ("SELECT COUNT(*) FROM patients WITHIN 20 AT 95%", 1),
    (
        "CREATE RELEASE a AS SELECT region, COUNT(*) AS n FROM patients GROUP BY region SPEND EPSILON 1;"
        "SELECT sex, COUNT(*) FROM patients JOIN a USING (region) WHERE n > 3 GROUP BY sex SPEND EPSILON 1;"
        "SELECT n FROM a",
        2,
    ),
]


@pytest.mark.parametrize(("query", "steps"), QUERIES)
def test_nothing_contradicts_what_is_claimed(query: str, steps: int) -> None:
    report = audited(query)
    assert report.ok, str(report)
    taken = [tried for statement in report.statements for tried in statement.steps]
    assert len(taken) == steps
    for tried in taken:
        assert tried.brute.databases > 20 and tried.brute.by_engine > 3
        assert all(each[-1].far > 0 for each in tried.brute.moved), "rows that move nothing try nothing"
        assert tried.black_box.best is not None
    assert report.replay.answered == report.replay.pairs == FEW.replays


PARTED = """
CREATE UNIT patient;
CREATE PRIVATE TABLE visits (
    patient_id INT UNIT patient, region TEXT IN ('north', 'south', 'west'), cost INT BETWEEN 0 AND 50
) AT MOST 3 ROWS PER UNIT PARTS BY region;
CREATE BUDGET research FOR UNIT patient EPSILON 10 DELTA 0.001;
"""


def of_parts(given: Given, key: str = "") -> Report:
    source = Source(PARTED.replace("BETWEEN 0 AND 50", f"BETWEEN 0 AND 50{key}"), "policy")
    query = Source("SELECT SUM(cost) FROM visits WHERE region IN ('north', 'west') SPEND EPSILON 1", "query")
    return audit(Asked(source, accepted(*build_catalog(source)), Path(), "alice", query, {}), given)


@pytest.mark.parametrize("key", ["", ", KEY (cost, region)"])
@pytest.mark.parametrize("fault", [None, "parts"])
def test_units_of_other_parts_move_nothing(fault: str | None, key: str) -> None:
    """Also where a key says which rows a unit may have beside those of others: they may put it into another part."""
    report = of_parts(replace(FEW, databases=150, fault=FAULTS[fault] if fault else NO_FAULT), key)
    assert report.statements[0].parts == {"patient": ["north", "west"]}
    assert "line 1: select, ε = 1 of patient in north, west" in str(report)
    outside = report.statements[0].steps[0].brute.moved[0][0]
    assert outside.claim.most == 0 and "outside" in outside.claim.what
    assert (report.ok, outside.kept) == (fault is None, fault is None), str(report)


def test_planted_parts_that_are_not_all_that_are_read_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Plan.parts_by_unit.fget
    assert honest is not None

    def fewer(plan: Plan) -> dict[str, Parts]:
        return {unit: replace(of, values=frozenset({"west"})) for unit, of in honest(plan).items()}

    monkeypatch.setattr(Plan, "parts_by_unit", property(fewer))
    report = of_parts(FEW)
    assert any("outside of the parts" in word for word in report.found["small databases"])


MORE_ACCURATE = (
    "CREATE RELEASE a AS SELECT COUNT(*) AS n FROM people USING GAUSSIAN SPEND EPSILON 1 DELTA 0.001;"
    "REFINE a TO WITHIN 2"
)
AGAIN = "CREATE RELEASE daily AS SELECT COUNT(*) AS n FROM people EVERY DAY FOR 10 RUNS SPEND EPSILON 1"


def test_what_a_release_lacks_is_audited_and_so_is_one_run_of_many() -> None:
    report = audited(MORE_ACCURATE)
    assert report.ok and [one.kind for one in report.statements] == ["create release", "refine"], str(report)
    first, second = (tried.brute.moved[0][-1] for one in report.statements for tried in one.steps)
    assert 0 < first.far < second.far
    report = audited(AGAIN)
    assert report.ok and report.statements[0].claimed["person"].epsilon == Fraction(1, 10), str(report)


MANY_ROWS = "SELECT AVG(b) FROM events SPEND EPSILON 4"
FOUND = "SELECT t, COUNT(*) FROM people GROUP BY t SPEND EPSILON 1 DELTA 0.001"


@pytest.mark.parametrize(
    ("fault", "query", "layers", "draws"),
    [
        ("noise", "SELECT SUM(a) FROM people SPEND EPSILON 2", {"black box"}, 10_000),
        ("sensitivity", "SELECT AVG(b) FROM people SPEND EPSILON 2", {"small databases", "black box"}, 4000),
        ("sensitivity", "SELECT MEDIAN(a) FROM members SPEND EPSILON 2", {"small databases"}, 1000),
        ("sensitivity", "SELECT MODE(b) FROM people SPEND EPSILON 2", {"small databases", "black box"}, 4000),
        ("clamp", "SELECT s, SUM(a) FROM people GROUP BY s SPEND EPSILON 2", {"small databases", "black box"}, 1000),
        ("rows", MANY_ROWS, {"small databases"}, 1000),
        ("groups", FOUND, {"black box"}, 1000),
    ],
)
def test_a_planted_fault_is_found(fault: str, query: str, layers: set[str], draws: int) -> None:
    """By one of three audits: now and then the answers that choose an event choose a poor one."""
    given, made = Given(draws=draws, databases=100, replays=1, watched=4, fault=FAULTS[fault]), []
    while len(made) < 3 and not (made and layers <= made[-1].found.keys()):
        made.append(audited(query, given))
        assert "replay" not in made[-1].found
    assert layers <= made[-1].found.keys(), "\n".join(map(str, made))


def test_an_engine_that_fails_on_some_rows_is_found() -> None:
    query = "SELECT s, COUNT(*) FROM people GROUP BY s KEYS ('x', 'y', NULL) SPEND EPSILON 1"
    found = audited(query, Given(draws=1000, databases=100, replays=6, fault=FAULTS["failure"])).found
    assert {"small databases", "replay"} <= found.keys()
    assert "the error" in found["replay"][0]


@pytest.mark.parametrize(
    ("hits", "count", "miss"), [(1, 10, 1e-9), (5, 10, 1e-3), (3000, 5000, 1e-9), (9, 5000, 1e-6), (500, 500, 1e-5)]
)
def test_bounds_are_those_of_clopper_and_pearson(hits: int, count: int, miss: float) -> None:
    wanted = stats.beta.ppf(miss, hits, count - hits + 1)
    assert wanted * (1 - 1e-8) <= lowest(hits, count, miss) <= wanted * (1 + 1e-12)
