"""A released table as people read it: `412 ± 9`, the confidence named once below."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal

MOST_ROWS = 200
_MANY = 1e15  # an error of so many says no more in all of its digits

Cell = object  # None, bool, int, float, Decimal, str, date, datetime


def text_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    halfwidths: Sequence[Sequence[float | None]] | None = None,
) -> str:
    """`halfwidths` has the shape of `rows`; None where a cell carries no noise."""
    shown = rows[:MOST_ROWS]
    cells = [
        [_cell(value, halfwidths[at][place] if halfwidths else None) for place, value in enumerate(row)]
        for at, row in enumerate(shown)
    ]
    noisy = any(tail for row in cells for _, tail in row)
    numeric = [any(_is_number(row[place]) for row in shown) for place in range(len(columns))]
    body = [_column([row[place] for row in cells], numeric[place]) for place in range(len(columns))]
    heads = [_printable(name) for name in columns]
    widths = [max([_width(head), *map(_width, column)]) for head, column in zip(heads, body, strict=True)]
    lines = [
        " | ".join(_pad(head, width, right) for head, width, right in zip(heads, widths, numeric, strict=True)),
        "-+-".join("-" * width for width in widths),
    ]
    for at in range(len(shown)):
        line = [_pad(body[place][at], widths[place], numeric[place]) for place in range(len(columns))]
        lines.append(" | ".join(line).rstrip())
    lines[0] = lines[0].rstrip()
    notes = ["± at 95%"] if noisy else []
    if len(rows) > len(shown):
        notes.append(f"{len(rows) - len(shown)} more rows are not shown")
    return "\n".join([*lines, *([f"({', '.join(notes)})"] if notes else [])])


def _is_number(value: Cell) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _cell(value: Cell, halfwidth: float | None) -> tuple[str, str]:
    """The text of a value, and of its error."""
    match value:
        case None:
            return "NULL", ""
        case bool():
            return ("true" if value else "false"), ""
        case int():
            return str(value), _error(halfwidth, 0)
        case float():
            if halfwidth is None or not 0 < halfwidth < _MANY:
                return f"{value:.6g}", _error(halfwidth, 0)
            digits = min(12, max(0, 1 - math.floor(math.log10(halfwidth))))
            return f"{value:.{digits}f}", _error(halfwidth, digits)
        case Decimal():
            exponent = value.as_tuple().exponent
            return f"{value:f}", _error(halfwidth, -exponent if isinstance(exponent, int) else 0)
        case _:
            return _printable(str(value)), ""


def _error(halfwidth: float | None, digits: int) -> str:
    """Rounded up: what is promised must hold for what is printed."""
    if halfwidth is None:
        return ""
    if halfwidth == math.inf:
        return " ± ∞"
    if halfwidth >= _MANY:
        return f" ± {Context(prec=3, rounding=ROUND_CEILING).create_decimal(halfwidth):.2e}"
    scale = 10**digits
    return f" ± {math.ceil(halfwidth * scale - 1e-9) / scale:.{digits}f}"


def _column(cells: Sequence[tuple[str, str]], right: bool) -> list[str]:
    """Values and errors of one column under each other."""
    if not right:
        return [value + tail for value, tail in cells]
    values = max((len(value) for value, _ in cells), default=0)
    tails = max((len(tail) for _, tail in cells), default=0)
    return [value.rjust(values) + tail.ljust(tails) for value, tail in cells]


def _printable(text: str) -> str:
    """A text that a terminal shows as one line and obeys in nothing."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text)


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
