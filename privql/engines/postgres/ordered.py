"""Patterns whose match is the one that backtracking finds first, for a search that looks for the longest.

PostgreSQL begins a match where ours begins, but ends it as far on as it can, whatever the alternatives' order and
however lazy a repetition. So each choice is written with what decides it: an alternative is taken where no earlier one
leads to a match (`(?!…)` of that and all that follows), a repetition ends where it cannot go on (or, if lazy, goes on
where it cannot end). Then there is one way to match, and the longest is that one. Where the next character tells, as in
most patterns, nothing need be added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from privql.engines.interface import EngineError
from privql.functions.scalar.characters import LAST, WORD, Ranges, united
from privql.functions.scalar.patterns import Choice, Group, One, Part, Place, Repeat, Row, may_be_empty

MOST = 40_000  # characters of a pattern as it is written here: the server compiles it once a query
_MOST_COUNTED = 255  # of a repetition, here
_BOUNDARY = "(?:(?<={w})(?!{w})|(?<!{w})(?={w}))"
Parts = tuple[Part, ...]


# ---- as it stands: whether there is a match at all


def written(part: Part) -> str:
    """A part of a pattern in the server's own syntax, without groups to remember."""
    match part:
        case One(ranges=ranges):
            return _characters(ranges)
        case Place(kind="start"):
            return r"\A"
        case Place(kind="end"):
            return r"\Z"
        case Place():
            return _BOUNDARY.format(w=_characters(WORD))
        case Row(parts=parts):
            return "".join(map(_enclosed, parts))
        case Choice(options=options):
            return "|".join(map(written, options))
        case Group(part=inner):
            return f"(?:{written(inner)})"
        case Repeat(part=inner, least=least, most=most):
            return _counted(f"(?:{written(inner)})", least, most)
        case _:
            assert_never(part)


def _enclosed(part: Part) -> str:
    return f"(?:{written(part)})" if isinstance(part, Choice) else written(part)


def _counted(body: str, least: int, most: int | None) -> str:
    """Repeated so often; more than the server counts to is a count of counts."""
    if most is None:
        if least <= 1:
            return body + "*+"[least]
        if least <= _MOST_COUNTED:
            return f"{body}{{{least},}}"
        return _counted(body, least, least) + f"{body}*"
    if most <= _MOST_COUNTED:
        return f"{body}{{{least}}}" if least == most else f"{body}{{{least},{most}}}"
    at_once = min(least, _MOST_COUNTED) if least else 0
    return f"{body}{{{at_once},{_MOST_COUNTED}}}" + _counted(body, max(least - _MOST_COUNTED, 0), most - _MOST_COUNTED)


def _characters(ranges: Ranges) -> str:
    if ranges == ((0, LAST),):
        return "."
    (low, high), *more = ranges
    if low == high and not more and low:
        return _character(low)
    kept = [(max(low, 1), high) for low, high in ranges if high]  # no text here holds a character 0
    if not kept:
        return r"(?!.)."
    return "[" + "".join(f"{_character(low)}-{_character(high)}" for low, high in kept) + "]"


def _character(point: int) -> str:
    character = chr(point)
    return character if character.isascii() and character.isalnum() else f"\\U{point:08x}"


# ---- with what decides each choice


class Ordered:
    """A pattern written so; `remembered` holds, for each group that is wanted, the places where it is remembered."""

    def __init__(self, part: Part, wanted: frozenset[int]) -> None:
        self._wanted = wanted
        self._size = 0
        self._count = 0
        self.remembered: dict[int, list[int]] = {number: [] for number in wanted}
        self._decided = False  # whether anything had to be added
        self.text = self._part(part, (), False)

    def _note(self, text: str) -> str:
        self._size += len(text)
        if self._size > 8 * MOST:
            raise EngineError("unsupported")
        return text

    def _unless(self, parts: Parts) -> str:
        self._decided = True
        return self._note(f"(?!{''.join(map(_enclosed, parts))})")

    def _part(self, part: Part, rest: Parts, again: bool) -> str:
        """`again`: inside a repetition that is written once, so that a group is remembered from its last turn."""
        match part:
            case One() | Place():
                return self._note(written(part))
            case Row(parts=parts):
                return "".join(self._part(each, (*parts[at + 1 :], *rest), again) for at, each in enumerate(parts))
            case Choice(options=options):
                return self._choice(options, rest, again)
            case Group(part=inner, number=number):
                opening = "(?:"
                if number in self._wanted:
                    opening = "("
                    self._count += 1
                    self.remembered[number].append(self._count)
                return f"{opening}{self._part(inner, rest, again)})"
            case Repeat():
                return self._repeat(part, rest, again)
            case _:
                assert_never(part)

    def _choice(self, options: Parts, rest: Parts, again: bool) -> str:
        if again and any(self._remembers(option) for option in options):
            raise EngineError("unsupported")  # a turn that takes no part in a group forgets it here, and nowhere else
        taken, unless = [], []
        for at, option in enumerate(options):
            taken.append(self._part(option, rest, again))
            later = ((other, *rest) for other in options[at + 1 :])
            told = all(_told_apart((option, *rest), other) for other in later)
            unless.append("" if told else self._unless((option, *rest)))
        chosen = taken.pop()
        for option_taken, no in zip(reversed(taken), reversed(unless[:-1]), strict=True):
            chosen = f"{option_taken}|{no}(?:{chosen})" if no else f"{option_taken}|{chosen}"
        return f"(?:{chosen})"

    def _remembers(self, part: Part) -> bool:
        match part:
            case One() | Place():
                return False
            case Row(parts=parts) | Choice(options=parts):
                return any(map(self._remembers, parts))
            case Repeat(part=inner):
                return self._remembers(inner)
            case Group(part=inner, number=number):
                return number in self._wanted or self._remembers(inner)
            case _:
                assert_never(part)

    def _repeat(self, part: Repeat, rest: Parts, again: bool) -> str:
        if again and part.least == 0 and self._remembers(part.part):
            raise EngineError("unsupported")
        if part.lazy and not rest:  # nothing follows: it ends as soon as it may
            part = replace(part, most=part.least, lazy=False)
            if part.most == 0:
                return ""
        once = self._at_once(part, rest)
        if once is not None:
            return once
        body, least = part.part, part.least
        made = []
        for done in range(least):
            left = _fewer(part, done + 1)
            made.append(self._part(body, (*left, *rest), again))
        if part.most is None:
            loop = replace(part, least=0)
            go_on = self._unless(rest) if part.lazy else ""
            inner = self._part(body, (loop, *rest), True)
            ends = "" if part.lazy or not rest else self._unless((body, loop, *rest))
            return f"{''.join(made)}(?:{go_on}{inner})*{ends}"
        opened = 0
        for turn in range(part.most - least):
            left = _fewer(replace(part, least=0, most=part.most - least), turn + 1)
            here = (body, *left, *rest)
            ends = "" if part.lazy else self._unless(here)
            go_on = self._unless(rest) if part.lazy else ""
            made.append(f"(?:{ends}|{go_on}{self._part(body, (*left, *rest), again)}")
            opened += 1
        return "".join(made) + ")" * opened

    def _at_once(self, part: Repeat, rest: Parts) -> str | None:
        """Written as a repetition, if nothing inside needs deciding, and either the next character tells whether it
        goes on, or it goes on as long as it can and nothing follows."""
        body = part.part
        forced = part.least == part.most or _told_apart((body,), rest) or (not rest and not part.lazy)
        if not forced:
            return None
        if part.most not in (None, 1) and part.most > _MOST_COUNTED and self._remembers(body):
            return None
        inner = Ordered.__new__(Ordered)
        inner.__dict__.update(self.__dict__, remembered={n: list(p) for n, p in self.remembered.items()})
        inner._decided = False
        several = part.most != 1
        loop = replace(part, least=0, most=None)
        after = (loop, *rest) if several else rest
        try:
            text = inner._part(body, after, several)
        except EngineError:
            return None  # turn by turn there may be a way
        if inner._decided:
            return None
        self._size, self._count, self.remembered = inner._size, inner._count, inner.remembered
        return _counted(f"(?:{text})", part.least, part.most)


def _fewer(part: Repeat, done: int) -> Parts:
    """What is left of a repetition after so many turns."""
    least, most = max(part.least - done, 0), None if part.most is None else part.most - done
    return () if most == 0 else (replace(part, least=least, most=most),)


def _told_apart(one: Parts, other: Parts) -> bool:
    """Whether what one begins with, the other never does."""
    if all(map(may_be_empty, one)) or all(map(may_be_empty, other)):
        return False
    first, second = united(_first(one)), united(_first(other))
    return not any(low <= end and start <= high for low, high in first for start, end in second)


def _first(parts: Parts) -> list[tuple[int, int]]:
    """The characters that parts, one after another, may begin with."""
    found: list[tuple[int, int]] = []
    for part in parts:
        match part:
            case One(ranges=ranges):
                found += ranges
            case Place():
                pass
            case Row(parts=inner):
                found += _first(inner)
            case Choice(options=options):
                found += [pair for option in options for pair in _first((option,))]
            case Group(part=body) | Repeat(part=body):
                found += _first((body,))
            case _:
                assert_never(part)
        if not may_be_empty(part):
            break
    return found
