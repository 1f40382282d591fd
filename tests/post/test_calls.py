"""Aggregates over free rows: exact where they promise it, and never an error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privql.check.relations import (
    AggregateCall,
    Attribute,
    CheckedQuery,
    Compute,
    FrameBound,
    Grouped,
    Label,
    Measured,
    Rel,
    SortKey,
    WindowCall,
    Windowed,
)
from privql.domains import finite, interval, whole
from privql.finish.table import Table
from privql.functions.aggregate.public import (
    AGGREGATES,
    WINDOWS,
    aggregate_domain,
    constant_argument,
    resolve_aggregate,
    resolve_window,
)
from privql.kernel.scalars import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    TEXT,
    TIMESTAMP,
    Apply,
    Const,
    Field,
    Scalar,
    Value,
    ValueType,
    decimal,
)
from privql.post.run import PostProcessor
from tests.post.reference import aggregated

HOSTILE: dict[ValueType, list[Value]] = {
    INT: [None, 0, -1, (1 << 63) - 1, -(1 << 63)],
    FLOAT: [None, -0.0, 1.7e308, -1.7e308, 5e-324, 0.1],
    decimal(38, 0): [None, Fraction(10**38 - 1), Fraction(1 - 10**38), Fraction(0)],
    decimal(38, 38): [None, Fraction(10**38 - 1, 10**38), Fraction(-1, 10**38)],
    decimal(5, 2): [None, Fraction(-99999, 100), Fraction(1, 100)],
    TEXT: [None, "", "'\"{0}", "a\x00b", "\U0010ffff", "é", "e\u0301"],
    BOOL: [None, True, False],
    DATE: [None, 0, -719162, 2932896],
    TIMESTAMP: [None, 0, -62135596800000000, 253402300799999999],
}


@pytest.fixture(scope="module")
def processor() -> Iterator[PostProcessor]:
    made = PostProcessor({}, {})
    yield made
    made.close()


def ran(processor: PostProcessor, rel: Rel, type: ValueType, table: Table) -> list[Value]:
    query = CheckedQuery(rel, (Attribute("out", "out", type, whole(type), Label.RELEASED),), (), (), ())
    return [row[0] for row in processor.run(query, [table]).rows]


def over(processor: PostProcessor, call: AggregateCall, rows: list[tuple[Value, ...]], types: list[ValueType]) -> Value:
    table = Table(tuple((f"k{at}", type) for at, type in enumerate(types)), tuple(rows))
    leaf = Measured(0, tuple((f"c{at}", type) for at, type in enumerate(types)))
    (answer,) = ran(processor, Grouped(leaf, (), (("out", call),), ((),)), call.type, table)
    windowed = Windowed(leaf, (("out", WindowCall(call)),))
    if rows and not call.distinct:
        spread = ran(processor, windowed, call.type, table)
        assert len(spread) == len(rows)
        assert all(found == answer or math.isclose(found, answer, rel_tol=1e-9) for found in spread)
    return answer


def test_every_aggregate_takes_every_value_of_its_types(processor: PostProcessor) -> None:
    tried = 0
    for name in sorted(AGGREGATES):
        for arity in range(3):
            for types in product(HOSTILE, repeat=arity):
                resolved = resolve_aggregate(name, types, False)
                if resolved is None or resolved[0] != name or resolved[1] != types:
                    continue
                function, wanted, result = resolved
                rows = list(product(*(HOSTILE[type] for type in wanted))) if arity < 2 else [
                    (a, b) for a in HOSTILE[wanted[0]] for b in HOSTILE[wanted[1]]
                ]  # fmt: skip
                args: list[Scalar] = [Field(f"c{at}", type) for at, type in enumerate(wanted)]
                constant = constant_argument(function)
                if constant is not None:
                    args[constant] = Const({"FLOAT": 0.3, "TEXT": "{0}'"}[wanted[constant].kind], wanted[constant])
                answer = over(processor, AggregateCall(function, tuple(args), result), rows, list(wanted))
                if isinstance(answer, float):
                    assert math.isfinite(answer)
                assert over(processor, AggregateCall(function, tuple(args), result), [], list(wanted)) in (None, 0)
                tried += 1
    assert tried > 70


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums_are_exact_in_any_order_and_null_where_their_type_ends(data: st.DataObject) -> None:
    processor = PROCESSOR
    type = data.draw(st.sampled_from([INT, decimal(38, 0), decimal(38, 9), decimal(27, 27), decimal(18, 3)]))
    most = (1 << 63) - 1 if type == INT else 10**type.precision - 1
    units = st.integers(-most, most) | st.integers(-3, 3) | st.sampled_from([most, -most])
    drawn = data.draw(st.lists(st.none() | units, max_size=8))
    values: list[Value] = [v if v is None or type == INT else Fraction(v, 10**type.scale) for v in drawn]
    result = INT if type == INT else decimal(38, type.scale)
    call = AggregateCall("sum", (Field("c0", type),), result)
    wanted = aggregated(call, [(v,) for v in values if v is not None])
    assert over(processor, call, [(v,) for v in values], [type]) == wanted
    mean = AggregateCall("avg", (Field("c0", type),), FLOAT)
    average = over(processor, mean, [(v,) for v in values], [type])
    exact = aggregated(mean, [(v,) for v in values if v is not None])
    largest = max((abs(v) for v in values if v is not None), default=0)
    assert average == exact or abs(average - exact) <= 1e-12 * largest
    assert over(processor, mean, [(v,) for v in data.draw(st.permutations(values))], [type]) == average


PROCESSOR = PostProcessor({}, {})


def test_what_overflows_is_null_at_once_and_not_only_at_the_end(processor: PostProcessor) -> None:
    for type, most in ((INT, (1 << 63) - 1), (decimal(38, 0), Fraction(10**38 - 1)), (FLOAT, 1.7e308)):
        call = AggregateCall("sum", (Field("c0", type),), type)
        rows: list[tuple[Value, ...]] = [(most,), (most,)]
        assert over(processor, call, rows, [type]) is None
        assert over(processor, call, [*rows, (-most,)], [type]) in (most, None if type == FLOAT else most)
        table = Table((("k0", type),), tuple(rows))
        grouped = Grouped(Measured(0, (("c0", type),)), (), (("sum", call),), ((),))
        null = Compute(grouped, (("out", Apply("is_null", (Field("sum", type),), BOOL)),))
        assert ran(processor, null, BOOL, table) == [True]


def test_texts_compare_by_code_point(processor: PostProcessor) -> None:
    rows: list[tuple[Value, ...]] = [("é",), ("z",), ("Z",), ("e\u0301",), ("\U00010000",), ("\uffff",)]
    for function, wanted in (("min", "Z"), ("max", "\U00010000")):
        assert over(processor, AggregateCall(function, (Field("c0", TEXT),), TEXT), rows, [TEXT]) == wanted


def test_a_quantile_outside_0_and_1_is_null(processor: PostProcessor) -> None:
    for share in (-0.1, 1.1, None):
        call = AggregateCall("quantile_cont", (Field("c0", FLOAT), Const(share, FLOAT)), FLOAT)
        assert over(processor, call, [(1.0,)], [FLOAT]) is None


def test_rows_at_a_distance_in_time(processor: PostProcessor) -> None:
    table = Table((("k0", DATE),), ((19753,), (19782,), (19783,), (None,)))  # 31 January, 29 February, 1 March 2024
    call = WindowCall(
        AggregateCall("count", (), INT), (), (SortKey(Field("c0", DATE), False, False),), "RANGE",
        FrameBound("PRECEDING", Const((1, 0, 0), INTERVAL)), FrameBound("CURRENT ROW"),
    )  # fmt: skip
    assert ran(processor, Windowed(Measured(0, (("c0", DATE),)), (("out", call),)), INT, table) == [1, 2, 2, 1]


def test_windows_reach_beyond_the_ends_of_integers(processor: PostProcessor) -> None:
    ends = [(1 << 63) - 1, -(1 << 63), 0]
    table = Table((("k0", INT),), tuple((end,) for end in ends))
    field = Field("c0", INT)
    order = (SortKey(field, False, False),)
    near = WindowCall(AggregateCall("count", (), INT), (), order, "RANGE",
                      FrameBound("PRECEDING", Const(5, INT)), FrameBound("FOLLOWING", Const(5, INT)))  # fmt: skip
    leaf = Measured(0, (("c0", INT),))
    assert ran(processor, Windowed(leaf, (("out", near),)), INT, table) == [1, 1, 1]
    for name in ("lag", "lead", "nth_value"):
        far = WindowCall(AggregateCall(name, (field, field), INT), (), order)
        answers = ran(processor, Windowed(leaf, (("out", far),)), INT, table)
        assert [a for a, end in zip(answers, ends, strict=True) if end] == [None, None]
    tiles = WindowCall(AggregateCall("ntile", (field,), INT), (), order)
    assert ran(processor, Windowed(leaf, (("out", tiles),)), INT, table) == [3, None, None]


def test_nulls_are_passed_over_where_a_window_says_so(processor: PostProcessor) -> None:
    table = Table((("k0", INT), ("k1", INT)), ((1, None), (2, 5), (3, None), (4, 6), (5, None)))
    order = (SortKey(Field("c0", INT), False, False),)
    leaf = Measured(0, (("c0", INT), ("c1", INT)))
    frame = (FrameBound("UNBOUNDED PRECEDING"), FrameBound("UNBOUNDED FOLLOWING"))
    for name, args, passed, kept in (
        ("lag", (), [None, None, 5, 5, 6], [None, None, 5, None, 6]),
        ("lead", (), [5, 6, 6, None, None], [5, None, 6, None, None]),
        ("first_value", (), [5] * 5, [None] * 5),
        ("last_value", (), [6] * 5, [None] * 5),
        ("nth_value", (Const(2, INT),), [6] * 5, [5] * 5),
    ):
        call = AggregateCall(name, (Field("c1", INT), *args), INT)
        for ignore, wanted in ((True, passed), (False, kept)):
            window = WindowCall(call, (), order, "ROWS", *frame, ignore)
            assert ran(processor, Windowed(leaf, (("out", window),)), INT, table) == wanted


# ---- typing and domains


def test_names_mean_one_function_whatever_they_are_called() -> None:
    assert resolve_aggregate("variance", (INT,), False) == ("var_samp", (FLOAT,), FLOAT)
    assert resolve_aggregate("percentile_cont", (decimal(5, 2), decimal(2, 1)), False) == (
        "quantile_cont",
        (FLOAT, FLOAT),
        FLOAT,
    )
    assert resolve_aggregate("sum", (decimal(5, 2),), True) == ("sum", (decimal(5, 2),), decimal(38, 2))
    assert resolve_aggregate("min", (NULL,), False) == ("min", (TEXT,), TEXT)
    assert resolve_window("lag", (decimal(5, 2), INT, INT)) == (
        "lag",
        (decimal(5, 2), INT, decimal(5, 2)),
        decimal(5, 2),
    )
    for name, types, distinct in (
        ("count", (), True), ("sum", (TEXT,), False), ("avg", (DATE,), False), ("sum", (INT, INT), False),
        ("min", (INTERVAL,), False), ("string_agg", (TEXT,), False), ("no_such", (INT,), False), ("lag", (INT,), False),
    ):  # fmt: skip
        assert resolve_aggregate(name, types, distinct) is None
    assert resolve_window("sum", (INT,)) is None
    assert not AGGREGATES & WINDOWS


@settings(max_examples=40)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6))
def test_a_domain_holds_every_result(values: list[int]) -> None:
    listed = finite(values, False, Fraction(1))
    around = interval(min(values), max(values), False, Fraction(1))
    floats = finite([float(value) for value in values], False)
    for name in ("count", "sum", "avg", "min", "max", "mode", "any_value", "bit_and", "bit_or", "bit_xor"):
        resolved = resolve_aggregate(name, (INT,), False)
        assert resolved is not None
        answer = aggregated(AggregateCall(name, (Field("c0", INT),), resolved[2]), [(value,) for value in values])
        for domain in (listed, around):
            assert answer in aggregate_domain(name, (domain,)), (name, domain)
            assert name.startswith("count") or None in aggregate_domain(name, (domain,))
    for name in ("var_pop", "stddev_pop", "median"):
        answer = aggregated(AggregateCall(name, (Field("c0", FLOAT),), FLOAT), [(float(value),) for value in values])
        assert answer in aggregate_domain(name, (floats,))
