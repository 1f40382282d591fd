"""Why an operation on dates, times and INTERVALs cannot be: in the words of the calendar."""

from __future__ import annotations

from collections.abc import Sequence

from privql.check.typed import Typed
from privql.diagnostics import PrivQLError, Span, refuse
from privql.functions.scalar.calendar import CLOCK, DATE_FIELDS, DATE_UNITS
from privql.functions.scalar.formats import CODES, PATTERNS

_TIMES = ("DATE", "TIMESTAMP")


def misfit(op: str, args: Sequence[Typed], span: Span) -> PrivQLError | None:
    kinds = [arg.type.kind for arg in args]
    match op, kinds:
        case "extract", ["TEXT", "DATE" | "TIMESTAMP"]:
            return _no_part(args, DATE_FIELDS, span)
        case "date_trunc", ["TEXT", "DATE" | "TIMESTAMP"]:
            return _no_part(args, DATE_UNITS, span)
        case "date_diff" | "whole_units", ["TEXT", "DATE" | "TIMESTAMP" | "NULL", "DATE" | "TIMESTAMP" | "NULL"]:
            return _no_unit(args, span)
        case "sub", ["DATE" | "TIMESTAMP", "DATE" | "TIMESTAMP"]:
            return refuse(
                "PQL0301",
                "a TIMESTAMP is not subtracted",
                span,
                why="the time between two moments is no value by itself: it needs a unit",
                help="write `DATE_DIFF('second', b, a)`, or another unit",
            )
        case (("date_sub" | "date_add"), ["TEXT", *_]):
            return refuse(
                "PQL0301",
                f"`{op.upper()}` takes a date first, and what it is moved by",
                span,
                help="write `d + INTERVAL '1 month'`; between two dates lie `DATESUB('month', a, b)` whole months",
            )
        case (("strftime" | "to_char"), ["DATE" | "TIMESTAMP", "TEXT"]):
            return _no_format(args[1], CODES if op == "strftime" else PATTERNS)
        case (("strptime" | "to_timestamp" | "to_date"), ["TEXT", "TEXT"]):
            return refuse(
                "PQL0308",
                f"dates are not read in the format `{args[1].text}`",
                args[1].span,
                why="it says the year in four digits, and goes down from it without a gap",
                help=f"write `'{'%d.%m.%Y' if op == 'strptime' else 'DD.MM.YYYY'}'`, for one",
            )
        case "time_bucket", ["INTERVAL", *rest] if set(rest) <= {*_TIMES, "NULL"}:
            return refuse(
                "PQL0308",
                "this is no width of a stretch of time",
                span,
                why="a width is more than nothing, and either of months or of days and time: months differ in length",
                help="write INTERVAL '3 months', '2 weeks' or '90 minutes'",
            )
        case "add" | "sub" | "mul" | "neg", _ if "INTERVAL" in kinds:
            return _of_interval(args, span)
        case _:
            return None


def _no_part(args: Sequence[Typed], days: Sequence[str], span: Span) -> PrivQLError:
    known = (*days, *CLOCK) if args[1].type.kind == "TIMESTAMP" else days
    return refuse(
        "PQL0308",
        f"`{args[0].text}` is no part of a {args[1].type}",
        span,
        help=f"write one of {', '.join(known)}",
    )


def _no_unit(args: Sequence[Typed], span: Span) -> PrivQLError:
    return refuse(
        "PQL0308",
        f"`{args[0].text}` is no unit of time",
        span,
        help=f"write one of {', '.join((*DATE_UNITS, *CLOCK))}",
    )


def _no_format(format: Typed, known: Sequence[str]) -> PrivQLError:
    return refuse(
        "PQL0308",
        f"dates are not written in the format `{format.text}`",
        format.span,
        help=f"make it of {' '.join(known)}",
    )


def _of_interval(args: Sequence[Typed], span: Span) -> PrivQLError:
    if all(arg.constant for arg in args) and any(arg.type.kind in ("INT", "INTERVAL") for arg in args):
        return refuse(
            "PQL0302",
            "an INTERVAL is added to a DATE or a TIMESTAMP, or multiplied by a whole number",
            span,
            why="and it is no longer than the calendar",
            help="write `d + INTERVAL '3 months'` or `2 * INTERVAL '1 day'`",
        )
    return refuse(
        "PQL0301",
        "an INTERVAL is a constant, added to a DATE or a TIMESTAMP",
        span,
        why="a length of time that differs from row to row is no value here",
        help="`d + n` adds n days to a DATE",
    )
