"""What (ε, δ) permits whoever sees all that it pays for, and what given questions tell at best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def permitted(epsilon: float, delta: float = 0.0) -> float:
    """How often whoever sees all that (ε, δ) promises guesses right of two neighbours, at most."""
    return (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)


def most_found(alarms: float, epsilon: float, delta: float = 0.0) -> float:
    """How many members are found, at most, by a test that takes so many others for members."""
    return min(math.exp(epsilon) * alarms + delta, 1 - math.exp(-epsilon) * (1 - delta - alarms), 1.0)


def most_area(epsilon: float, delta: float = 0.0) -> float:
    """The area under that curve: it has one corner, where as many members are missed as others are taken."""
    corner = 1 - permitted(epsilon, delta)
    return corner * (delta + 1 - corner) / 2 + (1 - delta - corner) * (2 - corner) / 2 + delta


def best(epsilons: Sequence[Fraction]) -> float:
    """How often the best test on these draws is right: each is a coin that tells the truth with the odds e^ε."""
    law = {0: 1.0}
    unit = math.lcm(*(epsilon.denominator for epsilon in epsilons))
    for epsilon, many in Counter(epsilons).items():
        truth, step = -math.log1p(math.exp(-epsilon)), int(epsilon * unit)
        heads = [math.exp(_ways(many, k) + many * truth - (many - k) * float(epsilon)) for k in range(many + 1)]
        after: dict[int, float] = {}
        for at, p in law.items():
            for k, q in enumerate(heads):
                end = at + (2 * k - many) * step
                after[end] = after.get(end, 0.0) + p * q
        law = after
    return sum(p if at > 0 else p / 2 if at == 0 else 0 for at, p in law.items())


def _ways(many: int, k: int) -> float:
    """The logarithm of how many there are to pick k of them."""
    return math.lgamma(many + 1) - math.lgamma(k + 1) - math.lgamma(many - k + 1)


def summed(epsilon: float, many: int, shift: float = 0.5) -> float:
    """How often a sum of `many` draws of Laplace noise, each of `epsilon`, is below `shift`; at it counts half."""
    reach = math.ceil(60 / epsilon) * math.isqrt(many) + math.ceil(shift)
    size = 2 ** math.ceil(math.log2(2 * reach + 2))
    at = np.fft.fftfreq(size, 1 / size)
    one: NDArray[np.float64] = math.tanh(epsilon / 2) * np.exp(-epsilon * abs(at))
    law = np.fft.ifft(np.fft.fft(one) ** many).real
    return float(law[at < shift].sum() + law[at == shift].sum() / 2)


def normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
