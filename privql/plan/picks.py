"""How candidates are chosen by their counts, and what the kernel proves of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import prod

from privql.check.relations import Aggregate, Block
from privql.diagnostics import refuse
from privql.kernel import picks
from privql.kernel.measure import Sensitivity
from privql.kernel.picks import Picked, Way
from privql.kernel.sums import Key
from privql.plan.lower import Lowered
from privql.plan.spend import Wanted

_MOST = 10**6  # counts
_FOUND = 1000

WAYS: Mapping[Way, str] = {
    "FLIP": "permute and flip",
    "NOISY_MAX": "noisy max",
    "EXPONENTIAL": "exponential mechanism",
    "GUMBEL": "Gumbel noise",
    "HISTOGRAM": "noisy histogram",
}


def measured_of(block: Block) -> tuple[tuple[Aggregate, ...], tuple[Aggregate, ...]]:
    """Those with a measurement of their own, and those that come out with it: what is drawn together is one."""
    first = 1 if any(one.choice is not None or one.together for one in block.aggregates) else len(block.aggregates)
    return block.aggregates[:first], block.aggregates[first:]


def choosing(one: Wanted, lowered: Lowered, also: tuple[Aggregate, ...]) -> Wanted:
    """With the way that is taken, and what that moves."""
    choice, value = one.aggregate.choice, one.aggregate.argument
    if choice is None or value is None:
        draws = len(also) + 1  # each by as much noise as there are halvings
        return replace(one, also=also, load=Fraction(draws * draws.bit_length() ** 2)) if also else one
    candidates = Key(value, choice.candidates)
    _countable(one.aggregate, len(choice.candidates), lowered)
    way = choice.way or best(lowered, candidates, choice.count)
    l1 = picks.moved(lowered.stable, lowered.keys, candidates, way) * picks.rounds(way, choice.count)
    aggregate, *others = (replace(each, choice=replace(choice, way=way)) for each in (one.aggregate, *also))
    return replace(one, aggregate=aggregate, also=tuple(others), sensitivity=Sensitivity(l1, l1**2))


def _countable(one: Aggregate, values: int, lowered: Lowered) -> None:
    """Known before anything is charged: of groups that are still to be found, for a thousand of them."""
    groups = prod(len(key.members) for key in lowered.keys) * (_FOUND if lowered.unlisted else 1)
    if groups * values > _MOST:
        many = f"{groups} groups" + (" that may be found" if lowered.unlisted else "")
        raise refuse(
            "PQL0404",
            f"{groups * values} counts are more than {_MOST}",
            one.span,
            why=f"{values} values are counted in each of {many}",
            help="choose among fewer, or group more coarsely",
        )


def best(lowered: Lowered, candidates: Key, count: int) -> Way:
    """One after the other, as long as that needs no more noise than to blur all counts at once: then it is the less
    noisy, since the noise of a coin is one-sided."""
    far, whole = (picks.moved(lowered.stable, lowered.keys, candidates, way) for way in ("FLIP", "HISTOGRAM"))
    return "FLIP" if count * far <= whole else "HISTOGRAM"


def takes_delta(block: Block) -> bool:
    return any(one.choice is not None and one.choice.way == "GUMBEL" for one in block.aggregates)


def choice_without_delta(block: Block) -> Exception:
    one = block.aggregates[0]
    return refuse(
        "PQL0408",
        "USING GUMBEL needs a δ",
        one.privacy.span if one.privacy is not None else one.span,
        why="several values are cheaper for a small chance to fail, and neither query nor budget states a δ above 0",
        help="spend one, `SPEND EPSILON 0.5 DELTA 1e-7`, or leave USING out: other ways need none",
    )


def chosen(aggregate: Aggregate, lowered: Lowered, epsilon: Fraction, delta: Fraction) -> Picked:
    choice, value = aggregate.choice, aggregate.argument
    assert choice is not None and choice.way is not None and value is not None
    candidates = Key(value, choice.candidates)
    return picks.most_frequent(
        lowered.stable, lowered.keys, candidates, aggregate.where, choice.count, choice.way, epsilon, delta
    )
