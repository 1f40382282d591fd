"""Types, hostile values and domains to try the scalar functions on, and the calls that resolve on them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from privql.domains import Domain, finite, grid_of, interval
from privql.domains.arithmetic import limits
from privql.functions.scalar import Resolved, all_functions, constant_args, resolve, resolve_cast
from privql.functions.scalar.calendar import (
    CLOCK,
    DATE_FIELDS,
    DATE_UNITS,
    FIRST_DATE,
    FIRST_TIME,
    LAST_DATE,
    LAST_TIME,
)
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, INTERVAL, NULL, TEXT, TIMESTAMP, Value, ValueType, decimal

PRICE, NARROW, WIDE = decimal(10, 2), decimal(3, 0), decimal(38, 10)
TYPES = (INT, FLOAT, PRICE, NARROW, WIDE, BOOL, TEXT, DATE, TIMESTAMP)
DAY = 86_400_000_000
_GREATEST = 1.7976931348623157e308

HOSTILE: dict[str, tuple[Value, ...]] = {
    "INT": (0, 1, -1, 2, 3, 7, -7, 10, 12, 100, 120, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1,
            -(2**63), -(2**63) + 1),
    "FLOAT": (
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 0.1, -0.1, 3.0, 100.0, 1e-9, 5e-324, -5e-324, 1e308, -1e308,
        1.7976931348623157e308, 709.8, -745.2, 2.0**53, 9.007199254740993e15, 9.3e18, 0.49999999999999994, 1e22, 1e-310,
    ),
    "DECIMAL": (),
    "BOOL": (True, False),
    "TEXT": (
        "", " ", "a", "A", "abc", "banana", "ab%c", "a_c", "\\", "é", "e\u0301", "ß", "STRASSE", "\U0001f600b", "0x1F",
        "1", " -12 ", "+3.5e2", "1e400", "9223372036854775808", "9223372036854775807.5", "0.1", "true", "F", "oN",
        "2024-02-29", "2023-02-29", "0000-01-01", "9999-12-31", "2024-02-29T23:59:59.999999", "2024-02-29 24:00",
        "x" * 300, "\x00", '{"a": 1.50}', '{"a": ["é", -0, {"c": null}], "a b": {"c": "\\ud83d\\ude00"}, "a": 2}',
        "[1e400, true]", '{"a": NaN}', '{"a": 1,}', '{"a": "\\ud800"}', "[" * 2000 + "]" * 2000,
        "1_0", "١٢", "1e-999", "9" * 420, "nan", "inf", "-0.5", "-0",
    ),
    "DATE": (0, 1, -1, 19782, 19783, 19723, 20088, 11016, -25509, FIRST_DATE, FIRST_DATE + 1, LAST_DATE,
             LAST_DATE - 31),
    "TIMESTAMP": (
        0, -1, 1, 19782 * DAY, 19783 * DAY - 1, 19723 * DAY + 3_600_000_000 * 5 + 61_000_001, FIRST_TIME, LAST_TIME,
        LAST_TIME - 31 * DAY, -12_345_678_901_234, 20089 * DAY - 1,
    ),
    "INTERVAL": (
        (0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -400, 0), (12, 3, 1), (0, 0, -1), (1, -1, 3_600_000_000),
        (120_000, 0, 0), (-13, 31, -86_400_000_001), (0, 0, 60_000_000),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A resolved call; `fixed` holds its constant arguments by place."""

    resolved: Resolved
    fixed: dict[int, Value]

    def __str__(self) -> str:
        return (
            f"{self.resolved.op}({', '.join(map(str, self.resolved.arg_types))}) -> {self.resolved.result} {self.fixed}"
        )


def hostile(type: ValueType) -> tuple[Value, ...]:
    if type.kind != "DECIMAL":
        return HOSTILE[type.kind]
    most, unit = Fraction(limits(type)[1]), Fraction(1, 10**type.scale)
    return (Fraction(0), unit, -unit, most, -most, most / 2 // unit * unit, Fraction(1), Fraction(-7), 50 * unit)


def some_value(type: ValueType, random: Random) -> Value:
    """Small and likely to meet others, or hostile, or anywhere in the type."""
    choice = random.random()
    if type.kind in ("BOOL", "TEXT", "INTERVAL") or choice < 0.3:
        return random.choice(hostile(type))
    if type.kind == "FLOAT":
        if choice < 0.7:
            return random.randint(-40, 40) / random.choice((1, 2, 10))
        return math.ldexp(random.uniform(-1, 1), random.randint(-60, 60))
    low, high = limits(type)
    unit = Fraction(1, 10**type.scale) if type.kind == "DECIMAL" else Fraction(1)
    middle = {"DATE": 19782, "TIMESTAMP": 19782 * DAY + 1}.get(type.kind, 0)
    reach = {"DATE": 400, "TIMESTAMP": 400 * DAY}.get(type.kind, 130) if choice < 0.8 else int(high / unit)
    value = min(max((middle + random.randint(-reach, reach)) * unit, Fraction(low)), Fraction(high))
    return value if type.kind == "DECIMAL" else int(value)


def in_type(value: Value, type: ValueType) -> bool:
    """Whether Python writes a value of this type so."""
    if value is None:
        return True
    match type.kind:
        case "INT" | "DATE" | "TIMESTAMP":
            low, high = limits(type)
            return isinstance(value, int) and not isinstance(value, bool) and bool(low <= value <= high)
        case "FLOAT":
            return isinstance(value, float) and math.isfinite(value)
        case "DECIMAL":
            if not isinstance(value, Fraction):
                return False
            return (value * 10**type.scale).denominator == 1 and bool(abs(value) <= limits(type)[1])
        case "BOOL":
            return isinstance(value, bool)
        case "TEXT":
            return isinstance(value, str)
        case _:
            return False


def domain_with(type: ValueType, random: Random) -> tuple[Domain, list[Value]]:
    """A random domain of a type, with values inside it."""
    values = [some_value(type, random) for _ in range(random.choice((1, 2, 2, 3, 5)))]
    nullable = random.random() < 0.3
    grid = grid_of(type)
    if type.kind in ("BOOL", "TEXT", "INTERVAL") or random.random() < 0.4:
        open_text = type.kind == "TEXT" and random.random() < 0.3
        domain = Domain(nullable=nullable) if open_text else finite(values, nullable, grid)
    else:
        if grid is not None and random.random() < 0.3:
            coarse = grid * random.choice((2, 5, 10, 3600))
            on_coarse = [Fraction(v) // coarse * coarse for v in values if isinstance(v, (int, Fraction))]
            written = [v if type.kind == "DECIMAL" else int(v) for v in on_coarse]
            values = [v for v in written if in_type(v, type)]
            grid = coarse
        exact = [Fraction(v) for v in values if isinstance(v, (int, float, Fraction))]
        low = min(exact) if exact and random.random() < 0.8 else None
        high = max(exact) if exact and random.random() < 0.8 else None
        domain = interval(low, high, nullable, grid)
        if low is not None and high is not None and grid is not None:
            for _ in range(3):
                between = low + random.randint(0, int((high - low) / grid)) * grid
                values.append(between if type.kind == "DECIMAL" else int(between))
        least, most = (-_GREATEST, _GREATEST) if type == FLOAT else limits(type)
        for end, bound in ((least, low), (most, high)):
            if bound is None and grid == grid_of(type) and end in domain:  # an open end stands for all up to here
                values.append(float(end) if type == FLOAT else end)
        if low is not None and high is not None and type == FLOAT:
            values += [v for v in (random.uniform(float(low), float(high)) for _ in range(3)) if v in domain]
    return domain, [*values, None] if nullable else values


def _constants(op: str, place: int) -> list[Value]:
    if op == "extract":
        return [*DATE_FIELDS, *CLOCK]
    if op in ("date_trunc", "date_diff", "whole_units"):
        return [*DATE_UNITS, *CLOCK]
    if op in ("strftime", "strptime"):
        return ["%Y-%m-%d", "%d/%m/%Y %H:%M", "%F %T", "%Y", "%A %-d. %b", "%j %f%%", "%G-W%V", "%H", "%m %a %y", ""]
    if op in ("to_char", "to_timestamp", "to_date"):
        return ["YYYY-MM-DD", "DD.MM.YYYY HH24:MI", "FMMonth|Month", "IYYY IW DY", '"Q"Q YYYY', "DDD", "MI", "YYYYMM"]
    if op == "time_bucket" and place == 0:
        return [(1, 0, 0), (7, 0, 0), (1200, 0, 0), (0, 1, 0), (0, 14, 0), (0, 0, 5_400_000_000), (0, 400_000, 1)]
    if op == "time_bucket":
        return [0, LAST_DATE, -719_162]
    if op == "format":
        return ["%s", "%2$s%%é%1$s", ""]
    if op in _TEXTS:
        return list(_TEXTS[op][place - 1])
    if op in ("round", "trunc"):
        return [0, 1, 2, -1, -2, 5, 22, -22, -19]
    if op in ("like", "ilike"):
        return ["%", "a%", "_b%", "%a_", "ab\\%c", "b#%", ""] if place == 1 else ["#", "\\"]
    return [" ", "ab", "x", "", "é"]


_PATTERNS = ("(b|an)+?(.)", r"\bST?|[^x]$|^é", r"^ *([+-]?\d+)(\.\d{1,3})?")
_PATHS = ("$.a", '$."a b".c', "$[0]", "$.a[-1]")
_TEXTS: dict[str, tuple[tuple[Value, ...], ...]] = {
    "regexp_like": (_PATTERNS, ("i",)),
    "regexp_extract": (_PATTERNS, (2,)),
    "regexp_substr": (_PATTERNS,),
    "regexp_replace": (_PATTERNS, (r"[\0\\]", "", r"\1\&"), ("", "g", "ig")),
    "regexp_part": (_PATTERNS,),
    "regexp_count": (_PATTERNS[:2],),
    "regexp_instr": (_PATTERNS,),
    "similar": (("(a|b)%", "_+an{1,2}a?", "%[[:digit:].-]%", "#%\\\\_"), ("#", "\\")),
    "json_value": (_PATHS,),
    "json_exists": (_PATHS,),
    "json_typeof": (_PATHS,),
    "json_array_length": (_PATHS,),
    "translate": (("abc", "aab", "é\\x'", ""), ("12", "éb😀x", "")),
}


def _arities(op: str) -> tuple[int, ...]:
    special = {"case": (3, 5), "make_timestamp": (6,), "width_bucket": (4,), "pi": (0,)}
    return (3, 4) if op in ("regexp_replace", "overlay") else special.get(op, (1, 2, 3))


def calls(seed: int = 1) -> list[Call]:
    """Calls of every function on every combination of types that it takes, each type once plain and once converted."""
    random = Random(seed)
    found: dict[str, Call] = {}
    for function in all_functions():
        for arity in _arities(function.op):
            for types in _type_choices(function.op, arity):
                for fixed in _fixed_choices(function.op, types, random):
                    known = tuple(fixed.get(place) for place in range(arity))
                    resolved = resolve(function.op, types, known)
                    if resolved is not None:
                        call = Call(resolved, fixed)
                        found.setdefault(str(call), call)
    for source, target in itertools.product((*TYPES, NULL), TYPES):
        cast = resolve_cast(source, target)
        if cast is not None and source != NULL:
            found[f"cast {source} {target}"] = Call(cast, {})
    return list(found.values())


def _type_choices(op: str, arity: int) -> list[tuple[ValueType, ...]]:
    if op == "case":
        values = [t for t in itertools.product(TYPES, repeat=2) if t[0] == t[1] or t[0].kind == "INT"]
        return [(BOOL, a, b) if arity == 3 else (BOOL, a, BOOL, b, a) for a, b in values]
    if arity == 3:
        alike = [(t, t, t) for t in TYPES]
        return [
            *alike,
            (TEXT, INT, INT),
            (TEXT, TEXT, INT),
            (TEXT, INT, TEXT),
            (BOOL, INT, INT),
            (BOOL, TEXT, TEXT),
            (INT, PRICE, FLOAT),
            (PRICE, WIDE, INT),
            (DATE, TIMESTAMP, DATE),
            (TEXT, INT, DATE),
            *((first, time, time) for first in (TEXT, INTERVAL) for time in (DATE, TIMESTAMP)),
        ]
    if arity == 4:
        four: list[tuple[ValueType, ...]] = [(TEXT, TEXT, TEXT, TEXT), (TEXT, TEXT, INT, INT)]
        return four + [
            (type, type, type, INT) for type in (INT, FLOAT, PRICE, NARROW, decimal(31, 10), decimal(31, 30))
        ]
    if arity == 6:
        return [(INT, INT, INT, INT, INT, last) for last in (INT, PRICE)]
    return list(itertools.product((*TYPES, INTERVAL), repeat=arity))


def _fixed_choices(op: str, types: tuple[ValueType, ...], random: Random) -> list[dict[int, Value]]:
    places = [p for p in constant_args(op) if p < len(types)]
    if op in ("add", "sub", "date_add", "date_sub"):
        places = [p for p, t in enumerate(types) if t == INTERVAL]
        return [{p: v} for p in places for v in HOSTILE["INTERVAL"]] or [{}]
    if not places:
        return [{}]
    if op == "width_bucket":
        ends = [[some_value(types[0], random) for _ in range(2)] for _ in range(6)]
        return [{1: low, 2: high, 3: random.choice((1, 3, 10, 1000, 10**6))} for low, high in ends]
    if op == "clamp":
        if len(types) != 3 or len(set(types)) != 1 or types[0].kind in ("TEXT", "BOOL"):
            return []
        ends = [[some_value(types[0], random), some_value(types[0], random)] for _ in range(4)]
        return [dict(enumerate(sorted(pair), 1)) for pair in ends]  # type: ignore[type-var]
    options = [_constants(op, p) for p in places]
    return [dict(zip(places, values, strict=True)) for values in itertools.product(*options)]
