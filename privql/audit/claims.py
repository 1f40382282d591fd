"""What each measurement claims of two neighbours, as numbers; and how far two exact answers are apart, likewise.

The last of them is the price: what the noise, of the scale that it has, gives away of a move as far as this one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from privql.frozen import frozen
from privql.kernel import selection
from privql.kernel.bounds import Chosen
from privql.kernel.gaussian import greatest_mu
from privql.kernel.measure import Measured, Part, Together
from privql.kernel.picks import Picked, rounds
from privql.kernel.places import Rows, steps
from privql.kernel.ranks import Placed, Ranked
from privql.kernel.selection import Selected
from privql.kernel.sums import cells
from privql.release import Wanted


@frozen
class Claim:
    """`what` moves by no more than `most` between neighbours; `price`: this is in ε, or what stands for it."""

    what: str
    most: Fraction
    price: bool = False

    @property
    def halved(self) -> Claim:
        return self if self.price else Claim(self.what, self.most / 2)


def claims(made: Wanted) -> tuple[Claim, ...]:
    match made:
        case Measured() | Together():
            out = []
            parts = _parts(made)
            for at, part in enumerate(parts):
                of = "the cells" if len(parts) == 1 else f"the cells of aggregate {at + 1}"
                out.append(Claim(f"{of}, added up", Fraction(part.sensitivity.l1)))
                out.append(Claim(f"{of}, their squares added up", Fraction(part.sensitivity.l2_squared)))
            if all(part.noise == "gaussian" for part in parts):
                square = greatest_mu(made.cost.epsilon, made.cost.delta) ** 2
                return (*out, Claim("μ² of the noise", square, True))
            return (*out, Claim("ε of the noise", made.cost.epsilon, True))
        case Selected():
            most = Fraction(selection.moved(made.unit, made.most))
            return (
                Claim("how many groups differ", most),
                Claim("the units in one group", Fraction(1)),
                Claim("ε of the groups that differ", made.cost.epsilon, True),
            )
        case Chosen():
            return Claim("the units beyond a level", Fraction(1)), Claim("ε of the noise", made.cost.epsilon, True)
        case Placed():
            return Claim("the losses of a step", Fraction(made.draw.moved)), Claim(
                "ε of the draw", made.draw.epsilon, True
            )
        case Picked():
            price = made.cost.epsilon if made.way != "GUMBEL" else made.picks * made.exponent * made.moved
            return Claim("one count against another", Fraction(made.moved)), Claim("ε of the choice", price, True)


def apart(made: Wanted, one: Any, other: Any) -> tuple[Fraction, ...]:
    """In the order of its claims."""
    match made:
        case Measured():
            return _sums_apart([made], [one], [other])
        case Together():
            return _sums_apart(made.of, one, other)
        case Selected():
            moves = [abs(one.get(group, 0) - other.get(group, 0)) for group in one.keys() | other.keys()]
            many = sum(move > 0 for move in moves)
            return Fraction(many), Fraction(max(moves, default=0)), sum(moves) * made.keep.epsilon
        case Chosen():
            here, there = (made.scores([count for (count,) in cells]) for cells in (one, other))
            moved = [a - b for a, b in zip(here, there, strict=True)]
            far = max(*moved, 0) - min(*moved, 0)
            return Fraction(far), far / made.scale
        case Placed():
            far = losses_apart(made, one, other)
            return Fraction(far), 2 * far * made.draw.exponent
        case Picked():
            far = _counts_apart(made, one, other)
            return Fraction(far), far * made.exponent * rounds(made.way, made.picks)


def _parts(made: Measured | Together) -> tuple[Part, ...]:
    return tuple(part for one in ([made] if isinstance(made, Measured) else made.of) for part in one.parts)


def _sums_apart(of: Sequence[Measured], one: Any, other: Any) -> tuple[Fraction, ...]:
    out: list[Fraction] = []
    price = Fraction(0)
    for made, here, there in zip(of, one, other, strict=True):
        for part, (l1, l2_squared) in zip(made.parts, parts_apart(made, here, there), strict=True):
            out += [Fraction(l1), Fraction(l2_squared)]
            price += l2_squared / part.scale**2 if part.noise == "gaussian" else l1 / part.scale
    return (*out, price)


def parts_apart(made: Measured, one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """For each contribution, over all groups: how far its cells are apart, and the sum of the squares of that."""
    out, at = [], 0
    changed = [(a, b) for a, b in zip(one, other, strict=True) if a is not b and a != b]
    for contribution in made.term.contributions:
        width = cells(contribution)
        moves = [x - y for a, b in changed for x, y in zip(a[at : at + width], b[at : at + width], strict=True)]
        out.append((sum(map(abs, moves)), sum(m * m for m in moves)))
        at += width
    return out


def losses_apart(made: Placed, one: Sequence[Ranked], other: Sequence[Ranked]) -> int:
    """How far the loss of the step that moves farthest moves, in all groups together: of the rank that is drawn first,
    of all rows."""
    return sum(_farthest(pieces(made, a), pieces(made, b)) for a, b in zip(one, other, strict=True))


def pieces(made: Placed, group: Ranked) -> list[tuple[int, int]]:
    """How many steps one after the other have the same loss, and which."""
    count, met = group
    near = [one for one in met if made.draw.loss(count, *one[1:]) < made.draw.clip]
    return steps(made.draw, Rows(0, count, made.term.steps.low, made.term.steps.high), near)


def _farthest(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> int:
    ends = [list(accumulate(length for length, _ in pieces)) for pieces in (one, other)]
    assert ends[0][-1] == ends[1][-1]
    starts = sorted({0, *ends[0][:-1], *ends[1][:-1]})
    return max(abs(one[bisect_right(ends[0], at)][1] - other[bisect_right(ends[1], at)][1]) for at in starts)


def _counts_apart(made: Picked, one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> int:
    """Added up over the groups: how much more one candidate's count rises than another's; of HISTOGRAM, all rises."""
    many = len(made.candidates.members)
    rises = [a[0] - b[0] for a, b in zip(one, other, strict=True)]
    groups = [rises[at : at + many] for at in range(0, len(rises), many)]
    if made.way == "HISTOGRAM":
        return sum(map(abs, rises))
    return sum(max(group) - min(group) for group in groups)
