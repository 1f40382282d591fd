"""Budgets and grants: exact amounts that fit into one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from privql.kernel.cost import amount_text
from privql.kernel.terms import Unit
from privql.names import fold
from privql.policy.amounts import LONGEST, delta_amount, epsilon_amount, hours
from privql.policy.catalog import Budget, Grant, Raise, Table
from privql.policy.findings import Findings
from privql.policy.shares import read_shares
from privql.policy.tables import unknown_unit
from privql.syntax import ast

_NO_DELTA = "leave it out, or give the budget a δ: `DELTA 1e-6` after its EPSILON"


def read_budget(
    create: ast.CreateBudget, altered: Sequence[ast.AlterBudget], units: Mapping[str, Unit], found: Findings
) -> Budget | None:
    """The budget declared, with what was added to it since; None if its ε is none."""
    unit = units.get(fold(create.unit))
    if unit is None:
        unknown_unit(create.unit, create.span, units, found)
    epsilon = found.reading(epsilon_amount, create.epsilon)
    delta = found.reading(delta_amount, create.delta) or Fraction(0)
    raises = tuple(read_raise(each, found) for each in altered)
    default_epsilon = found.reading(epsilon_amount, create.default_epsilon)
    default_delta = found.reading(delta_amount, create.default_delta)
    max_epsilon = found.reading(epsilon_amount, create.max_epsilon)
    every = None if create.every is None else hours(create.every)
    if create.every is not None and every is not None and every > LONGEST:
        found.error(
            "PQL0729",
            f"the windows of `{create.name}` would last for more than a hundred years",
            create.every.span,
            why="nobody will see the second of them",
            help="leave `EVERY` out: then it does not renew",
        )
    if epsilon is None:
        return None
    epsilon += sum(each.epsilon for each in raises)
    delta += sum(each.delta for each in raises)
    if altered and delta >= 1:
        found.error("PQL0718", "δ must be below 1: δ = 1 promises nothing", altered[-1].span, help="add less")
        return None
    limits: list[tuple[str, Fraction | None, ast.Expr | None, str, Fraction | None]] = [
        ("the default ε", default_epsilon, create.default_epsilon, "the most that one query may spend", max_epsilon),
        ("the most that one query may spend", max_epsilon, create.max_epsilon, "the budget", epsilon),
        ("the default ε", default_epsilon, create.default_epsilon, "the budget", epsilon),
        ("the default δ", default_delta, create.default_delta, "the budget's δ", delta),
    ]
    for what, amount, written, limit_name, limit in limits:
        if amount is not None and written is not None and limit is not None and amount > limit:
            found.error(
                "PQL0719",
                f"in `{create.name}`, {what} exceeds {limit_name}",
                written.span,
                why=f"{amount_text(amount)} > {amount_text(limit)}",
                help=f"write {amount_text(limit)} or less" if limit else _NO_DELTA,
            )
            break
    return Budget(
        create.name,
        unit.name if unit else create.unit,
        epsilon,
        delta,
        default_epsilon,
        default_delta,
        max_epsilon,
        read_shares(create, delta, found),
        raises,
        every,
        create.span,
    )


def read_raise(alter: ast.AlterBudget, found: Findings) -> Raise:
    if not alter.reason.strip():
        found.error(
            "PQL0728",
            f"nothing says why `{alter.budget}` is raised",
            alter.span,
            why="whoever reads the history later should know",
            help="write the reason between the quotes",
        )
    epsilon = found.reading(epsilon_amount, alter.epsilon) or Fraction(0)
    return Raise(epsilon, found.reading(delta_amount, alter.delta) or Fraction(0), alter.reason)


def known_budget(statement: ast.Grant | ast.AlterBudget, names: Mapping[str, str], found: Findings) -> None:
    """`names`: of every budget written, also of those that could not be read."""
    if fold(statement.budget) not in names:
        place = found.name(statement.span, statement.budget)
        message = f"no budget is named `{statement.budget}`"
        found.unknown("PQL0720", message, place, statement.budget, names.values())


def read_grants(
    statements: Sequence[ast.Grant], budgets: Mapping[str, Budget], names: Mapping[str, str], found: Findings
) -> tuple[Grant, ...]:
    """One grant an analyst."""
    grants: dict[tuple[str, str], Grant] = {}
    for statement in statements:
        known_budget(statement, names, found)
        epsilon = found.reading(epsilon_amount, statement.epsilon)
        delta = found.reading(delta_amount, statement.delta)
        budget = budgets.get(fold(statement.budget))
        if budget is not None:
            _exceeds(statement, epsilon, delta, budget, found)
        spelled = names.get(fold(statement.budget), statement.budget)
        for analyst in statement.analysts:
            pair = (fold(statement.budget), fold(analyst))
            if pair in grants:
                found.error(
                    "PQL0721",
                    f"`{spelled}` is granted to `{analyst}` twice",
                    found.last_name(statement.span, analyst),
                    help="keep the grant that is meant",
                )
            grants.setdefault(pair, Grant(spelled, analyst, epsilon, delta, statement.span))
    return tuple(grants.values())


def _exceeds(
    statement: ast.Grant, epsilon: Fraction | None, delta: Fraction | None, budget: Budget, found: Findings
) -> None:
    for name, limit, written, whole in (
        ("ε", epsilon, statement.epsilon, budget.epsilon),
        ("δ", delta, statement.delta, budget.delta),
    ):
        if limit is not None and written is not None and limit > whole:
            found.warning(
                "PQL0722",
                f"the limit exceeds the {name} of `{budget.name}`",
                written.span,
                why=f"{amount_text(limit)} > {amount_text(whole)}: the budget ends first",
                help=f"write {amount_text(whole)} or less, or leave the limit out" if whole else _NO_DELTA,
            )


def check_pays(
    budgets: Mapping[str, Budget], tables: Mapping[str, Table], units: Mapping[str, Unit], found: Findings
) -> None:
    """Every budget has something to pay for, and every private table a budget."""
    private = [table for table in tables.values() if table.unit is not None]
    used = {fold(table.unit.name) for table in private if table.unit is not None}
    paid = {fold(budget.unit) for budget in budgets.values()}
    for budget in budgets.values():
        if fold(budget.unit) in units and fold(budget.unit) not in used:
            found.warning(
                "PQL0733",
                f"`{budget.name}` pays for a unit without private tables",
                found.name(budget.span, budget.name),
                why=f"no private table has the unit `{budget.unit}`",
            )
    for table in private:
        if table.unit is not None and fold(table.unit.name) not in paid:
            found.warning(
                "PQL0733",
                f"no budget pays for queries of `{table.name}`",
                found.name(table.span, table.name),
                help=f"write `CREATE BUDGET … FOR UNIT {table.unit.name} EPSILON …;`",
            )
