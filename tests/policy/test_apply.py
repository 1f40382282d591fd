"""A policy that the data keeps comes into force; one that it breaks never does, and no value is told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pytest

import privql
from privql.diagnostics import Diagnostic, PrivQLError
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError
from privql.kernel.sums import Sums
from privql.ledger import Ledger
from privql.pipeline import verify as told
from privql.pipeline.apply import apply_policy, fingerprint, put_policy
from privql.pipeline.policies import bindings, catalog_from_ledger, read_policy
from privql.pipeline.verify import verify
from privql.policy.build import build_catalog
from privql.policy.dummy import dummy_frame

POLICY = """\
CREATE UNIT patient;
CREATE PUBLIC TABLE regions (code TEXT KEY, name TEXT) FROM 'regions.csv';
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY,
  region TEXT REFERENCES regions(code),
  age INT BETWEEN 0 AND 120
) FROM 'data/patients.csv';
CREATE PRIVATE TABLE visits (
  visit_id INT, patient_id TEXT UNIT patient,
  KEY (patient_id, visit_id)
) AT MOST 3 ROWS PER UNIT FROM 'visits.csv';
CREATE BUDGET research FOR UNIT patient EPSILON 3 DELTA 1e-6 DEFAULT EPSILON 0.1 MAX EPSILON 1/2 PER QUERY;
GRANT research TO alice LIMIT EPSILON 1 EACH;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "policy.pql").write_text(POLICY)
    (tmp_path / "regions.csv").write_text("code,name\nN,North\nS,South\n")
    (tmp_path / "data" / "patients.csv").write_text("patient_id,region,age\nana,N,40\nben,S,50\n,S,1\n,N,2\n")
    (tmp_path / "visits.csv").write_text("visit_id,patient_id\n1,ana\n2,ana\n1,ben\n")
    return tmp_path


def refused(policy: Path | str, ledger: Path, frames: dict[str, object] | None = None) -> tuple[Diagnostic, ...]:
    with pytest.raises(PrivQLError) as raised:
        apply_policy(policy, ledger, frames)
    assert not ledger.exists(), "a refused policy makes no ledger"
    return raised.value.diagnostics


def test_a_kept_policy_is_in_force(folder: Path) -> None:
    applied = apply_policy(folder / "policy.pql", folder / "ledger.db")
    assert (applied.version, applied.warnings) == (1, ())
    assert str(applied) == "version 1 of the policy is in force"
    with Ledger.open(folder / "ledger.db") as ledger:
        (state,) = ledger.budget_report("alice")
        assert (state.budget.name, state.budget.unit, state.budget.epsilon) == ("research", "patient", Fraction(3))
        assert (state.budget.delta, state.budget.default_epsilon) == (Fraction(1, 10**6), Fraction(1, 10))
        assert state.budget.max_epsilon == Fraction(1, 2)
        assert state.grant is not None and state.grant.epsilon == state.left.epsilon == Fraction(1)
        assert ledger.budget_report("bob") == ()
        catalog, source, base, _ = catalog_from_ledger(ledger)
    assert (source.text, source.name, base) == (POLICY, "policy.pql", folder.resolve())
    assert catalog == build_catalog(source)[0] and catalog.table("visits") is not None
    assert bindings(catalog, base)["patients"].files == (str(folder.resolve() / "data" / "patients.csv"),)


def test_the_same_policy_again_is_the_same_version(folder: Path) -> None:
    ledger = folder / "ledger.db"
    assert [apply_policy(folder / "policy.pql", ledger).version for _ in range(2)] == [1, 1]
    (folder / "policy.pql").write_text(POLICY.replace("EPSILON 3", "EPSILON 5"))
    assert apply_policy(folder / "policy.pql", ledger, reason="a second study").version == 2
    with Ledger.open(ledger) as opened:
        assert opened.budget_report()[0].budget.epsilon == 5
        assert [record.version for record in opened.policy_history()] == [1, 2]


def test_a_refresh_moves_the_data_version_once(folder: Path) -> None:
    ledger, policy = folder / "ledger.db", folder / "policy.pql"
    apply_policy(policy, ledger)

    def version() -> str:
        with Ledger.open(ledger) as opened:
            return opened.data_version(["patients", "visits"])

    before = version()
    policy.write_text(POLICY + "REFRESH patients AS '2025-11';\nREFRESH patients AS '2025-12';")
    apply_policy(policy, ledger)
    after = version()
    assert after != before
    apply_policy(policy, ledger)
    assert version() == after


def test_a_broken_key_is_told_without_a_value(folder: Path) -> None:
    with (folder / "data" / "patients.csv").open("a") as file:
        file.write("ana,S,77\n")
    with (folder / "visits.csv").open("a") as file:
        file.write("2,ana\n")
    unit, pair = refused(folder / "policy.pql", folder / "ledger.db")
    for broken in (unit, pair):
        assert broken.code == "PQL0743"
        assert "ana" not in str(broken) and "77" not in str(broken)
    assert (
        str(unit)
        == """\
error[PQL0743]: the data of `patients` breaks its key
 --> policy.pql:4:32
  |
4 |   patient_id TEXT UNIT patient KEY,
  |                                ^^^ two rows share `patient_id`
  = why: every bound on what one unit can change would be wrong
  = help: declare `AT MOST n ROWS PER UNIT` instead, or mend the data"""
    )
    assert (
        str(pair)
        == """\
error[PQL0743]: the data of `visits` breaks its key
  --> policy.pql:10:3
   |
10 |   KEY (patient_id, visit_id)
   |   ^^^ two rows share `patient_id` and `visit_id`
   = why: a key leads to one row
   = help: leave `KEY` out, or mend the data"""
    )


def test_a_public_key_is_verified_too(folder: Path) -> None:
    (folder / "regions.csv").write_text("code,name\nN,North\nN,Nord\n")
    (broken,) = refused(folder / "policy.pql", folder / "ledger.db")
    assert broken.code == "PQL0743" and "`regions`" in broken.message


def test_a_key_is_null_nowhere_but_in_a_units_column(folder: Path) -> None:
    """In `patients` two rows have no patient: they are nobody's, and dropped."""
    with (folder / "visits.csv").open("a") as file:
        file.write(",ana\n3,\n")
    (broken,) = refused(folder / "policy.pql", folder / "ledger.db")
    assert (
        str(broken)
        == """\
error[PQL0743]: the data of `visits` breaks its key
 --> policy.pql:9:3
  |
9 |   visit_id INT, patient_id TEXT UNIT patient,
  |   ^^^^^^^^ `visit_id` is NULL in some row, or no INT
  = why: a key leads to one row
  = help: write `visit_id INT NOT NULL` to drop such rows, or mend the data"""
    )
    (folder / "policy.pql").write_text(POLICY.replace("visit_id INT,", "visit_id INT NOT NULL,"))
    assert apply_policy(folder / "policy.pql", folder / "ledger.db").version == 1


def test_files_and_columns_that_are_not_there(folder: Path) -> None:
    (folder / "data" / "patients.csv").write_text("id,region\nana,N\n")
    (folder / "regions.csv").unlink()
    found = refused(folder / "policy.pql", folder / "ledger.db")
    assert [(each.code, each.message) for each in found] == [
        ("PQL0741", "the data of table `regions` is not there"),
        ("PQL0742", "the data of `patients` has no column `patient_id`"),
        ("PQL0742", "the data of `patients` has no column `age`"),
    ]
    text = found[1].source
    assert text is not None and [text.at(each.span) for each in found] == ["regions", "patient_id", "age"]


def test_a_type_that_the_data_has_not_is_a_warning(folder: Path) -> None:
    (folder / "policy.pql").write_text(POLICY.replace("age INT BETWEEN 0 AND 120", "age DATE"))
    applied = apply_policy(folder / "policy.pql", folder / "ledger.db")
    (told,) = (each for each in applied.warnings if each.code == "PQL0751")
    assert (told.severity, told.message) == ("warning", "`patients` holds no DATE in `age`")
    assert told.source is not None and told.source.at(told.span) == "age" and applied.version == 1
    (folder / "policy.pql").write_text(POLICY)
    assert not apply_policy(folder / "policy.pql", folder / "ledger.db").warnings


def test_a_look_that_only_warns_refuses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server takes no statement of thousands of columns, so it is asked of few; and a failure warns of nothing."""
    (folder / "policy.pql").write_text(POLICY.replace("age INT BETWEEN 0 AND 120", "age DATE"))
    honest, asked = DuckDBEngine.run, []

    def run(engine: DuckDBEngine, sums: Sums, *given: Any) -> object:
        asked.append(sums.width)
        if sums.width > 2:
            raise EngineError("failed")
        return honest(engine, sums, *given)

    monkeypatch.setattr(DuckDBEngine, "run", run)
    assert not apply_policy(folder / "policy.pql", folder / "ledger.db").warnings
    monkeypatch.setattr(told, "_AT_ONCE", 1)
    assert [each.code for each in apply_policy(folder / "policy.pql", folder / "ledger.db").warnings] == ["PQL0751"]
    assert asked[-7:] == [2] * 7


def test_contradictions_are_told_before_data_is_read(folder: Path) -> None:
    (folder / "policy.pql").write_text(POLICY.replace("0 AND 120", "120 AND 0").replace("EPSILON 3", "EPSILON 0"))
    (folder / "regions.csv").unlink()
    assert [each.code for each in refused(folder / "policy.pql", folder / "ledger.db")] == ["PQL0704", "PQL0718"]


FRAMES = """
CREATE UNIT person;
CREATE PRIVATE TABLE people (id INT UNIT person KEY, height FLOAT BETWEEN 0 AND 3);
CREATE BUDGET b FOR UNIT person EPSILON 1;
"""


def test_frames_are_bound_by_name(tmp_path: Path) -> None:
    people = pandas.DataFrame({"id": [1, 2], "height": [1.5, 1.7]})
    applied = apply_policy(FRAMES, tmp_path / "ledger.db", {"People": people})
    assert (applied.version, applied.warnings) == (1, ())
    twice = pandas.DataFrame({"id": [1, 1], "height": [1.5, 1.7]})
    (broken,) = refused(FRAMES, tmp_path / "other.db", {"people": twice})
    assert broken.code == "PQL0743"


def test_a_table_without_data_is_a_warning(tmp_path: Path) -> None:
    applied = apply_policy(FRAMES, tmp_path / "ledger.db")
    assert [each.code for each in applied.warnings] == ["PQL0745"]
    assert str(applied).endswith("version 1 of the policy is in force")
    assert applied.to_json()["version"] == 1


def test_frames_that_no_table_waits_for(folder: Path) -> None:
    frame = pandas.DataFrame({"x": [1]})
    for name, said in (("pateints", "did you mean `patients`?"), ("patients", "give no frame")):
        (found,) = refused(folder / "policy.pql", folder / "ledger.db", {name: frame})
        assert found.code == "PQL0744" and said in found.help


def test_a_policy_that_cannot_be_read(tmp_path: Path) -> None:
    (found,) = refused(tmp_path / "none.pql", tmp_path / "ledger.db")
    assert found.code == "PQL0740"
    (tmp_path / "latin.pql").write_bytes("-- é".encode("latin-1"))
    (found,) = refused(str(tmp_path / "latin.pql"), tmp_path / "ledger.db")
    assert found.code == "PQL0740" and "UTF-8" in found.message


def test_a_ledger_that_cannot_be(folder: Path) -> None:
    with pytest.raises(PrivQLError, match="PQL0510"):
        apply_policy(folder / "policy.pql", folder)


def test_a_changed_file_is_told_from_the_verified_one(folder: Path) -> None:
    odd = folder / "visits[1].csv"
    odd.write_text("visit_id,patient_id\n1,ana\n")
    (folder / "policy.pql").write_text(POLICY.replace("visits.csv", "visits[1].csv"))
    apply_policy(folder / "policy.pql", folder / "ledger.db")
    with Ledger.open(folder / "ledger.db") as ledger:
        catalog, _, base, _ = catalog_from_ledger(ledger)
        bound = bindings(catalog, base)
        assert {name: ledger.verified(name) for name in bound} == {name: fingerprint(bound[name]) for name in bound}
        odd.write_text("visit_id,patient_id\n1,ana\n1,ana\n")
        assert ledger.verified("visits") != fingerprint(bound["visits"])


def test_a_scratch_ledger_and_a_strange_folder(tmp_path: Path) -> None:
    folder = tmp_path / 'a "strange"\nfolder é'
    folder.mkdir()
    (folder / "policy.pql").write_text(FRAMES)
    source, base = read_policy(folder / "policy.pql")
    with Ledger.create(":memory:") as ledger:
        assert put_policy(ledger, build_catalog(source)[0], source, base) == 1
        _, again, place, _ = catalog_from_ledger(ledger)
    assert (again.text, place) == (FRAMES, folder.resolve())


def test_invented_rows_keep_the_policy(folder: Path) -> None:
    """The engine reads invented rows as the declared types, and finds every key kept."""
    source, _ = read_policy(folder / "policy.pql")
    text = source.text.replace("FROM 'regions.csv'", "").replace("FROM 'data/patients.csv'", "")
    catalog, _ = build_catalog(type(source)(text.replace("FROM 'visits.csv'", ""), "policy.pql"))
    frames: dict[str, object] = {table.name: dummy_frame(table, catalog) for table in catalog.tables}
    bound = bindings(catalog, folder, frames)
    engine = DuckDBEngine(bound)
    try:
        assert verify(catalog, engine, source, bound) == []
    finally:
        engine.close()


def test_what_was_lost_is_shown_to_an_owner_who_renames(folder: Path) -> None:
    first = apply_policy(folder / "policy.pql", folder / "l.db")
    assert "lost" not in str(first)
    with privql.connect(folder / "l.db", analyst="alice") as session:
        session.run("SELECT COUNT(*) FROM patients SPEND EPSILON 0.5")
    (folder / "policy.pql").write_text(POLICY.replace("patient;", "person;").replace("UNIT patient", "UNIT person"))
    again = apply_policy(folder / "policy.pql", folder / "l.db", reason="they are no patients")
    assert str(again).endswith("version 2 of the policy is in force\nlost so far: patient ε = 0.5")
    assert again.to_json()["lost"] == {"patient": {"epsilon": "1/2", "delta": "0"}}
