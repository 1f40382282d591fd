"""`privql ledger …`: audited, read, tried under other budgets, forgotten."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.surfaces.conftest import Command, Done

COUNT = "SELECT COUNT(*) AS n FROM patients WHERE age > 40 SPEND EPSILON 0.3"


@pytest.fixture
def used(applied: Command) -> Command:
    """A report of alice's, charged as a plan, and a release of bob's."""
    assert applied("run", "report.pql", "--as", "alice").code == 0
    assert applied("run", "-c", f"CREATE RELEASE mine AS {COUNT}", "--as", "bob").code == 0
    return applied


def told(done: Done) -> object:
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_ledger_is_verified_and_anchored(used: Command, hospital: Path) -> None:
    whole = used("ledger", "verify")
    assert (whole.code, whole.err) == (0, "") and "the ledger is whole" in whole.out
    shutil.copy("ledger.db", "older.db")
    anchor = used("ledger", "anchor").out
    assert len(anchor.splitlines()) == 1
    used("run", "-c", COUNT.replace("40", "50"), "--as", "bob")
    (hospital / "anchors.txt").write_text(anchor + used("ledger", "anchor").out)
    assert used("ledger", "verify", "--anchor", "anchors.txt").code == 0
    older = used("ledger", "verify", "--anchor", "anchors.txt", "--ledger", "older.db")
    assert older.code == 1 and "this is an older copy, or its last entries were deleted" in older.out
    assert used("ledger", "verify", "--anchor", "report.pql").code == 1
    assert used("ledger", "verify", "--anchor", "missing").code == 2
    with sqlite3.connect("ledger.db") as db:
        db.execute("UPDATE charge SET analyst = 'eve' WHERE id = 3")
    db.close()
    found = used("ledger", "verify", "--format", "json")
    assert found.code == 1
    assert "r3: `analyst` is not what the chain says" in json.loads(found.out)["wrong"]
    assert not json.loads(found.out)["ok"]


def test_what_was_charged_is_shown(used: Command) -> None:
    shown = used("ledger", "show").out
    assert [line.partition(",")[0] for line in shown.splitlines() if line[0] != " "] == ["plan 1", "r1", "r2", "r3"]
    assert "bob: ε = 0.3 of research (patient); answered, named mine\n  SELECT COUNT(*) AS n" in shown
    assert "alice: ε = 0.6 of research (patient); 2 queries" in shown
    full = used("ledger", "show", "r3").out
    assert "policy version 1" in full and '[["pure","3/10"]]' in full
    assert "plan 1, " in used("ledger", "show", "plan", "1").out
    (last,) = told(used("ledger", "show", "--last", "1", "--format", "json"))["entries"]
    assert (last["id"], last["analyst"], last["state"], last["names"]) == ("r3", "bob", "released", ["mine"])
    assert last["charges"][0]["epsilon"] == "3/10"
    unknown = used("ledger", "what-if", "--budget", "other", "--epsilon", "1")
    assert unknown.code == 1 and "it has `research`" in unknown.err
    for words in (("ledger", "show"), ("ledger", "incidents"), ("policy", "history")):
        assert used(*words, "--format", "csv").code == 2, "a text is no table"
    missing = used("ledger", "show", "r9")
    assert missing.code == 1 and "has no `r9`" in missing.err
    assert used("ledger", "show", "r1", "--last", "1").code == used("ledger", "show", "--last", "0").code == 2


def test_a_query_steers_no_terminal_of_the_owner(used: Command) -> None:
    """Nor does a name, nor the reason of a version: what an analyst wrote is text, whoever reads it."""
    escape = "\x1b]52;c;AAAA\x07\x9b2J"
    assert used("run", "-c", COUNT.replace("AS n", f'AS "{escape}"'), "--as", "bob").code == 0
    shown = used("ledger", "show", "--last", "1").out
    assert "SELECT COUNT(*) AS " in shown and not set(escape[:1] + "\x07\x9b") & set(shown)
    (entry,) = told(used("ledger", "show", "--last", "1", "--format", "json"))["entries"]
    assert escape in entry["query"], "a program gets what was written"
    assert used("policy", "apply", "policy.pql", "--ledger", "ledger.db", "--as", f"olga{escape}").code == 0
    assert "\x1b" not in used("policy", "history").out


def test_an_answer_that_was_given_before_says_that_it_is_free(used: Command) -> None:
    again = used("run", "-c", COUNT, "--as", "bob").out
    assert again.endswith("(free, release r3)\n") and "ε" not in again


def test_what_is_exported_can_be_verified_by_anybody(used: Command) -> None:
    """Beginning with the identity and the time in the ledger, each head is the hash of the one before and the entry."""
    exported = used("ledger", "export")
    assert exported.code == 0 and exported.out == used("ledger", "export").out
    with sqlite3.connect("ledger.db") as db:
        born = json.dumps(db.execute("SELECT id, created_at FROM ledger").fetchone(), separators=(",", ":"))
        salts = [salt.hex() for (salt,) in db.execute("SELECT salt FROM entry WHERE salt IS NOT NULL")]
    db.close()
    head = hashlib.sha256(born.encode()).digest()
    lines = [json.loads(line) for line in exported.out.splitlines()]
    for at, line in enumerate(lines, 1):
        fields = json.dumps(line["fields"], sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256(head + f"{at} {line['kind']} {fields}".encode()).digest()
        assert (line["position"], line["head"]) == (at, head.hex())
    assert used("ledger", "anchor").out.split()[2:4] == [str(len(lines)), head.hex()]
    assert not any(salt in exported.out for salt in salts)
    assert [line["texts"]["query"] for line in lines if line["kind"] == "charge"][-1] == COUNT
    assert not any("answer" in line["texts"] for line in lines)
    answers = [
        json.loads(line)["texts"].get("answer") for line in used("ledger", "export", "--answers").out.splitlines()
    ]
    assert [answer["release_id"] for answer in answers if answer] == ["r1", "r2", "r3"]


def test_other_budgets_are_tried_without_writing_anything(used: Command, hospital: Path) -> None:
    before = used("ledger", "anchor").out.split()[:4]
    same = told(used("ledger", "what-if", "--policy", "policy.pql", "--format", "json"))
    assert same["budgets"][0]["refused"]["any"] == [] and same["budgets"][0]["left"] == "21/10"
    small = used("ledger", "what-if", "--budget", "research", "--epsilon", "0.5").out
    assert "added up by any of them: 1 refused: plan 1\n  left: ε = 0.2" in small
    split = ("--budget", "Research", "--epsilon", "0.5", "--delta", "1e-6", "--shares", "KEYS 0")
    assert used("ledger", "what-if", *split).code == 0
    (hospital / "other.pql").write_text((hospital / "policy.pql").read_text().replace("research", "other"))
    assert "without a budget: plan 1, r3" in used("ledger", "what-if", "--policy", "other.pql").out
    assert used("ledger", "anchor").out.split()[:4] == before
    for code, wrong in (
        (2, ()),
        (2, ("--policy", "policy.pql", "--budget", "research")),
        (2, ("--policy", "policy.pql", "--epsilon", "1")),
        (1, ("--budget", "none")),
        (1, ("--budget", "research", "--epsilon", "much")),
        (1, ("--budget", "research", "--delta", "1e-6", "--shares", "OTHER 1")),
    ):
        assert used("ledger", "what-if", *wrong).code == code


def test_what_is_forgotten_is_told_to_who_asks_for_it(used: Command) -> None:
    assert used("ledger", "forget", "r3", "--as", "olga").out == "forgotten: r3\n"
    assert told(used("ledger", "forget", "r3", "--format", "json")) == {"forgotten": []}
    assert "; forgotten, named mine" in used("ledger", "show", "r3").out
    assert used("ledger", "verify").code == 0
    for asked, said in (
        ("SELECT * FROM mine", "`r3` was forgotten on"),
        ("DESCRIBE mine", "`r3` was forgotten on"),
        (f"CREATE RELEASE mine AS {COUNT}", "you had a release named `mine` (r3), which was forgotten"),
    ):
        refused = used("run", "-c", asked, "--as", "bob")
        assert refused.code == 1 and said in refused.err, refused.err
    assert "mine" not in used("run", "-c", "SHOW RELEASES", "--as", "bob").out
    assert "release r4" in used("run", "-c", COUNT, "--as", "bob").out  # and is charged again
    assert used("ledger", "forget", "--analyst", "alice", "--before", "2999-01-01").out == "forgotten: r1, r2, plan 1\n"
    assert used("ledger", "verify").code == 0
    assert used("ledger", "forget").code == 2
    assert used("ledger", "forget", "r9").code == used("ledger", "forget", "--before", "soon").code == 1


def test_a_charge_that_waits_is_allowed(used: Command) -> None:
    assert used("ledger", "allow", "r1").code == 1
    with sqlite3.connect("ledger.db") as db:
        db.execute("UPDATE charge SET state = 'reserved', answer = NULL WHERE id = 1")
    db.close()
    assert used("ledger", "allow", "r1").out == "r1 may be taken up again\n"


@pytest.mark.parametrize("command", ["verify", "anchor", "show", "export", "what-if", "forget", "allow"])
def test_a_ledger_that_is_not_there_is_wrong_usage(privql: Command, command: str) -> None:
    more = {"what-if": ("--budget", "b"), "forget": ("r1",), "allow": ("r1",)}.get(command, ())
    assert privql("ledger", command, *more).code == 2
