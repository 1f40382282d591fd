"""The same rows in any order, as any types, in any files, on any number of threads: the same integers, bit for bit.

PRIVQL_SOAK=1 python -m pytest tests/engines/test_arrangements.py
"""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privql.conformance.terms import COLUMNS, Terms
from privql.engines.duckdb import DuckDBEngine, sources, steps
from privql.engines.interface import EngineError, Source
from privql.engines.sql import ordering
from privql.engines.sql.expressions import Spelled, name
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import FLOAT, INT, Field
from privql.kernel.sums import Sums
from privql.kernel.terms import KeepRows, Scan, Unit
from tests.assurance import assured, length
from tests.engines.arrangements import VECTOR, arranged, plain, world
from tests.engines.conformance import SALT

PARTS, EACH = range(length(2, 530)), length(8, 20)
TERMS, ASKED = 6, 2  # of each world, and how many of these each arrangement of its rows is asked
LARGE = 300_000  # rows of every fiftieth part of the long form

Cells = list[list[int]]


def world_of(part: int) -> tuple[int, int]:
    """How many rows, more than two vectors of them, and in how many arrangements."""
    if part % 50 == 49:
        return LARGE, 2
    return 2 * VECTOR + 1 + 977 * (part % 9), EACH


def asked(source: Source, threads: int, optimizer: bool, terms: list[Sums]) -> list[Cells | str]:
    """What it computes of each; what it says if it cannot."""
    failures: list[BaseException] = []
    found: list[Cells | str] = []
    with DuckDBEngine({"table": source}, threads=threads, optimizer=optimizer, owner_log=failures.append) as engine:
        for term in terms:
            try:
                found.append(engine.run(term, SALT).tolist())
            except EngineError as error:
                found.append(error.kind if error.kind == "unsupported" else f"{error}: {failures[-1:]}")
    return found


def disagreement(seed: int, folder: Path, count: int, orders: int) -> str | None:
    """The first term whose cells are others where the same `count` rows are arranged otherwise."""
    random = Random(seed)
    rows = world(random, mild=random.random() < 0.5)
    which = np.random.default_rng(seed).integers(0, len(rows), count)
    made = Terms(random)
    drawn = [added_up(), first_of_each(random), *(made.sums(rows) for _ in range(2 if count == LARGE else 4 * TERMS))]
    answers = asked(plain(rows, which, folder), 1, True, drawn)
    telling = [(term, cells) for term, cells in zip(drawn, answers, strict=True) if cells_of(cells)][:TERMS]
    for at in range(orders):
        state = random.getrandbits(64)
        place = folder / f"{at}"
        some = random.sample(telling, ASKED)
        threads, optimizer = random.choice((1, 8)), random.random() < 0.5
        found = asked(arranged(rows, which, place, Random(state)), threads, optimizer, [term for term, _ in some])
        shutil.rmtree(place)
        for (term, wanted), cells in zip(some, found, strict=True):
            if cells != wanted:
                how = f"order {at}, {threads} threads, {'optimised' if optimizer else 'not optimised'}"
                return f"seed {seed}, {count} rows, {how}: {cells} instead of {wanted}: {term}"
    return None


def cells_of(answer: Cells | str) -> bool:
    """Whether it says something: an engine that fails does."""
    return answer != "unsupported" and any(cell for group in answer for cell in group)


def added_up() -> Sums:
    """Sums of doubles, which would depend on the order if they were added up as they are."""
    scan = Scan("table", Unit("unit"), ("u", INT), False, COLUMNS)
    return Sums(scan, (), tuple(Total(Steps(Field(c, FLOAT), Fraction(1, 2**42), -(2**44), 2**44)) for c in "fg"))


def first_of_each(random: Random) -> Sums:
    """Of each unit some rows: which ones must not follow from where they are stored."""
    scan = Scan("table", Unit("unit"), ("u", INT), False, COLUMNS)
    kept = KeepRows(scan, random.choice((1, 2)))
    return Sums(kept, (), (Total(Steps(Field("i", INT), Fraction(1), -(2**40), 2**40)), Tally()))


@pytest.mark.parametrize("part", PARTS)
def test_the_same_rows_give_the_same_cells_however_they_are_stored(part: int, tmp_path: Path) -> None:
    count, orders = world_of(part)
    with assured("arrangements") as tally:
        found = disagreement(part, tmp_path, count, orders)
        assert found is None, found
        tally["tried"] += orders
        tally[f"of {LARGE:,} rows"] += orders * (count == LARGE)


def test_several_threads_are_at_work(tmp_path: Path) -> None:
    """Plain doubles, added up by eight threads, come out in several ways; by one thread in one."""
    values = np.random.default_rng(1).normal(size=LARGE) * 10.0 ** np.random.default_rng(2).integers(-9, 9, LARGE)
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet", row_group_size=5000)
    seen: dict[int, set[float]] = {1: set(), 8: set()}
    for threads, sums in seen.items():
        with DuckDBEngine({"t": Source((str(tmp_path / "x.parquet"),))}, threads=threads) as engine:
            for _ in range(300):
                (found,) = engine._connection.execute(f"SELECT sum(x) FROM '{tmp_path}/x.parquet'").fetchone() or ()
                sums.add(found)
                if len(seen[8]) > 1:
                    break
    assert len(seen[1]) == 1 < len(seen[8])


# ---- planted faults, each of which must be seen


def _not_quantised(x: Spelled, steps: Steps) -> str:
    low, high = (float(end * steps.grid) for end in (steps.low, steps.high))
    return f"CASE WHEN isfinite({x}) THEN least(greatest({x}, {low!r}), {high!r}) * {float(1 / steps.grid)!r} END"


def _in_order_of_rows(below: object, draft: object) -> str:
    return "0"  # whichever is met first


def _as_stored(own: str, physical: str) -> Spelled | None:
    """A FLOAT's own text is not that of the double it stands for."""
    return read_column(own, physical) if physical != "FLOAT" else Spelled(f"round({name(own)}, 3)", FLOAT, loose=True)


read_column = sources._read_column


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        (steps, "_double", _not_quantised),
        (ordering, "row_hash", _in_order_of_rows),
        (sources, "_read_column", _as_stored),
    ],
)
def test_a_planted_fault_is_seen(
    module: object, name: str, fault: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, fault)
    assert any(disagreement(seed, tmp_path, 2 * VECTOR + 1, 8) for seed in range(4, 12)), name
