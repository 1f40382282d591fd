"""How many units a group may have that was found with a noisy number of them (`Count` in `selection`).

Of n units the number is v = n + X, P[X = x] proportional to q^|x| on [-k, k], and is seen only where v > k. What is
promised holds given that it was seen. With t(j) = (1-q)·Σ q^|x| over x from j to k, that is

    t(j) = q^j - q^(k+1)  for j >= 0,        t(j) = 1 + q - q^(k+1) - q^(1-j)  for -k <= j <= 0,

the chance of v or more is t(v-n)/t(a), where a is the least x that is seen, max(k+1-n, -k). It grows with n: noise of
this law makes likelihood ratios monotone, and what cuts off small numbers leaves them so. An n is kept while both the
chance of v or more and that of v or less are above half of what may be missed.
"""

from fractions import Fraction

from privql.kernel.enclosure import Bounds, at_most, exp_minus, quotient
from privql.kernel.search import least


def units_within(number: int, reach: int, scale: Fraction, confidence: Fraction) -> tuple[int, int]:
    """The least and the most units of a group that was found with this number: enclosing the true one at least as often
    as `confidence` says, decided by certified bounds."""
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies strictly between 0 and 1")
    if scale <= 0 or not 1 <= reach < number:
        raise ValueError("what was found has a number beyond the reach of its noise")
    law, miss = _Seen(reach, scale), (1 - confidence) / 2
    first, last = max(1, number - reach), number + reach
    low = least(lambda n: n >= first and (n >= last or law.more(number, n, miss)), first)
    beyond = least(lambda n: n > first and (n > last or not law.fewer(number, n, miss)), number)
    return min(low, number), max(beyond - 1, number)  # what was released is never left out


class _Seen:
    def __init__(self, reach: int, scale: Fraction) -> None:
        self.reach, self.scale = reach, scale

    def more(self, number: int, units: int, miss: Fraction) -> bool:
        """Whether `number` or more is likelier than `miss`, of those that are seen of so many units."""
        return self._likely(number - units, self.reach + 1, units, miss)

    def fewer(self, number: int, units: int, miss: Fraction) -> bool:
        """Whether `number` or fewer is."""
        return self._likely(-self.reach, number + 1 - units, units, miss)

    def _likely(self, first: int, beyond: int, units: int, miss: Fraction) -> bool:
        """Whether noise from one number to another is likelier than `miss`: (t(first) - t(beyond)) / t(a).
        They differ, as q is transcendental; what is not decided keeps so many units, and the interval is wider."""
        seen = max(self.reach + 1 - units, -self.reach)
        base = max(seen, 0)  # all over q^base, so that they are not all rounding

        def share(bits: int) -> Bounds:
            start, end, whole = (self._tail(j, base, bits) for j in (max(first, seen), beyond, seen))
            return quotient((max(start[0] - end[1], 0), max(start[1] - end[0], 0)), whole, bits)

        return not at_most(share, miss)

    def _tail(self, j: int, base: int, bits: int) -> Bounds:
        """Bounds of t(j)/q^base."""
        end = exp_minus((self.reach + 1 - base) / self.scale, bits)
        if j >= 0:
            start = exp_minus((j - base) / self.scale, bits)
            return max(start[0] - end[1], 0), start[1] - end[0]
        one, q, left = 1 << bits, exp_minus(1 / self.scale, bits), exp_minus((1 - j) / self.scale, bits)
        return one + q[0] - end[1] - left[1], one + q[1] - end[0] - left[0]
