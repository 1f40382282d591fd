"""Sums and means of a unit's own rows are exact however large the numbers are, and whatever is declared of them."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

import privql
from privql.kernel.scalars import INT, ValueType, decimal

UNITS, ROWS = 4, 5
TYPES = [INT, *(decimal(*of) for of in ((15, 2), (18, 18), (19, 0), (28, 10), (37, 3), (38, 38)))]
POLICY = """
CREATE UNIT u;
CREATE PRIVATE TABLE w (k TEXT UNIT u, x {type}) AT MOST 5 ROWS PER UNIT;
CREATE BUDGET research FOR UNIT u EPSILON 1048576;
"""


def held(type: ValueType, steps: list[list[int]]) -> pa.Table:
    """So many of the type's least steps in each row of each unit."""
    stored = pa.int64() if type == INT else pa.decimal128(type.precision, type.scale)
    flat = [step if type == INT else Decimal(f"{step}E-{type.scale}") for unit in steps for step in unit]
    return pa.table({"k": [f"u{at}" for at, unit in enumerate(steps) for _ in unit], "x": pa.array(flat, stored)})


def written(number: Fraction, scale: int) -> str:
    whole = abs(number.numerator * 10**scale // number.denominator)
    text = str(whole).rjust(scale + 1, "0")
    return ("-" if number < 0 else "") + (f"{text[:-scale]}.{text[-scale:]}" if scale else text)


def counted(frame: pa.Table, declared: str, *texts: str) -> list[object]:
    policy = POLICY.format(type=declared)
    with privql.connect(policy=policy, frames={"w": frame}, analyst="alice") as session:
        return [
            session.run(f"SELECT COUNT(*) FROM (SELECT k, {text} SPEND EPSILON 100000").rows[0][0] for text in texts
        ]


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize(("bounded", "sign"), [(False, (1,)), (True, (1, -1))])
def test_sums_and_means_are_exact(type: ValueType, bounded: bool, sign: tuple[int, ...]) -> None:
    choice, unit = random.Random(f"{type} {sign}"), Fraction(1, 10**type.scale)
    far = 10**type.precision - 1 if type != INT else 2**63 - 1
    most = far if 0 < type.precision < 37 else far // ROWS  # what SQL's sum has a type for
    steps = [[choice.choice(sign) * choice.randint(most // 2, most) for _ in range(ROWS)] for _ in range(UNITS)]
    frame = held(type, steps)
    ends = f" BETWEEN {written(-far * unit, type.scale)} AND {written(far * unit, type.scale)}" if bounded else ""
    sums = [sum(unit) for unit in steps]
    of_units = ", ".join(written(each * unit, type.scale) for each in sums)
    means = [float(each * unit / ROWS) for each in sums]
    near = " OR ".join(f"ABS(y - {mean!r}) <= {abs(mean) * 1e-14!r}" for mean in means)
    found = counted(
        frame,
        f"{type}{ends}",
        f"SUM(x) AS y FROM w GROUP BY k) AS t WHERE y IN ({of_units})",
        f"SUM(x) OVER (PARTITION BY k) AS y FROM w) AS t WHERE y IN ({of_units})",
        f"AVG(x) AS y FROM w GROUP BY k) AS t WHERE {near}",
    )
    assert found == [UNITS, UNITS * ROWS, UNITS]


@pytest.mark.parametrize("steps", [10**38 - 1, 10**37, -(10**38) + 1])
def test_of_the_widest_decimals_of_all_a_sum_ends_early(steps: int) -> None:
    """An engine's 128 bits hold no quotient of these: what is beyond is brought to 2·10^37 least units."""
    frame = held(decimal(38, 18), [[steps]])
    end = min(max(steps, -2 * 10**37), 2 * 10**37)
    low, high = (written(Fraction(end + far, 10**18), 18) for far in (-(10**30), 10**30))
    text = f"SUM(x) AS y FROM w GROUP BY k) AS t WHERE y BETWEEN {low} AND {high}"
    assert counted(frame, "DECIMAL(38,18)", text) == [1]


def test_a_sum_beyond_its_type_is_null() -> None:
    frame = held(INT, [[2**62, 2**62], [-(2**63), -1], [2**63 - 1, -(2**63)]])
    text = "SUM(x) AS y FROM w GROUP BY k) AS t WHERE y"
    assert counted(frame, "INT", f"{text} IS NULL", f"{text} = -1") == [2, 1]
