"""What a statement costs, and what that takes from a budget."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

from privql.frozen import frozen
from privql.kernel.cost import amount_text
from privql.plan.amounts import Amount


@frozen
class Price:
    """(ε, δ): exact fractions; while parameters have no value, amounts that are linear in them."""

    epsilon: Fraction | Amount = Fraction(0)
    delta: Fraction | Amount = Fraction(0)

    def __str__(self) -> str:
        return f"ε = {_text(self.epsilon)}" + (f", δ = {self.delta_text}" if self.delta else "")

    @property
    def delta_text(self) -> str:
        return self.delta.text if isinstance(self.delta, Amount) else amount_text(self.delta)

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

    def __str__(self) -> str:
        after = "no budget"
        if self.left_after is not None:
            left = self.left_after
            after = f"{left.text if isinstance(left, Amount) else left_text(left)} left"
        fits = "" if self.fits else ", does not fit"
        return f"{self.cost} of {self.budget or 'no budget'} ({self.unit}), {after}{fits}"

    def to_json(self) -> dict[str, Any]:
        after = str(self.left_after) if self.left_after is not None else None
        return {"budget": self.budget, "unit": self.unit, **self.cost.to_json(), "fits": self.fits, "left_after": after}


def left_text(amount: Fraction) -> str:
    """For people: no more than is there, to a millionth or four digits where it takes many to be exact."""
    exact = amount_text(amount)
    if len(exact) <= (8 if "/" in exact else 16):
        return exact
    digits = 6
    while abs(amount) * 10**digits < 1000:
        digits += 1
    return amount_text(Fraction(floor(amount * 10**digits), 10**digits))


def _text(value: Fraction | Amount) -> str:
    return value.text if isinstance(value, Amount) else Amount(value).text
