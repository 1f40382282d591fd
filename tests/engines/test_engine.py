"""The DuckDB engine as its caller meets it: the cells of every group, deep terms, keys verified."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from privql.engines.interface import EngineError
from privql.kernel import rules
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.measure import moved
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar, Value, ValueType, decimal
from privql.kernel.sums import Balance, Key, Listed, Sums
from privql.kernel.terms import Filter, Gather, Join, Project, Relation, Scan, Unit
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


def test_a_clamp_that_steps_repeat_is_not_computed_twice() -> None:
    clamped = Apply("clamp", (Field("x", FLOAT), Const(0.0, FLOAT), Const(8.0, FLOAT)), FLOAT)
    relation = Project(scan((("x", FLOAT),)), (("x", clamped),))
    data = {"x": [-1.0, 3.25, 9.0, None, float("nan"), float("inf")]}
    for high in (64, 40):
        sums = Sums(relation, (), (Total(Steps(Field("x", FLOAT), Fraction(1, 8), 0, high)),))
        assert cells(data, sums) == [[26 + high]]


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
