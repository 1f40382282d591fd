"""What a statement reads beside the tables: arrays, as parameters of the statement and never as its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privql.engines.sql.expressions import name as quoted
from privql.engines.sql.members import Arrays

_TYPES = {"O": "text", "f": "float8", "b": "boolean", "i": "bigint"}  # by the kinds of numpy


def handed_over(given: Mapping[str, Arrays]) -> tuple[str, tuple[Any, ...]]:
    """What to write before a statement, so that it may read them by these names, and its parameters."""
    named, values = [], []
    for name, columns in given.items():
        places = []
        for array in columns.values():
            values.append(array.tolist())
            places.append(f"${len(values)}::{_TYPES[array.dtype.kind]}[]")
        named.append(f"{name}({', '.join(map(quoted, columns))}) AS (SELECT * FROM unnest({', '.join(places)}) AS t)")
    return (f"WITH {', '.join(named)} " if named else ""), tuple(values)
