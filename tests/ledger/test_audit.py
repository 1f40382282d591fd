"""The audit finds whatever was changed behind the ledger's back; policies and entries are kept as they were."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from privql.kernel import losses
from privql.kernel.events import written
from privql.kernel.filters import DEFAULT, order_for
from privql.ledger import BudgetRow, GrantRow, Ledger, LedgerError
from tests.ledger.asking import ask, behind, budget, ledger, met, permit


def used(path: Path) -> Ledger:
    made = ledger(budget(1), budget(1, "second"), grants=(GrantRow("research", "alice", Fraction(1, 2)),), path=path)
    for query in range(4):
        granted = permit(made, ask(query, "0.1", name=f"n{query}"))
        if query % 2:
            made.release(granted, b"x")
    assert made.verify() == ()
    return made


SMALL = losses.written(losses.loss_of(met("1/20"), order_for(Fraction(1), Fraction(0), DEFAULT)))


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        ("DELETE FROM charge_line WHERE charge = 2", "charges nothing"),
        (f"UPDATE total SET loss = '{SMALL}' WHERE analyst = 'alice'", "total of unit"),
        (f"UPDATE total SET loss = '{SMALL}' WHERE budget = ''", "total of unit"),
        ("DELETE FROM total", "total of unit"),
        (f"INSERT INTO total VALUES ('patient', 'research', 'eve', 0, '{SMALL}')", "total of unit"),
        (
            f"UPDATE charge_line SET events = '{written(met('1/20'))}' WHERE charge = 2",
            "r2: its text, version or price",
        ),
        ("UPDATE charge SET query = 'other' WHERE id = 2", "r2: its text, version or price"),
        ("UPDATE charge SET measurements = 'other' WHERE id = 2", "r2: its text, version or price"),
        ("UPDATE charge SET data_version = '{}' WHERE id = 2", "r2: its text, version or price"),
        ("UPDATE charge_line SET budget = 'second' WHERE charge = 2", "total of unit"),
        ("UPDATE charge_line SET budget = 'none' WHERE charge = 2", "r2: budget `none` could not"),
        ("UPDATE budget SET epsilon = '1/4' WHERE name = 'research'", "r3: budget `research` could not"),
        ("UPDATE budget_grant SET epsilon = '1/4'", "r3: budget `research` could not"),
        ("UPDATE budget_grant SET analyst = 'bob'", "r1: budget `research` could not"),
    ],
)
def test_what_was_tampered_with_is_found(tmp_path: Path, tamper: str, said: str) -> None:
    with used(tmp_path / "l"):
        pass
    with behind(tmp_path / "l") as db:
        db.execute(tamper)
    with Ledger.open(tmp_path / "l") as made:
        assert any(said in line for line in made.verify()), made.verify()


def test_entries_say_everything_that_was_charged(tmp_path: Path) -> None:
    with used(tmp_path / "l") as made:
        first, second, *_ = made.history()
    assert (first.state, second.state) == ("reserved", "released")
    assert (first.release_id, first.analyst, first.query, first.names) == ("r1", "alice", "0", ("n0",))
    assert first.charges[0].cost.epsilon == Fraction(1, 10)
    assert (first.policy_version, first.data_version, first.released_at) == (1, '{"patients": 0}', None)
    assert second.released_at is not None


def test_policies_come_back_as_they_were() -> None:
    made = Ledger.create(":memory:")
    with pytest.raises(LedgerError, match="no policy yet"):
        made.policy()
    row = BudgetRow("R", "U", Fraction(3), Fraction(1, 10**6), Fraction(1, 10), Fraction(1, 10**9), Fraction(1, 2))
    grants = [GrantRow("r", "a", Fraction(1, 3), Fraction(1, 10**7)), GrantRow("R", "b")]
    assert made.apply_policy("text é", [row], grants, {"T": 1}) == 1
    assert made.apply_policy("text é", [row], reversed(grants), ["t"]) == 1
    (state,) = made.budget_report("A")
    assert (state.budget, state.grant) == (row, grants[0])
    assert made.apply_policy("text é", [row], grants[:1], ["T"]) == 2  # the same text, read differently
    assert made.apply_policy("text é", [row], grants, ["T"]) == 3
    assert made.apply_policy("text e", [row], grants, ["T"]) == 4
    assert [record.version for record in made.policy_history()] == [1, 2, 3, 4]
    assert made.policy() == made.policy_history()[-1]
    assert [record.text for record in made.policy_history()][2:] == ["text é", "text e"]
    assert made.budget_report("c") == ()
    assert made.verify() == ()


def test_what_was_verified_is_remembered(tmp_path: Path) -> None:
    with ledger(path=tmp_path / "l") as made:
        assert made.verified("patients") is None
        made.mark_verified("Patients", "one")
        made.mark_verified("patients", "two")
    with Ledger.open(tmp_path / "l") as made:
        assert (made.verified("PATIENTS"), made.verified("visits")) == ("two", None)


def test_policy_and_spending_survive_the_process(tmp_path: Path) -> None:
    with used(tmp_path / "l") as made:
        before = made.budget_report(), made.budget_report("alice"), made.history(), made.policy()
    with Ledger.open(tmp_path / "l") as made:
        assert (made.budget_report(), made.budget_report("alice"), made.history(), made.policy()) == before
    with Ledger.create(tmp_path / "l") as made:
        assert made.history() == before[2]
