"""What would have been refused, had the budgets been others: the history of a ledger, charged anew and nowhere written.

Charges pay from the budgets that they paid from, in the windows in which they did; a plan costs what it was charged.
What is refused is not charged, so that what comes after may find more; each way of adding up has its own history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from privql.diagnostics import NOWHERE, Source, refuse
from privql.frozen import frozen
from privql.kernel.cost import amount_text
from privql.kernel.filters import WAYS, Way
from privql.ledger import BudgetRow, Reason, Spending, Tally
from privql.ledger.policies import Policy, proposed
from privql.names import fold
from privql.pipeline.figures import left_text
from privql.pipeline.policies import catalog_from_ledger, declared, read_policy
from privql.pipeline.versions import opened
from privql.policy.build import build_catalog
from privql.policy.catalog import Budget, Catalog
from privql.policy.findings import accepted, listing
from privql.syntax import quote

How = Way | Literal["any"]
HOWS: tuple[How, ...] = (*WAYS, "any")
_TOLD = {"plain": "plainly", "renyi": "by Rényi divergence", "gaussian": "as Gaussians", "any": "by any of them"}
_LISTED = 12  # refusals that a line names


@frozen
class Refused:
    what: str
    why: Reason


@frozen
class BudgetOutcome:
    budget: BudgetRow
    charged: int  # queries and plans that paid from it
    refused: Mapping[How, tuple[Refused, ...]]
    left: Fraction  # pure ε, after all that any of the ways admits, in the last window

    def __str__(self) -> str:
        delta = f", δ = {amount_text(self.budget.delta)}" if self.budget.delta else ""
        out = [f"budget {self.budget.name} ({self.budget.unit}), ε = {amount_text(self.budget.epsilon)}{delta}: "]
        out[0] += f"{self.charged} charged"
        out += [f"  added up {_TOLD[how]}: {_listed(self.refused[how])}" for how in HOWS]
        return "\n".join([*out, f"  left: ε = {left_text(self.left)}"])

    def to_json(self) -> dict[str, Any]:
        return {
            "budget": self.budget.name,
            "unit": self.budget.unit,
            "epsilon": str(self.budget.epsilon),
            "delta": str(self.budget.delta),
            "charged": self.charged,
            "refused": {how: [{"what": one.what, "why": one.why} for one in self.refused[how]] for how in HOWS},
            "left": str(self.left),
        }


@frozen
class WhatIf:
    budgets: tuple[BudgetOutcome, ...]
    unpaid: tuple[str, ...]  # what paid from a budget that would not be there

    def __str__(self) -> str:
        gone = [f"without a budget: {', '.join(self.unpaid)}"] if self.unpaid else []
        return "\n".join([*map(str, self.budgets), *gone]) or "nothing was charged"

    def to_json(self) -> dict[str, Any]:
        return {"budgets": [each.to_json() for each in self.budgets], "unpaid": list(self.unpaid)}


def _listed(refused: Sequence[Refused]) -> str:
    if not refused:
        return "nothing is refused"
    named = [one.what if one.why == "budget" else f"{one.what} ({one.why})" for one in refused[:_LISTED]]
    return f"{len(refused)} refused: {', '.join(named)}{', …' if len(refused) > _LISTED else ''}"


def what_if(
    ledger: str | Path,
    policy: str | Path | None = None,
    budget: str | None = None,
    epsilon: str | None = None,
    delta: str | None = None,
    shares: str | None = None,
) -> WhatIf:
    """Under another policy; or with one budget of the policy in force that has another ε, δ or shares."""
    with opened(ledger) as found:
        history = found.spendings()
        catalog = catalog_from_ledger(found)[0]
        if policy is not None:
            catalog = accepted(*build_catalog(read_policy(policy)[0]))
        elif budget is not None:
            catalog = _with(catalog, _other(catalog, budget, epsilon, delta, shares))
            history = tuple(_only(each, budget) for each in history)
        told = replayed(history, proposed(*declared(catalog)))
    if budget is None:
        return told
    return replace(told, budgets=tuple(each for each in told.budgets if fold(each.budget.name) == fold(budget)))


def _other(catalog: Catalog, name: str, epsilon: str | None, delta: str | None, shares: str | None) -> Budget:
    """The budget as it would be declared: read as a policy is."""
    one = next((each for each in catalog.budgets if fold(each.name) == fold(name)), None)
    if one is None:
        help = f"it has {listing(each.name for each in catalog.budgets)}"
        raise refuse("PQL0511", f"the policy has no budget `{name}`", NOWHERE, help=help)
    there = epsilon or amount_text(one.epsilon), delta or (amount_text(one.delta) if one.delta else "")
    text = f"CREATE UNIT {quote(one.unit)};\nCREATE BUDGET {quote(one.name)} FOR UNIT {quote(one.unit)} EPSILON "
    text += there[0] + (f" DELTA {there[1]}" if there[1] else "") + (f" SHARES ({shares})" if shares else "") + ";"
    made = accepted(*build_catalog(Source(text, "<what if>"))).budgets[0]
    return replace(made, max_epsilon=one.max_epsilon, every=one.every, shares=made.shares if shares else one.shares)


def _with(catalog: Catalog, budget: Budget) -> Catalog:
    """Whom else it grants what stays as it is: a single GRANT closes whatever is not granted."""
    others = (each for each in catalog.budgets if fold(each.name) != fold(budget.name))
    return replace(catalog, budgets=(budget, *others))


def _only(spending: Spending, budget: str) -> Spending:
    return replace(spending, lines=tuple(line for line in spending.lines if fold(line.budget) == fold(budget)))


def replayed(history: Sequence[Spending], policy: Policy) -> WhatIf:
    rows = policy.budgets
    unpaid = tuple(each.what for each in history if any(fold(line.budget) not in rows for line in each.lines))
    history = [each for each in history if each.lines and each.what not in unpaid]
    replays = {how: _Replay(policy, None if how == "any" else how) for how in HOWS}
    for each in history:
        for replay in replays.values():
            replay.charge(each)
    return WhatIf(
        tuple(
            BudgetOutcome(
                row,
                sum(any(fold(line.budget) == name for line in each.lines) for each in history),
                {how: tuple(replays[how].refused[name]) for how in HOWS},
                replays["any"].left(row),
            )
            for name, row in rows.items()
        ),
        unpaid,
    )


class _Replay:
    """The history as one way of adding up would have had it; `way` None: any of them."""

    def __init__(self, policy: Policy, way: Way | None) -> None:
        self._policy, self._way, self._tally = policy, way, Tally()
        self._window: dict[str, int] = defaultdict(int)
        self.refused: dict[str, list[Refused]] = defaultdict(list)

    def charge(self, one: Spending) -> None:
        """All of its lines, or none."""
        for line in one.lines:
            name = fold(line.budget)
            self._window[name] = max(self._window[name], line.window)
            why = self._tally.refusal(self._policy, one.analyst, line, self._way)
            if why is not None:
                self.refused[name].append(Refused(one.what, why))
                return
        for line in one.lines:
            self._tally.add(self._policy, one.analyst, line)

    def left(self, row: BudgetRow) -> Fraction:
        return self._tally.state(self._policy, row, None, self._window[fold(row.name)]).left.epsilon
