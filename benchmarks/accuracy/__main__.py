"""The table: error of PrivQL and of its peers, at the same total budget, for the same rows and the same unit.

    python -m benchmarks.accuracy [--peers FOLDER] [--runs N] [--only WORD ...]

FOLDER (or PRIVQL_PEERS) has an environment for each peer, as `make bench-peers` creates them. A peer that is not there,
or fails, is named; so is an operation that it has not. A ratio is of two figures that are each off by chance: it falls
short where it is above what must be reached by more than two standard errors.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.accuracy import ours
from benchmarks.accuracy.scores import Figure
from benchmarks.accuracy.tasks import Task, tasks

SCRIPTS = Path(__file__).parent / "peers"
PEERS = ["OpenDP", "SmartNoise", "diffprivlib", "PipelineDP"]
NEVER = {"Tumult": "not asked: its package could not be installed where this was written"}
HEAD = ("error of", "PrivQL", "best of the others", "its error", "ratio", "must be", "reached")

Row = tuple[str, ...]


@dataclass(frozen=True)
class Way:
    """One way to ask one of the others."""

    name: str
    figure: Figure


@dataclass
class Report:
    runs: int
    peers: dict[str, Path]  # the interpreter of each that is there
    versions: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=lambda: [HEAD])
    figures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, task: Task) -> None:
        ways = [way for peer in self.peers for way in self._asked(peer, task)]
        for name, query in task.by_hand:
            ways.append(Way(f"PrivQL ({name})", task.score(ours.answers(task, query, self.runs))))
        refusal = ours.refused(task)
        mine = None if refusal else task.score(ours.answers(task, task.query, self.runs))
        if refusal:
            self.notes.append(f"{task.title}: PrivQL refuses it: {refusal}")
        head = task.title, f"{mine.value:.4g}" if mine else "not yet"
        for beside in compared(task, mine, ways):
            self.rows.append((*head, *beside))
            head = "", ""
        self.figures.append(f"{task.title}: " + ", ".join(f"{way.name} {way.figure.value:.4g}" for way in ways))

    def _asked(self, peer: str, task: Task) -> Iterator[Way]:
        reply = asked(self.peers[peer], SCRIPTS / f"ask_{peer.lower()}.py", json.dumps(task.told(self.runs)))
        if "failed" in reply:
            self.notes.append(f"{task.title}: {peer} failed: {reply['failed']}")
            return
        self.versions[peer] = reply["version"]
        for name, answers in reply["ways"].items():
            yield Way(f"{peer} ({name})" if name else peer, task.score(answers))
        for name, (why, answers) in reply["apart"].items():
            self.notes.append(f"{task.title}: {peer} ({name}) {task.score(answers).value:.4g}, not compared: {why}")
        if not reply["ways"] and not reply["apart"]:
            self.notes.append(f"{task.title}: {peer} has no such operation")

    def __str__(self) -> str:
        parts = [
            f"{self.runs} runs; root mean square errors; a ratio's ± is two standard errors",
            ", ".join(f"{name} {version}" for name, version in self.versions.items()) or "no peer was asked",
            "",
            *aligned(self.rows),
            "",
            "all others",
            *(f"  {line}" for line in self.figures),
            "",
            "not compared",
            *(f"  {line}" for line in self.notes),
        ]
        return "\n".join(parts)


@lru_cache(maxsize=2 * len(PEERS))
def asked(python: Path, script: Path, told: str) -> dict[str, Any]:
    done = subprocess.run([str(python), str(script)], input=told, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines() or ["without a word"]
        return {"failed": last[-1][:200]}
    return dict(json.loads(done.stdout))


def compared(task: Task, mine: Figure | None, ways: list[Way]) -> Iterator[Row]:
    """For each goal: the best way that it speaks of, its figure, the ratio, the goal and whether it is reached."""
    for word, goal in task.goals:
        rivals = [way for way in ways if word in way.name]
        if not rivals:
            yield "nobody", "", "", f"{goal:.2f}", ""
            continue
        best = min(rivals, key=lambda way: way.figure.value)
        yield (
            best.name,
            f"{best.figure.value:.4g}",
            *(judged(mine, best.figure, goal) if mine else ("", f"{goal:.2f}", "")),
        )


def judged(mine: Figure, best: Figure, goal: float) -> Row:
    if best.value == 0:
        return "-", f"{goal:.2f}", "yes" if mine.value == 0 else "SHORT"
    ratio = mine.value / best.value
    chance = 2 * ratio * (mine.error**2 + best.error**2) ** 0.5
    reached = "yes" if ratio <= goal else "within chance" if ratio - chance <= goal else "SHORT"
    return f"{ratio:.3f} ± {chance:.3f}", f"{goal:.2f}", reached


def aligned(rows: list[Row]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default=os.environ.get("PRIVQL_PEERS"), help="the folder of their environments")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", nargs="*", default=[""], help="rows with one of these in their name")
    given = parser.parse_args()
    places = {peer: Path(given.peers or "").absolute() / peer.lower() / "bin" / "python" for peer in PEERS}
    there = {peer: python for peer, python in places.items() if given.peers and python.exists()}
    report = Report(given.runs, there)
    report.notes += [f"{peer}: not installed" for peer in PEERS if peer not in there]
    report.notes += [f"{peer}: {why}" for peer, why in NEVER.items()]
    try:
        for task in tasks():
            if any(word in task.title for word in given.only):
                start = time.perf_counter()
                report.add(task)
                print(f"{task.title}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("ended early; what there is:", file=sys.stderr)
    print(report)


if __name__ == "__main__":
    main()
