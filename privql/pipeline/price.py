"""What a statement costs, and what that takes from a budget."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privql.frozen import frozen
from privql.kernel.cost import Cost, amount_text
from privql.kernel.parallel import InParts
from privql.ledger import column_of
from privql.pipeline.figures import left_text, more_text
from privql.plan.amounts import Amount

MOST_NAMED = 4  # parts that are told one by one


@frozen
class Price:
    """(ε, δ): exact fractions; while parameters have no value, amounts that are linear in them."""

    epsilon: Fraction | Amount = Fraction(0)
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        return f"ε = {_text(self.epsilon)}" + (f", δ = {amount_text(self.delta)}" if self.delta else "")

    def to_json(self) -> dict[str, str]:
        return {"epsilon": str(self.epsilon), "delta": str(self.delta)}


def price(epsilon: Amount, delta: Fraction = Fraction(0)) -> Price:
    return Price(epsilon.constant if epsilon.known else epsilon, delta)


@frozen
class BudgetCost:
    """What a text would take from one budget. `budget` None: no budget of the unit is open to this analyst."""

    budget: str | None
    unit: str
    cost: Price
    fits: bool
    left_after: Fraction | Amount | None
    charged: Cost | None = None  # for all of it as a plan, where that is less than what adds up
    where: InParts | None = None  # the parts whose units alone pay; what is left is left to these

    def __add__(self, other: BudgetCost) -> BudgetCost:
        """Of two plans, the other one later."""
        asks = price(_amount(self.cost.epsilon) + _amount(other.cost.epsilon), self.cost.delta + other.cost.delta)
        charged = None
        if (self.charged or other.charged) and not isinstance(asks.epsilon, Amount):
            charged = self._charged + other._charged
        return BudgetCost(
            self.budget, self.unit, asks, self.fits and other.fits, other.left_after, charged, other.where
        )

    @property
    def _charged(self) -> Cost:
        epsilon = _amount(self.cost.epsilon)
        return self.charged or Cost(epsilon.constant, self.cost.delta)

    def __str__(self) -> str:
        after = "no budget"
        if self.left_after is not None:
            left = self.left_after
            after = f"{left.text if isinstance(left, Amount) else left_text(left)} left"
            after += "" if self.where is None else f" where {parts_text(self.where)}"
        fits = "" if self.fits else ", does not fit"
        said = f"{self.cost} of {self.budget or 'no budget'} ({self.unit})"
        if self.charged is not None:
            delta = f", δ = {more_text(self.charged.delta)}" if self.charged.delta else ""
            said += f", charged as one plan: ε = {more_text(self.charged.epsilon)}{delta}"
        return f"{said}, {after}{fits}"

    def to_json(self) -> dict[str, Any]:
        after = str(self.left_after) if self.left_after is not None else None
        charged = self.cost if self.charged is None else Price(self.charged.epsilon, self.charged.delta)
        return {
            "budget": self.budget,
            "unit": self.unit,
            **self.cost.to_json(),
            "charged": charged.to_json(),
            "fits": self.fits,
            "left_after": after,
            **({} if self.where is None else {"parts": list(self.where.parts)}),
        }


def parts_text(where: InParts) -> str:
    """As a condition says it; of many, how many."""
    (_, column), names = column_of(where.partition), where.parts
    if len(names) > MOST_NAMED:
        return f"{column} is one of {len(names)} parts"
    return f"{column} = '{names[0]}'" if len(names) == 1 else f"{column} IN ({', '.join(map(repr, names))})"


def _amount(value: Fraction | Amount) -> Amount:
    return value if isinstance(value, Amount) else Amount(value)


def _text(value: Fraction | Amount) -> str:
    return _amount(value).text
