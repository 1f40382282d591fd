"""Every scalar operation, in every signature, means on each engine what its Python says, over hostile values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from decimal import ROUND_DOWN, ROUND_UP, Decimal, localcontext
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import pytest

from privql.conformance.pools import Call, calls, hostile, in_type, some_value
from privql.conformance.rows import EXTRA, Row, column
from privql.engines.interface import Columns
from privql.functions.scalar import evaluate_term, resolve
from privql.kernel.scalars import (
    DATE,
    FLOAT,
    INT,
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
from tests.engines.hosts import HOSTS, Host, kept, refused

CALLS = calls()
OPS = sorted({call.resolved.op for call in CALLS})
ROWS = 120  # every hostile value has room
Connected = Callable[[Host], Any]


def term_of(call: Call) -> Apply:
    resolved = call.resolved
    args: list[Scalar] = []
    for place, type in enumerate(resolved.arg_types):
        args.append(Const(call.fixed[place], type) if place in call.fixed else Field(f"{type}/{place}", type))
    return Apply(resolved.op, tuple(args), resolved.result)


@pytest.fixture(scope="module")
def connected() -> Iterator[Connected]:
    """Opening an engine takes longer than most operations do."""
    with ExitStack() as opened:
        yield cache(lambda host: opened.enter_context(host.connect()))


def test_every_hostile_value_has_room() -> None:
    kinds = {type for call in CALLS for type in call.resolved.arg_types}
    assert all(1 + len(hostile(type)) + len(EXTRA.get(type.kind, ())) < ROWS for type in kinds)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("op", OPS)
def test_an_operation_means_what_its_python_says(op: str, host: Host, connected: Connected) -> None:
    random = Random(f"{op}")
    terms: list[Scalar] = [term_of(call) for call in CALLS if call.resolved.op == op]
    found = wrong(host, connected(host), [term for term in terms if not refused(host, term)], ROWS, random)
    assert not found, (len(found), [str(w)[:400] for w in found[:: max(1, len(found) // 8)]])


def wrong(
    host: Host, connection: Any, terms: list[Scalar], count: int, random: Random
) -> list[tuple[Scalar, Row, Value, Value]]:
    """Where a term's value is another than its meaning."""
    columns: Columns = tuple({a.name: a.type for t in terms for a in args(t) if isinstance(a, Field)}.items())
    columns = columns or (("none", terms[0].type),)
    values = {c: column(t, count, random) for c, t in columns}
    rows: list[Row] = [kept(host, {c: values[c][i] for c, _ in columns}) for i in range(count)]
    faults = []
    host.load(connection, "t", columns, rows)
    for at in range(0, len(terms), 20):
        some = terms[at : at + 20]
        for row, found in zip(rows, host.evaluated(connection, "t", some), strict=True):
            for term, got in zip(some, found, strict=True):
                wanted = evaluate_term(term, row)
                if got != wanted:
                    faults.append((term, row, wanted, got))
    return faults


def args(term: Scalar) -> tuple[Scalar, ...]:
    return term.args if isinstance(term, Apply) else ()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("op", OPS)
def test_what_is_constant_fails_no_more_than_what_is_not(op: str, host: Host, connected: Connected) -> None:
    """Engines compute what is constant before any row, be it in a branch that no row takes."""
    random = Random(f"constant {op}")
    terms: list[Scalar] = []
    for call in CALLS:
        fields = [at for at in range(len(call.resolved.arg_types)) if at not in call.fixed]
        if call.resolved.op != op or len(call.resolved.arg_types) < 2 or len(terms) > 400:
            continue
        for place in fields:
            type = call.resolved.arg_types[place]
            for value in random.sample([None, *hostile(type), *EXTRA.get(type.kind, ())], 3):
                terms.append(term_of(replace(call, fixed={**call.fixed, place: host.kept(value)})))
    terms = [term for term in terms if in_types(term) and not refused(host, term)]
    found = wrong(host, connected(host), terms, 30, random) if terms else []
    assert not found, (len(found), [str(w)[:400] for w in found[:: max(1, len(found) // 8)]])


@pytest.mark.parametrize("host", HOSTS)
def test_a_constant_may_be_null(host: Host, connected: Connected) -> None:
    """A pattern, a unit or a number of places is written out, and may be written NULL."""
    found: dict[object, Scalar] = {}
    for call in CALLS:
        for place in call.fixed:
            found[call.resolved, place] = term_of(replace(call, fixed={**call.fixed, place: None}))
    terms = [term for term in found.values() if not refused(host, term)]
    assert len(terms) > 100
    faults = wrong(host, connected(host), terms, 30, Random("null"))
    assert not faults, (len(faults), [str(w)[:400] for w in faults[:: max(1, len(faults) // 8)]])
    columns: Columns = tuple({a.name: a.type for t in terms for a in args(t) if isinstance(a, Field)}.items())
    assert host.types(connected(host), terms, columns) == [host.physical(term.type) for term in terms]


def in_types(term: Scalar) -> bool:
    return all(
        in_type(arg.value, arg.type) or arg.type.kind == "INTERVAL" for arg in args(term) if isinstance(arg, Const)
    )


@pytest.mark.parametrize("host", HOSTS)
def test_an_operation_is_of_exactly_the_type_that_is_claimed(host: Host) -> None:
    """Rules count on it that values which differ are compared as what they are said to be."""
    terms: list[Scalar] = [term_of(call) for call in CALLS]
    with host.connect() as connection:
        for at in range(0, len(terms), 100):
            some = [term for term in terms[at : at + 100] if not refused(host, term)]
            columns: Columns = tuple({a.name: a.type for t in some for a in args(t) if isinstance(a, Field)}.items())
            found = host.types(connection, some, columns)
            assert found == [host.physical(term.type) for term in some]


SIZES = (1.0, 1.0 + 2.0**-52, 1.0 - 2.0**-53, 1.5, 1.0 + 2.0**-30, 1.0 - 2.0**-30, 1.9999999999999998, 1.1)
ENDS = (1024, 1023, -1075, -1074, -1076, -1022, 0)


@pytest.mark.parametrize("host", HOSTS)
def test_floats_are_the_nearest_up_to_both_ends_of_their_range(host: Host) -> None:
    """Products, quotients, sums and powers that lie at an infinity, at the least FLOAT there is, or half way to 0."""
    random = Random(5)
    rows: list[Row] = []
    while len(rows) < 3000:
        end, apart = random.choice(ENDS), random.randint(-1074, 1023)
        a, b = (random.choice(SIZES) * random.choice((1, -1)) for _ in range(2))
        for op, other in (
            ("mul", end - apart),
            ("div", apart - end),
            ("add", apart + random.choice((0, 0, 1, -53, -54))),
        ):
            with suppress(OverflowError):
                rows.append({"op": op, "a": math.ldexp(a, apart), "b": math.ldexp(b, other)})
    x, y = Field("a", FLOAT), Field("b", FLOAT)
    terms: list[Scalar] = [Apply(op, (x, y), FLOAT) for op in ("add", "sub", "mul", "div")]
    with host.connect() as connection:
        host.load(connection, "t", (("a", FLOAT), ("b", FLOAT)), rows)
        for row, found in zip(rows, host.evaluated(connection, "t", terms), strict=True):
            assert found == tuple(evaluate_term(term, row) for term in terms), row
    nothing = [row for row in rows if evaluate_term(terms[2], row) == 0 != row["a"]]
    assert len(nothing) > 100


@pytest.mark.parametrize("host", HOSTS)
def test_powers_are_told_from_none_up_to_both_ends(host: Host) -> None:
    """Those that are just too large, or so small that they are 0, of any base."""
    random = Random(7)
    exponents = (-745.2, -745.14, -745.1331, -745.0, -744.0, -708.4, 0.0, 700.7, 700.8, 705.0, 709.7, 709.8, 1e5, -1e5)
    rows: list[Row] = [
        {"x": x, "y": y} for x in (1.0, -1.0, 0.0, 2.0, -2.0, 0.5) for y in (1e300, -1e-310, 5e-324, 3.0)
    ]
    while len(rows) < 600:
        x = random.choice((2.0, 0.5, 10.0, 1.0 + 2.0**-40, 1e300, random.uniform(0, 5), math.ldexp(1.3, -1000)))
        y = random.choice(exponents) / math.log(x)
        rows.append({"x": x, "y": y})
        rows.append({"x": -x, "y": float(round(y))})
        rows.append({"x": random.choice(exponents) + random.uniform(-0.01, 0.01), "y": y})
    base, power = Field("x", FLOAT), Field("y", FLOAT)
    terms: list[Scalar] = [Apply("power", (base, power), FLOAT), Apply("exp", (base,), FLOAT)]
    with host.connect() as connection:
        host.load(connection, "t", (("x", FLOAT), ("y", FLOAT)), rows)
        for row, found in zip(rows, host.evaluated(connection, "t", terms), strict=True):
            assert found == tuple(evaluate_term(term, row) for term in terms), row


@pytest.mark.parametrize("host", HOSTS)
def test_texts_are_the_nearest_float_up_to_both_ends_of_its_range(host: Host) -> None:
    texts: list[str] = []
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 1200, 9999, -9999
        half, most = Decimal(2) ** -1075, Decimal(2) ** 1024 - Decimal(2) ** 970
        for end in (half, most, half * 3, Decimal(2) ** 1023):
            for digits in (3, 17, 18, 310, 752, 751, 753, 790, 1100):
                context.prec = digits
                for rounding in (ROUND_UP, ROUND_DOWN):
                    context.rounding = rounding
                    near = +end
                    texts += [str(near), f"{near:f}", f" -{near} ", f"{near:E}"]
                context.prec = 1200
        exactly = f"{half:f}"
    texts += [exactly, exactly + "0" * 900, exactly + "0" * 900 + "1", "0" * 900 + "1e308", "-" + "9" * 5000]
    texts += [f"{digit}e{sign}{'9' * 40}" for digit in "01" for sign in ("", "-")]
    texts += ["9" * 140_000, "0." + "3" * 20_000, "0." + "0" * 5000 + "1e5001", "1" + "0" * 5000 + "e-5000"]
    rows: list[Row] = [{"x": text} for text in texts]
    terms: list[Scalar] = [Apply("cast", (Field("x", TEXT),), type) for type in (FLOAT, INT, decimal(38, 10))]
    with host.connect() as connection:
        host.load(connection, "t", (("x", TEXT),), rows)
        for row, found in zip(rows, host.evaluated(connection, "t", terms), strict=True):
            assert found == tuple(evaluate_term(term, row) for term in terms), row


WIDTHS = (
    decimal(38, 0),
    decimal(38, 10),
    decimal(38, 38),
    decimal(20, 20),
    decimal(1, 0),
    decimal(18, 9),
    decimal(37, 1),
)


def _representable(value: Value, type: ValueType) -> bool:
    return value is None or in_type(value, type)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("left", WIDTHS, ids=str)
def test_decimals_of_every_width_add_and_multiply_alike(left: ValueType, host: Host) -> None:
    random = Random(str(left))
    with host.connect() as connection:
        for right in WIDTHS:
            columns: Columns = (("a", left), ("b", right))
            pairs = [(a, b) for a in (None, *hostile(left)) for b in (None, *hostile(right))]
            pairs += [(some_value(left, random), some_value(right, random)) for _ in range(40)]
            rows: list[Row] = [
                {"a": a, "b": b} for a, b in pairs if _representable(a, left) and _representable(b, right)
            ]
            host.load(connection, "t", columns, rows)
            terms: list[Scalar] = []
            for op in ("add", "sub", "mul", "mod", "lt"):
                resolved = resolve(op, (left, right), (None, None))
                if resolved is not None:
                    sides = zip((Field("a", left), Field("b", right)), resolved.arg_types, strict=True)
                    args = tuple(f if f.type == t else Apply("cast", (f,), t) for f, t in sides)
                    terms.append(Apply(resolved.op, args, resolved.result))
            for row, found in zip(rows, host.evaluated(connection, "t", terms), strict=True):
                assert found == tuple(evaluate_term(term, row) for term in terms), (row, right)


@pytest.mark.parametrize("host", HOSTS)
def test_dates_are_made_of_the_same_numbers(host: Host) -> None:
    """Every month's end and the numbers beside it; every number of a clock's hands at its ends."""
    parts: dict[str, tuple[Value, ...]] = {
        "y": (0, 1, 1900, 2000, 2023, 2024, 9999, 10_000), "m": (0, 1, 2, 4, 12, 13), "d": (0, 1, 28, 29, 30, 31, 32),
        "h": (-1, 0, 23, 24), "n": (-1, 0, 59, 60), "s": (Fraction(-1, 10**6), Fraction(0), Fraction(59), Fraction(60)),
    }  # fmt: skip
    second = decimal(8, 6)
    columns: Columns = tuple((c, second if c == "s" else INT) for c in parts)
    some: Row = {"y": 2024, "m": 2, "d": 29, "h": 5, "n": 6, "s": Fraction(7)}
    rows: list[Row] = [dict(some, y=y, m=m, d=d) for y in parts["y"] for m in parts["m"] for d in parts["d"]]
    rows += [dict(some, h=h, n=n, s=s) for h in parts["h"] for n in parts["n"] for s in parts["s"]]
    fields = tuple(Field(c, t) for c, t in columns)
    terms: list[Scalar] = [Apply("make_date", fields[:3], DATE), Apply("make_timestamp", fields, TIMESTAMP)]
    with host.connect() as connection:
        host.load(connection, "t", columns, rows)
        found = host.evaluated(connection, "t", terms)
    assert found == [tuple(evaluate_term(term, row) for term in terms) for row in rows]
    assert sum(None not in made for made in found) > 100
