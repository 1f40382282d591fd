"""The engines whose spellings the conformance kit compares with the meanings; where one is not there, it says so."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import pytest

from privql.conformance.rows import Row
from privql.engines.interface import Columns, EngineError
from privql.kernel.scalars import Scalar, Value, ValueType
from tests.engines import postgres, values
from tests.ledger.servers import available


class Host(Protocol):
    """A module that brings values into an engine's columns and out again."""

    SLOWER: int  # of so many documents one is enough

    def connect(self) -> AbstractContextManager[Any]: ...

    def kept(self, value: Value) -> Value:
        """The value, or one like it that the engine's columns hold."""

    def load(self, connection: Any, table: str, columns: Columns, rows: list[Row]) -> None: ...

    def spelled(self, term: Scalar) -> str: ...

    def evaluated(self, connection: Any, table: str, terms: list[Scalar]) -> list[tuple[Value, ...]]: ...

    def types(self, connection: Any, terms: list[Scalar], columns: Columns) -> list[str]:
        """What the engine says each term's type is, over columns of these types."""

    def physical(self, type: ValueType) -> str:
        """What it is to say."""


_DUCKDB: Host = values
_POSTGRESQL: Host = postgres
HOSTS = [
    pytest.param(_DUCKDB, id="duckdb"),
    pytest.param(
        _POSTGRESQL,
        id="postgresql",
        marks=pytest.mark.skipif(not available(), reason="no PostgreSQL server: the extra `engines` or PRIVQL_TEST_PG"),
    ),
]


def refused(host: Host, term: Scalar) -> bool:
    """Whether the engine says beforehand that it cannot compute this exactly."""
    try:
        host.spelled(term)
    except EngineError as error:
        if error.kind != "unsupported":
            raise
        return True
    return False


def kept(host: Host, row: Row) -> Row:
    return {column: host.kept(value) for column, value in row.items()}
