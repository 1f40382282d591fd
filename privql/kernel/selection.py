"""Which groups may be shown when nobody listed them: each is kept with a probability that its number of units gives.

Two laws do it. `Keep` is a coin, and says of a group that it is there. `Count` says how many units it has, too, with
noise.

A group that is there because one person is in it would show that person. `π(n)`, the probability that a group of n
units is kept, starts from π(0) = 0 and grows from n to n + 1 as fast as (ε, δ) lets it:

    π(n+1) = the least of  e^ε·π(n) + δ,   1 - e^-ε·(1 - π(n) - δ),   1

which no other rule exceeds for any n (Desfontaines, Voss, Gipson and Mandayam 2022). Where, with q = e^-ε, δ is
q^k(1-q)/(1+q-2q^(k+1)), this is noise of the geometric law truncated to [-k, k] on the number of units, and keeping
what then exceeds k.

Here every π(n) is a whole number of 2^-bits, by integer arithmetic alone: e^ε is replaced by a rational below it, and
every step is rounded down. Both only take away; the inequalities hold exactly (docs/proofs/key-selection.md).

`Count` is that very noise, for the least k whose q^k(1-q)/(1+q-2q^(k+1)) is at most δ: a group of n units is shown
where n + X > k, and n + X with it. Whoever looks for groups and wants these numbers has both for one ε.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

from privql.frozen import frozen
from privql.kernel import guesses, rules
from privql.kernel.cost import Cost
from privql.kernel.enclosure import Bounds, at_most, exp_minus
from privql.kernel.proved import RULE, Proved, Unproved, proved
from privql.kernel.scalars import Scalar
from privql.kernel.search import least
from privql.kernel.stable import Stable
from privql.kernel.sums import Keys
from privql.kernel.terms import Unit

LEAST_EPSILON = Fraction(1, 2**12)  # of one group: below it, the table of π would be too long
LEAST_DELTA = Fraction(1, 2**128)


@frozen
class _Law:
    epsilon: Fraction
    delta: Fraction

    @property
    def sensible(self) -> bool:
        return self.epsilon >= LEAST_EPSILON and LEAST_DELTA <= self.delta < 1


@frozen
class Keep(_Law):
    """The law by which one group is kept: (ε, δ) for one unit more or fewer in it."""

    @property
    def even(self) -> int:
        """How many units make it at least as likely as not that a group is kept."""
        bits, chances = keep_table(self)
        return bisect_left(chances, 1 << bits - 1)

    @property
    def certain(self) -> int:
        """From how many units on a group is kept always."""
        return len(keep_table(self)[1])


@frozen
class Count(_Law):
    """The law by which one group is shown with a noisy number of its units: (ε, δ) for one unit more or fewer in it."""

    @property
    def reach(self) -> int:
        """The k of above: how far noise moves a number, and what it must then exceed."""
        return reach_of(self)

    @property
    def scale(self) -> Fraction:
        """Of the noise within its reach: q = exp(-1/scale)."""
        return 1 / self.epsilon

    @property
    def even(self) -> int:
        """Noise is as likely positive as negative: from here on a group is shown more often than not."""
        return self.reach + 1

    @property
    def certain(self) -> int:
        return 2 * self.reach + 1


@lru_cache(maxsize=64)
def reach_of(law: Count) -> int:
    """The least k with q^k·(1 - q + 2δq) <= δ·(1+q), q = e^-ε, decided by certified bounds. It is at least 1."""
    if not law.sensible:
        raise Unproved("a selection needs an ε and a δ that can be told from none")
    near = guesses.reach_that_hides(float(law.epsilon), float(law.delta))
    # the two sides differ, as q is transcendental
    return least(lambda k: k > 0 and at_most(partial(_unhidden, law, k), law.delta), near)


def _unhidden(law: Count, k: int, bits: int) -> Bounds:
    """Bounds of q^k·(1 - q + 2δq) - δq, q = e^-ε."""
    (low, high), far, one = exp_minus(law.epsilon, bits), exp_minus(k * law.epsilon, bits), 1 << bits
    least_left, most_left = one - high + 2 * law.delta * low, one - low + 2 * law.delta * high
    less, more = far[0] * least_left / one - law.delta * high, far[1] * most_left / one - law.delta * low
    return math.floor(less), math.ceil(more)


@lru_cache(maxsize=16)
def keep_table(law: Keep) -> tuple[int, tuple[int, ...]]:
    """`bits`, and 2^bits·π(n) for n = 0, 1, … as long as that is below 2^bits."""
    if not law.sensible:
        raise Unproved("a selection needs an ε and a δ that its table can hold")
    bits = 128  # δ then has 64 leading bits or more
    while law.delta.numerator << bits < law.delta.denominator << 64:
        bits += 64
    one = 1 << bits
    _, shrink = exp_minus(law.epsilon, bits)  # at least e^-ε, so that one / shrink is at most e^ε
    if shrink >= one:
        raise Unproved("an ε this small is lost in rounding")
    delta = (law.delta.numerator << bits) // law.delta.denominator
    chances, chance = [], 0
    while chance < one:
        chances.append(chance)
        grown = chance * one // shrink + delta
        left = -((chance + delta - one) * shrink // one)  # rounded up, so that the chance is rounded down
        chance = min(grown, one - left, one)
    return bits, tuple(chances)


@dataclass(frozen=True, slots=True)
class Selected(Proved):
    """The groups of `term` that are kept - and, by `Count`, with the number of units of each - proved to cost `cost` to
    `unit`. Made by `truncated_geometric` alone."""

    term: Keys
    unit: Unit
    most: int  # groups that one unit may be in
    keep: Keep | Count
    cost: Cost


def truncated_geometric(
    input: Stable,
    keys: tuple[tuple[str, Scalar], ...],
    most: int | None,
    epsilon: Fraction,
    delta: Fraction,
    counted: bool = False,
) -> Selected:
    """The groups that rows fall in, each kept or not by itself, for (ε, δ) in all. `counted`: with the number of units
    of each.

    `Gather` makes one row of a unit's rows in a group, so a unit counts once in each of its groups - as does one that
    has one row at most. It is in at most as many as it has rows, or as `most` where that is less, kept by a keyed hash.
    One unit more or fewer moves the numbers of as many groups by one each, one unit changed those of twice as many; so
    each has that part of ε and of δ.
    """
    proved(input, Stable)
    if not keys:
        raise Unproved("a selection is among groups by something")
    gathered = rules.compute(input, keys) if input.owned and input.rows == 1 else rules.gather(input, keys, ())
    if most is not None and (gathered.rows is None or gathered.rows > most):
        gathered = rules.keep_rows(gathered, most)
    if gathered.rows is None:
        raise Unproved("nothing bounds how many groups a unit is in")
    each = moved(gathered.unit, gathered.rows)
    keep = (Count if counted else Keep)(epsilon / each, delta / each)
    if not keep.sensible:
        raise Unproved("a selection needs an ε and a δ that its table can hold")
    why = "truncated_geometric", (input,)
    term = Keys(gathered.term, tuple((name, value.type) for name, value in keys))
    return Selected(term, gathered.unit, gathered.rows, keep, Cost(epsilon, delta), why=why, by=RULE)


def moved(unit: Unit, most: int) -> int:
    """How many groups' numbers of units differ, by one each, between neighbours."""
    return 2 * most if unit.change_one else most
