"""The trees of statements: one function for each rule of the grammar, called with its span and its children."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from privql.diagnostics import Span, refuse
from privql.syntax.ast import (
    AlterBudget,
    Begin,
    ColumnDefinition,
    Commit,
    CreateBudget,
    CreateRelease,
    CreateTable,
    CreateUnit,
    CreateView,
    Describe,
    Drop,
    Every,
    Explain,
    Expr,
    Grant,
    Number,
    PadTime,
    Query,
    References,
    Refine,
    Refresh,
    Rollback,
    SetOption,
    Show,
    TableUnit,
    TypeName,
)
from privql.syntax.build_parts import Part, folded, gathered, privacy, split

# ---------------------------------------------------------------- an analyst's


def explain(span: Span, statement: Any = None) -> Explain:
    return Explain(statement, span=span)


def show(span: Span, what: str) -> Show:
    return Show(folded(what), span=span)


def describe(span: Span, path: tuple[str, ...]) -> Describe:
    return Describe(path, span=span)


def set_option(span: Span, name: str, value: Expr) -> SetOption:
    return SetOption(name, value, span=span)


def drop(span: Span, kind: str, name: str) -> Drop:
    what: Literal["VIEW", "RELEASE"] = "VIEW" if kind.upper() == "VIEW" else "RELEASE"
    return Drop(what, name, span=span)


def begin(span: Span, delta: Expr | None = None) -> Begin:
    return Begin(delta, span=span)


def commit(span: Span) -> Commit:
    return Commit(span=span)


def rollback(span: Span) -> Rollback:
    return Rollback(span=span)


def create_release(span: Span, name: str, *given: Any) -> CreateRelease:
    *columns, query = given
    return CreateRelease(name, columns[0] if columns else (), query, span=span)


def refine(span: Span, name: str, *parts: Part) -> Refine:
    asked = privacy(list(parts))
    assert asked is not None
    return Refine(name, asked, span=span)


def refine_as(span: Span, name: str, *parts: Any) -> Refine:
    *asked, new = parts
    return replace(refine(span, name, *asked), new=new)


def create_view(span: Span, name: str, *given: Any) -> CreateView:
    *columns, query = given
    return CreateView(name, columns[0] if columns else (), query, span=span)


# ---------------------------------------------------------------- the owner's: units and tables


def create_unit(span: Span, name: str) -> CreateUnit:
    return CreateUnit(name, span=span)


def create_unit_change_one(span: Span, name: str) -> CreateUnit:
    return CreateUnit(name, change_one=True, span=span)


def create_table(span: Span, visibility: str, name: str, *given: Any) -> CreateTable:
    columns, parts = split(given)
    keys = tuple(part.value for part in parts if part.field == "keys")
    said = gathered(part for part in parts if part.field not in ("keys", "at_most"))
    at_most = privacy([part for part in parts if part.field == "at_most"])
    private = visibility.upper() == "PRIVATE"
    sources, connection = said.get("source", ((), ()))
    clauses = said.get("unit"), at_most, sources, connection, said.get("parts_by")
    return CreateTable(name, private, tuple(columns), keys, *clauses, span=span)


def table_key(span: Span, columns: tuple[str, ...]) -> Part:
    return Part("keys", columns, span, "KEY")


def unit_of(span: Span, unit: str) -> Part:
    return Part("unit", TableUnit(unit, span=span), span, "UNIT")


def unit_via(span: Span, unit: str, via: str | tuple[str, ...]) -> Part:
    through = (via,) if isinstance(via, str) else via
    return Part("unit", TableUnit(unit, via=through, span=span), span, "UNIT")


def unit_row(span: Span, unit: str | None = None) -> Part:
    return Part("unit", TableUnit(unit, row=True, span=span), span, "UNIT")


def parts_by(span: Span, column: str) -> Part:
    return Part("parts_by", column, span, "PARTS BY")


def sources(span: Span, *files: str) -> Part:
    return Part("source", (files, ()), span, "FROM")


def connection(span: Span, path: tuple[str, ...]) -> Part:
    return Part("source", ((), path), span, "FROM")


# ---------------------------------------------------------------- the owner's: columns


def column_definition(span: Span, name: str, type: TypeName, *parts: Part) -> ColumnDefinition:
    said = gathered(parts)
    unit, unit_alias = said.get("unit", (None, None))
    low, high = said.get("range", (None, None))
    return ColumnDefinition(
        name,
        type,
        unit=unit,
        unit_alias=unit_alias,
        key="key" in said,
        low=low,
        high=high,
        values=said.get("values"),
        grid=said.get("grid"),
        not_null="not_null" in said,
        references=said.get("references"),
        hidden="hidden" in said,
        visible="visible" in said,
        span=span,
    )


def column_unit(span: Span, unit: str, alias: str | None = None) -> Part:
    return Part("unit", (unit, alias), span, "UNIT")


def key(span: Span) -> Part:
    return Part("key", True, span, "KEY")


def low_high(span: Span, low: Expr, high: Expr) -> Part:
    return Part("range", (low, high), span, "BETWEEN")


def one_of(span: Span, *values: Expr) -> Part:
    return Part("values", values, span, "IN")


def one_of_query(span: Span, query: Query) -> Part:
    return Part("values", query, span, "IN")


def grid(span: Span, step: Expr) -> Part:
    return Part("grid", step, span, "GRID")


def not_null(span: Span) -> Part:
    return Part("not_null", True, span, "NOT NULL")


def references(span: Span, table: str, column: str | None = None) -> Part:
    return Part("references", References(table, column, span=span), span, "REFERENCES")


def hidden(span: Span) -> Part:
    return Part("hidden", True, span, "HIDDEN")


def visible(span: Span) -> Part:
    return Part("visible", True, span, "VISIBLE")


# ---------------------------------------------------------------- the owner's: budgets and data


def create_budget(span: Span, name: str, unit: str, *parts: Part) -> CreateBudget:
    said = gathered(parts)
    if "epsilon" not in said:
        raise refuse(
            "PQL0108",
            "a budget needs its `EPSILON`",
            span,
            why="without one nothing would limit what can be learned about one unit",
            help=f"write `CREATE BUDGET {name} FOR UNIT {unit} EPSILON 1`",
        )
    return CreateBudget(name, unit, **said, span=span)


def budget_epsilon(span: Span, amount: Expr) -> Part:
    return Part("epsilon", amount, span, "EPSILON")


def budget_delta(span: Span, amount: Expr) -> Part:
    return Part("delta", amount, span, "DELTA")


def default_epsilon(span: Span, amount: Expr) -> Part:
    return Part("default_epsilon", amount, span, "DEFAULT EPSILON")


def default_delta(span: Span, amount: Expr) -> Part:
    return Part("default_delta", amount, span, "DEFAULT DELTA")


def max_epsilon_per_query(span: Span, amount: Expr) -> Part:
    return Part("max_epsilon", amount, span, "MAX EPSILON")


def shares(span: Span, *each: tuple[str, Expr]) -> Part:
    return Part("shares", each, span, "SHARES")


def share_of(span: Span, name: str, amount: Expr) -> tuple[str, Expr]:
    return folded(name), amount


def renewal(span: Span, every: Every) -> Part:
    return Part("every", every, span, "EVERY")


def alter_budget(span: Span, budget: str, *given: Any) -> AlterBudget:
    (reason,), parts = split(given)
    added = gathered(parts)
    return AlterBudget(budget, added.get("epsilon"), added.get("delta"), reason, span=span)


def grant(span: Span, budget: str, *given: Any) -> Grant:
    analysts, limits = split(given)
    epsilon, delta = limits[0].value if limits else (None, None)
    return Grant(budget, tuple(analysts), epsilon, delta, span=span)


def grant_limit(span: Span, epsilon: Expr, delta: Expr | None = None) -> Part:
    return Part("limit", (epsilon, delta), span, "LIMIT")


def refresh(span: Span, table: str, version: str) -> Refresh:
    return Refresh(table, version, span=span)


_LENGTHS: dict[str, Literal["SECOND", "MINUTE"]] = {
    "SECOND": "SECOND", "SECONDS": "SECOND", "MINUTE": "MINUTE", "MINUTES": "MINUTE",
}  # fmt: skip


def pad_time(span: Span, count: Number, word: str) -> PadTime:
    period = _LENGTHS.get(folded(word))
    if period is None:
        raise refuse(
            "PQL0108",
            "`PAD TIME` needs a number of seconds or minutes",
            span,
            why="what takes no longer shows as so long, and what does as twice, four times, … as long",
            help="write `PAD TIME TO 2 SECONDS`",
        )
    return PadTime(count, period, span=span)
