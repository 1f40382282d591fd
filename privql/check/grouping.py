"""The aggregates and windows of one SELECT: collected where they are written, computed once, referred to by column."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from privql.check.inside import read_inside, replaced
from privql.check.relations import Aggregate, AggregateCall, Attribute, Label, WindowCall
from privql.check.typed import Context, Place, Typed
from privql.diagnostics import Span, refuse
from privql.domains import Domain
from privql.frozen import frozen
from privql.kernel.scalars import Field, Scalar, ValueType


@frozen
class Key:
    """A grouping expression over the input, and the column that stands for it above the grouping."""

    id: str
    value: Typed
    name: str


@dataclass
class Elements:
    """The rows that every group has where an aggregate's answer is several of them, numbered from 1."""

    number: Field
    count: int
    span: Span
    known: dict[tuple[Scalar, ...], Field] = field(default_factory=dict)  # columns that say what each row is of


@dataclass
class Collector:
    """`input`: where arguments of aggregates are checked. `private`: the rows below are, so aggregates are measured -
    unless they are `gathered`, because the keys tell the unit: then the groups are private rows again."""

    context: Context
    input: Place
    private: bool
    grouped: bool
    keys: list[Key] = field(default_factory=list)
    exact: dict[AggregateCall, str] = field(default_factory=dict)
    measured: dict[tuple[object, ...], Aggregate] = field(default_factory=dict)
    windows: dict[WindowCall, str] = field(default_factory=dict)
    groupings: dict[tuple[int, ...], str] = field(default_factory=dict)
    rolled_up: bool = False  # some grouping set leaves a key out
    gathered: bool = False
    features: dict[tuple[object, ...], Aggregate] = field(default_factory=dict)
    rows_per_unit: int | None = None  # by the owner's declaration, where rows are those of one table
    elements: Elements | None = None  # if each group has several rows

    def aggregate(self, call: AggregateCall, domain: Domain) -> Field:
        id = self.exact.get(call)
        if id is None:
            id = self.column(call.function, call.type, domain)
            self.exact[call] = id
        return Field(id, call.type)

    def window(self, call: WindowCall, domain: Domain) -> Field:
        id = self.windows.get(call)
        if id is None:
            id = self.column(call.call.function, call.call.type, domain)
            self.windows[call] = id
        return Field(id, call.call.type)

    def release(self, key: tuple[object, ...], aggregate: Aggregate, domain: Domain) -> Field:
        """An aggregate that occurs twice is measured once."""
        known = self.measured.get(key)
        if known is None:
            known = aggregate
            self.measured[key] = aggregate
            self.context.add(Attribute(aggregate.id, aggregate.function, aggregate.type, domain, Label.RELEASED))
        return Field(known.id, known.type)

    def feature(self, key: tuple[object, ...], aggregate: Aggregate, domain: Domain) -> Field:
        known = self.features.setdefault(key, aggregate)
        if known is aggregate:
            self.context.add(Attribute(aggregate.id, aggregate.function, aggregate.type, domain, Label.PRIVATE))
        return Field(known.id, known.type)

    def column(self, name: str, type: ValueType, domain: Domain) -> str:
        return self.context.add(Attribute(self.context.fresh(), name, type, domain, self.label)).id

    @property
    def label(self) -> Label:
        """Of what is computed from many rows: as secret as the rows are, once they are released."""
        if self.private:
            return Label.PRIVATE if self.gathered else Label.RELEASED
        return max((column.label for column in self.input.scope.every_column()), default=Label.PUBLIC)

    def above(self, value: Typed) -> Typed:
        """The expression as it reads above the grouping: keys by their columns, and nothing else of the input."""
        if not self.grouped:
            return value
        term = replaced(value.term, {key.value.term: Field(key.id, key.value.type) for key in self.keys}, self.context)
        read = read_inside(term, self.context)
        for column in self.input.scope.every_column():
            if column.id in read:
                self.refuse_ungrouped(column.id, value.span)
        return replace(value, term=term, domain=self.context.domain_of(term, {}))

    def refuse_ungrouped(self, id: str, span: Span) -> None:
        name = self.context.attributes[id].name
        raise refuse(
            "PQL0306",
            f"`{name}` is neither a group key nor inside an aggregate",
            self.context.used.get(id, span),
            why="a group has many rows, and so many values of it",
            help=f"add `{name}` to GROUP BY, or aggregate it",
        )
