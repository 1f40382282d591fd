"""Every statement of everything that a ledger does fails once: nothing is lost, nothing is charged or told twice."""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from privql.ledger import GrantRow, Ledger, LedgerError, OverBudget, Permit, TooManyResumes, clock
from privql.ledger.files import FileStore
from tests.assurance import SOAK, assured
from tests.ledger.asking import TENTH, ask, budget, ledger, met, plan
from tests.ledger.watched import Fault, Watched

FAULTS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_IOERR_FSYNC: "the disk reports an error",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_READONLY: "read-only",
}


def test_whoever_finds_it_locked_once_begun_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy, honest = sqlite3.OperationalError("database is locked"), FileStore._still_up_to_date
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    troubles = iter([busy, busy])

    def sometimes(store: FileStore, connection: object) -> None:
        for trouble in troubles:
            raise trouble
        honest(store, connection)

    with ledger(path=tmp_path / "l") as made, Ledger.open(tmp_path / "l") as other:
        other.reserve(ask("a"))
        monkeypatch.setattr(FileStore, "_still_up_to_date", sometimes)
        made.reserve(ask("b"))
        assert not [*troubles] and len(made.history()) == 2 and made.verify() == ()


Told = dict[str, bytes]
HALVES = met(TENTH / 2) * 2  # each answer is drawn in two steps


def day(made: Ledger, insist: Callable[[Callable[[], Any]], Any]) -> Told:
    """Something of everything that writes. `insist` asks for each of it until it is done."""
    told: Told = {}

    def draw(permit: Permit, step: int) -> bytes:
        noisy = insist(lambda: made.draw(permit, step, {"patient": HALVES[:1]}, os.urandom(4)))
        assert told.setdefault(f"{permit.release_id}.{step}", noisy) == noisy
        return bytes(noisy)

    def answer(*asked: Any) -> str:
        granted = insist(lambda: made.reserve(*asked))
        if isinstance(granted, Permit):
            drawn = [step.noisy for step in insist(lambda: made.drawn(granted))]
            drawn += [draw(granted, step) for step in range(len(drawn), 2)]
            granted = insist(lambda: made.release(granted, b"".join(drawn)))
        assert told.setdefault(granted.release_id, granted.answer) == granted.answer
        return str(granted.release_id)

    grants = [GrantRow("research", "alice"), GrantRow("research", "bob", TENTH)]
    insist(lambda: made.apply_policy("anew", [budget(2), budget(1, "other")], grants, ["patients"]))
    insist(lambda: made.refresh("patients", "2026-01"))
    insist(lambda: made.mark_verified("patients", "these"))
    version = insist(made.policy).version
    halves: dict[str, Any] = {"policy_version": version, "charges": (("patient", HALVES),)}
    answer(ask("a", name="mine", **halves))
    insist(lambda: made.reserve(ask("a", name="other", **halves)))
    insist(lambda: made.keep("alice", "free", "b + 1", b"kept"))
    insist(lambda: made.reserve(ask("left", policy_version=version)))
    (paid,) = insist(lambda: made.prepay((plan("c", "d", policy_version=version, slots=(halves["charges"],) * 2),)))
    answer(ask("c", **halves), paid, 0)
    insist(lambda: made.allow_resume("r3"))
    answer(ask("a", analyst="alice", **halves))
    return told


def outcome(made: Ledger) -> object:
    said = [
        (one.release_id, one.query, one.state, one.plan, one.names, one.charges, one.data_version)
        for one in made.history()
    ]
    versions = [record.text for record in made.policy_history()]
    return said, versions, made.spent("patient"), made.verified("patients"), made.verify()


@pytest.mark.wrong_types
@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_at_every_statement_of_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """One statement fails, or all from it on for a while, done or not: a commit, too, of which nobody knows."""
    with assured("ledger-faults") as tally:
        connect, expected = sqlite3.connect, None
        # every statement; else about one of twenty
        stride, offset = (1, 0) if SOAK else (21, list(FAULTS).index(code) * 2)
        at, reached = 10**9, 10**9
        while at == 10**9 or at <= reached:
            for done in (False, True):
                tally["tried"] += 1
                fault = Fault(code, 10**9, random.choice((1, 1, 2, 3)), done)
                with monkeypatch.context() as patch:
                    patch.setattr(
                        sqlite3, "connect", lambda *args, fault=fault, **more: Watched(connect(*args, **more), fault)
                    )
                    path = tmp_path / f"l{at}{done}"
                    made = ledger(budget(2), path=path)
                    fault.at, fault.seen = at, 0

                    def insist(work: Callable[[], Any]) -> Any:
                        for _ in range(6):
                            try:
                                return work()
                            except TooManyResumes:
                                raise
                            except LedgerError as trouble:
                                said = str(trouble)
                                assert FAULTS[code] in said and "nothing has been released" in said, said
                        raise AssertionError("it never came through")

                    told = day(made, insist)
                    reached, fault.at = fault.seen, 10**9
                    found = outcome(made)
                    expected = expected or found
                    assert found == expected, (at, done)
                    for what, given in told.items():
                        if "." not in what:
                            stored = made.get_release("alice", what)
                            assert stored is not None and stored.answer == given
                    made.close()
            at = 1 + offset if at == 10**9 else at + stride
        assert reached > 100


@pytest.mark.parametrize("every", [None, 24])
def test_a_clock_that_jumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int | None) -> None:
    """By years, one way or the other, each time that somebody looks at it: no window of a budget opens twice."""

    rng, looks = random.Random(3), count()

    def tells() -> datetime:
        days = next(looks) // 25 + rng.choice((-9000, -400, -1, 0, 0, 0, 1, 3))
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=days)

    monkeypatch.setattr(clock, "tells", tells)
    row = replace(budget(1), every=every)
    told = {}
    for attempt in range(60):
        with ledger(row, path=tmp_path / "l") as made, suppress(OverBudget):
            granted = made.reserve(ask(attempt, 2 * TENTH))
            assert isinstance(granted, Permit)
            told[granted.release_id] = made.release(granted, os.urandom(4)).answer
    with Ledger.open(tmp_path / "l") as made:
        assert made.verify() == ()
        spent = Counter(line.window for entry in made.history() for line in entry.charges)
        assert list(spent) == sorted(spent), spent
        assert max(spent.values()) == 5, spent
        assert len(spent) == 1 if every is None else len(spent) > 3
        assert len(told) == spent.total() and made.spent("patient").epsilon == len(told) * 2 * TENTH
        for release, answer in told.items():
            stored = made.get_release("alice", release)
            assert stored is not None and stored.answer == answer
