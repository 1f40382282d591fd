"""The DuckDB engine as its caller meets it: the cells of every group, deep terms, keys verified."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from privql.audit import reference
from privql.conformance.pools import hostile, in_type
from privql.engines.interface import EngineError
from privql.functions.scalar import evaluate_term
from privql.functions.scalar.numbers import write_decimal
from privql.kernel import rules
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.measure import moved
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar, Value, ValueType, decimal
from privql.kernel.sums import Balance, Key, Listed, Sums
from privql.kernel.terms import Combine, Filter, Gather, Join, Project, Relation, Scan, SetOperation, Unit
from tests.engines.small import SALT, cells, engine, scan

# ---- cells


def test_groups_stand_in_the_order_of_the_product_and_empty_ones_too() -> None:
    data = {"a": ["x", "y", None, "z", "x"], "b": [1, 2, 1, 1, 3]}
    keys = (Key(Field("a", TEXT), ("y", None, "x", "w")), Key(Field("b", INT), (1, 2)))
    found = cells(data, Sums(scan((("a", TEXT), ("b", INT))), keys, (Tally(),)))
    wanted = {("y", 2): 1, (None, 1): 1, ("x", 1): 1}
    assert found == [[wanted.get(g, 0)] for g in itertools.product(("y", None, "x", "w"), (1, 2))]


def test_without_keys_there_is_one_group_even_of_no_rows() -> None:
    steps = Steps(Field("b", INT), Fraction(1), -5, 9)
    assert cells({"b": pa.array([], pa.int64())}, Sums(scan((("b", INT),)), (), (Tally(), Balance(steps)))) == [
        [0, 0, 0]
    ]


def test_without_groups_or_without_sums_there_is_nothing_to_ask() -> None:
    nobody, two = Key(Field("b", INT), ()), Key(Field("b", INT), (1, 2))
    with engine({"b": [1, 2, 2]}) as e:
        for keys, sums, shape in (((nobody,), (Tally(),), (0, 1)), ((two, nobody), (), (0, 0)), ((two,), (), (2, 0))):
            term = Sums(scan((("b", INT),)), keys, sums)
            e.rehearse(term)
            found = e.run(term, SALT)
            assert (found.shape, found.dtype) == (shape, np.int64)


def test_sums_beyond_64_bits_are_exact() -> None:
    data = {"b": [2**62] * 5 + [None]}
    steps = Steps(Field("b", INT), Fraction(1), -(2**62), 2**62)
    found = cells(data, Sums(scan((("b", INT),)), (), (Total(steps), Balance(steps), Tally())))
    assert found == [[5 * 2**62, 5 * 2**63, 0, 6]]
    with engine({"b": [1, 2]}) as e:
        assert e.run(Sums(scan((("b", INT),)), (), (Total(steps),)), SALT).dtype == np.int64


def test_many_groups_are_handed_over_as_arrays() -> None:
    count = 20_000
    names = [f"k{i}" for i in range(count)]
    members = (*names[::-1], None)
    data = {"k": [*names, names[7], None, "other"]}
    found = cells(data, Sums(scan((("k", TEXT),)), (Key(Field("k", TEXT), members),), (Tally(),)))
    assert [row[0] for row in found] == [2 if member == "k7" else 1 for member in members]


@pytest.mark.parametrize(
    ("type", "twice"),
    [
        (INT, (1, 1)),
        (decimal(10, 1), (Fraction(1, 2), Fraction(51, 100))),  # written with the digits of the type
        (decimal(10, 1), (Fraction(0), Fraction(-1, 100))),
        (INT, (1, Fraction(3, 2))),
        (FLOAT, (0.0, -0.0)),
        (FLOAT, (2**53, 2**53 + 1)),
        (FLOAT, (0.1, Fraction(1, 10))),
        (FLOAT, (math.nan, math.nan)),
        (FLOAT, (math.inf,)),
    ],
)
def test_a_list_that_names_a_group_twice_or_what_is_no_value_is_refused(
    type: ValueType, twice: tuple[Value, ...]
) -> None:
    for others in (0, 60):  # written into the statement, and handed over
        members = (*twice, *(number(type, 100 + at) for at in range(others)))
        columns = (("b", type), ("c", INT))
        one = Key(Field("b", type), members)
        several = Listed((Field("b", type), Field("c", INT)), tuple((member, 1) for member in members))
        for key in (one, several):
            with pytest.raises(EngineError) as refused, engine({"b": [1], "c": [1]}) as e:
                e.run(Sums(scan(columns), (key,), (Tally(),)), SALT)
            assert refused.value.kind == "unsupported"


def number(type: ValueType, n: int) -> Value:
    return float(n) if type == FLOAT else n if type == INT else Fraction(n)


def test_a_column_taken_for_one_of_another_type_is_refused() -> None:
    """'1' and '01' are in groups of their own, of which the number 1 would be one."""
    unit, text, number = Unit("person"), Field("k", TEXT), Field("k", INT)
    each = rules.scan(Scan("t", unit, ("u", TEXT), False, (("k", TEXT),)))
    groups = rules.gather(rules.keep_rows(each, 2), (("k", text),), ())
    key, data = Key(number, (1, 2)), {"u": ["a"] * 2, "k": ["1", "01"]}
    assert moved(groups, (key,), Tally()).l2_squared == 2  # and not 4: no two of a unit's rows are in one group
    assert cells(data, Sums(groups.term, (Key(text, ("1", "01")),), (Tally(),))) == [[1], [1]]
    same = Apply("eq", (number, Const(1, INT)), BOOL)
    listed = Apply("case", (Apply("in", (text, Const("1", TEXT)), BOOL), text, Const(None, TEXT)), TEXT)
    lies = (
        Sums(groups.term, (key,), (Tally(),)),
        Sums(Project(groups.term, (("k", number),)), (), (Tally(),)),
        Sums(Project(groups.term, (("k", listed),)), (key,), (Tally(),)),
        Sums(Filter(groups.term, same), (), (Tally(),)),
        Sums(Gather(groups.term, (("k", number),), ()), (), (Tally(),)),
        Sums(Join("INNER", groups.term, Project(each.term, (("j", text),)), (), same), (), (Tally(),)),
    )
    for lie in lies:
        with pytest.raises(EngineError) as refused:
            cells(data, lie)
        assert refused.value.kind == "unsupported"


def test_a_declared_list_is_grouped_by_the_column_itself() -> None:
    raw = Field("k", TEXT)
    listed = Apply("case", (Apply("in", (raw, Const("a", TEXT)), BOOL), raw, Const(None, TEXT)), TEXT)
    sums = Sums(Project(scan((("k", TEXT),)), (("k", listed),)), (Key(Field("k", TEXT), ("a", "b", None)),), (Tally(),))
    with engine({"k": ["a", "b", "c", "a", None]}) as e:
        assert e.run(sums, SALT).tolist() == [[2], [0], [3]]
        assert e.emit(sums).count("GROUP BY c0") == 1


def test_what_is_no_declared_list_is_grouped_by_its_values() -> None:
    """Though it looks like one: where another column is among the members, or is what is taken."""
    k, j, a, b = Field("k", TEXT), Field("j", TEXT), Const("a", TEXT), Const("b", TEXT)
    data = {"k": ["a", "b", "a", "c", None, "b"], "j": ["a", "a", "b", "c", "b", "b"], "u": [*map(str, range(6))]}
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    unit, members = ("u", TEXT), ("a", "b", None)
    with engine(data) as e:
        for inner, among, same in ((k, (a,), k), (k, (j,), k), (k, (a, j), k), (k, (a, b), j), (j, (a,), k)):
            made = Apply("case", (Apply("in", (inner, *among), BOOL), same, Const(None, TEXT)), TEXT)
            found = Counter(evaluate_term(made, row) for row in rows)
            listed = Project(scan((("k", TEXT), ("j", TEXT)), unit), (("k", made),))
            wanted = [[found[member]] for member in members]
            assert e.run(Sums(listed, (Key(k, members),), (Tally(),)), SALT).tolist() == wanted
            for some in (members, ("a",)):
                groups = Gather(listed, (("k", k),), (), (some,))
                assert e.run(Sums(groups, (), (Tally(),)), SALT).tolist() == [[sum(found[one] for one in some)]]


def test_only_groups_that_a_declaration_lists_are_not_tested_again() -> None:
    """A value that is in no listed group must be left out, or a unit is in more groups than was proved."""
    data = {"u": [*map(str, range(6))], "i": [-1, 0, 1, 2, 5, None], "f": [-1.0, 0.0, 0.5, 1.0, 2.0, None]}
    data["k"] = ["a", "b", "c", "a", None, "d"]
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    pools: dict[ValueType, tuple[Value, ...]] = {INT: (-1, 0, 1, 2), FLOAT: (0.0, 0.5, 1.0), TEXT: ("a", "b", "c")}
    made: list[tuple[Scalar, set[Value] | None]] = [(Field("i", INT), None), (Field("k", TEXT), None)]
    for low, high in ((0, 1), (1, 1), (-1, 1), (0, 2**63 - 1)):
        i, f = (
            Apply("clamp", (Field(name, type), Const(low, type), Const(high, type)), type)
            for name, type in (("i", INT), ("f", FLOAT))
        )
        made += [(i, {None, *range(low, high + 1)} if high == 1 else None), (f, None)]
    for names in (("a",), ("c", "b"), ("a", None)):
        among = Apply("in", (Field("k", TEXT), *(Const(name, TEXT) for name in names)), BOOL)
        made.append((Apply("case", (among, Field("k", TEXT), Const(None, TEXT)), TEXT), {None, *names}))
    asked = 0
    with engine(data) as e:
        for term, possible in made:
            values = [evaluate_term(term, row) for row in rows]
            scanned = scan((("i", INT), ("f", FLOAT), ("k", TEXT)), ("u", TEXT))
            for chosen in itertools.product((False, True), repeat=len(pools[term.type]) + 1):
                listed = tuple(itertools.compress((*pools[term.type], None), chosen))
                if not listed:
                    continue
                key = (("k", Field("x", term.type)),)
                sums = Sums(Gather(Project(scanned, (("x", term),)), key, (), (listed,)), (), (Tally(),))
                assert e.run(sums, SALT).tolist() == [[sum(value in listed for value in values)]], sums
                again = "WHERE (" in e.emit(sums)
                assert again == (possible is None or not possible <= {*listed}), sums
                asked += again
    assert asked > 100


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
        for _ in range(80):
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
    assert refused < 80


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


# ---- depth


def test_deep_terms_are_planned_and_run() -> None:
    x: Scalar = Field("x", INT)
    for at in range(150):
        x = Apply("nullif", (Apply("add", (x, Const(1, INT)), INT), Const(at, INT)), INT)
    sums = Sums(scan((("x", INT),)), (), (Total(Steps(x, Fraction(1), 0, 1000)),))
    assert cells({"x": [1, 5]}, sums) == [[306]]


def test_columns_used_twice_in_each_of_many_projections_do_not_multiply() -> None:
    relation: Relation = scan((("x", INT),))
    x = Field("x", INT)
    for _ in range(80):
        doubled = Apply("mod", (Apply("add", (x, x), INT), Const(1000, INT)), INT)
        relation = Filter(
            Project(relation, (("x", doubled),)), Apply("ge", (Apply("add", (x, x), INT), Const(0, INT)), BOOL)
        )
    assert cells({"x": [1, 5]}, Sums(relation, (), (Tally(),))) == [[2]]


# ---- for the owner


def test_uniqueness_of_keys_is_verified() -> None:
    with engine({"a": ["x", "y", None, None], "b": [1, 1, 2, 2], "c": ["1", "01", "q", "2"]}) as e:
        assert e.unique("t", (("a", TEXT),)) and not e.unique("t", (("b", INT),))
        assert e.unique("t", (("a", TEXT), ("b", INT)))
        assert e.unique("t", (("c", TEXT),)) and not e.unique("t", (("c", INT),))  # as the type declared
