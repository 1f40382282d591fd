"""A scratch session for an audit: the policy's tables with invented rows, budgets that do not end, a ledger in memory.

No private file is opened. Public tables are read, as every check reads them; those whose files are not there have
invented rows. What is charged is charged to nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from privql.audit.exact import Through
from privql.audit.reference.values import Tables
from privql.diagnostics import Source
from privql.engines.interface import Computing, Querying, Term, scans
from privql.engines.interface import Source as Rows
from privql.kernel.events import Events
from privql.kernel.scalars import Value
from privql.kernel.terms import Scan
from privql.ledger import Ledger, Permit
from privql.names import fold
from privql.pipeline.apply import put_policy
from privql.pipeline.desk import Desk
from privql.pipeline.named import NamedReleases
from privql.pipeline.places import Places
from privql.pipeline.till import Till
from privql.policy.catalog import Budget, Catalog, Column, Grant, Table
from privql.policy.dummy import dummy_frame, frame_of

if TYPE_CHECKING:
    from privql.engines.duckdb import DuckDBEngine

Wrap = Callable[[Computing], Computing]
_ENDLESS = Fraction(2**20)  # no ledger takes more
_MOST_DELTA = Fraction(9, 10)


class Frozen(Ledger):
    """A ledger in which the noise stands still: what was drawn first on one database is what is drawn on the next."""

    draws: list[bytes]
    taken: int

    def freeze(self, draws: list[bytes]) -> None:
        self.draws, self.taken = draws, 0

    def draw(self, permit: Permit, step: int, spent: Mapping[str, Events], noisy: bytes) -> bytes:
        if self.taken == len(self.draws):
            self.draws.append(noisy)
        noisy = self.draws[self.taken]
        self.taken += 1
        return super().draw(permit, step, spent, noisy)


class Wrapped(Places):
    """Where the engine may be put into something that lies."""

    wrap: Wrap = staticmethod(lambda engine: engine)

    def engine(self, tables: Sequence[str]) -> Querying:
        engine = super().engine(tables)
        return Within(engine, self.wrap(engine))


class Within(Through):
    """An engine whose sums another one says."""

    def __init__(self, engine: Querying, says: Computing) -> None:
        super().__init__(says)
        self._true = engine

    def preflight(self, scans: Iterable[Scan]) -> None:
        self._true.preflight(scans)

    def rehearse(self, term: Term) -> None:
        self._true.rehearse(term)


class Scratch:
    """One analyst's statements on the rows given; `draws`: those of another one's, which this one's stand still at."""

    def __init__(
        self,
        policy: Source,
        catalog: Catalog,
        base: Path,
        analyst: str,
        tables: Tables,
        wrap: Wrap | None = None,
        draws: list[bytes] | None = None,
    ) -> None:
        self.catalog = alone(catalog, base, analyst)
        self.ledger = Frozen.create(":memory:")
        self.draws: list[bytes] = [] if draws is None else draws
        self.ledger.freeze(self.draws)
        version = put_policy(self.ledger, self.catalog, policy, base)
        frames = frames_of(self.catalog, tables)
        self.places = Wrapped(
            self.catalog, base, frames, False, self.ledger, lambda: NamedReleases(self.ledger, analyst)
        )
        if wrap is not None:
            self.places.wrap = wrap
        self.till = Till(self.ledger, self.catalog, analyst, version, self.places, False)
        self.desk = Desk(self.ledger, analyst, version, self.places, lambda name: self.till.named().stored(name))

    def close(self) -> None:
        self.places.close()
        self.ledger.close()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def alone(catalog: Catalog, base: Path, analyst: str) -> Catalog:
    """The policy without its data, and with budgets that neither end nor are closed to who asks."""
    tables = [
        table if not table.private and _there(table, base) else replace(table, files=(), connection=())
        for table in catalog.tables
    ]
    budgets, grants = [], []
    for unit in catalog.units:
        own = [budget for budget in catalog.budgets if fold(budget.unit) == fold(unit.name)]
        own = own or [Budget("audit", unit.name, _ENDLESS, _MOST_DELTA)]
        granted = {budget.name: _granted(budget, analyst, catalog) for budget in own}
        if all(found is None for found in granted.values()):
            granted = {name: Fraction(1) for name in granted}
        for budget in own:
            share = granted[budget.name]
            delta = budget.default_delta if budget.default_delta is not None else budget.delta * (share or 1) / 100
            budgets.append(replace(
                budget, epsilon=_ENDLESS, delta=_MOST_DELTA, default_delta=delta or None, max_epsilon=None, every=None,
                raises=(),
            ))  # fmt: skip
            if share is not None:
                grants.append(Grant(budget.name, analyst))
    return replace(catalog, tables=tuple(tables), budgets=tuple(budgets), grants=tuple(grants), padded=None)


def _there(table: Table, base: Path) -> bool:
    """Whether the rows of a public table are in files that are there. A database is not asked."""
    from privql.engines.duckdb.sources import paths

    return not table.connection and bool(paths(Rows(files=tuple(str(base / file) for file in table.files))))


def _granted(budget: Budget, analyst: str, catalog: Catalog) -> Fraction | None:
    """Which part of its δ this analyst may spend; None where it is closed to them."""
    grants = [grant for grant in catalog.grants if fold(grant.budget) == fold(budget.name)]
    if not grants:
        return Fraction(1)
    for grant in grants:
        if grant.analyst == analyst:
            return Fraction(1) if grant.delta is None or not budget.delta else grant.delta / budget.delta
    return None


@contextmanager
def one_engine(catalog: Catalog, terms: Sequence[Term]) -> Iterator[Callable[[Tables], DuckDBEngine]]:
    """With those private tables that the terms read, of one small database after another."""
    from privql.engines.duckdb import DuckDBEngine

    names = {table for term in terms for scan in scans(term.input) for table in scan.tables}
    read = [table for table in catalog.tables if table.name in names]
    with DuckDBEngine({}, threads=1) as engine:

        def over(tables: Tables) -> DuckDBEngine:
            engine.read_instead({table.name: frame_with(table, tables) for table in read})
            return engine

        yield over


def frames_of(catalog: Catalog, tables: Tables) -> dict[str, object]:
    """A frame for each table that has no file: the rows given, or none; of a public table, invented ones."""
    out: dict[str, object] = {}
    for table in catalog.tables:
        if table.private:
            out[table.name] = frame_with(table, tables)
        elif not table.files:
            out[table.name] = dummy_frame(table, catalog)
    return out


def frame_with(table: Table, tables: Tables) -> object:
    rows = tables.get(table.name, [])
    return frame_of(table, [[row.get(column.name) for column in table.columns] for row in rows])


def public_values(places: Places) -> Callable[[Column], Sequence[Value] | None]:
    return partial(_values, places)


def _values(places: Places, column: Column) -> Sequence[Value] | None:
    source = column.values_from
    if source is None:
        return None
    with suppress(Exception):
        return places.column(*source) if isinstance(source, tuple) else places.query(source)
    return None
