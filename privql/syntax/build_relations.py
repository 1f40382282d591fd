"""The trees of what stands in FROM: one function for each rule of the grammar, with its span and its children."""

from __future__ import annotations

from typing import Any, Literal

from privql.diagnostics import Span
from privql.syntax.ast import Derived, Expr, Join, Query, Relation, TableFunction, TableRef
from privql.syntax.build_parts import Part, split

JoinKind = Literal["INNER", "LEFT", "RIGHT", "FULL"]


def path(span: Span, *names: str) -> tuple[str, ...]:
    return names


def alias(span: Span, name: str, columns: tuple[str, ...] = ()) -> Part:
    return Part("alias", {"alias": name, "columns": columns}, span, name)


def _aliased(given: Part | None) -> dict[str, Any]:
    return given.value if given else {}


def table(span: Span, name: str | tuple[str, ...], alias: Part | None = None) -> TableRef:
    return TableRef((name,) if isinstance(name, str) else name, **_aliased(alias), span=span)


def dummy_table(span: Span, path: tuple[str, ...], alias: Part | None = None) -> TableRef:
    return TableRef(path, **_aliased(alias), dummy=True, span=span)


def table_function(span: Span, name: str, *given: Any) -> TableFunction:
    args, parts = split(given)
    return TableFunction(name, args[0] if args else (), **_aliased(parts[0] if parts else None), span=span)


def derived(span: Span, query: Query, alias: Part | None = None) -> Derived:
    return Derived(query, **_aliased(alias), span=span)


def lateral(span: Span, query: Query, alias: Part | None = None) -> Derived:
    return Derived(query, **_aliased(alias), lateral=True, span=span)


def join_kind(span: Span, *words: str) -> Any:
    return words[0].upper() if words else "INNER"


def join_on(span: Span, left: Relation, kind: JoinKind, right: Relation, on: Expr) -> Join:
    return Join(kind, left, right, on, span=span)


def join_using(span: Span, left: Relation, kind: JoinKind, right: Relation, using: tuple[str, ...]) -> Join:
    return Join(kind, left, right, using=using, span=span)


def cross_join(span: Span, left: Relation, right: Relation) -> Join:
    return Join("CROSS", left, right, span=span)


def natural_join(span: Span, left: Relation, kind: JoinKind, right: Relation) -> Join:
    return Join(kind, left, right, natural=True, span=span)
