"""What a connection remembers is true or it is forgotten: others write in between, a transaction fails, threads take
turns. Without the guard of `conftest.py`, so that what comes of it is what a user would see."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from threading import Thread

import pytest

from privql.ledger import BudgetRow, Ledger, LedgerError, OverBudget, Permit, Replay, chain
from privql.ledger.policies import newest
from privql.ledger.remembered import Remembered, of
from privql.ledger.schema import VERSION
from privql.ledger.store import Store
from tests.ledger.asking import ask, budget, ledger, permit, plan
from tests.ledger.told_time import START, Clock


@pytest.fixture
def nothing_is_taken_for_granted() -> None:
    """Here it is."""


@pytest.fixture(params=["file", "server"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return str(tmp_path / "l")
    from tests.ledger.servers import available, fresh

    if not available():
        pytest.skip("there is no PostgreSQL server")
    return fresh()


def test_what_another_charges_is_seen(path: str) -> None:
    with ledger(budget(1), path=path) as one, Ledger.open(path) as other:
        for at in range(4):
            numbers = [permit(made, ask(f"{at} {made is one}", "0.1")).release_id for made in (one, other)]
            assert numbers == [f"r{2 * at + 1}", f"r{2 * at + 2}"]
        with pytest.raises(OverBudget):
            one.reserve(ask("too much", "0.3"))
        permit(one, ask("the rest", "0.2"))
        with pytest.raises(OverBudget):
            other.reserve(ask("nothing is left", "1e-9"))
        assert one.verify() == other.verify() == ()


def test_what_another_answers_is_seen(path: str) -> None:
    with ledger(path=path) as one, Ledger.open(path) as other:
        granted = permit(one, ask("a"))
        with suppress(OverBudget):
            other.reserve(ask("b", 1))  # so that it has looked
        one.release(granted, b"answer")
        assert other.reserve(ask("a")) == Replay("r1", b"answer")
        assert other.spent("patient").epsilon * 10 == 1


def test_a_policy_that_another_applies_is_seen(path: str) -> None:
    with ledger(budget(1), path=path) as one, Ledger.open(path) as owner:
        permit(one, ask("a", "0.5"))
        owner.apply_policy("the policy, lowered", [budget("0.5")], (), ("patients", "visits"))
        with pytest.raises(LedgerError, match="version 2 is in force"):
            one.reserve(ask("b", "0.1"))
        with pytest.raises(OverBudget):
            one.reserve(ask("b", "0.1", policy_version=2))
        assert one.verify() == ()


@pytest.mark.parametrize("own", [True, False])
def test_data_that_was_replaced_is_seen(path: str, own: bool) -> None:
    with ledger(path=path) as one, Ledger.open(path) as owner:
        one.release(permit(one, ask("a")), b"answer")
        assert isinstance(one.reserve(ask("a")), Replay)
        (one if own else owner).refresh("patients", "2026-01")
        assert one.data_version(["patients"]) == '{"patients": 1}'
        assert permit(one, ask("a")).release_id == "r2"


def test_a_window_that_another_opens_is_seen(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hourly = BudgetRow("research", "patient", Fraction(1), every=1)
    clock = Clock(monkeypatch)
    with ledger(hourly, path=path) as one, Ledger.open(path) as other:
        permit(one, ask("a", "0.6"))
        clock.at = START + timedelta(hours=1)
        permit(other, ask("b", "0.6"))
        with pytest.raises(OverBudget):
            one.reserve(ask("c", "0.6"))
        clock.at = START  # what was opened stays open
        with pytest.raises(OverBudget):
            one.reserve(ask("d", "0.6"))
        permit(one, ask("e", "0.4"))
        assert one.verify() == ()


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, MemoryError, sqlite3.OperationalError])
def test_what_was_rolled_back_is_forgotten(
    path: str, monkeypatch: pytest.MonkeyPatch, trouble: type[BaseException]
) -> None:
    with ledger(budget(1), path=path) as made:
        permit(made, ask("a", "0.4"))
        with monkeypatch.context() as patch:
            patch.setattr(chain, "canonical", failing(trouble))
            for _ in range(3):
                with pytest.raises((trouble, LedgerError)):
                    made.reserve(ask("b", "0.2"))
        assert permit(made, ask("b", "0.2")).release_id == "r2"
        assert made.spent("patient").epsilon * 10 == 6
        permit(made, ask("c", "0.4"))
        assert made.verify() == ()


def test_plans_of_which_one_is_too_much_leave_nothing_behind(path: str) -> None:
    with ledger(budget(1), path=path) as made:
        permit(made, ask("a", "0.2"))
        for _ in range(2):
            with pytest.raises(OverBudget):
                made.prepay((plan("b", "c", epsilon="0.2"), plan("d", "e", epsilon="0.3")))
        made.prepay((plan("b", "c", epsilon="0.2"), plan("d", "e", epsilon="0.2")))
        assert made.spent("patient").epsilon == 1 and made.verify() == ()


def test_threads_take_turns(path: str) -> None:
    with ledger(budget(1), path=path) as one, Ledger.open(path) as other:
        granted = []

        def work(made: Ledger, whose: int) -> None:
            for at in range(30):
                with suppress(OverBudget):
                    got = made.reserve(ask(f"{whose} {at}", "0.02", analyst=f"a{whose}"))
                    assert isinstance(got, Permit)
                    granted.append(got.release_id)

        threads = [Thread(target=work, args=((one, other)[whose % 2], whose)) for whose in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(granted) == sorted(f"r{at + 1}" for at in range(50))
        assert one.spent("patient").epsilon == 1 and one.verify() == ()


def test_what_was_read_of_a_transaction_that_failed_is_forgotten(tmp_path: Path) -> None:
    with ledger(budget(1), path=tmp_path / "l") as made:

        def fail(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO policy VALUES (2, 'a policy of nobody', 'now')")
            assert newest(db) == 2
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            made._store.at_once(fail)
        assert made.policy().version == 1


def test_the_audit_remembers_nothing(tmp_path: Path) -> None:
    """Whoever changes the ledger's memory deceives neither the audit nor, for longer than that, a charge."""
    with ledger(budget(1), path=tmp_path / "l") as made:
        permit(made, ask("a", "0.4"))
        memory = of(made._store._connection)
        memory.now(("policy",), 7)
        assert made.verify() == ()
        permit(made, ask("b", "0.6"))


def test_no_more_is_remembered_than_is_worth_it(tmp_path: Path) -> None:
    with ledger(budget(1), path=tmp_path / "l") as made:
        for at in range(5000):
            made.budgets_for(f"a{at}", "patient")
        assert 0 < len(of(made._store._connection)._facts) <= 4096


def test_who_is_refused_has_written_nothing_and_looks_up_nothing_anew(tmp_path: Path) -> None:
    with ledger(budget(1), path=tmp_path / "l") as made:
        permit(made, ask("a", "0.4"))
        looked: list[str] = []
        made._store._connection.set_trace_callback(looked.append)
        for _ in range(2):
            with pytest.raises(OverBudget):
                made.reserve(ask("too much", 2))
        assert not any("FROM total" in each for each in looked)
        with pytest.raises(OverBudget):  # the first of the two was paid
            made.prepay((plan("b", "c", epsilon="0.2"), plan("d", "e", epsilon="0.3")))
        permit(made, ask("b", "0.6"))
        assert made.verify() == ()


def test_a_number_of_which_nothing_came_is_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ledger(budget(1), path=tmp_path / "l") as made:
        made.keep("alice", "first", "SELECT 1", b"1")
        with monkeypatch.context() as patch:
            patch.setattr("privql.ledger.naming.now", failing(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                made.keep("alice", "second", "SELECT 2", b"2")
        assert made.keep("alice", "second", "SELECT 2", b"2").release_id == "r2"


def test_a_connection_of_nobodys_remembers_nothing() -> None:
    with sqlite3.connect(":memory:") as db:
        of(db).now(("a",), 1)
        assert of(db).known(("a",), lambda: 2) == 2
    memory = Remembered()
    assert memory.known(("a",), lambda: 1) == memory.known(("a",), lambda: 2) == 1


def failing(trouble: type[BaseException]) -> Callable[..., str]:
    def fail(*_: object) -> str:
        raise trouble("now")

    return fail


def test_a_layout_that_is_not_ours_is_refused_however_often_it_is_asked(tmp_path: Path) -> None:
    with ledger(path=tmp_path / "l") as made:
        permit(made, ask("a", "0.1"))
        with closing(sqlite3.connect(tmp_path / "l")) as newer:
            newer.execute(f"PRAGMA user_version = {VERSION + 1}")
        for _ in range(3):
            with pytest.raises(LedgerError, match="newer PrivQL"):
                made.reserve(ask("b", "0.1"))


@pytest.mark.parametrize("interrupted", ["_undo", "_roll_back"])
def test_of_a_rollback_that_is_interrupted_nothing_is_remembered(
    path: str, interrupted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C, and Ctrl-C again before what was written is forgotten."""
    with ledger(budget(1), path=path) as made:
        permit(made, ask("a", "0.4"))
        tell = chain.tell
        with monkeypatch.context() as patch:
            patch.setattr(chain, "tell", lambda *row: (tell(*row), _interrupt()))
            patch.setattr(Store, interrupted, _interrupt)
            with pytest.raises(KeyboardInterrupt):
                made.reserve(ask("b", "0.2"))
        assert made.spent("patient").epsilon == Fraction("0.4")
        assert permit(made, ask("c", "0.4")).release_id == "r2"
        assert made.spent("patient").epsilon == Fraction("0.8") and made.verify() == ()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
