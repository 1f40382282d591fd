"""Runs the SQL that is left over public and released rows, on an engine of its own that never saw a private source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

from privql.check.relations import CheckedQuery
from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.duckdb.sources import paths
from privql.engines.interface import EngineError, OwnerLog, Source
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.expressions import name as quoted
from privql.engines.sql.scalars import ScalarEmitter
from privql.finish.table import Table
from privql.kernel.scalars import Field, Scalar, Value, ValueType
from privql.post.emit import Leaf, Leaves, emit
from privql.post.public import connected, public_leaf
from privql.post.recursion import ENDLESS
from privql.post.straight import straight
from privql.post.values import exact, load, read

T = TypeVar("T")
Columns = Sequence[tuple[str, ValueType]]
Numbers = npt.NDArray[np.float64]

MOST_VALUES = 1_000_000


class PostProcessor:
    """One engine for all queries of a session, connected when it is first needed.

    `public` says where the rows of each public table are, `tables` which columns it has and of which types.
    `owner_log` is handed what a failure truly was. `behind`: the rows of those that are in a database, the same object
    as long as they are the same.
    """

    def __init__(
        self,
        public: Mapping[str, Source],
        tables: Mapping[str, Columns],
        owner_log: OwnerLog = lambda _: None,
        behind: Mapping[str, Callable[[], Table]] | None = None,
    ) -> None:
        self._public = public
        self._tables = tables
        self._owner_log = owner_log
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._opened: dict[str, Leaf] = {}
        self._behind = behind or {}
        self._copied: dict[str, Table] = {}

    def run(
        self,
        query: CheckedQuery,
        blocks: Sequence[Table] = (),
        released: Mapping[str, Table] | None = None,
        dummies: Mapping[str, Table] | None = None,
        extra: Columns = (),
    ) -> Table:
        """The query's columns, then the `extra` ones of its relation, rows in the query's order.

        `blocks` are the measured groups, by number; `released` and `dummies` rows of named answers and invented ones.
        """
        outputs = [*((column.id, column.type) for column in query.columns), *extra]
        rows = straight(query, blocks, outputs)
        if rows is None:
            types = [type for _, type in outputs]
            rows = exact(self._computed(query, outputs, blocks, released or {}, dummies or {}, read, _fetched), types)
        return Table(tuple(outputs), rows)

    def numbers(
        self,
        query: CheckedQuery,
        blocks: Sequence[Table],
        released: Mapping[str, Table],
        dummies: Mapping[str, Table],
        outputs: Columns,
    ) -> list[Numbers]:
        """Numeric columns of the query's relation alone, as floats; NaN for NULL."""
        found = self._computed(query, outputs, blocks, released, dummies, _as_float, lambda made: made.fetchnumpy())
        return [np.ma.filled(np.ma.asarray(column, np.float64), np.nan) for column in found.values()]

    def rehearse(
        self,
        query: CheckedQuery,
        released: Mapping[str, Table] | None = None,
        dummies: Mapping[str, Table] | None = None,
        given: Sequence[Table] = (),
    ) -> None:
        """Run it on blocks without groups: what the engine cannot compute is known before anything is paid for."""
        blocks = [Table(block.columns, ()) for block in query.blocks]
        self.run(query, [*blocks, *given], released, dummies)

    def distinct_values(self, table: str, column: str) -> tuple[Value, ...] | None:
        """The values of a public table's column in order, NULL left out; None if there are more than a million."""
        types = dict(self._tables[table])

        def found(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
            leaf = self._open(connection, table)
            value = leaf.column(column)
            wanted = f"SELECT DISTINCT {value} FROM {leaf.sql} WHERE {value} IS NOT NULL LIMIT {MOST_VALUES + 1}"
            sql = f"SELECT {read(value, types[column])} FROM ({wanted}) ORDER BY {value}"
            return connection.execute(sql).fetchall()

        values = [row[0] for row in exact(self._attempt(found), (types[column],))]
        return tuple(values) if len(values) <= MOST_VALUES else None

    def most_alike(self, table: str, columns: Sequence[str]) -> int:
        """How many rows of a public table have the same values in these columns, at most; 1 of none."""

        def found(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
            leaf = self._open(connection, table)
            by = ", ".join(leaf.column(column) for column in columns) or "()"
            counted = f"SELECT count(*) AS n FROM {leaf.sql} GROUP BY {by}"
            return connection.execute(f"SELECT coalesce(max(n), 1) FROM ({counted})").fetchall()

        ((most,),) = self._attempt(found)
        return max(int(most), 1)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        self._opened.clear()
        self._copied.clear()
        if connection is not None:
            connection.close()

    # ---- the engine

    def _computed(
        self,
        query: CheckedQuery,
        outputs: Columns,
        blocks: Sequence[Table],
        released: Mapping[str, Table],
        dummies: Mapping[str, Table],
        spell: Callable[[str, ValueType], str],
        fetch: Callable[[duckdb.DuckDBPyConnection], T],
    ) -> T:
        loaded: list[str] = []

        def found(connection: duckdb.DuckDBPyConnection) -> T:
            def leaf(table: Table) -> Leaf:
                name = f'"given {len(loaded)}"'
                loaded.append(name)
                load(connection, name, table)
                return Leaf(name, tuple(name for name, _ in table.columns))

            leaves = Leaves(
                lambda name: self._open(connection, name),
                cache(lambda name: leaf(released[name])),
                cache(lambda name: leaf(dummies[name])),
                cache(lambda number: leaf(blocks[number])),
            )
            rows = fetch(connection.execute(emit(query, outputs, leaves, _spelled, spell)))
            for name in loaded:
                connection.execute(f"DROP TABLE {name}").fetchall()
            return rows

        return self._attempt(found)

    def _attempt(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """What the engine says of a failure may quote values; and after one, it may be of no more use."""
        try:
            return work(self._connected())
        except EngineError:
            self.close()
            raise
        except duckdb.Error as problem:
            self.close()
            self._owner_log(problem)
            raise EngineError("endless" if ENDLESS in str(problem) else "failed") from None
        except Exception as problem:  # the engine's own, or of a file that is not what its name says
            self.close()
            self._owner_log(problem)
            raise EngineError("failed") from None
        except BaseException:
            self.close()
            raise

    def _connected(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = connected({file for source in self._public.values() for file in paths(source)})
        return self._connection

    def _open(self, connection: duckdb.DuckDBPyConnection, table: str) -> Leaf:
        """A public table as a relation, each column read as its declared type."""
        if table in self._behind:
            rows = self._behind[table]()
            if self._copied.get(table) is not rows:
                name = f'"behind {table.encode().hex()}"'
                connection.execute(f"DROP TABLE IF EXISTS {name}").fetchall()
                load(connection, name, rows)
                self._copied[table] = rows
                self._opened[table] = Leaf(name, tuple(column for column, _ in rows.columns))
        elif table not in self._opened:
            self._opened[table] = public_leaf(connection, table, self._public.get(table, Source()), self._tables[table])
        return self._opened[table]


def _fetched(made: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return made.fetchall()


def _as_float(column: str, type: ValueType) -> str:
    return f"CAST({read(column, type)} AS DOUBLE) AS {column}"


def _spelled(term: Scalar, field: Callable[[Field], str]) -> str:
    def spelled(column: Field) -> Spelled:
        sql = field(column)
        return Spelled(sql, column.type, leaf=sql == quoted(column.name))

    return ScalarEmitter(spelled, DUCKDB).sql(term)
