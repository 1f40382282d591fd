"""Interval arithmetic by force: open ends as numbers so large, and divisors near zero as numbers so small, that no
other number hides them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import pytest

from privql.domains import Domain, finite, interval
from privql.domains import arithmetic as ends
from privql.domains.arithmetic import INF, Bound, Span
from privql.functions.scalar import resolve
from privql.kernel.scalars import INT, Value, ValueType, decimal
from tests.functions.calling import call
from tests.functions.test_tightness import inferred, one

FAR, NEAR = 10**12, Fraction(1, 10**6)
ENDS = (-3, -1, 0, 1, 2)
SPANS: list[Span] = [(low, high) for low, high in product((-INF, *ENDS), (*ENDS, INF)) if low <= high]


def numbers(span: Span, between: tuple[int, ...] = ENDS) -> list[Fraction]:
    low, high = (Fraction(end) if isinstance(end, int) else FAR * (1 if end > 0 else -1) for end in span)
    return [Fraction(low), *(Fraction(n) for n in between if low < n < high), Fraction(high)]


def seen(found: Fraction) -> Bound:
    if abs(found) * NEAR >= 1:
        return INF if found > 0 else -INF
    return found if abs(found) > NEAR else 0


def around(found: Iterator[Fraction]) -> Span:
    values = list(found)
    return seen(min(values)), seen(max(values))


def test_sums_differences_and_products_lie_between_those_of_the_ends() -> None:
    rules: list[tuple[Callable[[Span, Span], Span], Callable[[Fraction, Fraction], Fraction]]] = [
        (ends.plus, lambda x, y: x + y),
        (ends.minus, lambda x, y: x - y),
        (ends.times, lambda x, y: x * y),
    ]
    for rule, of in rules:
        for x, y in product(SPANS, SPANS):
            assert rule(x, y) == around(of(a, b) for a in numbers(x) for b in numbers(y)), (rule, x, y)


def test_ends_that_no_double_holds_meet_open_ones() -> None:
    for size in (10**400, Fraction(1, 10**400)):
        assert ends.times((1, INF), (size, size)) == (size, INF)
        assert ends.times((-INF, INF), (-size, size)) == (-INF, INF)


def test_magnitudes_begin_where_zero_is_nearest() -> None:
    for x in SPANS:
        assert ends.magnitude(x) == around(abs(a) for a in numbers(x)), x


def domain(span: Span, grid: Fraction | None) -> Domain:
    low, high = (None if isinstance(end, float) else end for end in span)
    return interval(low, high, False, grid)


def test_quotients_are_as_large_as_the_divisor_may_be_near_zero() -> None:
    for x, y, grid in product(SPANS, SPANS, (None, Fraction(1), Fraction(1, 2))):
        near = NEAR / 10**2 if grid is None else grid
        divisors = sorted({b for b in (*numbers(y), near, -near) if (b and y[0] <= b <= y[1]) or abs(b) == FAR})
        parts = ends.divisors(domain(y, grid))
        assert bool(parts) == bool(divisors), (y, grid)
        if parts:
            assert ends.over(x, parts) == around(a / b for a in numbers(x) for b in divisors), (x, y, grid)


def test_quotients_by_listed_divisors_are_those_of_each() -> None:
    for x in SPANS:
        for listed in ((-3, -1, 2), (0, 2), (-1, 0), (1,), (0,), (-2, 0, 0.5)):
            parts = ends.divisors(finite(listed, False))
            divisors = [Fraction(b) for b in listed if b]
            assert bool(parts) == bool(divisors)
            if parts:
                assert ends.over(x, parts) == around(a / b for a in numbers(x) for b in divisors), (x, listed)


PRICE = decimal(3, 1)
SMALL: list[tuple[ValueType, Domain]] = [
    *((INT, interval(low, high, False, Fraction(step))) for low, high, step in (
        (-3, 3, 1), (-2, 0, 1), (0, 2, 1), (1, 4, 1), (-5, -2, 1), (-6, 4, 2), (0, 0, 1), (2, 2, 1), (0, 1, 3),
    )),
    *((INT, finite(listed, False, Fraction(1))) for listed in ((-2, 0, 3), (0,), (2,), (-1, 1), (-3, -2))),
    *((PRICE, interval(Fraction(low, 10), Fraction(high, 10), False, Fraction(1, 10))) for low, high in (
        (-7, 6), (0, 5), (12, 16), (-4, 0),
    )),
    (PRICE, finite([Fraction(-1, 2), Fraction(0), Fraction(3, 2)], False, Fraction(1, 10))),
]  # fmt: skip


def all_of(domain: Domain) -> tuple[Value, ...]:
    found = domain.members(100)
    assert found is not None
    return found


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "int_div", "mod"])
def test_what_two_numbers_make_lies_between_the_least_and_the_most_that_they_can(op: str) -> None:
    """Every pair of a few small numbers; NULL only where one of them is."""
    taken = [(type, domain) for type, domain in SMALL if resolve(op, (type, type)) is not None]
    for (first, left), (second, right) in product(taken, taken):
        found = inferred(op, (first, left), (second, right))
        made = {call(op, a, b, types=(first, second)) for a, b in product(all_of(left), all_of(right))}
        assert all(value in found for value in made), (op, left, right, found)
        assert found.nullable == (None in made), (op, left, right, found)
        values = [Fraction(v) for v in made if isinstance(v, (int, float, Fraction))]
        if values and _tight(op, second, right):
            assert (found.low, found.high) == (min(values), max(values)), (op, left, right, found)
        assert not found.empty or not values


def _tight(op: str, type: ValueType, right: Domain) -> bool:
    if op == "mod":
        return right.only is not None
    # as a FLOAT, a tenth is on no grid, and so divisors may be as near to zero as one likes
    return op != "div" or type == INT or right.values is not None or 0 not in right


@pytest.mark.parametrize("op", ["neg", "abs", "sign", "floor", "ceil", "trunc", "round"])
def test_what_a_number_makes_lies_between_the_least_and_the_most_that_it_can(op: str) -> None:
    for type, domain in SMALL:
        found = inferred(op, (type, domain))
        made = [call(op, value, types=(type,)) for value in all_of(domain)]
        values = [Fraction(v) for v in made if isinstance(v, (int, float, Fraction))]
        assert len(values) == len(made) and all(value in found for value in made), (op, domain, found)
        assert (found.low, found.high, found.nullable) == (min(values), max(values), False), (op, domain, found)


NEAR_THE_END = (INT, interval(2**63 - 12, 2**63 - 1, False, Fraction(1)))
FULL = (PRICE, interval(Fraction(987, 10), Fraction(999, 10), False, Fraction(1, 10)))


@pytest.mark.parametrize("places", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("op", ["round", "trunc"])
def test_what_is_rounded_lies_between_the_rounded_ends(op: str, places: int) -> None:
    """On the grid that is left; NULL only where the type does not hold it."""
    for type, domain in (*SMALL, NEAR_THE_END, FULL):
        found = inferred(op, (type, domain), one(places, INT))
        made = [call(op, value, places, types=(type, INT)) for value in all_of(domain)]
        values = [Fraction(v) for v in made if isinstance(v, (int, float, Fraction))]
        assert all(value in found for value in made), (op, domain, found)
        assert found.nullable == (None in made), (op, domain, found)
        if found.values is None:
            assert (found.low, found.high) == (min(values), max(values)), (op, domain, found)
            assert domain.grid and found.grid == max(domain.grid, Fraction(10) ** -places), (op, domain, found)
        else:
            assert {*found.values} == {*values}, (op, domain, found)
