"""Texts of the language's own grammar: each rule expanded at random, to a depth."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from lark.grammar import Symbol, Terminal
from lark.lexer import PatternStr

from privql.syntax import table
from tests.fuzz.pieces import NAMES, NUMBERS, PARAMS, STRINGS

_SPELLED: Mapping[str, Sequence[str]] = {
    "IDENT": NAMES,
    "QUOTED": ('"Long Name"', '"größe"', '"a""b"', '"select"'),
    "STRING": STRINGS,
    "NUMBER": NUMBERS,
    "PARAM": PARAMS,
    "_WITHIN_GROUP": ("WITHIN GROUP",),
    "COMPARISON": ("<>", "<", ">=", "!="),
    "OPERATOR": ("||", "<<", ">>", "->", "->>", "&", "|", "!~", "~*"),
    "SIGN": ("+", "-"),
}
_Rules = Mapping[str, Sequence[tuple[int, Sequence[Symbol]]]]  # of each: how deep it goes at least, and what it is


@cache
def _rules() -> tuple[_Rules, Mapping[str, Sequence[str]]]:
    lark = table.reader(table.grammar_text())
    expansions: dict[str, list[Sequence[Symbol]]] = defaultdict(list)
    for rule in lark.rules:
        expansions[str(rule.origin.name)].append(rule.expansion)
    depth: dict[str, int] = {}

    def least(expansion: Sequence[Symbol]) -> int | None:
        below = [0 if isinstance(one, Terminal) else depth.get(one.name) for one in expansion]
        return None if None in below else 1 + max((each for each in below if each is not None), default=0)

    while len(depth) < len(expansions):  # a rule that needs no others, then those that need these
        for name, found in expansions.items():
            known = [each for each in map(least, found) if each is not None]
            if known and name not in depth:
                depth[name] = min(known)
    spelled = {
        one.name: (one.pattern.value,) if isinstance(one.pattern, PatternStr) else _SPELLED[one.name]
        for one in lark.terminals
        if one.name not in lark.ignore_tokens
    }
    return {
        name: sorted(((least(one) or 0, one) for one in found), key=_need) for name, found in expansions.items()
    }, spelled


def _need(rule: tuple[int, Sequence[Symbol]]) -> int:
    return rule[0]


def sentence(choice: random.Random, start: str = "statement", depth: int = 12) -> list[str]:
    """The words of one; rules that go deeper than there is room for are not taken, if there is another."""
    rules, spelled = _rules()
    found = rules[start]
    room = max(depth, found[0][0])
    out: list[str] = []
    for symbol in found[choice.randrange(bisect_right(found, room, key=_need))][1]:
        if isinstance(symbol, Terminal):
            out.append(choice.choice(spelled[symbol.name]))
        else:
            out += sentence(choice, symbol.name, depth - 1)
    return out
