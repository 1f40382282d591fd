"""The conformance kit: what an engine makes of random terms over hostile rows, the reference must make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from privql.audit import reference
from privql.conformance.rows import Row
from privql.conformance.terms import Terms, hostile_rows
from privql.engines.interface import Engine, EngineError
from privql.kernel.sums import Sums
from tests.engines.files import write

SALT = b"\x00salt\xff"
Open = Callable[[Path], Engine]  # an engine that knows this Parquet file as `table`


def disagreement(seed: int, folder: Path, openings: list[Open], queries: int, rows: int = 60) -> str | None:
    """What the first disagreement is: of an engine with the reference, or of one opening of it with another.

    Each opening is given the same rows in an order of its own.
    """
    random = Random(seed)
    table = hostile_rows(random, rows)
    engines = []
    for place, opening in enumerate(openings):
        path = folder / f"rows{place}.parquet"
        write(random.sample(table, len(table)), path)
        engines.append(opening(path))
    try:
        terms = Terms(random)
        for _ in range(queries):
            sums = terms.sums(table)
            wanted = reference.run(sums, {"table": table}, SALT)
            for place, engine in enumerate(engines):
                found = wrong(engine, sums, wanted)
                if found:
                    return f"seed {seed}, opening {place}: {found}\n{_least(engine, sums, table)}"
        return None
    finally:
        for engine in engines:
            engine.close()


def _least(engine: Engine, sums: Sums, table: list[Row]) -> Sums:
    """With one contribution alone, if that is enough to disagree."""
    for contribution in sums.contributions:
        smaller = replace(sums, contributions=(contribution,))
        if wrong(engine, smaller, reference.run(smaller, {"table": table}, SALT)):
            return smaller
    return sums


def wrong(engine: Engine, sums: Sums, wanted: list[list[int]]) -> str | None:
    try:
        found = engine.run(sums, SALT).tolist()
    except EngineError as error:
        return None if error.kind == "unsupported" else str(error)
    return None if found == wanted else f"{found} instead of {wanted}"
