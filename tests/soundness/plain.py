"""The same SQL on a plain engine, which knows nothing of units, clamps or noise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import TracebackType

import duckdb

from privql.audit.reference.values import Tables
from privql.finish.table import Table
from privql.kernel.scalars import Value
from privql.policy.catalog import Catalog

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "default_null_order": "nulls_last_on_asc_first_on_desc",
}
_TYPES = {"INT": "BIGINT", "TEXT": "TEXT", "BOOL": "BOOL"}


class Plain:
    def __init__(self, catalog: Catalog, policy: str, public: Mapping[str, Sequence[tuple[Value, ...]]]) -> None:
        self._connection = duckdb.connect(config=_CONFIG)
        self._connection.execute("PRAGMA disable_optimizer")  # version 2.0's would lose rows of some outer joins
        self._connection.execute(
            "CREATE MACRO clamp(x, low, high) AS CASE WHEN x < low THEN low WHEN x > high THEN high ELSE x END"
        )
        self._columns = {table.name: [column.name for column in table.columns] for table in catalog.tables}
        for table in catalog.tables:
            columns = ", ".join(f"{column.name} {_TYPES[column.type.kind]}" for column in table.columns)
            self._connection.execute(f"CREATE TABLE {table.name} ({columns})")
        for view in re.findall(r"CREATE VIEW.*?;", policy, re.DOTALL):
            self._connection.execute(view)
        for name, rows in public.items():
            self._put(name, rows)

    def __enter__(self) -> Plain:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def hold(self, tables: Tables) -> None:
        """These private rows, and no others."""
        for name, rows in tables.items():
            self._connection.execute(f"DELETE FROM {name}")
            self._put(name, [tuple(row[column] for column in self._columns[name]) for row in rows])

    def _put(self, name: str, rows: Sequence[tuple[Value, ...]]) -> None:
        if rows:
            marks = ", ".join(f"({', '.join('?' for _ in row)})" for row in rows)
            self._connection.execute(f"INSERT INTO {name} VALUES {marks}", [value for row in rows for value in row])

    def rows(self, sql: str) -> list[tuple[Value, ...]] | None:
        """None where version 2.0 cannot bind a few queries inside queries or in ON."""
        try:
            found = self._connection.execute(sql).fetchall()
        except (duckdb.InvalidInputException, duckdb.NotImplementedException):
            return None
        return [tuple(Fraction(value) if isinstance(value, Decimal) else value for value in row) for row in found]


def apart(answer: Table, plain: Sequence[tuple[Value, ...]], keys: int) -> str | None:
    """Where they differ. PrivQL has all groups that there may be, where SQL has those with rows; a sum of nothing is 0,
    not NULL; and means are rounded once."""
    ours = {row[:keys]: row[keys:] for row in answer.rows}
    theirs = {row[:keys]: row[keys:] for row in plain}
    if len(ours) != len(answer.rows) or len(theirs) != len(plain):
        return "a group comes twice"
    for group in {**ours, **theirs}:
        mine, exact = ours.get(group), theirs.get(group)
        if mine is None:
            return f"{group} is missing, it is {exact}"
        if exact is None and any(mine):
            return f"{group} is {mine}, and nobody is in it"
        if exact is not None and not all(map(_same, mine, exact)):
            return f"{group} is {mine}, and plain SQL has {exact}"
    return None


def _same(mine: Value, exact: Value) -> bool:
    if exact is None or (isinstance(exact, float) and math.isnan(exact)):  # what has no spread has no correlation
        return not mine
    if mine is not None and (isinstance(mine, float) or isinstance(exact, float)):
        assert isinstance(mine, (int, float, Fraction)) and isinstance(exact, (int, float, Fraction))
        return abs(Fraction(mine) - Fraction(exact)) <= Fraction(1, 10**6)
    return mine == exact
