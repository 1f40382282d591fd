"""Which names mean what: the columns in sight of an expression, and the nearest name when there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from privql.check.relations import Attribute, Rel
from privql.diagnostics import Fix, PrivQLError, Span, refuse
from privql.frozen import frozen
from privql.names import fold
from privql.policy.findings import nearest
from privql.syntax import ast, quote


@frozen
class InSight:
    """One item of FROM: its alias and the columns it brings."""

    alias: str
    columns: tuple[Attribute, ...]


@frozen
class Bound:
    """A named query: its tree and columns. `shared`: it is computed once, and referred to by this name."""

    rel: Rel
    columns: tuple[Attribute, ...]
    shared: str | None


@frozen
class Scope:
    """The items of one FROM, and the query around it. `merged`: the columns of USING and NATURAL, named once."""

    items: tuple[InSight, ...] = ()
    merged: tuple[Attribute, ...] = ()
    parent: Scope | None = None
    windows: Mapping[str, ast.Window] = field(default_factory=dict)  # WINDOW w AS (…)
    ctes: Mapping[str, Bound] = field(default_factory=dict)

    def outwards(self) -> Iterator[Scope]:
        """This one, then those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def around(self) -> Iterator[Scope]:
        return iter(()) if self.parent is None else self.parent.outwards()

    def cte(self, name: str) -> Bound | None:
        folded = fold(name)
        return next((scope.ctes[folded] for scope in self.outwards() if folded in scope.ctes), None)

    def everything(self) -> list[Attribute]:
        """`*`: merged columns first, then the others of each item."""
        names = {fold(column.name) for column in self.merged}
        rest = [c for item in self.items for c in item.columns if fold(c.name) not in names]
        return [*self.merged, *rest]

    def every_column(self) -> list[Attribute]:
        """Also those that `*` does not show, because a merged column has their name."""
        return [*self.merged, *(column for item in self.items for column in item.columns)]

    def of(self, alias: str) -> tuple[Attribute, ...] | None:
        folded = fold(alias)
        return next((item.columns for item in self.items if fold(item.alias) == folded), None)

    def find(self, path: tuple[str, ...]) -> list[Attribute]:
        """Every column that the path could mean here, without the queries around."""
        name = fold(path[-1])
        if len(path) == 1:
            once = [column for column in self.merged if fold(column.name) == name]
            if once:
                return once
            return [c for item in self.items for c in item.columns if fold(c.name) == name]
        columns = self.of(path[-2]) or ()
        return [column for column in columns if fold(column.name) == name]

    def resolve(self, path: tuple[str, ...], span: Span) -> Attribute:
        """The column that the path means, here or in a query around."""
        for scope in self.outwards():
            found = scope.find(path)
            if len(found) > 1:
                better = _dotted((scope._owners(found)[0], path[-1]))
                raise refuse(
                    "PQL0203",
                    f"`{'.'.join(path)}` could be one of {len(found)} columns",
                    span,
                    why="it is a column of " + " and of ".join(f"`{a}`" for a in scope._owners(found)),
                    help=f"write `{better}`",
                    fixes=(Fix(span, better),),
                )
            if found:
                return found[0]
        raise self.unknown(path, span)

    def _owners(self, columns: list[Attribute]) -> list[str]:
        ids = {column.id for column in columns}
        return [item.alias for item in self.items if any(column.id in ids for column in item.columns)]

    def unknown(self, path: tuple[str, ...], span: Span) -> PrivQLError:
        scopes = list(self.outwards())
        if len(path) > 1 and not any(s.of(path[-2]) is not None for s in scopes):
            aliases = [item.alias for s in scopes for item in s.items]
            return unknown_name("PQL0201", "table", path[-2], span, aliases, lambda near: _dotted((near, path[-1])))
        names = [c.name for s in scopes for c in s.everything() if not c.hidden]
        return unknown_name("PQL0202", "column", path[-1], span, names, lambda near: _dotted((*path[:-1], near)))


def unknown_name(
    code: str,
    kind: str,
    name: str,
    span: Span,
    known: Iterable[str],
    repaired: Callable[[str], str] = quote,
) -> PrivQLError:
    """`no such column`, with the nearest one there is, and what there is. `repaired`: what to write at the span."""
    names = list(dict.fromkeys(known))
    near = nearest(name, names)
    if near:
        fix = Fix(span, repaired(near))
        return refuse(code, f"no {kind} named `{name}`", span, help=f"did you mean `{near}`?", fixes=(fix,))
    listed = ", ".join(f"`{n}`" for n in names[:8]) + (", …" if len(names) > 8 else "")
    return refuse(
        code, f"no {kind} named `{name}`", span, help=f"there is {listed}" if names else f"there is no {kind} in sight"
    )


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(map(quote, path))
