"""By how much one plan is cheaper than another that measures the same numbers."""

from __future__ import annotations

from fractions import Fraction

from privql.check.env import USUAL
from privql.frozen import frozen
from privql.kernel.cost import amount_text
from privql.pipeline.figures import rough
from privql.plan.behind import short
from privql.plan.measurements import Measurement
from privql.plan.program import BlockPlan, Plan
from privql.plan.ranks import off

_WORTH = Fraction(5, 4)  # less than this is not worth reading about


def gained(before: Plan, after: Plan) -> Fraction | None:
    """By how much it is cheaper, if that is worth saying and nothing is dearer. No δ is worth it where the numbers are
    as good, of which some may have come from the search for the groups."""
    pairs = _pairs(before, after)
    if not pairs or not after.epsilon.known:
        return None
    spent, spends = before.epsilon.constant, after.epsilon.constant
    if spends > spent or after.delta > before.delta:
        return None
    ratios = [_ratio(*pair) for pair in pairs]
    gain = max(ratios) * spent / spends
    if before.delta and not after.delta:
        gain = max(gain, _WORTH)
    return gain if min(ratios) >= Fraction(99, 100) and gain >= _WORTH else None  # WITHIN rounds ε


@frozen
class _Number:
    """An aggregate of a block: where it comes from a measurement, `source` is that."""

    plan: BlockPlan
    at: int

    @property
    def source(self) -> Measurement | None:
        at = self.plan.sources[self.at]
        return self.plan.measurements[at] if at is not None else None

    @property
    def named(self) -> bool:
        """Whether its measurement has its name."""
        return self.source is None or self.source.aggregate.id == self.plan.block.aggregates[self.at].id

    @property
    def width(self) -> Fraction | None:
        return self.plan.halfwidth(self.at, USUAL)


def _pairs(before: Plan, after: Plan) -> list[tuple[_Number, _Number]]:
    """The same numbers; none, where they are shared in another way, and not because a search gives some of them."""
    shared = [[len(one.also) for one in plan.measurements] for plan in (before, after)]
    if shared[0] != shared[1] and not any(one.counts for one in before.selections):
        return []
    made = [[_Number(one, at) for one in plan.blocks for at in range(len(one.sources))] for plan in (before, after)]
    return list(zip(*made, strict=True)) if len(made[0]) == len(made[1]) else []


def _ratio(one: _Number, other: _Number) -> Fraction:
    """How much more noise one has than the other: of its cells, if both have such."""
    if one.source is not None and other.source is not None:
        return _noise(one.source) / _noise(other.source)
    assert one.width is not None and other.width is not None  # counts
    return (one.width + 1) / (other.width + 1)


def _noise(one: Measurement) -> Fraction:
    assert one.scale is not None
    deviations = 1 if one.noise == "gaussian" else Fraction(1414, 1000)
    return one.scale * one.grid * deviations


def difference(before: Plan, after: Plan) -> str:
    """What is spent, where that is less, and the error that shrinks most; "" where nobody would see a difference."""
    said = []
    if after.epsilon.constant < before.epsilon.constant:
        said.append(f"ε = {after.epsilon.text} instead of {before.epsilon.text}")
    if after.delta < before.delta:
        said.append(f"δ = {amount_text(after.delta)} instead of {amount_text(before.delta)}" if after.delta else "no δ")
    one, other = max(_pairs(before, after), key=lambda pair: (_ratio(*pair), pair[0].named))
    if _ratio(one, other) >= _WORTH and _error(one) != _error(other):
        said.append(f"{one.plan.block.aggregates[one.at].text} ± {_error(other)} instead of {_error(one)}")
    return ", ".join(said)


def _error(one: _Number) -> str:
    width, source = one.width, one.source
    if width is not None or source is None:
        return rough(width) if width is not None else "by noise"
    if source.placed is not None:
        return f"{rough(off(source.placed.draw, source.placed.term.steps))} ranks"
    if source.picked is not None and source.aggregate.choice is not None:
        return f"{rough(short(source.aggregate.choice, source.picked.exponent, USUAL))} rows"
    among = source.among_many(USUAL)
    return f"{rough(among)}/n" if among is not None else f"by noise of deviation {rough(_noise(source))}"
