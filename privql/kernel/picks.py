"""The most frequent of listed values, one or several: chosen by noisy counts that are not shown.

The term counts the rows of each group and candidate; of a group's counts c(v) `picks` candidates come out, each once.
With s the exponent, that is done in one of five ways. All but the last choose one, put it aside, and choose again:

    FLIP         every candidate's coin falls heads with probability exp(-s·(max c - c(v))); one of the heads, uniformly
    NOISY_MAX    the greatest c(v) + discrete Laplace noise of scale 1/s, the first of equals
    EXPONENTIAL  v with a probability proportional to exp(s·c(v))
    GUMBEL       as EXPONENTIAL, with an s that ε and a δ pay for: the order of c(v) + Gumbel noise of scale 1/s
    HISTOGRAM    c(v) + discrete Laplace noise of scale 1/s, once; the greatest of them, the first of equals

A row is in one group and counts for one candidate. Of one unit more, all counts rise: that is why a choice costs no
more than s times the farthest that a count of its group moves, and not twice that (docs/proofs/picks.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, prod
from typing import Literal

from privql.kernel.cost import Cost
from privql.kernel.features import Tally
from privql.kernel.measure import grouping
from privql.kernel.measure import moved as all_moved
from privql.kernel.proved import RULE, Proved, Unproved
from privql.kernel.scalars import Field, Scalar
from privql.kernel.stable import Stable, owned
from privql.kernel.sums import Key, Listed, Sums
from privql.kernel.terms import Unit
from privql.kernel.wellformed import reads
from privql.kernel.zcdp import greatest_rho

Way = Literal["FLIP", "NOISY_MAX", "EXPONENTIAL", "GUMBEL", "HISTOGRAM"]
_PLACES = 10**12  # of the square of an exponent


@dataclass(frozen=True, slots=True)
class Picked(Proved):
    """Candidates chosen for each group of `term`, whose last key lists them. Made by `most_frequent` alone."""

    term: Sums
    unit: Unit
    rows: int
    picks: int
    way: Way
    moved: int  # by one unit, in all groups together
    cost: Cost

    @property
    def candidates(self) -> Key:
        last = self.term.keys[-1]
        assert isinstance(last, Key)
        return last

    @property
    def exponent(self) -> Fraction:
        if self.way != "GUMBEL":
            return self.cost.epsilon / (self.moved * rounds(self.way, self.picks))
        return _root_below(8 * greatest_rho(self.cost.epsilon, self.cost.delta) / self.picks) / self.moved

    @property
    def rho(self) -> Fraction:
        """What GUMBEL costs of zero-concentrated privacy: each choice is of bounded range."""
        return self.picks * (self.exponent * self.moved) ** 2 / 8


def _root_below(square: Fraction) -> Fraction:
    """Six digits of the root, or more, rounded down."""
    scale = _PLACES
    while square * scale < _PLACES:
        scale *= 100
    return Fraction(isqrt(int(square * scale)), isqrt(scale))


def rounds(way: Way, picks: int) -> int:
    """How often all counts are looked at."""
    return 1 if way == "HISTOGRAM" else picks


def moved(input: Stable, keys: tuple[Key | Listed, ...], candidates: Key, way: Way) -> int:
    """What one unit moves: in HISTOGRAM, all counts added up; else, in each group, by how much more one count rises
    than another, added up over the groups.

    That is no more than its rows in the group, those that leave and those that come. Where no two of its rows are of
    one group and one candidate, it is 1 in each of its groups, or 2 where some leave and others come.
    """
    assert input.rows is not None
    if way == "HISTOGRAM":
        return all_moved(input, (*keys, candidates), Tally()).l1
    most = input.rows
    if apart(input, (*keys, candidates)) and all(isinstance(key, Key) for key in keys):
        most = min(most, prod(len(key.members) for key in keys))
    return 2 * most if input.unit.change_one else most


def apart(input: Stable, keys: tuple[Key | Listed, ...]) -> bool:
    """Whether no two rows of a unit are in one cell: they differ in columns that are keys themselves. NULLs aside, so
    that no key may be NULL."""
    told = {
        key.value.name
        for key in keys
        if isinstance(key, Key) and isinstance(key.value, Field) and None not in key.members
    }
    return any(columns <= told for columns in input.unique)


def most_frequent(
    input: Stable,
    keys: tuple[Key | Listed, ...],
    candidates: Key,
    where: Scalar | None,
    picks: int,
    way: Way,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
) -> Picked:
    """`picks` of the candidates for each group, for ε; of GUMBEL, for ε and δ."""
    owned(input)
    if input.rows is None or input.rows < 1:
        raise Unproved("nothing bounds how many rows a unit owns")
    for key in (*keys, candidates):
        grouping(key, input)
    reads(where, input.columns)
    if None in candidates.members or not 1 <= picks <= len(candidates.members) or epsilon <= 0:
        raise Unproved("so many are chosen as there are candidates at most, none of them NULL, for some ε")
    if (way == "GUMBEL") is not (0 < delta < 1) or (way != "GUMBEL" and delta):
        raise Unproved("Gumbel noise needs a δ below 1, and nothing else takes any")
    term = Sums(input.term, (*keys, candidates), (Tally(where),))
    far = moved(input, keys, candidates, way)
    why = "most_frequent", (input,)
    return Picked(term, input.unit, input.rows, picks, way, far, Cost(epsilon, delta), why=why, by=RULE)
