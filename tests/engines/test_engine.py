"""The DuckDB engine as its caller meets it: the cells of every group, deep terms, keys verified."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from privql.engines.interface import EngineError
from privql.functions.scalar import evaluate_term
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
