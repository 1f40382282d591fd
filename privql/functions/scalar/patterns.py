"""Regular expressions that mean the same everywhere: what is accepted, and what each part of one is.

Accepted is what every engine in linear time reads alike. Classes and escapes become explicit sets of code points, and
what differs from dialect to dialect is refused: references back, looking around, possessive repetition, flags inside,
and repetition of what may be empty, whose turns no two engines count alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from privql.frozen import frozen
from privql.functions.scalar.characters import CONTROLS, ESCAPED, LAST, NAMED, Ranges, folded, of, others, united

MOST_CHARACTERS = 1000  # of a pattern; and positions of one when its repetitions are written out
_MOST_NESTED = 40
_COUNT = re.compile(r"\{([0-9]{1,4})(,([0-9]{1,4})?)?\}")
_ESCAPES = " ".join(f"\\{letter}" for letter in (*ESCAPED, "b", *CONTROLS))


class NoPattern(ValueError):
    """What is wrong with a pattern, as a person reads it."""


@frozen
class One:
    """One character out of a set."""

    ranges: Ranges


@frozen
class Place:
    """A place between characters."""

    kind: Literal["start", "end", "boundary"]


@frozen
class Row:
    """One after another."""

    parts: tuple[Part, ...]


@frozen
class Choice:
    """The first that leads to a match."""

    options: tuple[Part, ...]


@frozen
class Repeat:
    part: Part
    least: int
    most: int | None
    lazy: bool


@frozen
class Group:
    part: Part
    number: int


Part = One | Place | Row | Choice | Repeat | Group


@frozen
class Pattern:
    part: Part
    groups: int


@lru_cache(maxsize=256)
def pattern(text: str, fold: bool = False) -> Pattern:
    """What a pattern means; with `fold`, A to Z are taken for a to z. Raises NoPattern."""
    return _Reader(text, fold).pattern()


def may_be_empty(part: Part) -> bool:
    match part:
        case One():
            return False
        case Place():
            return True
        case Row(parts=parts):
            return all(map(may_be_empty, parts))
        case Choice(options=options):
            return any(map(may_be_empty, options))
        case Repeat(least=least):
            return least == 0
        case Group(part=inner):
            return may_be_empty(inner)


def size(part: Part) -> int:
    """How many characters a pattern names when its repetitions are written out."""
    match part:
        case One():
            return 1
        case Place():
            return 0
        case Row(parts=parts) | Choice(options=parts):
            return sum(map(size, parts))
        case Repeat(part=inner, least=least, most=most):
            return size(inner) * (most or max(least, 1))
        case Group(part=inner):
            return size(inner)


class _Reader:
    def __init__(self, text: str, fold: bool) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.nested = 0
        self.fold: Callable[[Ranges], Ranges] = folded if fold else lambda ranges: ranges

    def pattern(self) -> Pattern:
        if len(self.text) > MOST_CHARACTERS:
            raise NoPattern(f"it has more than {MOST_CHARACTERS} characters")
        part = self.choice()
        if self.at < len(self.text):
            raise NoPattern(r"`)` closes nothing; the character itself is `\)`")
        if size(part) > MOST_CHARACTERS:
            raise NoPattern(f"written out, its repetitions have more than {MOST_CHARACTERS} characters")
        return Pattern(part, self.groups)

    def next(self, *wanted: str) -> str | None:
        """The one of these that comes next, taken."""
        for sign in wanted:
            if self.text.startswith(sign, self.at):
                self.at += len(sign)
                return sign
        return None

    def take(self, inside: str) -> str:
        if self.at >= len(self.text):
            raise NoPattern(f"{inside} never ends")
        self.at += 1
        return self.text[self.at - 1]

    def choice(self) -> Part:
        options = [self.row()]
        while self.next("|"):
            options.append(self.row())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def row(self) -> Part:
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self.repeated(self.atom()))
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def repeated(self, part: Part) -> Part:
        sign = self.next("*", "+", "?")
        if sign is not None:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            count = _COUNT.match(self.text, self.at)
            if count is None:
                return part
            self.at = count.end()
            least = int(count[1])
            most = least if count[2] is None else None if count[3] is None else int(count[3])
            if most is not None and not least <= most > 0:
                raise NoPattern(f"`{count[0]}` repeats nothing")
        lazy = self.next("?") is not None
        if self.next("*", "+", "?") or _COUNT.match(self.text, self.at):
            raise NoPattern("a repetition is repeated: put the first in parentheses")
        if may_be_empty(part):
            raise NoPattern("it repeats something that may be empty")
        return Repeat(part, least, most, lazy)

    def atom(self) -> Part:
        character = self.take("it")
        match character:
            case "(":
                return self.group()
            case "[":
                return One(self.listed())
            case ".":
                return One(((0, LAST),))
            case "^":
                return Place("start")
            case "$":
                return Place("end")
            case "\\" if self.next("b"):
                return Place("boundary")
            case "\\":
                return One(self.escaped())
            case "*" | "+" | "?":
                raise NoPattern(f"`{character}` repeats nothing; the character itself is `\\{character}`")
            case "{":
                raise NoPattern(r"`{` begins no count here; the character itself is `\{`")
            case _:
                return One(self.fold(of(character)))

    def group(self) -> Part:
        number = 0
        if self.next("?"):
            if not self.next(":"):
                raise NoPattern("of what begins with `(?`, only the group `(?:…)` is understood")
        else:
            self.groups += 1
            number = self.groups
        self.nested += 1
        if self.nested > _MOST_NESTED:
            raise NoPattern(f"its groups are nested more than {_MOST_NESTED} deep")
        part = self.choice()
        self.nested -= 1
        if not self.next(")"):
            raise NoPattern("`(` is never closed; the character itself is `\\(`")
        return Group(part, number) if number else part

    def escaped(self) -> Ranges:
        character = self.take("`\\`")
        if character in ESCAPED:
            return ESCAPED[character]
        if character in CONTROLS:
            return of(CONTROLS[character])
        if "1" <= character <= "9":
            raise NoPattern(f"`\\{character}` refers back to what was found, which takes more than linear time")
        if character.isalnum():
            raise NoPattern(f"`\\{character}` is not understood; there are {_ESCAPES}")
        return of(character)

    def listed(self) -> Ranges:
        """A class, after its `[`."""
        negated = self.next("^") is not None
        if self.next("]"):
            raise NoPattern(r"the class `[]` is empty; the character itself is `\]`")
        found: list[tuple[int, int]] = []
        while not self.next("]"):
            member = self.member()
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                last = self.member()
                if len(member) != 1 or len(last) != 1 or member[0][0] != member[0][1] or last[0][0] != last[0][1]:
                    raise NoPattern("a range in a class goes from one character to another; `-` itself is `\\-`")
                if member[0] > last[0]:
                    raise NoPattern("a range in a class goes backwards")
                member = ((member[0][0], last[0][0]),)
            found += member
        ranges = self.fold(united(found))
        ranges = others(ranges) if negated else ranges
        if not ranges:
            raise NoPattern("a class holds no character")
        return ranges

    def member(self) -> Ranges:
        character = self.take("the class `[`")
        if character == "\\":
            if self.next("b"):
                raise NoPattern(r"`\b` is no member of a class")
            return self.escaped()
        if character == "[":
            for name, ranges in NAMED.items():
                if self.next(f":{name}:]"):
                    return ranges
            if self.next(":", ".", "="):
                raise NoPattern(f"a named class is one of {', '.join(f'[:{name}:]' for name in NAMED)}")
        return of(character)
