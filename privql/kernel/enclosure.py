"""Certified bounds of exp(-x) in integers, for everything that must not trust a float.

A bound is a pair (low, high) of integers with low <= 2^bits · value <= high. Only additions, products and shifts of
integers are used, each rounded outwards, so a bound is a theorem about the value and not an estimate of it.
"""

from collections.abc import Callable
from fractions import Fraction

Bounds = tuple[int, int]

_MOST_BITS = 1 << 13  # where so many do not tell two sides apart, the dearer one is taken


def exp_minus(x: Fraction, bits: int) -> Bounds:
    """Bounds of exp(-x), at most four units of 2^-bits apart, for a rational x >= 0."""
    if x < 0:
        raise ValueError("exp_minus bounds exp(-x) for x >= 0 only")
    if x > bits:
        return 0, 1  # exp(-x) < 2^-x, already below one unit
    halvings = int(x).bit_length() + 8  # the series then runs on x / 2^halvings < 2^-8
    work = bits + halvings + 16  # a squaring doubles an error at most; the 16 bits absorb the series' own
    reduced = (x.numerator << work) // (x.denominator << halvings)
    total = term = 1 << work
    terms = 0
    while term:
        terms += 1
        term = term * reduced // (terms << work)
        total += -term if terms & 1 else term
    # Each truncated term, the remainder and the truncated argument miss by fewer than two units.
    slack = 2 * (terms + 2)
    low, high = max(total - slack, 0), total + slack
    for _ in range(halvings):
        low, high = low * low >> work, (high * high >> work) + 1
    spare = work - bits
    return low >> spare, (high >> spare) + 1


def quotient(above: Bounds, below: Bounds, bits: int) -> Bounds:
    """Bounds of a / b from bounds of a >= 0 and of b > 0."""
    return (above[0] << bits) // below[1], -((-above[1] << bits) // below[0])


def at_most(bounds: Callable[[int], Bounds], most: Fraction) -> bool:
    """Whether what is bounded, in units of 2^-bits for as many as are asked for, is at most that: only if it is known
    to be."""
    bits = 64 + max(0, most.denominator.bit_length() - most.numerator.bit_length())
    most_bits = max(_MOST_BITS, 4 * bits)
    while bits <= most_bits:
        low, high = bounds(bits)
        if high <= most * (1 << bits):
            return True
        if low > most * (1 << bits):
            return False
        bits *= 2
    return False
