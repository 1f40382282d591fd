"""Amounts are exact: what a person writes is what is charged, or it is refused in plain words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privql.kernel.cost import (
    GRID,
    Cost,
    amount_text,
    check_chargeable,
    check_delta,
    check_epsilon,
    parse_amount,
    parse_number,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        ("0.5" + "0" * 497, Fraction(1, 2)),
        ("1e-17", Fraction(1, 10**17)),
        ("1.00000000000000001", 1 + Fraction(1, 10**17)),
        (".5", Fraction(1, 2)),
        ("2.", Fraction(2)),
        ("1E3", Fraction(1000)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.int32(2), Fraction(2)),
        (Decimal("0.25"), Fraction(1, 4)),
        (Fraction(2, 7), Fraction(2, 7)),
        (0, Fraction(0)),
    ],
)
@pytest.mark.wrong_types
def test_an_amount_is_what_a_person_means(written: Any, meant: Fraction) -> None:
    assert parse_amount(written) == meant


ABSURD = [
    *(
        "nan",
        "inf",
        "-0.1",
        "",
        "x",
        "1/0",
        "1_0",
        "0x1",
        "1/3/5",
        "1e",
        "1e-300",
        "1e400",
        "1e99999999999",
        "9" * 600,
        "0.5" + "0" * 498,
    ),
    *(float("nan"), float("inf"), -1, -0.5, 1e300, 1e-300, True, False, None, np.bool_(True), 1j, 10**6000),
    *(Decimal("NaN"), Decimal("1E+999999999"), Fraction(1, 1009), Fraction(1, 10**105), "١", "2097152"),
]


@pytest.mark.parametrize("value", ABSURD, ids=[str(at) for at in range(len(ABSURD))])
@pytest.mark.wrong_types
def test_what_is_no_amount_is_refused_in_one_sentence(value: Any) -> None:
    with pytest.raises(ValueError, match=r"amount of budget|divides by zero") as refused:
        parse_amount(value)
    assert len(str(refused.value)) < 700 and "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [0, "0.0", "1e-17", "1e-13", -1, "nan", 2**21, True])
def test_an_epsilon_that_no_query_means_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        check_epsilon(value)


def test_exponents_are_taken_up_to_a_limit() -> None:
    for sign in ("", "-"):
        assert parse_number(f"1e{sign}500") == Fraction(10) ** int(f"{sign}500")
        with pytest.raises(ValueError, match="exponent"):
            parse_number(f"1e{sign}501")


def test_epsilons_at_the_limits() -> None:
    check_epsilon(Fraction(1, 2**40))
    check_epsilon(2**20)
    check_delta(0)
    check_delta("0.999")
    with pytest.raises(ValueError, match="below 1"):
        check_delta(1)


def test_a_tiny_part_of_a_cost_is_not_lost() -> None:
    one, more = Cost(Fraction(1)), Cost(Fraction(1, 10**17))
    assert (one + more).epsilon == parse_amount("1.00000000000000001")
    assert not one + more <= one
    assert one <= one


def test_a_cost_fits_only_in_both_of_its_parts() -> None:
    cap = Cost(Fraction(1), Fraction(1, 10**6))
    assert Cost(Fraction(1), Fraction(0)) <= cap
    assert not Cost(Fraction(0), Fraction(2, 10**6)) <= cap
    assert not Cost(Fraction(2), Fraction(0)) <= cap
    assert Cost(delta=Fraction(1, 10**9)) and Cost(Fraction(1)) and not Cost()


@pytest.mark.parametrize("part", [Fraction(-1, 3), 0.5, 1, "1", None])
def test_a_cost_is_made_of_fractions_that_are_not_negative(part: Any) -> None:
    with pytest.raises(ValueError):
        Cost(part)
    with pytest.raises(ValueError):
        Cost(Fraction(0), part)


amounts = st.one_of(
    st.builds(Fraction, st.integers(0, 10**6), st.integers(1, 1000)),
    st.builds(lambda n, k: Fraction(n, 10**k), st.integers(0, 10**6), st.integers(0, 100)),
    st.builds(lambda n, k: Fraction(n, 2**k), st.integers(0, 2**20), st.integers(0, 100)),
).filter(lambda amount: amount <= 2**20)


@given(amounts)
def test_text_of_an_amount_is_the_amount(amount: Fraction) -> None:
    check_chargeable(amount)
    assert parse_amount(amount_text(amount)) == amount


def test_more_places_than_an_amount_has_are_told_as_a_ratio() -> None:
    assert amount_text(Fraction(1, 10**100)) == f"0.{1:0100}"
    assert amount_text(Fraction(1, 10**101)) == f"1/1{0:0101}"


@given(st.lists(amounts, max_size=40))
def test_sums_stay_exact_and_small(parts: list[Fraction]) -> None:
    total = sum((Cost(part) for part in parts), Cost())
    assert total.epsilon * GRID == sum(int(part * GRID) for part in parts)
    assert GRID % total.epsilon.denominator == 0


@given(st.floats(min_value=1e-12, max_value=1e6))
def test_a_float_is_its_shortest_text(value: float) -> None:
    assert float(parse_amount(value)) == value
    assert parse_amount(value) == parse_amount(repr(value))
