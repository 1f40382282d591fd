"""Random typed queries: no neighbour moves a sum further than its claim, and nearly every claim is reached."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from privql.check.relations import CheckedQuery
from privql.check.typed import Context
from privql.diagnostics import Source
from privql.domains import Domain, interval
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from privql.syntax import ast
from tests.assurance import assured, length
from tests.soundness.neighbours import moves
from tests.soundness.queries import Queries
from tests.soundness.world import environment

PARTS = range(length(2, 1000))
EACH = length(50, 100)


def accepted(seed: int, count: int) -> list[StatementCheck]:
    made, queries, env = [], Queries(seed), environment()
    while len(made) < count:
        one, _ = next(iter(check_text(Source(queries.query()), env)))
        if one.ok:
            made.append(one)
    return made


@pytest.mark.parametrize("seed", PARTS)
def test_no_neighbour_moves_a_sum_beyond_its_claim_and_nearly_every_claim_is_reached(seed: int) -> None:
    choice = random.Random(seed)
    with assured("neighbours") as tally:
        for check in accepted(seed, EACH):
            tally["tried"] += 1
            assert check.plan is not None
            for block in check.plan.blocks:
                assert block.measured is not None
                farthest = [0] * len(block.measured.parts)
                for found in moves(block.measured, choice):
                    tally["pairs"] += 1
                    for at, (move, part) in enumerate(zip(found, block.measured.parts, strict=True)):
                        text = check.source.text
                        assert move.l1 <= part.sensitivity.l1, text
                        assert move.l2_squared <= part.sensitivity.l2_squared, text
                        farthest[at] = max(farthest[at], move.l1)
                for far, part in zip(farthest, block.measured.parts, strict=True):
                    tally["claims"] += 1
                    tally["reached"] += far == part.sensitivity.l1
        assert tally["reached"] >= tally["claims"] * Fraction(4, 5)  # of few; of all 9 in 10


@pytest.mark.parametrize("seed", range(4))
def test_a_checker_that_is_wrong_costs_no_privacy(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every domain that the plan relies on is replaced by a random one: the kernel's bounds hold all the same."""
    from dataclasses import replace

    from privql.pipeline import check as room

    choice = random.Random(seed)
    honest = room.checked

    def lie(domain: Domain) -> Domain:
        low, high = sorted(Fraction(choice.randint(-40, 40), choice.choice((1, 1, 4))) for _ in range(2))
        grid = choice.choice((domain.grid, Fraction(1), Fraction(1, 8), None))
        return interval(low, high, True, grid)

    def lying(node: ast.Query, context: Context) -> CheckedQuery:
        query = honest(node, context)
        blocks = []
        for block in query.blocks:
            aggregates = []
            for one in block.aggregates:
                others = tuple((term, lie(domain)) for term, domain in one.others)
                aggregates.append(replace(one, domain=lie(one.domain), others=others))
            keys = []
            for key in block.keys:
                kept = [m for m in key.members if choice.random() < 0.6] or [key.members[0]]
                keys.append(replace(key, members=tuple(kept)))
            blocks.append(replace(block, aggregates=tuple(aggregates), keys=tuple(keys)))
        return replace(query, blocks=tuple(blocks))

    monkeypatch.setattr(room, "checked", lying)
    for check in accepted(seed + 1000, EACH // 8):
        assert check.plan is not None
        for block in check.plan.blocks:
            assert block.measured is not None
            for found in moves(block.measured, choice):
                for move, part in zip(found, block.measured.parts, strict=True):
                    assert move.l1 <= part.sensitivity.l1, check.source.text
                    assert move.l2_squared <= part.sensitivity.l2_squared, check.source.text
