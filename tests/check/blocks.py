"""What is measured by a query over the tables of the random ones."""

from __future__ import annotations

from privql.check.relations import Block
from privql.diagnostics import Source
from privql.pipeline.check import check_text
from tests.soundness.world import environment

ENV = environment()


def block(query: str) -> Block:
    one, _ = next(iter(check_text(Source(query), ENV)))
    assert one.ok, str(one)
    assert one.plan is not None
    return one.plan.blocks[0].block
