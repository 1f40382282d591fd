"""Bits, divisors, buckets and angles: against brute force, and bounds without slack."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from privql.domains import Domain, finite, interval
from privql.functions.scalar import evaluate, infer, resolve
from privql.kernel.scalars import FLOAT, INT, Value, decimal
from tests.functions.calling import call
from tests.functions.test_tightness import AGE, inferred, of, one

LEAST, MOST = -(2**63), 2**63 - 1
PRICE = decimal(10, 2)
ANY = of(INT, None, None)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (call("bits_and", 91, 15), 11), (call("bits_and", -1, LEAST), LEAST), (call("bits_or", 32, 3), 35),
        (call("bits_xor", 17, 5), 20), (call("bits_xor", -1, 1), -2), (call("bits_not", 1), -2),
        (call("bits_not", LEAST), MOST), (call("shift_left", 1, 4), 16), (call("shift_left", -1, 63), LEAST),
        (call("shift_left", 1, 63), None), (call("shift_left", 0, 64), None), (call("shift_left", 1, -1), None),
        (call("shift_right", 8, 2), 2), (call("shift_right", -5, 1), -3), (call("shift_right", LEAST, 63), -1),
        (call("shift_right", 8, 64), None), (call("gcd", 1071, 462), 21), (call("gcd", 0, 0), 0),
        (call("gcd", LEAST, 0), None), (call("gcd", LEAST, LEAST), None), (call("gcd", LEAST, 6), 2),
        (call("lcm", 1071, 462), 23562), (call("lcm", 0, LEAST), 0), (call("lcm", MOST, 2), None),
        (call("width_bucket", Fraction(535, 100), Fraction(24, 1000), Fraction(1006, 100), 5), 3),
        (call("width_bucket", 0, 0, 10, 5), 1), (call("width_bucket", 10, 0, 10, 5), 6),
        (call("width_bucket", -1, 0, 10, 5), 0), (call("width_bucket", 10, 10, 0, 5), 1),
        (call("width_bucket", 0, 10, 0, 5), 6), (call("width_bucket", 11, 10, 0, 5), 0),
        (call("width_bucket", LEAST, LEAST, MOST, 4), 1), (call("width_bucket", MOST - 1, LEAST, MOST, 4), 4),
        (call("width_bucket", Fraction(29, 10), 0, 10, 100), 30),  # by doubles it would be 29
        (call("width_bucket", math.nextafter(1.0, 0), 0.0, 1.0, 3), 3),
        (call("log", 100), 2.0), (call("log", 0.5, 8.0), -3.0), (call("log", 1.0, 8.0), None),
        (call("log", 0.0, 8.0), None), (call("log", 2.0, 0.0), None), (call("cbrt", -8.0), -2.0),
        (call("degrees", 1e308), None), (call("asin", 1.5), None), (call("acos", -1.5), None),
        (call("atan2", -0.0, -0.0), 0.0), (call("atan2", 0.0, -1.0), call("atan2", -0.0, -1.0)),
        (call("int_div", 7, -2), -3), (call("trunc", Fraction(-2999, 1000), 2), Fraction(-299, 100)),
        (call("trunc", -1250, -2), -1200), (call("trunc", MOST, -19), 0), (call("trunc", LEAST, -18), -9 * 10**18),
    ],
)  # fmt: skip
def test_a_meaning(found: Value, wanted: Value) -> None:
    assert found == wanted and type(found) is type(wanted)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (inferred("bits_and", ANY, one(7, INT)), "{0, 1, 2, 3, 4, 5, … 8 values}"),
        (inferred("bits_and", ANY, one(6, INT)), "{0, 2, 4, 6}"),
        (inferred("bits_and", AGE, one(64, INT)), "{0, 64}"),
        (inferred("bits_and", of(INT, 0, 63), one(64 + 32, INT)), "{0, 32}"),
        (inferred("bits_and", ANY, AGE), "[0, 120]"),
        (inferred("bits_or", AGE, one(1, INT)), "[1, 127]"),
        (inferred("bits_or", ANY, of(INT, -5, -3)), "[-9223372036854775808, -1]"),
        (inferred("bits_xor", AGE, AGE), "[0, 127]"),
        (inferred("bits_xor", AGE, of(INT, -8, -1)), "[-128, -1]"),
        (inferred("bits_not", AGE), "[-121, -1]"),
        (inferred("shift_left", AGE, one(2, INT)), "[0, 480]"),
        (inferred("shift_left", AGE, of(INT, 0, 64)), "[0, 9223372036854775807] or NULL"),
        (inferred("shift_right", AGE, one(3, INT)), "[0, 15]"),
        (inferred("shift_right", of(INT, -9, 9), of(INT, 1, 2)), "[-5, 4]"),
        (inferred("shift_right", AGE, one(64, INT)), "NULL"),
        (inferred("gcd", AGE, one(12, INT)), "[1, 12]"),
        (inferred("gcd", AGE, of(INT, -500, 500)), "[0, 500]"),
        (inferred("gcd", of(INT, LEAST, -1), one(0, INT)), "[1, 9223372036854775807] or NULL"),
        (inferred("lcm", of(INT, 2, 9), of(INT, 4, 5)), "[4, 45]"),
        (inferred("lcm", AGE, one(7, INT)), "[0, 840]"),
        (inferred("width_bucket", AGE, one(20, INT), one(100, INT), one(8, INT)), "[0, 9]"),
        (inferred("width_bucket", AGE, one(100, INT), one(20, INT), one(8, INT)), "[0, 9]"),
        (inferred("width_bucket", AGE, one(0, INT), one(200, INT), one(10, INT)), "[1, 7]"),
        (inferred("width_bucket", of(PRICE, 0, Fraction(999, 100)), one(0, INT), one(10, INT), one(5, INT)), "[1, 5]"),
        (inferred("width_bucket", of(FLOAT, 0, None), one(0, INT), one(10, INT), one(5, INT)), "[1, 6]"),
        (inferred("sin", of(FLOAT, None, None)), "[-1, 1]"),
        (inferred("asin", of(FLOAT, 0, 1)), "[0, 1.5707963267941523]"),
        (inferred("asin", of(FLOAT, 2, 3)), "NULL"),
        (inferred("radians", of(FLOAT, 0, 180)), f"[0, {math.pi}]"),
        (inferred("log", one(2.0, FLOAT), of(FLOAT, 1, 1024)), "[0, 10]"),
        (inferred("log", one(0.5, FLOAT), of(FLOAT, 1, 1024)), "[-10, 0]"),
        (inferred("log", one(2.0, FLOAT), AGE), "[-∞, 6.9068905956082745] or NULL"),
        (inferred("cbrt", of(FLOAT, -8, 27)), "[-2, 3]"),
        (inferred("trunc", of(PRICE, Fraction(-199, 100), Fraction(399, 100)), one(1, INT)), "[-1.9, 3.9]"),
        (inferred("trunc", AGE, one(-1, INT)), "[0, 120]"),
    ],
)  # fmt: skip
def test_a_domain_is_as_tight_as_can_be(found: Domain, wanted: str) -> None:
    assert found.describe() == wanted


def test_small_bits_lie_in_their_domain_whatever_the_ends() -> None:
    random = Random(41)
    meanings = {"bits_and": int.__and__, "bits_or": int.__or__, "bits_xor": int.__xor__}
    for _ in range(400):
        sides = [sorted(random.randint(-20, 20) for _ in range(2)) for _ in range(2)]
        domains = tuple(interval(low, high, False, Fraction(1)) for low, high in sides)
        for op, meaning in meanings.items():
            found = infer(op, (INT, INT), INT, domains)
            pairs = product(*(range(low, high + 1) for low, high in sides))
            assert all(meaning(x, y) in found for x, y in pairs), (op, sides, found)
            assert found.bounded and not found.nullable
            assert found.low is not None and found.low >= -32 and found.high is not None and found.high <= 31


def test_a_bucket_holds_what_lies_between_its_ends() -> None:
    random = Random(42)
    for _ in range(300):
        low, high = (Fraction(random.randint(-500, 500), 100) for _ in range(2))
        count = random.randint(1, 12)
        if low == high:
            continue
        edges = [low + (high - low) * at / count for at in range(count + 1)]
        for value in (*edges, *(Fraction(random.randint(-600, 600), 100) for _ in range(20))):
            price = Fraction(round(value * 100), 100)
            found = evaluate("width_bucket", (PRICE, PRICE, PRICE, INT), INT, (price, low, high, count))
            wanted = sum(price >= edge for edge in edges) if low < high else sum(price <= edge for edge in edges)
            assert found == wanted, (price, low, high, count)


def test_a_truncated_price_lies_on_a_coarser_grid() -> None:
    tens = inferred("trunc", of(INT, -15, 39), one(-1, INT))
    assert tens.members(9) == (-10, 0, 10, 20, 30)
    assert resolve("trunc", (FLOAT, INT), (None, 2)) is None


def test_what_may_be_null_is_known_of_divisors() -> None:
    safe = finite([LEAST + 1, MOST], False, Fraction(1))
    assert not infer("gcd", (INT, INT), INT, (safe, safe)).nullable
    assert infer("gcd", (INT, INT), INT, (of(INT, None, 0)[1], of(INT, None, 0)[1])).nullable
