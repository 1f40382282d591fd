"""Public rows, handed over as arrays: one of the values of each column, and one that says which of them are there."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from privql.engines.interface import Columns, EngineError, Publics
from privql.engines.sql.members import Arrays, array, read
from privql.engines.sql.relations import Column, Draft, Layer, Rows, column
from privql.frozen import frozen
from privql.kernel.scalars import Value
from privql.kernel.terms import Public

_SOME: Mapping[str, Value] = {"TEXT": "", "FLOAT": 0.0, "BOOL": False, "DECIMAL": Fraction(0)}


@frozen
class NoRows:
    """In the place of public rows, which may be still to be released."""

    columns: Columns
    rows: tuple[tuple[Value, ...], ...] = ()


def public_rows(public: Public, draft: Draft) -> Rows:
    registered = draft.publics.setdefault(public, f"public_{len(draft.publics)}")
    added: dict[str, str] = {}
    columns: dict[str, Column] = {}
    for place, (name, type) in enumerate(public.columns):
        fresh = draft.names.new("c")
        added[fresh] = f"CASE WHEN there_{place} THEN {read(f'value_{place}', type, draft.dialect)} END"
        columns[name] = column(fresh, type)
    return Rows(draft.dialect, (Layer(added, source=registered),), columns)


def arrays(public: Public, given: Publics) -> Arrays:
    if public.name not in given:
        raise EngineError("missing source", public.name)
    rows = given[public.name].rows
    found: dict[str, Any] = {"row": np.zeros(len(rows), dtype=np.bool_)}
    for place, (_, type) in enumerate(public.columns):
        values = [row[place] for row in rows]
        found[f"there_{place}"] = np.array([value is not None for value in values], dtype=np.bool_)
        some = _SOME.get(type.kind, 0)
        found[f"value_{place}"] = array([some if value is None else value for value in values], type)
    return found
