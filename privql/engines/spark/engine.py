"""A session asked one statement at a time, and silent about why it failed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

from privql.engines.interface import NO_PUBLICS, Cells, EngineError, ErrorKind, Publics, scans
from privql.engines.spark.dialect import SPARK
from privql.engines.spark.given import view_of_arrays
from privql.engines.spark.rehearsal import planned, without_rows
from privql.engines.spark.session import Session
from privql.engines.spark.sources import read_scan, table_of
from privql.engines.sql.cells import cells
from privql.engines.sql.emit import Statement, emit
from privql.engines.sql.groups import Groups, GroupStatement, emit_groups, groups
from privql.engines.sql.members import Arrays
from privql.engines.sql.publics import NoRows, arrays
from privql.engines.sql.ranks import Buckets, Found, RankStatement, emit_histogram, emit_ranks, narrowed, near_values
from privql.engines.sql.references import read_along, read_by
from privql.engines.sql.relations import Names, Rows
from privql.engines.sql.statements import Term, lacking, rehearsed, statement_for, twins
from privql.engines.sql.stored import Table, settled
from privql.kernel.ranks import Ranked, Ranks
from privql.kernel.scalars import ValueType
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Public, Scan, Unit

_T = TypeVar("_T")

OwnerLog = Callable[[BaseException], None]


class SparkEngine:
    """Reads the tables given, of one session.

    Every failure inside Spark becomes one constant `EngineError`, without its text, which may quote rows; `owner_log`
    is handed the true one. Statements run one after another, from whichever thread.
    """

    def __init__(
        self,
        session: Session,
        tables: Mapping[str, tuple[str, ...]],
        *,
        owner_log: OwnerLog | None = None,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        self.session, self._inside, self._leave = session, dict(tables), leave
        self._tables: dict[str, Table] = {}
        self._owner_log = owner_log
        self._turn = threading.Lock()

    def preflight(self, scans: Iterable[Scan]) -> None:
        """Raise an `EngineError` that names the table and column if a source or a column is not there."""
        for name, columns in (read for scan in scans for read in read_by(scan)):
            try:
                table = self._safely(partial(self._look, name), "unreadable source", name)
            except EngineError as error:
                if error.kind == "unreadable source":
                    self._safely(lambda: self.session.sql("SELECT 1").collect(), "unreachable", name)
                raise
            for column in columns:
                if table.column(column) is None:
                    raise EngineError("missing column", name, column)

    def rehearse(self, term: Term) -> None:
        """Raise an `EngineError` if no statement computes it, or the engine cannot plan that one: no row is read."""
        if not isinstance(term, Sums) or 0 not in (term.groups, term.width):
            self._safely(lambda: self._rehearse(term), "unsupported")

    def emit(self, term: Term, salt: bytes = b"") -> str:
        """The statement that `run`, `groups` or `ranks` would run, for the owner's eyes."""
        return self._safely(lambda: statement_for(term, self._read, salt, SPARK).sql)

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> Groups:
        """The groups there are, in the order of their values, NULL last; and how many rows each has."""
        return self._safely(lambda: self._groups(emit_groups(keys, self._read, salt, SPARK), publics))

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        """The values of each group near the wanted rank, in order, one group after the other as in `run`."""
        return self._safely(lambda: self._ranks(ranks, salt, publics))

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        """The exact cells: one row a group, in the order of `itertools.product` of the keys' members."""
        if 0 in (sums.groups, sums.width):
            return np.zeros((sums.groups, sums.width), dtype=np.int64)
        return self._safely(lambda: self._ask(sums, emit(sums, self._read, salt, SPARK), publics))

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

    def interrupt(self) -> None:
        with suppress(Exception):  # of a server that is gone nothing runs any more
            self.session.interruptAll()

    def close(self) -> None:
        with self._turn, suppress(Exception):  # a server that is gone has nothing left to close
            self._leave()

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inside

    def _rehearse(self, term: Term) -> None:
        with without_rows(self.session, scans(term.input), self._table) as tables:

            def read(scan: Scan, names: Names) -> Rows:
                return read_along(scan, lambda one, names: read_scan(one, tables[one.table], names), names)

            for statement in rehearsed(term, read, SPARK):
                given = {} if isinstance(statement, GroupStatement) else statement.arrays
                publics = {public.name: NoRows(public.columns) for public in statement.publics}
                with self._beside(given, statement.publics, publics):
                    planned(self.session, statement.sql)

    def _ask(self, sums: Sums, statement: Statement, publics: Publics) -> Cells:
        with self._beside(statement.arrays, statement.publics, publics):
            return cells(sums, statement, self._found(statement.sql))

    def _groups(self, statement: GroupStatement, publics: Publics) -> Groups:
        with self._beside({}, statement.publics, publics):
            found = self.session.sql(statement.sql).toArrow()
            return groups(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def _ranks(self, ranks: Ranks, salt: bytes, publics: Publics) -> list[Ranked]:
        def found(statement: RankStatement) -> Found:
            with self._beside(statement.arrays, statement.publics, publics):
                return self._found(statement.sql)

        def histogram(buckets: Buckets) -> Found | None:
            statement = emit_histogram(ranks, self._read, salt, buckets, SPARK)
            return None if statement is None else found(statement)

        near = narrowed(ranks, histogram)
        return near_values(ranks, found(emit_ranks(ranks, self._read, salt, SPARK))) if near is None else near

    def _found(self, sql: str) -> Mapping[str, Any]:
        """The columns of a result of whole numbers: Spark sends them in Arrow's batches, which are not copied again."""
        found = self.session.sql(sql).toArrow()
        return {name: found[name].to_numpy() for name in found.column_names}

    @contextmanager
    def _beside(self, given: Mapping[str, Arrays], named: Mapping[Public, str], publics: Publics) -> Iterator[None]:
        """While what a statement reads beside its sources is there as views of this session."""
        registered = {**given, **{name: arrays(public, publics) for public, name in named.items()}}
        try:
            for name, columns in registered.items():
                view_of_arrays(self.session, name, columns)
            yield
        finally:
            for name in registered:
                self.session.catalog.dropTempView(name)

    def _read(self, scan: Scan, names: Names) -> Rows:
        return read_along(scan, lambda one, names: read_scan(one, self._table(one.table), names), names)

    def _read_all(self, scan: Scan) -> None:
        rows = self._read(scan, Names())
        read = ", ".join(f"bit_xor(xxhash64({column.spelled}))" for column in rows.columns.values())
        self.session.sql(f"SELECT {read} FROM ({rows.sql(read)})").toArrow()

    def _never(self, table: str, columns: tuple[tuple[str, ValueType], ...], such: Callable[[list[str]], str]) -> bool:
        """Whether there are no such rows, said of the columns as values of the language: NaN is none."""
        scan = Scan(table, Unit("row"), None, False, columns)
        self.preflight([scan])

        def found() -> int:
            rows = self._read(scan, Names())
            which = such([settled(column.spelled, SPARK) for column in rows.columns.values()])
            return int(self.session.sql(f"SELECT 1 AS one FROM ({rows.sql(which)}) {which} LIMIT 1").toArrow().num_rows)

        return not self._safely(found)

    def _look(self, table: str) -> Table:
        """A table as it is now: its columns may have changed since it was last looked at."""
        self._tables.pop(table, None)
        return self._table(table)

    def _table(self, table: str) -> Table:
        if table not in self._inside:
            raise EngineError("missing source", table)
        if table not in self._tables:
            self._tables[table] = table_of(self.session, table, self._inside[table])
        return self._tables[table]

    def _safely(self, work: Callable[[], _T], kind: ErrorKind = "failed", table: str | None = None) -> _T:
        """One at a time; what goes wrong is said in words that no row can change, and keeps no trace of its cause."""
        try:
            with self._turn:
                return work()
        except EngineError:
            raise
        except Exception as cause:
            if self._owner_log is not None:
                self._owner_log(cause)
        raise EngineError(kind, table)  # outside: else the cause is its context
