"""A charge is drawn in steps: each is kept once, in order, and together they spend what was charged and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from privql.kernel.cost import Cost
from privql.ledger import Ledger, LedgerError, Permit
from tests.ledger.asking import ask, behind, budget, ledger, met, permit

HALF = {"patient": met("1/2", "1e-7")}


def two_steps(made: Ledger, query: str = "a") -> Permit:
    return permit(made, ask(query, charges=(("patient", HALF["patient"] * 2),)))


def test_a_step_is_kept_once() -> None:
    made = ledger(budget(1, delta="1e-6"))
    granted = two_steps(made)
    assert made.drawn(granted) == ()
    assert made.draw(granted, 0, HALF, b"first") == b"first"
    assert made.draw(granted, 0, HALF, b"another") == b"first"
    assert made.draw(granted, 1, HALF, b"second") == b"second"
    assert [(one.noisy, one.spent) for one in made.drawn(granted)] == [(b"first", HALF), (b"second", HALF)]


def test_a_step_waits_for_those_before_it() -> None:
    made = ledger(budget(1, delta="1e-6"))
    with pytest.raises(LedgerError, match="those before it"):
        made.draw(two_steps(made), 1, HALF, b"second")


@pytest.mark.parametrize(
    "more",
    [
        {"patient": met("0.51")},
        {"PATIENT": met("0.51")},
        {"patient": met("0.1", "1.1e-7")},
        {"household": met("0.01")},
    ],
    ids=str,
)
def test_the_steps_together_spend_no_more_than_was_charged(more: dict[str, Cost]) -> None:
    made = ledger(budget(1, delta="1e-6"))
    granted = two_steps(made)
    made.draw(granted, 0, HALF, b"first")
    with pytest.raises(LedgerError, match="more than was charged"):
        made.draw(granted, 1, more, b"second")
    assert len(made.drawn(granted)) == 1


def test_a_charge_that_is_resumed_finds_its_steps(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with ledger(budget(1, delta="1e-6"), path=path) as made:
        made.draw(two_steps(made), 0, HALF, b"first")
    with Ledger.open(path) as made:
        granted = two_steps(made)
        assert granted.resumes == 1
        assert [one.noisy for one in made.drawn(granted)] == [b"first"]
        assert made.draw(granted, 1, HALF, b"second") == b"second"


def test_another_charge_has_steps_of_its_own() -> None:
    made = ledger(budget(9, delta="1e-3"))
    made.draw(two_steps(made), 0, HALF, b"first")
    assert made.drawn(two_steps(made, "b")) == ()


def test_an_audit_adds_up_the_steps(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with ledger(budget(1, delta="1e-6"), path=path) as made:
        granted = two_steps(made)
        made.draw(granted, 0, HALF, b"first")
        made.draw(granted, 1, HALF, b"second")
        assert made.verify() == ()
    with behind(path) as db:
        db.execute("INSERT INTO draw SELECT charge, 2, spent, noisy FROM draw WHERE step = 0")
    with Ledger.open(path) as made:
        assert made.verify() == (
            "step 2 of r1: the chain has no entry of it",
            "r1: its steps spent more than it was charged",
        )
