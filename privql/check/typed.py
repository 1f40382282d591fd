"""A checked expression, and the place it stands in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from privql.check.env import Env
from privql.check.relations import Attribute, Block, Label, Rel, Subquery, Told
from privql.check.scope import Bound, Scope
from privql.diagnostics import NOWHERE, Diagnostic, Source, Span
from privql.domains import Domain, finite, grid_of
from privql.frozen import frozen
from privql.functions.scalar import infer
from privql.kernel.scalars import Apply, Const, Field, Scalar, Value, ValueType, fields
from privql.syntax import ast

if TYPE_CHECKING:
    from privql.check.grouping import Collector


@frozen
class Typed:
    """An expression's term, the domain inferred for it, and where it was written.

    `text` is set for a string literal that has not met a partner yet: it will take that partner's type.
    """

    term: Scalar
    domain: Domain
    span: Span
    text: str | None = None
    free: bool = False  # a parameter without a value: it takes its partner's type
    size: int = 0  # of the term, written out: BETWEEN and CASE repeat their operand

    @property
    def type(self) -> ValueType:
        return self.term.type

    @property
    def constant(self) -> bool:
        return isinstance(self.term, Const) and not self.free


@frozen
class Asked:
    """A query in an expression, wherever it is written again: what is known of its operand may differ there."""

    value: Typed
    one: bool = False  # it has one row, and its value is that
    of_known: bool = False  # rows of one unit decide, if the operand is not NULL


def const(value: Value, type: ValueType, span: Span) -> Typed:
    domain = finite([value], False, grid_of(type)) if value is not None else Domain(values=(), nullable=True)
    return Typed(Const(value, type), domain, span)


def inferred(term: Scalar, of: Callable[[str], Domain]) -> Domain:
    """What a term may be, given what its columns may be."""
    match term:
        case Field(name=id):
            return of(id)
        case Const(value=value, type=type):
            return const(value, type, NOWHERE).domain
        case Apply(op=op, args=args, type=type):
            return infer(op, tuple(arg.type for arg in args), type, tuple(inferred(arg, of) for arg in args))


@dataclass
class Correlation:
    """How a query inside an expression over private rows depends on the row around it, taken out of that query."""

    select: ast.Body | None  # the SELECT whose WHERE may name the columns around
    on: list[tuple[Scalar, Scalar]] = field(default_factory=list)  # outside, inside
    where: list[Scalar] = field(default_factory=list)
    default: Scalar | None = None
    one: bool = False  # it aggregates: one row for each around, whether any matches or none
    seen: dict[str, Field] = field(default_factory=dict)  # the columns around by the names they have inside
    private: set[str] = field(default_factory=set)  # those of rows that are, or will be, private
    number: str = ""  # of the rows around, if the query is answered for each of them
    row: str | None = None  # its column that says for which
    most: int | None = None  # rows for each
    lateral: bool = False
    inner: Scope | None = None  # its FROM, if the rows around will be in it
    released: bool = False  # the rows around are groups that anybody may know


Clause = tuple[ast.Privacy | None, tuple[int, ...]]  # of a query, if it has one, and blocks inside it


@dataclass
class Context:
    """What one statement accumulates while it is checked."""

    env: Env
    source: Source | None = None
    attributes: dict[str, Attribute] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)  # by column, where more is known than declared
    members_from: dict[str, tuple[str, str] | ast.Query] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    shared: list[tuple[str, Rel]] = field(default_factory=list)
    subqueries: dict[str, Subquery] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    asked: dict[tuple[object, ...], tuple[Scope, Asked]] = field(default_factory=dict)  # queries in expressions so far
    notes: list[Diagnostic] = field(default_factory=list)
    used: dict[str, Span] = field(default_factory=dict)  # where a column was last written
    views: dict[str, Bound] = field(default_factory=dict)
    payers: list[list[int]] = field(default_factory=list)  # blocks of each clause now open
    clauses: list[Clause] = field(default_factory=list)  # with the blocks that each pays for
    manners: list[Clause] = field(default_factory=list)  # those that only say how
    correlations: list[Correlation] = field(default_factory=list)  # of the queries in expressions now open
    public_columns: dict[str, tuple[str, str]] = field(default_factory=dict)  # table, column
    # counts of bins, by aggregate: their rows, which bin each is of, and what they have in common with the groups
    binned: dict[str, tuple[Rel, Field, Scalar | None]] = field(default_factory=dict)
    recursions: list[Span] = field(default_factory=list)  # where a named query reads itself
    sizes: dict[int, tuple[object, int, int]] = field(default_factory=dict)  # steps and levels of named queries
    written: int = 0  # steps of all that names stand for
    _next: int = 0

    def fresh(self) -> str:
        self._next += 1
        return f"c{self._next}"

    def add(self, attribute: Attribute) -> Attribute:
        self.attributes[attribute.id] = attribute
        return attribute

    def domain_of(self, term: Scalar, facts: Mapping[str, Domain]) -> Domain:
        """Infer again, for a term that was built before; narrowing asks for this."""
        return inferred(term, lambda name: facts.get(name) or self.column_domain(name))

    def column_domain(self, id: str) -> Domain:
        known = self.domains.get(id)
        if known is None:
            attribute = self.attributes.get(id)
            known = attribute.domain if attribute is not None else Domain()
            members = self._members(id)
            if members is not None:
                known = finite(members, known.nullable, known.grid)
            self.domains[id] = known
        return known

    def _members(self, id: str) -> tuple[Value, ...] | None:
        """What a public table says that a column may hold; read only when something depends on it."""
        source, public = self.members_from.get(id), self.env.public
        if source is None or public is None:
            return None
        return public.column(*source) if isinstance(source, tuple) else public.query(source)

    def beside_public_values(self, value: Typed, learnt: Callable[[Sequence[Value], Domain], Domain | None]) -> Domain:
        """What an expression may be, given what is learnt from the values that public tables beside it hold; they are
        read only when something depends on it."""
        facts: dict[str, Domain] = {}
        for id in fields(value.term) & self.public_columns.keys():
            held = self.env.public.column(*self.public_columns[id]) if self.env.public is not None else None
            if held is not None:
                known = self.column_domain(id)
                fact = learnt([one for one in held if one in known], known)
                if fact is not None:
                    facts[id] = fact
        return self.domain_of(value.term, facts) if facts else value.domain

    def label(self, term: Scalar) -> Label:
        labels = [self.attributes[id].label for id in fields(term) if id in self.attributes]
        return max(labels, default=Label.PUBLIC)


@frozen
class Place:
    """Where an expression stands: what is in sight, what is known to hold, and what may be called."""

    context: Context
    scope: Scope
    facts: Mapping[str, Domain] = field(default_factory=dict)
    collector: Collector | None = None  # gathers aggregates and windows; None where there can be none
    clause: str = "an expression"
    aliases: Mapping[str, Typed] = field(default_factory=dict)  # select items by name, where a clause may use them
    alias_rule: Literal["first", "last"] = "last"  # whether a select item's name goes before a column's
    not_yet: Mapping[str, ast.Expr] = field(default_factory=dict)  # select items by name, where none may be used

    def knowing(self, facts: Mapping[str, Domain]) -> Place:
        return replace(self, facts={**self.facts, **facts}) if facts else self

    def domain(self, id: str) -> Domain:
        return self.facts.get(id) or self.context.column_domain(id)
