"""The connection: opened shut in, asked one statement at a time, and silent about why it failed."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from privql.engines.duckdb import session
from privql.engines.duckdb.databases import attached, table_of_database
from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.duckdb.rehearsal import planned, without_rows
from privql.engines.duckdb.sources import described, exposed, paths, read_scan, strictly, table_of_files
from privql.engines.interface import NO_PUBLICS, Cells, EngineError, ErrorKind, Publics, Source, scans
from privql.engines.sql.cells import cells
from privql.engines.sql.emit import Statement, emit
from privql.engines.sql.expressions import name as quoted
from privql.engines.sql.groups import Groups, GroupStatement, emit_groups, groups
from privql.engines.sql.members import Arrays
from privql.engines.sql.publics import NoRows, arrays
from privql.engines.sql.ranks import Buckets, Found, RankStatement, emit_histogram, emit_ranks, narrowed, near_values
from privql.engines.sql.references import read_along, read_by
from privql.engines.sql.relations import Names, Rows
from privql.engines.sql.statements import Asked, Term, lacking, rehearsed, statement_for, twins
from privql.engines.sql.stored import Table, settled
from privql.kernel.ranks import Ranked, Ranks
from privql.kernel.scalars import Value, ValueType
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Public, Scan, Unit

_T = TypeVar("_T")

OwnerLog = Callable[[BaseException], None]
Columns = tuple[tuple[str, ValueType], ...]

# With it 50 million rows stay within 1 GB, what is more going to disk; more was measured to be no faster.
MEMORY = "800MB"


class DuckDBEngine:
    """Reads the sources given, and nothing else of the machine.

    Every failure inside DuckDB becomes one constant `EngineError`, without its text, which may quote rows; `owner_log`
    is handed the true one. Statements run one after another, from whichever thread.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        threads: int | None = None,
        memory_limit: str = MEMORY,
        owner_log: OwnerLog | None = None,
        optimizer: bool = True,
    ) -> None:
        import duckdb

        self._sources = dict(sources)
        self._files = {table: paths(source) for table, source in self._sources.items() if source.frame is None}
        self._tables: dict[str, Table] = {}
        self._owner_log = owner_log
        self._turn = threading.Lock()
        self._folder = tempfile.mkdtemp(prefix="privql-")  # only its owner may enter
        self._connection = duckdb.connect(config={"temp_directory": self._folder})
        session.give_meaning(self._connection)
        self._statistics = False
        own: dict[str, object] = {"preserve_insertion_order": False}  # no answer depends on it, and it costs memory
        session.put(self._connection, own if threads is None else {**own, "threads": threads})
        self._connection.execute("SET memory_limit = ?", [memory_limit])
        if not optimizer:
            self._connection.execute("PRAGMA disable_optimizer")
        self._databases = attached(self._connection, self._sources.values())
        files = {file for table, files in self._files.items() if not self._sources[table].inside for file in files}
        session.shut_in(self._connection, files, self._databases)

    def preflight(self, scans: Iterable[Scan]) -> None:
        """Raise an `EngineError` that names the table and column if a source or a column is not there."""
        for name, columns in (read for scan in scans for read in read_by(scan)):
            table = self._safely(partial(self._table, name), "unreadable source", name)
            for column in columns:
                if table.columns and table.column(column) is None:
                    raise EngineError("missing column", name, column)

    def rehearse(self, term: Term) -> None:
        """Raise an `EngineError` if no statement computes it, or the engine cannot plan that one: no row is read."""
        if not isinstance(term, Sums) or 0 not in (term.groups, term.width):
            self._safely(lambda: self._rehearse(term), "unsupported")

    def emit(self, term: Term, salt: bytes = b"") -> str:
        """The statement that `run`, `groups` or `ranks` would run, for the owner's eyes."""
        return self._safely(lambda: statement_for(term, self._read, salt, DUCKDB).sql)

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> Groups:
        """The groups there are, in the order of their values, NULL last; and how many rows each has."""
        return self._safely(lambda: self._groups(keys, emit_groups(keys, self._read, salt, DUCKDB), publics))

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        """The values of each group near the wanted rank, in order, one group after the other as in `run`."""
        return self._safely(lambda: self._ranks(ranks, salt, publics))

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        """The exact cells: one row a group, in the order of `itertools.product` of the keys' members."""
        if 0 in (sums.groups, sums.width):
            return np.zeros((sums.groups, sums.width), dtype=np.int64)
        return self._safely(lambda: self._ask(sums, emit(sums, self._read, salt, DUCKDB), publics))

    def readable(self, table: str, columns: tuple[tuple[str, ValueType], ...]) -> bool:
        """For the owner: whether every stored value of these columns can be read, if only as NULL."""
        scan = Scan(table, Unit("row"), None, False, columns)
        try:
            self.preflight([scan])
            self._safely(lambda: self._read_all(scan))
        except EngineError as error:
            if error.kind in ("failed", "unreadable source"):
                return False
            raise
        return True

    def unique(self, table: str, columns: tuple[tuple[str, ValueType], ...]) -> bool:
        """For the owner: whether no two rows agree in these columns, rows with a NULL among them left aside."""
        return self._never(table, columns, twins)

    def complete(self, table: str, columns: tuple[tuple[str, ValueType], ...]) -> bool:
        """For the owner: whether every row has a value in each of these columns."""
        return self._never(table, columns, lacking)

    def hold(self, table: str, columns: Columns, rows: list[dict[str, Value]]) -> None:
        """A table of these values, in this engine's memory."""
        relation = quoted(f"held {table}")
        listed = ", ".join(f"{quoted(column)} {DUCKDB.type_name(type)}" for column, type in columns)
        self._connection.execute(f"CREATE TABLE {relation} ({listed})")
        for at in range(0, len(rows), 50):
            written = (
                ", ".join(_constant(row[column], type) for column, type in columns) for row in rows[at : at + 50]
            )
            self._connection.execute(f"INSERT INTO {relation} VALUES {', '.join(f'({row})' for row in written)}")
        self._sources[table] = Source()
        self._tables[table] = Table(relation, described(self._connection, relation))

    def interrupt(self) -> None:
        self._connection.interrupt()

    def progress(self) -> float | None:
        """For the owner, from another thread: which part of the running statement is done. It follows from rows."""
        try:
            done = self._connection.query_progress()
        except Exception:  # it has just been closed
            return None
        return done / 100 if done >= 0 else None

    def close(self) -> None:
        with self._turn:
            self._connection.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> DuckDBEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inside

    def _rehearse(self, term: Term) -> None:
        with without_rows(self._connection, scans(term.input), self._table) as tables:

            def read(scan: Scan, names: Names) -> Rows:
                return read_along(scan, lambda one, names: read_scan(one, tables[one.table], names), names)

            for statement in rehearsed(term, read, DUCKDB):
                given = {} if isinstance(statement, GroupStatement) else statement.arrays
                publics = {public.name: NoRows(public.columns) for public in statement.publics}
                with self._beside(given, statement.publics, publics):
                    self._consult_statistics(term, statement)  # of tables without rows they say nothing
                    planned(self._connection, statement.sql)

    def _ask(self, sums: Sums, statement: Statement, publics: Publics) -> Cells:
        with self._beside(statement.arrays, statement.publics, publics):
            self._consult_statistics(sums, statement)
            found: Mapping[str, Any] = self._connection.execute(statement.sql).fetchnumpy()
            return cells(sums, statement, found)

    def _groups(self, keys: Keys, statement: GroupStatement, publics: Publics) -> Groups:
        with self._beside({}, statement.publics, publics):
            self._consult_statistics(keys, statement)
            return groups(self._connection.execute(statement.sql).fetchall())

    def _ranks(self, ranks: Ranks, salt: bytes, publics: Publics) -> list[Ranked]:
        def found(statement: RankStatement) -> Found:
            with self._beside(statement.arrays, statement.publics, publics):
                self._consult_statistics(ranks, statement)
                return self._connection.execute(statement.sql).fetchnumpy()

        def histogram(buckets: Buckets) -> Found | None:
            statement = emit_histogram(ranks, self._read, salt, buckets, DUCKDB)
            return None if statement is None else found(statement)

        near = narrowed(ranks, histogram)
        return near_values(ranks, found(emit_ranks(ranks, self._read, salt, DUCKDB))) if near is None else near

    @contextmanager
    def _beside(self, given: Mapping[str, Arrays], named: Mapping[Public, str], publics: Publics) -> Iterator[None]:
        """While what a statement reads beside its sources is registered."""
        registered = {**given, **{name: arrays(public, publics) for public, name in named.items()}}
        try:
            for name, columns in registered.items():
                self._connection.register(name, dict(columns))
            yield
        finally:
            for name in registered:
                self._connection.unregister(name)

    def _consult_statistics(self, term: Term, statement: Asked) -> None:
        """Where all rows are of one table and meet no others."""
        (first, *others) = scans(term.input)
        wanted = not (others or first.via or statement.publics)
        if wanted != self._statistics:
            session.consult_statistics(self._connection, wanted)
            self._statistics = wanted

    def _read(self, scan: Scan, names: Names) -> Rows:
        return read_along(scan, lambda one, names: read_scan(one, self._table(one.table), names), names)

    def _read_all(self, scan: Scan) -> None:
        table = self._table(scan.table)
        rows = read_scan(scan, replace(table, relation=strictly(table.relation)), Names())
        # a count would be taken from the file's statistics, and read no value
        read = ", ".join(f"bit_xor(hash({column.spelled.sql}))" for column in rows.columns.values())
        self._connection.execute(f"SELECT {read} FROM ({rows.sql(read)})").fetchall()

    def _never(self, table: str, columns: tuple[tuple[str, ValueType], ...], such: Callable[[list[str]], str]) -> bool:
        """Whether there are no such rows, said of the columns as values of the language: NaN is none."""
        scan = Scan(table, Unit("row"), None, False, columns)
        self.preflight([scan])

        def found() -> list[Any]:
            rows = self._read(scan, Names())
            which = such([settled(column.spelled, DUCKDB) for column in rows.columns.values()])
            return self._connection.execute(f"SELECT 1 FROM ({rows.sql(which)}) {which} LIMIT 1").fetchall()

        return not self._safely(found)

    def _table(self, table: str) -> Table:
        """A source and its columns, looked at once; that its files are there, each time."""
        files = self._files.get(table, [])
        if table not in self._sources or (table in self._files and not (files and all(map(os.path.isfile, files)))):
            raise EngineError("missing source", table)
        if exposed(files):
            raise EngineError("exposed source", table)
        if table not in self._tables:
            if inside := self._sources[table].inside:
                self._tables[table] = table_of_database(self._connection, table, self._databases.get(files[0]), inside)
            elif files:
                self._tables[table] = table_of_files(self._connection, table, files)
            else:
                frame = f"frame_{len(self._tables)}"
                self._connection.register(frame, self._sources[table].frame)
                self._tables[table] = Table(frame, described(self._connection, frame))
        return self._tables[table]

    def _safely(self, work: Callable[[], _T], kind: ErrorKind = "failed", table: str | None = None) -> _T:
        """One at a time; what goes wrong is said in words that no row can change, and keeps no trace of its cause."""
        try:
            with self._turn:
                return work()
        except EngineError:
            raise
        except Exception as cause:
            interrupted = _by_hand(cause)
            if self._owner_log is not None and not interrupted:
                self._owner_log(cause)
        raise KeyboardInterrupt if interrupted else EngineError(kind, table)  # outside: else the cause is its context


def _constant(value: Value, type: ValueType) -> str:
    """A constant; NaN and infinities, which are no values, as what a column may hold."""
    if isinstance(value, float) and not isfinite(value):
        return f"CAST('{value}' AS DOUBLE)"
    return DUCKDB.literal(value, type).sql


def _by_hand(cause: BaseException) -> bool:
    """Ctrl-C while DuckDB works: it tells of it by no class of its own."""
    return type(cause) is RuntimeError and str(cause) == "Query interrupted"
