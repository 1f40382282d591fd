"""Columns that may not be read: hidden ones, and a unit's identifiers, which meet only their like."""

from __future__ import annotations

from privql.check.relations import Attribute
from privql.diagnostics import Span, refuse


def readable(attribute: Attribute, span: Span) -> None:
    """Whether expressions may be made of this column."""
    if attribute.hidden:
        raise refuse(
            "PQL0406",
            f"`{attribute.name}` is hidden",
            span,
            why="the owner declared it HIDDEN: no query may read it",
            help="leave it out",
        )
    if attribute.unit is not None and not attribute.visible:
        raise refuse(
            "PQL0405",
            f"`{attribute.name}` names a {attribute.unit}, and can only be counted",
            span,
            why="a unit's identifier is itself personal data: it is never output, nor compared with a value",
            help=f"count them, `COUNT({attribute.name})`; or join and group by it, where it stays inside the query",
        )


def alike(one: Attribute, other: Attribute | None, span: Span) -> None:
    """What a join, a set operation or IN compares: an identifier only with its like. None: what is no column."""
    if other is None or one.unit != other.unit or one.hidden != other.hidden:
        readable(one, span)
        if other is not None:
            readable(other, span)
