"""Whole steps between two ends: exact or refused, and no value out of the range that is known of it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest

from privql.audit import reference
from privql.conformance.pools import hostile, in_type
from privql.engines.interface import EngineError
from privql.functions.scalar import evaluate_term
from privql.functions.scalar.numbers import write_decimal
from privql.kernel.features import Steps, Total
from privql.kernel.scalars import FLOAT, INT, TEXT, Apply, Const, Field, Scalar, ValueType, decimal
from privql.kernel.sums import Sums
from privql.kernel.terms import Combine, Gather, Project, SetOperation
from tests.engines.small import SALT, cells, engine, scan


@pytest.mark.parametrize("type", [INT, FLOAT, decimal(5, 1), decimal(20, 1)], ids=str)
def test_a_clamp_that_steps_repeat_is_not_computed_twice(type: ValueType) -> None:
    """And one that reaches less far than the steps is computed."""

    def end(value: int) -> Const:
        return Const(float(value) if type == FLOAT else Fraction(value) if type.kind == "DECIMAL" else value, type)

    x, grids = Field("x", type), (Fraction(1, 8 if type == FLOAT else 10), Fraction(1), Fraction(4))
    clamped = Apply("clamp", (x, end(-3), end(8)), type)
    data = {"x": [-9.0, -3.0, 0.0, 3.0, 6.0, 8.0, 9.0, 20.0, None, float("nan"), float("inf")]}
    rows = [{"x": None if v is None or not math.isfinite(v) else end(int(v)).value} for v in data["x"]]
    if type != FLOAT:
        data = {"x": [None if row["x"] is None else int(row["x"]) for row in rows]}
    with engine(data) as e:
        for low, high, grid in itertools.product((-8, -3, 0, 7), (2, 7, 8, 12), grids[type == INT :]):
            steps = Steps(x, grid, int(min(low, high) / grid), int(max(low, high) / grid))
            sums = Sums(Project(scan((("x", type),)), (("x", clamped),)), (), (Total(steps),))
            assert e.run(sums, SALT).tolist() == reference.run(sums, {"t": rows}, SALT), steps
            if type == INT and grid == 1:
                assert ("CASE" in e.emit(sums)) == (low < -3 or high > 8), steps


def test_no_value_is_out_of_the_range_that_is_known_of_it() -> None:
    """Within the steps it is not clamped again: a sum would be more than a unit may change it."""
    x, y = (Apply("coalesce", (Field(name, INT), Const(0, INT)), INT) for name in "xy")
    data = {"x": [*range(-6, 7)] * 13, "y": sorted([*range(-6, 7)] * 13)}
    rows = [{"x": one, "y": other} for one, other in zip(*data.values(), strict=True)]

    def clamped(value: Scalar, low: int, high: int) -> Scalar:
        return Apply("clamp", (value, Const(low, INT), Const(high, INT)), INT)

    made: list[Scalar] = []
    for ends in ((-2, 3), (1, 4), (-5, -2), (0, 0), (3, -2)):
        one = clamped(x, *ends)
        made += [one, Apply("neg", (one,), INT), Apply("abs", (one,), INT)]
        for others in ((-3, 1), (2, 5), (-4, -1)):
            both = one, clamped(y, *others)
            made += [Apply(op, both, INT) for op in ("add", "sub", "mul", "int_div", "mod")]
            made.append(Apply("sub", (Apply("mul", both, INT), Apply("neg", both[:1], INT)), INT))
    found = [[value for value in (evaluate_term(term, row) for row in rows) if isinstance(value, int)] for term in made]
    totals, wanted = [], []
    for term, values in zip(made, found, strict=True):
        for low, high in ((min(values) + 1, max(values) + 1), (min(values) - 1, max(values) - 1)):
            totals.append(Total(Steps(term, Fraction(1), low, high)))
            wanted.append(sum(min(max(value, low), high) for value in values))
    assert cells(data, Sums(scan((("x", INT), ("y", INT))), (), tuple(totals))) == [wanted]


def test_steps_that_end_beyond_all_values_of_a_type_need_no_wider_numbers() -> None:
    type = decimal(37, 1)
    data = {"x": pa.array([Decimal(9 * 10**35), Decimal(-4 * 10**35), None], pa.decimal128(37, 1))}
    steps = Steps(Field("x", type), Fraction(10**20), -(10**18), 10**18)
    assert cells(data, Sums(scan((("x", type),)), (), (Total(steps),))) == [[5 * 10**15]]


EXACT = [INT, *(decimal(*of) for of in ((4, 2), (9, 8), (10, 8), (18, 2), (18, 9), (19, 0), (38, 0), (38, 38)))]


@pytest.mark.parametrize("type", EXACT, ids=str)
def test_steps_are_exact_or_refused_however_coarse_and_far(type: ValueType) -> None:
    """Beforehand: no number on the way is too wide for the engine, whatever value there is."""
    random, unit = Random(str(type)), Fraction(1, 10**type.scale)
    values = [Fraction(value) for value in hostile(type) if in_type(value, type)]
    stored = pa.int64() if type == INT else pa.decimal128(type.precision, type.scale)
    written = [int(v) if type == INT else Decimal(write_decimal(v, type.scale)) for v in values]
    rows = [{"x": int(v) if type == INT else v, "u": at} for at, v in enumerate(values)]
    edge = min(10**type.precision, 2**62)
    refused = 0
    with engine({"x": pa.array(written, stored), "u": range(len(rows))}) as e:
        for _ in range(50):
            most = random.choice((1, 1000, 2**53, 2**62, edge - 1, edge))
            low, high = sorted(random.choice((-most, most, 0, random.randint(-most, most))) for _ in range(2))
            grid = unit * random.choice((1, 2, 3)) * 10 ** random.choice((0, 0, 1, 4, 17, 18, 19, 20, 30, 36))
            steps = Steps(Field("x", type), grid / random.choice((1, 1, 2, 3, 10**9)), low, high)
            plain = scan((("x", type),), ("u", INT))
            of_each = Steps(Field("s", INT), Fraction(1), -(2**62), 2**62)
            for sums in (
                Sums(plain, (), (Total(steps),)),
                Sums(Gather(plain, (), (("s", Total(steps)),)), (), (Total(of_each),)),
            ):
                try:
                    found = e.run(sums, SALT).tolist()
                except EngineError as error:
                    if error.kind != "unsupported":
                        raise
                    refused += 1
                else:
                    assert found == reference.run(sums, {"t": rows}, SALT), sums
    assert refused < 50


def test_steps_of_floats_are_exact_at_their_ends() -> None:
    """Which need not be FLOATs themselves: the numbers beside them are."""
    random, x = Random(3), Field("x", FLOAT)
    scanned = scan((("x", FLOAT),))
    for _ in range(40):
        grid, most = Fraction(2) ** random.choice((0, 1, -30, 60, -900)), 2 ** random.choice((4, 52, 53, 54, 62))
        low, high = sorted(random.choice((-most, most, random.randint(-most, most))) for _ in range(2))
        near = [float(end * grid) for end in (low, high)]
        for end in (*near, *near, 0.0):
            near += [math.nextafter(end, side * math.inf) for side in (-1, 1)]
        pairs = (low, high), (low, low), (high, high), (min(low, 0), 0), (0, max(high, 0))
        totals = tuple(Total(Steps(x, grid, *ends)) for ends in pairs)
        sums = Sums(scanned, (), totals)
        assert cells({"x": near}, sums) == reference.run(sums, {"t": [{"x": value} for value in near]}, SALT), sums
    for grid in (Fraction(3), Fraction(1, 10), Fraction(2) ** 1024, Fraction(2) ** -1023):
        with pytest.raises(EngineError, match="no exact way"):
            cells({"x": [1.0]}, Sums(scanned, (), (Total(Steps(x, grid, 0, 9)),)))


def together(op: SetOperation, ours: list[int], theirs: list[int]) -> list[int]:
    one, other = Counter(ours), Counter(theirs)
    if not op.endswith("ALL"):
        one, other = Counter({*ours}), Counter({value: len(ours) for value in theirs} if op == "EXCEPT" else {*theirs})
    found = one + other if op == "UNION ALL" else one & other if op.startswith("INTERSECT") else one - other
    return [*found.elements()]


@pytest.mark.parametrize("op", ["UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"])
def test_what_is_put_together_has_the_range_of_both(op: SetOperation) -> None:
    data, wide, narrow = {"x": [-9, 1, 9], "u": ["a", "a", "a"]}, (-9, 9), (0, 2)
    for ends in ((wide, narrow), (narrow, wide)):
        sides = [
            Project(
                scan((("x", INT),), ("u", TEXT)),
                (("x", Apply("clamp", (Field("x", INT), *(Const(end, INT) for end in each)), INT)),),
            )
            for each in ends
        ]
        both = Combine(op, *sides, (("x", "x", "x"),))
        steps = [Steps(Field("x", INT), Fraction(1), *each) for each in (narrow, (-9, 2), (0, 9), wide)]
        found = cells(data, Sums(both, (), tuple(Total(each) for each in steps)))
        values = together(op, *([min(max(value, low), high) for value in (-9, 1, 9)] for low, high in ends))
        assert found == [[sum(min(max(value, one.low), one.high) for value in values) for one in steps]]
