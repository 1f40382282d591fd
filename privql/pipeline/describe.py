"""Answers made of the policy and the ledger alone: SHOW, DESCRIBE, EXPLAIN and SET."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from privql.check.relations import Label
from privql.diagnostics import refuse
from privql.domains import Domain
from privql.finish.result import Column, Release
from privql.kernel.cost import Cost
from privql.kernel.scalars import TEXT
from privql.pipeline.figures import moment
from privql.pipeline.price import Price
from privql.pipeline.report import StatementCheck
from privql.policy.catalog import Catalog
from privql.syntax import ast, unparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from privql.ledger import Standing
    from privql.pipeline.budget_report import BudgetReport
    from privql.pipeline.price import BudgetCost

    Cart = tuple[tuple[StatementCheck, ...], tuple[BudgetCost, ...]]


def told(
    check: StatementCheck,
    catalog: Catalog,
    budget: BudgetReport,
    releases: Mapping[str, str],
    cart: Callable[[], Cart],
    standing: Sequence[Standing] = (),
) -> Release:
    match check.statement:
        case ast.Show(what=what) if what.upper() == "TABLES":
            rows = [(t.name, f"private, of {t.unit.name}" if t.unit else "public") for t in catalog.tables]
            rows += [(view.name, "view") for view in catalog.views]
            return _table(("table", "kind"), [*rows, *((name, "release") for name in releases.values())])
        case ast.Show(what=what) if what.upper() == "RELEASES":
            return _releases(releases, standing)
        case ast.Show():
            return _table(("budget", "unit", "what", "amount"), budget.facts())
        case ast.Describe(path=path):
            return _table(("column", "type", "domain", "notes"), _columns(".".join(path), check, catalog))
        case ast.Explain(statement=None):
            return _cart(*cart())
        case ast.Explain():
            from privql.pipeline.explain import explain

            return _table(("plan",), [(line,) for line in explain(check).splitlines()])
        case ast.SetOption(name=name, value=value):
            return _table(("setting", "value"), [(name, unparse(value))])
        case _:
            raise refuse("PQL0408", "this statement cannot be run", check.span).in_source(check.source)


def _releases(names: Mapping[str, str], standing: Sequence[Standing]) -> Release:
    """Those that are made again and again say how far they are."""
    if not standing:
        return _table(("release",), [(name,) for name in names.values()])
    again = {one.name: _far(one) for one in standing}
    alone = [name for name in names.values() if name not in again]
    return _table(("release", "runs"), [*((name, "") for name in alone), *again.items()])


def _far(one: Standing) -> str:
    if one.last == "reserved":
        return f"run {one.taken} of {one.runs} has no answer yet"
    if one.taken == one.runs:
        return f"all {one.runs} runs were taken"
    begins = "now" if one.due is None or one.next != one.taken else f"at {moment(one.due)}"
    return f"{one.taken} of {one.runs} runs, the next {begins}"


def in_cart(
    check: StatementCheck, statements: tuple[StatementCheck, ...], costs: tuple[BudgetCost, ...], charged: bool
) -> Release:
    """What is said where a statement is taken and none is answered. `charged`: by a COMMIT that broke off."""
    match check.statement:
        case ast.Rollback():
            what = "what COMMIT charged stays charged" if charged else "nothing was charged"
            return _table(("cart",), [(f"forgotten: {what}",)])
        case ast.Begin():
            return _table(("cart",), [("open: COMMIT charges what you put in as one plan, ROLLBACK forgets it",)])
        case _:
            last = statements[-1]
            price = f"free ({last.free})" if last.free else str(last.cost)
            return _table(("cart", "cost", "in all"), [(f"query {len(statements)}", price, _in_all(costs))])


def _cart(statements: tuple[StatementCheck, ...], costs: tuple[BudgetCost, ...]) -> Release:
    """EXPLAIN inside BEGIN: each query and its price, what that adds up to, and what it is charged."""
    lines = [
        (
            str(at),
            " ".join(one.source.text[one.span.start : one.span.end].split()),
            f"free ({one.free})" if one.free else str(one.cost),
        )
        for at, one in enumerate(statements, 1)
    ]
    return _table(("query", "text", "cost"), [*lines, ("in all", "", _in_all(costs))])


def _in_all(costs: tuple[BudgetCost, ...]) -> str:
    return "; ".join(map(str, costs)) or "free"


def committed_answers(answers: tuple[Release, ...]) -> Release:
    """What COMMIT says: the answers themselves are beside it."""
    lines = [
        (str(at), str(Price(one.cost.epsilon, one.cost.delta)) if one.cost else "free", one.release_id or "")
        for at, one in enumerate(answers, 1)
    ]
    cost = sum((one.cost for one in answers), Cost())
    return replace(_table(("query", "cost", "release"), lines), cost=cost, answers=answers)


def _columns(name: str, check: StatementCheck, catalog: Catalog) -> list[tuple[str, ...]]:
    table, view, release = catalog.table(name), catalog.view(name), check.env.release(name)
    if table is not None:
        declared: list[tuple[str, ...]] = []
        for column in table.columns:
            notes = [f"names a {column.unit}"] if column.unit else []
            notes += ["hidden"] if column.hidden else []
            notes += ["key"] if column.key else []
            notes += [f"refers to {column.references[0]}.{column.references[1]}"] if column.references else []
            notes += ["not null"] if column.not_null else []
            declared.append((column.name, str(column.type), column.domain.describe(column.type), ", ".join(notes)))
        return declared
    if release is not None:
        return [(c.name, str(c.type), c.domain.describe(c.type), "released") for c in release.columns]
    assert view is not None
    return [(view.name, "", "", f"a view: {unparse(view.query)}")]


def _table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Release:
    return Release(tuple(Column(name, TEXT, Domain(), Label.PUBLIC) for name in names), tuple(tuple(r) for r in rows))
