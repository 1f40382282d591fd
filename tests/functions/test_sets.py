"""Domains as sets: what is in one, in the union of several, and in what is left of one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from random import Random

from privql.conformance.pools import DAY, TYPES, domain_with
from privql.domains import Domain, finite, number_text, shared_grid, union_of, value_text
from privql.functions.scalar import infer
from privql.kernel.scalars import DATE, INT, TIMESTAMP
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
                assert all(m in domain for m in members) and list(members) == sorted(members)
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


def test_a_domain_on_a_grid_is_the_multiples_between_its_ends() -> None:
    quarters = [Fraction(n, 4) for n in range(-9, 10)]
    for low, high, grid in product(quarters, quarters, (Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 4))):
        domain = Domain(low, high, None, False, grid)
        wanted = [step for step in (n * grid for n in range(-20, 21)) if low <= step <= high]
        assert domain.empty == (low > high) and domain.bounded
        assert domain.size == len(wanted) and domain.members(len(wanted)) == tuple(wanted)
        assert not wanted or domain.members(len(wanted) - 1) is None
        assert [value for value in quarters if value in domain] == [value for value in wanted if value in quarters]
        inward = domain.on_grid()
        assert inward.empty if not wanted else (inward.low, inward.high) == (wanted[0], wanted[-1])
    for open_end in (Domain(Fraction(0), None, None, False, Fraction(1)), Domain(None, Fraction(0)), Domain()):
        assert open_end.size is None and open_end.members(10**9) is None
        assert not open_end.empty and not open_end.bounded


def test_what_is_known_to_lie_between_is_what_both_say() -> None:
    ends: list[Fraction | None] = [None, Fraction(-2), Fraction(0), Fraction(1, 2), Fraction(3)]
    values = [Fraction(n, 2) for n in range(-8, 9)]
    for low, high, least, most in product(ends, ends, ends, ends):
        left = Domain(low, high, None, True, Fraction(1, 2)).within(least, most)
        assert not left.nullable
        for value in values:
            inside = (low is None or value >= low) and (high is None or value <= high)
            assert (value in left) == (inside and (least is None or value >= least) and (most is None or value <= most))


def test_a_number_is_shown_exactly() -> None:
    """With up to 18 digits behind the point, else as the double that it is, else as a fraction."""
    random = Random(35)
    for _ in range(600):
        below = random.choice((10, 10, 2, 5, 3)) ** random.randint(0, 21) * random.choice((1, 1, 2, 5, 4, 25))
        value = Fraction(random.randint(-(10**6), 10**6) * random.choice((1, 10**3)), below)
        wanted = f"{value.numerator}/{value.denominator}"
        if 10**18 % value.denominator == 0:
            wanted = format(Decimal(int(value * 10**18)).scaleb(-18).normalize(), "f")
        elif Fraction(float(value)) == value:
            wanted = repr(float(value))
        assert number_text(value) == wanted


def test_days_and_moments_are_shown_as_far_as_the_calendar_goes() -> None:
    assert value_text(0, DATE) == "1970-01-01" and value_text(-719_162, DATE) == "0001-01-01"
    assert value_text(2_932_896, DATE) == "9999-12-31" and value_text(2_932_897, DATE) == "2932897"
    assert value_text(-719_163, DATE) == "-719163"
    assert value_text(1, TIMESTAMP) == "1970-01-01 00:00:00.000001" and value_text(DAY, TIMESTAMP)[:10] == "1970-01-02"
    shown = [value_text(value) for value in (None, "it's", True, False, 0.1, 3, Fraction(1, 2))]
    assert shown == ["NULL", "'it''s'", "TRUE", "FALSE", "0.1", "3", "0.5"]


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
