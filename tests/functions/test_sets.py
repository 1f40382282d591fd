"""Domains as sets: what is in one, in the union of several, and in what is left of one."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from privql.conformance.pools import DAY, TYPES, domain_with
from privql.domains import Domain, finite, number_text, shared_grid, union_of
from privql.functions.scalar import infer
from privql.kernel.scalars import INT, TIMESTAMP
from privql.kernel.scalars import INTERVAL as SPAN


def test_a_union_holds_what_each_holds_and_null_only_from_one_of_them() -> None:
    random = Random(31)
    for type in TYPES:
        for _ in range(150):
            made = [domain_with(type, random) for _ in range(random.randint(1, 4))]
            made += [
                (finite((), nullable), [None] if nullable else [])
                for nullable in (True, False)
                if random.random() < 0.3
            ]
            random.shuffle(made)
            domains = [domain for domain, _ in made]
            both = domains[0].union(domains[-1])
            for domain, values in (made[0], made[-1]):
                assert all(v in both for v in values if v in domain)
            assert both.nullable == (domains[0].nullable or domains[-1].nullable)
            union = union_of(domains)
            assert all(v in union for domain, values in made for v in values if v in domain)
            assert union.nullable == any(d.nullable for d in domains)


def test_members_are_what_is_in_a_domain() -> None:
    random = Random(32)
    for type in TYPES:
        for _ in range(100):
            domain, values = domain_with(type, random)
            members = domain.members(300)
            if members is not None:
                assert all(m in domain for m in members) and list(members) == sorted(members)  # type: ignore[type-var]
                assert {v for v in values if v is not None and v in domain} <= set(members)


def test_what_is_left_within_bounds_is_what_lay_there() -> None:
    random = Random(33)
    for type in TYPES:
        if type.kind in ("BOOL", "TEXT"):
            continue
        for _ in range(100):
            domain, values = domain_with(type, random)
            numbers = [Fraction(v) for v in values if isinstance(v, (int, float, Fraction))]
            if not numbers:
                continue
            low, high = sorted((random.choice(numbers), random.choice(numbers)))
            left = domain.within(low, high)
            assert not left.nullable
            for v in numbers:
                assert (v in left) == (v in domain and low <= v <= high)


def test_grids_share_a_grid_that_holds_both() -> None:
    random = Random(34)
    for _ in range(300):
        a, b = (Fraction(random.randint(1, 60), random.choice((1, 2, 10, 100))) for _ in range(2))
        shared = shared_grid(a, b)
        assert shared and (a / shared).denominator == 1 == (b / shared).denominator
        assert shared_grid(a, Fraction(0)) == a


def test_a_number_is_shown_as_short_as_it_is() -> None:
    shown = {
        Fraction(1, 4): "0.25",
        Fraction(-3, 2): "-1.5",
        Fraction(1, 3): "1/3",
        Fraction(0.1): "0.1",
        Fraction(7): "7",
    }
    assert {value: number_text(value) for value in shown} == shown


def test_the_least_integer_has_no_negative() -> None:
    negatives = finite([-1, 1], False, Fraction(1))
    low = Domain(Fraction(-(2**63)), Fraction(0), None, False, Fraction(1))
    assert infer("int_div", (INT, INT), INT, (low, negatives)).nullable
    assert infer("neg", (INT,), INT, (low,)).nullable and infer("abs", (INT,), INT, (low,)).nullable
    safe = Domain(Fraction(-(2**63) + 1), Fraction(0), None, False, Fraction(1))
    assert not infer("int_div", (INT, INT), INT, (safe, negatives)).nullable
    assert not infer("neg", (INT,), INT, (safe,)).nullable and not infer("abs", (INT,), INT, (safe,)).nullable


def test_months_do_not_keep_the_order_of_moments() -> None:
    """A month before the 30th of March at ten and before the 31st at one, both are on the last of February."""
    first, last = 19812 * DAY + 10, 19813 * DAY + 1
    inferred = infer(
        "sub", (TIMESTAMP, SPAN), TIMESTAMP,
        (Domain(Fraction(first), Fraction(last), None, False, Fraction(1)), finite([(1, 0, 0)], False)),
    )  # fmt: skip
    assert 19782 * DAY + 10 in inferred and 19782 * DAY + 1 in inferred and 19783 * DAY - 1 in inferred
