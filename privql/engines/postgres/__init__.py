"""PostgreSQL: tables of a server, which computes what is asked of them; no private row leaves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from privql.engines.connections import ConnectionProblem, shown

if TYPE_CHECKING:
    from privql.engines.postgres.engine import PostgresEngine
    from privql.kernel.scalars import Value, ValueType


NONE = "\0"  # no text there has this character


def open(  # the name that every engine's module has for it
    address: object, tables: Mapping[str, tuple[str, ...]], owner_log: Callable[[BaseException], None]
) -> PostgresEngine:
    """An engine over tables of the database at an address."""
    return _engine(address)(str(address), tables, owner_log=owner_log)


def of_values(
    address: object,
    stored: Mapping[str, tuple[tuple[tuple[str, ValueType], ...], list[dict[str, Value]]]],
    owner_log: Callable[[BaseException], None],
) -> PostgresEngine:
    """An engine for which these are the tables, for the conformance kit: nothing is written into the database."""
    engine = _engine(address)(str(address), {}, owner_log=owner_log)
    for table, (columns, rows) in stored.items():
        engine.hold(table, columns, rows)
    return engine


def holds(value: Value, type: ValueType) -> bool:
    """Its texts have every character but that of number 0."""
    return not (isinstance(value, str) and NONE in value)


def _engine(address: object) -> type[PostgresEngine]:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        told = f"`{shown(address)}` cannot be read: it needs the package psycopg"
        raise ConnectionProblem(told, "install `privql[postgres]`") from None
    from privql.engines.postgres.engine import PostgresEngine

    return PostgresEngine
