"""What an INTERVAL says: `3` with a unit behind it, or a text such as `1 year 2 months`, `1-2`, `04:05:06`, `P1Y2M`."""

from __future__ import annotations

import re
from fractions import Fraction

from privql.diagnostics import PrivQLError, Span, refuse
from privql.functions.scalar.calendar import CLOCK, DAY, DAYS, MONTHS, named
from privql.functions.scalar.intervals import sensible

Interval = tuple[int, int, int]

_NUMBER = r"[+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})"  # no exponent: `1e99999999` would be written out
_PARTS = re.compile(
    rf"\s*(?:(?P<sign>[+-])?(?P<hours>[0-9]{{1,9}}):(?P<minutes>[0-5]?[0-9])(?::(?P<seconds>[0-5]?[0-9](?:\.[0-9]{{1,6}})?))?"
    rf"|(?P<back>[+-])?(?P<years>[0-9]{{1,6}})-(?P<months>[0-9]|1[01])"
    rf"|(?P<amount>{_NUMBER})\s*(?P<unit>[A-Za-z]+))(?![\w.:-])",
    re.ASCII,
)
_ISO = re.compile(rf"P(?:({_NUMBER})Y)?(?:({_NUMBER})M)?(?:({_NUMBER})W)?(?:({_NUMBER})D)?"
                  rf"(?:T(?=.)(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER})S)?)?", re.ASCII)  # fmt: skip
_ISO_UNITS = ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


def read(text: str, unit: str | None, span: Span) -> Interval:
    parts = _iso(text) or _listed(text) if unit is None else [(text.strip(), unit)]
    total = (0, 0, 0)
    for amount, of in parts or ():
        part = _length(amount, named(of))
        if part is None:
            raise _unread(f"{amount} {of}", span)
        total = (total[0] + part[0], total[1] + part[1], total[2] + part[2])
    if not parts:
        raise _unread(text, span)
    if not sensible(total):
        raise refuse("PQL0302", "this INTERVAL is longer than the calendar", span, help="write a shorter one")
    return total


def _listed(text: str) -> list[tuple[str, str]]:
    """PostgreSQL's: amounts with units, years-months and a clock, one after the other; `ago` turns all around."""
    words = re.sub(r"\s+ago\s*$", "", text, flags=re.IGNORECASE)
    parts: list[tuple[str, str]] = []
    at = 0
    while words[at:].strip():
        found = _PARTS.match(words, at)
        if found is None:
            return []
        at = found.end()
        if found["hours"]:
            sign = found["sign"] or ""
            parts += [(sign + found["hours"], "HOUR"), (sign + found["minutes"], "MINUTE")]
            parts += [(sign + (found["seconds"] or "0"), "SECOND")]
        elif found["years"]:
            parts += [((found["back"] or "") + found[part], part) for part in ("years", "months")]
        else:
            parts.append((found["amount"], found["unit"]))
    return [(_negative(amount), unit) for amount, unit in parts] if words != text else parts


def _negative(amount: str) -> str:
    return amount[1:] if amount[0] == "-" else "-" + amount.removeprefix("+")


def _iso(text: str) -> list[tuple[str, str]]:
    """ISO 8601's: `P1Y2M3DT4H5M6S`."""
    found = _ISO.fullmatch(text.strip().upper())
    return [(n, unit) for n, unit in zip(found.groups(), _ISO_UNITS, strict=True) if n] if found else []


def _length(text: str, unit: str) -> Interval | None:
    """A whole number of months, days or microseconds; a part of a day is so many hours."""
    amount = Fraction(text) if re.fullmatch(_NUMBER, text, re.ASCII) else None
    if amount is None:
        return None
    if unit in MONTHS:
        months = amount * MONTHS[unit]
        return (int(months), 0, 0) if months.denominator == 1 else None
    if unit in DAYS and (days := amount * DAYS[unit]).denominator == 1:
        return 0, int(days), 0
    size = DAYS[unit] * DAY if unit in DAYS else CLOCK.get(unit)
    micros = None if size is None else amount * size
    return (0, 0, int(micros)) if micros is not None and micros.denominator == 1 else None


def _unread(text: str, span: Span) -> PrivQLError:
    shown = text if len(text) <= 40 else text[:40] + "…"
    return refuse(
        "PQL0302",
        f"`{shown}` is not an INTERVAL",
        span,
        why="an INTERVAL is made of whole months, days and microseconds",
        help="write INTERVAL '1 year 3 days', or INTERVAL '3' DAY",
    )
