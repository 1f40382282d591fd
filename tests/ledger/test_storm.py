"""Races and sudden death: a slice of each here, the long runs with

    PRIVQL_SOAK=1 python -m pytest tests/ledger/test_storm.py

64 processes with 10,000 attempts each, alone, with plans and limits, and with a δ; 10,000 deaths at random moments, and
one before and one after each statement of a migration, a query and a plan; at each of them a disk that fails for good.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from privql.ledger import BudgetState, Ledger
from tests.assurance import SOAK, assured
from tests.ledger.refused_calls import POSSIBLE
from tests.ledger.storm import SHARE, SIZES

ROOT = Path(__file__).parents[2]


def storm(program: str, *args: object) -> str:
    command = [sys.executable, "-m", f"tests.ledger.{program}", *map(str, args)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=None if SOAK else 60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["hammer", "mixed", "delta"])
def test_processes_spend_exactly_the_budget(tmp_path: Path, kind: str) -> None:
    with assured("ledger-storm") as tally:
        tally["tried"] += 64 * 10_000 if SOAK else 8 * 45
        processes, attempts = (64, 10_000) if SOAK else (8, 45)
        storm("storm", kind, tmp_path / "l", processes, attempts)
        with Ledger.open(tmp_path / "l") as made:
            assert made.verify() == ()
            assert made.policy().version == 1
            entries = made.history()
            assert {entry.state for entry in entries} == {"released"}
            (whole,) = made.budget_report()
            own = [made.budget_report(f"a{at}")[0] for at in range(processes)]
            if kind == "delta":
                spent_by_filters(whole)
            else:
                assert (made.spent("patient").epsilon, len(entries)) == (1, 97)
            if kind == "mixed":
                assert all(one.own.epsilon <= one.limit.epsilon for one in own)
                assert Counter(entry.plan for entry in entries if entry.plan).keys() != set()
                assert set(Counter(entry.plan for entry in entries if entry.plan).values()) == {3}
            assert sum(one.own.epsilon for one in own) == whole.spent.epsilon


def spent_by_filters(whole: BudgetState) -> None:
    """Admitted as it is, by more than plain addition, and nothing that was asked for is admitted any more."""
    assert whole.promise.admits(whole.lost)
    assert whole.spent.epsilon > whole.budget.epsilon
    assert not any(whole.promise.admits(whole.lost + whole.promise.loss(events)) for events in SIZES)


def test_killed_at_any_moment(tmp_path: Path) -> None:
    with assured("ledger-deaths") as tally:
        tally["tried"] += 10_000 if SOAK else 50
        seen = json.loads(storm("deaths", "kill", tmp_path, 10_000 if SOAK else 50))
        assert seen["gave"] > 8 and seen["released"] > 20 and seen["plans"] > 1


def test_killed_at_each_statement(tmp_path: Path) -> None:
    with assured("ledger-deaths") as tally:
        seen = json.loads(storm("deaths", "step", tmp_path, 1 if SOAK else 41))
        tally["tried"] += seen["deaths"]
        assert seen["gave"] > 4 and seen["released"] > seen["deaths"] > 4  # they fell before, between and behind


@pytest.mark.parametrize("kind", ["sync", "full"] if POSSIBLE else [])
def test_a_disk_that_fails_from_each_statement_on(tmp_path: Path, kind: str) -> None:
    with assured("ledger-deaths") as tally:
        seen = json.loads(storm("deaths", kind, tmp_path, 1 if SOAK else 41))
        tally["tried"] += seen["deaths"]
        assert seen["gave"] > 4 and seen["released"] > seen["deaths"] > 4


def test_fork_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    storm("storm", "fork", tmp_path / "l")
    with Ledger.open(tmp_path / "l") as made:
        assert made.verify() == ()
        entries = made.history()
        assert Counter(entry.analyst for entry in entries)["child"] == 40
        assert made.spent("patient").epsilon == len(entries) * SHARE
