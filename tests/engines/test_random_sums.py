"""Random typed terms over hostile rows: the engine's integers are the reference's, in any order of rows, on 1 thread and 8."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError, Source
from privql.kernel.terms import Sums
from tests import reference
from tests.engines.randoms import Terms, hostile_rows, write

SEEDS = range(2000) if os.environ.get("PRIVQL_SOAK") else range(8)
EACH = 25
SALT = b"\x00salt\xff"


def answered(engine: DuckDBEngine, sums: Sums) -> list[list[int]] | None:
    try:
        return engine.run(sums, SALT).tolist()  # type: ignore[no-any-return]
    except EngineError as error:
        if error.kind == "unsupported":
            return None
        raise


@pytest.mark.parametrize("seed", SEEDS)
def test_the_engine_computes_what_the_reference_says(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    rows = hostile_rows(random, 60)
    write(rows, tmp_path / "rows.parquet")
    shuffled = random.sample(rows, len(rows))
    write(shuffled, tmp_path / "shuffled.parquet")
    terms = Terms(random)
    causes: list[BaseException] = []
    with (
        DuckDBEngine({"table": Source((str(tmp_path / "rows.parquet"),))}, threads=1, owner_log=causes.append) as one,
        DuckDBEngine(
            {"table": Source((str(tmp_path / "shuffled.parquet"),))},
            threads=8,
            optimizer=False,
            owner_log=causes.append,
        ) as other,
    ):
        for _ in range(EACH):
            sums = terms.sums(rows)
            try:
                found = answered(one, sums)
                again = answered(other, sums)
            except EngineError:
                raise AssertionError((causes, sums)) from None
            wanted = reference.run(sums, {"table": rows}, SALT)
            assert found == again and (found is None or found == wanted), (sums, one.emit(sums, SALT))
