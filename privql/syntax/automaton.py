"""The LALR(1) automaton: the built table, and the loop that runs it over a statement's tokens.

The loop is the textbook's, with a tree built at every reduction. It never recurses, so that no nesting can overflow
it; `Deep` is raised as soon as a tree is deeper than whoever walks it later could bear. Beside each value the stack
holds the index of its first token, so that every node gets its exact span.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from privql.diagnostics import Span
from privql.frozen import frozen
from privql.syntax.ast import Node

Action = Callable[..., Any]

END = 0
LIST, PASS = -1, -2  # rules that make no tree: children spliced into their parent, or one child passed on


@dataclass(slots=True)
class Tokens:
    """What the lexer read, as parallel lists: terminal, meaning (a string without its quotes), start, end."""

    kinds: list[int]
    texts: list[str]
    starts: list[int]
    ends: list[int]


class Stuck(Exception):
    """No statement of the language continues with token `index`."""

    def __init__(self, index: int) -> None:
        self.index = index


class Deep(Exception):
    """The tree at `span` is nested too deep."""

    def __init__(self, span: Span) -> None:
        self.span = span


@frozen
class Automaton:
    terminals: tuple[str, ...]
    keywords: frozenset[str]
    classes: Mapping[str, frozenset[str]]  # keywords that are no name in some places
    signs: Mapping[str, str]
    actions: tuple[str, ...]
    rows: tuple[dict[int, int], ...]  # state -> terminal -> next state, or ~rule; the number of states is success
    defaults: tuple[int, ...]  # state -> ~rule where its row says nothing; a number beyond success is an error
    gotos: tuple[tuple[int, dict[int, int]], ...]  # nonterminal -> usual next state, the others by state
    rules: tuple[tuple[int, int, int, tuple[int, ...]], ...]  # nonterminal, length, action, kept children
    starts: Mapping[str, int]

    def parse(self, start: str, tokens: Tokens, begin: int, end: int, actions: Sequence[Action], depth: int) -> Any:
        """The tree of tokens[begin:end], at most `depth` nodes deep."""
        rows, defaults, gotos, rules, success = self.rows, self.defaults, self.gotos, self.rules, len(self.rows)
        kinds, texts, starts, ends = tokens.kinds, tokens.texts, tokens.starts, tokens.ends
        state = self.starts[start]
        states, firsts, depths = [state], [begin], [0]
        values: list[Any] = [None]
        index = begin
        kind = kinds[index] if index < end else END
        while True:
            target = rows[state].get(kind, defaults[state])
            if target >= 0:
                if target >= success:
                    if target == success:
                        return values[-1]
                    raise Stuck(index)
                state = target
                states.append(state)
                values.append(texts[index])
                firsts.append(index)
                depths.append(0)
                index += 1
                kind = kinds[index] if index < end else END
                continue
            nonterminal, length, action, kept = rules[~target]
            usual, others = gotos[nonterminal]
            if length == 1 and action == PASS:
                states[-1] = state = others.get(states[-2], usual)
                continue
            children: list[Any]
            if length:
                children = values[-length:]
                first = firsts[-length]
                deepest = max(depths[-length:])
                del states[-length:], values[-length:], firsts[-length:], depths[-length:]
            else:
                children, first, deepest = [], index, 0
            value: Any
            if action == PASS:
                value = children[kept[0]]
            else:
                value = []
                for position in kept:
                    if position >= 0:
                        value.append(children[position])
                    elif value:
                        value += children[~position]
                    else:
                        value = children[~position]  # a list grows to the right, in place
                if action >= 0:
                    stop = ends[index - 1] if index else 0
                    span = Span(starts[first] if first < index else stop, stop)
                    value = actions[action](span, *value)
                    if isinstance(value, Node):
                        deepest += 1
                        if deepest > depth:
                            raise Deep(span)
            state = others.get(states[-1], usual)
            states.append(state)
            values.append(value)
            firsts.append(first)
            depths.append(deepest)

    def advance(self, states: list[int], kinds: Sequence[int]) -> int:
        """How many of `kinds` can be read on from a stack of states. Moves the stack, and builds no trees."""
        success = len(self.rows)
        for index, kind in enumerate(kinds):
            while (target := self.rows[states[-1]].get(kind, self.defaults[states[-1]])) < 0:
                nonterminal, length, _, _ = self.rules[~target]
                if length:
                    del states[-length:]
                usual, others = self.gotos[nonterminal]
                states.append(others.get(states[-1], usual))
            if target > success:
                return index
            states.append(target)
        return len(kinds)

    def admitted(self, states: Sequence[int]) -> frozenset[str]:
        """The names of all terminals that can follow a stack of states, which stays as it is.

        What is reduced before them is the same for most: they go on together until they part.
        """
        found = set[int]()
        todo: list[tuple[int, list[int], set[int]]] = [(len(states), [], set(range(len(self.terminals))))]
        while todo:
            depth, above, kinds = todo.pop()
            state = above[-1] if above else states[depth - 1]
            row, default = self.rows[state], self.defaults[state]
            listed = kinds & row.keys()
            ways: dict[int, set[int]] = {default: kinds - listed}
            for kind in listed:
                ways.setdefault(row[kind], set()).add(kind)
            for target, some in ways.items():
                if 0 <= target <= len(self.rows):
                    found |= some
                elif target < 0 and some:
                    nonterminal, length, _, _ = self.rules[~target]
                    below = depth - max(0, length - len(above))
                    kept = above[: max(0, len(above) - length)]
                    usual, others = self.gotos[nonterminal]
                    kept.append(others.get(kept[-1] if kept else states[below - 1], usual))
                    todo.append((below, kept, some))
        return frozenset(self.terminals[kind] for kind in found)


@cache
def automaton() -> Automaton:
    data = pkgutil.get_data("privql.syntax", "table.json")
    assert data is not None
    table = json.loads(data)
    error = len(table["defaults"]) + 1
    rows = [dict(zip(row[::2], row[1::2], strict=True)) for row in table["rows"]]
    return Automaton(
        terminals=tuple(table["terminals"]),
        keywords=frozenset(table["keywords"]),
        classes={name: frozenset(words) for name, words in table["classes"].items()},
        signs=table["signs"],
        actions=tuple(table["actions"]),
        rows=tuple(rows[number] for number in table["row_of"]),
        defaults=tuple(error if default is None else default for default in table["defaults"]),
        gotos=tuple((goto[0], dict(zip(goto[1::2], goto[2::2], strict=True))) for goto in table["gotos"]),
        rules=tuple((origin, length, action, tuple(kept)) for origin, length, action, kept in table["rules"]),
        starts=table["starts"],
    )
