"""One table's declaration by itself: columns, keys, whose rows they are, where they come from.

What it says about other tables - references, and units that flow along them - is settled in `references`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from privql.diagnostics import Span
from privql.kernel.parts import DIVIDING
from privql.kernel.terms import Unit
from privql.names import fold
from privql.policy.amounts import row_count
from privql.policy.catalog import Column, Table
from privql.policy.columns import read_column
from privql.policy.findings import Findings, listing
from privql.syntax import ast, quote

UNSETTLED = Unit("")  # of a private table whose declaration of it is refused: nothing else complains of it
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]+://|\b(password|passwd|pwd|token|secret)\s*=", re.IGNORECASE)


def read_table(create: ast.CreateTable, units: Mapping[str, Unit], found: Findings) -> Table:
    """`units` by folded name. What cannot be settled is reported and left out."""
    columns = _columns(create, found)
    carried = [column for column in columns if column.unit is not None]
    unit = None
    if create.private:
        unit = _unit(create, carried, units, found) or UNSETTLED
    else:
        _public(create, carried, found)
    unit_column = carried[0].name if unit is not None and carried else None
    keys = _keys(create, columns, found)
    via = create.unit.via if create.unit is not None and unit is not None else ()
    _sources(create, found)
    table = Table(
        create.name,
        columns,
        unit,
        unit_column,
        via,
        keys,
        files=create.sources,
        connection=create.connection,
        span=create.span,
    )
    return replace(table, at_most=_at_most(create, table, found), parts_by=_parts_by(create, table, found))


def row_unit(create: ast.CreateTable) -> str | None:
    """The unit that UNIT ROW brings into being: named as the table, where no AS names a declared one."""
    row = create.private and create.unit is not None and create.unit.row and create.unit.unit is None
    return create.name if row else None


def _columns(create: ast.CreateTable, found: Findings) -> tuple[Column, ...]:
    columns: dict[str, Column] = {}
    keyed = {fold(name) for key in create.keys for name in key}
    for definition in create.columns:
        column = read_column(definition, create.private and fold(definition.name) not in keyed, found)
        if fold(column.name) in columns:
            found.error(
                "PQL0702",
                f"`{create.name}` has two columns named `{column.name}`",
                found.name(definition.span, definition.name),
                why="names compare without upper and lower case",
                help="rename one of them",
            )
        columns.setdefault(fold(column.name), column)
    return tuple(columns.values())


def _unit(create: ast.CreateTable, carried: list[Column], units: Mapping[str, Unit], found: Findings) -> Unit | None:
    told = create.unit
    if len(carried) > 1:
        same = len({fold(column.unit or "") for column in carried}) < len(carried)
        found.error(
            "PQL0710",
            f"`{create.name}` has two columns that tell the same unit"
            if same
            else f"`{create.name}` has columns of two units",
            found.name(carried[1].span, carried[1].name),
            why=f"{listing(column.name for column in carried)} are both declared `UNIT`",
            help="keep the one that says whose row it is"
            if same
            else "keep one: this version protects one unit per table",
        )
        return None
    if told is not None and (told.row or told.via) and carried:
        rival = "UNIT ROW" if told.row else f"UNIT … VIA {', '.join(told.via)}"
        found.error(
            "PQL0710",
            f"`{create.name}` says in two ways whose rows these are",
            told.span,
            why=f"`{carried[0].name}` is declared `UNIT {carried[0].unit}`",
            help=f"leave `{rival}` out, or the column's `UNIT`",
        )
        return None
    names = [name for name in (told.unit if told else None, carried[0].unit if carried else None) if name]
    if told is not None and told.row and told.unit is None:
        names = [create.name]
    if len({fold(name) for name in names}) > 1:
        found.error(
            "PQL0710",
            f"`{create.name}` names two units",
            told.span if told else create.span,
            why=f"the table says {listing(names[:1])}, its column {listing(names[1:])}",
            help="write the same unit at both, or at the column only",
        )
        return None
    if not names or (told is not None and not (told.row or told.via or carried)):
        _without_unit(create, names, units, found)
        return None
    unit = units.get(fold(names[0]))
    if unit is None:
        span = told.span if told is not None and told.unit else carried[0].span
        unknown_unit(names[0], span, units, found)
    return unit


def _without_unit(create: ast.CreateTable, names: list[str], units: Mapping[str, Unit], found: Findings) -> None:
    wanted = names[0] if names else next((unit.name for unit in units.values()), "person")
    found.error(
        "PQL0709",
        f"no column of `{create.name}` says whose row it is"
        if names
        else f"the private table `{create.name}` protects nobody",
        create.unit.span if names and create.unit is not None else found.name(create.span, create.name),
        why="every row of a private table belongs to a unit, whose presence is what queries hide",
        help=f"mark the column that tells the unit, `… UNIT {wanted}`, or write `UNIT ROW` after the columns",
    )


def unknown_unit(name: str, span: Span, units: Mapping[str, Unit], found: Findings) -> None:
    known = [unit.name for unit in units.values()]
    message, help = f"no unit is named `{name}`", f"declare it: `CREATE UNIT {name};`"
    found.unknown("PQL0708", message, found.last_name(span, name), name, known, help=help)


def _public(create: ast.CreateTable, carried: list[Column], found: Findings) -> None:
    for column in carried:
        found.error(
            "PQL0711",
            f"`{create.name}` is public and cannot tell a unit",
            found.name(column.span, column.name),
            why="everyone may read a public table, so it protects nobody",
            help="leave `UNIT` out, or write `CREATE PRIVATE TABLE`",
        )
    for definition in create.columns:
        if definition.hidden:
            found.error(
                "PQL0711",
                f"`{create.name}` is public: `HIDDEN` has no meaning for it",
                found.name(definition.span, definition.name),
                why="everyone may read a public table",
                help="name the other columns only: what is not declared, nobody reads; or write `CREATE PRIVATE TABLE`",
            )
    option = None if create.parts_by is None else found.last_name(create.span, create.parts_by)
    spans = [None if part is None else part.span for part in (create.unit, create.at_most)]
    for span, what in zip((*spans, option), ("UNIT", "AT MOST", "PARTS BY"), strict=True):
        if span is not None:
            found.error(
                "PQL0711",
                f"`{create.name}` is public: `{what}` has no meaning for it",
                span,
                help=f"leave `{what}` out, or write `CREATE PRIVATE TABLE`",
            )


def _keys(create: ast.CreateTable, columns: tuple[Column, ...], found: Findings) -> tuple[tuple[str, ...], ...]:
    declared = {fold(column.name): column.name for column in columns}
    keys: list[tuple[str, ...]] = [(column.name,) for column in columns if column.key]
    for key in create.keys:
        unknown = [name for name in key if fold(name) not in declared]
        for name in unknown:
            found.unknown(
                "PQL0717",
                f"`KEY` names `{name}`, which is no column of `{create.name}`",
                found.name(create.span, name),
                name,
                declared.values(),
                help=f"the columns are {listing(declared.values())}",
            )
        spelled = tuple(declared.get(fold(name), name) for name in key)
        if len(set(spelled)) < len(spelled):
            found.error(
                "PQL0717",
                f"a `KEY` of `{create.name}` names one column twice",
                found.last_name(create.span, key[0]),
                help="name each column once",
            )
        elif not unknown and spelled not in keys:
            keys.append(spelled)
    return tuple(keys)


def _at_most(create: ast.CreateTable, table: Table, found: Findings) -> int | None:
    clause = create.at_most
    if clause is None or table.unit is None:
        return None
    if clause.groups is not None or clause.rows is None:
        found.error(
            "PQL0716",
            "a table can bound rows, not groups",
            clause.span,
            why="which groups there are is known only to a query",
            help="write `AT MOST n ROWS PER UNIT`",
        )
        return None
    if clause.per_unit is not None and table.unit != UNSETTLED and fold(clause.per_unit) != fold(table.unit.name):
        found.error(
            "PQL0716",
            f"the rows of `{create.name}` belong to the unit `{table.unit.name}`",
            clause.span,
            help=f"write `PER UNIT` or `PER UNIT {table.unit.name}`",
        )
    rows = found.reading(row_count, clause.rows)
    if rows is not None and table.unit != UNSETTLED and table.one_row_per_unit:
        found.warning(
            "PQL0732",
            f"`AT MOST` changes nothing for `{create.name}`",
            clause.span,
            why="each unit has one row already",
            help="leave it out",
        )
    return rows


def _parts_by(create: ast.CreateTable, table: Table, found: Findings) -> str | None:
    """What divides the units is taken as it is read: a value that is clamped would have several parts in one."""
    if create.parts_by is None or not create.private:
        return None
    column, at = table.column(create.parts_by), found.last_name(create.span, create.parts_by)
    if column is None:
        names = [each.name for each in table.columns]
        message = f"`PARTS BY` names `{create.parts_by}`, which is no column of `{create.name}`"
        found.unknown("PQL0717", message, at, create.parts_by, names, help=f"the columns are {listing(names)}")
        return None
    domain = column.domain
    clamped = domain.values is None and (domain.low, domain.high) != (None, None)
    if column.type.kind not in DIVIDING or clamped:
        found.error(
            "PQL0749",
            f"`{column.name}` cannot divide the units of `{create.name}`",
            at,
            why="a part is a value as the data has it, and numbers with bounds are brought within them",
            help="name a column of TEXT or BOOL, or of INT with a list of its values, `IN (…)`",
        )
        return None
    if fold(column.name) == fold(table.unit_column or ""):
        found.error(
            "PQL0749",
            f"`{column.name}` cannot divide the units of `{create.name}`",
            at,
            why="it names them: each unit would be a part",
            help="name the column of what they are divided into, a region or a hospital",
        )
        return None
    return column.name


def _sources(create: ast.CreateTable, found: Findings) -> None:
    if len(create.connection) == 1:
        found.error(
            "PQL0724",
            f"`{create.connection[0]}` alone does not say which rows `{create.name}` has",
            found.last_name(create.span, create.connection[0]),
            why="a connection leads to a database, which has tables",
            help=f"name one, `FROM {quote(create.connection[0])}.{quote(create.name)}`; a file's path stands in quotes",
        )
    for file in create.sources:
        if not file or _ELSEWHERE.search(file):
            found.error(
                "PQL0724",
                f"`{create.name}` can read files of this machine only",
                found.name(create.span, create.name),
                why="a policy is kept for ever in its ledger: it must hold no address and no password",
                help="write the path of a CSV or Parquet file, such as `FROM 'patients.parquet'`, or name a connection,"
                " `FROM clinic.public.patients`",
            )
