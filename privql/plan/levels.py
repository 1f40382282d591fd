"""CUBE, ROLLUP and GROUPING SETS: which marginals are measured, and with which part of ε each.

A marginal is the groups of some of the keys. One row is in one group of each, so their ε add up. What is measured of
A with the part f has the precision f² (times 1/N_A where it is spread over its N_A groups), and by least squares
(`finish/consistent.py`) the precisions of all marginals that know a part of the truth add up. What no measured marginal
knows more of than another - the keys' interactions that the same ones contain - is a *class*, named by the keys that
all of these have. So the squared errors of all rows that are asked for come to

    Σ over classes C   dim(C) · Σ (1/N_S, S an asked set ⊇ C)  /  Σ (f_A²/N_A, A a measured set ⊇ C)

which is made as small as can be found from the sizes of the keys alone. That is what every set's error is, relative to
that of the sums of the finest groups, all sets counted alike. As ε is split it pays to measure few marginals, often
one: they are left out one after the other, and the best of what is met on the way is taken. Of Gaussian noise it is μ²
that adds up, so f stands there in place of f²: that is convex, and it pays to measure more of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from privql.check.relations import Block
from privql.frozen import frozen
from privql.plan.lower import Lowered
from privql.plan.reach import moved
from privql.plan.spend import Wanted, fractions_of

Set = frozenset[int]

_MANY = 1_100  # pairs of a class and a marginal: with more of them, the finest alone is measured
_ROUNDS = 200
_SETTLED = 1e-6
_ROUGHLY = 1e-3
_FIRST = 0.1  # of what one more marginal starts with
_WORTH = 1e-4  # less than this is not worth one more measurement


@frozen
class Marginal:
    """The groups of these keys of a block, measured with this share of each aggregate's ε, or of its μ²."""

    keys: tuple[int, ...]
    share: Fraction


def finest(block: Block) -> tuple[Marginal, ...]:
    """Where there are several grouping sets; what is planned without them is measured as ever."""
    return (Marginal(tuple(range(len(block.keys))), Fraction(1)),) if block.sets else ()


def marginals(block: Block, lowered: Lowered, wanted: Sequence[Wanted]) -> tuple[Marginal, ...]:
    """The finest alone where its groups are not listed, and where an error is promised for them."""
    promised = any(one.aggregate.privacy is not None and one.aggregate.privacy.within is not None for one in wanted)
    if not block.sets or lowered.unlisted or promised:
        return finest(block)
    sizes = tuple(len(key.members or ()) for key in block.keys)
    asked = tuple(dict.fromkeys(map(frozenset, block.sets)))
    among = dict.fromkeys((frozenset(range(len(sizes))), *asked))
    gains = tuple((one, _gain(one, lowered, wanted)) for one in among)
    shares = best(sizes, asked, gains, 1 if wanted[0].noise == "gaussian" else 2)
    parts = fractions_of(list(shares.values()))
    return tuple(Marginal(tuple(sorted(of)), part) for of, part in zip(shares, parts, strict=True))


def _gain(of: Set, lowered: Lowered, wanted: Sequence[Wanted]) -> float:
    """A single group may be moved by less than many: how much more precise that makes it."""
    keys = [lowered.keys[at] for at in of]
    pairs = [(one, moved(lowered, keys, made)) for one, made in zip(wanted, lowered.contributions, strict=True)]
    if wanted[0].noise == "gaussian":
        return sum(one.sensitivity.l2_squared / move.l2_squared for one, move in pairs) / len(pairs)
    return sum((one.sensitivity.l1 / move.l1) ** 2 for one, move in pairs) / len(pairs)


@lru_cache(maxsize=64)
def best(
    sizes: tuple[int, ...], asked: tuple[Set, ...], gains: tuple[tuple[Set, float], ...], power: int = 2
) -> dict[Set, float]:
    """The part of ε, or of μ², for each marginal that is measured: from the finest alone, and from all of them, one is
    taken in or left out as long as that makes the error less."""
    among = [one for one, _ in gains]
    full = frozenset(range(len(sizes)))
    classes = intersections(among) if len(among) ** 2 <= _MANY else ()
    if not 0 < len(classes) * len(among) <= _MANY:
        return {full: 1.0}
    split = Split(sizes, asked, classes, dict(gains), power)
    everything = split.settled({one: split.size(one) ** (1 / (power + 1)) for one in among})
    ends = [_nearest(split, start, among) for start in ({full: 1.0}, everything)]
    return split.settled(min(ends, key=split.error))


def _nearest(split: Split, found: dict[Set, float], among: Sequence[Set]) -> dict[Set, float]:
    while True:
        changed = (
            {other: part for other, part in found.items() if other != one} if one in found else {**found, one: _FIRST}
            for one in among
        )
        settled = [split.settled(parts, _ROUGHLY) for parts in changed if split.error(parts) < math.inf]
        better = min(settled, key=split.error, default=found)
        if split.error(better) >= split.error(found) * (1 - _WORTH):
            return found
        found = better


def intersections(sets: Sequence[Set]) -> list[Set]:
    """These sets and all that they have in common, the smaller first; but of very many, only too many to be of use."""
    found = set(sets)
    for one in sets:
        if len(found) > _MANY:
            break
        found |= {one & other for other in found}
    return sorted(found, key=lambda one: (len(one), sorted(one)))


def dimensions(sizes: Sequence[int], classes: Sequence[Set]) -> dict[Set, int]:
    """Of each class, how many numbers it is made of; the smaller classes come first."""
    out: dict[Set, int] = {}
    for one in classes:
        out[one] = math.prod(sizes[at] for at in one) - sum(out[other] for other in out if other < one)
    return out


def variances(sizes: Sequence[int], asked: Sequence[Set], measured: Mapping[Set, float]) -> list[float]:
    """Of one row of each set that is asked for, from that of each marginal's noise, but for rounding."""
    size = [math.prod(sizes[at] for at in one) for one in asked]
    classes = dimensions(sizes, intersections([*measured, *asked]))
    spreads = {
        one: dimension / sum(1 / (math.prod(sizes[at] for at in of) * v) for of, v in measured.items() if one <= of)
        for one, dimension in classes.items()
    }
    pairs = zip(asked, size, strict=True)
    return [sum(spread for one, spread in spreads.items() if one <= wanted) / n**2 for wanted, n in pairs]


class Split:
    """What a split makes of the errors. What has the part f has a precision of f^`power`: the square where that is of
    ε, and of Gaussian noise, whose μ² is split, f itself."""

    def __init__(
        self,
        sizes: Sequence[int],
        asked: Sequence[Set],
        classes: Sequence[Set],
        gain: Mapping[Set, float],
        power: int = 2,
    ):
        self.sizes, self.power = sizes, power
        self.knows = {one: [one_class for one_class in classes if one_class <= one] for one in gain}
        self.precision = {one: gain[one] / self.size(one) for one in gain}  # of all of ε
        weights = {
            one: dimension * sum(1 / self.size(wanted) for wanted in asked if one <= wanted)
            for one, dimension in dimensions(sizes, classes).items()
        }
        self.weight = {one: weight for one, weight in weights.items() if weight}

    def size(self, one: Set) -> int:
        return math.prod(self.sizes[at] for at in one)

    def error(self, parts: Mapping[Set, float]) -> float:
        """Of parts that need not add up to 1: as if all were made so much larger that they do."""
        known = self._known(parts)
        if not all(known.get(one) for one in self.weight):
            return math.inf
        return sum(weight / known[one] for one, weight in self.weight.items()) * sum(parts.values()) ** self.power

    def _known(self, parts: Mapping[Set, float]) -> dict[Set, float]:
        known: dict[Set, float] = {}
        for one, part in parts.items():
            for known_class in self.knows[one]:
                known[known_class] = known.get(known_class, 0.0) + part**self.power * self.precision[one]
        return known

    def settled(self, parts: Mapping[Set, float], nearly: float = _SETTLED) -> dict[Set, float]:
        """Where the derivatives by all parts are equal; those that become nothing are left out."""
        parts = dict(parts)
        for _ in range(_ROUNDS):
            known = self._known(parts)
            pulls = {one: weight / known[one] ** 2 for one, weight in self.weight.items()}
            pulled = {one: self.precision[one] * sum(pulls.get(c, 0.0) for c in self.knows[one]) for one in parts}
            moved = {
                one: part * (part ** (self.power - 1) * pulled[one]) ** (1 / (self.power + 1))
                for one, part in parts.items()
            }
            whole = sum(moved.values())
            moved = {one: part / whole for one, part in moved.items() if part > _SETTLED * whole}
            apart = max(abs(moved.get(one, 0.0) - part) for one, part in parts.items())
            parts = moved
            if apart < nearly:
                break
        whole = sum(parts.values())
        return {one: part / whole for one, part in parts.items()}
