"""Sums of a unit's own rows that are too long for a total: each engine computes what the reference says."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from privql.audit import reference
from privql.check.env import Env
from privql.diagnostics import Source
from privql.engines.interface import Computing
from privql.kernel.scalars import INT, Value, ValueType, decimal
from privql.kernel.sums import Sums
from privql.pipeline.check import check_text
from privql.policy.build import build_catalog
from privql.policy.findings import accepted
from tests.engines.conformance import SALT

TYPES = (INT, *(decimal(*of) for of in ((15, 2), (18, 18), (19, 0), (28, 10), (38, 3), (38, 38))))
POLICY = f"""
CREATE UNIT u;
CREATE PRIVATE TABLE w (k TEXT UNIT u, {", ".join(f"x{at} {type}" for at, type in enumerate(TYPES))})
  AT MOST 5 ROWS PER UNIT;
CREATE BUDGET research FOR UNIT u EPSILON 10;
"""
ENV = Env(accepted(*build_catalog(Source(POLICY))))
ASKED = (
    "SUM({x}) AS y FROM w GROUP BY k",
    "AVG({x}) AS y FROM w GROUP BY k",
    "SUM({x}) OVER (PARTITION BY k) AS y FROM w",
)


def _rows() -> list[dict[str, Value]]:
    """Numbers as long as their types hold, and short ones."""
    choice, rows = random.Random(5), []
    for at in range(40):
        row: dict[str, Value] = {"k": f"u{at // 5}"}
        for place, type in enumerate(TYPES):
            far = 2**63 - 1 if type == INT else 10**type.precision - 1
            step = choice.choice((1, -1)) * choice.choice((choice.randint(0, far), far, 7))
            row[f"x{place}"] = step if type == INT else Fraction(step, 10**type.scale)
        rows.append(row)
    return rows


ROWS = _rows()


def table() -> pa.Table:
    columns = {"k": pa.array([row["k"] for row in ROWS])}
    for at, type in enumerate(TYPES):
        columns[f"x{at}"] = _stored([row[f"x{at}"] for row in ROWS], type)
    return pa.table(columns)


def _stored(values: list[Value], type: ValueType) -> pa.Array:
    if type == INT:
        return pa.array(values, pa.int64())
    steps = (int(value * 10**type.scale) for value in values if isinstance(value, Fraction))
    widest = pa.array([Decimal(f"{step}E-{type.scale}") for step in steps], pa.decimal128(38, type.scale))
    return widest.cast(pa.decimal128(type.precision, type.scale))


def disagreement(engine: Computing) -> str | None:
    """Of an engine that has the table."""
    for at in range(len(TYPES)):
        for asked in ASKED:
            text = f"SELECT SUM(CLAMP(y, -1e30, 1e30)), COUNT(y) FROM (SELECT k, {asked.format(x=f'x{at}')}) AS t"
            check, _ = next(iter(check_text(Source(f"{text} SPEND EPSILON 1"), ENV)))
            assert check.plan is not None and check.plan.blocks[0].measured is not None, check
            sums = check.plan.blocks[0].measured.term
            assert isinstance(sums, Sums)
            wanted, found = reference.run(sums, {"w": ROWS}, SALT), engine.run(sums, SALT).tolist()
            if found != wanted:
                return f"{text}: {found} instead of {wanted}"
    return None
