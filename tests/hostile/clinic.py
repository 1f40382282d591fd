"""A small clinic whose rows an attacker may choose, and what of an answer anybody can observe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

import privql
from privql.audit.replay import proved
from privql.diagnostics import PrivQLError
from privql.session import Session
from tests.soundness.neighbours import Bag
from tests.soundness.world import POLICY, Kind

_ARROW: Mapping[str, pa.DataType] = {
    "id": pa.string(),
    "a": pa.int64(),
    "b": pa.int64(),
    "c": pa.decimal128(38, 1),
    "f": pa.float64(),
    "s": pa.string(),
    "k": pa.bool_(),
    "d": pa.date32(),
    "z": pa.int64(),
    "w": pa.float64(),
    "t": pa.string(),
}
TABLES = ("people", "events", "rows_alone", "members", "dues", "strict")


def table(units: Sequence[Bag], kind: Kind) -> pa.Table:
    """The rows of these units, and with them nobody's: rows whose unit is NULL."""
    rows = [{**row, "id": f"u{at}"} for at, bag in enumerate(units) for row in bag]
    if kind.has_id:
        rows += [{**row, "id": None} for bag in units[:1] for row in bag]
    return _arrow(rows)


def _arrow(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    from decimal import Decimal
    from fractions import Fraction

    def plain(value: Any) -> Any:
        return Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else value

    return pa.table({name: pa.array([plain(row[name]) for row in rows], type) for name, type in _ARROW.items()})


@contextmanager
def session(frames: Mapping[str, object]) -> Iterator[Session]:
    empty = {name: _arrow([]) for name in TABLES}
    opened = privql.connect(policy=POLICY, analyst="mallory", frames={**empty, **frames})
    try:
        yield opened
    finally:
        opened.close()


def observed(query: str, frames: Mapping[str, object], **params: object) -> object:
    """All that the analyst sees but the noisy numbers themselves: columns, keys, rows, price, proof, words, rest."""
    with session(frames) as opened:
        try:
            answer = opened.run(query, params)
        except PrivQLError as refused:
            told: object = str(refused)
        else:
            columns = [(c.name, c.type, c.domain, c.label, c.law) for c in answer.columns]
            plan = opened.check(query, params).plan
            grouped = len(plan.blocks[0].block.keys) if plan is not None and plan.blocks else 0
            first = answer.columns[:grouped]  # some numbers have no law, either
            keys = [[v for v, c in zip(row, first, strict=False) if c.law is None] for row in answer.rows]
            told = columns, keys, len(answer.rows), answer.cost, proved(answer), answer.release_id
        return told, str(opened.budget())
