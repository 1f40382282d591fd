"""What units lost at most, where some of it was lost by the units of single parts alone (docs/proofs/parts.md).

A unit is in one part of a partition, so of what was charged to parts it meets that of its own: one more or fewer, the
greatest of them bounds it; changed, it may leave one part and come to another, and meets the two greatest. Losses are
compared number by number, so that what is kept is never less than the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from fractions import Fraction

from privql.frozen import frozen
from privql.kernel.losses import NO_LOSS, Loss

Part = tuple[str, str]  # which partition, and which part of it


@frozen
class InParts:
    """Where something is charged: in these parts of one partition. `twice`: a unit may be in two, before and after, and
    would meet what is charged in both; so it is charged in one alone."""

    partition: str
    parts: tuple[str, ...]
    twice: bool = False

    def __post_init__(self) -> None:
        if not self.parts or len(set(self.parts)) != len(self.parts):
            raise ValueError("what is charged in parts is charged in one at least, and once in each")
        if self.twice and len(self.parts) > 1:
            raise ValueError("where a unit may be in two parts, what reads both is charged to all of them")

    def __le__(self, other: InParts) -> bool:
        """Whether it is nowhere where the other is not."""
        return (self.partition, self.twice) == (other.partition, other.twice) and set(self.parts) <= set(other.parts)


@frozen
class Greatest:
    """Of the parts of a partition: in each number the greatest that one lost, and the greatest that another did."""

    first: Loss = NO_LOSS
    second: Loss = NO_LOSS

    def beside(self, part: Loss) -> Loss:
        """The greatest that any part lost but for this one."""
        return _each(lambda first, second, own: second if own == first else first, self.first, self.second, part)

    def raised(self, before: Loss, after: Loss) -> Greatest:
        """As it is when what one part lost has grown."""

        def second(first: Fraction, second: Fraction, before: Fraction, after: Fraction) -> Fraction:
            return second if before == first else min(first, max(second, after))

        return Greatest(_each(max, self.first, after), _each(second, self.first, self.second, before, after))

    def bound(self, twice: bool) -> Loss:
        """What a unit met at most, in whichever part it is."""
        return self.first + self.second if twice else self.first


@frozen
class Lost:
    """`most`: what any unit lost at most; the rest is how much of it was lost in parts."""

    most: Loss = NO_LOSS
    greatest: Mapping[str, Greatest] = field(default_factory=dict)  # by partition
    parts: Mapping[Part, Loss] = field(default_factory=dict)

    def of(self, where: InParts | None) -> Loss:
        """What a unit of these parts lost at most; of any, without."""
        if where is None or where.partition not in self.greatest:
            return self.most
        found = self.greatest[where.partition]
        each = (self.parts.get((where.partition, part), NO_LOSS) for part in where.parts)
        met = greatest(own + found.beside(own) if where.twice else own for own in each)
        return _without(self.most, found.bound(where.twice)) + met

    def plus(self, where: InParts | None, loss: Loss) -> Lost:
        if where is None:
            return Lost(self.most + loss, self.greatest, self.parts)
        before = found = self.greatest.get(where.partition, Greatest())
        parts = dict(self.parts)
        for part in where.parts:
            own = parts.get((where.partition, part), NO_LOSS)
            parts[where.partition, part] = own + loss
            found = found.raised(own, own + loss)
        most = _without(self.most, before.bound(where.twice)) + found.bound(where.twice)
        return Lost(most, {**self.greatest, where.partition: found}, parts)


def greatest(losses: Iterable[Loss]) -> Loss:
    """In each number the greatest of them: what a unit loses that meets one of them, whichever."""
    found = NO_LOSS
    for loss in losses:
        found = _each(max, found, loss)
    return found


def _without(most: Loss, bound: Loss) -> Loss:
    return _each(lambda all_of, of_parts: all_of - of_parts, most, bound)


def _each(number: Callable[..., Fraction | int], *losses: Loss) -> Loss:
    """Number by number; of one order, which a loss of nothing does not have."""
    orders = {loss.order for loss in losses if loss}
    if len(orders) > 1:
        raise ValueError("divergences of two orders cannot be compared")
    told = [(one.epsilon, one.delta, one.keys, one.gauss, one.gauss_delta, one.renyi) for one in losses]
    epsilon, delta, keys, gauss, gauss_delta, renyi = (number(*numbers) for numbers in zip(*told, strict=True))
    order = orders.pop() if orders else None
    return Loss(
        Fraction(epsilon), Fraction(delta), Fraction(keys), int(gauss), Fraction(gauss_delta), order, int(renyi)
    )
