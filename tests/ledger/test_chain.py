"""What is changed, dropped, added or turned round behind the back of a ledger is found; an anchor finds the rest."""

from __future__ import annotations

import random
import shutil
import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privql.ledger import GrantRow, Ledger, LedgerError, Note, PartsAsked, PlanRequest, chain
from privql.ledger.anchors import read_anchors
from privql.ledger.chain import KINDS
from tests.ledger.asking import ask, behind, budget, ledger, met, permit


def used(path: Path) -> None:
    """Something of every kind, twice: two versions, a budget that gets its δ late, a plan, steps, attempts, names."""
    limits = GrantRow("research", "alice", Fraction(3, 4), Fraction(1, 10**7)), GrantRow("second", "bob")
    with Ledger.create(path) as made:
        rows = budget(2, default_epsilon="0.1", max_epsilon="1"), budget(2, "second")
        made.apply_policy("first", rows, (), ["patients", "visits"], Note("why", "olga", "m"))
        with_delta = budget(2, delta="1e-6", default_epsilon="0.1", default_delta="1e-9", max_epsilon="1"), rows[1]
        made.apply_policy("second", with_delta, limits, ["patients", "visits"], Note("", "olga", "m"))
        made.refresh("patients", "2025-12")
        made.refresh("patients", "2026-01")
        steps = (("patient", met("1/20") * 2),)
        request = PlanRequest("alice", ("q1", "q2"), 2, (steps, steps), ("patients",), delta=Fraction(0))
        parts = (("patient", PartsAsked("visits", "ward", ("a",), ("visits",))),)
        (plan,) = made.prepay([replace(request, parts=(parts, parts))])
        for slot in range(2):
            granted = permit(made, ask(f"q{slot + 1}", charges=steps, policy_version=2, parts=parts), plan, slot)
            made.draw(granted, 0, {"patient": met("1/20")}, b"0")
            made.draw(granted, 1, {"patient": met("1/20")}, b"1")
            made.release(granted, b"x")
        for query in range(3):
            granted = permit(made, ask(f"a{query}", policy_version=2, name=f"N{query}"))
            if query:
                granted = permit(made, ask(f"a{query}", policy_version=2))
                made.release(granted, b"x")
        made.failed(permit(made, ask("stuck", policy_version=2)), "no memory")
        permit(made, ask("stuck", policy_version=2))
        made.allow_resume("r6")
        made.failed(permit(made, ask("bob's", policy_version=2, analyst="bob")), "no disk")
        made.keep("bob", "free", "SELECT 1", b"1")
        made.stand("daily", replace(request, analyst="bob"), 24, Fraction(1, 10))
        made.forget("r2")
        assert made.verify() == ()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chain") / "l"
    used(path)
    return path


def wrong(path: Path, *anchors: Any) -> tuple[str, ...]:
    with Ledger.open(path) as made:
        return made.verify(anchors)


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    shutil.copy(original, tmp_path / "l")
    return tmp_path / "l"


NOT_COVERED = {
    ("charge", "identity"): "recomputed from the texts",
    ("verified", "name"): "which files to verify again: for its owner alone",
    ("verified", "files"): "which files to verify again: for its owner alone",
}


def columns(path: Path) -> list[tuple[str, str]]:
    with behind(path) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(table, row[1]) for table in tables for row in db.execute(f"PRAGMA table_info({table})")]


def test_every_column_that_is_kept_for_good_is_covered(original: Path) -> None:
    """A column that somebody adds is covered by the chain, or it is said here why not."""
    covered = {(kind.table, column) for kind in KINDS.values() for column in (*kind.key, *kind.clear, *kind.hidden)}
    covered |= {(table, c) for kind in KINDS.values() for table, refers, said in kind.parts for c in (refers, *said)}
    derived = {"total", "part_total", "part_greatest", "entry", "ledger"}
    recomputed = {("charge", "state")}
    assert {each for each in columns(original) if each[0] not in derived} == covered | set(NOT_COVERED) | recomputed


def test_every_value_of_every_row_is_held(original: Path, tmp_path: Path) -> None:
    """Whatever value is changed, by itself, in any row of any table."""
    said = set()
    for table, column in columns(original):
        if table == "verified":
            continue
        with behind(original) as db:
            keyed = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]] or ["rowid"]
            rows = db.execute(f"SELECT {', '.join(keyed)}, {column} FROM {table}").fetchall()
        assert rows, f"{table} is empty"
        for *key, value in rows:
            shutil.copy(original, tmp_path / "l")
            with behind(tmp_path / "l") as db:
                where = " AND ".join(f"{name} IS ?" for name in keyed)
                try:
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (other(value), *key))
                except sqlite3.IntegrityError:  # the file refuses it by itself
                    continue
            if table == "ledger" and column == "id":
                assert "entry 1 of the chain" in wrong(tmp_path / "l")[0]
            assert wrong(tmp_path / "l"), f"{table}.{column} of {key} was changed, and nobody saw"
            said.add((table, column))
    assert {table for table, _ in said} == {table for table, _ in columns(original)} - {"verified"}


def other(value: Any) -> Any:
    match value:
        case None:
            return 1
        case int():
            return value + 1
        case bytes():
            return value + b"!"
        case "released":
            return "forgotten"
        case "reserved":
            return "forgotten"
        case _:
            return f"{value}!"


def test_every_row_is_held(original: Path, tmp_path: Path) -> None:
    """Whatever row is dropped, by itself."""
    for table in sorted({table for table, _ in columns(original)} - {"verified", "ledger"}):
        with behind(original) as db:
            keyed = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]]
            keys = db.execute(f"SELECT {', '.join(keyed)} FROM {table}").fetchall()
        if table == "entry":
            keys.pop()  # the last one's row is there without its entry, unless that goes too: below
        for key in keys:
            shutil.copy(original, tmp_path / "l")
            with behind(tmp_path / "l") as db:
                db.execute(f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in keyed)}", key)
            assert wrong(tmp_path / "l"), f"{key} of {table} was dropped, and nobody saw"


def test_every_row_that_is_added_is_seen(original: Path, tmp_path: Path) -> None:
    """A copy of any row under another key: of something that is there, or that will be there one day."""
    for table in sorted({table for table, _ in columns(original)} - {"verified", "entry"}):
        with behind(original) as db:
            names = [(row[1], row[5]) for row in db.execute(f"PRAGMA table_info({table})")]
            first = next((name for name, keyed in names if keyed), names[0][0])
            found = db.execute(f"SELECT {', '.join(name for name, _ in names)} FROM {table}").fetchall()
        at = [name for name, _ in names].index(first)
        for row in found:
            shutil.copy(original, tmp_path / "l")
            added = [
                value if i != at else value + 90 if isinstance(value, int) else f"{value}!"
                for i, value in enumerate(row)
            ]
            with behind(tmp_path / "l") as db:
                if table == "charge":  # a place in a plan is taken once
                    added[[name for name, _ in names].index("slot")] = None
                db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", added)
            assert wrong(tmp_path / "l"), f"{added} of {table} was added, and nobody saw"


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        ("CREATE TRIGGER t BEFORE UPDATE ON total BEGIN SELECT RAISE(IGNORE); END", "a trigger `t` that no ledger has"),
        ("CREATE VIEW v AS SELECT * FROM charge", "a view `v` that no ledger has"),
        ("CREATE TABLE more (said TEXT)", "a table `more` that no ledger has"),
        ("DROP INDEX charge_slot", "no index `charge_slot`"),
    ],
)
def test_what_a_ledger_is_made_of_is_held(copy: Path, tamper: str, said: str) -> None:
    """A trigger would undo charges before anybody saw their totals."""
    with behind(copy) as db:
        db.execute(tamper)
    assert wrong(copy) == (f"the file is damaged: it has {said}",)


def test_a_grant_that_was_written_before_its_version_is_never_in_force(copy: Path) -> None:
    with behind(copy) as db:
        db.execute("INSERT INTO budget_grant VALUES (3, 'research', 'mallory', NULL, NULL)")
    assert wrong(copy) == ("a row of `budget_grant` is of version 3 of the policy, which is not there",)
    with Ledger.open(copy) as made:
        with pytest.raises(LedgerError, match="version 3 of the policy, which is not there"):
            made.apply_policy("third", (budget(2), budget(2, "second")), (), ["patients"])
        assert made.policy().version == 2


def test_entries_that_changed_places_are_found(original: Path, tmp_path: Path) -> None:
    pick = random.Random(5)
    with behind(original) as db:
        (last,) = db.execute("SELECT MAX(position) FROM entry").fetchone()
    for _ in range(20):
        first, second = pick.sample(range(1, last + 1), 2)
        shutil.copy(original, tmp_path / "l")
        with behind(tmp_path / "l") as db:
            rows = [db.execute("SELECT * FROM entry WHERE position = ?", (at,)).fetchone() for at in (first, second)]
            for at, row in zip((second, first), rows, strict=True):
                db.execute(
                    "UPDATE entry SET kind = ?, fields = ?, salt = ?, head = ? WHERE position = ?", (*row[1:], at)
                )
        assert any("of the chain, or the one before it, was changed" in line for line in wrong(tmp_path / "l"))


def test_an_entry_in_the_middle_cannot_be_dropped(copy: Path) -> None:
    with behind(copy) as db:
        db.execute("DELETE FROM entry WHERE position = 4")
    assert "the chain has no entry 4" in wrong(copy)


def rechained(db: sqlite3.Connection) -> None:
    """Every hash is made anew: what whoever can write the file can do."""
    head = chain.genesis(db)
    for position, kind, fields in db.execute("SELECT position, kind, fields FROM entry ORDER BY position").fetchall():
        head = chain.hashed(head, position, kind, fields)
        db.execute("UPDATE entry SET head = ? WHERE position = ?", (head, position))


def test_only_an_anchor_finds_a_history_that_was_written_anew(copy: Path) -> None:
    with Ledger.open(copy) as made:
        anchor = made.anchor()
        made.keep("bob", "later", "SELECT 2", b"2")
        assert made.verify([anchor]) == ()
    with behind(copy) as db:
        db.execute("UPDATE data_version SET label = 'never' WHERE counter = 1")
        db.execute("UPDATE entry SET fields = replace(fields, '2025-12', 'never') WHERE kind = 'refresh'")
        assert any("was changed" in line for line in wrong(copy))
        rechained(db)
    assert wrong(copy) == ()
    (said,) = wrong(copy, anchor)
    assert f"knows another entry {anchor.position}" in said


def test_only_an_anchor_finds_an_older_copy_and_a_dropped_end(copy: Path, tmp_path: Path) -> None:
    shutil.copy(copy, tmp_path / "backup")
    with Ledger.open(copy) as made:
        before = made.anchor()
        made.keep("bob", "later", "SELECT 2", b"2")
        after = made.anchor()
    assert wrong(tmp_path / "backup") == () == wrong(tmp_path / "backup", before)
    (said,) = wrong(tmp_path / "backup", before, after)
    assert f"was taken after entry {after.position}, and the chain ends with entry {before.position}" in said
    with behind(copy) as db:
        db.execute("DELETE FROM release_name WHERE name = 'later'")
        db.execute("DELETE FROM charge WHERE query = 'SELECT 2'")
        db.execute(f"DELETE FROM entry WHERE position > {before.position}")
    assert wrong(copy) == () == wrong(copy, before)
    assert len(wrong(copy, after)) == 1


def test_an_anchor_is_a_line_of_text(copy: Path) -> None:
    with Ledger.open(copy) as made:
        anchors = made.anchor(), made.anchor()
        assert read_anchors(f"{anchors[0]}\n\n{anchors[1]}\n") == anchors
    other = ledger()
    assert other.verify([anchors[0]]) == (
        f"the anchor of {anchors[0].at} is of another ledger, {anchors[0].ledger_id}",
    )
    empty = Ledger.create(":memory:")
    assert empty.anchor().position == 0 and empty.verify([empty.anchor()]) == ()
    for text in ("", "\n", "privql-ledger a b c d", "privql-ledger a 1 c", "other a 1 c d", "privql-ledger a ٣ c d"):
        with pytest.raises(LedgerError, match="anchor"):
            read_anchors(text)


@pytest.mark.parametrize(
    ("kind", "tamper", "said"),
    [
        ("charge", "UPDATE charge SET analyst = 'eve' WHERE id = 3", "r3: entry 99 says anew"),
        (
            "filter",
            "UPDATE budget_filter SET shares = '[]' WHERE name = 'research'",
            "budget `research`: entry 99 says",
        ),
        ("resumes", "UPDATE charge SET resumes = 3 WHERE id = 6", "the attempts of r6: entry 99 says anew"),
        ("failures", "UPDATE charge SET failures = 1 WHERE id = 7", "the failures of r7: entry 99 says anew"),
    ],
)
def test_what_was_said_for_good_is_not_said_anew(copy: Path, kind: str, tamper: str, said: str) -> None:
    """Not even by an entry that follows well."""
    key: dict[str, tuple[object, ...]] = {"charge": (3,), "filter": ("research",), "resumes": (6,), "failures": (7,)}
    with behind(copy) as db:
        db.execute(tamper)
        chain.append(db, kind, *key[kind])
        (last,) = db.execute("SELECT MAX(position) FROM entry").fetchone()
    assert any(said.replace("99", str(last)) in line for line in wrong(copy)), wrong(copy)


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE entry SET fields = 'no json' WHERE position = 2",
        "UPDATE entry SET fields = '[]' WHERE position = 2",
        "UPDATE entry SET fields = '{}' WHERE position = 2",
        "UPDATE entry SET kind = 'other' WHERE position = 2",
        "UPDATE entry SET head = 'text' WHERE position = 2",
        "UPDATE entry SET head = 7 WHERE position = 2",
        "UPDATE entry SET salt = 7 WHERE kind = 'charge'",
        "UPDATE charge_line SET events = 'no json'",
        "UPDATE charge SET data_version = x'ff'",
        "UPDATE plan SET slots = '[1, 2]'",
        "UPDATE total SET loss = '[]'",
        "DELETE FROM policy",
    ],
)
def test_an_audit_of_rubbish_ends_in_sentences(copy: Path, tamper: str) -> None:
    with behind(copy) as db:
        db.execute(tamper)
    assert all("\n" not in line for line in wrong(copy))
    assert wrong(copy)


def test_salts_are_never_used_twice(copy: Path) -> None:
    with behind(copy) as db:
        salts = [salt for (salt,) in db.execute("SELECT salt FROM entry WHERE salt IS NOT NULL")]
        assert len(set(salts)) == len(salts) > 10 and {len(salt) for salt in salts} == {32}
        every = "".join(fields for (fields,) in db.execute("SELECT fields FROM entry"))
    for text in ("SELECT 1", '"q1"', "stuck"):
        assert text not in every  # what may have to be erased stands in none of them
