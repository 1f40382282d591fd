"""What failed is counted for its analyst, whichever queries it was: each failure tells a bit that nobody paid for."""

from __future__ import annotations

from contextlib import suppress

import pytest

from privql.kernel.filters import DEFAULT
from privql.ledger import Permit, Replay, TooManyResumes, WaitsForOwner, charges
from tests.ledger.asking import ask, budget, ledger, permit

SHARED = budget(9, delta="1e-6", shares=DEFAULT)


def test_failures_of_several_charges_count_together_and_stay_told() -> None:
    made = ledger(SHARED)
    began = [permit(made, ask(f"began {number}")) for number in range(9)]  # under way, or broken off: nothing failed
    for granted in began[:3]:
        made.failed(granted, "no memory")
        made.release(granted, b"answered by another")
    other = permit(made, ask("other", tables=("visits",)))
    made.failed(other, "no memory")
    assert isinstance(made.reserve(ask("new")), Permit), "three of these tables"
    made.failed(permit(made, ask("both", tables=("patients", "visits"))), "no memory")
    with pytest.raises(WaitsForOwner, match="r1, r2, r3, r12 were started 4 times in all") as caught:
        made.reserve(ask("newer"))
    assert caught.value.releases == ("r1", "r2", "r3", "r12")
    assert str(caught.value).endswith("nothing is started on `patients` in your name")
    assert isinstance(made.reserve(ask("newer", tables=("visits",))), Permit)
    assert isinstance(made.reserve(ask("newer", analyst="bob")), Permit)
    assert isinstance(made.reserve(ask("began 1")), Replay)
    with pytest.raises(WaitsForOwner):
        made.reserve(ask("began 4"))
    made.forget("r1")
    with pytest.raises(WaitsForOwner):
        made.reserve(ask("newer"))
    made.allow_resume("r1")
    assert isinstance(made.reserve(ask("newer")), Permit) and made.verify() == ()


def test_what_was_charged_and_broken_off_is_not_a_store_of_failures() -> None:
    made = ledger(SHARED)
    for number in range(12):
        made.reserve(ask(number))
    failures = 0
    for _ in range(3):
        for number in range(12):
            with suppress(TooManyResumes):
                made.failed(permit(made, ask(number)), "no memory")
                failures += 1
    assert failures <= 7 and made.verify() == ()


def test_what_was_broken_off_counts_until_it_is_answered() -> None:
    made = ledger(SHARED)
    for _ in range(3):
        granted = permit(made, ask("slow"))
    made.failed(granted, "no memory")
    made.release(permit(made, ask("slow")), b"answered")
    assert made.history()[0].failures == 1
    for number in range(2):
        made.failed(permit(made, ask(number)), "no memory")
    assert isinstance(made.reserve(ask("new")), Permit)


def test_each_start_of_a_charge_that_fails_counts_once() -> None:
    made = ledger(SHARED)
    for number in range(4):
        granted = permit(made, ask("again"))
        assert made.history()[0].failures == number
        made.failed(granted, "no memory")
    for asking in (ask("again"), ask("new")):
        with pytest.raises(TooManyResumes, match="started 4 times without"):
            made.reserve(asking)
    made.allow_resume("r1")
    assert (made.history()[0].failures, made.history()[0].resumes) == (0, 0)
    assert isinstance(made.reserve(ask("new")), Permit) and made.verify() == ()


def test_two_charges_that_failed_are_told_as_two() -> None:
    made = ledger(SHARED)
    for text in ("one", "one", "other", "other"):
        made.failed(permit(made, ask(text)), "no memory")
    with pytest.raises(WaitsForOwner, match=r"^r1, r2 were started 4 times in all .* has looked at them"):
        made.reserve(ask("new"))


def test_starts_that_the_owner_allowed_count_as_they_fail_after_that() -> None:
    made = ledger(SHARED)
    begun = [permit(made, ask("one")) for _ in range(3)]
    made.allow_resume("r1")
    for number, granted in enumerate((*begun, permit(made, ask("other")))):
        assert isinstance(made.reserve(ask(f"not yet {number}")), Permit)
        made.failed(granted, "no memory")
    with pytest.raises(WaitsForOwner):
        made.reserve(ask("new"))


def test_planted_only_what_is_resumed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charges, "failed", lambda db, permit: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_failures_of_several_charges_count_together_and_stay_told()
