"""Queries inside expressions: which columns around them they read, and how they read when those become group keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from privql.check.columns import produced
from privql.check.relations import Around, Each, Rel, Shared
from privql.check.typed import Context
from privql.frozen import inside, rebuilt
from privql.kernel.scalars import Apply, Const, Field, Scalar, fields


def replaced(term: Scalar, known: Mapping[Scalar, Field], context: Context) -> Scalar:
    """The expression with these parts of it, and of the queries inside it, known by a column."""
    return _Renaming(dict(known), context).term(term)


def rewritten(node: Any, known: Mapping[Scalar, Field], context: Context) -> Any:
    return _Renaming(dict(known), context).record(node)


@dataclass
class _Renaming:
    """A query that is read several times is made anew once: a short text reads one very often, through queries that
    read it more than once each."""

    known: dict[Scalar, Field]
    context: Context
    shared: dict[str, str] = field(default_factory=dict)

    def term(self, term: Scalar) -> Scalar:
        found = self.known.get(term)
        if found is not None:
            return found
        match term:
            case Apply(op=op, args=args, type=type):
                return Apply(op, tuple(self.term(arg) for arg in args), type)
            case Field(name=name, type=type) if name in self.context.subqueries:
                made = self.known[term] = Field(self._subquery(name), type)
                return made
            case _:
                return term

    def record(self, node: Any) -> Any:
        def change(record: Any) -> Any:
            match record:
                case Field() | Const() | Apply():
                    return self.term(record)
                case Shared(name=name):
                    if name not in self.shared:
                        self.shared[name] = self._shared_anew(name)
                    return replace(record, name=self.shared[name])
                case _:
                    return None

        return rebuilt(node, change)

    def _subquery(self, name: str) -> str:
        context = self.context
        old = context.subqueries[name]
        new = self.record(old)
        if new == old:
            return name
        id = context.fresh()
        context.subqueries[id] = new
        context.add(replace(context.attributes[name], id=id))
        return id

    def _shared_anew(self, name: str) -> str:
        """A named query that is correlated reads another column, and so is another query."""
        old = dict(self.context.shared)[name]
        new = self.record(old)
        if new == old:
            return name
        anew = f"q{len(self.context.shared) + 1}"
        self.context.shared.append((anew, new))
        return anew


def read_inside(term: Scalar, context: Context) -> set[str]:
    """The columns that an expression and the queries inside it read, their own among them; each query is looked at
    once."""
    found, seen, named, todo = set[str](), set[str](), set[str](), [term]
    while todo:
        names = fields(todo.pop())
        asked = names & context.subqueries.keys()
        found |= names - asked
        for name in asked - seen:
            todo.extend(terms_in(context.subqueries[name]))
            todo.extend(part for rel in _named(context.subqueries[name], named, context) for part in terms_in(rel))
        seen |= asked
    return found


def around(rel: Rel, context: Context) -> set[str]:
    """The columns that a query reads and does not have: those of the row around it, unless it numbers that row."""
    read: set[str] = set()
    own: set[str] = set()
    seen: set[str] = set()
    todo: list[Any] = [rel]
    while todo:
        match todo.pop():
            case Const():
                pass
            case Field(name=name) if name in context.subqueries:
                if name not in own:  # one that is read several times is looked at once
                    own.add(name)
                    todo.append(context.subqueries[name])
            case Field(name=name):
                read.add(name)
            case Apply(args=args):
                todo.extend(args)
            case Around(columns=columns):
                own |= {id for id, _ in columns}
            case Each(input=input, number=number):
                own.add(number)  # whatever it stands beside has that
                todo.append(input)
            case node:
                if isinstance(node, Rel):
                    own |= produced(node).keys()
                todo.extend(_named(node, seen, context) if isinstance(node, Shared) else inside(node))
    return read - own


def terms_in(node: Any) -> Iterator[Scalar]:
    """The expressions that stand in a record, each whole."""
    if isinstance(node, Field | Const | Apply):
        yield node
    else:
        yield from (term for part in inside(node) for term in terms_in(part))


def _named(node: Any, seen: set[str], context: Context) -> Iterator[Rel]:
    """Named queries that stand inside, and inside of these, but for those seen before: a correlated one reads the
    columns around it, however deep it is named."""
    if not isinstance(node, Shared):
        yield from (rel for part in inside(node) for rel in _named(part, seen, context))
    elif node.name not in seen:
        seen.add(node.name)
        for name, rel in context.shared:
            if name == node.name:
                yield rel
                yield from _named(rel, seen, context)
