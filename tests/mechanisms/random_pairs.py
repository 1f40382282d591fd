"""Random queries, each with two neighbours between which its sums move as far as any that were found."""

from __future__ import annotations

import random
from itertools import product

from privql.check.env import Env
from privql.diagnostics import Source
from privql.kernel.measure import Measured
from privql.pipeline.check import check_text
from tests.mechanisms.pairs import Pair
from tests.soundness.neighbours import Bag, answer, apart, bags, extremes, scanned
from tests.soundness.queries import Queries
from tests.soundness.world import KINDS


def random_pair(seed: int, env: Env) -> Pair:
    choice, queries = random.Random(seed), Queries(seed)
    while True:
        text = queries.query().replace("SPEND EPSILON 1", "SPEND EPSILON 2")
        check, _ = next(iter(check_text(Source(text), env)))
        if not check.ok or check.plan is None or len(check.plan.blocks) != 1:
            continue
        (block,) = check.plan.blocks
        if isinstance(block.measured, Measured) and not block.looked_for and not block.beside:
            return _farthest(text, block.measured, choice)


def _farthest(text: str, measured: Measured, choice: random.Random) -> Pair:
    kind = KINDS[scanned(measured.term).table]
    own = bags(extremes(measured, choice), kind, choice)
    beside = choice.choice(own)
    units: list[tuple[Bag, ...]] = [() if not kind.change_one else (own[0],), *((bag,) for bag in own)]
    found = [answer(measured.term, (beside, *unit), kind) for unit in units]

    def moved(pair: tuple[int, int]) -> float:
        moves = apart(measured, found[pair[0]], found[pair[1]])
        return sum(move.l1 / part.sensitivity.l1 for move, part in zip(moves, measured.parts, strict=True))

    places = range(len(units))
    one, other = max(product(places if kind.change_one else (0,), places), key=moved)
    return Pair(text, kind.table, "", "", (beside, *units[one]), (beside, *units[other]), 0, whole=text)
