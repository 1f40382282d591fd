"""`python -m tests.assurance [MACHINE …] [--minutes N]`: run machines at full length, and write docs/assurance.md."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from functools import partial

import pytest

from tests.assurance.machines import MACHINES, Machine
from tests.assurance.page import keep, runs, write
from tests.assurance.parts import shortened, written_out
from tests.assurance.recorder import FOLDER, ROOT, forget, kept


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.assurance", description=__doc__)
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help="which (default: all, one after another)")
    parser.add_argument("--minutes", type=float, help="for each: as many parts as end in that time")
    parser.add_argument("--go-on", action="store_true", help="leave out the parts that have passed before")
    parser.add_argument("--page", action="store_true", help="run nothing: write the page of what was run")
    args = parser.parse_args()
    if args.page:
        write()
        return 0
    if unknown := set(args.machines) - set(MACHINES):
        parser.error(f"{min(unknown)} is none of {', '.join(MACHINES)}")
    done = [_run(MACHINES[name], args.minutes, args.go_on) for name in args.machines or MACHINES]
    return 0 if all(done) else 1


def _run(machine: Machine, minutes: float | None, go_on: bool) -> bool:
    before = runs().get(machine.name, {}) if go_on else {}
    done = written_out(before.get("parts", {}))
    if not done:
        before = {}
    forget(machine.name)
    began, when = time.time(), datetime.now(UTC)
    print(f"{machine.name}: {machine.title}", flush=True)
    if machine.command:  # minds the time by itself, and what tests it runs are as short as ever
        timed = ("--minutes", f"{minutes:g}") if minutes else ()
        ended = _ended([sys.executable, *machine.command, *timed], dict(os.environ), None)
    else:
        soaking = {"PRIVQL_SOAK": "1", "PRIVQL_UNTIL": str(began + 60 * minutes) if minutes else ""}
        tests = [f"tests/{test}" for test in machine.tests]
        command = ["-m", "pytest", "-n", "auto", "--maxschedchunk", "1", "-k", "not planted", *tests]
        command += ["--typeguard-packages="]  # of types a slice sees as much, and half as many cases again fit in a day
        command += [f"--deselect={part}" for part in done]
        ended = _ended([sys.executable, *command], {**os.environ, **soaking}, minutes)
    figures, passed = kept(machine.name)
    if before:
        figures.update({**before["figures"], "wrong": 0})  # what was wrong was tried again
    nothing_left = bool(done) and ended == pytest.ExitCode.NO_TESTS_COLLECTED
    right = ended == 0 or nothing_left or (ended is None and not figures["wrong"])
    if not figures["tried"]:
        print(f"{machine.name} tried nothing, and its line stays what it was", file=sys.stderr)
        return False
    run = {
        "since": before.get("since", f"{when:%Y-%m-%d}"),
        "date": f"{when:%Y-%m-%d}",
        "seconds": before.get("seconds", 0) + round(time.time() - began),
        "command": f"make soak MACHINE={machine.name}" + (f" MINUTES={minutes:g}" if minutes and not done else ""),
        "failed": not right,
        "figures": dict(sorted(figures.items())),
    }
    if figures["tried"] < machine.full and not machine.command:  # there is something to go on with
        run["parts"] = shortened([*done, *passed])
    keep(machine.name, run)
    if machine.share is not None:
        part, of, least = machine.share
        if figures[part] < least * figures[of]:
            print(f"{machine.name}: {figures[part]} {part} of {figures[of]} {of}", file=sys.stderr)
            right = False
    whole = minutes is not None or figures["tried"] >= machine.full
    if not whole:
        print(f"{machine.name} tried {figures['tried']}, and should {machine.full}", file=sys.stderr)
    print(f"{machine.name}: {dict(figures)}; kept in {FOLDER.relative_to(ROOT)}", flush=True)
    return right and whole and not figures["wrong"]


def _ended(command: list[str], environment: dict[str, str], minutes: float | None) -> int | None:
    """How it ended by itself; None if its time was over. What a part has counted until then is not counted."""
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs in the background does not, else
    running = subprocess.Popen(command, cwd=ROOT, env=environment, preexec_fn=heeds)
    try:
        return running.wait(60 * minutes if minutes else None)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGINT)
        running.wait()
        return None


if __name__ == "__main__":
    raise SystemExit(main())
