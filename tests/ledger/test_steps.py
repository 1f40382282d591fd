"""A charge is drawn in steps: each is kept once, in order, and together they spend what was charged and no more."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from privql.kernel.cost import Cost
from privql.ledger import Ledger, LedgerError, Permit
from privql.ledger.schema import LAYOUTS
from tests.ledger.asking import ask, budget, ledger

HALF = {"patient": Cost(Fraction(1, 2), Fraction(1, 10**7))}


def permit(made: Ledger, epsilon: object = 1) -> Permit:
    granted = made.reserve(ask("a", epsilon, delta="2e-7"))
    assert isinstance(granted, Permit)
    return granted


def test_a_step_is_kept_once() -> None:
    made = ledger(budget(1, delta="1e-6"))
    granted = permit(made)
    assert made.drawn(granted) == ()
    assert made.draw(granted, 0, HALF, b"first") == b"first"
    assert made.draw(granted, 0, HALF, b"another") == b"first"
    assert made.draw(granted, 1, HALF, b"second") == b"second"
    assert [(one.noisy, one.spent) for one in made.drawn(granted)] == [(b"first", HALF), (b"second", HALF)]


def test_a_step_waits_for_those_before_it() -> None:
    made = ledger(budget(1, delta="1e-6"))
    with pytest.raises(LedgerError, match="those before it"):
        made.draw(permit(made), 1, HALF, b"second")


@pytest.mark.parametrize(
    "more",
    [
        {"patient": Cost(Fraction(51, 100))},
        {"PATIENT": Cost(Fraction(51, 100))},
        {"patient": Cost(Fraction(0), Fraction(11, 10**8))},
        {"household": Cost(Fraction(1, 100))},
    ],
    ids=str,
)
def test_the_steps_together_spend_no_more_than_was_charged(more: dict[str, Cost]) -> None:
    made = ledger(budget(1, delta="1e-6"))
    granted = permit(made)
    made.draw(granted, 0, HALF, b"first")
    with pytest.raises(LedgerError, match="more than was charged"):
        made.draw(granted, 1, more, b"second")
    assert len(made.drawn(granted)) == 1


def test_a_charge_that_is_resumed_finds_its_steps(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with ledger(budget(1, delta="1e-6"), path=path) as made:
        made.draw(permit(made), 0, HALF, b"first")
    with Ledger.open(path) as made:
        granted = permit(made)
        assert granted.resumes == 1
        assert [one.noisy for one in made.drawn(granted)] == [b"first"]
        assert made.draw(granted, 1, HALF, b"second") == b"second"


def test_another_charge_has_steps_of_its_own() -> None:
    made = ledger(budget(9, delta="1e-3"))
    made.draw(permit(made), 0, HALF, b"first")
    assert made.drawn(permit(made, 2)) == ()


def test_an_audit_adds_up_the_steps(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with ledger(budget(1, delta="1e-6"), path=path) as made:
        granted = permit(made)
        made.draw(granted, 0, HALF, b"first")
        made.draw(granted, 1, HALF, b"second")
        assert made.verify() == ()
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO draw SELECT charge, 2, spent, noisy FROM draw WHERE step = 0")
    db.close()
    with Ledger.open(path) as made:
        assert made.verify() == ("r1: its steps spent more than it was charged",)


def test_a_file_of_the_first_layout_is_brought_up_to_date(tmp_path: Path) -> None:
    """What an unfinished charge had drawn is its first step, and has spent all of it."""
    path = tmp_path / "l.db"
    with ledger(budget(1, delta="1e-6"), path=path) as made:
        granted = permit(made)
    assert len(LAYOUTS) == 3
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE policy_note")
        db.execute("DROP TABLE draw")
        db.execute("ALTER TABLE charge ADD COLUMN drawn BLOB")
        db.execute("UPDATE charge SET drawn = ?", (b"kept",))
        db.execute("PRAGMA user_version = 1")
    db.close()
    with Ledger.open(path) as made:
        granted = permit(made)
        (one,) = made.drawn(granted)
        assert (one.noisy, one.spent) == (b"kept", {"patient": Cost(Fraction(1), Fraction(2, 10**7))})
        with pytest.raises(LedgerError, match="more than was charged"):
            made.draw(granted, 1, HALF, b"again")
        assert made.verify() == ()
