"""Relations as SELECTs, layer upon layer.

Columns get names of their own (`c1`, `c2`, …), so that no name from a policy or a query is ever written except where a
source is read. Each layer selects `*` of the one below and adds columns; DuckDB reads only those that are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
class Rows:
    sql: str
    columns: dict[str, Column]
    unit: Spelled | None = None  # settled, never NULL

    def field(self, wanted: Field) -> Spelled:
        return self.columns[wanted.name].spelled


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
                made = Rows(
                    f"SELECT * FROM ({made.sql}) WHERE {ScalarEmitter(made.field).sql(condition)}",
                    made.columns,
                    made.unit,
                )
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
    added: list[str] = []
    for column, term in columns:
        if isinstance(term, Field):
            found[column] = below.columns[term.name]
            continue
        spelled = emitter.spelled(term)
        name = names.new("c")
        added.append(f"{spelled} AS {name}")
        kept = Spelled(name, term.type, leaf=True, loose=spelled.loose, low=spelled.low, high=spelled.high)
        found[column] = Column(kept, _made(term, below))
    sql = f"SELECT *, {', '.join(added)} FROM ({below.sql})" if added else below.sql
    return Rows(sql, found, below.unit)


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
        return below if limit > 0 else Rows(f"SELECT * FROM ({below.sql}) WHERE FALSE", below.columns, None)
    hashed, place = names.new("h"), names.new("r")
    kept = [below.unit, *(column.spelled for column in below.columns.values())]
    content = " || ".join([f"'{salt.hex()}:'", *map(_part, kept)])
    ranked = (
        f"SELECT *, row_number() OVER (PARTITION BY {below.unit} ORDER BY {hashed}) AS {place}"
        f" FROM (SELECT *, md5_number({content}) AS {hashed} FROM ({below.sql}))"
    )
    return Rows(f"SELECT * FROM ({ranked}) WHERE {place} <= {limit}", below.columns, below.unit)


def _part(column: Spelled) -> str:
    """A value as text that says where it ends, so that no two rows run together alike."""
    emitter, term = ScalarEmitter(lambda _: column), Field("", column.type)
    match column.type.kind:
        case "TEXT":
            written = emitter.sql(term)
        case "FLOAT":
            written = f"CAST(({emitter.sql(term)}) + DOUBLE '0.0' AS VARCHAR)"  # one zero
        case "DATE":
            written = f"CAST({column} - DATE '1970-01-01' AS VARCHAR)"
        case "TIMESTAMP":
            written = f"CAST(epoch_us({column}) AS VARCHAR)"
        case _:
            written = emitter.sql(Apply("cast", (term,), TEXT))
    return f"coalesce(length({written}) || ':' || {written}, 'n')"
