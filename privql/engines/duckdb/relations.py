"""Relations as SELECTs, layer upon layer.

Columns get names of their own (`c1`, `c2`, …), so that no name from a policy or a query is ever written except where a
source is read. Each layer selects `*` of the one below and adds columns. Those that nothing reads are left out here,
because DuckDB keeps what it makes of an unused `IN` list, a join.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import assert_never

from privql.engines.duckdb.expressions import Spelled
from privql.engines.duckdb.scalars import ScalarEmitter
from privql.kernel.scalars import TEXT, Apply, Const, Field, Scalar, Value
from privql.kernel.terms import Filter, KeepRows, Project, Relation, Scan


@dataclass(frozen=True, slots=True)
class Clamp:
    """A column brought between two bounds."""

    column: Spelled
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class Listed:
    """A text column, NULL unless it is one of a list: `term` over its only field."""

    column: Spelled
    term: Scalar


@dataclass(frozen=True, slots=True)
class Column:
    spelled: Spelled
    made: Clamp | Listed | None = None  # of a column below, that may be used instead


@dataclass(frozen=True, slots=True)
class Layer:
    """`SELECT *, added FROM below tail`; the lowest reads `source` instead, and no `*`."""

    added: Mapping[str, str]
    tail: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Rows:
    layers: tuple[Layer, ...]
    columns: Mapping[str, Column]
    unit: Spelled | None = None  # settled, never NULL

    def field(self, wanted: Field) -> Spelled:
        return self.columns[wanted.name].spelled

    def with_layers(self, *layers: Layer) -> Rows:
        return replace(self, layers=(*self.layers, *layers))

    def sql(self, reader: str) -> str:
        """As far as `reader`, the text of what selects from it, has need of it."""
        read = _names(reader)
        parts: list[tuple[str, str]] = []
        for layer in reversed(self.layers):
            added = {name: sql for name, sql in layer.added.items() if name in read}
            for text in (*added.values(), layer.tail):
                read |= _names(text)
            listed = [f"{sql} AS {name}" for name, sql in added.items()]
            if layer.source:
                parts.append((f"SELECT {', '.join(listed or ['1'])} FROM {layer.source}", layer.tail))
            elif listed or layer.tail:
                parts.append((f"SELECT {', '.join(['*', *listed])} FROM ", layer.tail))
        sql = parts[-1][0] + parts[-1][1]
        for select, tail in reversed(parts[:-1]):
            sql = f"{select}({sql}){tail}"
        return sql


def _names(text: str) -> set[str]:
    """Every name in a text that may be a column's: too many, if a literal looks like one, but never too few."""
    return set(_NAME.findall(text))


_NAME = re.compile(r"\b[a-z]\d+\b")


ReadScan = Callable[[Scan, "Names"], Rows]


class Names:
    """Fresh names within one statement."""

    def __init__(self) -> None:
        self._count = count()

    def new(self, letter: str) -> str:
        return f"{letter}{next(self._count)}"


def rows(relation: Relation, read: ReadScan, names: Names, salt: bytes) -> Rows:
    """Down to the scan and up again, without recursion: relations may be as deep as the language allows."""
    path: list[Filter | Project | KeepRows] = []
    while not isinstance(relation, Scan):
        path.append(relation)
        relation = relation.input
    made = read(relation, names)
    for step in reversed(path):
        match step:
            case Filter(condition=condition):
                made = made.with_layers(Layer({}, f" WHERE {ScalarEmitter(made.field).sql(condition)}"))
            case Project(columns=columns):
                made = _project(made, columns, names)
            case KeepRows(limit=limit):
                made = _keep_rows(made, limit, names, salt)
            case _:
                assert_never(step)
    return made


def _project(below: Rows, columns: tuple[tuple[str, Scalar], ...], names: Names) -> Rows:
    emitter = ScalarEmitter(below.field)
    found: dict[str, Column] = {}
    added: dict[str, str] = {}
    for column, term in columns:
        if isinstance(term, Field):
            found[column] = below.columns[term.name]
            continue
        spelled = emitter.spelled(term)
        name = names.new("c")
        added[name] = spelled.sql
        found[column] = Column(replace(spelled, sql=name, leaf=True), _made(term, below))
    return replace(below.with_layers(Layer(added)), columns=found)


def _made(term: Scalar, below: Rows) -> Clamp | Listed | None:
    match term:
        case Apply(op="clamp", args=(Field() as inner, Const(value=low), Const(value=high))) if _ordered(low, high):
            return Clamp(below.field(inner), Fraction(low), Fraction(high))  # type: ignore[arg-type]
        case Apply(
            op="case", args=(Apply(op="in", args=(Field() as inner, *members)), Field() as same, Const(value=None))
        ):
            if inner == same and inner.type == TEXT and all(isinstance(member, Const) for member in members):
                return Listed(below.field(inner), term)
        case _:
            pass
    return None


def _ordered(low: Value, high: Value) -> bool:
    numbers = isinstance(low, int | float | Fraction) and isinstance(high, int | float | Fraction)
    return numbers and Fraction(low) <= Fraction(high)  # type: ignore[arg-type]


def _keep_rows(below: Rows, limit: int, names: Names, salt: bytes) -> Rows:
    """The rows with the least hashes, per unit. MD5 over 128 bits: ties are identical rows, any of which may stay."""
    if below.unit is None:
        return below if limit > 0 else below.with_layers(Layer({}, " WHERE FALSE"))
    hashed, place = names.new("h"), names.new("r")
    kept = [below.unit, *(column.spelled for column in below.columns.values())]
    content = ", ".join([f"'{salt.hex()}:'", *map(_part, kept)])
    return below.with_layers(
        Layer({hashed: f"md5_number(concat({content}))"}),
        Layer({place: f"row_number() OVER (PARTITION BY {below.unit} ORDER BY {hashed})"}),
        Layer({}, f" WHERE {place} <= {limit}"),
    )


def _part(column: Spelled) -> str:
    """A value as text that says where it ends, so that no two rows run together alike."""
    emitter, term = ScalarEmitter(lambda _: column), Field("", column.type)
    match column.type.kind:
        case "TEXT":
            return f"coalesce(CAST(length({column}) AS VARCHAR), 'n'), ':', {column}"  # `concat` passes NULL over
        case "FLOAT":
            written = f"CAST(({emitter.sql(term)}) + DOUBLE '0.0' AS VARCHAR)"  # one zero
        case "DATE":
            written = f"CAST({column} - DATE '1970-01-01' AS VARCHAR)"
        case "TIMESTAMP":
            written = f"CAST(epoch_us({column}) AS VARCHAR)"
        case _:
            written = emitter.sql(Apply("cast", (term,), TEXT))
    return f"coalesce({written}, 'n'), ';'"
