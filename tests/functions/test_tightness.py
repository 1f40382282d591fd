"""Domains that accuracy depends on: group lists without gaps, bounds without slack, NULL only where it can be."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privql.domains import Domain, finite, grid_of, interval
from privql.functions.scalar import calendar, infer, resolve, resolve_cast
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, INTERVAL, TEXT, TIMESTAMP, Value, ValueType, decimal

Argument = tuple[ValueType, Domain]
PRICE = decimal(10, 2)


def of(type: ValueType, low: int | Fraction | None, high: int | Fraction | None, nullable: bool = False) -> Argument:
    return type, interval(low, high, nullable, grid_of(type))


def day(text: str) -> int:
    found = calendar.read_date(text)
    assert found is not None
    return found


def dates(low: str, high: str) -> Argument:
    return of(DATE, day(low), day(high))


def moments(low: str, high: str) -> Argument:
    return of(TIMESTAMP, day(low) * calendar.DAY, (day(high) + 1) * calendar.DAY - 1)


def one(value: Value, type: ValueType) -> Argument:
    return type, finite([value], False, grid_of(type))


def inferred(op: str, *args: Argument) -> Domain:
    constants = tuple(d.values[0] if d.values is not None and len(d.values) == 1 else None for _, d in args)
    resolved = resolve(op, tuple(t for t, _ in args), constants)
    assert resolved is not None
    cast = []
    for (type, domain), wanted in zip(args, resolved.arg_types, strict=True):
        cast.append(domain if type == wanted else infer("cast", (type,), wanted, (domain,)))
    return infer(resolved.op, resolved.arg_types, resolved.result, tuple(cast))


AGE = of(INT, 0, 120)
ANY = of(INT, None, None)
TEN = one(10, INT)
NULL_INT: Argument = (INT, finite((), True))


def shown(domain: Domain) -> str:
    return domain.describe()


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (inferred("add", AGE, AGE), "[0, 240]"),
        (inferred("add", AGE, of(INT, 1, 5, nullable=True)), "[1, 125] or NULL"),
        (inferred("add", ANY, one(1, INT)), "any"),
        (inferred("sub", AGE, AGE), "[-120, 120]"),
        (inferred("mul", of(INT, -3, 5), of(INT, -7, 2)), "[-35, 21]"),
        (inferred("mul", of(INT, 0, None), AGE), "[0, ∞] or NULL"),
        (inferred("mul", ANY, one(0, INT)), "{0}"),
        (inferred("mul", of(FLOAT, 0, 9), one(0.1, FLOAT)), "[0, 0.9]"),
        (inferred("int_div", AGE, TEN), "[0, 12]"),
        (inferred("int_div", of(INT, -7, 7), one(-2, INT)), "[-3, 3]"),
        (inferred("int_div", AGE, of(INT, 0, 10)), "[0, 120] or NULL"),
        (inferred("int_div", ANY, of(INT, 1, None)), "any, not NULL"),
        (inferred("int_div", AGE, one(0, INT)), "NULL"),
        (inferred("div", AGE, one(7.0, FLOAT)), "[0, 17.142857142857142]"),
        (inferred("div", one(1.5, FLOAT), of(INT, 0, 10)), "[0.15, 1.5] or NULL"),
        (inferred("div", of(FLOAT, 1, 2), of(FLOAT, -1, 1)), "any"),
        (inferred("mod", ANY, TEN), "[-9, 9]"),
        (inferred("mod", AGE, TEN), "[0, 9]"),
        (inferred("mod", of(INT, 23, 27), TEN), "[3, 7]"),
        (inferred("mod", of(PRICE, 0, 100), one(Fraction(1), PRICE)), "[0, 0.99]"),
        (inferred("neg", AGE), "[-120, 0]"),
        (inferred("abs", of(INT, -5, 3)), "[0, 5]"),
        (inferred("abs", of(INT, -5, -3)), "[3, 5]"),
        (inferred("sign", of(FLOAT, 0, None)), "[0, 1]"),
        (inferred("floor", of(FLOAT, Fraction(-5, 2), Fraction(5, 2))), "[-3, 2]"),
        (inferred("round", of(FLOAT, 0, 2), one(1, INT)), "{0.0, 0.1, 0.2, 0.3, 0.4, 0.5, … 21 values}"),
        (inferred("round", of(PRICE, 0, 20000), one(-3, INT)), "[0, 20000]"),
        (inferred("power", AGE, one(2, INT)), "[0, 14400]"),
        (inferred("power", of(FLOAT, -3, 2), one(2.0, FLOAT)), "[0, 9]"),
        (inferred("power", of(FLOAT, -3, 2), one(3.0, FLOAT)), "[-27, 8]"),
        (inferred("sqrt", AGE), "[0, 10.954451150103322]"),
        (inferred("sqrt", of(INT, -1, 16)), "[0, 4] or NULL"),
        (inferred("ln", of(FLOAT, 1, 100)), "[0, 4.605170185990573]"),
        (inferred("ln", AGE), "[-∞, 4.787491742783459] or NULL"),
        (inferred("exp", of(FLOAT, None, 0)), "[0, 1]"),
        (inferred("exp", of(FLOAT, 0, 1000)), "[1, ∞] or NULL"),
        (inferred("clamp", ANY, one(0, INT), one(99, INT)), "[0, 99]"),
        (inferred("clamp", AGE, one(150, INT), one(200, INT)), "{150}"),
        (inferred("greatest", AGE, one(18, INT)), "[18, 120]"),
        (inferred("greatest", of(INT, 0, 120, True), of(INT, 18, 20, True)), "[0, 120] or NULL"),
        (inferred("least", ANY, one(18, INT)), "[-∞, 18]"),
        (inferred("lt", AGE, one(0, INT)), "{FALSE}"),
        (inferred("ge", of(INT, 0, 120, True), one(0, INT)), "{TRUE} or NULL"),
        (inferred("eq", AGE, one(121, INT)), "{FALSE}"),
        (inferred("eq", (INT, interval(0, 100, False, Fraction(10))), one(15, INT)), "{FALSE}"),
        (inferred("in", AGE, one(130, INT), one(140, INT)), "{FALSE}"),
        (inferred("in", (INT, finite([1, 2], False)), one(1, INT), one(2, INT), (INT, finite((), True))), "{TRUE}"),
        (inferred("is_null", AGE), "{FALSE}"),
        (inferred("is_distinct", of(INT, 0, 1, True), one(5, INT)), "{TRUE}"),
        (inferred("coalesce", of(INT, 0, 120, True), one(-1, INT)), "[-1, 120]"),
        (inferred("coalesce", of(INT, 0, 120, True), of(INT, 0, 5, True)), "[0, 120] or NULL"),
        (inferred("nullif", AGE, one(0, INT)), "[0, 120] or NULL"),
        (inferred("nullif", AGE, one(121, INT)), "[0, 120]"),
        (inferred("and", (BOOL, finite([False], False)), (BOOL, finite([True, False], True))), "{FALSE}"),
        (inferred("or", (BOOL, finite([False], True)), (BOOL, finite([False], False))), "{FALSE} or NULL"),
        (
            inferred("case", (BOOL, finite([True, False], True)), one("a", TEXT), one("b", TEXT)),
            "{'a', 'b'}",
        ),
        (inferred("case", (BOOL, finite([False], True)), one(1, INT), AGE), "[0, 120]"),
        (inferred("case", (BOOL, finite([True], False)), one(1, INT), AGE), "{1}"),
        (inferred("case", (BOOL, finite([True, False], False)), AGE, NULL_INT), "[0, 120] or NULL"),
        (inferred("upper", (TEXT, finite(["a", "A", "b"], True))), "{'A', 'B'} or NULL"),
        (inferred("concat", (TEXT, finite(["a", "b"], False)), one("x", TEXT)), "{'ax', 'bx'}"),
        (inferred("length", (TEXT, Domain(nullable=False))), "[0, ∞]"),
        (inferred("add", dates("2024-01-01", "2024-12-31"), one(30, INT)), f"[{19723 + 30}, {20088 + 30}]"),
        (inferred("sub", dates("2024-01-01", "2024-12-31"), dates("2024-01-01", "2024-01-01")), "[0, 365]"),
        (inferred("sub", of(DATE, None, None), dates("2024-01-01", "2024-01-01")), "any, not NULL"),
        (
            inferred("add", dates("2024-01-30", "2024-01-31"), one((1, 0, 0), INTERVAL)),
            f"{{{day('2024-02-29') * calendar.DAY}}}",
        ),
        (inferred("extract", one("YEAR", TEXT), dates("2024-01-01", "2025-12-31")), "[2024, 2025]"),
        (inferred("extract", one("MONTH", TEXT), dates("2024-01-01", "2025-12-31")), "[1, 12]"),
        (inferred("extract", one("MONTH", TEXT), dates("2024-11-05", "2025-02-01")), "{1, 2, 11, 12}"),
        (inferred("extract", one("YEAR", TEXT), of(DATE, None, None)), "[1, 9999]"),
        (inferred("extract", one("DOW", TEXT), dates("2024-01-01", "2024-01-03")), "{1, 2, 3}"),
        (inferred("extract", one("WEEK", TEXT), dates("2020-01-01", "2021-12-31")), "{1, 2, 3, 4, 5, 6, … 53 values}"),
        (inferred("extract", one("WEEK", TEXT), dates("2020-12-31", "2021-01-04")), "{1, 53}"),
        (inferred("extract", one("HOUR", TEXT), moments("2024-01-01", "2024-01-01")), "[0, 23]"),
    ],
)  # fmt: skip
def test_a_domain_is_as_tight_as_can_be(found: Domain, wanted: str) -> None:
    assert shown(found) == wanted


def members(domain: Domain) -> tuple[Value, ...]:
    found = domain.members(4096)
    assert found is not None
    return found


def test_groups_by_decade_are_thirteen() -> None:
    decades = inferred("int_div", AGE, TEN)
    assert members(decades) == tuple(range(13))
    starts = inferred("mul", (INT, decades), TEN)
    assert members(starts) == tuple(range(0, 121, 10))
    middles = inferred("add", (INT, starts), one(5, INT))
    assert members(middles) == tuple(range(5, 126, 10))
    assert members(inferred("mul", (FLOAT, inferred("floor", of(FLOAT, 0, 100))), one(10.0, FLOAT))) == tuple(
        range(0, 1001, 10)
    )


def test_months_are_listed_as_dates_and_as_moments() -> None:
    months = members(inferred("date_trunc", one("MONTH", TEXT), dates("2024-01-15", "2025-12-31")))
    assert [calendar.write_date(m) for m in months if isinstance(m, int)] == [
        f"{year}-{month:02d}-01" for year in (2024, 2025) for month in range(1, 13)
    ]
    starts = members(inferred("date_trunc", one("MONTH", TEXT), moments("2024-01-15", "2025-12-31")))
    assert starts == tuple(m * calendar.DAY for m in months if isinstance(m, int))
    weeks = members(inferred("date_trunc", one("WEEK", TEXT), dates("2024-01-01", "2024-12-31")))
    assert len(weeks) == 53
    hours = inferred("date_trunc", one("HOUR", TEXT), moments("2024-02-29", "2024-02-29"))
    assert len(members(hours)) == 24
    assert members(inferred("extract", one("MINUTE", TEXT), (TIMESTAMP, hours))) == (0,)
    assert members(inferred("extract", one("HOUR", TEXT), (TIMESTAMP, hours))) == tuple(range(24))


def test_casts_keep_what_is_known() -> None:
    def cast(argument: Argument, target: ValueType) -> Domain:
        resolved = resolve_cast(argument[0], target)
        assert resolved is not None
        return infer("cast", resolved.arg_types, resolved.result, (argument[1],))

    assert cast(ANY, decimal(19, 0)).nullable is False  # implicit: every INT fits
    assert cast(ANY, decimal(5, 0)).nullable is True
    assert cast(of(decimal(20, 10), 0, 1), PRICE).grid == Fraction(1, 100)
    assert cast((INT, interval(0, 2**60, False, Fraction(3))), FLOAT).grid == 1  # a double is no multiple of 3 there
    assert cast((INT, interval(0, 2**50, False, Fraction(3))), FLOAT).grid == 3
    assert shown(cast(of(PRICE, 0, Fraction(5, 2)), INT)) == "[0, 3]"
    assert members(cast((INT, interval(0, 100, False, Fraction(50))), TEXT)) == ("0", "100", "50")
    assert members(cast(AGE, FLOAT)) == tuple(range(121))
    assert cast(dates("2024-01-01", "2024-01-03"), TIMESTAMP).members(5) == tuple(
        (19723 + n) * calendar.DAY for n in range(3)
    )
    assert cast(moments("2024-01-01", "2024-01-03"), DATE).members(5) == (19723, 19724, 19725)
    assert shown(cast((TEXT, finite(["1", "x", " 2 "], False)), INT)) == "{1, 2} or NULL"
    assert shown(cast(of(INT, 1, 5), BOOL)) == "{TRUE}"


@pytest.mark.parametrize(("low", "high"), [(None, None), (0, None), (None, 5)])
def test_what_overflows_nowhere_is_null_nowhere_without_bounds(low: int | None, high: int | None) -> None:
    for op, types in (
        *((op, (FLOAT, PRICE)) for op in ("floor", "ceil", "trunc", "abs", "neg", "sign")),
        ("bits_not", (INT,)),
        ("last_day", (DATE, TIMESTAMP)),
    ):
        for type in types:
            assert not inferred(op, of(type, low, high)).nullable, (op, type)
    for source, wanted in ((INT, FLOAT), (PRICE, FLOAT), (TIMESTAMP, DATE), (DATE, TIMESTAMP)):
        assert not infer("cast", (source,), wanted, (of(source, low, high)[1],)).nullable, (source, wanted)
