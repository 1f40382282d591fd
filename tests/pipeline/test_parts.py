"""What reads single parts of a divided table is charged to the units of these alone - of the data that was stated."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.ledger import Ledger
from privql.release import Unpaid

ROWS = """patient_id,region,cost
ana,north,10
ana,north,20
ana,south,30
ben,south,5
ben,south,7
cyd,north,3
cyd,east,4
dan,,9
"""
POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE visits (
  patient_id TEXT UNIT patient, region TEXT IN ('east', 'north', 'south'), cost INT BETWEEN 0 AND 100
) PARTS BY region AT MOST 5 ROWS PER UNIT FROM 'visits.csv';
CREATE BUDGET research FOR UNIT patient EPSILON 1;
"""
CHANGED = POLICY.replace("UNIT patient;", "UNIT patient NEIGHBOURS CHANGE ONE;", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text(ROWS)
    put(tmp_path)
    return tmp_path


def put(folder: Path, text: str = POLICY) -> list[str]:
    (folder / "policy.pql").write_text(text)
    found = privql.apply(folder / "policy.pql", folder / "l.db").warnings
    return [each.message + "; " + each.why for each in found if each.code == "PQL0748"]


def count(region: str, epsilon: object, more: str = "") -> str:
    return f"SELECT COUNT(*) AS n FROM visits WHERE region = '{region}'{more} SPEND EPSILON {epsilon}"


def run(folder: Path, *texts: str) -> None:
    with privql.connect(folder / "l.db", analyst="alice") as session:
        for text in texts:
            list(session.run_text(text))


def crash(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is charged, and nothing is measured."""
    from privql.pipeline import run as room

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(room, "release", killed)
        with pytest.raises(KeyboardInterrupt):
            run(folder, text)


def left(folder: Path) -> dict[str, str]:
    """Of units of any part, and of the parts by themselves."""
    with privql.connect(folder / "l.db", analyst="alice") as session:
        (told,) = session.budget().to_json()["budgets"]
    with Ledger.open(folder / "l.db") as ledger:
        assert ledger.verify() == ()
    out = {"": told["left"]}
    for one in told.get("parts", []):
        assert (one["table"], one["column"]) == ("visits", "region")
        out |= {**one["left"], "others": one["left_in_others"]}
    return out


def test_each_part_is_charged_by_itself(folder: Path) -> None:
    run(folder, *(count(region, "0.9") for region in ("north", "south", "east")))
    assert left(folder) == {"": "1/10", "east": "1/10", "north": "1/10", "south": "1/10", "others": "1"}
    run(folder, "SELECT region, COUNT(*) AS n FROM visits GROUP BY region SPEND EPSILON 0.1")
    assert left(folder)["others"] == "9/10" and left(folder)["north"] == "0"
    with pytest.raises(PrivQLError) as refused:
        run(folder, count("north", "0.01"))
    assert refused.value.diagnostics[0].code == "PQL0502"
    run(folder, count("west", "0.9"))


def test_a_group_by_the_column_needs_no_other_bound(folder: Path) -> None:
    """A unit is in one group: its ε is spent once, whatever rows it has elsewhere."""
    with privql.connect(folder / "l.db", analyst="alice") as session:
        (block,) = session.check(
            "SELECT region, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY region SPEND EPSILON 1"
        ).plan.blocks
        assert block.measured is not None and block.measured.parts[0].sensitivity.l1 == 1


@pytest.mark.parametrize(
    "condition",
    [
        "region = 'north' OR cost > 5",
        "NOT region = 'north'",
        "region <> 'north'",
        "COALESCE(region, 'north') = 'north'",
        "LOWER(region) = 'north'",
        "region >= 'north'",
        "region IS NULL",
    ],
)
def test_what_may_read_others_is_charged_to_all(folder: Path, condition: str) -> None:
    run(folder, f"SELECT COUNT(*) AS n FROM visits WHERE {condition} SPEND EPSILON 0.25")
    assert left(folder) == {"": "3/4"}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (count("north", "0.25", " AND cost > 5"), {"north"}),
        ("SELECT COUNT(*) AS n FROM visits WHERE region IN ('north', 'east') SPEND EPSILON 0.25", {"north", "east"}),
        ("SELECT COUNT(*) AS n FROM (SELECT * FROM visits WHERE region = 'east') SPEND EPSILON 0.25", {"east"}),
        ("SELECT COUNT(*) AS n FROM (SELECT region AS r FROM visits) WHERE r = 'east' SPEND EPSILON 0.25", {"east"}),
        ("SELECT COUNT(DISTINCT patient_id) AS n FROM visits WHERE region = 'east' SPEND EPSILON 0.25", {"east"}),
        ("SELECT MEDIAN(cost) AS n FROM visits WHERE region = 'east' SPEND EPSILON 0.25", {"east"}),
        ("SELECT cost, COUNT(*) AS n FROM visits WHERE region = 'east' GROUP BY cost SPEND EPSILON 0.25", {"east"}),
    ],
)  # fmt: skip
def test_what_names_its_parts_is_charged_to_them(folder: Path, text: str, parts: set[str]) -> None:
    run(folder, text)
    assert left(folder) == {"": "3/4", **dict.fromkeys(parts, "3/4"), "others": "1"}


def test_a_text_of_several_parts_is_charged_as_its_dearest(folder: Path) -> None:
    run(folder, ";".join((count("north", "0.5"), count("south", "0.3"), count("east", "0.2"))))
    assert left(folder)[""] == "1/2"
    run(folder, ";".join((count("north", "0.1", " AND cost > 1"), "SELECT COUNT(*) FROM visits SPEND EPSILON 0.1")))
    assert left(folder)[""] == "3/10"


def test_a_unit_that_changes_may_be_in_two(folder: Path) -> None:
    (folder / "l.db").unlink()
    put(folder, CHANGED)
    run(folder, count("north", "0.3"), count("south", "0.2"), count("east", "0.1"))
    assert left(folder) == {"": "1/2", "east": "3/5", "north": "1/2", "south": "1/2", "others": "7/10"}
    run(folder, "SELECT COUNT(*) AS n FROM visits WHERE region IN ('north', 'east') SPEND EPSILON 0.1")
    assert left(folder)[""] == "2/5" and left(folder)["others"] == "3/5"


def test_equal_queries_are_free_and_a_part_stays_one_after_a_crash(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(folder, count("north", "0.4"), monkeypatch)
    found = {"": "3/5", "north": "3/5", "others": "1"}
    assert left(folder) == found
    run(folder, count("north", "0.4"), count("north", "0.4"))
    assert left(folder) == found
    with Ledger.open(folder / "l.db") as ledger:
        (one,) = ledger.history()
        assert one.state == "released" and one.charges[0].where is not None and one.charges[0].where.parts == ("north",)
        assert json.loads(one.measurements)["parts"] == {
            "patient": {"table": "visits", "column": "region", "values": ["north"]}
        }


def test_data_that_is_stated_anew_is_divided_anew(folder: Path) -> None:
    run(folder, count("north", "0.5"))
    (folder / "visits.csv").write_text(ROWS.replace("north", "south"))
    put(folder, POLICY + "REFRESH visits AS '2';")
    assert left(folder) == {"": "1/2"}
    run(folder, count("south", "0.5"))
    assert left(folder) == {"": "0", "south": "0", "others": "1/2"}


def test_in_data_that_nobody_stated_a_unit_may_be_anywhere(folder: Path) -> None:
    run(folder, count("north", "0.25"))
    text = ROWS.replace("north", "south")
    (folder / "visits.csv").write_text(text)
    run(folder, count("south", "0.25"))
    assert left(folder)[""] == "1/2"
    assert ["may be in others now" in each for each in put(folder)] == [True]
    run(folder, count("south", "0.25", " AND cost > 3"))
    assert left(folder)[""] == "1/4", "applying it again has stated nothing"
    put(folder, POLICY + "REFRESH visits AS '2';")
    run(folder, count("south", "0.25", " AND cost > 4"))
    assert left(folder) == {"": "0", "south": "0", "others": "1/4"}


def test_what_was_charged_in_parts_is_not_gone_on_with_in_other_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(folder, count("north", "0.25"), monkeypatch)
    (folder / "visits.csv").write_text(ROWS + "eve,north,1\n")
    run(folder, count("north", "0.25"))
    assert left(folder)[""] == "1/2"
    with Ledger.open(folder / "l.db") as ledger:
        assert [one.state for one in ledger.history()] == ["reserved", "released"]


def test_what_comes_between_two_policies_that_mean_the_same_divides_them(folder: Path) -> None:
    run(folder, count("north", "0.25"))
    put(folder, POLICY.replace("EPSILON 1;", "EPSILON 1 MAX EPSILON 0.5 PER QUERY;"))
    assert left(folder) == {"": "3/4", "north": "3/4", "others": "1"}
    put(folder, POLICY.replace(" PARTS BY region", ""))
    run(folder, count("south", "0.25"))
    put(folder)
    run(folder, count("south", "0.25", " AND cost > 3"))
    assert left(folder) == {"": "1/4", "south": "1/4", "others": "1/2"}


def test_frames_have_no_version_that_anybody_stated() -> None:
    rows = pd.DataFrame({"patient_id": ["a", "b"], "region": ["north", "south"], "cost": [1, 2]})
    text = POLICY.replace(" FROM 'visits.csv'", "")
    with privql.connect(policy=text, analyst="alice", frames={"visits": rows}) as session:
        session.run(count("north", "0.5"))
        assert "parts" not in session.budget().to_json()["budgets"][0]
        with pytest.raises(PrivQLError):
            session.run(count("south", "0.6"))


def test_runs_that_read_later_data_are_charged_to_all(folder: Path) -> None:
    run(folder, "CREATE RELEASE daily AS " + count("north", "0.4").replace(" SPEND", " EVERY DAY FOR 2 RUNS SPEND"))
    assert left(folder) == {"": "3/5"}


def test_it_is_told(folder: Path) -> None:
    with privql.connect(folder / "l.db", analyst="alice") as session:
        (cost,) = session.check_text(count("north", "0.4")).costs
        assert str(cost) == "ε = 0.4 of research (patient), 0.6 left where region = 'north'"
        told = session.explain(count("north", "0.4"))
        assert "keep the region of most of a patient's rows" in told
        assert "each patient counts in one region alone: only those in 'north' are charged" in told
        session.run(count("north", "0.4"))
        assert "  left in single parts of visits: ε = 0.6 where region = 'north', 1 in others" in str(session.budget())
    os.utime(folder / "visits.csv", (1, 1))
    with privql.connect(folder / "l.db", analyst="alice") as session:
        assert "each patient is charged, whatever its region" in session.explain(count("south", "0.4"))


def test_measurements_of_parts_that_were_not_charged_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from privql import release as room

    monkeypatch.setattr(room, "read_within", lambda of: None)
    with pytest.raises(Unpaid, match="parts that were not charged"):
        run(folder, count("north", "0.4"))


def test_a_share_of_a_budget_is_of_the_part_too(folder: Path) -> None:
    put(folder, POLICY + "GRANT research TO alice LIMIT EPSILON 0.5 EACH; GRANT research TO bob;")
    run(folder, count("north", "0.5"), count("south", "0.5"))
    with pytest.raises(PrivQLError):
        run(folder, count("south", "0.1", " AND cost > 1"))
    with privql.connect(folder / "l.db", analyst="bob") as session:
        session.run(count("south", "0.5", " AND cost > 1"))
        (state,) = session._till._ledger.budget_report("bob")
        assert state.left.epsilon == 0 and state.of_unit.of(state.where).epsilon == Fraction(1)
