"""Races and sudden death: a slice of each here, the long runs with PRIVQL_SOAK=1."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest

from privql.ledger import Entry, Ledger, Permit, TooManyResumes
from tests.ledger.asking import ask
from tests.ledger.storm import SHARE

SOAK = bool(os.environ.get("PRIVQL_SOAK"))
ROOT = Path(__file__).parents[2]


def storm(*args: object) -> str:
    command = [sys.executable, "-m", "tests.ledger.storm", *map(str, args)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=None if SOAK else 60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def survived(path: Path, told: str) -> tuple[Ledger, tuple[Entry, ...]]:
    """Whatever was given out is stored and paid for, no query was charged twice, every sum is right."""
    made = Ledger.open(path)
    assert made.verify() == ()
    entries = made.history()
    assert len({entry.query for entry in entries}) == len(entries)
    for line in told.splitlines():
        release, answer = line.split(" ")
        stored = made.get_release("alice", release)
        assert stored is not None and stored.answer.hex() == answer
    return made, entries


def test_processes_spend_exactly_the_budget(tmp_path: Path) -> None:
    processes, attempts = (64, 10_000) if SOAK else (8, 40)
    storm("hammer", tmp_path / "l", processes, attempts)
    with Ledger.open(tmp_path / "l") as made:
        assert made.spent("patient").epsilon == 1
        entries = made.history()
        assert (len(entries), {entry.state for entry in entries}) == (97, {"released"})
        assert made.policy().version == 1
        assert made.verify() == ()


def test_killed_at_any_moment(tmp_path: Path) -> None:
    told = storm("kill", tmp_path / "l", 10_000 if SOAK else 50)
    made, entries = survived(tmp_path / "l", told)
    assert made.spent("patient").epsilon == len(entries) * SHARE <= 40 * SHARE
    assert len(told.splitlines()) > 8 and len(entries) > 8
    states = Counter(entry.state for entry in entries)
    for entry in entries:
        if entry.state == "reserved":
            with pytest.raises(TooManyResumes) if entry.resumes == 3 else nullcontext():
                granted = made.reserve(ask(entry.query, SHARE))
                assert isinstance(granted, Permit) and granted.release_id == entry.release_id
                made.release(granted, b"late")
    assert len(made.history()) == states.total()
    assert made.spent("patient").epsilon == len(entries) * SHARE


def test_killed_at_each_statement(tmp_path: Path) -> None:
    told = storm("step", tmp_path / "l")
    made, entries = survived(tmp_path / "l", told)
    states = Counter(entry.state for entry in entries)
    assert states["reserved"] > 4 and states["released"] > 4  # the deaths fell before, between and behind
    assert made.spent("patient").epsilon * 10 == len(entries)
    for entry in entries:
        if entry.state == "reserved":
            granted = made.reserve(ask(entry.query))
            assert isinstance(granted, Permit) and granted.resumes == 1
            made.release(granted, b"late")
    assert {entry.state for entry in made.history()} == {"released"}
    assert made.spent("patient").epsilon * 10 == len(entries)


def test_fork_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    storm("fork", tmp_path / "l")
    made, entries = survived(tmp_path / "l", "")
    assert Counter(entry.analyst for entry in entries)["child"] == 40
    assert made.spent("patient").epsilon == len(entries) * SHARE
