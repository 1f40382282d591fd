"""Certificates of random SQL: what is measured of it, once groups and bounds are found, is proved to the verifier."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from privql.diagnostics import Source
from privql.kernel.certificate import Charged, Sealed, certificate, commitments
from privql.kernel.verify import Refused, verified
from privql.pipeline.check import check_text
from privql.plan.program import Plan
from tests.assurance import SOAK, assured
from tests.kernel.proofs import changed, leaves, text
from tests.meaning.meaning import measured
from tests.soundness.queries import Queries
from tests.soundness.related_queries import Queries as Related
from tests.soundness.test_related import ENVS, limited
from tests.soundness.world import environment

BATCHES, EACH = (200, 500) if SOAK else (4, 30)
CHANGES = 1 if SOAK else 3


def checked(seed: int) -> Iterator[tuple[str, Plan]]:
    """Random queries that cost something: their plans, for which no engine has to run."""
    choice, plain, related, world = random.Random(seed), Queries(seed), Related(seed), environment()
    while True:
        sql, env = plain.query(), world
        if choice.random() > 0.3:
            sql, env = limited(related.query(), choice), choice.choice(ENVS)[0]
        check, _ = next(iter(check_text(Source(sql), env)))
        if check.ok and check.plan is not None and check.plan.blocks:
            yield sql, check.plan


def certified(sql: str, plan: Plan, choice: random.Random) -> str:
    charged = tuple(Charged(unit, "research", met) for unit, met in plan.events_by_unit.items())
    texts = {"policy": "CREATE UNIT person", "query": sql, "inputs": "{}", "answer": '{"columns":[],"rows":[]}'}
    return certificate(measured(plan, choice), Sealed("r1", charged, commitments(choice.randbytes(32), 1, texts)))


def refused(told: str) -> str:
    """Why, in one line; nothing, if it holds."""
    said = ""
    try:
        verified(told)
    except Refused as why:
        said = str(why)
    assert said.isprintable() and len(said) < 200
    return said


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_queries_measure_is_certified_and_no_change_of_it(batch: int) -> None:
    choice, plans = random.Random(batch), checked(batch)
    with assured("certificates") as tally:
        for _ in range(EACH):
            told = certified(*next(plans), choice)
            tally["tried"] += 1
            assert refused(told) == "", told
            tally["accepted"] += 1
            for path in choice.sample(list(leaves(json.loads(told))), CHANGES):
                assert refused(text(changed(json.loads(told), path, choice))), (path, told)
                tally["changed and refused"] += 1
