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
    "order_by_non_integer_literal": True,  # as of any expression: a constant puts nothing in order
    "scalar_subquery_error_on_multiple_rows": True,
    "max_expression_depth": 100_000,
    "pandas_analyze_sample": 0,  # an object column is text: its type must not depend on the rows sampled
}
"""What the spellings in this package take for granted."""

OPTIMIZERS = frozenset(
    (
        "column_lifetime",
        "cte_inlining",  # without it, no LIMIT ends a recursion
        "expression_rewriter",
        "filter_pushdown",
        "in_clause",
        "unused_columns",
    )
)
"""The engine's rewrites of a statement that are on: those without which a measured query is slower.

Each is somebody's reasoning about the rows, and a wrong one would be a wrong sum. Of version 2.0's forty-six, one loses
the rows of a LEFT JOIN whose right side is empty, and two cannot bind some grouped subqueries, outer joins and sets of
keys. What the others would save: `benchmarks/optimizers.py`.
"""

_STATISTICS = "statistics_propagation"
_SWITCHED = "disabled_optimizers"

_SHUT: Mapping[str, object] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "enable_external_access": False,
    "enable_progress_bar": True,  # so that how far it is can be asked
    "enable_progress_bar_print": False,  # it would stand between the lines of an answer
    "lock_configuration": True,
}


class UnknownSetting(RuntimeError):
    """The installed engine does not take a setting that exactness or isolation needs."""


def give_meaning(connection: duckdb.DuckDBPyConnection) -> None:
    put(connection, MEANING)
    consult_statistics(connection, False)


def consult_statistics(connection: duckdb.DuckDBPyConnection, yes: bool) -> None:
    """Whether a plan may rest on what a file's statistics say of its rows.

    Exact sums of one table take twice as long without. Where relations meet, it saves a tenth, and version 2.0
    concludes from a LEFT JOIN whose right side must be empty that sums of the left one are 0 (in statements of another
    form than those made here, but a conclusion from rows is not to be tried out on private ones).
    """
    on = OPTIMIZERS | ({_STATISTICS} if yes else set())
    off = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()} - on
    connection.execute(f"SET {_SWITCHED} = '{','.join(off)}'")
    ((found,),) = connection.execute("SELECT current_setting(?)", [_SWITCHED]).fetchall()
    if set(found.split(",")) - {""} != off:
        raise UnknownSetting(_SWITCHED)


_OF_DATABASE = ("", ".wal", ".wal.checkpoint", ".wal.recovery")  # what the engine may read of one that is attached


def shut_in(connection: duckdb.DuckDBPyConnection, paths: Iterable[str], databases: Iterable[str] = ()) -> None:
    """From here on the engine reads these paths and the databases that are attached, and nothing else of the machine;
    no setting changes any more."""
    attached = (path + part for path in databases for part in _OF_DATABASE)
    allowed = sorted(path for path in {*paths, *attached} if "\\" not in path)  # it would be taken for `/`
    put(connection, {"allowed_configs": [_SWITCHED], "allowed_paths": allowed, **_SHUT})


def put(connection: duckdb.DuckDBPyConnection, settings: Mapping[str, object]) -> None:
    """All at once: one by one they would take longer than most queries."""
    connection.execute("; ".join(f"SET {setting} = {_written(value)}" for setting, value in settings.items()))
    held = ", ".join(f"current_setting('{setting}')" for setting in settings)
    (found,) = connection.execute(f"SELECT {held}").fetchall()
    for (setting, value), now in zip(settings.items(), found, strict=True):
        same = sorted(now) == value if isinstance(value, list) and now is not None else now == value
        if not same and str(now).lower() != str(value).lower():
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
