"""The third layer: many answers of neighbours, looked at from outside, contradict no claim.

Which neighbours: those that the first layer found to be told apart best, and crowds in which one unit more may show -
in a group that is found, in a bound that is chosen. A few answers of each say which are worth many.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from privql.audit.answers import answers
from privql.audit.brute import Brute, Pair
from privql.audit.exact import Remembering, terms_of
from privql.audit.faults import Fault
from privql.audit.scratch import one_engine
from privql.audit.shown import Outcome, Shown, guessed, shown
from privql.audit.steps import Step
from privql.audit.world import Database, World
from privql.engines.interface import Computing, EngineError
from privql.frozen import frozen
from privql.kernel.bounds import Chosen
from privql.kernel.selection import Count, Selected

CASES = 2  # pairs of which many answers are drawn
MISS = 1e-4  # all bounds of a step together
_NUMBERS = 20_000_000  # drawn at most, in all
_LARGEST = 3000  # units in a crowd

Tick = Callable[[float], None]


@frozen
class Case:
    """What the answers of two neighbours showed."""

    pair: Pair
    shown: Shown


@frozen
class BlackBox:
    tried: int  # pairs, of which some answers were drawn
    draws: int  # of each side, of those that told most
    cases: tuple[Case, ...]
    failed: bool = False

    @property
    def best(self) -> Case | None:
        return max(self.cases, key=lambda case: case.shown.epsilon, default=None)


def black_box(step: Step, world: World, some: Sequence[Pair], fault: Fault, draws: int, tick: Tick) -> BlackBox:
    """A few answers of each pair are drawn, and so many of those that told most."""
    delta = float(step.cost.delta)
    few = min(max(draws // 10, 300), 2000)
    rated: list[tuple[float, int]] = []
    failed = False
    cases = []
    with one_engine(world.catalog, terms_of(step.wanted)) as over:

        def asked(units: Database) -> Computing:
            return Remembering(fault.engine(over(world.holding(units))))

        for at, pair in enumerate(some):
            sides = _sides(step, asked, fault, pair, few)
            failed = failed or sides is None
            rated.append((-1.0 if sides is None else guessed(*sides, delta), at))
            tick(0.3 * at / len(some))
        rated.sort(reverse=True)
        for number, (_, at) in enumerate(rated[:CASES]):
            sides = _sides(step, asked, fault, some[at], draws)
            failed = failed or sides is None
            if sides is not None:
                cases.append(Case(some[at], shown(*sides, delta, MISS / (2 * CASES))))
            tick(0.3 + 0.7 * (number + 1) / CASES)
    drawn = cases[0].shown.count * 2 if cases else 0
    return BlackBox(len(some), drawn, tuple(cases), failed)


def telling(step: Step, found: Brute, choice: random.Random) -> list[Pair]:
    """Those that may show most: the farthest of each measurement, and with others around that have the same."""
    farthest = [pair for best in found.farthest for pair in best]
    out = [best[0] for best in found.farthest if best]
    for at, made in enumerate(step.wanted):
        for pair in found.farthest[at][:1]:
            out += [pair.among(n) for n in _crowds(made, choice) if n]
    out += sorted(farthest, key=lambda pair: pair.price, reverse=True)
    return list(dict.fromkeys(out))


def _crowds(made: object, choice: random.Random) -> Sequence[int]:
    """Of how many units one more shows best."""
    match made:
        case Selected(keep=Count() as law):
            return [n for n in (law.reach // 2, law.reach) if n <= _LARGEST]
        case Selected(keep=law):
            return [n for n in (law.even // 2, law.even - 1) if n <= _LARGEST]
        case Chosen():
            return 2, 6, 20
        case _:
            return ()


def _sides(
    step: Step, asked: Callable[[Database], Computing], fault: Fault, pair: Pair, draws: int
) -> tuple[list[Outcome], list[Outcome]] | None:
    """None where the engine fails."""
    out = []
    for units in (pair.one, pair.other):
        engine = asked(units)
        try:
            (first,) = answers(step.wanted, engine, step.publics, 1, fault.samplers)
            most = max(100, _NUMBERS // (4 * CASES * max(len(first[1]), 1)))
            out.append(answers(step.wanted, engine, step.publics, min(draws, most), fault.samplers))
        except EngineError:
            return None
    one, other = out
    count = min(map(len, out))
    return one[:count], other[:count]
