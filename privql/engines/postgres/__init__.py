"""PostgreSQL: tables of a server, which computes what is asked of them; no private row leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privql.engines.interface import OwnerLog, Stored, Tables

if TYPE_CHECKING:
    from privql.engines.postgres.engine import PostgresEngine
    from privql.kernel.scalars import Value, ValueType


NONE = "\0"  # no text there has this character


def open(  # the name that every engine's module has for it
    address: object, tables: Tables, owner_log: OwnerLog
) -> PostgresEngine:
    """An engine over tables of the database at an address."""
    from privql.engines.postgres.engine import PostgresEngine

    return PostgresEngine(str(address), tables, owner_log=owner_log)


def of_values(
    address: object,
    stored: Stored,
    owner_log: OwnerLog,
) -> PostgresEngine:
    """An engine for which these are the tables, for the conformance kit: nothing is written into the database."""
    engine = open(address, {}, owner_log)
    for table, (columns, rows) in stored.items():
        engine.hold(table, columns, rows)
    return engine


def holds(value: Value, type: ValueType) -> bool:
    """Its texts have every character but that of number 0."""
    return not (isinstance(value, str) and NONE in value)
