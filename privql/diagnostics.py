"""What every surface says when something is wrong: where, what, why, and what to write instead.

A `Diagnostic` is data; `render` draws it. Messages are lower case, without a full stop, with the user's own
words in backticks. No message may ever contain a value that came from the data.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from privql.frozen import frozen

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of character offsets into one `Source`."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)

# A text under suspicion must not steer the terminal that shows it, nor be impossible to print.
_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Source:
    """A text with a name, and its lines and columns (both counted from one)."""

    text: str
    name: str = "<query>"

    @cached_property
    def _starts(self) -> list[int]:
        return [0] + [at + 1 for at, char in enumerate(self.text) if char == "\n"]

    def position(self, offset: int) -> tuple[int, int]:
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r")

    def at(self, span: Span) -> str:
        return self.text[span.start : span.end]


@frozen
class Fix:
    """An edit a program can apply: replace the text at `span` by `text`."""

    span: Span
    text: str


@frozen
class Diagnostic:
    code: str
    message: str
    span: Span
    label: str = ""  # what stands beside the caret
    why: str = ""  # the arithmetic or the rule that failed
    help: str = ""  # what would pass
    severity: Severity = "error"
    fixes: tuple[Fix, ...] = ()
    source: Source | None = field(default=None, compare=False)

    def in_source(self, source: Source) -> Diagnostic:
        """The same diagnostic, remembering the text that it speaks about."""
        if self.source is not None:
            return self
        return Diagnostic(
            self.code, self.message, self.span, self.label, self.why, self.help, self.severity, self.fixes, source
        )

    def __str__(self) -> str:
        return render(self)

    def to_json(self) -> dict[str, Any]:
        line, column = self.source.position(self.span.start) if self.source else (1, 1)
        return {
            "code": self.code,
            "severity": self.severity,
            "line": line,
            "column": column,
            "span": span_json(self.source, self.span),
            "message": self.message,
            "why": self.why or None,
            "help": self.help or None,
            "fixes": [{"span": span_json(self.source, fix.span), "text": fix.text} for fix in self.fixes],
        }


def span_json(source: Source | None, span: Span) -> dict[str, list[int]] | None:
    if source is None:
        return None
    return {"start": list(source.position(span.start)), "end": list(source.position(span.end))}


class PrivQLError(Exception):
    """One or more diagnostics that stop a statement, as Python sees them."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic], source: Source | None = None) -> None:
        given = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(d.in_source(source) if source else d for d in given)
        super().__init__("\n\n".join(render(d) for d in self.diagnostics))

    def in_source(self, source: Source) -> PrivQLError:
        return PrivQLError(self.diagnostics, source)


def refuse(
    code: str, message: str, span: Span, *, label: str = "", why: str = "", help: str = "", fixes: tuple[Fix, ...] = ()
) -> PrivQLError:
    """The error to raise when a statement is rejected for one reason."""
    return PrivQLError(Diagnostic(code, message, span, label, why, help, "error", fixes))


def render(diagnostic: Diagnostic) -> str:
    """The one shape of an error: headline, excerpt with a caret, why, help."""
    out = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    source = diagnostic.source
    margin = ""
    if source is not None:
        line, column = source.position(diagnostic.span.start)
        text = source.line(line)
        gutter = str(line)
        margin = " " * len(gutter)
        width = max(1, min(diagnostic.span.end - diagnostic.span.start, len(text) - column + 1))
        shown, column = _excerpt(text, column)
        indent = "".join("\t" if char == "\t" else " " for char in shown[: column - 1])
        caret = indent + "^" * max(1, min(width, len(shown) - column + 1))
        out += [
            f"{margin}--> {source.name}:{line}:{source.position(diagnostic.span.start)[1]}",
            f"{margin} |",
            f"{gutter} | {shown}",
            f"{margin} | {caret}{' ' + diagnostic.label if diagnostic.label else ''}",
        ]
    if diagnostic.why:
        out.append(f"{margin} = why: {diagnostic.why}")
    if diagnostic.help:
        out.append(f"{margin} = help: {diagnostic.help}")
    return harmless("\n".join(out))


def harmless(text: str) -> str:
    """The text, its line breaks and tabs aside without what a terminal would obey."""
    return _UNPRINTABLE.sub("\ufffd", text)


def _excerpt(text: str, column: int) -> tuple[str, int]:
    """The part of a very long line that is worth showing, and the column within it."""
    limit = 160
    if len(text) <= limit:
        return text, column
    start = max(0, min(column - 1 - 40, len(text) - limit))
    before, after = "…" if start else "", "…" if start + limit < len(text) else ""
    return before + text[start : start + limit] + after, column - start + len(before)
