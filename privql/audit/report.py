"""What an audit tells: of each step what was claimed and what was seen of it, layer by layer, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

from privql.audit.black_box import MISS, BlackBox, Case
from privql.audit.brute import Brute, Moved
from privql.audit.faults import NO_FAULT, Fault
from privql.audit.replay import Replay
from privql.audit.steps import Step
from privql.finish.text import text_table
from privql.frozen import frozen
from privql.kernel.bounds import Chosen
from privql.kernel.cost import Cost, amount_text
from privql.kernel.selection import Selected

Layer = Literal["small databases", "replay", "black box"]
Verdict = Literal["not contradicted", "inconclusive", "contradicted"]


@frozen
class Tried:
    """One step of a statement, in the first layer and the last."""

    step: Step
    brute: Brute
    black_box: BlackBox

    @property
    def does(self) -> str:
        kinds = {type(one) for one in self.step.wanted}
        if Selected in kinds:
            return "looking for groups"
        return "looking for bounds" if Chosen in kinds else "measuring"

    @property
    def found(self) -> dict[Layer, list[str]]:
        """What contradicts the claim."""
        far = [
            f"{moved.claim.what}: one unit moves that by {_number(moved.far)}, claimed is {_number(moved.claim.most)}"
            for each in self.brute.moved
            for moved in each
            if not moved.kept
        ]
        if self.brute.otherwise:
            many = len(self.brute.otherwise)
            far.append(f"the engine says something else than the term means, or nothing, on {many} databases")
        out: dict[Layer, list[str]] = {"small databases": far} if far else {}
        best, claimed = self.black_box.best, float(self.step.cost.epsilon)
        seen = []
        if best is not None and best.shown.epsilon > claimed:
            seen.append(f"answers exclude every ε below {_down(best.shown.epsilon)}: {event(best)}")
        if self.black_box.failed:
            seen.append("the engine fails on invented rows")
        return {**out, "black box": seen} if seen else out

    @property
    def untried(self) -> list[str]:
        """What of the claim no row was found for: all that was looked at is the same, whatever is claimed."""
        still = []
        for *parts, whole in self.brute.moved:  # where the whole stands still, so does each part
            still += [one.claim.what for one in (parts if whole.far else [whole]) if one.claim.most and not one.far]
        out = [f"no row was found that this part of the query measures: {what} did not move" for what in still]
        if self.black_box.best is None and not out:
            out.append("the black box had no neighbours whose answers could be told apart")
        return out


@frozen
class Statement:
    line: int
    kind: str
    claimed: dict[str, Cost]  # by unit
    parts: dict[str, list[str]]  # by unit, those outside of which nothing is read
    steps: tuple[Tried, ...]


@frozen
class Report:
    statements: tuple[Statement, ...]
    replay: Replay
    fault: Fault = NO_FAULT
    invented: tuple[str, ...] = ()  # public tables whose files are not there

    @property
    def found(self) -> dict[Layer, list[str]]:
        out: dict[Layer, list[str]] = {}
        for statement in self.statements:
            for tried in statement.steps:
                for layer, words in tried.found.items():
                    out.setdefault(layer, []).extend(f"line {statement.line}, {tried.does}: {word}" for word in words)
        if self.replay.differ:
            differ = ", ".join(self.replay.differ)
            out["replay"] = [f"with the noise held still, neighbours differ in {differ}"]
        return out

    @property
    def untried(self) -> list[str]:
        """Why nothing that contradicts the claims says nothing of them."""
        out = []
        for statement in self.statements:
            if not statement.steps and any(cost.epsilon for cost in statement.claimed.values()):
                out.append(f"line {statement.line}: nothing was found on invented rows, so nothing was measured")
            out += [f"line {statement.line}, {tried.does}: {why}" for tried in statement.steps for why in tried.untried]
        if self.replay.pairs and not self.replay.answered:
            out.append("replay: no pair of neighbours had an answer")
        if self.fault.name and not self.found:
            out.append(f"the planted fault `{self.fault.name}` was not found; more draws or databases may find it")
        return out

    @property
    def verdict(self) -> Verdict:
        if self.found:
            return "contradicted"
        return "inconclusive" if self.untried else "not contradicted"

    @property
    def ok(self) -> bool:
        return self.verdict == "not contradicted"

    def __str__(self) -> str:
        lines = ["invented rows, a ledger in memory: no private row was read, nothing was spent"]
        if self.invented:
            lines.append(f"(rows of {', '.join(self.invented)} are invented: their files are not there)")
        if self.fault.name:
            lines.append(f"planted fault: {self.fault.name} - {self.fault.says}")
        for one in self.statements:
            claimed = "; ".join(f"{cost} of {unit}{_in(one.parts.get(unit))}" for unit, cost in one.claimed.items())
            lines += ["", f"line {one.line}: {one.kind}, {claimed or 'free'}"]
            if one.steps:
                rows = [row for tried in one.steps for row in _rows(tried)]
                lines.append(text_table(["step", "layer", "tried", "claimed", "seen"], rows))
                lines += [f"({event(best)})" for tried in one.steps if (best := tried.black_box.best) is not None]
        lines += ["", *self._replayed(), "", *self._verdict()]
        return "\n".join(lines)

    def _replayed(self) -> list[str]:
        many = self.replay.pairs
        differ = ", ".join(self.replay.differ)
        same = f"not the same: {differ}" if differ else "all that is seen is the same"
        return [
            f"replay: {many} pairs of neighbours with the noise held still, {self.replay.answered} answered: {same}"
        ]

    def _verdict(self) -> list[str]:
        untried = [f"  {why}" for why in self.untried]
        match self.verdict:
            case "contradicted":
                told = [f"  {layer}: {word}" for layer, words in self.found.items() for word in words]
                return ["verdict: the claims are contradicted", *told, *untried]
            case "inconclusive":
                return ["verdict: inconclusive - what contradicts the claims might not have been seen", *untried]
            case _:
                return ["verdict: nothing contradicts the claims"]

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "verdict": self.verdict,
            "fault": self.fault.name or None,
            "statements": [
                {
                    "line": one.line,
                    "kind": one.kind,
                    "claimed": {unit: _cost(cost) for unit, cost in one.claimed.items()},
                    "parts": one.parts,
                    "steps": [_step(tried) for tried in one.steps],
                }
                for one in self.statements
            ],
            "replay": {
                "pairs": self.replay.pairs,
                "answered": self.replay.answered,
                "differ": list(self.replay.differ),
            },
            "found": [{"layer": layer, "words": word} for layer, words in self.found.items() for word in words],
            "untried": self.untried,
        }


def _rows(tried: Tried) -> Iterator[Sequence[str]]:
    brute, black = tried.brute, tried.black_box
    what = f"{brute.databases} databases, {brute.pairs} pairs; {brute.by_engine} by the engine"
    for at, each in enumerate(brute.moved):
        *_, price = each
        yield tried.does if not at else "", "small databases", what if not at else "", _claimed(price), _seen(price)
    best = black.best
    shown = "-" if best is None else f"ε ≥ {_down(best.shown.epsilon)}"
    yield "", "black box", f"{black.tried} pairs, {black.draws} answers of the best", _most(tried.step.cost), shown


def _in(parts: Sequence[str] | None) -> str:
    return "" if parts is None else f" in {', '.join(parts)}"


def _claimed(moved: Moved) -> str:
    return f"{moved.claim.what.partition(' ')[0]} ≤ {_number(moved.claim.most)}"


def _most(cost: Cost) -> str:
    delta = f", δ ≤ {_number(cost.delta)}" if cost.delta else ""
    return f"ε ≤ {_number(cost.epsilon)}{delta}"


def _seen(moved: Moved) -> str:
    return f"{moved.claim.what.partition(' ')[0]} = {_number(moved.far)}"


def event(case: Case) -> str:
    """What told the neighbours apart."""
    shown, pair = case.shown, case.pair
    sides = [len(pair.one), len(pair.other)]
    same = sides[0] == sides[1]
    names = [f"among {many} units" for many in sides]
    if same:
        names = [f"among {sides[0]} units", "after one changed"]
    one, other = names if shown.first else reversed(names)
    if not shown.epsilon:
        return "no event was seen to tell the neighbours apart"
    percents = (f"{100 * hits / shown.count:.1f} %" for hits in (shown.hits, shown.others))
    return f"{shown.event}: {next(percents)} {one}, {next(percents)} {other}"


def _step(tried: Tried) -> dict[str, Any]:
    best = tried.black_box.best
    return {
        "does": tried.does,
        "unit": tried.step.unit,
        "claimed": _cost(tried.step.cost),
        "small_databases": {
            "databases": tried.brute.databases,
            "pairs": tried.brute.pairs,
            "kinds_of_rows": tried.brute.all_of,
            "by_engine": tried.brute.by_engine,
            "engine_differs": len(tried.brute.otherwise),
            "claims": [
                {"what": one.claim.what, "claimed": str(one.claim.most), "seen": str(one.far), "kept": one.kept}
                for each in tried.brute.moved
                for one in each
            ],
        },
        "black_box": {
            "pairs": tried.black_box.tried,
            "answers": tried.black_box.draws,
            "epsilon": None if best is None else best.shown.epsilon,
            "event": None if best is None else event(best),
            "wrong_by_chance": MISS,
        },
    }


def _cost(cost: Cost) -> dict[str, str]:
    return {"epsilon": amount_text(cost.epsilon), "delta": amount_text(cost.delta)}


def _number(value: Fraction) -> str:
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value.numerator)
    return f"{float(value):.4g}"


def _down(value: float) -> str:
    return f"{math.floor(value * 1000) / 1000:.3f}"
