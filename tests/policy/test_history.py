"""What is weaker needs a reason, which the ledger keeps; sessions outlive what they do not rest on."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.ledger import Ledger
from privql.pipeline.versions import policy_text

POLICY = """\
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120, note TEXT HIDDEN)
  FROM 'patients.csv';
CREATE BUDGET research FOR UNIT patient EPSILON 3;
GRANT research TO alice, bob;
"""
ASK = "SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.5"
OTHER = "SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.1"
RAISED = POLICY + "ALTER BUDGET research ADD EPSILON 2 REASON 'a second study';\n"
SHOWN = POLICY.replace(" HIDDEN", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patients.csv").write_text("patient_id,age,note\nana,40,x\nben,50,y\n")
    put(tmp_path, POLICY)
    return tmp_path


def put(folder: Path, text: str, reason: str = "", by: str | None = "olga") -> int:
    (folder / "policy.pql").write_text(text)
    return privql.apply(folder / "policy.pql", folder / "l.db", reason=reason, by=by).version


def refused(folder: Path, text: str, reason: str = "") -> list[str]:
    with pytest.raises(PrivQLError) as raised:
        put(folder, text, reason)
    assert {each.code for each in raised.value.diagnostics} == {"PQL0746"}
    with Ledger.open(folder / "l.db") as ledger:
        assert ledger.policy().version == 1
    return [each.message for each in raised.value.diagnostics]


def test_a_grant_that_is_weaker_is_shown_where_it_stands(folder: Path) -> None:
    limited = POLICY.replace("TO alice, bob;", "TO alice, bob LIMIT EPSILON 1 EACH;")
    assert limited != POLICY and put(folder, limited) == 2
    for more in (POLICY, limited.replace("LIMIT EPSILON 1", "LIMIT EPSILON 2"), f"{limited}\nGRANT research TO eve;"):
        with pytest.raises(PrivQLError) as raised:
            put(folder, more)
        for found in raised.value.diagnostics:
            assert found.source is not None and found.source.at(found.span).startswith("GRANT research TO")


def test_what_is_weaker_needs_a_reason(folder: Path) -> None:
    assert refused(folder, SHOWN) == ["`patients.note` is no longer hidden"]
    assert refused(folder, SHOWN, "  ") == ["`patients.note` is no longer hidden"]
    assert refused(folder, SHOWN.replace("EPSILON 3", "EPSILON 5"))[1:] == ["`research` has ε = 5, and had 3"]
    assert put(folder, SHOWN, " the notes are blank ") == 2
    assert put(folder, POLICY) == 3
    assert put(folder, RAISED) == 4, "its reason stands in the policy"
    with Ledger.open(folder / "l.db") as ledger:
        assert [(each.version, each.reason, each.applied_by) for each in ledger.policy_history()] == [
            (1, "", "olga"), (2, "the notes are blank", "olga"), (3, "", "olga"), (4, "", "olga"),
        ]  # fmt: skip
        assert ledger.budget_report()[0].budget.epsilon == 5


def test_the_history_says_when_who_why_and_what(folder: Path) -> None:
    put(folder, SHOWN, "the notes are blank", by="piet")
    put(folder, SHOWN + RAISED.removeprefix(POLICY) + "REFRESH patients AS '2026';")
    history = privql.policy_history(folder / "l.db")
    lines = str(history).splitlines()
    assert lines[0].startswith("version 1, 2") and lines[0].endswith(", by olga") and lines[1] == "  the first"
    assert lines[2].endswith(", by piet")
    assert lines[3:5] == ["  reason: the notes are blank", "  weaker    `patients.note` is no longer hidden"]
    assert "            reason: a second study" in lines
    assert "  neutral   the data of `patients` is stated to be '2026'" in lines
    versions = history.to_json()["versions"]
    assert [each["reason"] for each in versions] == ["", "the notes are blank", ""]
    assert versions[2]["changes"][0]["reason"] == "a second study"
    json.dumps(versions)
    assert policy_text(folder / "l.db", 1).text == POLICY
    assert policy_text(folder / "l.db").version == 3
    with pytest.raises(PrivQLError, match="no version 4"):
        policy_text(folder / "l.db", 4)


def test_a_diff_applies_nothing(folder: Path) -> None:
    (folder / "policy.pql").write_text(SHOWN)
    diff = privql.policy_diff(folder / "policy.pql", folder / "l.db")
    assert [each.what for each in diff.unreasoned] == ["`patients.note` is no longer hidden"]
    assert "1 of these needs a reason" in str(diff) and diff.to_json()["accepted"] is False
    (folder / "policy.pql").write_text("-- a remark\n" + POLICY)
    assert "changes nothing" in str(privql.policy_diff(folder / "policy.pql", folder / "l.db"))
    (folder / "policy.pql").write_text(RAISED)
    diff = privql.policy_diff(folder / "policy.pql", folder / "l.db")
    assert diff.unreasoned == () and len(diff.changes) == 1
    with Ledger.open(folder / "l.db") as ledger:
        assert ledger.policy().version == 1


def test_a_domain_says_how_many_answers_were_released_under_the_old_one(folder: Path) -> None:
    with privql.connect(folder / "l.db", analyst="alice") as session:
        session.run("SELECT AVG(age) AS a FROM patients SPEND EPSILON 0.5")
        session.run(ASK)
    (folder / "policy.pql").write_text(POLICY.replace("120", "99"))
    (change,) = privql.policy_diff(folder / "policy.pql", folder / "l.db").changes
    assert change.why.endswith("; 1 released answers name it, and stay as they are")


def test_two_owners_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compared with version 1 is not put upon a version 2 that came meanwhile."""
    from privql.pipeline import apply

    def meanwhile(*given: object) -> list[object]:
        monkeypatch.undo()
        put(folder, POLICY.replace("EPSILON 3", "EPSILON 1"))
        return []

    monkeypatch.setattr(apply, "verify", meanwhile)
    with pytest.raises(PrivQLError, match="applied meanwhile"):
        put(folder, POLICY.replace("EPSILON 3", "EPSILON 2"))
    with Ledger.open(folder / "l.db") as ledger:
        assert ledger.budget_report()[0].budget.epsilon == 1


# ---------------------------------------------------------------- sessions that were open before


def test_a_session_goes_on_where_only_budgets_and_grants_changed(folder: Path) -> None:
    with privql.connect(folder / "l.db", analyst="alice") as session:
        first = session.run(ASK)
        put(folder, RAISED)
        assert session.check(ASK).replay, "an answer outlives a version that means the same"
        assert session.run(ASK).release_id == first.release_id
        session.run("SELECT COUNT(*) AS n FROM patients WHERE age > 50 SPEND EPSILON 4")
        put(folder, RAISED.replace("TO alice, bob", "TO bob"))
        with pytest.raises(PrivQLError) as raised:
            session.run("SELECT COUNT(*) AS n FROM patients WHERE age > 51 SPEND EPSILON 0.1")
        assert raised.value.diagnostics[0].code == "PQL0505"
    with Ledger.open(folder / "l.db") as ledger:
        assert [each.policy_version for each in ledger.history()] == [1, 2]
        assert ledger.verify() == ()
        assert ledger.spent("patient").epsilon == Fraction(9, 2)


def test_a_lowered_budget_holds_for_sessions_that_are_open(folder: Path) -> None:
    with privql.connect(folder / "l.db", analyst="alice") as session:
        put(folder, POLICY.replace("EPSILON 3", "EPSILON 0.2"))
        with pytest.raises(PrivQLError) as raised:
            session.run(ASK)
        assert raised.value.diagnostics[0].code == "PQL0502"


@pytest.mark.parametrize(
    "text",
    [
        SHOWN,
        POLICY.replace("age INT BETWEEN 0 AND 120", "age INT BETWEEN 0 AND 120 HIDDEN"),
        POLICY.replace("0 AND 120", "0 AND 99"),
        POLICY.replace("UNIT patient;", "UNIT patient NEIGHBOURS CHANGE ONE;"),
        POLICY + "CREATE VIEW v AS SELECT age FROM patients;",
    ],
)
def test_a_session_is_stale_where_more_changed_and_what_is_free_goes_on(folder: Path, text: str) -> None:
    with privql.connect(folder / "l.db", analyst="alice") as session:
        session.run(f"CREATE RELEASE n AS {ASK}")
        put(folder, text, "because")
        with pytest.raises(PrivQLError) as raised:
            session.run(OTHER)
        assert raised.value.diagnostics[0].code == "PQL0510" and "connect again" in str(raised.value)
        assert session.run("SELECT n + 1 AS m FROM n").rows
        session.run("SELECT * FROM DUMMY patients LIMIT 2")
    with Ledger.open(folder / "l.db") as ledger:
        assert ledger.spent("patient").epsilon == Fraction(1, 2)
        assert ledger.verify() == ()
    with privql.connect(folder / "l.db", analyst="alice") as session:
        session.run(OTHER)


def test_a_policy_that_comes_back_gives_its_answers_back(folder: Path) -> None:
    with privql.connect(folder / "l.db", analyst="alice") as session:
        first = session.run(ASK)
    put(folder, SHOWN, "because")
    with privql.connect(folder / "l.db", analyst="alice") as session:
        assert session.run(ASK).release_id != first.release_id
    put(folder, "-- as it was\n" + POLICY)
    with privql.connect(folder / "l.db", analyst="alice") as session:
        assert session.run(ASK).release_id == first.release_id


def test_another_folder_is_other_data(folder: Path) -> None:
    """The same text there reads other files."""
    with privql.connect(folder / "l.db", analyst="alice") as session:
        first = session.run(ASK)
        (folder / "there").mkdir()
        shutil.copy(folder / "patients.csv", folder / "there")
        shutil.copy(folder / "policy.pql", folder / "there")
        assert privql.apply(folder / "there" / "policy.pql", folder / "l.db").version == 2
        with pytest.raises(PrivQLError, match="connect again"):
            session.run(ASK)
    with privql.connect(folder / "l.db", analyst="alice") as session:
        assert session.run(ASK).release_id != first.release_id


def test_refresh_moves_open_sessions_too(folder: Path) -> None:
    with privql.connect(folder / "l.db", analyst="alice") as session:
        first = session.run(ASK)
        put(folder, POLICY + "REFRESH patients AS '2026';")
        assert session.run(ASK).release_id != first.release_id


# ---------------------------------------------------------------- what the owner is warned of


def warned(folder: Path, text: str, code: str) -> list[str]:
    (folder / "policy.pql").write_text(text)
    applied = privql.apply(folder / "policy.pql", folder / "l.db")
    return [each.message for each in applied.warnings if each.code == code]


def test_keys_are_verified_again_when_the_data_is_stated_to_have_changed(folder: Path) -> None:
    refresh = POLICY + "REFRESH patients AS '2026';"
    (folder / "patients.csv").write_text("patient_id,age,note\nana,40,x\nana,50,y\n")
    with pytest.raises(PrivQLError) as raised:
        put(folder, refresh)
    assert [each.code for each in raised.value.diagnostics] == ["PQL0743"]
    with Ledger.open(folder / "l.db") as ledger:
        assert ledger.data_version(["patients"]) == '{"patients": 0}'


def test_files_that_changed_without_a_refresh_are_a_warning(folder: Path) -> None:
    assert warned(folder, POLICY, "PQL0748") == []
    (folder / "patients.csv").write_text("patient_id,age,note\nana,40,x\nben,50,y\ncy,60,z\n")
    assert warned(folder, POLICY, "PQL0748") == ["the files of `patients` changed since they were verified"]
    assert warned(folder, POLICY, "PQL0748") == [], "now they are the verified ones"
    (folder / "patients.csv").write_text("patient_id,age,note\nana,40,x\n")
    assert warned(folder, POLICY + "REFRESH patients AS '2026';", "PQL0748") == []


def test_another_ledger_for_the_same_units_is_a_warning(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert warned(folder, POLICY, "PQL0747") == []
    privql.apply(folder / "policy.pql", folder / "other.db")
    assert warned(folder, POLICY, "PQL0747") == [f"`{folder / 'other.db'}` keeps budgets for `patient`, too"]
    (folder / "other.db").unlink()
    (folder / "notes.db").write_text("this is no ledger")
    far = tmp_path_factory.mktemp("far")
    (far / "policy.pql").write_text(POLICY.replace("patient;", "ward;").replace("UNIT patient", "UNIT ward"))
    (far / "patients.csv").write_text((folder / "patients.csv").read_text())
    privql.apply(far / "policy.pql", folder / "wards.db")
    assert warned(folder, POLICY, "PQL0747") == []


def test_a_copy_of_the_ledger_is_a_warning_and_a_moved_one_is_not(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    away = tmp_path_factory.mktemp("away") / "copy.db"
    shutil.copy(folder / "l.db", away)
    copied = privql.apply(folder / "policy.pql", away)
    assert [each.message for each in copied.warnings] == [f"`{folder / 'l.db'}` is a copy of this ledger"]
    (folder / "l.db").unlink()
    assert privql.apply(folder / "policy.pql", away).warnings == ()
    put_away = tmp_path_factory.mktemp("farther") / "again.db"
    shutil.copy(away, put_away)
    assert privql.apply(folder / "policy.pql", put_away, reason="none").warnings == (), "where it was is not known yet"
    (folder / "policy.pql").write_text("-- the second version\n" + POLICY)
    privql.apply(folder / "policy.pql", away)
    shutil.copy(away, put_away)
    found = privql.apply(folder / "policy.pql", put_away).warnings
    assert [each.message for each in found] == [f"`{away}` is a copy of this ledger"]
