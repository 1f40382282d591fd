"""`python -m tests.mutation privql/kernel privql/check/narrow.py`: change one thing at a time, and see a test fail.

What survives is a rule that no test holds, or a change that changes nothing. Results are appended to a log as they
come; what is in it is not tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections import Counter
from pathlib import Path
from time import monotonic, time

from tests.assurance import assured
from tests.mutation.changes import Change, changes
from tests.mutation.reached import Reached, watch
from tests.mutation.trial import Stage, trial

ROOT = Path(__file__).resolve().parents[2]
SLOWER = 4  # than when its tests were timed may a trial be, until it is given up
ELSEWHERE = ("ledger", "mutation", "noise", "surfaces", "syntax")  # what a query means is not decided there
TESTS = [f"tests/{at.parent.name}" for at in (ROOT / "tests").glob("*/test_*.py") if at.parent.name not in ELSEWHERE]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("paths", nargs="+", help="modules, or folders of them")
    parser.add_argument("--function", default="", help="only changes in functions whose name holds this")
    parser.add_argument("--sample", type=int, default=0, help="so many of each module (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, default=ROOT / "build/mutation/log.jsonl")
    parser.add_argument("--reached", type=Path, default=ROOT / "build/mutation/reached.json")
    parser.add_argument("--tests", nargs="*", default=sorted(set(TESTS)))
    parser.add_argument("--seconds", type=float, default=30, help="worth of tests that a fault is shown at most")
    parser.add_argument("--again", action="store_true", help="find out anew which tests reach what")
    args = parser.parse_args()
    if args.again or not args.reached.exists():
        watch(ROOT, args.tests, args.reached)
    reached = Reached(args.reached)
    stage = Stage(ROOT, list(reached.seconds))
    args.log.parent.mkdir(parents=True, exist_ok=True)
    log = [json.loads(line) for line in args.log.read_text("utf-8").splitlines()] if args.log.exists() else []
    known = {entry["key"] for entry in log}
    until = float(os.environ.get("PRIVQL_UNTIL") or "inf")
    for path in _modules(args.paths):
        found = [change for change in changes(ROOT, path) if args.function in change.function]
        if args.sample and len(found) > args.sample:
            found = sorted(random.Random(args.seed).sample(found, args.sample), key=lambda change: change.line)
        for change in found:
            if change.key not in known and time() < until:
                entry = _tried(change, reached, _killers(log, path), stage, args.seconds)
                log.append(entry)
                with args.log.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(entry, ensure_ascii=False) + "\n")
    _report(log)
    _counted(log, set(_modules(args.paths)))


def _modules(paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        at = ROOT / path
        found += sorted(at.rglob("*.py")) if at.is_dir() else [at]
    return [str(at.relative_to(ROOT)) for at in found]


def _killers(log: list[dict[str, object]], path: str) -> Counter[str]:
    """How often each test has found a fault in this module: likely, it will find the next."""
    return Counter(str(entry["verdict"]).removeprefix("killed ") for entry in log if entry["path"] == path)


def _tried(change: Change, reached: Reached, killers: Counter[str], stage: Stage, seconds: float) -> dict[str, object]:
    """Shown first to the tests that found others, then to those that enter little else and are quick."""
    began, names = monotonic(), reached.tests(change.path, change.function)
    names.sort(key=lambda name: -killers[name])
    verdict = stage.trial(change, _affordable(names, reached, seconds), SLOWER * seconds) if names else "unreached"
    if verdict in ("survived", "timeout", "elsewhere"):
        # before the fault was there some had done their part; and what is done only once is not in a function
        again = reached.importing(change.path, change.function) if verdict == "survived" else names
        if again:
            verdict = trial(ROOT, change, _affordable(again, reached, seconds), SLOWER * seconds)
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


def _counted(log: list[dict[str, object]], paths: set[str]) -> None:
    """For docs/assurance.md: of these modules, whatever was tried. What is no fault is argued in `argued.json`."""
    argued = json.loads((ROOT / "tests/mutation/argued.json").read_text("utf-8"))
    with assured("mutants") as tally:
        for entry in log:
            if entry["path"] in paths:
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
