"""Why a statement cannot be read on, and what would be read: the cause of each common slip by its name.

A repair is offered as an edit only if the statement, so edited, is read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from privql.diagnostics import Diagnostic, Fix, Span
from privql.syntax.automaton import END, Tokens, automaton
from privql.syntax.expected import expected

_FAR = 400  # tokens beyond the error that a repair must make readable


@dataclass(frozen=True)
class Place:
    """Where a statement went wrong: its tokens, and the first that cannot follow those before it."""

    start: str
    text: str
    words: tuple[str, ...]  # upper case; a string or a quoted name is its quotes
    kinds: tuple[str, ...]
    spans: tuple[Span, ...]
    index: int

    @property
    def ended(self) -> bool:
        return self.index == len(self.kinds)

    @property
    def word(self) -> str:
        return "" if self.ended else self.words[self.index]

    @property
    def span(self) -> Span:
        """Of the word that cannot follow; behind the last one where the statement ends too early."""
        if not self.ended:
            return self.spans[self.index]
        end = self.spans[-1].end
        return Span(end, end + 1)

    def before(self, back: int = 1) -> str:
        return self.words[self.index - back] if self.index >= back else ""

    def shown(self, index: int) -> str:
        """The user's own spelling, which may be a whole string."""
        written = self.text[self.spans[index].start : self.spans[index].end]
        return written if len(written) <= 40 else written[:39] + "…"

    def stack(self, index: int) -> list[int]:
        machine = automaton()
        states = [machine.starts[self.start]]
        machine.advance(states, [machine.terminals.index(kind) for kind in self.kinds[:index]])
        return states

    def reads(self, index: int, replaced: int, by: Sequence[str]) -> bool:
        """Whether the statement is read with `replaced` tokens from `index` on replaced by these kinds."""
        machine = automaton()
        rest = [*by, *self.kinds[index + replaced :]]
        kinds = [machine.terminals.index(kind) for kind in rest[:_FAR]]
        if len(rest) <= _FAR:
            kinds.append(END)
        return machine.advance(self.stack(index), kinds) == len(kinds)


def unexpected(start: str, text: str, tokens: Tokens, begin: int, end: int, index: int) -> Diagnostic:
    """What is wrong at token `index` of the statement tokens[begin:end]."""
    machine = automaton()
    spans = tuple(Span(tokens.starts[each], tokens.ends[each]) for each in range(begin, end))
    place = Place(
        start,
        text,
        tuple(text[span.start : span.end].upper() for span in spans),
        tuple(machine.terminals[kind] for kind in tokens.kinds[begin:end]),
        spans,
        index - begin,
    )
    message = "the statement ends too early" if place.ended else f"unexpected `{place.shown(place.index)}`"
    return Diagnostic("PQL0101", message, place.span, f"expected {expected(place.stack(place.index))}")
