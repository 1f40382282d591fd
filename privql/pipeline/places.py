"""Where rows come from: the engine over private sources, and the one over public tables that never sees those."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from privql.check.env import Env
from privql.check.query import checked
from privql.check.typed import Context
from privql.diagnostics import PrivQLError, Source
from privql.engines.connections import Connections
from privql.engines.interface import Engine, EngineError, Querying
from privql.engines.opening import Engines
from privql.finish.table import Table
from privql.kernel.scalars import Value
from privql.kernel.sums import Keys
from privql.kernel.terms import Scan, Unit
from privql.ledger import Ledger
from privql.pipeline.apply import fingerprint, put_policy
from privql.pipeline.named import NamedReleases
from privql.pipeline.policies import OwnersLog, bindings, engines, read_policy
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog, Column
from privql.policy.catalog import Table as Declared
from privql.policy.dummy import dummy_frame, dummy_rows
from privql.policy.findings import accepted
from privql.syntax import ast

if TYPE_CHECKING:
    from privql.post.run import PostProcessor


NO_CONNECTIONS = Connections()


def scratch(policy: str | os.PathLike[str] | Source, base: Path | None = None) -> tuple[Ledger, Catalog, Path, int]:
    """A ledger in memory that holds this policy, unverified until data is read."""
    if isinstance(policy, Source):
        source, folder = policy, base or Path.cwd()
    else:
        source, folder = read_policy(policy if isinstance(policy, str) else Path(policy))
    catalog = accepted(*build_catalog(source))
    ledger = Ledger.create(":memory:")
    version = put_policy(ledger, catalog, source, folder)
    return ledger, catalog, folder, version


class Places:
    """What a session reads, each opened when it is first needed."""

    def __init__(
        self,
        catalog: Catalog,
        base: Path,
        frames: Mapping[str, object],
        dummy: bool,
        ledger: Ledger,
        named: Callable[[], NamedReleases],
        connections: Connections = NO_CONNECTIONS,
    ) -> None:
        self._catalog, self._dummy, self._ledger, self._named = catalog, dummy, ledger, named
        self._connections, self._note = connections, OwnersLog()
        self._bound = bindings(catalog, base, frames, connections)
        self._held: dict[str, str | None] = {}  # tables whose keys this session verified, and in which files
        self._columns: dict[tuple[str, str], tuple[str | None, tuple[Value, ...] | None]] = {}
        self._alike: dict[tuple[str, tuple[str, ...]], tuple[str | None, int]] = {}
        self._opened: dict[str, dict[str, str | None]] = {}  # what the engine of each place found when it was opened
        self._copies: dict[str, tuple[str | None, Table]] = {}  # public tables of databases, and of which files
        self._invented: Engine | None = None
        self._engines: Engines | None = None
        self._post: PostProcessor | None = None

    def engine(self, tables: Sequence[str]) -> Querying:
        """The private tables, until `let_go` in one state where their engine can hold it. What a proof takes from the
        owner's word is held against the data first."""
        if self._dummy:
            self._invented = self._invented or self._dummies()
            return self._invented
        engines = self._read()
        engines.steady()
        for name in tables:
            self._hold(name, engines)
        return engines

    def let_go(self) -> None:
        """Whatever is read next may have changed."""
        if self._engines is not None:
            self._engines.let_go()

    def held(self, tables: Sequence[str]) -> bool:
        """Whether `engine` would read no row, since these files were held against the policy."""
        bound = [table for table in self._catalog.tables if table.name in tables and table.name in self._bound]
        return self._dummy or all(self._is_held(table, fingerprint(self._bound[table.name])) for table in bound)

    def unmoved(self, tables: Sequence[str]) -> bool:
        """Whether the files are still those that were held against the policy before the query ran."""
        return self._dummy or all(
            fingerprint(self._bound[name]) == self._held[name] for name in tables if name in self._held
        )

    def stated(self, tables: Sequence[str]) -> bool:
        """Whether these are the files that were there when the owner last applied a policy and stated the data's
        version. Nobody states one of frames."""
        if self._dummy or not all(name in self._bound for name in tables):
            return False
        try:
            found = [(fingerprint(self._bound[name]), self._ledger.verified(name)) for name in tables]
        except (OSError, EngineError):
            return False
        return all(files is not None and files == known for files, known in found)

    def post(self) -> PostProcessor:
        if self._post is None:
            from privql.post.run import PostProcessor

            public = {
                t.name: self._bound[t.name] for t in self._catalog.tables if not t.private and t.name in self._bound
            }
            types = {t.name: tuple((c.name, c.type) for c in t.columns) for t in self._catalog.tables if not t.private}
            behind = {t.name: partial(self._copy, t) for t in self._catalog.tables if not t.private and t.connection}
            self._post = PostProcessor(public, types, self._note, behind)
        return self._post

    def dummy(self, table: str) -> Table:
        """Invented rows, for FROM DUMMY."""
        found = self._catalog.table(table)
        assert found is not None
        rows = dummy_rows(found, self._catalog, public_values=self._values_of)
        return Table(tuple((column.name, column.type) for column in found.columns), rows)

    def owner_log(self, cause: BaseException) -> None:
        """Takes what went wrong, for `trouble`."""
        self._note(cause)

    def trouble(self) -> str:
        """What was truly said of the last failure. It may quote rows: for the owner alone, and once."""
        return self._note.taken()

    # ---- what the checker asks

    def column(self, table: str, column: str) -> tuple[Value, ...] | None:
        """A public column's values, read again when its files change."""
        try:
            files = fingerprint(self._bound[table]) if table in self._bound else None
            known = self._columns.get((table, column))
            if known is not None and known[0] == files:
                return known[1]
            values = self.post().distinct_values(table, column)
        except (EngineError, OSError):
            return None
        self._columns[table, column] = files, values
        return values

    def query(self, query: ast.Query) -> tuple[Value, ...] | None:
        """The values of a query over public tables and answers that are there, as KEYS (SELECT …) has it."""
        from privql.pipeline.request import read_by

        named = self._named()
        try:
            made = checked(query, Context(Env(self._catalog, releases=named)))
            if made.blocks or len(made.columns) != 1:
                return None
            released = {name: named.answer(name).table for name in read_by(made)}
            rows = self.post().run(made, (), released).rows
        except (EngineError, PrivQLError):
            return None
        return tuple(dict.fromkeys(row[0] for row in rows if row[0] is not None))

    def most_alike(self, table: str, columns: tuple[str, ...]) -> int | None:
        """How many rows of a public table have the same values in these columns, at most."""
        try:
            files = fingerprint(self._bound[table]) if table in self._bound else None
            known = self._alike.get((table, columns))
            if known is not None and known[0] == files:
                return known[1]
            found = self.post().most_alike(table, columns)
        except (EngineError, OSError):
            return None
        self._alike[table, columns] = files, found
        return found

    def close(self) -> None:
        for part in (self._invented, self._engines, self._post):
            if part is not None:
                part.close()
        self._invented = self._engines = self._post = None

    # ---- inside

    def _read(self) -> Engines:
        """The engines of all places but files of public tables. Where files changed they are opened anew: columns are
        known by place, and types by look."""
        read = [t for t in self._catalog.tables if t.name in self._bound and (t.private or t.connection)]
        if self._engines is None:
            rows = {table.name: self._bound[table.name] for table in read}
            self._engines = engines(self._catalog, rows, self._connections, self._note)
        for place in {table.place for table in read}:
            found = {table.name: fingerprint(self._bound[table.name]) for table in read if table.place == place}
            if self._opened.setdefault(place, found) != found:
                self._engines.forget(place)
                self._opened[place] = found
        return self._engines

    def _copy(self, table: Declared) -> Table:
        """A public table of a database: all of its rows, which anybody may know, in an order of their own."""
        files = fingerprint(self._bound[table.name])
        if table.name not in self._copies or self._copies[table.name][0] != files:
            engine, columns = self._read(), tuple((column.name, column.type) for column in table.columns)
            scan = Scan(table.name, Unit("row"), None, False, columns)
            engine.preflight([scan])
            found = engine.groups(Keys(scan, columns), b"")
            rows = tuple(values for values, times in found for _ in range(times))
            self._copies[table.name] = files, Table(columns, rows)
        return self._copies[table.name][1]

    def _values_of(self, column: Column) -> Sequence[Value] | None:
        source = column.values_from
        if source is None:
            return None
        return self.column(*source) if isinstance(source, tuple) else self.query(source)

    def _dummies(self) -> Engine:
        from privql.engines.duckdb import DuckDBEngine
        from privql.engines.interface import Source as Rows

        frames = {
            table.name: Rows(frame=dummy_frame(table, self._catalog, public_values=self._values_of))
            for table in self._catalog.tables
            if table.private
        }
        return DuckDBEngine(frames, owner_log=self._note)

    def _is_held(self, table: Declared, files: str | None) -> bool:
        """A database whose state nothing tells is held against the policy by each query."""
        seen = table.name in self._held and self._held[table.name] == files
        known = files is not None and files == self._ledger.verified(table.name)
        return known or (seen and not (table.connection and files is None))

    def _hold(self, name: str, engine: Engine) -> None:
        """What every answer relies on: each value can be read, and a unit that is a key has one row.

        Verified at apply, and again by each query if the files changed since, or if nothing tells whether the rows did,
        as on a server: a row that breaks it must be refused before anything is charged, and is the owner's to mend.
        """
        table = self._catalog.table(name)
        assert table is not None
        if name not in self._bound:
            return
        files = fingerprint(self._bound[name])
        if self._is_held(table, files):
            self._held[name] = files
            return
        keys = [
            tuple((column.name, column.type) for column in table.columns if column.name in key) for key in table.keys
        ]
        sound = engine.readable(name, tuple((column.name, column.type) for column in table.columns))
        never = tuple((column.name, column.type) for column in table.never_null)
        if (
            not sound
            or not all(engine.unique(name, key) for key in keys)
            or (never and not engine.complete(name, never))
        ):
            raise EngineError(
                "frame unlike its policy" if files is None and not table.connection else "unlike its policy", name
            )
        self._held[name] = files
