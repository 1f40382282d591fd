"""What a comparison through a cast tells of a column: of days by moments, of numbers by what they are rounded to."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from privql.check.narrow import facts
from privql.check.typed import const
from privql.diagnostics import Span
from privql.domains import Domain, finite, interval
from privql.domains.arithmetic import limits
from privql.functions.scalar import calendar, evaluate_term, infer
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TIMESTAMP, Apply, Const, Field, Scalar, Value, decimal
from tests.check.blocks import block

MOMENTS = [
    # the days that d may be, a DATE from 2024-02-27 to 2024-03-02, seen as a moment or as it is
    ("d >= TIMESTAMP '2024-02-28 00:00'", "28 29 1 2"),
    ("d >= TIMESTAMP '2024-02-28 00:01'", "29 1 2"),
    ("d > TIMESTAMP '2024-02-28 00:00'", "29 1 2"),
    ("d > TIMESTAMP '2024-02-27 23:59:59.999999'", "28 29 1 2"),
    ("d < TIMESTAMP '2024-03-01 00:00'", "27 28 29"),
    ("d < TIMESTAMP '2024-03-01 00:00:00.000001'", "27 28 29 1"),
    ("TIMESTAMP '2024-03-01 12:00' >= d", "27 28 29 1"),
    ("d = TIMESTAMP '2024-03-01 00:00'", "1"),
    ("d = TIMESTAMP '2024-03-01 00:01' OR d > DATE '2024-03-01'", "2"),
    ("d IN (TIMESTAMP '2024-03-01', TIMESTAMP '2024-02-28', TIMESTAMP '2024-02-29 01:00')", "28 1"),
    ("d <> CASE WHEN k THEN TIMESTAMP '2024-03-01' ELSE TIMESTAMP '2024-03-01 01:00' END", "27 28 29 1 2"),
    ("d <= DATE '2024-05-31' - INTERVAL '90' DAY", "27 28 29 1 2"),
    ("d <= DATE '2024-05-30' - INTERVAL '90' DAY", "27 28 29 1"),
    ("d >= DATE '2023-11-29' + 3 * INTERVAL '1' MONTH", "29 1 2"),
    ("d >= DATE '2024-01-29' + INTERVAL '1 month' AND d < DATE '2024-01-29' + INTERVAL '1 month 1 day'", "29"),
    ("NOT d < DATE_ADD(DATE '2024-02-28', INTERVAL '1 day 1 second')", "1 2"),
    ("CAST(d AS TIMESTAMP)::DATE > DATE '2024-02-29'", "1 2"),
    ("CAST(CAST(d AS TIMESTAMP) AS DATE) = DATE '2024-02-29'", "29"),
    ("d < TIMESTAMP '2024-02-28' OR d >= DATE '2024-03-01' + INTERVAL '1 hour'", "27 28 29 1 2"),
]


@pytest.mark.parametrize(("where", "days"), MOMENTS)
def test_a_day_is_narrowed_through_the_moment_it_is_compared_as(where: str, days: str) -> None:
    key = block(f"SELECT d, COUNT(*) FROM people WHERE {where} GROUP BY d SPEND EPSILON 1").keys[0]
    members = key.members or ()
    found = [calendar.civil(day).day for day in sorted(m for m in members if isinstance(m, int))]
    assert None not in members
    assert " ".join(map(str, found)) == days


def test_no_moment_lies_outside_what_a_comparison_through_a_cast_teaches() -> None:
    """Every day and moment near the ends, both ways round; and an interval's ends are reached."""
    choice = random.Random(3)
    near = [19_780 * calendar.DAY + n * calendar.DAY + micro for n in range(3) for micro in (-1, 0, 1, 40_000_000_000)]
    for _ in range(300):
        source, target = choice.choice(((DATE, TIMESTAMP), (TIMESTAMP, DATE)))
        cast = Apply("cast", (Field("x", source),), target)
        scale = calendar.DAY if source == DATE else 1
        values = sorted({moment // scale for moment in near})
        grid = Fraction(choice.choice((1, 7, 3_600_000_000)))
        domain = choice.choice((finite(values, True, Fraction(1)), interval(None, None, True, grid)))
        back = calendar.DAY if target == DATE else 1
        others = [choice.choice(near) // back for _ in range(choice.choice((1, 1, 2)))]
        op = choice.choice(("eq", "ne", "lt", "le", "gt", "ge", "in"))
        constants = tuple(Const(other, target) for other in others)
        sides: tuple[Scalar, ...] = (cast, *constants) if op == "in" else (cast, constants[0])
        if op != "in" and len(others) == 2:
            sides = (cast, Field("y", target))
        if op != "in" and choice.random() < 0.3:
            sides = sides[::-1]
        test, holds, or_null = Apply(op, sides, BOOL), choice.random() < 0.7, choice.random() < 0.3

        columns = {"x": domain, "y": finite(others, False, Fraction(1))}

        def domain_of(term: Scalar, columns: dict[str, Domain] = columns) -> Domain:
            if isinstance(term, Const):
                return const(term.value, term.type, Span(0, 0)).domain
            return columns["y" if term == Field("y", term.type) else "x"]

        found = facts(test, domain_of, holds, or_null).get("x", domain)
        wanted = (holds, None if or_null else holds)
        kept = {x for x in (*values, None) for y in others if evaluate_term(test, {"x": x, "y": y}) in wanted}
        assert all(v in found for v in kept if v in domain), (test, holds, or_null, found)
        learns = op in ("lt", "le", "gt", "ge") or (op == ("eq" if holds else "ne") and source == DATE)
        if domain.values is not None and learns and len(others) == 1:
            assert kept == {*(found.values or ()), *([None] if found.nullable else [])}, (test, holds, or_null, found)


def test_a_cast_is_seen_through_where_it_leaves_every_number_what_it_is() -> None:
    """And nowhere else: what does not fit would be NULL, what is rounded another number."""
    for source in (INT, decimal(3, 0), decimal(4, 2), decimal(2, 2)):
        low, high = limits(source)
        unit = Fraction(1, 10**source.scale)
        extremes: list[Value] = [int(v) if source == INT else Fraction(v) for v in (low, -unit, 0, unit, high)]
        for precision in (1, 2, 3, 4, 5, 18, 19, 20, 21, 22, 38):
            for scale in range(min(precision, 3) + 1):
                cast = Apply("cast", (Field("x", source),), decimal(precision, scale))
                same = all(evaluate_term(cast, {"x": value}) == value for value in extremes)
                found = facts(Apply("is_null", (cast,), BOOL), lambda term: Domain())
                assert found == {"x": Domain(values=()) if same else Domain()}, (source, cast.type)


NUMBERS = (FLOAT, decimal(5, 0), decimal(2, 2), decimal(5, 2), decimal(20, 1))


def test_no_number_lies_outside_what_a_comparison_through_a_cast_teaches() -> None:
    """A cast may round, and may leave NULL; 0.3 as FLOAT is less than 0.3."""
    choice = random.Random(4)
    for _ in range(400):
        source, target = choice.choice((INT, decimal(4, 1))), choice.choice(NUMBERS)
        grid = Fraction(1) if source == INT else Fraction(1, 10)
        values: list[Value] = [int(n) if source == INT else n * grid for n in range(-15, 26)]
        cast = Apply("cast", (Field("x", source),), target)
        near = [evaluate_term(cast, {"x": value}) for value in values]
        others = [other for other in choice.sample(near, 2) if other is not None]
        if not others:
            continue
        op = choice.choice(("eq", "ne", "lt", "le", "gt", "ge", "in", "is_null"))
        sides: tuple[Scalar, ...] = (cast, *(Const(other, target) for other in others))
        sides = sides if op == "in" else sides[:1] if op == "is_null" else sides[:2]
        if len(sides) == 2 and op != "in" and choice.random() < 0.3:
            sides = sides[::-1]
        test, holds, or_null = Apply(op, sides, BOOL), choice.random() < 0.7, choice.random() < 0.3
        known = choice.choice((finite(values, True, grid), interval(-15 * grid, 25 * grid, True, grid)))

        def domain_of(term: Scalar, known: Domain = known) -> Domain:
            match term:
                case Const() as each:
                    return const(each.value, each.type, Span(0, 0)).domain
                case Apply(args=args) as each:
                    return infer(each.op, tuple(arg.type for arg in args), each.type, tuple(map(domain_of, args)))
                case _:
                    return known

        found = facts(test, domain_of, holds, or_null).get("x", known)
        wanted = (holds, None if or_null else holds)
        kept = [x for x in (*values, None) if evaluate_term(test, {"x": x}) in wanted]
        assert all(x in found for x in kept), (test, holds, or_null, found, kept)
        assert all(type(v) is type(values[0]) for v in found.values or ()), (test, found)
