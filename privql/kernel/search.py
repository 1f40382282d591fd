"""The least integer for which something holds."""

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
