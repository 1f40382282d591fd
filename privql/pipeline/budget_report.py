"""What of an analyst's budgets is spent and what is left, a fact a line: to whom a limit belongs is said with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from itertools import groupby
from typing import Any

from privql.frozen import frozen
from privql.kernel.cost import Cost, amount_text
from privql.kernel.events import Events
from privql.ledger import BudgetState, column_of
from privql.pipeline.figures import left_text, moment, more_text
from privql.pipeline.price import MOST_NAMED

_NO_PART = "\0"  # a part of which nothing was asked


@frozen
class BudgetReport:
    """Spent and left of each. `last`: what a unit met by the analyst's last query from each."""

    budgets: tuple[BudgetState, ...]
    last: Mapping[str, Events] = field(default_factory=dict)

    def line(self) -> str:
        return "; ".join(
            f"{one.budget.name}: ε = {left_text(one.left.epsilon)} left{self._like_it(one)}" for one in self.budgets
        )

    def _like_it(self, one: BudgetState) -> str:
        """What people ask of an ε: how many more of their queries that is."""
        more = self.more(one)
        return "" if more is None else f", or {more} more like your last query"

    def more(self, one: BudgetState) -> int | None:
        last = self.last.get(one.budget.name)
        return one.more_like(last) if last else None

    def __str__(self) -> str:
        if not self.budgets:
            return "no budget is open to you: ask in the name that was granted one, `--as NAME`"
        lines = []
        for (name, unit), facts in groupby(self.facts(), key=lambda fact: fact[:2]):
            lines += [f"{name} ({unit})", *(f"  {what}: {amount}" for *_, what, amount in facts)]
        return "\n".join(lines)

    def facts(self) -> tuple[tuple[str, str, str, str], ...]:
        """Of which budget for which unit, what is said of it, and that."""
        return tuple(
            (one.budget.name, one.budget.unit, *fact) for one in self.budgets for fact in _facts(one, self.more(one))
        )

    def to_json(self) -> dict[str, Any]:
        return {"budgets": [_json(one, self.more(one)) for one in self.budgets]}


def _facts(one: BudgetState, more: int | None) -> Iterator[tuple[str, str]]:
    budget, grant = one.budget, one.grant
    limit = grant is not None and not grant.epsilon is grant.delta is None
    binding = "your limit" if one.bound_by == "grant" else "the budget"
    yield "left to you", f"ε = {left_text(one.left.epsilon)}" + (f", by {binding}" if limit else "")
    for partition, named, others in _left_in_parts(one):
        yield f"left in single parts of {column_of(partition)[0]}", _in_parts(partition, named, others)
    if more is not None:
        yield "more like your last query", str(more)
    if budget.delta:
        found, noise = left_text(one.left.delta), left_text(one.noise_delta)
        yield "left to you of δ", f"{found} to find groups, {noise} for noise and plans"
    if limit:
        yield "your limit", _amount(one.limit, amount_text)
    yield "spent by you", _amount(one.own, more_text)
    yield "the budget", _amount(budget.cap, amount_text) + _until(one)
    yield "spent by everyone", _amount(one.spent, more_text)
    if budget.max_epsilon is not None:
        yield "most for one query", f"ε = {amount_text(budget.max_epsilon)}"
    if budget.default_epsilon is not None:
        yield (
            "a query that does not say",
            _amount(Cost(budget.default_epsilon, budget.default_delta or Fraction(0)), amount_text),
        )
    if one.in_all is not None:
        yield "in all", all_windows(one)


def _left_in_parts(one: BudgetState) -> Iterator[tuple[str, dict[str, Fraction], Fraction]]:
    """By partition, what is left of each part that something was charged to by itself, and of every other."""
    for partition, found in groupby(one.divided, lambda where: where.partition):
        each = list(found)
        left = {where.parts[0]: one.at(where).left.epsilon for where in each}
        yield partition, left, one.at(replace(each[0], parts=(_NO_PART,))).left.epsilon


def _in_parts(partition: str, named: Mapping[str, Fraction], others: Fraction) -> str:
    _, column = column_of(partition)
    told = [f"{left_text(left)} where {column} = '{part}'" for part, left in named.items()]
    if len(told) > MOST_NAMED:
        told = [f"{left_text(min(named.values()))} to {left_text(max(named.values()))} in {len(named)} parts"]
    return f"ε = {', '.join(told)}, {left_text(others)} in others"


def _amount(cost: Cost, text: Callable[[Fraction], str]) -> str:
    return f"ε = {text(cost.epsilon)}" + (f", δ = {text(cost.delta)}" if cost.delta else "")


def _until(one: BudgetState) -> str:
    """Which window its amounts are of; nothing if it has but one."""
    if one.in_all is None:
        return ""
    end = one.window.until
    return " in the last window" if end is None else f" in this window (until {moment(end)})"


def all_windows(one: BudgetState) -> str:
    """What several windows come to: whoever reads what is left of one should see it."""
    assert one.in_all is not None
    lost, count = one.in_all.cost, one.window.number + 1
    windows = "window" if count == 1 else "windows"
    return f"since {one.in_all.since:%Y-%m-%d}: {_amount(lost, more_text)} in {count} {windows}"


def _json(one: BudgetState, more: int | None) -> dict[str, Any]:
    def text(amount: Fraction | None) -> str | None:
        return None if amount is None else str(amount)

    def windows() -> dict[str, Any]:
        """Of a budget that renews: the amounts are those of the window that is open."""
        if one.in_all is None:
            return {}
        until, lost = one.window.until, one.in_all.cost
        return {
            "window": {"number": one.window.number + 1, "until": None if until is None else until.isoformat()},
            "in_all": {
                "since": one.in_all.since.isoformat(),
                "spent": text(lost.epsilon),
                "delta_spent": text(lost.delta),
            },
        }

    def parts() -> dict[str, Any]:
        """Of a budget of which something was charged to single parts."""
        found = []
        for partition, named, others in _left_in_parts(one):
            table, column = column_of(partition)
            told = {part: text(left) for part, left in named.items()}
            found.append({"table": table, "column": column, "left": told, "left_in_others": text(others)})
        return {"parts": found} if found else {}

    return {
        **windows(),
        "budget": one.budget.name,
        "unit": one.budget.unit,
        "epsilon": text(one.budget.epsilon),
        "spent": text(one.spent.epsilon),
        "limit": text(one.limit.epsilon),
        "spent_by_you": text(one.own.epsilon),
        "left": text(one.left.epsilon),
        "bound_by": "limit" if one.bound_by == "grant" else "budget",
        "more_like_your_last": more,
        "max_per_query": text(one.budget.max_epsilon),
        "default": text(one.budget.default_epsilon),
        "delta": text(one.budget.delta),
        "delta_spent": text(one.spent.delta),
        "delta_limit": text(one.limit.delta),
        "delta_spent_by_you": text(one.own.delta),
        "delta_left": text(one.left.delta),
        "delta_left_for_noise": text(one.noise_delta),
        "default_delta": text(one.budget.default_delta),
        **parts(),
    }
