"""How a connection is set up: what the spellings rest on, and what shuts the engine in.

Each setting is read back after it is made, so that a version that drops or renames one is refused, not trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

MEANING: Mapping[str, object] = {
    "error_on_division_by_zero": False,  # NULL instead
    "ieee_floating_point_ops": True,
    "integer_division": False,
    "default_collation": "",
    "null_order": "nulls_last",
    "scalar_subquery_error_on_multiple_rows": True,
    "max_expression_depth": 100_000,
    "pandas_analyze_sample": 0,  # an object column is text: its type must not depend on the rows sampled
    # Of version 2.0: one loses the rows of a LEFT JOIN whose right side is empty, two cannot bind some grouped
    # subqueries, outer joins and sets of keys.
    "disabled_optimizers": "join_elimination,projection_pullup,grouping_sets",
}
"""What the spellings in this package take for granted."""

_SHUT: Mapping[str, object] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "enable_external_access": False,
    "enable_progress_bar": False,  # it would be written between the lines of an answer
    "lock_configuration": True,
}


class UnknownSetting(RuntimeError):
    """The installed engine does not take a setting that exactness or isolation needs."""


def give_meaning(connection: duckdb.DuckDBPyConnection) -> None:
    for setting, value in MEANING.items():
        put(connection, setting, value)


def shut_in(connection: duckdb.DuckDBPyConnection, paths: Iterable[str]) -> None:
    """From here on the engine reads these paths, and nothing else of the machine; no setting changes any more."""
    put(connection, "allowed_paths", sorted(path for path in paths if "\\" not in path))  # it would be taken for `/`
    for setting, value in _SHUT.items():
        put(connection, setting, value)


def put(connection: duckdb.DuckDBPyConnection, setting: str, value: object) -> None:
    connection.execute(f"SET {setting} = {_written(value)}")
    ((found,),) = connection.execute("SELECT current_setting(?)", [setting]).fetchall()
    same = sorted(found) == value if isinstance(value, list) and found is not None else found == value
    if not same and str(found).lower() != str(value).lower():
        raise UnknownSetting(setting)


def _written(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case list():
            return "[" + ", ".join(map(_written, value)) + "]"
        case _:
            return "'" + str(value).replace("'", "''") + "'"
