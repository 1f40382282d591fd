"""The connection: asked one statement at a time in a transaction that only reads, and silent about why it failed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

from privql.engines.interface import NO_PUBLICS, Advice, Cells, EngineError, ErrorKind, Publics, Recognised
from privql.engines.postgres import NONE, session
from privql.engines.postgres.advice import advice
from privql.engines.postgres.dialect import POSTGRESQL
from privql.engines.postgres.handed import handed_over
from privql.engines.postgres.sources import Found, constant_table, found_table, read_scan
from privql.engines.sql.cells import cells
from privql.engines.sql.emit import Statement, emit
from privql.engines.sql.groups import Groups, GroupStatement, emit_groups, groups
from privql.engines.sql.members import Arrays
from privql.engines.sql.publics import NoRows, arrays
from privql.engines.sql.ranks import Buckets, RankStatement, emit_histogram, emit_ranks, narrowed, near_values
from privql.engines.sql.references import read_along, read_by
from privql.engines.sql.relations import Names, Rows
from privql.engines.sql.statements import Asked, Term, lacking, rehearsed, statement_for, twins
from privql.engines.sql.stored import settled
from privql.kernel.ranks import Ranked, Ranks
from privql.kernel.scalars import Value, ValueType
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Scan, Unit

_T = TypeVar("_T")

OwnerLog = Callable[[BaseException], None]


class PostgresEngine:
    """Reads tables of one server, which adds up their rows: none of a private table leaves it.

    Every failure becomes one constant `EngineError`, without the server's text, which may quote rows; `owner_log` is
    handed the true one. Statements run one after another, from whichever thread, each in a transaction that sees one
    state of the tables: of its own, or, from `steady` to `let_go`, the same for all.
    """

    def __init__(
        self,
        address: str,
        tables: Mapping[str, tuple[str, ...]],
        *,
        owner_log: OwnerLog | None = None,
        limit: int = session.TIME_LIMIT,
    ) -> None:
        self._inside = dict(tables)
        self._tables: dict[str, Found] = {}
        self._held: dict[str, Found] = {}
        self._owner_log = owner_log
        self._turn = threading.Lock()
        self._connection = session.opened(address, limit)
        self._steady = self._begun = False

    def preflight(self, scans: Iterable[Scan]) -> None:
        """Raise an `EngineError` that names the table and column if one is not there, or may not be read."""
        for name, columns in (read for scan in scans for read in read_by(scan)):
            self._tables.pop(name, None)  # looked at anew: it may have changed on the server
            found = self._safely(partial(self._found, name), "unreadable source", name)
            for column in columns:
                own = found.table.column(column)
                if own is None:
                    raise EngineError("missing column", name, column)
                if own in found.unreadable:
                    raise EngineError("unreadable source", name)

    def rehearse(self, term: Term) -> None:
        """Raise an `EngineError` if no statement computes it, or the server cannot plan that one: no row is read."""
        if not isinstance(term, Sums) or 0 not in (term.groups, term.width):
            self._safely(lambda: self._rehearse(term), "unsupported")

    def emit(self, term: Term, salt: bytes = b"") -> str:
        """The statement that `run`, `groups` or `ranks` would run, for the owner's eyes."""
        return self._safely(lambda: statement_for(term, self._read, salt, POSTGRESQL).sql)

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        """The exact cells: one row a group, in the order of `itertools.product` of the keys' members."""
        if 0 in (sums.groups, sums.width):
            return np.zeros((sums.groups, sums.width), dtype=np.int64)

        def found() -> Cells:
            statement = emit(sums, self._read, salt, POSTGRESQL)
            return cells(sums, statement, self._columns(statement, publics))

        return self._safely(found)

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> Groups:
        """The groups there are, in the order of their values, NULL last; and how many rows each has."""
        return self._safely(lambda: groups(self._ask(emit_groups(keys, self._read, salt, POSTGRESQL), publics)[1]))

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        """The values of each group near the wanted rank, in order, one group after the other as in `run`."""

        def histogram(buckets: Buckets) -> Mapping[str, Any] | None:
            statement = emit_histogram(ranks, self._read, salt, buckets, POSTGRESQL)
            return None if statement is None else self._columns(statement, publics)

        def found() -> list[Ranked]:
            near = narrowed(ranks, histogram)
            if near is not None:
                return near
            return near_values(ranks, self._columns(emit_ranks(ranks, self._read, salt, POSTGRESQL), publics))

        return self._safely(found)

    def steady(self) -> None:
        """From now on, all that is read is one state of the tables: as they are when something is first asked."""
        with self._turn:
            self._steady = True

    def let_go(self) -> None:
        with self._turn:
            if self._begun:
                self._end()
            self._steady = self._begun = False

    # ---- for the owner

    def readable(self, table: str, columns: tuple[tuple[str, ValueType], ...]) -> bool:
        """Whether every stored value of these columns can be read, if only as NULL."""
        scan = Scan(table, Unit("row"), None, False, columns)
        self.preflight([scan])

        def read() -> None:
            rows = self._read(scan, Names())
            counted = ", ".join(f"count({column.spelled.sql})" for column in rows.columns.values()) or "count(*)"
            self._execute(f"SELECT {counted} FROM {POSTGRESQL.derived(rows.sql(counted))}")

        try:
            self._safely(read)
        except EngineError as error:
            if error.kind == "failed":
                return False
            raise
        return True

    def unique(self, table: str, columns: tuple[tuple[str, ValueType], ...]) -> bool:
        """Whether no two rows agree in these columns, rows with a NULL among them left aside."""
        return self._never(table, columns, twins)

    def complete(self, table: str, columns: tuple[tuple[str, ValueType], ...]) -> bool:
        """Whether every row has a value in each of these columns."""
        return self._never(table, columns, lacking)

    def advice(self, tables: Mapping[str, Recognised]) -> list[Advice]:
        def found() -> list[Advice]:
            some = sorted(tables.keys() & self._inside.keys())
            return [each for one in some for each in advice(self._connection, one, self._found(one), tables[one])]

        return self._safely(found)

    def takes(self, text: str) -> bool:
        return NONE not in text

    def hold(self, table: str, columns: tuple[tuple[str, ValueType], ...], rows: list[dict[str, Value]]) -> None:
        """A table of these values, written into each statement that reads it."""
        self._held[table] = Found(constant_table(columns, rows))

    def interrupt(self) -> None:
        with suppress(Exception):
            self._connection.cancel_safe(timeout=5)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> PostgresEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inside

    def _rehearse(self, term: Term) -> None:
        """What the server says of a statement when it plans it follows from the statement and the schema."""
        for statement in rehearsed(term, self._read, POSTGRESQL):
            self._ask(statement, {public.name: NoRows(public.columns) for public in statement.publics}, "EXPLAIN ")

    def _columns(self, statement: Statement | RankStatement, publics: Publics) -> Mapping[str, Any]:
        """All numbers, none of them beyond 64 bits."""
        names, rows = self._ask(statement, publics)
        columns = zip(*rows, strict=True) if rows else [() for _ in names]
        return {name: np.array(column, dtype=np.int64) for name, column in zip(names, columns, strict=True)}

    def _ask(self, statement: Asked, publics: Publics, before: str = "") -> tuple[list[str], list[tuple[Any, ...]]]:
        given: dict[str, Arrays] = {} if isinstance(statement, GroupStatement) else dict(statement.arrays)
        given |= {name: arrays(public, publics) for public, name in statement.publics.items()}
        beside, values = handed_over(given)
        return self._execute(f"{before}{beside}{statement.sql}", values)

    def _execute(self, sql: str, values: tuple[Any, ...] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        from psycopg import RawCursor

        with RawCursor(self._connection) as cursor:
            cursor.execute(sql, values or None)
            return [column.name for column in cursor.description or ()], cursor.fetchall()

    def _never(self, table: str, columns: tuple[tuple[str, ValueType], ...], such: Callable[[list[str]], str]) -> bool:
        """Whether there are no such rows, said of the columns as values of the language: NaN is none."""
        scan = Scan(table, Unit("row"), None, False, columns)
        self.preflight([scan])

        def found() -> bool:
            rows = self._read(scan, Names())
            which = such([settled(column.spelled, POSTGRESQL) for column in rows.columns.values()])
            return bool(self._execute(f"SELECT 1 FROM {POSTGRESQL.derived(rows.sql(which))} {which} LIMIT 1")[1])

        return not self._safely(found)

    def _read(self, scan: Scan, names: Names) -> Rows:
        return read_along(scan, lambda one, names: read_scan(one, self._found(one.table).table, names), names)

    def _found(self, table: str) -> Found:
        """Looked at once a query."""
        if table in self._held:
            return self._held[table]
        if table not in self._inside:
            raise EngineError("missing source", table)
        if table not in self._tables:
            self._tables[table] = found_table(self._connection, table, self._inside[table])
        return self._tables[table]

    @contextmanager
    def _reading(self) -> Iterator[None]:
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

    def _safely(self, work: Callable[[], _T], kind: ErrorKind = "failed", table: str | None = None) -> _T:
        """One at a time; what goes wrong is said in words that no row can change, and keeps no trace of its cause."""
        try:
            with self._turn, self._reading():
                return work()
        except EngineError:
            raise
        except Exception as cause:
            if self._owner_log is not None:
                self._owner_log(cause)
        if table is not None and self._connection.closed:
            kind = "unreachable"
        raise EngineError(kind, table)  # outside: else the cause is its context
