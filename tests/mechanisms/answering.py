"""Answers by the house's own release, as many as an audit asks for: real noise upon what the engine computed once.

What is exact is asked of DuckDB the first time and remembered; everything that is drawn, and each later step that
depends on it, is done anew for every answer by `privql/release.py` and `privql/pipeline/steps.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import privql.release as room
from privql.audit import answers as audit
from privql.audit import exact, reference
from privql.audit.answers import told
from privql.audit.exact import SALT
from privql.audit.reference.ranks import ranked
from privql.audit.shown import Outcome
from privql.check.env import Env
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Rows
from privql.finish.table import Table
from privql.kernel.cost import Cost
from privql.kernel.ranks import Ranks
from privql.kernel.sums import Keys, Sums
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from privql.pipeline.steps import Program
from tests.hostile.clinic import table
from tests.soundness.neighbours import Bag
from tests.soundness.world import Kind


class Remembering(exact.Remembering):
    def check(self, units: Sequence[Bag], kind: Kind) -> None:
        """Whether all that it answered is what the reference says."""
        rows: list[reference.Row] = [
            {**row, **({"id": f"u{at}"} if kind.has_id else {})} for at, bag in enumerate(units) for row in bag
        ]
        tables = {kind.table: rows}
        for term, answer in self.answers.items():
            match term:
                case Sums():
                    assert np.asarray(answer).tolist() == reference.run(term, tables, SALT)
                case Keys():
                    assert sorted(answer, key=repr) == sorted(reference.counted(term, tables, SALT), key=repr)
                case Ranks():
                    assert [(n, list(met)) for n, met in answer] == [
                        (n, list(met)) for n, met in ranked(term, tables, SALT)
                    ]
                case _:
                    raise AssertionError(f"nothing says what {type(term).__name__} should be")


def asked(query: str, env: Env) -> StatementCheck:
    one, _ = next(iter(check_text(Source(query), env)))
    assert one.ok and one.plan is not None and one.query is not None, one.diagnostics
    return one


def claimed(check: StatementCheck, looking: bool) -> tuple[float, float]:
    assert check.plan is not None
    found = (one.cost for block in check.plan.blocks for one in block.looked_for)
    cost = sum(found, Cost()) if looking else check.plan.cost
    return float(cost.epsilon), float(cost.delta)


@contextmanager
def remembering(units: Sequence[Bag], kind: Kind) -> Iterator[Remembering]:
    with DuckDBEngine({kind.table: Rows(frame=table(units, kind))}, threads=1) as engine:
        yield Remembering(engine)


def answers(check: StatementCheck, engine: Any, count: int, looking: bool) -> list[Outcome]:
    """All that is released in answer to it, `count` times; or only what is found before its sums are measured."""
    assert check.plan is not None
    (block,) = check.plan.blocks
    if looking:
        return audit.answers(block.looked_for, engine, {}, count)
    if block.looked_for or block.measured is None:
        return [_in_steps(check, engine) for _ in range(count)]
    return audit.answers([block.measured], engine, {}, count)


def _in_steps(check: StatementCheck, engine: Any) -> Outcome:
    steps: list[Any] = []

    def release(step: int, wanted: Sequence[Any], publics: Mapping[str, Table]) -> list[room.Rows]:
        steps.append([room.drawn(one, engine, publics) for one in wanted])
        return [room.read(one, json.loads(json.dumps(rows))) for one, rows in zip(wanted, steps[-1], strict=True)]

    assert check.query is not None and check.plan is not None
    Program(check.query, check.plan.blocks, release, _no_publics).run()
    return told(steps[-1], before=repr(steps[:-1]))


def _no_publics(*given: object) -> Table:
    raise AssertionError("nothing public is read")
