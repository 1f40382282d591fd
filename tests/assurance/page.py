"""The table of docs/assurance.md, written from what each machine counted when it last ran."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.assurance.machines import MACHINES, Machine

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, KEPT = DOCS / "assurance.md", DOCS / "assurance.json"
Run = Mapping[str, Any]  # figures, since, date, seconds, command, failed

_HEAD = ["| what is tried | how many | wrong | beside | when, for how long | again |", "|---|---|---|---|---|---|"]
_TABLE = re.compile(r"^\| what is tried .*\n(?:\|.*\n)*", re.MULTILINE)


def render(text: str, runs: Mapping[str, Run]) -> str:
    """The page with the table as it should be."""
    table = "\n".join([*_HEAD, *(_row(machine, runs.get(machine.name)) for machine in MACHINES.values())]) + "\n"
    assert len(_TABLE.findall(text)) == 1
    return _TABLE.sub(lambda _: table, text)


def write() -> None:
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), runs()), encoding="utf-8")


def _row(machine: Machine, run: Run | None) -> str:
    again = f"`make soak MACHINE={machine.name}`"
    if run is None:
        return f"| {machine.title} | 0 of {_number(machine.full)} {machine.unit} | | | not yet run | {again} |"
    figures = run["figures"]
    tried, wrong = figures["tried"], figures["wrong"]
    many = _number(tried) if tried >= machine.full else f"{_number(tried)} of {_number(machine.full)}"
    said = str(wrong) if wrong or not run["failed"] else "its tests failed"
    beside = [f"{_number(figures.get(word, 0))} {word}" for word in machine.beside]
    if machine.share is not None:
        part, whole, least = machine.share
        of = figures.get(whole, 0)
        share = f"{100 * figures.get(part, 0) / of:.1f}" if of else "?"
        beside.append(f"{share} % of {_number(of)} {whole} {part} (≥ {100 * float(least):g} %)")
    when = run["date"] if run["since"] == run["date"] else f"{run['since']} to {run['date']}"
    when += f", {_duration(run['seconds'])}"
    return f"| {machine.title} | {many} {machine.unit} | {said} | {', '.join(beside)} | {when} | `{run['command']}` |"


def _number(value: int) -> str:
    return f"{value:,}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def runs() -> dict[str, Run]:
    found: dict[str, Run] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def keep(name: str, run: Run) -> None:
    """One machine's last run, the others' as they were; and the page."""
    found = {**runs(), name: run}
    ordered = {each: found[each] for each in MACHINES if each in found}
    KEPT.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write()
