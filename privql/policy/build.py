"""The owner's statements, read together: a catalog without contradictions, or all the reasons why there is none.

Statements may stand in any order; what one says about another is settled when all have been read.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from privql.diagnostics import Diagnostic, PrivQLError, Source
from privql.kernel.terms import Unit
from privql.names import fold
from privql.policy.amounts import seconds
from privql.policy.budgets import check_pays, known_budget, read_budget, read_grants
from privql.policy.catalog import Budget, Catalog, Column, Table, View
from privql.policy.findings import Findings
from privql.policy.references import check_via, settle_references
from privql.policy.tables import read_table, row_unit
from privql.policy.views import check_value_query, check_views
from privql.syntax import ast, parse_file

# What a statement that could not be read might have defined is not reported as missing.
_MISSING = frozenset({"PQL0708", "PQL0713", "PQL0720", "PQL0723", "PQL0725", "PQL0726", "PQL0733"})

Statement = TypeVar("Statement", ast.CreateUnit, ast.CreateTable, ast.CreateView, ast.CreateBudget)


def build_catalog(source: Source) -> tuple[Catalog, list[Diagnostic]]:
    """The catalog that a policy's text declares; an empty one if any diagnostic is an error."""
    parsed, unread = parse_file(source)
    catalog, found = build_statements([each.statement for each in parsed], source)
    if unread:
        found = [diagnostic for diagnostic in found if diagnostic.code not in _MISSING]
    together = sorted([*(each.in_source(source) for each in unread), *found], key=lambda each: each.span)
    return (Catalog() if any(each.severity == "error" for each in together) else catalog), together


def build_statements(statements: Sequence[ast.Statement], source: Source) -> tuple[Catalog, list[Diagnostic]]:
    """The same from trees. `source` is the text that their spans point into."""
    found = Findings(source)
    for statement in statements:
        _owners(statement, found)
    tables_written = _distinct(statements, ast.CreateTable, "table", found)
    views_written = _distinct(statements, ast.CreateView, "view", found)
    units = _units(statements, tables_written, found)
    tables = {name: read_table(create, units, found) for name, create in tables_written.items()}
    for name, create in tables_written.items():
        tables[name] = settle_references(create, tables[name], tables, found)
        for column in tables[name].columns:
            if isinstance(column.values_from, ast.Query):
                check_value_query(column.values_from, tables, found)
    check_via(tables, {name: (each.unit or each).span for name, each in tables_written.items()}, found)
    views = {name: _view(create, tables, found) for name, create in views_written.items()}
    check_views(views, tables, found)
    budgets: dict[str, Budget] = {}
    altered = [each for each in statements if isinstance(each, ast.AlterBudget)]
    for name, written in _distinct(statements, ast.CreateBudget, "budget", found).items():
        budget = read_budget(written, [each for each in altered if fold(each.budget) == name], units, found)
        if budget is not None:
            budgets[name] = budget
    names = {fold(each.name): each.name for each in statements if isinstance(each, ast.CreateBudget)}
    for alter in altered:
        known_budget(alter, names, found)
    grants = read_grants([each for each in statements if isinstance(each, ast.Grant)], budgets, names, found)
    refreshed = tuple(_refreshed(each, tables, found) for each in statements if isinstance(each, ast.Refresh))
    padded = _padded([each for each in statements if isinstance(each, ast.PadTime)], found)
    if not found.failed:
        check_pays(budgets, tables, units, found)
        _told_alike(tables, found)
    in_order = sorted(found.diagnostics, key=lambda each: each.span)
    if found.failed:
        return Catalog(), in_order
    catalog = Catalog(
        tuple(units.values()),
        tuple(tables.values()),
        tuple(views.values()),
        tuple(budgets.values()),
        grants,
        refreshed,
        padded,
    )
    return catalog, in_order


def _owners(statement: ast.Statement, found: Findings) -> None:
    match statement:
        case ast.CreateUnit() | ast.CreateTable() | ast.CreateView() | ast.Refresh():
            return
        case ast.CreateBudget() | ast.AlterBudget() | ast.Grant() | ast.PadTime():
            return
        case _:
            found.error(
                "PQL0701",
                "a policy holds the owner's statements only",
                statement.span,
                why="queries, releases and settings belong to an analyst's file",
                help="move it to a query file, and run that as an analyst",
            )


def _distinct(
    statements: Sequence[ast.Statement], kind: type[Statement], what: str, found: Findings
) -> dict[str, Statement]:
    """The statements of one kind by folded name; the first of a name stands."""
    by_name: dict[str, Statement] = {}
    for statement in statements:
        if isinstance(statement, kind):
            if fold(statement.name) in by_name:
                found.error(
                    "PQL0702",
                    f"the {what} `{statement.name}` is declared twice",
                    found.name(statement.span, statement.name),
                    why="names compare without upper and lower case",
                    help="rename one of them, or leave one out",
                )
            by_name.setdefault(fold(statement.name), statement)
    return by_name


def _units(statements: Sequence[ast.Statement], tables: dict[str, ast.CreateTable], found: Findings) -> dict[str, Unit]:
    declared = _distinct(statements, ast.CreateUnit, "unit", found)
    units = {name: Unit(create.name, create.change_one) for name, create in declared.items()}
    for name, create in tables.items():
        implied = row_unit(create)
        if implied is not None and name in declared and create.unit is not None:
            found.error(
                "PQL0702",
                f"the rows of `{create.name}` would be a second unit of this name",
                create.unit.span,
                why=f"`UNIT ROW` alone makes a unit named as the table, and `CREATE UNIT {create.name}` another",
                help=f"write `UNIT ROW AS {create.name}` to say that they are one",
            )
        elif implied is not None:
            units[name] = Unit(implied)
    return units


def _told_alike(tables: dict[str, Table], found: Findings) -> None:
    """Two tables that tell their units by values of two types are never joined on them."""
    first: dict[str, tuple[Table, Column]] = {}
    for table in tables.values():
        column = table.column(table.unit_column) if table.unit_column is not None else None
        if table.unit is None or column is None:
            continue
        other, told = first.setdefault(fold(table.unit.name), (table, column))
        if told.type != column.type:
            here, there = f"{column.type} in `{table.name}`", f"{told.type} in `{other.name}`"
            found.warning(
                "PQL0735",
                f"the unit `{table.unit.name}` is told by {here}, and by {there}",
                column.span,
                why="rows of one unit meet only where values of one type tell it",
                help=f"declare both as one type, such as `{column.name} {told.type}`: what is stored is read as that",
            )


def _view(create: ast.CreateView, tables: dict[str, Table], found: Findings) -> View:
    if fold(create.name) in tables:
        found.error(
            "PQL0702",
            f"`{create.name}` is the name of a table and of a view",
            found.name(create.span, create.name),
            help="rename one of them",
        )
    return View(create.name, create.columns, create.query, create.span)


def _padded(statements: Sequence[ast.PadTime], found: Findings) -> Fraction | None:
    """The shortest length that time shows as, in seconds."""
    for again in statements[1:]:
        found.error("PQL0702", "`PAD TIME` is said twice", again.span, help="keep the one that is meant")
    for pad in statements[:1]:
        try:
            return seconds(pad)
        except PrivQLError as refused:
            found.diagnostics.extend(refused.in_source(found.source).diagnostics)
    return None


def _refreshed(refresh: ast.Refresh, tables: dict[str, Table], found: Findings) -> tuple[str, str]:
    table = tables.get(fold(refresh.table))
    if table is None:
        place, names = found.name(refresh.span, refresh.table), [each.name for each in tables.values()]
        found.unknown("PQL0723", f"no table is named `{refresh.table}`", place, refresh.table, names)
        return refresh.table, refresh.version
    return table.name, refresh.version
