"""Rows of hostile values: what engines read, compare, convert and print otherwise than each other."""

from __future__ import annotations

from random import Random

from privql.conformance.pools import hostile, some_value
from privql.kernel.scalars import Value, ValueType

Row = dict[str, Value]
_LONG = 10_000  # characters

EXTRA: dict[str, tuple[Value, ...]] = {
    "TEXT": (
        "é" * 3, "e\u0301x", "\u212a", "İı", "ſt", "a\nb", "%", "_", "\\%", "'", '"; --', "x" * (1 << 20), "ab" * 1000,
        "12", "1.5", "-2.5", "0.49999999999999999", "2.5e0", "1e3", "1e-3", "0005", "+", ".5", "5.", "1e", "1 2", " 7 ",
        "\t7", "99999999.995", "123456789012345678901234567890.5", "-0.0", "1E5", "0e0", "9.9e307", "1e308", "9e18",
        "9223372036854775807", "-9223372036854775808", "-9223372036854775808.5", "0." + "3" * 500, "0" * 500 + "7",
        "2024-02-29 10:00", "2024-02-29T10:00:00.5", "2024-02-29 23:59:60", "0001-01-01 00:00:00", "2024-2-9",
        "12024-01-01", "0000-12-31", "2100-02-29", "TRUE", "Off", " y ", "1e" + "0" * 300 + "2",
    ),
    "INT": (5, -5, 4, 99, 1000, 2**62, -(2**62), 3037000500, 2**53 + 3, 10**18, -(10**18)),
    "FLOAT": (
        2.0**63, -(2.0**63), 2.0**64, 1e38, -1e38, 99999999.995, 0.005, 4503599627370497.5, 1e300, 2.0**-1022, 1 / 3,
        2.0**52 + 0.5,
    ),
}  # fmt: skip


def column(type: ValueType, rows: int, random: Random) -> list[Value]:
    """NULL, every hostile value and others, in random order. Where not all hostile ones have room: some, and none that
    takes long."""
    known: list[Value] = [None, *hostile(type), *EXTRA.get(type.kind, ())]
    if rows < len(known):
        known = [value for value in known if not isinstance(value, str) or len(value) <= _LONG]
    random.shuffle(known)
    known = known[:rows]
    more = [
        random.choice(known) if random.random() < 0.4 else some_value(type, random) for _ in range(rows - len(known))
    ]
    known += more
    random.shuffle(known)
    return known
