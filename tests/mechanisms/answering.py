"""Answers by the house's own release, as many as an audit asks for: real noise upon what the engine computed once.

What is exact is asked of DuckDB the first time and remembered; everything that is drawn, and each later step that
depends on it, is done anew for every answer by `privql/release.py` and `privql/pipeline/steps.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

import privql.release as room
from privql.audit import reference
from privql.audit.reference.ranks import ranked
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
from tests.mechanisms.audit import Outcome
from tests.soundness.neighbours import Bag
from tests.soundness.world import Kind

SALT = b"audited"


class Remembering:
    """An engine that is asked each question once."""

    def __init__(self, engine: DuckDBEngine) -> None:
        self._engine = engine
        self._known: dict[tuple[str, Any], Any] = {}
        self._last: dict[tuple[str, int], tuple[Any, Any]] = {}  # the same, by the very term: found sooner

    def __getattr__(self, name: str) -> Any:
        def ask(term: Any, salt: bytes, publics: Mapping[str, Any] | None = None) -> Any:
            kept = self._last.get((name, id(term)))
            if kept is not None and kept[0] is term:
                return kept[1]
            if (name, term) not in self._known:
                self._known[name, term] = getattr(self._engine, name)(term, SALT, publics or {})
            self._last[name, id(term)] = term, self._known[name, term]
            return self._known[name, term]

        return ask

    def check(self, units: Sequence[Bag], kind: Kind) -> None:
        """Whether all that it answered is what the reference says."""
        rows: list[reference.Row] = [
            {**row, **({"id": f"u{at}"} if kind.has_id else {})} for at, bag in enumerate(units) for row in bag
        ]
        tables = {kind.table: rows}
        for (_, term), answer in self._known.items():
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
        return [_told([[room._drawn(one, engine, {}) for one in block.looked_for]]) for _ in range(count)]
    if block.looked_for or block.measured is None:
        return [_in_steps(check, engine) for _ in range(count)]
    return [_told([room._drawn(block.measured, engine, {})]) for _ in range(count)]


def _in_steps(check: StatementCheck, engine: Any) -> Outcome:
    told: list[Any] = []

    def release(step: int, wanted: Sequence[Any], publics: Mapping[str, Table]) -> list[room.Rows]:
        told.append([room._drawn(one, engine, publics) for one in wanted])
        return [room._read(one, json.loads(json.dumps(rows))) for one, rows in zip(wanted, told[-1], strict=True)]

    assert check.query is not None and check.plan is not None
    Program(check.query, check.plan.blocks, release, _no_publics).run()
    return _told(told)


def _no_publics(*given: object) -> Table:
    raise AssertionError("nothing public is read")


def _told(steps: Sequence[Any]) -> Outcome:
    """All steps but the last, and what is no number, in words; the numbers of the last."""
    numbers: list[int] = []
    return f"{steps[:-1]!r}{_words(steps[-1], numbers)}", tuple(numbers)


def _words(value: Any, numbers: list[int]) -> str:
    match value:
        case list() | tuple():
            return f"[{','.join(_words(each, numbers) for each in value)}]"
        case int() | np.integer() | Fraction() if not isinstance(value, bool):
            numbers.append(int(value))
            return "#"
        case _:
            return repr(value)
