"""From `Keys` to one SQL statement, and from its result to groups and their numbers, in an order of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privql.engines.interface import Group
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.relations import Draft, Layer, ReadScan, one_zero
from privql.engines.sql.rows import rows
from privql.frozen import frozen
from privql.kernel.scalars import Field, Value
from privql.kernel.sums import Keys
from privql.kernel.terms import Public


@frozen
class GroupStatement:
    sql: str
    publics: Mapping[Public, str]  # whose rows are to be registered under these names


def emit_groups(keys: Keys, read: ReadScan, salt: bytes, dialect: Dialect) -> GroupStatement:
    draft = Draft(dialect, read, salt)
    below = rows(keys.input, draft)
    emitter, added = below.emitter, dict[str, str]()
    for name, type in keys.columns:
        added[draft.names.new("g")] = one_zero(emitter.settled(Field(name, type)), dialect).sql
    listed = ", ".join(added)
    outer = ", ".join(_leaving(name, type.kind, dialect) for name, (_, type) in zip(added, keys.columns, strict=True))
    within = dialect.derived(below.with_layers(Layer(added)).sql(listed))
    inner = f"SELECT {listed}, count(*) AS units FROM {within} GROUP BY {listed}"
    return GroupStatement(f"SELECT {outer}, units FROM {dialect.derived(inner)}", draft.publics)


def _leaving(column: str, kind: str, dialect: Dialect) -> str:
    match kind:
        case "DATE":
            return dialect.days(column)
        case "TIMESTAMP":
            return dialect.micros(column)
        case _:
            return column


def groups(found: Iterable[tuple[Any, ...]]) -> list[Group]:
    """Sorted by their values, NULL last: the order of an engine's rows may tell of the order of the data."""
    out = [(tuple(map(_exact, row[:-1])), int(row[-1])) for row in found]
    return sorted(out, key=lambda group: [(value is None, value) for value in group[0]])


def _exact(value: Any) -> Value:
    return Fraction(value) if isinstance(value, Decimal) else value
