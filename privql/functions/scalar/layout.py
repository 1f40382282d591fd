"""Text laid over text, texts put into a format, and text as bytes and digits."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from privql.functions.scalar.building import joined, taken_as_text
from privql.functions.scalar.declare import (
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    anything,
    anything_or_null,
    example,
    fixed,
    padded,
    plain,
)
from privql.functions.scalar.text import LONGEST, not_negative
from privql.kernel.scalars import INT, TEXT, Value, ValueType

_PIECE = re.compile(r"%(?:([1-9][0-9]?)\$)?s|(%%)|([^%]+)")


def _overlaid(text: str, new: str, start: int, length: int | None = None) -> str | None:
    """As PostgreSQL has it: a negative length repeats what stands before."""
    if start < 1:
        return None
    end = max(start + (len(new) if length is None else length), 1)
    parts = text[: start - 1], new, text[end - 1 :]
    return "".join(parts) if sum(map(len, parts)) <= LONGEST else None


def pieces(format: str) -> list[str | int] | None:
    """A format as texts and the numbers of arguments, counted from 1; None if it says something else."""
    found: list[str | int] = []
    at = next = 0
    while at < len(format):
        piece = _PIECE.match(format, at)
        if piece is None:
            return None
        if piece[3] or piece[2]:
            found.append(piece[3] or "%")
        else:
            next = int(piece[1]) if piece[1] else next + 1
            found.append(next)
        at = piece.end()
    return found


def _of_format(known: Constants) -> str | None:
    if not known or not isinstance(known[0], str):
        return None
    found = pieces(known[0])
    if found is None:
        return "a format has `%s` for each argument in turn, `%2$s` for the second, and `%%` for `%`"
    if any(isinstance(piece, int) and piece >= len(known) for piece in found):
        return "the format names an argument that is not given"
    return None


def _formatting(types: Types, constants: Constants) -> Resolved | None:
    if not types or types[0].kind not in ("TEXT", "NULL") or not taken_as_text(types):
        return None
    known = padded(types, constants)
    return Resolved("format", (TEXT,) * len(types), TEXT) if _of_format(known) is None else None


def _formatted(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    found = None if values[0] is None or _of_format(values) else pieces(values[0])
    if found is None:
        return None
    return joined("", [piece if isinstance(piece, str) else values[piece] or "" for piece in found])


def _hashed(algorithm: str, text: str) -> str:
    return hashlib.new(algorithm, text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


_HASH = " The same text has the same hash everywhere, so it hides nothing that can be guessed."


def _hash(op: str, digits: int) -> ScalarFunction:
    name = op.upper()
    return ScalarFunction(
        op, (name,), "function", ("TEXT -> TEXT",), fixed(op, ((TEXT,), TEXT)),
        plain(lambda text: _hashed(op, text)), anything,
        f"The {name} hash of the text's bytes in UTF-8, in {digits} hexadecimal digits." + _HASH,
        example(f"{name}('a')", "a", gives=_hashed(op, "a")),
    )  # fmt: skip


FUNCTIONS = (
    ScalarFunction(
        "overlay", ("OVERLAY",), "function", ("TEXT, TEXT, INT -> TEXT", "TEXT, TEXT, INT, INT -> TEXT"),
        fixed("overlay", ((TEXT, TEXT, INT), TEXT), ((TEXT, TEXT, INT, INT), TEXT)), plain(_overlaid),
        anything_or_null,
        "`OVERLAY(x PLACING y FROM start FOR length)`, or with commas: x, with `length` characters from position"
        " `start` made y; without a length as many as y has. NULL for a start below 1, and where the result would have"
        f" more than {LONGEST} code points.",
        example("OVERLAY('ward 7b' PLACING '12' FROM 6 FOR 1)", "ward 7b", "12", 6, 1, gives="ward 12b"),
    ),
    ScalarFunction(
        "format", ("FORMAT",), "function", ("TEXT, T, … -> TEXT (what casts to TEXT)",), _formatting, _formatted,
        anything_or_null,
        "The arguments as text, put into a constant format: `%s` is the next of them, `%2$s` the second, `%%` the sign"
        f" `%`. NULLs are empty. NULL where the result would have more than {LONGEST} code points.",
        example("FORMAT('%s/%s', 'ward', 7)", "%s/%s", "ward", 7, gives="ward/7"), strict=False, constant_args=(0,),
        objection=_of_format,
    ),
    ScalarFunction(
        "bit_length", ("BIT_LENGTH",), "function", ("TEXT -> INT",), fixed("bit_length", ((TEXT,), INT)),
        plain(lambda text: 8 * len(text.encode(errors="surrogatepass"))), not_negative,
        "How many bits in UTF-8.",
        example("BIT_LENGTH('é')", "é", gives=16),
    ),
    ScalarFunction(
        "to_hex", ("TO_HEX",), "function", ("INT -> TEXT",), fixed("to_hex", ((INT,), TEXT)),
        plain(lambda value: f"{value & 2**64 - 1:x}"), anything,
        "A number in hexadecimal digits; one below 0 as its 64 bits in two's complement.",
        example("TO_HEX(255)", 255, gives="ff"),
    ),
    _hash("md5", 32),
    _hash("sha256", 64),
)  # fmt: skip
