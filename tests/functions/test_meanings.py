"""What the functions mean, held against PostgreSQL's documentation, brute force and another calendar."""

from __future__ import annotations

import datetime
import math
import re
from fractions import Fraction
from itertools import product
from random import Random

import duckdb
import pytest

from privql.functions.scalar import calendar, evaluate, numbers, resolve
from privql.kernel.scalars import BOOL, DATE, INT, INTERVAL, TEXT, TIMESTAMP, Value, decimal
from tests.functions.calling import call

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (call("add", MOST, 1), None),
        (call("neg", LEAST), None),
        (call("abs", LEAST), None),
        (call("mul", LEAST, -1), None),
        (call("int_div", LEAST, -1), None),
        (call("mod", LEAST, -1), 0),
        (call("div", 7, 2), 3),
        (call("div", -7, 2), -3),
        (call("div", 7, 0), None),
        (call("div", 7, 2.0), 3.5),
        (call("div", Fraction(7, 2), 2), 1.75),
        (call("div", 1.0, 0.0), None),
        (call("mod", -7, 3), -1),
        (call("mod", 7, -3), 1),
        (call("mod", Fraction(-15, 2), 2), Fraction(-3, 2)),
        (call("mul", 1e308, 10.0), None),
        (call("sub", Fraction(1, 10), Fraction(1, 100)), Fraction(9, 100)),
        (call("round", 0.49999999999999994), 0.0),
        (call("round", 2.5), 3.0),
        (call("round", -2.5), -3.0),
        (call("round", Fraction(-5, 2)), Fraction(-3)),
        (call("round", 1250, -2), 1300),
        (call("round", MOST, -1), None),
        (call("round", 2.345, 2), 2.35),
        (call("round", 1e300, 10), 1e300),
        (call("trunc", -2.7), -2.0),
        (call("sqrt", -1.0), None),
        (call("ln", 0.0), None),
        (call("exp", 710.0), None),
        (call("exp", -1000.0), 0.0),
        (call("power", 0.0, 0.0), 1.0),
        (call("power", 0.0, -1.0), None),
        (call("power", -8.0, 1 / 3), None),
        (call("power", -2.0, 3.0), -8.0),
        (call("greatest", None, 2, 3), 3),
        (call("least", "b", "B", "a"), "B"),
        (call("clamp", None, 0, 5), None),
        (call("clamp", 7, 0, 5), 5),
        (call("clamp", -7, 0, 5), 0),
        (call("in", 3, 1, None), None),
        (call("in", 1, 1, None), True),
        (call("in", None, 1), None),
        (call("lt", "Z", "a"), True),
        (call("lt", "\uffff", "\U0001f600"), True),
        (call("eq", "é", "e\u0301"), False),
        (call("eq", 2**53 + 1, Fraction(2**53)), False),
        (call("nullif", 0, None), 0),
        (call("if", None, 1, 2), 2),
        (call("lower", "ÀB"), "Àb"),
        (call("length", "e\u0301\U0001f600"), 3),
        (call("substring", "abcdef", 0, 3), "ab"),
        (call("substring", "abcdef", -1, 3), "a"),
        (call("substring", "abcdef", 4), "def"),
        (call("substring", "abcdef", 2, -1), None),
        (call("substring", "abcdef", LEAST, MOST), ""),
        (call("substring", "abcdef", 2, MOST), "bcdef"),
        (call("left", "abc", -1), "ab"),
        (call("left", "abc", LEAST), ""),
        (call("right", "abc", -1), "bc"),
        (call("right", "abc", LEAST), ""),
        (call("right", "abc", 0), ""),
        (call("trim", " \tab "), "\tab"),
        (call("trim", "xyabyx", "xy"), "ab"),
        (call("trim", "ab", ""), "ab"),
        (call("replace", "aaa", "aa", "b"), "ba"),
        (call("replace", "abc", "", "x"), "abc"),
        (call("position", "", "abc"), 1),
        (call("position", "z", "abc"), 0),
        (call("concat", "a", None), None),
        (call("concat", "a" * 2**20, "b"), None),
        (call("replace", "a" * 2**11, "a", "b" * 2**10), None),
        (call("is_distinct", None, None), False),
        (call("extract", "SECOND", 61_500_000, types=(TEXT, TIMESTAMP)), Fraction(3, 2)),
        (call("extract", "EPOCH", -1, types=(TEXT, TIMESTAMP)), Fraction(-1, 1_000_000)),
    ],
)
def test_a_meaning(found: Value, wanted: Value) -> None:
    assert found == wanted and type(found) is type(wanted)


def test_three_valued_logic_is_the_minimum_and_the_maximum() -> None:
    order: dict[Value, int] = {False: 0, None: 1, True: 2}
    for arity in (1, 2, 3):
        for values in product(order, repeat=arity):
            types = (BOOL,) * arity
            assert order[call("and", *values, types=types)] == min(order[v] for v in values)
            assert order[call("or", *values, types=types)] == max(order[v] for v in values)


def test_like_is_the_regular_expression_it_stands_for() -> None:
    random = Random(5)
    matched = 0
    for _ in range(4000):
        text = "".join(random.choice("ab%_\\\n") for _ in range(random.randint(0, 7)))
        pattern = "".join(
            random.choice(("a", "b", "%", "_", "#%", "#_", "##", "\n")) for _ in range(random.randint(0, 6))
        )
        regex = "".join(
            re.escape(part[1]) if len(part) == 2 else {"%": ".*", "_": "."}.get(part, re.escape(part))
            for part in re.findall(r"#.|[^#]", pattern, re.DOTALL)
        )
        wanted = re.fullmatch(regex, text, re.DOTALL) is not None
        assert call("like", text, pattern, "#") is wanted, (text, pattern)
        matched += wanted
    assert matched > 200
    assert call("like", "a" * 20000, "%a" * 50 + "%b") is False  # not exponential
    assert call("ilike", "ÀB", "Àb") is True and call("ilike", "À", "à") is False


def test_substring_takes_the_positions_it_names() -> None:
    text = "abcdé\U0001f600"
    for start, length in product(range(-4, 10), range(10)):
        wanted = "".join(c for at, c in enumerate(text, 1) if start <= at < start + length)
        assert call("substring", text, start, length) == wanted


def test_quantised_results_have_forty_bits_and_are_nearest() -> None:
    random = Random(6)
    for _ in range(2000):
        value = math.ldexp(random.uniform(-1, 1), random.randint(-900, 900))
        rounded = numbers.quantised(value)
        assert rounded is not None
        digits = abs(Fraction(rounded).numerator)
        assert digits == 0 or (digits // (digits & -digits)).bit_length() <= 40
        assert abs(Fraction(rounded) - Fraction(value)) * 2**40 <= abs(Fraction(value))
    assert numbers.quantised(1e308) is None
    for exact in (0.0, 1.0, -1024.0, 14400.0, 0.1015625):
        assert numbers.quantised(exact) == exact


def test_wide_decimals_add_and_multiply_exactly_or_are_null() -> None:
    wide = decimal(38, 10)
    most = Fraction(10**38 - 1, 10**10)
    assert call("add", most, Fraction(1, 10**10), types=(wide, wide)) is None
    assert call("sub", most, most, types=(wide, wide)) == 0
    resolved = resolve("add", (decimal(10, 2), decimal(5, 4)))
    assert resolved is not None and resolved.result == decimal(13, 4)
    resolved = resolve("mul", (decimal(10, 2), INT), (None, 3))
    assert resolved is not None and resolved.arg_types[1] == decimal(1, 0) and resolved.result == decimal(11, 2)
    assert resolve("mul", (decimal(38, 20), decimal(38, 20))) is None


def _moment(value: int) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value)  # noqa: DTZ001 - UTC throughout


def test_the_calendar_agrees_with_another() -> None:
    """Every field and start, and every step by months, days and time, against an engine's own calendar."""
    random = Random(7)
    low, high = calendar.day_of(datetime.date(3, 1, 1)), calendar.day_of(datetime.date(9990, 1, 1))
    days = [random.randint(low, high) for _ in range(150)]
    days += [d + n for d in (19782, 11016, -25509, 19723, 20088, 18627) for n in (-1, 0, 1)]
    moments = [day * calendar.DAY + random.randrange(calendar.DAY) for day in days]
    engine = duckdb.connect()
    engine.execute("CREATE TABLE given (place INT, moment TIMESTAMP)")
    engine.executemany("INSERT INTO given VALUES (?, ?)", [(at, _moment(m)) for at, m in enumerate(moments)])

    def asked(expression: str) -> list[Value]:
        return [row[0] for row in engine.execute(f"SELECT {expression} FROM given ORDER BY place").fetchall()]

    for field in (*calendar.DATE_FIELDS[:-1], "HOUR", "MINUTE"):
        found = [evaluate("extract", (TEXT, TIMESTAMP), INT, (field, m)) for m in moments]
        assert found == asked(f"extract({field} FROM moment)"), field
        if field in calendar.DATE_FIELDS:
            assert found == [evaluate("extract", (TEXT, DATE), INT, (field, d)) for d in days]
    for unit in (*calendar.DATE_UNITS, *calendar.CLOCK):
        started = [evaluate("date_trunc", (TEXT, TIMESTAMP), TIMESTAMP, (unit, m)) for m in moments]
        length = {"CENTURY": 100, "MILLENNIUM": 1000}.get(unit)  # that engine lets them begin in years that end in 0
        shown = f"make_timestamp({length} * ({unit}(moment) - 1) + 1, 1, 1, 0, 0, 0)" if length else "moment"
        wanted = asked(f"epoch_us(date_trunc('{'day' if length else unit}', {shown}))")
        if unit == "DECADE":  # of the years 1 to 9, it begins before the calendar
            wanted = [w if isinstance(w, int) and w >= calendar.FIRST_TIME else None for w in wanted]
        assert started == wanted, unit
    for months, some_days, micros in ((1, 0, 0), (-1, 0, 0), (13, -40, 86_399_000_000), (-11, 3, -1), (0, 0, 7)):
        interval = f"(to_months({months}) + to_days({some_days}) + to_microseconds({micros}))"
        types = (TIMESTAMP, INTERVAL)
        for op, sign in (("add", "+"), ("sub", "-")):
            moved = [evaluate(op, types, TIMESTAMP, (m, (months, some_days, micros))) for m in moments]
            assert moved == asked(f"epoch_us(moment {sign} {interval})"), interval


def test_the_calendar_ends_where_it_ends() -> None:
    assert call("add", calendar.LAST_DATE, 1, types=(DATE, INT)) is None
    assert call("sub", calendar.FIRST_DATE, 1, types=(DATE, INT)) is None
    assert call("add", calendar.LAST_DATE, MOST, types=(DATE, INT)) is None
    year, last = (12, 0, 0), calendar.LAST_DATE
    assert call("add", last, year, types=(DATE, INTERVAL)) is None
    assert call("sub", last, year, types=(DATE, INTERVAL)) is not None
    for century, days in ((1900, 28), (2000, 29)):  # the last of January, a month on
        start, end = datetime.date(century, 1, 31), datetime.date(century, 2, days)
        moved = call("add", calendar.day_of(start), (1, 0, 0), types=(DATE, INTERVAL))
        assert moved == calendar.day_of(end) * calendar.DAY
    back = (1, -40, 0)  # leaves the calendar on the way
    assert call("add", last, back, types=(DATE, INTERVAL)) is None
    for unit in calendar.DATE_UNITS:
        begun = call("date_trunc", unit, calendar.FIRST_DATE, types=(TEXT, DATE))
        assert begun == (None if unit == "DECADE" else calendar.FIRST_DATE)
    for op, types in (("extract", (TEXT, DATE)), ("date_trunc", (TEXT, DATE)), ("cast", (DATE,))):
        for beyond in (calendar.LAST_DATE + 1, calendar.FIRST_DATE - 1, 10**12):
            values: tuple[Value, ...] = (beyond,) if op == "cast" else ("YEAR", beyond)
            assert evaluate(op, types, TEXT if op == "cast" else INT, values) is None
