"""The connection: opened shut in, and asked one statement at a time."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from math import isfinite
from typing import Any

from privql.engines.duckdb import session
from privql.engines.duckdb.databases import attached, table_of_database
from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.duckdb.rehearsal import planned, without_rows
from privql.engines.duckdb.sources import described, exposed, paths, read_scan, strictly, table_of_files
from privql.engines.interface import Columns, EngineError, ErrorKind, OwnerLog, Source, Term, scans
from privql.engines.sql.emit import Statement
from privql.engines.sql.engine import SqlEngine, registered
from privql.engines.sql.expressions import name as quoted
from privql.engines.sql.groups import GroupStatement
from privql.engines.sql.members import Arrays
from privql.engines.sql.ranks import Found, RankStatement
from privql.engines.sql.relations import Names, ReadScan, Rows
from privql.engines.sql.statements import Asked
from privql.engines.sql.stored import Table
from privql.kernel.scalars import Value, ValueType
from privql.kernel.terms import Scan

# With it 50 million rows stay within 1 GB, what is more going to disk; more was measured to be no faster.
MEMORY = "800MB"


class DuckDBEngine(SqlEngine):
    """Reads the sources given, and nothing else of the machine."""

    dialect = DUCKDB

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

        super().__init__(owner_log)
        self._sources = dict(sources)
        self._files = {table: paths(source) for table, source in self._sources.items() if source.frame is None}
        self._tables: dict[str, Table] = {}
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

    def read_instead(self, frames: Mapping[str, object]) -> None:
        """These tables, and no others from here on: to open one engine for each small database would take longest."""
        self._sources = {table: Source(frame=frame) for table, frame in frames.items()}
        self._files.clear()
        self._tables.clear()

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

    # ---- inside

    def _look(self, table: str) -> Table:
        return self._safely(lambda: self._table(table), "unreadable source", table)

    def _read_scan(self, scan: Scan, table: Table, names: Names) -> Rows:
        return read_scan(scan, table, names)

    @contextmanager
    def _without_rows(self, term: Term) -> Iterator[ReadScan]:
        with without_rows(self._connection, scans(term.input), self._table) as tables:
            yield self._reading(tables.__getitem__)

    def _plan(self, term: Term, statement: Asked, given: Mapping[str, Arrays]) -> None:
        with self._beside(given):
            self._consult_statistics(term, statement)  # of tables without rows they say nothing
            planned(self._connection, statement.sql)

    def _numbers(self, term: Term, statement: Statement | RankStatement, given: Mapping[str, Arrays]) -> Found:
        with self._beside(given):
            self._consult_statistics(term, statement)
            found: Found = self._connection.execute(statement.sql).fetchnumpy()
            return found

    def _rows(self, term: Term, statement: GroupStatement, given: Mapping[str, Arrays]) -> Iterable[tuple[Any, ...]]:
        with self._beside(given):
            self._consult_statistics(term, statement)
            return self._connection.execute(statement.sql).fetchall()

    def _any(self, sql: str) -> bool:
        return bool(self._connection.execute(sql).fetchall())

    def _beside(self, given: Mapping[str, Arrays]) -> AbstractContextManager[None]:
        def register(name: str, columns: Arrays) -> None:
            self._connection.register(name, dict(columns))

        return registered(given, register, self._connection.unregister)

    def _consult_statistics(self, term: Term, statement: Asked) -> None:
        """Where all rows are of one table and meet no others."""
        (first, *others) = scans(term.input)
        wanted = not (others or first.via or statement.publics)
        if wanted != self._statistics:
            session.consult_statistics(self._connection, wanted)
            self._statistics = wanted

    def _read_all(self, scan: Scan) -> None:
        table = self._table(scan.table)
        rows = read_scan(scan, replace(table, relation=strictly(table.relation)), Names())
        # a count would be taken from the file's statistics, and read no value
        read = ", ".join(f"bit_xor(hash({column.spelled.sql}))" for column in rows.columns.values())
        self._connection.execute(f"SELECT {read} FROM ({rows.sql(read)})").fetchall()

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

    def _failed(self, cause: Exception, kind: ErrorKind, table: str | None) -> BaseException:
        return KeyboardInterrupt() if _by_hand(cause) else super()._failed(cause, kind, table)


def _constant(value: Value, type: ValueType) -> str:
    """A constant; NaN and infinities, which are no values, as what a column may hold."""
    if isinstance(value, float) and not isfinite(value):
        return f"CAST('{value}' AS DOUBLE)"
    return DUCKDB.literal(value, type).sql


def _by_hand(cause: BaseException) -> bool:
    """Ctrl-C while DuckDB works: it tells of it by no class of its own."""
    return type(cause) is RuntimeError and str(cause) == "Query interrupted"
