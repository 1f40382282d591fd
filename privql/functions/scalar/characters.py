"""Sets of characters, and what the classes and escapes of patterns name: ASCII letters, digits and blanks, no more."""

from __future__ import annotations

from collections.abc import Sequence

LAST = 0x10FFFF

Ranges = tuple[tuple[int, int], ...]  # of code points: in order, apart, both ends in


def united(ranges: Sequence[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return tuple(found)


def others(ranges: Ranges) -> Ranges:
    ends = [-1, *(end for pair in ranges for end in pair), LAST + 1]
    return tuple((low + 1, high - 1) for low, high in zip(ends[::2], ends[1::2], strict=True) if low + 1 < high)


def folded(ranges: Ranges) -> Ranges:
    more = []
    for first, last, apart in ((65, 90, 32), (97, 122, -32)):
        more += [
            (max(low, first) + apart, min(high, last) + apart) for low, high in ranges if low <= last and high >= first
        ]
    return united([*ranges, *more])


def of(*pairs: str) -> Ranges:
    return united([(ord(pair[0]), ord(pair[-1])) for pair in pairs])


_DIGIT, _SPACE = of("09"), of("\t\r", " ")
WORD = of("09", "AZ", "az", "_")
ESCAPED = {"d": _DIGIT, "s": _SPACE, "w": WORD, "D": others(_DIGIT), "S": others(_SPACE), "W": others(WORD)}
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
NAMED = {
    "alpha": of("AZ", "az"),
    "digit": _DIGIT,
    "alnum": of("09", "AZ", "az"),
    "upper": of("AZ"),
    "lower": of("az"),
    "space": _SPACE,
    "punct": of("!/", ":@", "[`", "{~"),
    "xdigit": of("09", "AF", "af"),
}
