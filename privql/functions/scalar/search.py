"""Searching a text for a pattern, in time linear in both, as engines without backtracking do.

From the last character to the first, the states from which a match can still be completed are found: at each place a
set, which depends on the next set and the next character alone. Then the match is walked from its start, taking at
every fork the first branch that completes it. What is found is what backtracking finds first: the leftmost match, of
alternatives the first, of repetitions the longest (or the shortest, if lazy).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import assert_never

from privql.frozen import frozen
from privql.functions.scalar.characters import WORD, Ranges
from privql.functions.scalar.patterns import Choice, Group, One, Part, Place, Repeat, Row, pattern

Found = tuple[tuple[int, int] | None, ...]  # where the match lies, and each of its groups that took part


@frozen
class _Take:
    ranges: Ranges
    then: int


@frozen
class _Fork:
    first: int
    second: int


@frozen
class _Mark:
    slot: int
    then: int


@frozen
class _At:
    kind: str
    then: int


_State = _Take | _Fork | _Mark | _At | None  # None is the end of the match


class Search:
    """A pattern made ready to search with."""

    def __init__(self, part: Part, groups: int) -> None:
        self._states: list[_State] = [None]
        self._slots = 2 * groups + 2
        self.start = self._enter(Group(part, 0), 0)
        self._free = self._in_order()  # states that take no character, each after those it leads to
        takes = [state for state in self._states if isinstance(state, _Take)]
        self._placed = any(isinstance(state, _At) for state in self._states)
        ends = {end for take in takes for low, high in take.ranges for end in (low, high + 1)}
        self.ends = sorted(ends | {end for low, high in WORD for end in (low, high + 1)})
        self._letters: dict[str, int] = {}
        self._known: dict[int, dict[int | tuple[int, int], int]] = {}
        self._size = 0  # of what is known

    def occurs(self, text: str) -> bool:
        return any(reached >> self.start & 1 for reached in set(self._backward(text)))

    def found(self, text: str) -> Iterator[Found]:
        """The matches from left to right, apart from each other; after an empty one there are no more."""
        reached = self._backward(text)[::-1]
        at, start = 0, 1 << self.start
        while at <= len(text):
            if not reached[at] & start:
                at += 1
                continue
            match = self._walk(text, at, reached)
            yield match
            assert match[0] is not None
            if match[0][0] == match[0][1]:
                return
            at = match[0][1]

    # ---- from the pattern to states

    def _add(self, state: _State) -> int:
        self._states.append(state)
        return len(self._states) - 1

    def _enter(self, part: Part, then: int) -> int:
        """The state from which a part is matched, and `then` what follows it."""
        match part:
            case One(ranges=ranges):
                return self._add(_Take(ranges, then))
            case Place(kind=kind):
                return self._add(_At(kind, then))
            case Row(parts=parts):
                for each in reversed(parts):
                    then = self._enter(each, then)
                return then
            case Choice(options=options):
                entries = [self._enter(option, then) for option in options]
                chosen = entries.pop()
                while entries:
                    chosen = self._add(_Fork(entries.pop(), chosen))
                return chosen
            case Group(part=inner, number=number):
                entry = self._enter(inner, self._add(_Mark(2 * number + 1, then)))
                return self._add(_Mark(2 * number, entry))
            case Repeat():
                return self._repeat(part, then)
            case _:
                assert_never(part)

    def _repeat(self, part: Repeat, then: int) -> int:
        least, entry = part.least, then
        if part.most is None:
            loop = self._add(None)
            body = self._enter(part.part, loop)
            self._states[loop] = self._fork(body, then, part.lazy)
            entry, least = (body, least - 1) if least else (loop, 0)
        else:
            for _ in range(part.most - least):
                entry = self._add(self._fork(self._enter(part.part, entry), then, part.lazy))
        for _ in range(least):
            entry = self._enter(part.part, entry)
        return entry

    def _fork(self, body: int, then: int, lazy: bool) -> _Fork:
        return _Fork(then, body) if lazy else _Fork(body, then)

    def _in_order(self) -> list[tuple[int, _Fork | _Mark | _At]]:
        """Nothing that may be empty is repeated, so states that take no character lead to each other without a loop."""
        done: set[int] = set()
        order: list[tuple[int, _Fork | _Mark | _At]] = []
        todo = [(at, False) for at in range(len(self._states))]
        while todo:
            at, ready = todo.pop()
            state = self._states[at]
            if at in done or state is None or isinstance(state, _Take):
                continue
            if ready:
                done.add(at)
                order.append((at, state))
                continue
            todo.append((at, True))
            leads_to = (state.second, state.first) if isinstance(state, _Fork) else (state.then,)
            todo += [(next, False) for next in leads_to]
        return order

    # ---- over a text

    def _letters_of(self, text: str) -> list[int]:
        """Characters that no set tells apart have the same number."""
        for character in set(text) - self._letters.keys():
            self._letters[character] = bisect_right(self.ends, ord(character))
        return list(map(self._letters.__getitem__, text))

    def _backward(self, text: str) -> list[int]:
        """At each place from the end to the start, the states (bits of a number) that complete a match from there."""
        if self._size > 10_000:
            self._known.clear()
            self._size = 0
        after = [-1, *reversed(self._letters_of(text))]
        around = list(zip(after, [*after[1:], -1], strict=True)) if self._placed else after
        known, reached, out = self._known, 0, []
        for each in around:
            leads = known.get(reached)
            if leads is None:
                leads = known[reached] = {}
            found = leads.get(each)
            if found is None:
                letter, before = each if isinstance(each, tuple) else (each, -1)
                found = leads[each] = self.reached(reached, letter, before)
                self._size += 1
            out.append(found)
            reached = found
        return out

    def reached(self, after: int, letter: int, before: int) -> int:
        """`letter` stands after the place and `before` before it; -1 for none."""
        reached = 1
        for at, state in enumerate(self._states):
            if isinstance(state, _Take) and after >> state.then & 1 and self._holds(state.ranges, letter):
                reached |= 1 << at
        boundary = self._holds(WORD, letter) != self._holds(WORD, before)
        there = {"start": before == -1, "end": letter == -1, "boundary": boundary}
        for at, free in self._free:
            match free:
                case _Fork(first=first, second=second):
                    leads = bool((reached >> first | reached >> second) & 1)
                case _Mark(then=then):
                    leads = bool(reached >> then & 1)
                case _At(kind=kind, then=then):
                    leads = there[kind] and bool(reached >> then & 1)
                case _:
                    assert_never(free)
            if leads:
                reached |= 1 << at
        return reached

    def _holds(self, ranges: Ranges, letter: int) -> bool:
        if letter <= 0:  # none, or one before all that are named
            return False
        example = self.ends[letter - 1]
        return any(low <= example <= high for low, high in ranges)

    def _walk(self, text: str, at: int, reached: list[int]) -> Found:
        marks = [-1] * self._slots
        current = self.start
        while (state := self._states[current]) is not None:
            match state:
                case _Take(then=then):
                    at, current = at + 1, then
                case _Fork(first=first, second=second):
                    current = first if reached[at] >> first & 1 else second
                case _Mark(slot=slot, then=then):
                    marks[slot], current = at, then
                case _At(then=then):
                    current = then
                case _:
                    assert_never(state)
        pairs = zip(marks[::2], marks[1::2], strict=True)
        return tuple(pair if -1 not in pair else None for pair in pairs)


@lru_cache(maxsize=64)
def search(text: str, fold: bool = False) -> Search:
    """The search for a pattern. Raises NoPattern."""
    read = pattern(text, fold)
    return Search(read.part, read.groups)
