"""What tables say about one another: REFERENCES, and units that flow along them (UNIT u VIA column)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privql.diagnostics import Span
from privql.kernel.scalars import NULL
from privql.names import fold
from privql.policy.catalog import Column, Table
from privql.policy.findings import Findings, listing
from privql.policy.tables import UNSETTLED
from privql.syntax import ast


def settle_references(create: ast.CreateTable, table: Table, tables: Mapping[str, Table], found: Findings) -> Table:
    """The table with its references spelled as declared. `tables` by folded name."""
    written = {fold(definition.name): definition.references for definition in reversed(create.columns)}
    columns = []
    for column in table.columns:
        reference = written[fold(column.name)]
        columns.append(column if reference is None else _settled(column, reference, table, tables, found))
    return replace(table, columns=tuple(columns))


def _settled(
    column: Column, reference: ast.References, table: Table, tables: Mapping[str, Table], found: Findings
) -> Column:
    other = tables.get(fold(reference.table))
    if other is None:
        _unknown(f"no table is named `{reference.table}`", reference, reference.table, tables, found)
        return column
    target = _target(reference, other, found)
    if target is None:
        return column
    if other.private and not table.private:
        found.error(
            "PQL0714",
            f"the public table `{table.name}` refers to the private table `{other.name}`",
            reference.span,
            why="its values would tell who is in the private table",
            help="leave `REFERENCES` out, or write `CREATE PRIVATE TABLE`",
        )
        return column
    if not other.private and column.unit is not None:
        found.error(
            "PQL0714",
            f"the unit column `{column.name}` refers to the public table `{other.name}`",
            reference.span,
            why="a list of the units that everyone may read hides nobody",
            help="leave `REFERENCES` out",
        )
        return column
    if other.private and other.place != table.place:
        found.error(
            "PQL0714",
            f"the rows of `{table.name}` and of `{other.name}` are in different places",
            reference.span,
            why="a reference between private tables is followed where their rows are: in one connection, or in files",
            help=f"put them into one, or give `{table.name}` a unit column of its own and leave `REFERENCES` out",
        )
    if column.type.kind != target.type.kind and NULL not in (column.type, target.type):
        found.error(
            "PQL0714",
            f"`{column.name}` is {column.type}, but `{other.name}.{target.name}` is {target.type}",
            reference.span,
            why="the values of one are those of the other",
            help=f"declare `{column.name}` as {target.type}",
        )
    if (target.name,) not in other.keys:
        found.error(
            "PQL0714",
            f"`{other.name}.{target.name}` is not a `KEY`",
            reference.span,
            why="a reference must lead to one row",
            help=f"declare it: `{target.name} {target.type} KEY`; the data is checked when the policy is applied",
        )
    pair = (other.name, target.name)
    return replace(column, references=pair, values_from=column.values_from if other.private else pair)


def _target(reference: ast.References, other: Table, found: Findings) -> Column | None:
    if reference.column is not None:
        target = other.column(reference.column)
        if target is None:
            names = {fold(column.name): column for column in other.columns}
            message = f"`{other.name}` has no column `{reference.column}`"
            _unknown(message, reference, reference.column, names, found)
        return target
    single = [key[0] for key in other.keys if len(key) == 1]
    if len(single) != 1:
        found.error(
            "PQL0713",
            f"`{other.name}` has {'several keys' if single else 'no key of one column'}",
            reference.span,
            help=f"name the column: `REFERENCES {other.name}(…)`",
        )
        return None
    return other.column(single[0])


def _unknown(
    message: str,
    reference: ast.References,
    name: str,
    known: Mapping[str, Table | Column],
    found: Findings,
) -> None:
    names = [each.name for each in known.values()]
    found.unknown("PQL0713", message, found.last_name(reference.span, name), name, names)


def check_via(tables: Mapping[str, Table], spans: Mapping[str, Span], found: Findings) -> None:
    """A unit that flows along a reference must arrive at rows that have it. `spans`: of the UNIT clauses."""
    reported: set[str] = set()
    for name, table in tables.items():
        if not table.via or table.unit is None:
            continue
        parent = _parent(table, tables, spans[name], found)
        if parent is None:
            continue
        path = [name]
        while parent is not None and parent.via and fold(parent.name) not in path:
            path.append(fold(parent.name))
            parent = _parent(parent, tables, spans[path[-1]], None)
        if parent is None or fold(parent.name) not in path:
            continue
        circle = path[path.index(fold(parent.name)) :]
        if not reported & set(circle):
            reported |= set(circle)
            found.error(
                "PQL0715",
                f"the unit of `{table.name}` flows in a circle",
                spans[name],
                why=" → ".join(f"`{tables[each].name}`" for each in [*circle, circle[0]]),
                help="let one of these tables tell the unit by a column of its own",
            )


def _parent(table: Table, tables: Mapping[str, Table], span: Span, found: Findings | None) -> Table | None:
    """The table that the unit comes from; reported to `found`, if given, when there is none."""
    assert table.unit is not None
    message, help = "", f"write `UNIT {table.unit.name} VIA` and a column with a reference"
    column = table.column(table.via[0])
    parent = tables.get(fold(column.references[0])) if column and column.references else None
    if len(table.via) > 1:
        message = "a unit flows along one column"
    elif column is None:
        message = f"`{table.name}` has no column `{table.via[0]}`"
        help = f"the columns are {listing(each.name for each in table.columns)}"
    elif parent is None:
        message = f"`{column.name}` refers to no table"
        help = f"declare what it refers to: `{column.name} {column.type} REFERENCES …`"
    elif parent.unit is None:
        message = f"`{parent.name}` has no unit that could flow to `{table.name}`"
        help = "refer to a private table, or write `UNIT ROW`"
    elif UNSETTLED in (parent.unit, table.unit):
        return None
    elif fold(parent.unit.name) != fold(table.unit.name):
        message = f"`{parent.name}` has the unit `{parent.unit.name}`, not `{table.unit.name}`"
        help = f"write `UNIT {parent.unit.name} VIA {column.name}`"
    else:
        return parent
    if found is not None:
        found.error("PQL0726", message, span, help=help)
    return None
