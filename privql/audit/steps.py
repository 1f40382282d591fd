"""The steps that a statement takes, one of its ways through: what is measured in each, beside which public rows.

A later step depends on noisy answers of earlier ones. Here these are drawn once, by the true mechanisms, on invented
rows; what each step claims is then tried with them as they came out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction

from privql.audit.scratch import Scratch
from privql.engines.interface import Computing, Publics
from privql.finish.table import Table
from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.events import Events, cost_of, events
from privql.kernel.parts import Parts
from privql.names import fold
from privql.pipeline.desk import inputs
from privql.pipeline.report import StatementCheck
from privql.pipeline.steps import Program, Rows
from privql.release import Wanted, drawn, read


@frozen
class Step:
    """What is measured at once, of units of one kind; and what it claims of one of them."""

    number: int
    unit: str
    wanted: tuple[Wanted, ...]
    publics: Publics
    parts: Parts | None = None  # those outside of which its statement is said to read nothing

    @property
    def cost(self) -> Cost:
        met: Events = sum((events(one) for one in self.wanted), ())
        return cost_of(met) if met else Cost(Fraction(0))


def steps_of(check: StatementCheck, scratch: Scratch, engine: Computing) -> list[Step]:
    """Those that an answer to it took, in their order."""
    assert check.query is not None and check.plan is not None
    found: list[Step] = []
    released, dummies = inputs(check.query, scratch.desk)
    parts = {fold(unit): of for unit, of in check.plan.parts_by_unit.items()}

    def release(number: int, wanted: Sequence[Wanted], publics: Mapping[str, Table]) -> list[Rows]:
        for unit in dict.fromkeys(fold(one.unit.name) for one in wanted):
            own = tuple(one for one in wanted if fold(one.unit.name) == unit)
            found.append(Step(number, unit, own, dict(publics), parts.get(unit)))
        told = json.loads(json.dumps([drawn(one, engine, publics) for one in wanted]))
        return [read(one, rows) for one, rows in zip(wanted, told, strict=True)]

    post = scratch.places.post()
    Program(
        check.query, check.plan.blocks, release, lambda query, blocks: post.run(query, blocks, released, dummies)
    ).run()
    return found
