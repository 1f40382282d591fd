"""Parts of a machine, by their tests' names, in short: `test[0]`, `test[1]` and `test[7]` are `0-1 7` of `test[`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby

_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]*)\]", re.DOTALL)


def shortened(parts: Iterable[str]) -> dict[str, str]:
    numbers, others = defaultdict[str, set[int]](set), dict[str, str]()
    for part in parts:
        if numbered := _NUMBERED.fullmatch(part):
            numbers[numbered[1]].add(int(numbered[2]))
        else:
            others[part] = ""
    return {before: _ranges(sorted(them)) for before, them in sorted(numbers.items())} | others


def written_out(short: Mapping[str, str]) -> list[str]:
    found = []
    for before, ranges in short.items():
        if not ranges:
            found.append(before)
        for ends in ranges.split():
            first, _, last = ends.partition("-")
            found += [f"{before}{number}]" for number in range(int(first), int(last or first) + 1)]
    return found


def _ranges(numbers: list[int]) -> str:
    written = []
    for _, run in groupby(enumerate(numbers), lambda one: one[1] - one[0]):  # neighbours keep their distance to places
        them = [number for _, number in run]
        written.append(f"{them[0]}-{them[-1]}" if len(them) > 1 else f"{them[0]}")
    return " ".join(written)
