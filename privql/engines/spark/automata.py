"""Whether a pattern occurs, asked of a deterministic automaton: a table that Spark walks through by the characters.

It takes some 100 ns a character where Java's search takes 5, and no text takes it longer than its length says. The
automaton is the one of `privql.functions.scalar.search`, from a text's last character to its first.
"""

from __future__ import annotations

from collections.abc import Sequence

from privql.engines.interface import EngineError
from privql.engines.spark.expressions import text
from privql.frozen import frozen
from privql.functions.scalar.building import HALVES
from privql.functions.scalar.characters import LAST
from privql.functions.scalar.patterns import Pattern
from privql.functions.scalar.search import Search

_MOST = 4096  # entries of the table
_FOUND = 0  # the state in which nothing matters any more
START = 1


@frozen
class Automaton:
    ends: tuple[int, ...]  # characters between two of these are not told apart
    states: tuple[tuple[int, ...], ...]  # the next state, by which of those a character is
    found: tuple[bool, ...]  # whether a match has begun, at the first character of all


def automaton(pattern: Pattern) -> Automaton:
    search = Search(pattern.part, pattern.groups)
    ends = tuple(end for end in search.ends if end <= LAST)
    if any(end in HALVES for end in ends):
        raise EngineError("unsupported")
    numbers = {(0, -1): START}
    todo = list(numbers)
    states, found = [(_FOUND,) * (len(ends) + 1)], [True]
    for reached, letter in todo:  # which grows
        row = []
        for before in range(len(ends) + 1):
            after = search.reached(reached, letter, before)
            if after >> search.start & 1:
                row.append(_FOUND)
                continue
            if (after, before) not in numbers:
                numbers[after, before] = len(numbers) + 1
                todo.append((after, before))
            row.append(numbers[after, before])
        if len(numbers) * len(row) > _MOST:
            raise EngineError("unsupported")
        states.append(tuple(row))
        found.append(bool(search.reached(reached, letter, -1) >> search.start & 1))
    return Automaton(ends, tuple(states), tuple(found))


def occurs(x: str, pattern: Pattern, names: tuple[str, str]) -> str:
    """`x` is written once; the names are for the state and for the character that is read in it."""
    made = automaton(pattern)
    state, character = names
    table = ", ".join(str(number) for row in made.states for number in row)
    found = ", ".join("TRUE" if each else "FALSE" for each in made.found)
    step = f"array({table})[{state} * {len(made.ends) + 1} + {_letter(character, made.ends, 0, len(made.ends))}]"
    walked = f"({state}, {character}) -> CASE WHEN {character} = '' THEN {state} ELSE {step} END"
    return f"aggregate(split(reverse({x}), ''), {START}, {walked}, {state} -> array({found})[{state}])"


def _letter(character: str, ends: Sequence[int], first: int, last: int) -> str:
    """How many of the ends are not above it, by halving."""
    if first == last:
        return str(first)
    middle = (first + last) // 2
    above = _letter(character, ends, middle + 1, last)
    if ends[middle] == 0:
        return above
    below = _letter(character, ends, first, middle)
    return f"CASE WHEN {character} < {text(chr(ends[middle]))} THEN {below} ELSE {above} END"
