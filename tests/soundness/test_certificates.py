"""Certificates of random SQL: what is measured of it, once groups and bounds are found, is proved to the verifier."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator

import pytest

from privql.diagnostics import Source
from privql.kernel.certificate import Charged, Sealed, certificate
from privql.kernel.events import Losing
from privql.kernel.verify import Refused, verified
from privql.pipeline.check import check_text
from privql.plan.program import Plan
from tests.kernel.proofs import changed, leaves, text
from tests.soundness.queries import Queries
from tests.soundness.related_queries import Queries as Related
from tests.soundness.test_related import ENVS, limited
from tests.soundness.world import environment

QUERIES = 20_000 if os.environ.get("PRIVQL_SOAK") else 120


def checked(seed: int) -> Iterator[Plan]:
    choice, plain, related, world = random.Random(seed), Queries(seed), Related(seed), environment()
    while True:
        if choice.random() < 0.3:
            check, _ = next(iter(check_text(Source(plain.query()), world)))
        else:
            env, _ = choice.choice(ENVS)
            check, _ = next(iter(check_text(Source(limited(related.query(), choice)), env)))
        if check.ok and check.plan is not None and check.plan.blocks:
            yield check.plan


def measured(plan: Plan, choice: random.Random) -> tuple[Losing, ...]:
    """As a run would, whatever it found."""
    out: list[Losing] = []
    for block in plan.blocks:
        out += block.looked_for
        if block.searches:
            block = block.within([choice.randrange(len(search.intervals)) for search in block.searches])
        unlisted = len(block.lowered.unlisted)
        out += block.all_over([(None,) * unlisted] if unlisted else None)
    return tuple(out)


def refused(told: str) -> str:
    try:
        verified(told)
    except Refused as why:
        return str(why)
    return ""


@pytest.mark.parametrize("seed", range(4))
def test_what_queries_measure_is_certified_and_no_change_of_it(seed: int) -> None:
    choice, plans = random.Random(seed), checked(seed)
    held = caught = 0
    for _ in range(QUERIES // 4):
        plan = next(plans)
        charged = tuple(Charged(unit, "research", met) for unit, met in plan.events_by_unit.items())
        told = certificate(measured(plan, choice), Sealed("r1", charged))
        assert refused(told) == "", told
        held += 1
        path = choice.choice(list(leaves(json.loads(told))))
        caught += refused(text(changed(json.loads(told), path, choice))) != ""
    print(f"accepted {held}, refused {caught} that were changed")
    assert caught == held
