"""How a date is spelled: the `%` codes of STRFTIME and the patterns of TO_CHAR, both read into the same pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from privql.frozen import frozen
from privql.functions.scalar.dates import field_of
from privql.kernel.scalars import TIMESTAMP

MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


@frozen
class Piece:
    """A part of a date: `field` as EXTRACT has it, written in so many digits or as one of these names."""

    field: str
    digits: int = 1  # at least so many
    of: int = 0  # the last so many digits alone, if not 0
    names: tuple[str, ...] = ()  # in the field's order


Format = tuple[Piece | str, ...]  # a text stands for itself


def _names(field: str, names: tuple[str, ...]) -> Piece:
    return Piece(field, names=names)


def _short(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name[:3] for name in names)


def _padded(name: str) -> str:
    return name.ljust(9)


_YEAR, _MONTH, _DAY = Piece("YEAR", 4), Piece("MONTH", 2), Piece("DAY", 2)
_HOUR, _MINUTE, _SECOND = Piece("HOUR", 2), Piece("MINUTE", 2), Piece("SECOND", 2)
_CODES: Mapping[str, Format] = {
    "%Y": (_YEAR,), "%y": (Piece("YEAR", 2, 2),), "%m": (_MONTH,), "%-m": (Piece("MONTH"),), "%d": (_DAY,),
    "%-d": (Piece("DAY"),), "%j": (Piece("DOY", 3),), "%H": (_HOUR,), "%-H": (Piece("HOUR"),), "%M": (_MINUTE,),
    "%S": (_SECOND,), "%f": (Piece("MICROSECOND", 6, 6),), "%B": (_names("MONTH", MONTH_NAMES),),
    "%b": (_names("MONTH", _short(MONTH_NAMES)),), "%A": (_names("DOW", DAY_NAMES),),
    "%a": (_names("DOW", _short(DAY_NAMES)),), "%u": (Piece("ISODOW"),), "%w": (Piece("DOW"),),
    "%G": (Piece("ISOYEAR", 4),), "%V": (Piece("WEEK", 2),), "%F": (_YEAR, "-", _MONTH, "-", _DAY),
    "%T": (_HOUR, ":", _MINUTE, ":", _SECOND), "%%": ("%",),
}  # fmt: skip
_PATTERNS: Mapping[str, Piece] = {
    "YYYY": _YEAR, "YY": Piece("YEAR", 2, 2), "Q": Piece("QUARTER"), "MM": _MONTH, "FMMM": Piece("MONTH"), "DD": _DAY,
    "FMDD": Piece("DAY"), "DDD": Piece("DOY", 3), "HH24": _HOUR, "FMHH24": Piece("HOUR"), "MI": _MINUTE, "SS": _SECOND,
    "US": Piece("MICROSECOND", 6, 6), "IYYY": Piece("ISOYEAR", 4), "IW": Piece("WEEK", 2), "ID": Piece("ISODOW"),
    **{
        prefix + spelled(name): _names(field, tuple(spelled(pad(n)) for n in names))
        for name, field, names in (("Month", "MONTH", MONTH_NAMES), ("Day", "DOW", DAY_NAMES))
        for spelled in (str.upper, str.lower, str)
        for prefix, pad in (("FM", str), ("", _padded))
    },
    **{
        spelled(name): _names(field, tuple(map(spelled, _short(names))))
        for name, field, names in (("Mon", "MONTH", MONTH_NAMES), ("Dy", "DOW", DAY_NAMES))
        for spelled in (str.upper, str.lower, str)
    },
}  # fmt: skip
_CODE = re.compile(r"%-?.|[^%]+", re.DOTALL)
_PATTERN = re.compile("|".join(sorted(_PATTERNS, key=len, reverse=True)) + r'|"[^"]*"|[^A-Za-z"]+', re.DOTALL)
CODES, PATTERNS = tuple(_CODES), tuple(_PATTERNS)


def codes(format: str) -> Format | None:
    """STRFTIME's; None if it holds a code that is not known."""
    return _read(_CODE, lambda part: _CODES.get(part) if part.startswith("%") else (part,), format)


def patterns(format: str) -> Format | None:
    """TO_CHAR's; letters that are no pattern stand in double quotes."""
    return _read(_PATTERN, lambda part: (_PATTERNS[part] if part in _PATTERNS else part.strip('"'),), format)


def _read(parts: re.Pattern[str], meant: Callable[[str], Format | None], format: str) -> Format | None:
    made: list[Piece | str] = []
    at = 0
    while at < len(format):
        found = parts.match(format, at)
        pieces = None if found is None else meant(found.group())
        if found is None or pieces is None:
            return None
        made += pieces
        at = found.end()
    return tuple(made)


def written(format: Format, moment: int) -> str | None:
    parts = []
    for piece in format:
        if isinstance(piece, str):
            parts.append(piece)
            continue
        value = field_of(TIMESTAMP, piece.field, moment)
        if value is None:
            return None
        number = int(value)
        if piece.names:
            parts.append(piece.names[number - (piece.field == "MONTH")])
        else:
            parts.append(str(number % 10**piece.of if piece.of else number).rjust(piece.digits, "0"))
    return "".join(parts)
