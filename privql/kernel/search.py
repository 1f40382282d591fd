"""The least integer and the least decimal for which something holds, and about the least float."""

from collections.abc import Callable
from fractions import Fraction

from privql.kernel.decimals import at_rank, rank_near


def least(holds: Callable[[int], bool], guess: int) -> int:
    """For all above one that holds it must hold, too; quick where the guess is near."""
    step, high = 1, guess
    while not holds(high):
        high, step = high + step, 2 * step
    step, low = 1, guess
    while holds(low - 1):
        low, step = low - step, 2 * step
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def least_rank(holds: Callable[[Fraction], bool], digits: int, near: Fraction | float) -> int:
    """Of the least decimal of so many digits for which it holds, as it must for all that are greater. `near`: where to
    look first, which decides nothing."""
    return least(lambda rank: holds(at_rank(rank, digits)), rank_near(near, digits))


def least_decimal(holds: Callable[[Fraction], bool], digits: int, near: Fraction | float) -> Fraction:
    return at_rank(least_rank(holds, digits, near), digits)


def greatest_decimal(holds: Callable[[Fraction], bool], digits: int, near: Fraction | float) -> Fraction:
    """Of those for which it holds; for all that are less it must, too."""
    return at_rank(least_rank(lambda x: not holds(x), digits, near) - 1, digits)


def solved(holds: Callable[[float], bool]) -> float:
    """About the least x > 0 from which on it holds, and one where it does: where an exact search begins, or where none
    follows, a place that is known to do."""
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while low == 0.0 and high > 1e-300 and holds(high / 2):
        high /= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
