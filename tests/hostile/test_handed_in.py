"""Odd amounts and values: each is charged to the last digit as what it is, or refused, and costs nothing."""

from __future__ import annotations

import datetime
import enum
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.session import Session
from tests.hostile.mallory import COUNT, POLICY, people, spent
from tests.hostile.mallory import mallory as opened


@pytest.fixture
def mallory() -> Iterator[Session]:
    with opened() as session:
        yield session


# ---------------------------------------------------------------- amounts

ABSURD = [math.nan, 0, -1, math.inf, 1e300, 1e-300, "1e-17", True, "nan", "-1", "1/0", "", "0x1", "1_0", "٣", -0.0]
ABSURD += [Decimal("NaN"), Decimal("1E+999999999"), Decimal("-1E-9"), Fraction(1, 1009), None, [1], b"1", 1 + 0j]


@pytest.mark.parametrize("value", ABSURD, ids=repr)
def test_absurd_amounts_are_refused_and_cost_nothing(mallory: Session, value: object) -> None:
    for text in (f"{COUNT} SPEND EPSILON $e", "SELECT COUNT(* SPEND $e) FROM p", f"{COUNT} WITHIN 5 MAX EPSILON $e"):
        with pytest.raises(PrivQLError, match=r"PQL050\d"):
            mallory.run(text, e=value)
    with pytest.raises(PrivQLError, match=r"PQL050\d"):
        tuple(mallory.run_text(f"SET epsilon = $e; {COUNT}", params={"e": value}))
    assert spent(mallory) == 0


@pytest.mark.parametrize(
    "text", ["0", "1e300", "1e-17", "1e-300", "1048577", "1/0", "1/1009", "(0.1 - 0.2)", "(1 - 1)"]
)
def test_absurd_amounts_in_the_text_too(mallory: Session, text: str) -> None:
    for query in (f"{COUNT} SPEND EPSILON {text}", f"SELECT COUNT(* SPEND {text}), SUM(age) FROM p SPEND EPSILON 1"):
        with pytest.raises(PrivQLError, match=r"PQL050\d"):
            mallory.run(query)
    assert spent(mallory) == 0
    if not text.startswith("("):
        with pytest.raises(PrivQLError, match=r"PQL07\d\d"):
            privql.connect(policy=POLICY.replace("100", text), analyst="mallory")


EXACT = [("$e", Decimal("0.1"), "1/10"), ("$e", 0.1, "1/10"), ("$e", "1/3", "1/3"), ("$e", Fraction(1, 7), "1/7")]
EXACT += [("$e", 2, "2"), ("$e", np.float64(0.3), "3/10"), ("1e-12", None, "1/1000000000000")]
EXACT += [("(1 + 1e-17)", None, "100000000000000001/100000000000000000"), ("(2 * $e - 0.1)", 0.1, "1/10")]


@pytest.mark.parametrize(("text", "value", "cost"), EXACT, ids=str)
def test_amounts_are_charged_to_the_last_digit(mallory: Session, text: str, value: object, cost: str) -> None:
    for query in (COUNT, "SELECT COUNT(*), SUM(age), AVG(age) FROM p") if text != "1e-12" else (COUNT,):
        before = spent(mallory)
        answer = mallory.run(f"{query} SPEND EPSILON {text}", {"e": value} if value is not None else {})
        assert spent(mallory) - before == answer.cost.epsilon == Fraction(cost)


def test_each_unit_is_charged_for_its_own(mallory: Session) -> None:
    mallory.run("SELECT (SELECT COUNT(* SPEND 0.25) FROM p) + (SELECT COUNT(* SPEND 0.5) FROM homes) AS n")
    assert (spent(mallory), spent(mallory, "houses")) == (Fraction(1, 4), Fraction(1, 2))


# ---------------------------------------------------------------- values


def test_values_that_look_alike_are_not_the_same_question(mallory: Session) -> None:
    """A replay must be of this very question: True, 1, '1' and 1.00 are read as different types."""
    values = [True, 1, "1", Decimal("1"), Decimal("1.00"), "True", "1.0", None, datetime.date(2024, 1, 1), "2024-01-01"]
    seen = set()
    for at, value in enumerate(values, 1):
        answer = mallory.run("SELECT COUNT(*) FROM p WHERE CAST($v AS TEXT) = t SPEND EPSILON 1", v=value)
        seen.add(answer.release_id)
        assert spent(mallory) == at, value
    assert len(seen) == len(values)
    again = mallory.run("SELECT COUNT(*) FROM p WHERE CAST($v AS TEXT) = t SPEND EPSILON 1", v=1)
    assert again.release_id in seen and not again.cost


def named(name: str, value: str | int) -> enum.Enum:
    """Of an enumeration whose only member, whatever its value, is called A."""
    return enum.Enum(name, {"A": value}, type=type(value)).A


class Boasting(str):
    def __str__(self) -> str:
        return "a"

    def __format__(self, spec: str) -> str:
        return "a"


def test_a_value_is_what_it_is_and_not_what_it_calls_itself(mallory: Session) -> None:
    query = "SELECT COUNT(*) FROM p WHERE CAST($v AS TEXT) = t SPEND EPSILON 1"
    alike: list[list[object]] = [[named("E", "x"), "x"], [named("E", "y"), Boasting("y")], [Boasting("z"), "z"]]
    alike += [[named("E", 1), 1], [named("E", 2), 2], [Boasting("w")]]
    for at, values in enumerate(alike, 1):
        assert len({mallory.run(query, v=value).release_id for value in values}) == 1
        assert spent(mallory) == at, values
    halves = [
        mallory.run(f"{COUNT} WHERE x < $v SPEND EPSILON 1", v=value).release_id for value in (np.float64(0.5), 0.5)
    ]
    assert halves[0] == halves[1]


HOSTILE = [
    "'; DROP TABLE p; --",
    "x' OR '1'='1",
    "a\"; COPY (SELECT 1) TO '/tmp/stolen",
    "\\",
    "$v",
    "a\x00' OR 1=1 --",
    "‮",
    "c1 u2 __0",
    "x" * 16_000,
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: ascii(v)[:20])
def test_a_text_is_only_ever_a_text(value: str) -> None:
    """Counted among rows of which one holds it: noise of ε = 90 is nearly none."""
    frames = {"p": people([1, 2, 3], ["other", value, "other"])}
    for query in (
        "t = $v",
        "t IN ($v, 'none')",
        "REPLACE(t, $v, 'hit') = 'hit'",
        "STARTS_WITH(t, $v) AND ENDS_WITH(t, $v)",
    ):
        with privql.connect(policy=POLICY, frames=frames, analyst="mallory") as opened:
            assert opened.run(f"{COUNT} WHERE {query} SPEND EPSILON 90", v=value).rows == ((1,),), query


def test_numbers_that_would_never_end_are_refused(mallory: Session) -> None:
    for value in (Decimal("1E+999999999"), Decimal("1E-999999999"), Decimal("-1E+5000"), 10**5000, math.inf):
        with pytest.raises(PrivQLError):
            mallory.run(f"{COUNT} WHERE age = $v SPEND EPSILON 1", v=value)
    for text in ("1e99999999", "1e-99999999", "1/3", "9" * 5000, "٣", "nan"):
        with pytest.raises(PrivQLError):
            mallory.run(f"{COUNT} WHERE DATE '2024-01-01' + INTERVAL '{text}' DAY > DATE '2024-01-01' SPEND EPSILON 1")
    assert spent(mallory) == 0
