"""A session asked one statement at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from threading import Thread
from typing import Any

from privql.engines.interface import Advice, EngineError, OwnerLog, Recognised, Tables, Term, scans
from privql.engines.spark.dialect import SPARK
from privql.engines.spark.given import view_of_arrays
from privql.engines.spark.rehearsal import planned, without_rows
from privql.engines.spark.session import Session, inherited
from privql.engines.spark.sources import advice, read_scan, table_of
from privql.engines.sql.emit import Statement
from privql.engines.sql.engine import SqlEngine, registered
from privql.engines.sql.groups import GroupStatement
from privql.engines.sql.members import Arrays
from privql.engines.sql.ranks import Found, RankStatement
from privql.engines.sql.relations import Names, ReadScan, Rows
from privql.engines.sql.statements import Asked
from privql.engines.sql.stored import Table
from privql.kernel.terms import Scan


class SparkEngine(SqlEngine):
    """Reads the tables given, of one session."""

    dialect = SPARK

    def __init__(
        self,
        session: Session,
        tables: Tables,
        *,
        owner_log: OwnerLog | None = None,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(owner_log)
        self.session, self._inside, self._leave = session, dict(tables), leave
        self._tables: dict[str, Table] = {}

    def close(self) -> None:
        with self._turn, suppress(Exception):  # a server that is gone has nothing left to close
            self._leave()

    def advice(self, tables: Mapping[str, Recognised]) -> list[Advice]:
        def found() -> list[Advice]:
            some = sorted(tables.keys() & self._inside.keys())
            return [each for one in some for each in advice(one, self._table(one), tables[one])]

        return self._safely(found)

    # ---- inside

    def _look(self, table: str) -> Table:
        """Its columns may have changed since it was last looked at."""
        self._tables.pop(table, None)
        try:
            return self._safely(lambda: self._table(table), "unreadable source", table)
        except EngineError as error:
            if error.kind == "unreadable source":
                self._safely(lambda: self.session.sql("SELECT 1").collect(), "unreachable", table)
            raise

    def _table(self, table: str) -> Table:
        if table not in self._inside:
            raise EngineError("missing source", table)
        if table not in self._tables:
            self._tables[table] = table_of(self.session, table, self._inside[table])
        return self._tables[table]

    def _read_scan(self, scan: Scan, table: Table, names: Names) -> Rows:
        return read_scan(scan, table, names)

    @contextmanager
    def _without_rows(self, term: Term) -> Iterator[ReadScan]:
        with without_rows(self.session, scans(term.input), self._table) as tables:
            yield self._reading(tables.__getitem__)

    def _plan(self, term: Term, statement: Asked, given: Mapping[str, Arrays]) -> None:
        with self._beside(given):
            planned(self.session, statement.sql)

    def _numbers(self, term: Term, statement: Statement | RankStatement, given: Mapping[str, Arrays]) -> Found:
        """Spark sends them in Arrow's batches, which are not copied again."""
        with self._beside(given):
            found = self._fetched(statement.sql)
            return {name: found[name].to_numpy() for name in found.column_names}

    def _rows(self, term: Term, statement: GroupStatement, given: Mapping[str, Arrays]) -> Iterable[tuple[Any, ...]]:
        with self._beside(given):
            found = self._fetched(statement.sql)
            return zip(*(column.to_pylist() for column in found.columns), strict=True)

    def _any(self, sql: str) -> bool:
        return int(self._fetched(sql).num_rows) > 0

    def _read_all(self, scan: Scan) -> None:
        rows = self._read(scan, Names())
        read = ", ".join(f"bit_xor(xxhash64({column.spelled}))" for column in rows.columns.values())
        self._fetched(f"SELECT {read} FROM ({rows.sql(read)})")

    def _fetched(self, sql: str) -> Any:
        """Asked in a thread of its own. Whoever breaks off, by Ctrl-C say, stops the server, which would go on with
        what nobody waits for; Spark's client would wait for that before it says that it was broken off. Who does so
        again leaves, even if the server goes on: so the thread is a daemon's."""
        asked = Future[Any]()

        def ask() -> None:
            try:
                asked.set_result(self.session.sql(sql).toArrow())
            except BaseException as error:
                asked.set_exception(error)

        Thread(target=inherited(self.session)(ask), daemon=True).start()
        try:
            return asked.result()
        except BaseException:
            while not asked.done():  # what has not begun yet is stopped once it has
                with suppress(Exception):
                    self.session.interruptAll()
                wait([asked], timeout=0.2)
            raise

    def _beside(self, given: Mapping[str, Arrays]) -> AbstractContextManager[None]:
        return registered(given, partial(view_of_arrays, self.session), self.session.catalog.dropTempView)
