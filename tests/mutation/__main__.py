"""`python -m tests.mutation privql/kernel privql/check/narrow.py`: change one thing at a time, and see a test fail.

What survives is a rule that no test holds, or a change that changes nothing. Results are appended to a log as they
come; what is in it is not tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections import Counter, defaultdict
from math import inf
from pathlib import Path
from time import monotonic, time

from tests.assurance import assured
from tests.mutation.changes import Change, changes
from tests.mutation.reached import Reached, watch
from tests.mutation.trial import Stage, trial

ROOT = Path(__file__).resolve().parents[2]
SLOWER = 2  # than when its tests were timed may a trial be, of the processor's time, until it is given up
ELSEWHERE = ("ledger", "mutation", "noise", "surfaces", "syntax")  # what a query means is not decided there
GUESSES = "privql/kernel/guesses.py"  # decides nothing, whatever it says: see tests/kernel/test_guesses.py
TESTS = [f"tests/{at.parent.name}" for at in (ROOT / "tests").glob("*/test_*.py") if at.parent.name not in ELSEWHERE]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("paths", nargs="+", help="modules, or folders of them")
    parser.add_argument("--function", default="", help="only changes in functions whose name holds this")
    parser.add_argument("--sample", type=int, default=0, help="so many of all that can be made (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in which they are tried")
    parser.add_argument("--minutes", type=float, help="as many as end in that time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that try faults side by side")
    parser.add_argument("--log", type=Path, default=ROOT / "build/mutation/log.jsonl")
    parser.add_argument("--reached", type=Path, default=ROOT / "build/mutation/reached.json")
    parser.add_argument("--tests", nargs="*", default=sorted(set(TESTS)))
    parser.add_argument("--seconds", type=float, default=30, help="worth of tests that a fault is shown at most")
    parser.add_argument("--again", action="store_true", help="find out anew which tests reach what")
    args = parser.parse_args()
    if args.again or not args.reached.exists():
        watch(ROOT, args.tests, args.reached)
    args.log.parent.mkdir(parents=True, exist_ok=True)
    wanted = _wanted(args.paths, args.function, args.seed, args.sample)
    known = {entry["key"] for entry in _read(args.log)}
    left = [change for change in wanted if change.key not in known]
    until = inf if args.minutes is None else time() + 60 * args.minutes
    jobs = []
    for job in range(args.jobs):
        jobs.append(child := os.fork())
        if not child:
            _work(left[job :: args.jobs], args.log, Reached(args.reached), args.seconds, until)
            os._exit(0)
    broken = [job for job in jobs if os.waitpid(job, 0)[1]]
    keys = {change.key for change in wanted}
    _report(tried := [entry for entry in _read(args.log) if entry["key"] in keys])
    _counted(tried)
    raise SystemExit(bool(broken))


def _wanted(paths: list[str], function: str, seed: int, sample: int) -> list[Change]:
    """In any order, so that those tried when the time is over are as good a sample of all as any."""
    found = [change for path in _modules(paths) for change in changes(ROOT, path) if function in change.function]
    random.Random(seed).shuffle(found)
    return found[:sample] if sample else found


def _work(left: list[Change], log: Path, reached: Reached, seconds: float, until: float) -> None:
    stage = Stage(ROOT, list(reached.seconds))
    killers = defaultdict[str, Counter[str]](Counter)  # by module: what has found a fault there will find the next
    for entry in _read(log):
        killers[str(entry["path"])][_killer(entry)] += 1
    for change in left:
        if time() < until:
            entry = _tried(change, reached, killers[change.path], stage, seconds)
            killers[change.path][_killer(entry)] += 1
            with log.open("ab", buffering=0) as out:  # in one write, beside the other jobs'
                out.write(f"{json.dumps(entry, ensure_ascii=False)}\n".encode())


def _read(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def _killer(entry: dict[str, object]) -> str:
    return str(entry["verdict"]).removeprefix("killed ")


def _modules(paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        at = ROOT / path
        found += sorted(at.rglob("*.py")) if at.is_dir() else [at]
    return [path for at in found if (path := str(at.relative_to(ROOT))) != GUESSES]


def _tried(change: Change, reached: Reached, killers: Counter[str], stage: Stage, seconds: float) -> dict[str, object]:
    """Shown first to the tests that found others, then to those that are about it."""
    began, names = monotonic(), reached.tests(change.path, change.function)
    names.sort(key=lambda name: -killers[name])
    verdict = stage.trial(change, _affordable(names, reached, seconds), SLOWER * seconds) if names else "unreached"
    # what was made while files were imported, such as functions inside of this one, was made before the fault
    before = verdict == "survived" and reached.importing(change.path, change.function)
    if before or verdict in ("timeout", "elsewhere"):
        verdict = trial(ROOT, change, _affordable(names, reached, seconds), SLOWER * seconds)
    print(f"{verdict:9.9} {change.path}:{change.line} {change.kind}: {change.before} -> {change.after}", flush=True)
    return {
        "key": change.key,
        "path": change.path,
        "line": change.line,
        "function": change.function,
        "kind": change.kind,
        "before": change.before,
        "after": change.after,
        "verdict": verdict,
        "tests": len(names),
        "seconds": round(monotonic() - began, 2),
    }


def _affordable(names: list[str], reached: Reached, seconds: float) -> list[str]:
    """As many as fit, and the first in any case."""
    taken: list[str] = []
    for name in names:
        seconds -= reached.seconds[name] + 0.002
        if taken and seconds < 0:
            break
        taken.append(name)
    return taken


def _counted(tried: list[dict[str, object]]) -> None:
    """For docs/assurance.md. What is no fault is argued in `argued.json`."""
    argued = json.loads((ROOT / "tests/mutation/argued.json").read_text("utf-8"))
    with assured("mutants") as tally:
        for entry in tried:
            tally["tried"] += 1
            tally["that no test enters"] += entry["verdict"] == "unreached"
            if without_place(str(entry["key"])) in argued:
                tally["argued to change nothing"] += 1
                continue
            tally["faults that are any"] += 1
            tally["killed"] += str(entry["verdict"]).startswith(("killed", "timeout"))


def without_place(key: str) -> str:
    """What a fault is, wherever in its function it stands."""
    return key.rpartition(":")[0]


def _report(log: list[dict[str, object]]) -> None:
    print()
    for path in dict.fromkeys(entry["path"] for entry in log):
        count = Counter(str(entry["verdict"]).split()[0] for entry in log if entry["path"] == path)
        print(f"{path}: {', '.join(f'{n} {verdict}' for verdict, n in count.most_common())}")


if __name__ == "__main__":
    main()
