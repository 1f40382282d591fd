"""PAD TIME: what shows of how long rows were read for is one of few lengths, however it ends.

PRIVQL_SOAK=1 python -m pytest tests/hostile/test_time.py -s
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import privql
from privql.diagnostics import PrivQLError, Source
from privql.engines.duckdb import DuckDBEngine
from privql.ledger import Ledger
from privql.pipeline import padding
from privql.policy.build import build_catalog
from privql.session import Session
from tests.assurance import SOAK, assured

POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE beats (patient INT UNIT patient, at INT BETWEEN 0 AND 9) AT MOST 3000 ROWS PER UNIT{rows};
CREATE BUDGET research FOR UNIT patient EPSILON 100000;
"""
PADDED = POLICY + "PAD TIME TO 2 SECONDS;"
COUNT = "SELECT COUNT(*) FROM beats AT MOST 5 ROWS PER UNIT SPEND EPSILON 1"


class Clock:
    """Time that passes only where somebody works or waits. `pressed`: how often Ctrl-C is pressed while one waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.pressed = 1000.0, 0
        monkeypatch.setattr(padding, "time", self)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        if self.pressed:
            self.pressed -= 1
            self.now += seconds / 2
            raise KeyboardInterrupt
        self.now += seconds


@pytest.fixture
def clocked(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def beats(many: int = 4) -> pa.Table:
    return pa.table({"patient": [1, 2, 3, *[4] * many], "at": [0] * (3 + many)})


@pytest.fixture
def mallory() -> Iterator[Session]:
    with privql.connect(policy=PADDED.format(rows=""), frames={"beats": beats()}, analyst="mallory") as opened:
        opened.run(COUNT.replace("EPSILON 1", "EPSILON 2"))  # holds the frame against the policy
        yield opened


def working(monkeypatch: pytest.MonkeyPatch, clock: Clock, seconds: float, end: BaseException | None = None) -> None:
    """The engine takes so long over whatever is measured, and fails if it is to."""
    run = DuckDBEngine.run

    def slow(self: DuckDBEngine, *given: object) -> object:
        clock.now += seconds
        if end is not None:
            raise end
        return run(self, *given)

    monkeypatch.setattr(DuckDBEngine, "run", slow)


LENGTHS = [(0.0, 2), (0.01, 2), (1.99, 2), (2.01, 4), (3.99, 4), (5.0, 8), (9.0, 16), (100.0, 128)]


@pytest.mark.parametrize(("works", "shows"), LENGTHS)
def test_an_answer_is_stored_and_handed_out_at_a_length_that_everyone_knows(
    works: float, shows: int, clocked: Clock, mallory: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, release = [], Ledger.release

    def at(self: Ledger, *given: object) -> object:
        stored.append(clocked.now)
        return release(self, *given)

    monkeypatch.setattr(Ledger, "release", at)
    working(monkeypatch, clocked, works)
    began = clocked.now
    mallory.run(COUNT)
    assert stored == [clocked.now] == [began + shows]


@pytest.mark.parametrize("end", [ValueError("Mrs. S3cret"), MemoryError("17 rows"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize(("works", "shows"), LENGTHS[::2])
def test_what_fails_or_is_interrupted_ends_at_such_a_length_too(
    works: float, shows: int, end: BaseException, clocked: Clock, mallory: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C is only heard when the engine listens, which would tell when it has done some of its work."""
    ask = DuckDBEngine._ask

    def failing(self: DuckDBEngine, *given: object) -> object:
        clocked.now += works
        raise end

    began = clocked.now
    with monkeypatch.context() as patch:
        patch.setattr(DuckDBEngine, "_ask", failing)
        with pytest.raises((PrivQLError, KeyboardInterrupt)):
            mallory.run(COUNT)
    assert clocked.now == began + shows and DuckDBEngine._ask is ask
    mallory.run(COUNT)
    assert clocked.now == began + shows + 2, "and so does what is taken up again"


def test_who_presses_it_while_time_is_padded_waits_to_the_end(
    clocked: Clock, mallory: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    working(monkeypatch, clocked, 0.5)
    clocked.pressed, began = 3, clocked.now
    with pytest.raises(KeyboardInterrupt):
        mallory.run(COUNT)
    assert clocked.now == began + 2 and not mallory.run("SHOW RELEASES").rows[1:]
    mallory.run(COUNT)


def test_what_reads_no_private_row_waits_for_nothing(clocked: Clock, mallory: Session) -> None:
    mallory.run(COUNT)
    began = clocked.now
    mallory.run(COUNT)
    mallory.run("SELECT 1 AS one")
    mallory.check(COUNT.replace("EPSILON 1", "EPSILON 3"))
    with pytest.raises(PrivQLError, match="PQL0502"):
        mallory.run(COUNT.replace("EPSILON 1", "EPSILON 100000"))
    assert clocked.now == began


def test_who_gives_an_answer_again_looks_at_no_row(clocked: Clock, tmp_path: Path) -> None:
    """Neither to open files nor to verify their keys: that would take as long as it takes, and for nothing."""
    pyarrow.csv.write_csv(beats(), tmp_path / "beats.csv")
    privql.apply(PADDED.format(rows=f" FROM '{tmp_path}/beats.csv'"), tmp_path / "ledger.db")
    with privql.connect(tmp_path / "ledger.db", analyst="mallory") as session:
        first = session.run(COUNT)
    (tmp_path / "beats.csv").write_text('patient,at\n1,"0\n')
    began = clocked.now
    with privql.connect(tmp_path / "ledger.db", analyst="mallory") as session:
        assert session.run(COUNT).rows == first.rows and clocked.now == began
        for again in session.run_text(f"{COUNT}; {COUNT};"):
            assert again.rows == first.rows
        assert clocked.now == began
        with pytest.raises(PrivQLError, match="PQL0603"):
            session.run(COUNT.replace("EPSILON 1", "EPSILON 2"))
        assert clocked.now == began + 2, "what is refused for what the rows are is padded"


def test_a_charge_shows_when_files_were_held_against_the_policy_at_such_a_length(
    clocked: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged, readable, reserve = [], DuckDBEngine.readable, Ledger.reserve

    def slowly(self: DuckDBEngine, *given: object) -> bool:
        clocked.now += 2.5
        return readable(self, *given)

    def charging(self: Ledger, *given: object) -> object:
        charged.append(clocked.now)
        return reserve(self, *given)

    monkeypatch.setattr(DuckDBEngine, "readable", slowly)
    monkeypatch.setattr(Ledger, "reserve", charging)
    began = clocked.now
    with privql.connect(policy=PADDED.format(rows=""), frames={"beats": beats()}, analyst="mallory") as session:
        session.run(COUNT)
        session.run(COUNT.replace("EPSILON 1", "EPSILON 2"))
    assert charged == [began + 4, began + 6] and clocked.now == began + 8


def test_a_session_that_was_open_before_pads_by_the_policy_in_force(clocked: Clock, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(beats(), tmp_path / "beats.csv")
    open_, file = POLICY.format(rows=f" FROM '{tmp_path}/beats.csv'"), tmp_path / "ledger.db"
    privql.apply(open_, file)
    with privql.connect(file, analyst="mallory") as session:
        session.run(COUNT)
        began = clocked.now
        privql.apply(open_ + "PAD TIME TO 1 MINUTE;", file)
        session.run(COUNT.replace("EPSILON 1", "EPSILON 2"))
        assert clocked.now == began + 60
        with pytest.raises(PrivQLError, match="PQL0746"):
            privql.apply(open_ + "PAD TIME TO 59 SECONDS;", file)
        with pytest.raises(PrivQLError, match="PQL0746"):
            privql.apply(open_, file)
        privql.apply(open_, file, reason="an experiment is over")
        session.run(COUNT.replace("EPSILON 1", "EPSILON 3"))
        assert clocked.now == began + 60
    with privql.connect(file, analyst="mallory", data="dummy") as session:
        session.run(COUNT)
    assert clocked.now == began + 60


def test_check_and_explain_say_so(clocked: Clock, mallory: Session) -> None:
    told = mallory.check_text(COUNT)
    assert str(told).endswith("\ntime: an answer that is measured takes 2 s, 4 s, 8 s, …")
    assert told.to_json()["padded_seconds"] == "2"
    assert "\ntime: padded to 2 s, 4 s, 8 s, …" in mallory.explain(COUNT)
    free = mallory.check_text("SELECT 1 AS one")
    assert "time:" not in str(free) and "padded_seconds" not in free.to_json()


@pytest.mark.parametrize(
    ("length", "code"),
    [("0.01 SECONDS", "PQL0734"), ("0 SECONDS", "PQL0734"), ("2 HOURS", "PQL0108"), ("61 MINUTES", "PQL0734"),
     ("1e400 SECONDS", "PQL0734"), ("1e-400 SECONDS", "PQL0734"), ("2 SECONDS; PAD TIME TO 2 SECONDS", "PQL0702")],
)  # fmt: skip
def test_lengths_that_are_none(length: str, code: str) -> None:
    _, found = build_catalog(Source(POLICY.format(rows="") + f"PAD TIME TO {length};"))
    assert [each.code for each in found] == [code]


def test_lengths_that_are_some() -> None:
    for text, seconds in (
        ("0.1 SECONDS", Fraction(1, 10)),
        ("1 MINUTE", 60),
        ("60 minutes", 3600),
        ("1.5 second", 1.5),
    ):
        catalog, found = build_catalog(Source(POLICY.format(rows="") + f"PAD TIME TO {text};"))
        assert not found and catalog.padded == seconds


# ---------------------------------------------------------------- neighbours, by a clock on the wall

MEETING = """SELECT COUNT(*) FROM beats a JOIN beats b USING (patient) WHERE a.at + b.at >= 0
AT MOST 5 ROWS PER UNIT SPEND EPSILON $e"""
PAIRS = 500 if SOAK else 20
TOLD_APART = 0.9  # of 20 against 20, chance alone comes so far once in half a million


def auc(without: list[float], beside: list[float]) -> float:
    """How often the longer of two times is that of the database with one unit more."""
    won = sum((x < y) + (x == y) / 2 for x in without for y in beside)
    return won / (len(without) * len(beside))


def timed(seconds: float, pairs: int) -> tuple[list[float], list[float]]:
    """What an analyst measures on each of two neighbours: one unit's 1,500 rows, all of which meet."""
    policy = POLICY.format(rows="") + f"PAD TIME TO {seconds:.2f} SECONDS;"
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(privql.connect(policy=policy, frames={"beats": beats(many)}, analyst="mallory"))
            for many in (0, 1500)
        ]
        for session in sessions:
            session.run(MEETING, e="0.5")
        took: tuple[list[float], list[float]] = [], []
        choice = random.Random(11)
        for at in range(pairs):
            for which in choice.sample((0, 1), 2):
                began = time.perf_counter()
                sessions[which].run(MEETING, e=f"0.{1000 + at}")
                took[which].append(time.perf_counter() - began)
        return took


def test_padded_time_tells_neighbours_apart_no_better_than_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    with assured("time") as tally:
        with monkeypatch.context() as patch:
            patch.setattr(padding, "shown", lambda shortest, took: took)  # planted: padded to nothing
            planted = timed(0.1, 20)
        length = 0.1 + 2 * sorted(planted[1])[10]  # on however slow a machine, both neighbours mostly stay under it
        padded = timed(length, PAIRS)
        assert min(map(min, padded)) >= round(length, 2)
        print(f"time, {PAIRS} pairs: AUC {auc(*padded):.3f}, and {auc(*planted):.3f} where it is not padded")
        assert auc(*planted) > TOLD_APART
        bound = 0.52 + 5 * ((2 * PAIRS + 1) / (12 * PAIRS**2)) ** 0.5 if SOAK else TOLD_APART
        assert 1 - bound < auc(*padded) < bound
        tally["tried"] += PAIRS
