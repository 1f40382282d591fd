"""A ledger of an older PrivQL is brought up to date: what was spent stays spent, what was charged can be taken up."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import pytest

from privql.kernel.cost import Cost
from privql.ledger import Ledger, LedgerError, OverBudget, Permit, Replay, chain
from privql.ledger.schema import APPLICATION_ID, CHAINED, VERSION, lay_out
from tests.ledger.asking import ask, met


def older(path: Path, layout: int, delta: str = "1/1000000") -> None:
    """As it was written then: two charges of alice's, the second without its answer, but for a step that was drawn."""
    with sqlite3.connect(path) as db:
        lay_out(db, 0, min(layout, 3))
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {layout}")
        db.execute("INSERT INTO ledger VALUES ('it', 'then')")
        db.execute("INSERT INTO policy VALUES (1, 'the policy', '2026-01-01T00:00:00+00:00')")
        db.executemany("INSERT INTO policy_table VALUES (1, ?)", [("patients",), ("visits",)])
        db.execute(f"INSERT INTO budget VALUES (1, 'research', 'patient', '1/1', '{delta}', NULL, NULL, NULL)")
        charges = ("1/2", "0/1", "released", "x'11'"), ("1/4", "1/5000000", "reserved", "NULL")
        for number, (epsilon, spent, state, answer) in enumerate(charges):
            released = "'later'" if state == "released" else "NULL"
            db.execute(
                "INSERT INTO charge (id, identity, analyst, query, parameters, policy_version, data_version,"
                " measurements, state, resumes, reserved_at, released_at, answer) VALUES"
                f" ({number + 1}, x'{number:02}', 'alice', 'q{number}', '{{}}', 1, '{{\"patients\": 0}}', '[]',"
                f" '{state}', 0, 'then', {released}, {answer})"
            )
            db.execute("INSERT INTO charge_line VALUES (?, 'patient', 'research', ?, ?)", (number + 1, epsilon, spent))
        for budget, analyst in (("", ""), ("research", ""), ("research", "alice")):
            db.execute("INSERT INTO total VALUES ('patient', ?, ?, '3/4', '1/5000000')", (budget, analyst))
        if layout == 1:
            db.execute("UPDATE charge SET drawn = x'22' WHERE id = 2")
        else:
            db.execute("""INSERT INTO draw VALUES (2, 0, '{"patient": ["1/4", "1/5000000"]}', x'22')""")
        lay_out(db, 3, layout)
        if layout >= CHAINED:
            kinds = {name: _as_then(kind, db) for name, kind in chain.KINDS.items() if _was_there(kind, db)}
            with patch.dict(chain.KINDS, kinds, clear=True):
                chain.begin(db)
    db.close()


def _was_there(kind: chain.Kind, db: sqlite3.Connection) -> bool:
    columns = {row[1] for row in db.execute(f"PRAGMA table_info({kind.table})")}
    return {*kind.key, *kind.clear, *kind.hidden} <= columns


def _as_then(kind: chain.Kind, db: sqlite3.Connection) -> chain.Kind:
    """Without the tables that there were not yet."""
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    return replace(kind, parts=tuple(part for part in kind.parts if part[0] in there))


@pytest.mark.parametrize("layout", range(1, VERSION))
def test_what_was_spent_stays_spent(tmp_path: Path, layout: int) -> None:
    older(tmp_path / "l", layout)
    with Ledger.open(tmp_path / "l") as made:
        assert made.spent("patient") == Cost(Fraction(3, 4), Fraction(2, 10**7))
        assert made.verify() == ()
        assert isinstance(made.reserve(ask("q0", "0.5", analyst="alice")), Replay)
        granted = made.reserve(ask("q1", "0.25", delta="2e-7"))
        assert isinstance(granted, Permit) and (granted.release_id, granted.resumes) == ("r2", 1)
        ((step),) = made.drawn(granted)
        assert (step.noisy, step.spent) == (b"\x22", {"patient": met("0.25", "2e-7")})
        with pytest.raises(LedgerError, match="more than was charged"):
            made.draw(granted, 1, {"patient": met("0.25", "2e-7")}, b"again")
        made.reserve(ask("q2", "0.25"))
        with pytest.raises(OverBudget):
            made.reserve(ask("q3", "0.01"))
        assert made.verify() == ()


def test_a_budget_that_has_spent_more_of_its_delta_than_a_share_keeps_all_of_it(tmp_path: Path) -> None:
    older(tmp_path / "l", 2, "1/2500000")
    with Ledger.open(tmp_path / "l") as made:
        assert made.budgets_for("alice", "patient")[0].left == Cost(Fraction(1, 4), Fraction(2, 10**7))


@pytest.mark.parametrize("layout", range(1, VERSION))
def test_the_file_as_it_was_is_kept_beside_it(tmp_path: Path, layout: int) -> None:
    older(tmp_path / "l", layout)
    Ledger.open(tmp_path / "l").close()
    copy = tmp_path / f"l.layout-{layout}"
    assert copy.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(copy) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (layout,)
        assert db.execute("SELECT COUNT(*) FROM charge").fetchone() == (2,)
    db.close()
    with sqlite3.connect(tmp_path / "l") as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    db.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l", copy.name]
