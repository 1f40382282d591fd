"""What a query is checked against: the catalog, the settings, parameters, and releases promised by earlier lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, Protocol

from privql.diagnostics import Span
from privql.domains import Domain
from privql.frozen import frozen
from privql.kernel.scalars import Value, ValueType
from privql.names import fold
from privql.policy.catalog import Catalog
from privql.syntax import ast

USUAL = Fraction(95, 100)  # how sure an error is that is told, where nobody says
MOST_GROUPS = 1_000_000


class PublicValues(Protocol):
    """Where the checker learns what a public table holds; None when that cannot be read here."""

    def column(self, table: str, column: str) -> tuple[Value, ...] | None: ...

    def query(self, query: ast.Query) -> tuple[Value, ...] | None: ...

    def most_alike(self, table: str, columns: tuple[str, ...]) -> int | None:
        """How many rows of a public table have the same values in these columns, at most."""


@frozen
class ReleaseColumn:
    name: str
    type: ValueType
    domain: Domain


@frozen
class ReleaseSchema:
    """A named release, run or promised: what later lines may read."""

    name: str
    columns: tuple[ReleaseColumn, ...]
    alike: Callable[[frozenset[str]], int | None] | None = None  # how many rows agree in these columns, at most
    poisoned: bool = False  # its statement failed: dependants stay silent
    gone: str = ""  # that it was forgotten, and when
    growing: bool = False  # all runs so far of one that is made again and again
    made: object = field(default=None, repr=False, compare=False)  # how an earlier line will measure it


@frozen
class Defaults:
    """What the budgets that would pay say of queries that say nothing: by unit."""

    epsilon: Mapping[str, Fraction]
    delta: Mapping[str, Fraction]
    granted: bool = True  # whether the one that was chosen is open to who asks


@frozen
class Settings:
    """What SET changes, for the session."""

    epsilon: Fraction | None = None
    budget: str | None = None


NO_SETTINGS = Settings()


@frozen
class Cart:
    """What is open between BEGIN and COMMIT. Each BEGIN makes one, told from others by its identity."""

    span: Span
    delta: Fraction | None  # how much δ its plan may take
    before: Env  # what ROLLBACK returns to


@frozen
class Env:
    catalog: Catalog
    params: Mapping[str, object] = field(default_factory=dict)
    releases: Mapping[str, ReleaseSchema] = field(default_factory=dict)
    settings: Settings = NO_SETTINGS
    public: PublicValues | None = None
    default_epsilon: Mapping[str, Fraction] = field(default_factory=dict)  # by unit, of the budget that would pay
    default_delta: Mapping[str, Fraction] = field(default_factory=dict)  # by unit, for groups that nobody listed
    closed: Mapping[str, str] = field(default_factory=dict)  # by unit that no budget is open for: to whom
    promised: frozenset[str] = frozenset()  # releases that earlier lines of this text define
    cart: Cart | None = None
    standing: Mapping[str, Fraction] = field(default_factory=dict)  # by release that is made again: the ε of a run
    defaults: Callable[[str], Defaults] | None = None  # those of a budget that SET chooses
    earlier: Callable[[str, Span, Env], Any] | None = None  # a release that was answered, and how it was asked

    def release(self, name: str) -> ReleaseSchema | None:
        return self.releases.get(fold(name))

    def promising(self, schema: ReleaseSchema) -> Env:
        name = fold(schema.name)
        return replace(self, releases=Promised(schema, self.releases), promised=self.promised | {name})


class Promised(Mapping[str, ReleaseSchema]):
    """One more release than there were; the others are looked up only when they are asked for."""

    def __init__(self, schema: ReleaseSchema, others: Mapping[str, ReleaseSchema]) -> None:
        self._name, self._schema, self._others = fold(schema.name), schema, others

    def __getitem__(self, name: str) -> ReleaseSchema:
        return self._schema if name == self._name else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter({self._name, *self._others})

    def __len__(self) -> int:
        return len({self._name, *self._others})
