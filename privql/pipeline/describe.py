"""Answers made of the policy and the ledger alone: SHOW, DESCRIBE, EXPLAIN and SET."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privql.check.relations import Label
from privql.diagnostics import refuse
from privql.domains import Domain
from privql.finish.result import Column, Release
from privql.kernel.scalars import TEXT
from privql.pipeline.price import left_text
from privql.pipeline.report import StatementCheck
from privql.policy.catalog import Catalog
from privql.syntax import ast, unparse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from privql.pipeline.purse import BudgetReport


def told(check: StatementCheck, catalog: Catalog, budget: BudgetReport, releases: Mapping[str, str]) -> Release:
    match check.statement:
        case ast.Show(what=what) if what.upper() == "TABLES":
            rows = [(t.name, f"private, of {t.unit.name}" if t.unit else "public") for t in catalog.tables]
            rows += [(view.name, "view") for view in catalog.views]
            return _table(("table", "kind"), [*rows, *((name, "release") for name in releases.values())])
        case ast.Show(what=what) if what.upper() == "RELEASES":
            return _table(("release",), [(name,) for name in releases.values()])
        case ast.Show():
            lines = [
                (b.budget.name, b.budget.unit, *map(left_text, (b.budget.epsilon, b.spent.epsilon, b.left.epsilon)))
                for b in budget.budgets
            ]
            return _table(("budget", "unit", "epsilon", "spent", "left"), lines)
        case ast.Describe(path=path):
            return _table(("column", "type", "domain", "notes"), _columns(".".join(path), check, catalog))
        case ast.Explain():
            from privql.pipeline.explain import explain

            return _table(("plan",), [(line,) for line in explain(check).splitlines()])
        case ast.SetOption(name=name, value=value):
            return _table(("setting", "value"), [(name, unparse(value))])
        case _:
            raise refuse("PQL0408", "this statement cannot be run", check.span).in_source(check.source)


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
