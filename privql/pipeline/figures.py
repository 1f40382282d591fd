"""Numbers as people read them: a few digits, rounded to that side on which what is said of them stays true."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from privql.domains import number_text
from privql.kernel.cost import amount_text


def rough(error: Fraction) -> str:
    """Four digits or the whole part, rounded up: what is promised holds for what is printed."""
    if error >= 10**15:
        place = magnitude(error) - 3
        return f"{Decimal(math.ceil(error / 10**place)).scaleb(place):.3e}"
    places = max(0, 3 - magnitude(error))
    return number_text(Fraction(math.ceil(error * 10**places), 10**places))


def left_text(amount: Fraction) -> str:
    """No more than is there, to a millionth or four digits where it takes many to be exact."""
    exact = amount_text(amount)
    if len(exact) <= (8 if "/" in exact else 16):
        return exact
    places = max(6, 3 - magnitude(amount))
    return amount_text(Fraction(math.floor(amount * 10**places), 10**places))


def more_text(amount: Fraction) -> str:
    """No less than it is, in five digits where it takes many to be exact."""
    exact = amount_text(amount)
    if len(exact) <= 9:
        return exact
    places = max(0, 4 - magnitude(amount))
    return amount_text(Fraction(math.ceil(amount * 10**places), 10**places))


def magnitude(value: Fraction) -> int:
    """The power of ten of its first digit."""
    if not value:
        return 0
    guess = math.floor(math.log10(abs(value.numerator)) - math.log10(value.denominator))
    return guess + (abs(value) >= Fraction(10) ** (guess + 1)) - (abs(value) < Fraction(10) ** guess)


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
