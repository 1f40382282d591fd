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
        ("""'{"a": {"b c": [1, 2.50]}}' -> 'a' -> 'b c' ->> 1""", "2.50"), ("""'[[7]]' -> 0 ->> -1""", "7"),
        ("""'{"a": {"b": true}}' ->> '$.a.b' = 'true'""", True), ("""'{"a": 1, "\\u0061": 2}' ->> 'a'""", "1"),
        ("""'{"$id": "x", "y": "{\\"z\\": 3}"}' ->> '$id'""", "x"),
        ("""'{"y": "{\\"z\\": 3}"}' ->> 'y' ->> 'z'""", "3"), ("""'{"a": 1,}' ->> 'a'""", None),
        ("""'{"a": {}}' ->> 'a'""", None), ("""json_typeof('{"a": {}}', '$.a')""", "object"),
        ("""json_exists('{"a": null}', '$.a')""", True), ("""json_exists('{"a": null', '$.a')""", None),
        ("'abc' SIMILAR TO '(a|z)_c'", True), ("'abc' SIMILAR TO 'b'", False), ("'a.c' NOT SIMILAR TO 'a.c'", False),
        ("'abc' SIMILAR TO 'a.c'", False), ("'a%c' SIMILAR TO 'a#%c' ESCAPE '#'", True), ("'^$' SIMILAR TO '^$'", True),
        ("'a]b' SIMILAR TO '[[:alpha:]]\\][^a]'", True), ("'\\' SIMILAR TO '[\\x]' ESCAPE '#'", True),
        ("'xay' SIMILAR TO 'x[#]a]{1}y' ESCAPE '#'", True), ("substring('ward 7' FROM '[a-z] ([0-9])')", "7"),
        ("substring('ward 7' FROM '[0-9]')", "7"), ("substring('ward 7' FOR 4)", "ward"),
        ("trim(LEADING FROM ' a ')", "a "), ("trim(FROM ' a ')", "a"), ("overlay('abcd' PLACING 'XY' FROM 2)", "aXYd"),
        ("overlay('abcd' PLACING 'XY' FROM 2 FOR 3)", "aXY"), ("overlay('abcd', 'X', 3, -1)", "abXbcd"),
        ("overlay('abcd', 'X', 0)", None), ("format('%2$s-%1$s%%', 1, NULL)", "-1%"),
        ("format('%s', DATE '2024-01-02')", "2024-01-02"),
        ("regexp_instr('aab', 'b|ab')", 2), ("regexp_instr('x', 'b')", 0), ("bit_count(-1)", 64),
        ("to_hex(-1)", "f" * 16),
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
        ("width_bucket(population, 1, 9, 0)", "PQL0302"), ("population ->> 'a'", "PQL0301"),
        ("name -> 'a'", "PQL0301"), ("name ->> code", "PQL0308"), ("name ->> TRUE", "PQL0301"),
        ("name ->> 'a*'", "PQL0302"), ("json_value(name, 'a')", "PQL0302"), ("json_value(name, '$')", "PQL0302"),
        ("json_exists(name, '$..a')", "PQL0302"), ("name SIMILAR TO '(a'", "PQL0302"),
        ("name SIMILAR TO 'a+?'", "PQL0302"), ("name SIMILAR TO 'a#' ESCAPE '#'", "PQL0302"),
        ("name SIMILAR TO code", "PQL0308"), ("substring(name FROM code)", "PQL0308"),
        ("substring(name FROM '(a')", "PQL0302"), ("regexp_count(name, 'a*')", "PQL0302"),
        ("format('%d', 1)", "PQL0302"), ("format('%s %s', 1)", "PQL0302"), ("format(name, 1)", "PQL0308"),
    ],
)  # fmt: skip
def test_what_it_does_not_take_is_refused(opened: Session, written: str, code: str) -> None:
    with pytest.raises(privql.PrivQLError) as refused:
        opened.run(f"SELECT {written} AS x FROM regions")
    assert refused.value.diagnostics[0].code == code
