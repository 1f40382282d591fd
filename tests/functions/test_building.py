"""Text made of text, against PostgreSQL's documented results and the plainest Python; and what is known of it."""

from __future__ import annotations

from itertools import product

import pytest

from privql.domains import Domain, finite
from privql.functions.scalar import resolve
from privql.functions.scalar.building import HALVES
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, INTERVAL, NULL, TEXT, Value
from tests.functions.calling import call
from tests.functions.test_tightness import inferred, of, one

MOST = 2**63 - 1


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (call("join", "a", None, 7, True), "a7true"),
        (call("join", None, None, types=(TEXT, TEXT)), ""),
        (call("join", "x" * LONGEST, "", types=(TEXT, TEXT)), "x" * LONGEST),
        (call("join", "x" * LONGEST, "y"), None),
        (call("join_with", ",", None, "a", None, ""), "a,"),
        (call("join_with", ",", None, None, types=(TEXT, TEXT, TEXT)), ""),
        (call("join_with", None, "a", types=(TEXT, TEXT)), None),
        (call("join_with", "--", "x" * (LONGEST - 2), ""), "x" * (LONGEST - 2) + "--"),
        (call("join_with", "--", "x" * (LONGEST - 1), ""), None),
        (call("repeat", "Pg", 4), "PgPgPgPg"),
        (call("repeat", "ab", -MOST), ""),
        (call("repeat", "", MOST), ""),
        (call("repeat", "a", LONGEST + 1), None),
        (call("lpad", "hi", 5, "xy"), "xyxhi"),
        (call("lpad", "hello", 3), "hel"),
        (call("lpad", "hi", 4), "  hi"),
        (call("lpad", "hi", 9, ""), "hi"),
        (call("lpad", "hi", -1, "x"), ""),
        (call("rpad", "hi", 5, "xy"), "hixyx"),
        (call("rpad", "e\u0301", 3, "é"), "e\u0301é"),
        (call("rpad", "hi", LONGEST + 1, "x"), None),
        (call("split_part", "abc~@~def~@~ghi", "~@~", 2), "def"),
        (call("split_part", "abc,def,ghi,jkl", ",", -2), "ghi"),
        (call("split_part", "abc", ",", 2), ""),
        (call("split_part", "abc", ",", -2), ""),
        (call("split_part", "abc", ",", 0), None),
        (call("split_part", "abc", "", 1), "abc"),
        (call("split_part", "abc", "", 2), ""),
        (call("split_part", ",a", ",", 1), ""),
        (call("split_part", "a,b", ",", -MOST), ""),
        (call("initcap", "hi THOMAS"), "Hi Thomas"),
        (call("initcap", "o'neill 3RD-élan x_y"), "O'Neill 3rd-élan X_Y"),
        (call("translate", "12345", "143", "ax"), "a2x5"),
        (call("translate", "aaa", "aa", "bc"), "bbb"),
        (call("translate", "abc", "", "xyz"), "abc"),
        (call("ascii", ""), 0),
        (call("ascii", "\U0001f600x"), 128512),
        (call("chr", 65), "A"),
        (call("chr", 0), None),
        (call("chr", HALVES.start), None),
        (call("chr", 0x110000), None),
        (call("chr", -MOST), None),
        (call("octet_length", "é\U0001f600"), 6),
        (call("strpos", "high", "ig"), 2),
        (call("strpos", "high", ""), 1),
        (call("num_nulls", 1, None, "a"), 1),
        (call("num_nonnulls", None, None, types=(NULL, TEXT)), 0),
        (call("coalesce", None, 2), 2),
    ],
)
def test_a_meaning(found: Value, wanted: Value) -> None:
    assert found == wanted and type(found) is type(wanted)


@pytest.mark.parametrize(
    ("op", "types"),
    [
        ("join", ()), ("join", (FLOAT,)), ("join", (TEXT, INTERVAL)), ("join_with", (TEXT,)), ("repeat", (INT, TEXT)),
        ("num_nulls", ()), ("num_nulls", (INTERVAL,)), ("chr", (TEXT,)), ("lpad", (TEXT, TEXT)), ("ascii", (INT,)),
        ("split_part", (TEXT, TEXT)), ("regexp_like", (TEXT,)), ("regexp_like", (INT, TEXT)),
        ("regexp_extract", (TEXT, TEXT, TEXT)), ("regexp_substr", (TEXT, TEXT, INT)), ("regexp_replace", (TEXT, TEXT)),
        ("bits_and", (INT, FLOAT)), ("bits_not", (BOOL,)), ("shift_left", (INT,)), ("gcd", (INT, FLOAT)),
        ("width_bucket", (DATE, DATE, DATE, INT)), ("width_bucket", (INT, INT, INT, FLOAT)), ("pi", (INT,)),
        ("int_div", (FLOAT, INT)), ("log", (TEXT,)), ("log", ()), ("sin", (TEXT,)),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(op: str, types: tuple[object, ...]) -> None:
    assert resolve(op, types) is None


@pytest.mark.parametrize(
    ("op", "constants"),
    [
        ("regexp_like", (None, "(a")), ("regexp_like", (None, "a", "x")), ("regexp_extract", (None, "(a)", 2)),
        ("regexp_extract", (None, "a", -1)), ("regexp_replace", (None, "a", r"\1")),
        ("regexp_replace", (None, "a", "\\")), ("regexp_replace", (None, "a", r"\q")),
        ("regexp_replace", (None, "a*", "", "g")), ("regexp_replace", (None, "a", "", "s")),
        ("width_bucket", (None, 5, 5, 3)), ("width_bucket", (None, 0, 5, 0)), ("width_bucket", (None, 0, 5, 10**6 + 1)),
        ("width_bucket", (None, -1.7e308, 1.7e308, 3)), ("width_bucket", (None, None, 5, 3)),
        ("translate", (None, "a", None)),
    ],
)  # fmt: skip
def test_a_constant_out_of_place_is_refused(op: str, constants: tuple[Value, ...]) -> None:
    kinds = {str: TEXT, int: INT, float: FLOAT}
    types = [kinds.get(type(known), INT if op == "width_bucket" else TEXT) for known in constants]
    assert resolve(op, tuple(types), constants) is None


def test_filling_up_is_what_a_loop_does() -> None:
    for text, length, fill in product(("", "a", "abé"), range(-2, 9), ("", "x", "xyz")):
        left, right = text[: max(length, 0)], text[: max(length, 0)]
        added = ""
        while fill and len(added) + len(text) < length:
            added += fill[len(added) % len(fill)]
        assert call("lpad", text, length, fill) == added + left
        assert call("rpad", text, length, fill) == right + added


REGION = TEXT, finite(["Nord-Ost", "Nord-West", "Sued"], True)
ANY = TEXT, Domain(nullable=False)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (inferred("split_part", REGION, one("-", TEXT), one(1, INT)), "{'Nord', 'Sued'} or NULL"),
        (inferred("left", REGION, one(1, INT)), "{'N', 'S'} or NULL"),
        (inferred("join", REGION, one("!", TEXT)), "{'!', 'Nord-Ost!', 'Nord-West!', 'Sued!'}"),
        (inferred("join", of(INT, 1, 3), one("st", TEXT)), "{'1st', '2st', '3st'}"),
        (inferred("regexp_extract", REGION, one("[A-Z]", TEXT)), "{'N', 'S'} or NULL"),
        (inferred("regexp_replace", REGION, one("-.*", TEXT), one("", TEXT)), "{'Nord', 'Sued'} or NULL"),
        (inferred("regexp_like", (TEXT, finite(["ab", "b"], False)), one("b$", TEXT)), "{TRUE}"),
        (inferred("regexp_like", ANY, one("b$", TEXT)), "{FALSE, TRUE}"),
        (inferred("strpos", REGION, one("d", TEXT)), "{4} or NULL"),
        (inferred("split_part", ANY, one("-", TEXT), of(INT, 1, 2)), "any, not NULL"),
        (inferred("split_part", ANY, one("-", TEXT), of(INT, 0, 2)), "any"),
        (inferred("lpad", ANY, of(INT, 0, 100)), "any, not NULL"),
        (inferred("chr", of(INT, 65, 67)), "{'A', 'B', 'C'}"),
        (inferred("chr", of(INT, 0, 1)), "{'\x01'} or NULL"),
        (inferred("chr", of(INT, 1, 5000)), "any, not NULL"),
        (inferred("ascii", ANY), "[0, 1114111]"),
        (inferred("octet_length", ANY), "[0, ∞]"),
        (inferred("num_nulls", ANY, of(INT, 0, 9, nullable=True), (INT, finite((), True))), "[1, 2]"),
        (inferred("num_nonnulls", ANY, of(INT, 0, 9, nullable=True), (INT, finite((), True))), "[1, 2]"),
    ],
)
def test_a_domain_is_as_tight_as_can_be(found: Domain, wanted: str) -> None:
    assert found.describe() == wanted
