"""What a machine counts while it runs: of what it tried how much was wrong, in a line of JSON for each part of it.

    CHUNKS = range(length(4, 1000))

    @pytest.mark.parametrize("seed", CHUNKS)
    def test_no_text_is_a_fault(seed: int) -> None:
        with assured("text") as tally:
            for text in texts(seed):
                tally["tried"] += 1
                assert ...

With the other tests a machine runs a slice; `make soak MACHINE=text` runs all of it and writes docs/assurance.md anew,
with `MINUTES=20` as many parts as end in that time. So parts are short: a minute or less. With `GO_ON=1` those that
have passed before are left out, so that a long run can be had in several goes, on several machines: which they are is
kept beside the figures.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tests.assurance.machines import MACHINES

_T = TypeVar("_T")
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "assurance"
SOAK = os.environ.get("PRIVQL_SOAK", "") not in ("", "0")


def length(short: _T, long: _T) -> _T:
    """How many, or which: with the other tests, and where a machine may take its time."""
    return long if SOAK else short


@contextmanager
def assured(name: str) -> Iterator[Counter[str]]:
    """Counts `tried`, and `wrong` if it ends in an exception; whatever else is counted stands beside it on the page.

    What has not ended when the time is over, or when somebody interrupts it, is not counted.
    """
    assert name in MACHINES, f"{name} is not in tests/assurance/machines.py"
    tally = Counter[str](wrong=0)
    try:
        yield tally
        assert tally["tried"] > 0, f"{name} tried nothing"
    except Exception:
        tally["wrong"] += 1
        _count(name, tally)
        raise
    _count(name, tally)


def _count(name: str, tally: Counter[str]) -> None:
    if (SOAK or MACHINES[name].command) and time.time() < float(os.environ.get("PRIVQL_UNTIL") or "inf"):
        part = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")
        FOLDER.mkdir(parents=True, exist_ok=True)
        with open(FOLDER / f"{name}.jsonl", "ab", buffering=0) as out:  # one write, so that several may write at once
            out.write(f"{json.dumps({'part': part, 'tally': dict(tally)})}\n".encode())


def kept(name: str) -> tuple[Counter[str], list[str]]:
    """What all parts in which nothing was wrong counted since the run began, and which they are; how much was wrong."""
    path = FOLDER / f"{name}.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    wrong = {line["part"] for line in lines if line["tally"]["wrong"]}
    found, passed = Counter[str](), dict[str, None]()
    for line in lines:
        if line["part"] in wrong:
            found["wrong"] += line["tally"]["wrong"]
        else:
            found.update(line["tally"])
            passed[line["part"]] = None
    return found, list(passed)


def forget(name: str) -> None:
    (FOLDER / f"{name}.jsonl").unlink(missing_ok=True)
