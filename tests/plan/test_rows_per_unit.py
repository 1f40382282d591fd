"""How many rows of a unit a feature is made of: the checker never says fewer than the kernel lets through.

What is computed of a unit is clamped into what so many rows can come to, so too few would change true answers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from privql.check.beside import rows_per_unit
from privql.check.relations import Around, Gathered
from privql.check.typed import Context
from privql.diagnostics import Source
from privql.frozen import inside
from privql.pipeline.check import check_text
from privql.plan.lower import rows_within
from tests.soundness.related import environment
from tests.soundness.related_queries import Queries

QUERIES = 400


def gathered(node: object) -> Iterator[Gathered]:
    """Those whose rows are counted for each unit, not for each row around them."""
    if isinstance(node, Gathered) and not any(isinstance(one, Around) for one in walked(node)):
        yield node
    for one in inside(node):
        yield from gathered(one)


def walked(node: object) -> Iterator[object]:
    yield node
    for one in inside(node):
        yield from walked(one)


def test_no_fewer_than_the_kernel_lets_through() -> None:
    queries = Queries(17)
    choice, met = random.Random(19), Counter[str]()
    envs = [environment(at_most, False) for at_most in (2, None)]
    for _ in range(QUERIES):
        env = choice.choice(envs)
        check, _ = next(iter(check_text(Source(queries.query().sql), env)))
        if not check.ok or check.query is None:
            continue
        for block in check.query.blocks:
            proved = rows_within(block, env, check.query)
            for one in gathered(block.rel):
                said = rows_per_unit(one.input, Context(env))
                if id(one.input) in proved:
                    rows = proved[id(one.input)]
                    met["unknown" if said is None else "as proved" if said == rows else "more"] += 1
                    assert said is None or (rows is not None and rows <= said), (check.source.text, said, rows)
    assert met["as proved"] > 20 and met["unknown"] > 10, met
