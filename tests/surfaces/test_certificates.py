"""An answer's certificate, from `privql run` to `privql verify`: held against itself, the policy and the ledger."""

from __future__ import annotations

import copy
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

import privql
from privql.__main__ import main
from privql.kernel import verify
from privql.pipeline.attesting import attested
from tests.kernel.proofs import sealed_anew

POLICY = """
CREATE UNIT patient;
CREATE UNIT visit NEIGHBOURS CHANGE ONE;
CREATE PRIVATE TABLE patients (
  id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120, sex TEXT IN ('F', 'M'), town TEXT, weight FLOAT
) FROM 'patients.parquet';
CREATE PRIVATE TABLE visits (
  number INT KEY, patient TEXT REFERENCES patients(id), cost DECIMAL(8,2) BETWEEN 0 AND 500
) UNIT patient VIA patient AT MOST 3 ROWS PER UNIT FROM 'visits.parquet';
CREATE PRIVATE TABLE notes (id TEXT UNIT patient, n INT BETWEEN 0 AND 9) AT MOST 2 ROWS PER UNIT FROM 'notes.parquet';
CREATE BUDGET research FOR UNIT patient EPSILON 30 DELTA 1e-4;
"""
QUERIES = {
    "a sum over a reference": "SELECT SUM(cost) FROM visits SPEND EPSILON 1",
    "a join, grouped": "SELECT sex, AVG(n) FROM patients p JOIN notes ON p.id = notes.id GROUP BY sex SPEND EPSILON 1",
    "found groups": "SELECT town, COUNT(*) FROM patients GROUP BY town SPEND EPSILON 2 DELTA 1e-6",
    "found groups and more": "SELECT town, COUNT(*), AVG(age) FROM patients GROUP BY town SPEND EPSILON 2 DELTA 1e-6",
    "none found": "SELECT town || CAST(age AS TEXT), SUM(age) FROM patients GROUP BY 1 SPEND EPSILON 0.5 DELTA 1e-6",
    "found bounds": "SELECT AVG(weight BOUNDS AUTO) FROM patients SPEND EPSILON 1",
    "ranks": "SELECT QUANTILE(age, [0.1, 0.5, 0.9]), MAX(age) FROM patients SPEND EPSILON 1",
    "a choice": "SELECT MODE(sex) FROM patients SPEND EPSILON 1",
    "levels": "SELECT sex, SUM(age), COUNT(*) FROM patients GROUP BY ROLLUP (sex) SPEND EPSILON 1 DELTA 1e-7",
    "features": "SELECT AVG(n) FROM (SELECT id, COUNT(*) AS n FROM patients GROUP BY id) AS s WHERE n < 5"
    " SPEND EPSILON 1",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clinic")
    (path / "policy.pql").write_text(POLICY, encoding="utf-8")
    duckdb.sql(
        "COPY (SELECT 'p' || n AS id, n % 90 AS age, CASE WHEN n % 2 = 0 THEN 'F' ELSE 'M' END AS sex, 'T' || (n % 3)"
        f" AS town, 50.0 + n % 40 AS weight FROM range(900) t(n)) TO '{path / 'patients.parquet'}'"
    )
    duckdb.sql(
        f"COPY (SELECT n AS number, 'p' || (n % 900) AS patient, (n % 500)::DECIMAL(8,2) AS cost FROM range(3000) t(n))"
        f" TO '{path / 'visits.parquet'}'"
    )
    duckdb.sql(f"COPY (SELECT 'p' || n % 900 AS id, n % 10 AS n FROM range(2000) t(n)) TO '{path / 'notes.parquet'}'")
    assert main(["policy", "apply", str(path / "policy.pql"), "--ledger", str(path / "ledger.db")]) == 0
    return path


def run(folder: Path, text: str) -> tuple[dict[str, Any], Path]:
    ledger, kept = str(folder / "ledger.db"), folder / "certificates"
    with privql.connect(ledger, analyst="alice") as session:
        release = session.run(text)
    assert main(["run", "--ledger", ledger, "--as", "alice", "--certificates", str(kept), "-c", text]) == 0
    assert (kept / f"{release.release_id}.json").read_text("ascii") == f"{release.proof}\n"
    return release.to_json(), kept / f"{release.release_id}.json"


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_answered_is_proved_to_whoever_asks(name: str, folder: Path) -> None:
    answer, certificate = run(folder, QUERIES[name])
    ledger, policy = str(folder / "ledger.db"), str(folder / "policy.pql")
    assert main(["verify", str(certificate), "--policy", policy, "--ledger", ledger]) == 0
    (folder / "answer.json").write_text(json.dumps(answer), "utf-8")
    command = [str(certificate), "--policy", policy, "--answer", str(folder / "answer.json")]
    assert verify.main(command) == 0
    answer["rows"] = [[0]]
    (folder / "answer.json").write_text(json.dumps(answer), "utf-8")
    assert verify.main(command) == 1


def _another_column(told: dict[str, Any]) -> None:
    """Of a name that the table does not have."""
    for step in told["steps"]:
        if step["rule"] == "scan":
            step["says"]["columns"][0][1] = "weight"


def _other(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(told: dict[str, Any]) -> None:
        for each in path[:-1]:
            told = told[each]
        told[path[-1]] = to

    return change


FORGED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "another column": (_another_column, "the policy declares `visits` otherwise"),
    "another table": (_other("steps", 0, "says", "table", to="gone"), "the policy declares `gone` otherwise"),
    "a table of a name that a terminal would obey": (
        _other("steps", 0, "says", "table", to="\x1b[2J\nproved"),
        r"the policy declares `'\x1b[2J\nproved'` otherwise",
    ),
    "a release of such a name": (_other("release", to="\x1b[2J"), r"the ledger has no release '\x1b[2J'"),
    "another type": (_other("steps", 0, "says", "columns", 0, 2, to="INT"), "the policy declares `visits` otherwise"),
    "another reference": (_other("steps", 0, "says", "via", to=[]), "the policy declares `visits` otherwise"),
    "another release": (_other("release", to="r999"), "the ledger has no release r999"),
    "another budget": (_other("costs", 0, "budget", to="other"), "the ledger charged something else for it"),
    "more paid": (
        lambda told: told["costs"][0]["paid"].append(["pure", "1", "0"]),
        "the ledger charged something else for it",
    ),
    "another query": (_other("commitments", "query", to="0" * 64), "its query is another one"),
    "another answer": (_other("commitments", "answer", to="0" * 64), "the ledger's answer carries another certificate"),
    "another salt": (_other("commitments", "salt", to="0" * 64), "its policy is another one"),
    "another version": (_other("commitments", "policy_version", to=7), "under another version of the policy"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_forged_under_a_digest_of_its_own_is_not_what_the_papers_say(name: str, folder: Path) -> None:
    _, certificate = run(folder, QUERIES["a sum over a reference"])
    change, says = FORGED[name]
    told = json.loads(certificate.read_text("ascii"))
    change(told)
    assert attested(sealed_anew(told)).wrong is None  # by itself it cannot know
    wrong = attested(sealed_anew(told), ledger=folder / "ledger.db").wrong
    assert wrong is not None and says in wrong


def test_the_derivation_of_another_query_holds_by_itself_and_is_not_the_ledgers(folder: Path) -> None:
    """Of the same price, and put beside the texts, the answer and the charge of this one."""
    mine, other = (
        json.loads(run(folder, f"SELECT COUNT(*) FROM {table} SPEND EPSILON 0.25")[1].read_text("ascii"))
        for table in ("patients", "notes")
    )
    forged = sealed_anew({**mine, "steps": other["steps"]})
    assert mine["costs"][0]["epsilon"] == "1/4" and attested(forged, POLICY).wrong is None
    assert attested(sealed_anew(mine), ledger=folder / "ledger.db").wrong is None
    assert attested(forged, ledger=folder / "ledger.db").wrong == "the ledger's answer carries another certificate"


def test_another_policy_and_what_is_none_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, certificate = run(folder, QUERIES["a choice"])
    (folder / "other.pql").write_text(POLICY + "\n", "utf-8")
    capsys.readouterr()
    assert main(["verify", str(certificate), "--policy", str(folder / "other.pql")]) == 1
    assert capsys.readouterr().out == "refused: its policy is another one\n"
    assert main(["verify", str(folder / "policy.pql"), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False
    assert main(["verify", str(folder / "gone.json")]) == 2
    assert (
        main(["run", "--certificates", str(certificate), "--ledger", str(folder / "ledger.db"), "-c", "SELECT 1"]) == 2
    )


def test_the_owners_signature_is_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen here")
    for name in ("owner", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True)
        public = (folder / f"{name}.pub").read_text("utf-8")
        (folder / f"{name}s").write_text(f"{name}@clinic {public}", "utf-8")
    signed, plain = folder / "signed", ["--ledger", str(folder / "ledger.db"), "--as", "alice", "-c", QUERIES["ranks"]]
    assert main(["run", "--certificates", str(signed), "--sign", str(folder / "owner"), *plain]) == 0
    certificate = next(signed.glob("*.json"))
    verify_by = ["verify", str(certificate), "--signers"]
    capsys.readouterr()
    assert main([*verify_by, str(folder / "owners")]) == 0
    said = capsys.readouterr().out
    assert "the signature of SHA256:" in said and f", which {folder / 'owners'} lets sign as owner@clinic" in said
    public = (folder / "owner.pub").read_text("utf-8")
    (folder / "anybody").write_text(
        f"*@clinic {public}", "utf-8"
    )  # who that is, nobody says: it is the key that signed
    assert main([*verify_by, str(folder / "anybody")]) == 0
    assert f", which {folder / 'anybody'} lets sign as *@clinic" in capsys.readouterr().out
    assert main([*verify_by, str(folder / "others")]) == 1
    assert capsys.readouterr().out == "refused: nobody who is named has signed it\n"
    told = json.loads(certificate.read_text("ascii"))
    certificate.write_text(sealed_anew({**told, "release": "r999"}) + "\n", "ascii")  # what a signature is for
    assert main([*verify_by, str(folder / "owners")]) == 1
    certificate.write_text(sealed_anew(told) + "\n", "ascii")
    Path(f"{certificate}.sig").unlink()
    elsewhere = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(folder / "owner"), "-n", "file", str(certificate)]
    subprocess.run(elsewhere, check=True)
    assert main([*verify_by, str(folder / "owners")]) == 1
    assert main(["run", "--certificates", str(signed), "--sign", str(folder / "gone"), *plain]) == 2
    assert main(["run", "--sign", str(folder / "owner"), *plain]) == 2
    assert main([*verify_by, str(folder / "gone")]) == 2


def test_all_answers_of_a_plan_have_one(folder: Path) -> None:
    text = "BEGIN; SELECT COUNT(*) FROM notes SPEND EPSILON 0.5; SELECT SUM(n) FROM notes SPEND EPSILON 0.2; COMMIT"
    kept, ledger = folder / "plan", str(folder / "ledger.db")
    assert main(["run", "--ledger", ledger, "--as", "alice", "--certificates", str(kept), "-c", text]) == 0
    found = sorted(kept.iterdir())
    assert len(found) == 2
    assert all(main(["verify", str(one), "--ledger", ledger]) == 0 for one in found)


def test_a_refined_answer_proves_what_it_measured_anew(folder: Path) -> None:
    ledger, kept = str(folder / "ledger.db"), folder / "refined"
    count = "CREATE RELEASE rough AS SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.3 DELTA 1e-7 USING GAUSSIAN"
    for text in (count, "REFINE rough TO WITHIN 15"):
        assert main(["run", "--ledger", ledger, "--as", "alice", "--certificates", str(kept), "-c", text]) == 0
    found = [json.loads(one.read_text("ascii")) for one in sorted(kept.iterdir())]
    assert len(found) == 2 and found[0]["costs"] != found[1]["costs"]
    assert all(main(["verify", str(one), "--ledger", ledger]) == 0 for one in kept.iterdir())


def test_what_was_forgotten_is_still_proved_and_no_longer_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of what the ledger keeps it is compared with what was charged alone, and says so: a loss may be missing."""
    text = "SELECT COUNT(*) FILTER (WHERE age > 7), SUM(age) FROM patients SPEND EPSILON 0.5"
    _, certificate = run(folder, text)
    ledger, told = str(folder / "ledger.db"), json.loads(certificate.read_text("ascii"))
    forged = copy.deepcopy(told)
    losses = [at for at, step in enumerate(told["steps"]) if step["rule"] == "noise"]
    assert len(losses) == 2 and losses[1] == len(told["steps"]) - 1
    dropped = losses[1], *told["steps"][losses[1]]["of"]
    for at in sorted(dropped, reverse=True):
        del forged["steps"][at]
    for step in forged["steps"]:
        step["of"] = [of - sum(at < of for at in dropped) for of in step["of"]]
    forged["costs"][0]["epsilon"] = forged["steps"][-1]["gives"]["event"][1]
    (folder / "forged.json").write_text(sealed_anew(forged), "ascii")
    assert attested(sealed_anew(forged)).wrong is None  # by itself it proves the price of half of it
    verify_forged = ["verify", str(folder / "forged.json"), "--ledger", ledger]
    assert main(verify_forged) == 1
    assert "proved" not in (capsys.readouterr().out)
    assert main(["ledger", "forget", certificate.stem, "--ledger", ledger]) == 0
    for of in (certificate, folder / "forged.json"):
        capsys.readouterr()
        assert main(["verify", str(of), "--ledger", ledger]) == 0
        said = capsys.readouterr().out
        assert "the ledger forgot its query, its answer and the certificate of that" in said
        assert "charged the same, to patient ε = 1/2\n" in said
        assert "held against itself and what the ledger charged" in said
        assert main(["verify", str(of), "--ledger", ledger, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["compared"] is False
    told["costs"][0]["paid"].append(["pure", "1", "0"])
    assert attested(sealed_anew(told), ledger=ledger).wrong == "the ledger charged something else for it"


def _as_if(folder: Path, name: str, sql: str, *values: object) -> Path:
    """The ledger after somebody wrote into it."""
    (folder / name).write_bytes((folder / "ledger.db").read_bytes())
    with closing(sqlite3.connect(folder / name)) as db, db:
        db.execute(sql, values)
    return folder / name


def test_what_was_charged_and_never_answered_has_no_certificate(folder: Path) -> None:
    _, certificate = run(folder, QUERIES["a choice"])
    number = int(certificate.stem[1:])
    sql = "UPDATE charge SET state = 'reserved', answer = NULL, released_at = NULL WHERE id = ?"
    text, ledger = certificate.read_text("ascii"), _as_if(folder, "reserved.db", sql, number)
    assert attested(text, ledger=folder / "ledger.db").wrong is None
    assert attested(text, ledger=ledger).wrong == "the ledger charged it, and has no answer of it"


def test_whoever_was_charged_is_told_of(folder: Path) -> None:
    """Where the certificate itself cannot be compared."""
    _, certificate = run(folder, "SELECT COUNT(*) FROM patients WHERE age > 8 SPEND EPSILON 0.5")
    number, text = int(certificate.stem[1:]), certificate.read_text("ascii")
    assert main(["ledger", "forget", certificate.stem, "--ledger", str(folder / "ledger.db")]) == 0
    copied = "SELECT charge, 'visit', budget, events, window_number FROM charge_line WHERE charge = ?"
    ledger = _as_if(folder, "more.db", f"INSERT INTO charge_line {copied}", number)
    assert attested(text, ledger=folder / "ledger.db").wrong is None
    assert attested(text, ledger=ledger).wrong == "the ledger charged units that the certificate leaves out"


@pytest.mark.parametrize("which", ["certificate", "policy"])
def test_a_byte_order_mark_is_part_of_a_text(which: str, folder: Path) -> None:
    """There is one text, whoever verifies it."""
    _, certificate = run(folder, QUERIES["a choice"])
    files = {"certificate": certificate, "policy": folder / "policy.pql"}
    marked = folder / f"marked-{which}"
    marked.write_bytes(b"\xef\xbb\xbf" + files[which].read_bytes())
    for held, status in ((files, 0), (files | {which: marked}, 1)):
        command = [str(held["certificate"]), "--policy", str(held["policy"])]
        assert main(["verify", *command]) == verify.main(command) == status


def test_an_answer_that_is_too_deep_to_read_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, certificate = run(folder, QUERIES["a choice"])
    (folder / "deep.json").write_text("[" * 100_000 + "]" * 100_000, "ascii")
    capsys.readouterr()
    assert verify.main([str(certificate), "--answer", str(folder / "deep.json")]) == 1
    assert capsys.readouterr().out.startswith("refused: ")


def test_what_is_free_and_what_is_invented_has_none(folder: Path) -> None:
    with privql.connect(str(folder / "ledger.db"), analyst="alice") as session:
        assert session.run("SELECT 1 AS x").proof is None
    with privql.connect(str(folder / "ledger.db"), analyst="alice", data="dummy") as session:
        assert session.run("SELECT COUNT(*) FROM patients SPEND EPSILON 1").proof is None
