"""One column's declaration: its type, and the domain that its options leave."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from privql.diagnostics import Fix, Span
from privql.domains import NUMERIC, ORDERED, Domain, finite, interval, number_text, whole
from privql.domains.types import TYPE_NAMES, value_type
from privql.kernel.scalars import NULL, Value, ValueType
from privql.policy.catalog import Column
from privql.policy.constants import bound, constant
from privql.policy.findings import Findings
from privql.syntax import ast

_UNIT_KINDS = frozenset({"INT", "DECIMAL", "TEXT", "DATE", "TIMESTAMP"})


def read_column(definition: ast.ColumnDefinition, summed: bool, found: Findings) -> Column:
    """The column declared. An unknown type is reported and becomes NULL's, so that nothing else complains of it.

    `summed`: numbers here are likely to be, and then missing bounds are worth a note.
    """
    name = definition.name
    type = value_type(definition.type)
    if type is None:
        found.error(
            "PQL0703",
            f"the column `{name}` has a type that is not known here",
            definition.type.span,
            why=f"the types are {TYPE_NAMES}, and their usual names in PostgreSQL and DuckDB",
            help="write the nearest of these types; what cannot be read as it becomes NULL",
        )
        type = NULL
    else:
        _suits(definition, type, found)
    never_null = definition.not_null or definition.unit is not None
    domain = whole(type, nullable=not never_null)
    if type != NULL and definition.unit is None:
        domain = _domain(definition, type, domain, found)
    grid = _grid(definition, type, domain, found)
    if grid is not None and _enforceable(grid, type, domain):
        domain = replace(domain, grid=grid)
    if summed:
        _bounds_missing(definition, type, found)
    return Column(
        name,
        type,
        domain,
        grid,
        definition.key,
        definition.unit_alias or definition.unit,
        definition.not_null,
        definition.hidden,
        definition.visible,
        values_from=definition.values if isinstance(definition.values, ast.Query) else None,
        span=definition.span,
    )


def _suits(definition: ast.ColumnDefinition, type: ValueType, found: Findings) -> None:
    """Options that contradict the type or one another."""
    name, span = definition.name, found.name(definition.span, definition.name)
    if definition.low is not None and type.kind not in ORDERED:
        found.error(
            "PQL0706",
            f"`BETWEEN` cannot bound `{name}`, a column of type {type}",
            _bounds_span(definition),
            why="bounds need numbers, dates or times",
            help=f"list its values instead: `{name} {type} IN ({_example(type)})`",
        )
    if definition.low is not None and definition.values is not None:
        found.error(
            "PQL0706",
            f"`{name}` has both bounds and a list of values",
            _bounds_span(definition),
            help="the list says all; leave `BETWEEN` out",
        )
    if definition.values is not None and definition.references is not None:
        found.error(
            "PQL0706",
            f"`{name}` has both a list of values and a reference",
            span,
            why="a public reference lists the values already",
            help="leave `IN` or `REFERENCES` out",
        )
    if definition.hidden and definition.visible:
        found.error(
            "PQL0706",
            f"`{name}` cannot be hidden and visible",
            span,
            help="leave `HIDDEN` or `VISIBLE` out",
        )
    if definition.visible and definition.unit is None:
        found.error(
            "PQL0706",
            f"`{name}` is `VISIBLE` without being a unit",
            span,
            why="`VISIBLE` lets a query compare a unit with a literal; other columns always may be",
            help="leave `VISIBLE` out",
        )
    if definition.unit is not None:
        _suits_a_unit(definition, type, found)


def _suits_a_unit(definition: ast.ColumnDefinition, type: ValueType, found: Findings) -> None:
    name, span = definition.name, found.name(definition.span, definition.name)
    if definition.unit_alias is not None:
        found.error(
            "PQL0706",
            f"the unit of `{name}` has two names",
            span,
            help=f"write `UNIT {definition.unit_alias}`",
        )
    if type.kind not in _UNIT_KINDS:
        found.error(
            "PQL0712",
            f"a unit cannot be told by a column of type {type}",
            definition.type.span,
            why="equal units must be equal values, whatever engine reads them",
            help=f"declare `{name}` as TEXT or INT",
        )
    if definition.low is not None or definition.values is not None or definition.grid is not None:
        found.error(
            "PQL0712",
            f"`{name}` tells the unit and can have no bounds, list or grid",
            span,
            why="moving values into a domain would make one unit of several, and protect none of them",
            help="leave `BETWEEN`, `IN` and `GRID` out",
        )


def _domain(definition: ast.ColumnDefinition, type: ValueType, domain: Domain, found: Findings) -> Domain:
    nullable = domain.nullable
    if definition.low is not None and definition.high is not None and type.kind in ORDERED:
        low = found.reading(lambda expr: bound(expr, type), definition.low)
        high = found.reading(lambda expr: bound(expr, type), definition.high)
        if low is None or high is None:
            return domain
        if low > high:
            low_span, high_span = definition.low.span, definition.high.span
            found.error(
                "PQL0704",
                f"the bounds of `{definition.name}` are reversed",
                _bounds_span(definition),
                label="nothing lies between these",
                help="write the smaller bound first",
                fixes=(
                    Fix(low_span, found.source.at(high_span)),
                    Fix(high_span, found.source.at(low_span)),
                ),
            )
            return domain
        return interval(low, high, nullable, domain.grid)
    if isinstance(definition.values, tuple):
        return _listed(definition, definition.values, type, domain, found)
    return domain


def _listed(
    definition: ast.ColumnDefinition,
    items: tuple[ast.Expr, ...],
    type: ValueType,
    domain: Domain,
    found: Findings,
) -> Domain:
    if not items:
        found.error(
            "PQL0704",
            f"the list of values of `{definition.name}` is empty",
            found.name(definition.span, definition.name),
            help=f"list the values: `IN ({_example(type)})`, or leave `IN` out",
        )
        return domain
    values: list[Value] = []
    for item in items:
        value = found.reading(lambda expr: constant(expr, type), item)
        if value is None:
            continue
        if value in values:
            found.warning(
                "PQL0731",
                f"a value of `{definition.name}` is listed twice",
                item.span,
                help="leave one out",
            )
        values.append(value)
    return finite(values, domain.nullable, domain.grid)


def _grid(definition: ast.ColumnDefinition, type: ValueType, domain: Domain, found: Findings) -> Fraction | None:
    """The declared step between values: a whole number of the type's own steps, on which both bounds lie."""
    if definition.grid is None or type == NULL or definition.unit is not None:
        return None
    if type.kind not in NUMERIC or domain.values is not None:
        found.error(
            "PQL0707",
            f"`GRID` has no meaning for `{definition.name}`",
            definition.grid.span,
            why="a grid is the step between the numbers of a bounded column",
            help="leave `GRID` out",
        )
        return None
    grid = found.reading(lambda expr: bound(expr, type), definition.grid)
    if grid is None:
        return None
    if grid <= 0:
        found.error(
            "PQL0707", "a grid must be above zero", definition.grid.span, help="write the step between two values"
        )
        return None
    for edge, written in ((domain.low, definition.low), (domain.high, definition.high)):
        if edge is not None and written is not None and (edge / grid).denominator != 1:
            nearest = number_text(round(edge / grid) * grid)
            found.error(
                "PQL0707",
                f"the grid of `{definition.name}` does not divide its bound",
                written.span,
                why=f"{number_text(edge)} / {number_text(grid)} is not a whole number",
                help=f"move the bound to {nearest}, or write a grid that divides it",
            )
            return None
    return grid


def _enforceable(grid: Fraction, type: ValueType, domain: Domain) -> bool:
    """Whether every engine can round to this grid exactly; else the declaration is no more than a remark."""
    if domain.low is None or domain.high is None:
        return False
    if type.kind == "FLOAT":
        far = max(abs(domain.low), abs(domain.high))
        ends = grid.numerator, grid.denominator
        return all(end & (end - 1) == 0 for end in ends) and far / grid <= 2**51 and Fraction(1, 2**1000) <= grid
    return domain.high - domain.low + grid < 2**62 if type.kind == "INT" else type.precision < 37


def _bounds_missing(definition: ast.ColumnDefinition, type: ValueType, found: Findings) -> None:
    told = definition.unit, definition.references, definition.low, definition.values
    if type.kind in NUMERIC and not definition.key and not definition.hidden and not any(told):
        found.note(
            "PQL0730",
            f"`{definition.name}` has no bounds",
            found.name(definition.span, definition.name),
            why="a sum or a mean of it will need them in every query",
            help=f"declare what you know without looking: `{definition.name} {type} BETWEEN … AND …`",
        )


def _bounds_span(definition: ast.ColumnDefinition) -> Span:
    if definition.low is None or definition.high is None:
        return definition.span
    return definition.low.span.to(definition.high.span)


def _example(type: ValueType) -> str:
    match type.kind:
        case "TEXT":
            return "'a', 'b'"
        case "BOOL":
            return "TRUE, FALSE"
        case "DATE":
            return "DATE '2025-01-31'"
        case "TIMESTAMP":
            return "TIMESTAMP '2025-01-31 00:00:00'"
        case _:
            return "1, 2, 3"
