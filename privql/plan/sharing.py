"""Which aggregates of a block are read off one measurement.

A mean is measured as two cells, from which the count of the rows behind it and their sum come free. What is read off
them carries the noise of both, and so may have more of it than a number measured apart at the same ε - but nothing has
to be left for that one. Those that share are chosen as ε is split: for the least sum of squared errors relative to each
aggregate's public scale. That sum is (Σ w)³/ε², w being the `weight` of each measurement, so what makes Σ w less is
better whatever ε is, and whatever else it pays for; with Gaussian noise the sum is (Σ w)²/μ². Where an accuracy is
wished, it is what all of them cost together.

A variance's three cells give the mean, the count and the sum as well, with the noise of one cell more; and the cells of
a correlation give the regressions and covariances of the same two arguments, those of a regression the covariances.

A count of all rows is read off the mean of an argument that is never NULL: the plan drops rows for that to be so. Were
the checker wrong about it, that would cost accuracy alone, as where it takes COUNT(x) for COUNT(*).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from privql.check.conditions import also, present
from privql.check.relations import Aggregate, Block
from privql.frozen import frozen
from privql.kernel.features import Tally
from privql.kernel.scalars import Apply, Const, Scalar
from privql.kernel.sums import Balance, Contribution, Powers
from privql.plan.bounds import DEGREES, contribution
from privql.plan.lower import Lowered
from privql.plan.reach import wanted
from privql.plan.spend import Wanted

_BETTER = 1 - 1e-9  # less is not rounding
_FURTHER = Fraction(5, 4)  # of a product's squared noise at an end of its range: 1 + 1/4, where a degree is 2, not 1


def weighed(one: Wanted) -> float:
    """What it asks of the ε that is to be split."""
    return one.weight


def shared(
    block: Block, lowered: Lowered, apart: Sequence[Wanted], asks: Callable[[Wanted], float] = weighed
) -> tuple[Lowered, list[Wanted]]:
    """What is measured instead of one measurement for each aggregate, in the order of the first that reads each.
    `asks`: what is to be as little as can be, all together."""
    families = list(_families(block, lowered, apart, asks))
    counts = {one.aggregate.where: one for one in apart if isinstance(one.contribution, Tally) and _free(one)}
    chosen: list[_Shared | None] = [family.best(None) for family in families]
    with_count: dict[str, tuple[float, int, _Shared]] = {}  # of each count, where it gains most
    for at, family in enumerate(families):
        for count in (counts[where] for where in family.present if where in counts):
            made, without = family.best(count), chosen[at]
            gain = (made.gain if made is not None else 0) - (without.gain if without is not None else 0)
            if made is not None and gain > with_count.get(count.aggregate.id, (0.0,))[0]:
                with_count[count.aggregate.id] = (gain, at, made)
    for _, at, made in with_count.values():
        chosen[at] = made
    instead = {one.aggregate.id: made.wanted for made in chosen if made is not None for one in made.of}
    out: dict[str, tuple[Wanted, Contribution]] = {}
    for one, measured in zip(apart, lowered.contributions, strict=True):
        made_of = instead.get(one.aggregate.id)
        if made_of is not None:
            out.setdefault(made_of.aggregate.id, (made_of, made_of.contribution))
        else:
            out[one.aggregate.id] = one, measured
    contributions = tuple(measured for _, measured in out.values())
    return replace(lowered, contributions=contributions), [one for one, _ in out.values()]


@frozen
class _Shared:
    of: tuple[Wanted, ...]
    wanted: Wanted
    asked: float  # of each of them by itself
    asks: float

    @property
    def gain(self) -> float:
        return self.asked - self.asks


@frozen
class _Family:
    """A sum, a mean and variances of one argument over the same rows, or some of these; or what is of two."""

    of: tuple[Wanted, ...]
    make: Callable[[Aggregate], Wanted]
    asks: Callable[[Wanted], float]

    @property
    def present(self) -> tuple[Scalar | None, ...]:
        """What says of a row that it counts: each of these means the same."""
        first = self.of[0].aggregate
        assert first.argument is not None
        if first.others:  # where none of several is NULL, which no COUNT says
            return ()
        if not first.domain.nullable:
            return (first.where,)
        return tuple(also(first.where, present(value)) for value in _alike(first.argument))

    def best(self, count: Wanted | None) -> _Shared | None:
        among = self.of if count is None else (*self.of, count)
        found = [self._made(of) for size in range(2, len(among) + 1) for of in combinations(among, size)]
        best = max(found, key=lambda made: made.gain, default=None)
        return best if best is not None and best.asks < _BETTER * best.asked else None

    def _made(self, of: tuple[Wanted, ...]) -> _Shared:
        """Called by the name of what has the highest degrees, a variance before a mean, a sum and a count."""
        first = max((one.aggregate for one in of), key=_rank)
        made = self.make(first)
        loads = sum((_load(made.contribution, one.aggregate) for one in of), Fraction(0))
        also = tuple(one.aggregate for one in of if one.aggregate.id != first.id)
        together = replace(made, also=also, load=loads, noise=of[0].noise)
        return _Shared(of, together, sum(self.asks(one) for one in of), self.asks(together))


def _families(
    block: Block, lowered: Lowered, apart: Sequence[Wanted], asks: Callable[[Wanted], float]
) -> Iterator[_Family]:
    if lowered.bounds.how == "totals":  # each unit's own: there is no mean to be made of them
        return

    def make(aggregate: Aggregate) -> Wanted:
        spread = aggregate.function in DEGREES
        cells = contribution(aggregate if spread else replace(aggregate, function="avg"))
        return wanted(aggregate, cells, cells, block, lowered)

    found: dict[tuple[object, ...], list[Wanted]] = {}
    for one in apart:
        spread = one.aggregate.function in DEGREES and asks is weighed  # each of them has a promise of its own
        if _free(one) and (spread or one.aggregate.function in ("sum", "avg")):
            aggregate = one.aggregate
            coarse = spread and not _exact(aggregate)
            key = (aggregate.argument, aggregate.where, aggregate.domain, aggregate.others, coarse)
            found.setdefault(key, []).append(one)
    for of in found.values():
        yield _Family(tuple(of), make, asks)


def _rank(aggregate: Aggregate) -> tuple[int, bool, bool]:
    return sum(DEGREES.get(aggregate.function, ())), aggregate.function == "avg", aggregate.function == "sum"


def _exact(aggregate: Aggregate) -> bool:
    """Whether a variance counts in steps as fine as a sum does, or in such as nobody sees."""
    if aggregate.argument is None or aggregate.others or aggregate.argument.type.kind == "FLOAT":
        return True
    mean, spread = (contribution(replace(aggregate, function=function)) for function in ("avg", "var_pop"))
    assert isinstance(mean, Balance) and isinstance(spread, Powers)
    return spread.factors[0][0] == mean.steps


def _free(one: Wanted) -> bool:
    """One with a clause of its own is measured as that says."""
    return one.aggregate.privacy is None


def _load(contribution: Contribution, aggregate: Aggregate) -> Fraction:
    """The square of its error relative to its public scale, where one cell's noise relative to the range is 1."""
    match contribution:
        case Powers(factors=factors) if aggregate.function in DEGREES:
            degrees = DEGREES[aggregate.function]
            raised = sum(degree > own for (_, degree), own in zip(factors, degrees, strict=True))
            return _FURTHER**raised
        case Powers(factors=((steps, _),)):
            low, high, cells = Fraction(steps.low), Fraction(steps.high), 3
        case Balance(steps=steps):
            low, high, cells = Fraction(steps.low), Fraction(steps.high), 2
        case _:
            raise AssertionError(contribution)
    far = max(abs(low), abs(high))
    match aggregate.function:
        case "count":
            return Fraction(cells)
        case "sum":
            return sum((end**2 for end in _ends(low, high, cells)), Fraction(0)) / far**2
        case _:
            return Fraction(1) if cells == 2 else _FURTHER


def _ends(low: Fraction, high: Fraction, cells: int) -> tuple[Fraction, ...]:
    """Where the values lie that one cell stands for."""
    return (low, high) if cells == 2 else (low, (low + high) / 2, high)


def _alike(value: Scalar) -> Iterator[Scalar]:
    """Values that are NULL where this one is."""
    yield value
    match value:
        case Apply(op="clamp", args=(inner, Const(value=low), Const(value=high))) if None not in (low, high):
            yield from _alike(inner)
