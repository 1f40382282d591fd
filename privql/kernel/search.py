"""The least integer for which something holds, and about the least float."""

from collections.abc import Callable


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
