"""An engine that speaks SQL, but for its connection: what it is asked, and how it keeps silent about why it failed."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from privql.engines.interface import NO_PUBLICS, Cells, Columns, EngineError, ErrorKind, Group, OwnerLog, Publics, Term
from privql.engines.sql.cells import cells
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.emit import Statement, emit
from privql.engines.sql.groups import GroupStatement, emit_groups, groups
from privql.engines.sql.members import Arrays
from privql.engines.sql.publics import NoRows, arrays
from privql.engines.sql.ranks import Buckets, Found, RankStatement, emit_histogram, emit_ranks, narrowed, near_values
from privql.engines.sql.references import read_along, read_by
from privql.engines.sql.relations import Names, ReadScan, Rows
from privql.engines.sql.statements import Asked, lacking, rehearsed, statement_for, twins
from privql.engines.sql.stored import Table, settled
from privql.kernel.ranks import Ranked, Ranks
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Scan, Unit

_T = TypeVar("_T")


class SqlEngine(ABC):
    """Every failure inside becomes one constant `EngineError`, without its text, which may quote rows; `owner_log` is
    handed the true one. Statements run one after another, from whichever thread.

    What an engine has for itself are its `dialect` and the methods that are `inside`.
    """

    dialect: ClassVar[Dialect]
    unread: ClassVar[frozenset[ErrorKind]] = frozenset({"failed", "unreadable source"})  # how a damaged value ends

    def __init__(self, owner_log: OwnerLog | None) -> None:
        self._owner_log = owner_log
        self._turn = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def preflight(self, scans: Iterable[Scan]) -> None:
        """Raise an `EngineError` that names the table and column if a source or a column is not there."""
        for name, columns in (read for scan in scans for read in read_by(scan)):
            table = self._look(name)
            for column in columns if table.columns else ():
                own = table.column(column)
                if own is None:
                    raise EngineError("missing column", name, column)
                if own in table.closed:
                    raise EngineError("unreadable source", name)

    def rehearse(self, term: Term) -> None:
        """Raise an `EngineError` if no statement computes it, or the engine cannot plan that one: no row is read."""

        def planned() -> None:
            with self._without_rows(term) as read:
                for statement in rehearsed(term, read, self.dialect):
                    none = {public.name: NoRows(public.columns) for public in statement.publics}
                    self._plan(term, statement, _given(statement, none))

        if not isinstance(term, Sums) or 0 not in (term.groups, term.width):
            self._safely(planned, "unsupported")

    def emit(self, term: Term, salt: bytes = b"") -> str:
        """The statement that `run`, `groups` or `ranks` would run, for the owner's eyes."""
        return self._safely(lambda: statement_for(term, self._read, salt, self.dialect).sql)

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        """The exact cells: one row a group, in the order of `itertools.product` of the keys' members."""
        if 0 in (sums.groups, sums.width):
            return np.zeros((sums.groups, sums.width), dtype=np.int64)
        return self._safely(lambda: self._ask(sums, emit(sums, self._read, salt, self.dialect), publics))

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Group]:
        """The groups there are, in the order of their values, NULL last; and how many rows each has."""

        def found() -> list[Group]:
            statement = emit_groups(keys, self._read, salt, self.dialect)
            return groups(self._rows(keys, statement, _given(statement, publics)))

        return self._safely(found)

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        """The values of each group near the wanted rank, in order, one group after the other as in `run`."""

        def found(statement: RankStatement) -> Found:
            return self._numbers(ranks, statement, _given(statement, publics))

        def histogram(buckets: Buckets) -> Found | None:
            statement = emit_histogram(ranks, self._read, salt, buckets, self.dialect)
            return None if statement is None else found(statement)

        def near() -> list[Ranked]:
            coarsely = narrowed(ranks, histogram)
            if coarsely is not None:
                return coarsely
            return near_values(ranks, found(emit_ranks(ranks, self._read, salt, self.dialect)))

        return self._safely(near)

    # ---- for the owner

    def readable(self, table: str, columns: Columns) -> bool:
        """Whether every stored value of these columns can be read, if only as NULL."""
        scan = Scan(table, Unit("row"), None, False, columns)
        try:
            self.preflight([scan])
            self._safely(lambda: self._read_all(scan))
        except EngineError as error:
            if error.kind in self.unread:
                return False
            raise
        return True

    def unique(self, table: str, columns: Columns) -> bool:
        """Whether no two rows agree in these columns, rows with a NULL among them left aside."""
        return self._never(table, columns, twins)

    def complete(self, table: str, columns: Columns) -> bool:
        """Whether every row has a value in each of these columns."""
        return self._never(table, columns, lacking)

    def _never(self, table: str, columns: Columns, such: Callable[[list[str]], str]) -> bool:
        """Whether there are no such rows, said of the columns as values of the language: NaN is none."""
        scan = Scan(table, Unit("row"), None, False, columns)
        self.preflight([scan])

        def found() -> bool:
            rows = self._read(scan, Names())
            which = such([settled(column.spelled, self.dialect) for column in rows.columns.values()])
            return self._any(f"SELECT 1 AS one FROM {self.dialect.derived(rows.sql(which))} {which} LIMIT 1")

        return not self._safely(found)

    # ---- inside

    @abstractmethod
    def close(self) -> None:
        """Nothing is asked any more."""

    @abstractmethod
    def _look(self, table: str) -> Table:
        """A table as it is now, or an `EngineError` that names it."""

    @abstractmethod
    def _table(self, table: str) -> Table:
        """As it was when it was looked at."""

    @abstractmethod
    def _read_scan(self, scan: Scan, table: Table, names: Names) -> Rows:
        """Rows of one table alone."""

    @abstractmethod
    def _numbers(self, term: Term, statement: Statement | RankStatement, given: Mapping[str, Arrays]) -> Found:
        """The columns of a result of whole numbers of 64 bits; the statement reads what is `given` by these names."""

    @abstractmethod
    def _rows(self, term: Term, statement: GroupStatement, given: Mapping[str, Arrays]) -> Iterable[tuple[Any, ...]]:
        """The rows of a result."""

    @abstractmethod
    def _any(self, sql: str) -> bool:
        """Whether a result has a row."""

    @abstractmethod
    def _read_all(self, scan: Scan) -> None:
        """Read every value, or fail."""

    @abstractmethod
    def _plan(self, term: Term, statement: Asked, given: Mapping[str, Arrays]) -> None:
        """Raise if the statement cannot be planned, and run nothing."""

    def _without_rows(self, term: Term) -> AbstractContextManager[ReadScan]:
        """How a term's tables are read where no row may be: as they are, if to plan a statement reads none."""
        return nullcontext(self._read)

    def _asking(self) -> AbstractContextManager[object]:
        """Around whatever is asked."""
        return nullcontext()

    def _failed(self, cause: Exception, kind: ErrorKind, table: str | None) -> BaseException:
        """What is said instead of what went wrong."""
        if self._owner_log is not None:
            self._owner_log(cause)
        return EngineError(kind, table)

    # ---- what is common inside

    def _ask(self, sums: Sums, statement: Statement, publics: Publics) -> Cells:
        return cells(sums, statement, self._numbers(sums, statement, _given(statement, publics)))

    def _read(self, scan: Scan, names: Names) -> Rows:
        return self._reading(self._table)(scan, names)

    def _reading(self, table: Callable[[str], Table]) -> ReadScan:
        def read(scan: Scan, names: Names) -> Rows:
            return read_along(scan, lambda one, names: self._read_scan(one, table(one.table), names), names)

        return read

    def _safely(self, work: Callable[[], _T], kind: ErrorKind = "failed", table: str | None = None) -> _T:
        """One at a time; what goes wrong is said in words that no row can change, and keeps no trace of its cause."""
        try:
            with self._turn, self._asking():
                return work()
        except EngineError:
            raise
        except Exception as cause:
            failed = self._failed(cause, kind, table)
        raise failed  # outside: else the cause is its context


@contextmanager
def registered(
    given: Mapping[str, Arrays], register: Callable[[str, Arrays], object], forget: Callable[[str], object]
) -> Iterator[None]:
    """While what a statement reads beside its sources is there, for engines that know such by name."""
    try:
        for name, columns in given.items():
            register(name, columns)
        yield
    finally:
        for name in given:
            forget(name)


def _given(statement: Asked, publics: Publics) -> dict[str, Arrays]:
    listed = {} if isinstance(statement, GroupStatement) else dict(statement.arrays)
    return listed | {name: arrays(public, publics) for public, name in statement.publics.items()}
