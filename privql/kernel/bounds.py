"""Between which bounds private numbers lie, when nobody stated any: one of several nested ones, by a noisy minimum.

Each unit has a level: the least of the nested bounds that hold what is its own. With c(l) the number of units beyond
level l, the level chosen is that of the least c(l) + penalty·l - G(l), the first of equals, where every G(l) is drawn
from the geometric law P[G = k] = (1-q)·q^k, q = e^-ε, k = 0, 1, …

One unit more or fewer moves the c(l) of the levels below its own by one, all in the same direction; one unit changed
moves those between its two levels, again all in the same direction. That is why the whole of ε is each G's own
(docs/proofs/automatic-bounds.md). Levels are groups of which a row falls in one, so nothing is believed of how they
are computed: a wrong level costs accuracy. The penalty is public, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from privql.kernel import rules
from privql.kernel.cost import Cost
from privql.kernel.features import Extreme, Tally
from privql.kernel.proved import RULE, Proved, Unproved
from privql.kernel.scalars import INT, Field, Scalar
from privql.kernel.stable import Stable, owned
from privql.kernel.sums import Key, Sums
from privql.kernel.terms import Unit
from privql.kernel.wellformed import reads


@dataclass(frozen=True, slots=True)
class Chosen(Proved):
    """A level chosen by how many units are of each (`term`), proved to cost `cost`. Made by `noisy_minimum` alone."""

    term: Sums
    unit: Unit
    penalty: int  # for each level
    cost: Cost

    @property
    def level(self) -> Scalar:
        (key,) = self.term.keys
        assert isinstance(key, Key)
        return key.value

    @property
    def scale(self) -> Fraction:
        """Of the geometric noise: q = exp(-1/scale)."""
        return 1 / self.cost.epsilon

    def scores(self, units: Sequence[int]) -> list[int]:
        """From the number of units of each level: those beyond it, and the penalty."""
        beyond = (sum(units) - within for within in accumulate(units))
        return [count + self.penalty * level for level, count in enumerate(beyond)]


def noisy_minimum(
    input: Stable, level: Scalar, where: Scalar | None, levels: int, penalty: int, epsilon: Fraction
) -> Chosen:
    """One of `levels` levels for ε, by the greatest that a unit's rows (for which `where` is TRUE) have.

    What is counted has one row of each unit at most, and that is in one group, or in none.
    """
    if input.rows != 1:
        input = rules.gather(input, (), (("level", Extreme(level, True, where)),))
        level, where = Field("level", INT), None
    owned(input)
    reads(level, input.columns)
    reads(where, input.columns)
    if level.type != INT or levels < 1 or penalty < 0 or epsilon <= 0:
        raise Unproved("a choice is among levels numbered from 0, for some ε")
    term = Sums(input.term, (Key(level, tuple(range(levels))),), (Tally(where),))
    return Chosen(term, input.unit, penalty, Cost(epsilon), why=("noisy_minimum", (input,)), by=RULE)
