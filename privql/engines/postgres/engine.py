"""The connection: asked one statement at a time, in transactions that only read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from privql.engines.interface import Advice, Columns, EngineError, ErrorKind, OwnerLog, Recognised, Tables, Term
from privql.engines.postgres import NONE, session
from privql.engines.postgres.advice import advice
from privql.engines.postgres.dialect import POSTGRESQL
from privql.engines.postgres.handed import handed_over
from privql.engines.postgres.sources import Found as FoundTable
from privql.engines.postgres.sources import constant_table, found_table, read_scan
from privql.engines.sql.emit import Statement
from privql.engines.sql.engine import SqlEngine
from privql.engines.sql.groups import GroupStatement
from privql.engines.sql.members import Arrays
from privql.engines.sql.ranks import Found, RankStatement
from privql.engines.sql.relations import Names, Rows
from privql.engines.sql.statements import Asked
from privql.engines.sql.stored import Table
from privql.kernel.scalars import Value
from privql.kernel.terms import Scan


class PostgresEngine(SqlEngine):
    """Reads tables of one server, which adds up their rows: none of a private table leaves it. Each statement stands in
    a transaction that sees one state of the tables: of its own, or, from `steady` to `let_go`, the same for all."""

    dialect = POSTGRESQL
    unread = frozenset({"failed"})  # that the role may not read a column is said

    def __init__(
        self,
        address: str,
        tables: Tables,
        *,
        owner_log: OwnerLog | None = None,
        limit: int = session.TIME_LIMIT,
    ) -> None:
        super().__init__(owner_log)
        self._inside = dict(tables)
        self._tables: dict[str, FoundTable] = {}
        self._held: dict[str, FoundTable] = {}
        self._connection = session.opened(address, limit)
        self._steady = self._begun = False

    def steady(self) -> None:
        """From now on, all that is read is one state of the tables: as they are when something is first asked."""
        with self._turn:
            self._steady = True

    def let_go(self) -> None:
        with self._turn:
            if self._begun:
                self._end()
            self._steady = self._begun = False

    def advice(self, tables: Mapping[str, Recognised]) -> list[Advice]:
        def found() -> list[Advice]:
            some = sorted(tables.keys() & self._inside.keys())
            return [each for one in some for each in advice(self._connection, one, self._found(one), tables[one])]

        return self._safely(found)

    def takes(self, text: str) -> bool:
        return NONE not in text

    def hold(self, table: str, columns: Columns, rows: list[dict[str, Value]]) -> None:
        """A table of these values, written into each statement that reads it."""
        self._held[table] = FoundTable(constant_table(columns, rows))

    def close(self) -> None:
        self._connection.close()

    # ---- inside

    def _look(self, table: str) -> Table:
        self._tables.pop(table, None)  # looked at anew: it may have changed on the server
        return self._safely(partial(self._table, table), "unreadable source", table)

    def _table(self, table: str) -> Table:
        return self._found(table).table

    def _read_scan(self, scan: Scan, table: Table, names: Names) -> Rows:
        return read_scan(scan, table, names)

    def _plan(self, term: Term, statement: Asked, given: Mapping[str, Arrays]) -> None:
        """What the server says of a statement when it plans it follows from the statement and the schema."""
        beside, values = handed_over(given)
        self._execute(f"EXPLAIN {beside}{statement.sql}", values)

    def _numbers(self, term: Term, statement: Statement | RankStatement, given: Mapping[str, Arrays]) -> Found:
        beside, values = handed_over(given)
        names, rows = self._execute(f"{beside}{statement.sql}", values)
        columns = zip(*rows, strict=True) if rows else [() for _ in names]
        return {name: np.array(column, dtype=np.int64) for name, column in zip(names, columns, strict=True)}

    def _rows(self, term: Term, statement: GroupStatement, given: Mapping[str, Arrays]) -> Iterable[tuple[Any, ...]]:
        beside, values = handed_over(given)
        return self._execute(f"{beside}{statement.sql}", values)[1]

    def _any(self, sql: str) -> bool:
        return bool(self._execute(sql)[1])

    def _read_all(self, scan: Scan) -> None:
        rows = self._read(scan, Names())
        counted = ", ".join(f"count({column.spelled.sql})" for column in rows.columns.values()) or "count(*)"
        self._execute(f"SELECT {counted} FROM {POSTGRESQL.derived(rows.sql(counted))}")

    def _execute(self, sql: str, values: tuple[Any, ...] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        from psycopg import RawCursor

        with RawCursor(self._connection) as cursor:
            cursor.execute(sql, values or None)
            return [column.name for column in cursor.description or ()], cursor.fetchall()

    def _found(self, table: str) -> FoundTable:
        """Looked at once a query."""
        if table in self._held:
            return self._held[table]
        if table not in self._inside:
            raise EngineError("missing source", table)
        if table not in self._tables:
            self._tables[table] = found_table(self._connection, table, self._inside[table])
        return self._tables[table]

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """In a transaction that sees one state of the tables, and changes none; nothing is left of it. Of a longer one
        this is a part: where it fails, the others go on, and what it locked stays locked where it does not."""
        if not self._begun:
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._begun = self._steady
        if not self._steady:
            try:
                yield
            finally:
                self._end()
            return
        self._connection.execute("SAVEPOINT part")  # fails if the transaction is gone: its state would be, too
        try:
            yield
        except BaseException:
            with suppress(Exception):
                self._connection.execute("ROLLBACK TO SAVEPOINT part")
            raise
        self._connection.execute("RELEASE SAVEPOINT part")

    def _end(self) -> None:
        with suppress(Exception):
            self._connection.execute("ROLLBACK")

    def _failed(self, cause: Exception, kind: ErrorKind, table: str | None) -> BaseException:
        lost = table is not None and self._connection.closed
        return super()._failed(cause, "unreachable" if lost else kind, table)
