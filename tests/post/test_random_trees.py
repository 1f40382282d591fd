"""Random relations, run by the engine and by the plain meaning of the algebra: the same rows in the same order."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from privql.engines.interface import EngineError
from privql.kernel.scalars import Value
from privql.post.run import PostProcessor
from tests.assurance import assured, length
from tests.post.reference import Reference
from tests.post.trees import Trees

QUERIES = length(240, 20_000)
EACH = 40


def same(found: Value, wanted: Value) -> bool:
    if isinstance(found, float) and isinstance(wanted, (float, int)):
        return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)
    return found == wanted and type(found) is type(wanted)


@pytest.fixture(scope="module")
def processor() -> Iterator[PostProcessor]:
    made = PostProcessor({}, {})
    yield made
    made.close()


@pytest.mark.parametrize("start", range(0, QUERIES, EACH))
def test_the_engine_gives_the_rows_that_the_algebra_means(start: int, processor: PostProcessor) -> None:
    with assured("public") as tally:
        tally["tried"] += EACH
        refused = 0
        for seed in range(start, start + EACH):
            trees = Trees(seed)
            query, ids = trees.query()
            wanted = Reference(query, trees.blocks, trees.tables).answer(ids)
            try:
                found = processor.run(query, trees.blocks, released=trees.tables, dummies=trees.tables)
            except EngineError as error:
                if error.kind != "unsupported":
                    raise
                refused += 1
                continue
            assert len(found.rows) == len(wanted), seed
            for row, other in zip(found.rows, wanted, strict=True):
                assert all(map(same, row, other)), (seed, row, other)
        assert refused <= 3
