"""Processes that die, or lose their disk, while they use a ledger: a program, because it forks. It says how often.

python deaths.py kill FOLDER KILLS   killed at random moments; every tenth finds a new ledger, or one of an older layout
python deaths.py serve ADDRESS KILLS the same of a ledger on a server
python deaths.py step FOLDER STRIDE  killed before and after each statement (each STRIDE-th), from an older layout on
python deaths.py sync FOLDER STRIDE  the same, but what strikes is a disk that reports an error whenever it is to sync
python deaths.py full FOLDER STRIDE  … a disk that takes no more
                                     (on Linux: the kernel is told to refuse these calls)

After every death the ledger is looked at: it is sound, what was given out is there and paid for, nothing is charged
twice. Then whatever was begun is finished, for nothing.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from privql.kernel import losses
from privql.ledger import Ledger, LedgerError, OverBudget, Permit, PlanRequest, TooManyResumes
from privql.ledger.schema import VERSION
from tests.ledger.asking import ask, budget, ledger, met, plan
from tests.ledger.refused_calls import SYNC, WRITE, refuse
from tests.ledger.storm import SHARE, in_child
from tests.ledger.test_layouts import older
from tests.ledger.watched import Watched

HALVES = met(SHARE / 2) * 2  # each answer is drawn in two steps
PLANS, QUERIES = 4, 24
AT_ONCE = 10  # deaths by the same ledger
BEFORE = Fraction(3, 4)  # what an older ledger comes with

Place = Path | str  # a file, or a server
Told = dict[str, str]  # what was given out, by what it is


def use(path: Place, tell: Callable[[str, bytes], None]) -> None:
    """Ask, alone and in plans, from a small pool, so that what a death has left comes up again."""
    made = Ledger.open(path)
    while True:
        try:
            if random.random() < 0.3:
                run_plan(made, random.randrange(PLANS), tell)
            else:
                at = random.randrange(QUERIES)
                answer(made, f"s{at}", tell, name=f"n{at}" if at % 3 == 0 else None)
        except (OverBudget, TooManyResumes):
            continue


def run_plan(made: Ledger, at: int, tell: Callable[[str, bytes], None]) -> None:
    (paid,) = made.prepay((of(at),))
    for slot, query in enumerate(of(at).texts):
        answer(made, query, tell, paid, slot)


def of(at: int) -> PlanRequest:
    return plan(*(f"p{at} {slot}" for slot in range(3)), slots=((("patient", HALVES),),) * 3)


def answer(made: Ledger, query: str, tell: Callable[[str, bytes], None], *paid: Any, name: str | None = None) -> None:
    """In two steps; the answer is what they drew."""
    granted = made.reserve(ask(query, name=name, charges=(("patient", HALVES),)), *paid)
    if not isinstance(granted, Permit):
        tell(granted.release_id, granted.answer)
        return
    drawn = [step.noisy for step in made.drawn(granted)]
    for step in range(len(drawn), 2):
        drawn.append(made.draw(granted, step, {"patient": HALVES[:1]}, os.urandom(4)))
        tell(f"{granted.release_id}.{step}", drawn[-1])
    tell(granted.release_id, made.release(granted, b"".join(drawn)).answer)


def look(path: Place, told: Told, before: Fraction) -> Counter[str]:
    """What the ledger holds after a death; an AssertionError if that is not as it has to be."""
    with Ledger.open(path) as made:
        assert made.verify() == (), made.verify()
        entries = made.history()
        with made._store.transaction("DEFERRED") as db:
            paid = [losses.read(loss).epsilon for (loss,) in db.execute("SELECT loss FROM plan_line")]
            drawn = db.execute("SELECT charge, step, noisy FROM draw").fetchall()
            answers = {f"r{number}": found for number, found in db.execute("SELECT id, answer FROM charge")}
        steps = {f"r{charge}.{step}": noisy for charge, step, noisy in drawn}
        for what, given in told.items():
            assert (steps if "." in what else answers)[what] == bytes.fromhex(given), what
        for release, found in answers.items():
            if found is not None and f"{release}.1" in steps:
                assert found == steps[f"{release}.0"] + steps[f"{release}.1"]
        assert len({entry.query for entry in entries}) == len(entries)  # no query has two charges, and no plan
        assert len(paid) == sum(made.find_plan(of(at)) is not None for at in range(PLANS))
        alone = sum(1 for entry in entries if entry.plan is None) - (2 if before else 0)
        assert made.spent("patient").epsilon == before + alone * SHARE + sum(paid)
        for entry in entries:
            if entry.state == "reserved" and entry.resumes >= 3:
                made.allow_resume(entry.release_id)
        return Counter(entry.state for entry in entries) + Counter(plans=len(paid))


def finish(path: Place, told: Told, before: Fraction) -> None:
    """Every charge without an answer is taken up, and every slot of a plan; nothing of it is charged again."""

    def keep(what: str, given: bytes) -> None:
        assert told.setdefault(what, given.hex()) == given.hex()

    with Ledger.open(path) as made:
        spent = made.spent("patient")
        for at in range(PLANS):
            if made.find_plan(of(at)) is not None:
                run_plan(made, at, keep)
        for entry in made.history():
            if entry.state == "reserved" and entry.query != "q1":
                answer(made, entry.query, keep)
        assert made.spent("patient") == spent
    assert look(path, told, before)["reserved"] <= 1  # q1 of an older layout is left as it was


def kill(folder: str, kills: str) -> None:
    home, span, seen = Path(folder), 0.03, Counter[str]()
    path, told, before = home / "l", Told(), Fraction(0)
    for at in range(int(kills)):
        if at % AT_ONCE == 0:
            layout = at // AT_ONCE % VERSION
            told, before = Told(), BEFORE if layout else Fraction(0)
            if layout:
                older(path, layout)
            else:
                ledger(budget(20 * SHARE), path=path).close()
        gave = die(path, told, span)
        seen["deaths"] += 1
        seen["gave"] += gave
        span *= 0.9 if gave else 1.3  # a third of them die before anything was given out, however busy the machine
        found = look(path, told, before)
        if at % AT_ONCE == AT_ONCE - 1:
            finish(path, told, before)
            seen += found
            clear(home)
    print(json.dumps(seen))


def die(place: Place, told: Told, span: float) -> bool:
    """One process uses the ledger and is killed within the span. Whether it gave anything out."""
    reading, writing = os.pipe()
    pid = in_child(partial(use, place, partial(told_by, writing)))
    time.sleep(random.uniform(0, span))
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "it ended by itself"
    os.close(writing)
    with os.fdopen(reading) as given:
        new = Told(line.split() for line in given)
    assert all(told.setdefault(what, given) == given for what, given in new.items())
    return bool(new)


def serve(address: str, kills: str) -> None:
    ledger(budget(20 * SHARE), path=address).close()
    span, seen, told = 0.2, Counter[str](), Told()
    for _ in range(int(kills)):
        gave = die(address, told, span)
        seen["deaths"] += 1
        seen["gave"] += gave
        span *= 0.95 if gave else 1.1
        look(address, told, Fraction(0))
    finish(address, told, Fraction(0))
    print(json.dumps(seen))


def told_by(writing: int, what: str, given: bytes) -> None:
    os.write(writing, f"{what} {given.hex()}\n".encode())


def clear(home: Path) -> None:
    for found in home.iterdir():
        assert re.fullmatch(r"l(\.layout-\d+)?", found.name), found.name
        found.unlink()


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def around(steps: list[int], after: bool, strike: Callable[[], None], statement: Callable[[], Any]) -> Any:
    """The process is struck before or after its n-th statement."""
    steps[0] -= 1
    if steps[0] == 0 and not after:
        strike()
    done = statement()
    if steps[0] == 0 and after:
        strike()
    return done


def step(folder: str, stride: str, strike: Callable[[], None] = end) -> None:
    home, connect, seen = Path(folder), sqlite3.connect, Counter[str]()
    reading, writing = os.pipe()

    def child(number: int, after: bool) -> None:
        steps = [number]
        struck = partial(around, steps, after, strike)
        sqlite3.connect = lambda *args, **more: Watched(connect(*args, **more), struck)
        tell = partial(told_by, writing)
        for _ in range(3):
            try:
                made = Ledger.open(home / "l")
                answer(made, "s0", tell, name="n0")
                run_plan(made, 0, tell)
                break
            except LedgerError as trouble:
                if strike is end or not re.search(TROUBLE, str(trouble)):
                    raise
        os._exit(0 if steps[0] > 0 else 3)

    number, more = 1, True
    while more:
        for after in (False, True):
            older(home / "l", 1 if number % 2 else VERSION - 1)
            _, status = os.waitpid(in_child(partial(child, number, after)), 0)
            more = status != 0
            assert os.WIFSIGNALED(status) if more and strike is end else status in (0, 3 << 8), status
            os.write(writing, b"end\n")
            given = os.read(reading, 1 << 16).decode().split("\n")[:-2]
            told = Told(line.split() for line in given)
            seen += look(home / "l", told, BEFORE)
            finish(home / "l", told, BEFORE)
            seen["deaths"] += more
            seen["gave"] += bool(told)
            clear(home)
        number += int(stride)
    print(json.dumps(seen))


TROUBLE = "the disk is full|the disk reports an error|cannot be opened|is damaged"


if __name__ == "__main__":
    work: dict[str, Callable[[str, str], None]] = {
        "kill": kill,
        "serve": serve,
        "step": step,
        "sync": partial(step, strike=partial(refuse, SYNC, errno.EIO)),
        "full": partial(step, strike=partial(refuse, WRITE, errno.ENOSPC)),
    }
    work[sys.argv[1]](*sys.argv[2:])
