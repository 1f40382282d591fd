"""Operators of bits and patterns, as they are written: which function each is, and how tightly it binds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import privql
from privql.session import Session

POLICY = Path(__file__).parents[2] / "docs" / "example" / "policy.pql"


@pytest.fixture(scope="module")
def opened() -> Iterator[Session]:
    with privql.connect(policy=str(POLICY), ledger=":memory:", analyst="alice", data="dummy") as session:
        yield session


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("6 & 3", 2), ("6 | 3", 7), ("~5", -6), ("1 << 4", 16), ("-5 >> 1", -3), ("1 << 63", None),
        ("1 | 2 + 4", 7), ("6 & 3 << 1", 4), ("xor(6, 3)", 5), ("div(7, 2)", 3), ("trunc(2.99, 1)", Fraction(29, 10)),
        ("'ward 7' ~ '[0-9]$'", True), ("'Ward' ~ 'ward'", False), ("'Ward' ~* 'WARD'", True),
        ("'Ward' !~ 'ward'", True), ("'Ward' !~* 'ward'", False), ("'a' ~ NULL", None), ("NULL ~ 'a'", None),
        ("'a' || 'b' ~ 'ab'", True), ("nvl(NULL, 'x')", "x"), ("regexp_substr('a1b22', '[0-9]{2}')", "22"),
        ("concat(1, NULL, 'x')", "1x"), ("log(2, 8)", 3.0),
    ],
)  # fmt: skip
def test_an_operator_is_its_function(opened: Session, written: str, wanted: object) -> None:
    query = f"SELECT {written} AS constant FROM regions WHERE code = 'N'"
    assert [tuple(row) for row in opened.run(query).rows] == [(wanted,)]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("name ~ code", "PQL0308"), ("name ~ '(a)\\1'", "PQL0302"), ("name & 1", "PQL0301"), ("~name", "PQL0301"),
        ("regexp_replace(name, 'a*', '', 'g')", "PQL0302"), ("width_bucket(population, 1, 1, 5)", "PQL0302"),
        ("width_bucket(population, 1, 9, 0)", "PQL0302"), ("population ->> 'a'", "PQL0408"),
    ],
)  # fmt: skip
def test_what_it_does_not_take_is_refused(opened: Session, written: str, code: str) -> None:
    with pytest.raises(privql.PrivQLError) as refused:
        opened.run(f"SELECT {written} AS x FROM regions")
    assert refused.value.diagnostics[0].code == code
