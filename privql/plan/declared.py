"""Declarations made true at the scan: what a query sees of a private table's columns, as kernel terms."""

from __future__ import annotations

from collections.abc import Container
from fractions import Fraction

from privql.check.conditions import present
from privql.check.env import Env
from privql.check.relations import WORTH_TESTING, PrivateScan
from privql.domains import Domain, finite, grid_of
from privql.functions.scalar import resolve
from privql.kernel import rules
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar, Value, ValueType
from privql.kernel.stable import Stable
from privql.kernel.terms import Link, Scan
from privql.policy.catalog import Catalog, Column, Table
from privql.syntax import ast


def scanned(rel: PrivateScan, needed: frozenset[str], env: Env, characters: int | None = None) -> Stable:
    """The table as declared: numbers clamped, values outside their set NULL, rows without a NOT NULL value dropped.
    Of texts that may be of any length so many characters are read, if not all."""
    table = env.catalog.table(rel.table)
    assert table is not None and table.unit is not None
    wanted = [(id, name) for id, name, _ in rel.columns if id in needed]
    required = [column for column in table.columns if column.not_null and column.name != table.unit_column]
    read = {name for _, name in wanted} | {column.name for column in required}
    read |= {table.parts_by} if table.parts_by is not None else set()
    columns = {column.name: column for column in table.columns if column.name in read}
    stable = rules.scan(scan_of(table, columns, env.catalog))
    if table.parts_by is not None:  # before anything else that a policy says: which part is of the data alone
        stable = rules.unit_part(stable, table.parts_by)
    for column in required:
        value = enforced(column, env)
        stable = rules.keep_where(stable, present(value))

    def seen(column: Column) -> Scalar:
        value = enforced(column, env)
        cut = characters is not None and _long(column, table)
        return applied("left", value, Const(characters, INT)) if cut else value

    return rules.compute(stable, tuple((id, seen(columns[name])) for id, name in wanted))


def long_texts(rel: PrivateScan, needed: frozenset[str], env: Env) -> int:
    """How many of these columns have texts that may be of any length."""
    table = env.catalog.table(rel.table)
    assert table is not None
    named = {name for id, name, _ in rel.columns if id in needed}
    return sum(_long(column, table) for column in table.columns if column.name in named)


def _long(column: Column, table: Table) -> bool:
    """Whether its texts may be of any length. What rows are joined on - their unit, their keys - is never shortened."""
    keyed = column.name == table.unit_column or column.references is not None or (column.name,) in table.keys
    return column.type.kind == "TEXT" and column.domain.values is None and not keyed


def scan_of(table: Table, names: Container[str], catalog: Catalog) -> Scan:
    """These columns of a private table, and what its owner declared of its rows."""
    assert table.unit is not None
    columns = {column.name: column.type for column in table.columns if column.name in names}
    via, last = _reached(table, catalog)
    unit = last.column(last.unit_column) if last.unit_column is not None else None
    return Scan(
        table.name,
        table.unit,
        (unit.name, unit.type) if unit is not None else None,
        table.one_row_per_unit,
        tuple(columns.items()),
        via,
        frozenset(key[0] for key in table.keys if len(key) == 1 and key[0] in columns),
    )


def _reached(table: Table, catalog: Catalog) -> tuple[tuple[Link, ...], Table]:
    """The steps from a table to the one that names the unit. A policy without circles has an end to them."""
    steps: list[Link] = []
    while table.via:
        column = table.column(table.via[0])
        assert column is not None and column.references is not None
        target = catalog.table(column.references[0])
        assert target is not None
        key = target.column(column.references[1])
        assert key is not None
        steps.append(Link(column.name, target.name, (key.name, key.type)))
        table = target
    return tuple(steps), table


def enforced(column: Column, env: Env) -> Scalar:
    """What a query sees of a column: its declaration, made true."""
    raw, type, domain = Field(column.name, column.type), column.type, declared(column, env)
    if domain.values is not None:
        if type.kind == "BOOL" or len(domain.values) > WORTH_TESTING:
            return raw
        members = tuple(Const(value, type) for value in domain.values)
        return _only_if(Apply("in", (raw, *members), BOOL), raw, type) if members else Const(None, type)
    low = Const(_bound(domain, type, low=True), type) if domain.low is not None else None
    high = Const(_bound(domain, type, low=False), type) if domain.high is not None else None
    if low is None and high is None:
        return raw
    if type.kind in ("DATE", "TIMESTAMP"):
        tests = tuple(Apply(op, (raw, end), BOOL) for op, end in (("ge", low), ("le", high)) if end is not None)
        return _only_if(tests[0] if len(tests) == 1 else Apply("and", tests, BOOL), raw, type)
    if low is not None and high is not None:
        clamped = Apply("clamp", (raw, low, high), type)
        return clamped if domain.grid in (None, grid_of(type)) else _on_grid(clamped, low, domain.grid, type)
    end, op = (low, "lt") if low is not None else (high, "gt")
    assert end is not None
    return Apply("case", (Apply(op, (raw, end), BOOL), end, raw), type)


def _on_grid(value: Scalar, low: Const, grid: Fraction, type: ValueType) -> Scalar:
    """The multiple of the grid nearest to a value of at least `low`, which is one; the greater of two as near."""
    if type.kind == "FLOAT":  # a power of two, so that both products are exact
        up = applied("add", applied("mul", value, Const(float(1 / grid), type)), Const(0.5, type))
        return applied("mul", applied("floor", up), Const(float(grid), type))
    unit = grid_of(type)
    assert unit is not None
    half, whole = (_exact(steps * unit, type) for steps in (int(grid / unit) // 2, int(grid / unit)))
    up = applied("add", applied("sub", value, low), half)
    return Apply("cast", (applied("add", low, applied("sub", up, applied("mod", up, whole))),), type)


def _exact(value: Fraction, type: ValueType) -> Const:
    return Const(int(value) if type.kind == "INT" else value, type)


def applied(op: str, *args: Scalar) -> Scalar:
    found = resolve(op, tuple(arg.type for arg in args), tuple(a.value if isinstance(a, Const) else None for a in args))
    assert found is not None
    taken = (
        arg if arg.type == wanted else Apply("cast", (arg,), wanted)
        for arg, wanted in zip(args, found.arg_types, strict=True)
    )
    return Apply(found.op, tuple(taken), found.result)


def declared(column: Column, env: Env) -> Domain:
    """REFERENCES says which groups there are, and changes no value: a row that dangles is in none of them."""
    if not isinstance(column.values_from, ast.Query) or env.public is None:
        return column.domain
    members = env.public.query(column.values_from)
    return column.domain if members is None else finite(members, column.domain.nullable, column.domain.grid)


def _only_if(test: Scalar, value: Scalar, type: ValueType) -> Scalar:
    return Apply("case", (test, value, Const(None, type)), type)


def _bound(domain: Domain, type: ValueType, low: bool) -> Value:
    bound = domain.low if low else domain.high
    assert bound is not None
    match type.kind:
        case "FLOAT":
            return float(bound)
        case "DECIMAL":
            return bound
        case _:
            return int(bound)
