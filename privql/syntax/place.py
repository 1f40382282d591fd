"""Where a statement went wrong, and whether it would be read if it were written a little differently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from privql.diagnostics import Fix, Span
from privql.frozen import frozen
from privql.syntax.automaton import END, Tokens, automaton

_FAR = 400  # tokens beyond a repair that must be readable with it
_SHOWN = 40  # characters of the user's own text in a message


@frozen
class Place:
    """A statement's tokens, and the first that cannot follow those before it."""

    start: str
    text: str
    kinds: tuple[str, ...]  # names of terminals
    spans: tuple[Span, ...]
    index: int
    _stacks: dict[int, list[int]] = field(default_factory=dict, compare=False, repr=False)
    _admitted: dict[int, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def ended(self) -> bool:
        return self.index == len(self.kinds)

    @property
    def kind(self) -> str:
        return self.kind_at(self.index)

    @property
    def span(self) -> Span:
        """Of the token that cannot follow; behind the last one where the statement ends too early."""
        return self.spans[self.index] if not self.ended else Span(self.spans[-1].end, self.spans[-1].end + 1)

    def kind_at(self, index: int) -> str:
        return self.kinds[index] if 0 <= index < len(self.kinds) else ""

    def word_at(self, index: int) -> str:
        """The word at a place, upper case; nothing for what is no plain word."""
        if self.kind_at(index) != "IDENT" and self.kind_at(index) not in automaton().keywords:
            return ""
        return self.text[self.spans[index].start : self.spans[index].end].upper()

    def shown(self, index: int) -> str:
        """What the user wrote there, in backticks."""
        written = self.text[self.spans[index].start : self.spans[index].end]
        return f"`{written if len(written) <= _SHOWN else written[: _SHOWN - 1] + '…'}`"

    def stack(self, index: int) -> list[int]:
        """The automaton's states before token `index`, which is not beyond the first that cannot follow."""
        if index not in self._stacks:
            machine = automaton()
            states = [machine.starts[self.start]]
            machine.advance(states, [machine.terminals.index(kind) for kind in self.kinds[:index]])
            self._stacks[index] = states
        return list(self._stacks[index])

    def admitted(self, index: int) -> frozenset[str]:
        """The names of all terminals that can follow the tokens before `index`."""
        if index not in self._admitted:
            self._admitted[index] = automaton().admitted(self.stack(index))
        return self._admitted[index]

    def reads(self, index: int, replaced: int, by: Sequence[str]) -> bool:
        """Whether the statement is read with `replaced` tokens from `index` on replaced by these terminals."""
        machine = automaton()
        rest = [*by, *self.kinds[index + replaced : index + replaced + _FAR]]
        kinds = [machine.terminals.index(kind) for kind in rest]
        if index + replaced + _FAR >= len(self.kinds):
            kinds.append(END)
        return machine.advance(self.stack(index), kinds) == len(kinds)

    def without(self, at: int) -> Fix:
        """An edit that takes a token away, and keeps its neighbours apart."""
        span = self.spans[at]
        around = self.text[span.start - 1 : span.start] + self.text[span.end : span.end + 1]
        return Fix(span, " " if around and not re.search(r"[\s(),]", around) else "")

    def instead(self, at: int, word: str) -> Fix:
        """An edit that puts a word in the place of a sign."""
        span = self.spans[at]
        before, after = self.text[span.start - 1 : span.start], self.text[span.end : span.end + 1]
        return Fix(span, ("" if before.isspace() else " ") + word + ("" if after.isspace() else " "))

    def written(self, at: int, text: str) -> Fix:
        """An edit that writes a token otherwise, apart from the words beside it."""
        span = self.spans[at]
        before, after = self.text[span.start - 1 : span.start], self.text[span.end : span.end + 1]
        return Fix(span, " " * _of_word(before) + text + " " * _of_word(after))

    def insertion(self, word: str, *, glued: bool = False) -> Fix:
        """An edit that puts a word, or a sign glued to what is before it, where the error is."""
        end = self.spans[self.index - 1].end
        apart = "" if glued or self.text[end : end + 1] in ("", " ", "\n") else " "
        return Fix(Span(end, end), f"{word}{apart}" if glued else f" {word}{apart}")

    def open_parenthesis(self) -> int | None:
        """The innermost parenthesis that is open at the error."""
        open_at: list[int] = []
        for index in range(self.index):
            if self.kinds[index] == "LPAR":
                open_at.append(index)
            elif self.kinds[index] == "RPAR" and open_at:
                open_at.pop()
        return open_at[-1] if open_at else None


def _of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def place(start: str, text: str, tokens: Tokens, begin: int, end: int, index: int) -> Place:
    names = automaton().terminals
    return Place(
        start,
        text,
        tuple(names[kind] for kind in tokens.kinds[begin:end]),
        tuple(Span(tokens.starts[each], tokens.ends[each]) for each in range(begin, end)),
        index - begin,
    )
