"""From a `Sums` to one SQL statement: rows, what is summed of them, groups, and the listed groups.

What was measured, on 10M rows: grouping by a stored text column takes 13 ms, by a CASE over it 169 ms, because only
the column itself keeps its dictionary. So a key that is a declared list's `CASE WHEN k IN (…) THEN k END` is grouped
by k, and the CASE is computed once a group. Members are met after grouping, never by a filter before it (755 ms). A
clamp in a projection that `Steps` repeats or narrows is not computed twice: `Steps` reads the column below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from privql.engines.duckdb.expressions import Spelled
from privql.engines.duckdb.members import Arrays, listed
from privql.engines.duckdb.relations import Clamp, Listed, Names, ReadScan, Rows, rows
from privql.engines.duckdb.scalars import ScalarEmitter
from privql.engines.duckdb.steps import measured
from privql.kernel.scalars import Field, Scalar
from privql.kernel.terms import Balance, Key, Steps, Sums, Tally, Total


@dataclass(frozen=True, slots=True)
class Counted:
    """A count, in the result column of this name."""

    column: str


@dataclass(frozen=True, slots=True)
class Summed:
    """A sum up to 2^125: high * 2^62 + low, in the result columns `<name>_high` and `<name>_low`."""

    column: str


@dataclass(frozen=True, slots=True)
class Statement:
    """`group_at` numbers the groups in the order of the product of the keys; groups without rows are not there."""

    sql: str
    arrays: Mapping[str, Arrays]  # to be registered under these names
    tallies: tuple[Counted | None, ...]  # of each contribution: the rows, or for a balance those with steps
    totals: tuple[Summed | None, ...]  # of each contribution, the sum of the steps


@dataclass(slots=True)
class _Layer:
    """Columns to be added to the rows, and aggregates over them, each expression once."""

    below: Rows
    names: Names
    values: dict[str, str] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)  # over the values
    aggregates: dict[str, str] = field(default_factory=dict)
    scales: dict[str, int] = field(default_factory=dict)

    def column(self, spelled: Spelled) -> Spelled:
        """The expression as a leaf."""
        if spelled.leaf:
            return spelled
        name = self.values.setdefault(spelled.sql, self.names.new("x"))
        return Spelled(name, spelled.type, leaf=True, loose=spelled.loose, low=spelled.low, high=spelled.high)

    def measure(self, sql: str) -> str:
        return self.measures.setdefault(sql, self.names.new("s"))

    @property
    def sql(self) -> str:
        sql = self.below.sql
        for added in (self.values, self.measures):
            if added:
                sql = f"SELECT *, {', '.join(f'{made} AS {name}' for made, name in added.items())} FROM ({sql})"
        return sql

    def aggregate(self, sql: str, where: str, scale: int | None = None) -> str:
        name = self.aggregates.setdefault(sql + where, self.names.new("a"))
        if scale is not None:
            self.scales[name] = scale
        return name


def emit(sums: Sums, read: ReadScan, salt: bytes) -> Statement:
    names = Names()
    below = rows(sums.input, read, names, salt)
    layer = _Layer(below, names)
    emitter = ScalarEmitter(below.field)
    tallies: list[Counted | None] = []
    totals: list[Summed | None] = []
    for contribution in sums.contributions:
        where = ""
        if contribution.where is not None:
            where = f" FILTER (WHERE {layer.column(emitter.settled(contribution.where))})"
        match contribution:
            case Tally():
                tallies.append(Counted(layer.aggregate("count(*)", where)))
                totals.append(None)
            case Total(steps=steps) | Balance(steps=steps):
                x = layer.column(_summand(steps, below, emitter))
                measure = measured(x, steps)
                sql = layer.measure(measure.sql)
                balance = isinstance(contribution, Balance)
                tallies.append(Counted(layer.aggregate(f"count({sql})", where)) if balance else None)
                totals.append(Summed(layer.aggregate(f"sum({sql})", where, measure.scale)))
            case _:
                assert_never(contribution)
    groups, arrays = _groups(sums.keys, layer, emitter)
    final = [_whole(name, layer.scales.get(name)) for name in layer.aggregates.values()]
    sql = f"SELECT {', '.join(['group_at', *final])} FROM ({groups})"
    return Statement(sql, arrays, tuple(tallies), tuple(totals))


def _summand(steps: Steps, below: Rows, emitter: ScalarEmitter) -> Spelled:
    if isinstance(steps.value, Field):
        column = below.columns[steps.value.name]
        ends = steps.low * steps.grid, steps.high * steps.grid
        if isinstance(column.made, Clamp) and column.made.low <= ends[0] and ends[1] <= column.made.high:
            return column.made.column
    return emitter.spelled(steps.value)


def _groups(keys: tuple[Key, ...], layer: _Layer, emitter: ScalarEmitter) -> tuple[str, Mapping[str, Arrays]]:
    """Rows grouped by what the keys are of, then by the places of their values among the members."""
    arrays: dict[str, Arrays] = {}
    grouped: list[str] = []
    joins: list[str] = []
    places: list[str] = []
    stride = 1
    for key in reversed(keys):
        by, value = _grouping(key, layer, emitter)
        grouped.append(by.sql)
        table = layer.names.new("m")
        members = listed(key.members, key.value.type, table)
        if members.arrays is not None:
            arrays[f"{table}_arrays"] = members.arrays
        met = _over(by).sql(value)
        joins.append(f" JOIN {members.sql} ON ({met}) IS NOT DISTINCT FROM {table}.m")
        places.append(f"{table}.o * {stride}")
        stride *= len(key.members)
    partial = [f"{sql} AS {name}" for sql, name in layer.aggregates.items()]
    if not keys:
        return f"SELECT 0 AS group_at, {', '.join(partial)} FROM ({layer.sql})", arrays
    by_all = ", ".join(dict.fromkeys(grouped))
    inner = f"SELECT {by_all}, {', '.join(partial)} FROM ({layer.sql}) GROUP BY {by_all}"
    total = [f"sum({name}) AS {name}" for name in layer.aggregates.values()]
    outer = (
        f"SELECT CAST({' + '.join(places)} AS BIGINT) AS group_at, {', '.join(total)} FROM ({inner}){''.join(joins)}"
    )
    return f"{outer} GROUP BY group_at", arrays


def _grouping(key: Key, layer: _Layer, emitter: ScalarEmitter) -> tuple[Spelled, Scalar]:
    """The column to group by, and the key's value as a term over it."""
    if isinstance(key.value, Field):
        made = layer.below.columns[key.value.name].made
        if isinstance(made, Listed):
            return made.column, made.term
    return layer.column(emitter.settled(key.value)), Field("", key.value.type)


def _over(column: Spelled) -> ScalarEmitter:
    return ScalarEmitter(lambda _: column)


def _whole(name: str, scale: int | None) -> str:
    """An aggregate as integers of 64 bits."""
    if scale is None:
        return f"CAST({name} AS BIGINT) AS {name}"
    sql = f"coalesce({name}, 0)"
    if scale:
        power = f"CAST('{10**scale}' AS HUGEINT)"
        rest = f"CAST(({sql} - trunc({sql})) * DECIMAL({scale + 1},0) '{10**scale}' AS HUGEINT)"
        sql = f"(CAST(trunc({sql}) AS HUGEINT) * {power} + {rest})"
    else:
        sql = f"CAST({sql} AS HUGEINT)"
    unit = f"CAST('{2**62}' AS HUGEINT)"
    return f"CAST({sql} // {unit} AS BIGINT) AS {name}_high, CAST({sql} % {unit} AS BIGINT) AS {name}_low"
