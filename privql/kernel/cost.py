"""What privacy costs: exact rational (ε, δ), composed by addition.

No float is kept anywhere. A float that a user passes means its shortest decimal text: 0.1 is 1/10.

Every amount that is written or charged is a whole number of 1/`GRID`: decimals of up to 100 places, ratios
with a denominator up to 1000, and their products. So any number of charges has an exact sum, of at most 1,771
bits below the point; with free denominators the sum of a million charges could have a million digits.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import lcm
from numbers import Rational

from privql.frozen import frozen

Amount = str | int | float | Fraction | Decimal

PLACES = 100
RATIO = 1000
GRID = 10**PLACES * lcm(*range(1, RATIO + 1))

LEAST_EPSILON = Fraction(1, 2**40)  # below it, noise would reach past 64-bit counts: nobody means that
GREATEST = Fraction(2**20)  # a whole number; above it, e^ε protects nobody: a slip of the keyboard

_DECIMAL = re.compile(r"(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?", re.ASCII | re.IGNORECASE)
_RATIO = re.compile(r"(\d+)\s*/\s*(\d+)", re.ASCII)


@frozen
class Cost:
    """Pure (ε, δ). Costs of one unit's releases add; that is sound for mechanisms chosen adaptively."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for amount in (self.epsilon, self.delta):
            if type(amount) is not Fraction or amount.numerator < 0:
                raise ValueError("a cost is made of exact fractions that are not negative")

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, spent: Cost) -> Cost:
        """What is left; nothing, if either part is overdrawn: (ε, δ) is one promise."""
        return Cost(self.epsilon - spent.epsilon, self.delta - spent.delta) if spent <= self else Cost()

    def __le__(self, cap: Cost) -> bool:
        """Within the cap, in ε and in δ. Not a total order: (1, 0) and (0, 1) fit in neither."""
        return self.epsilon <= cap.epsilon and self.delta <= cap.delta

    def __bool__(self) -> bool:
        return bool(self.epsilon or self.delta)

    def __str__(self) -> str:
        epsilon = f"ε = {amount_text(self.epsilon)}"
        return f"{epsilon}, δ = {amount_text(self.delta)}" if self.delta else epsilon


def parse_amount(value: Amount) -> Fraction:
    """The exact amount that a person means; a ValueError whose text can be shown if it is none."""
    amount = parse_number(value)
    check_chargeable(amount)
    return amount


def parse_number(value: Amount) -> Fraction:
    """The same of a number that no ledger adds up: how far off an answer may be, of how many rows it is."""
    match value:
        case bool():
            raise ValueError("an amount of budget is a number, not a truth value")
        case Rational():
            return Fraction(int(value.numerator), int(value.denominator))
        case str():
            return _parse_text(value.strip())
        case float():
            return _parse_text(float.__repr__(value))
        case Decimal():
            return _parse_text(str(value))
        case _:
            raise ValueError("an amount of budget is a number or its text")


def _parse_text(text: str) -> Fraction:
    if len(text) > 500:
        raise ValueError("an amount of budget of more than 500 characters")
    if found := _RATIO.fullmatch(text):
        if not int(found[2]):
            raise ValueError(f"`{text}` divides by zero")
        return Fraction(int(found[1]), int(found[2]))
    if found := _DECIMAL.fullmatch(text):
        exponent = int(found[2] or 0)
        if abs(exponent) > 500:
            raise ValueError(f"`{text}` is not an amount of budget: its exponent is absurd")
        return Fraction(found[1]) * Fraction(10) ** exponent
    reason = "cannot be negative" if text.startswith("-") else "must be a finite number, such as 0.1 or 1/3"
    raise ValueError(f"`{text[:40]}` is not an amount of budget: it {reason}")


def check_chargeable(amount: Fraction) -> None:
    """Refuse what a ledger cannot sum exactly for ever (see the top of this page)."""
    if amount.numerator < 0:
        raise ValueError("an amount of budget cannot be negative")
    if amount.numerator > GREATEST.numerator * amount.denominator:
        raise ValueError(f"an amount of budget cannot exceed {GREATEST}")
    if GRID % amount.denominator:
        raise ValueError(f"an amount of budget has at most {PLACES} decimal places, or a denominator up to {RATIO}")


def check_epsilon(value: Amount) -> None:
    """Refuse an ε that no query can mean: not a finite number, zero, negative, below 2^-40, above 2^20."""
    epsilon = parse_amount(value)
    if not epsilon:
        raise ValueError("ε = 0 buys no answer: it must be positive")
    if epsilon < LEAST_EPSILON:
        raise ValueError("ε below 2^-40 is absurdly small: the answer would be noise alone")


def check_delta(value: Amount) -> None:
    """Refuse a δ outside [0, 1): δ = 1 permits anything."""
    if parse_amount(value) >= 1:
        raise ValueError("δ must be below 1: δ = 1 promises nothing")


def amount_text(amount: Fraction) -> str:
    """The exact decimal if there is one, else n/d."""
    places = next((k for k in range(PLACES + 1) if 10**k % amount.denominator == 0), None)
    if places is None:
        return f"{amount.numerator}/{amount.denominator}"
    digits = str(amount.numerator * 10**places // amount.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits
