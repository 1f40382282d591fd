"""What is wrong with a policy, collected so that the owner reads all of it at once.

The codes of this room: 0701-0739 speak of the policy's text alone, 0740-0749 of its meeting with files and frames.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from privql.diagnostics import Diagnostic, Fix, PrivQLError, Severity, Source, Span
from privql.names import fold
from privql.policy.catalog import Catalog
from privql.syntax import ast, quote

Read = TypeVar("Read")


class Findings:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    @property
    def failed(self) -> bool:
        return any(diagnostic.severity == "error" for diagnostic in self.diagnostics)

    def error(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        label: str = "",
        why: str = "",
        help: str = "",
        fixes: tuple[Fix, ...] = (),
        severity: Severity = "error",
    ) -> None:
        found = Diagnostic(code, message, span, label, why, help, severity, fixes)
        self.diagnostics.append(found.in_source(self.source))

    def warning(self, code: str, message: str, span: Span, *, why: str = "", help: str = "") -> None:
        self.error(code, message, span, why=why, help=help, severity="warning")

    def note(self, code: str, message: str, span: Span, *, why: str = "", help: str = "") -> None:
        self.error(code, message, span, why=why, help=help, severity="note")

    def unknown(
        self, code: str, message: str, place: Span, name: str, known: Iterable[str], *, help: str = "", fix: bool = True
    ) -> None:
        """A name that nothing has, with the one that was probably meant; else `help`, or what there is."""
        known = list(known)
        meant = nearest(name, known)
        if meant:
            help = f"did you mean `{meant}`?"
        fixes = (Fix(place, quote(meant)),) if meant and fix else ()
        self.error(code, message, place, help=help or f"there is {listing(known)}", fixes=fixes)

    def reading(self, read: Callable[[ast.Expr], Read], expr: ast.Expr | None) -> Read | None:
        """What `read` makes of an expression; None if it refuses, which is kept while the reading goes on."""
        if expr is None:
            return None
        try:
            return read(expr)
        except PrivQLError as refused:
            self.diagnostics.extend(refused.in_source(self.source).diagnostics)
            return None

    def name(self, span: Span, word: str) -> Span:
        """Where a name stands inside the text of its declaration: the tree keeps names without a place."""
        pattern = rf'"{re.escape(word)}"|(?<!\w){re.escape(word)}(?!\w)'
        found = re.search(pattern, self.source.at(span), re.IGNORECASE)
        return Span(span.start + found.start(), span.start + found.end()) if found else span

    def last_name(self, span: Span, word: str) -> Span:
        """The same for a name that a declaration ends with, such as the budget's unit or a column's reference."""
        pattern = rf'"{re.escape(word)}"|(?<!\w){re.escape(word)}(?!\w)'
        found = list(re.finditer(pattern, self.source.at(span), re.IGNORECASE))
        return Span(span.start + found[-1].start(), span.start + found[-1].end()) if found else span


def accepted(catalog: Catalog, diagnostics: Iterable[Diagnostic]) -> Catalog:
    """The catalog, if nothing stands against it; else the errors are raised together."""
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if errors:
        raise PrivQLError(errors)
    return catalog


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, "" if none is near."""
    spelled = {fold(each): each for each in known}
    close = difflib.get_close_matches(fold(name), list(spelled), n=1, cutoff=0.6)
    return spelled[close[0]] if close else ""


def listing(names: Iterable[str]) -> str:
    """`a`, `b` and `c`, or a few of many."""
    quoted = [f"`{name}`" for name in names]
    if len(quoted) > 6:
        return ", ".join(quoted[:6]) + f" and {len(quoted) - 6} more"
    return " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]])) if quoted else "none"
