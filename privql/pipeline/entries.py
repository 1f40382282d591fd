"""A ledger as its owner and an auditor read it: what was charged, to whom, for what; and its chain, entry by entry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from privql.diagnostics import NOWHERE, refuse
from privql.frozen import frozen
from privql.kernel.events import written
from privql.ledger import Anchor, ChargeLine, Entry, Incident, PlanEntry, PlanLine, read_anchors
from privql.pipeline.versions import opened


@frozen
class Shown:
    """Charges and plans, in the order in which they were charged. `full`: all that is known of each."""

    entries: tuple[Entry | PlanEntry, ...]
    full: bool = False

    def __str__(self) -> str:
        told = (_plan(one) if isinstance(one, PlanEntry) else _charge(one, self.full) for one in self.entries)
        return "\n".join(told) or "nothing was charged"

    def to_json(self) -> dict[str, Any]:
        return {"entries": [_plan_json(x) if isinstance(x, PlanEntry) else _charge_json(x) for x in self.entries]}


def show(ledger: str | Path, what: str | None = None, last: int | None = None) -> Shown:
    """One release (`r7`) or plan (`plan 2`), or all there are; of these the last so many."""
    with opened(ledger) as found:
        entries = found.charged()
    if what is None:
        return Shown(entries if last is None else entries[max(0, len(entries) - last) :])
    wanted = [one for one in entries if one.what == what]
    if not wanted:
        raise refuse("PQL0511", f"the ledger has no `{what}`", NOWHERE, help="write it as `r7` or `plan 2`")
    return Shown(tuple(wanted), full=True)


def export(ledger: str | Path, answers: bool = False) -> Iterator[dict[str, Any]]:
    """Every entry of the chain, in order, with the texts that it commits to; answers only if they are asked for."""
    with opened(ledger) as found:
        links = found.chain()
    for link in links:
        texts: dict[str, Any] = {name: text for name, text in link.texts.items() if isinstance(text, str)}
        if answers and isinstance(answer := link.texts.get("answer"), bytes):
            from privql.finish.result import Release

            texts["answer"] = Release.from_bytes(answer).to_json()
        yield {
            "position": link.position,
            "kind": link.kind,
            "fields": link.fields,
            "head": link.head,
            "texts": texts,
        }


def forget(ledger: str | Path, what: str | None, analyst: str | None, before: str | None, by: str) -> tuple[str, ...]:
    """The owner's: what was forgotten now."""
    with opened(ledger) as found:
        return found.forget(what, analyst=analyst, before=before, by=by)


def incidents(ledger: str | Path) -> tuple[Incident, ...]:
    """The owner's: what failed after it was charged, in the engine's own words."""
    with opened(ledger) as found:
        return found.incidents()


def allow(ledger: str | Path, releases: Sequence[str]) -> None:
    """The owner's: charges that failed, or have no answer, may be taken up again, and count no more."""
    with opened(ledger) as found:
        found.allow_resume(*releases)


def audit(ledger: str | Path, anchors: str | None = None) -> tuple[str, ...]:
    """What is wrong with a ledger, a sentence each. `anchors`: the text of those that were kept elsewhere."""
    with opened(ledger) as found:
        return found.verify(read_anchors(anchors) if anchors is not None else ())


def anchor(ledger: str | Path) -> Anchor:
    with opened(ledger) as found:
        return found.anchor()


def _charge(one: Entry, full: bool) -> str:
    state = {"reserved": "no answer yet", "released": "answered", "forgotten": "forgotten"}[one.state]
    by = f", in plan {one.plan}" if one.plan is not None else ""
    named = f", named {', '.join(one.names)}" if one.names else ""
    out = [f"{_paid(one)}{by}; {state}{named}"]
    out += [one.query] if one.query else []
    if full:
        mechanisms = [f"of {line.unit}: {written(line.events)}" for line in one.charges]
        data = f"data {one.data_version}" if one.data_version else ""
        out += [f"policy version {one.policy_version}", *filter(None, [data]), *mechanisms]
        out += [f"parameters {one.parameters}"] if one.parameters else []
        out += [f"taken up again {one.resumes} times"] if one.resumes else []
        out += [f"failed {one.failures} times"] if one.failures else []
        out += [f"answered {one.released_at}"] if one.released_at else []
    return "\n  ".join("\n".join(out).splitlines())


def _plan(one: PlanEntry) -> str:
    return f"{_paid(one)}; {len(one.slots)} queries"


def _paid(one: Entry | PlanEntry) -> str:
    paid = "; ".join(f"{line.cost} of {line.budget} ({line.unit})" for line in one.charges) or "nothing"
    return f"{one.what}, {one.reserved_at}, {one.analyst}: {paid}"


def _charge_json(one: Entry) -> dict[str, Any]:
    return {
        "id": one.what,
        "kind": "charge",
        "analyst": one.analyst,
        "state": one.state,
        "query": one.query,
        "parameters": json.loads(one.parameters) if one.parameters else None,
        "names": list(one.names),
        "policy_version": one.policy_version,
        "data_versions": json.loads(one.data_version) if one.data_version else {},
        "charges": [_line_json(line) | {"mechanisms": json.loads(written(line.events))} for line in one.charges],
        "plan": one.plan,
        "resumes": one.resumes,
        "failures": one.failures,
        "reserved_at": one.reserved_at,
        "released_at": one.released_at,
    }


def _plan_json(one: PlanEntry) -> dict[str, Any]:
    return {
        "id": one.what,
        "kind": "plan",
        "analyst": one.analyst,
        "policy_version": one.policy_version,
        "queries": len(one.slots),
        "charges": [_line_json(line) for line in one.charges],
        "reserved_at": one.reserved_at,
    }


def _line_json(line: ChargeLine | PlanLine) -> dict[str, Any]:
    cost = {"epsilon": str(line.cost.epsilon), "delta": str(line.cost.delta)}
    return {"unit": line.unit, "budget": line.budget, "window": line.window, **cost}
