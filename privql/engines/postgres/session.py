"""How a connection is set up: what the spellings rest on, and that it only reads.

Each setting is read back after it is made, so that a server that takes one otherwise is refused, not trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

OLDEST = 140_000
TIME_LIMIT = 3600  # seconds a statement may take, whatever the rows are

MEANING: Mapping[str, str] = {
    "client_encoding": "UTF8",
    "search_path": "pg_catalog",  # every function and operator is the server's own
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "bytea_output": "hex",
    "enable_hashjoin": "on",  # the one way to a FULL JOIN on more than equalities
    "row_security": "off",  # rows that a policy would hide raise: what is counted is all of a table or nothing
    "jit": "off",  # compiling a statement that is long takes longer than most queries
    "default_transaction_isolation": "repeatable read",
    "default_transaction_read_only": "on",
    "client_min_messages": "error",
}


IDLE = "idle_in_transaction_session_timeout"  # between two statements about one state, a charge may wait its turn


class Unfit(RuntimeError):
    """A server, or a setting of it, on which the spellings do not rest."""


def opened(address: str, limit: int = TIME_LIMIT) -> psycopg.Connection[Any]:
    import psycopg

    connection = psycopg.connect(address, autocommit=True, connect_timeout=10, application_name="privql")
    try:
        if connection.info.server_version < OLDEST:
            raise Unfit("version")
        _put(connection, {**MEANING, **dict.fromkeys(("statement_timeout", IDLE), str(1000 * limit))})
        _expect(connection, "server_encoding", "UTF8")
        _expect(connection, "integer_datetimes", "on")
    except BaseException:
        connection.close()
        raise
    return connection


def _put(connection: psycopg.Connection[Any], settings: Mapping[str, str]) -> None:
    for setting, value in settings.items():
        connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (setting, value))
    for setting, value in settings.items():
        _expect(connection, setting, value)


def _expect(connection: psycopg.Connection[Any], setting: str, value: str) -> None:
    query = "SELECT setting FROM pg_catalog.pg_settings WHERE name = %s"
    found = connection.execute(query, (setting,)).fetchone()
    if found is None or found[0] != value:
        raise Unfit(setting)
