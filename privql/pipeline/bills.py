"""What the plans of a text would take from each budget, and whether that is there: text, policy and ledger decide.

It is what the ledger will do (`ledger/plans.py`), on budgets as they are now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from privql.diagnostics import Diagnostic
from privql.frozen import frozen
from privql.kernel.cost import Cost, amount_text
from privql.kernel.events import Events, cost_of
from privql.kernel.losses import NO_LOSS, loss_of
from privql.kernel.parallel import InParts
from privql.ledger import BudgetState, Ledger, LedgerError, Reason, bill, fullest_first, place_of
from privql.names import fold
from privql.pipeline.carts import Together
from privql.pipeline.check import check_statement
from privql.pipeline.figures import left_text, rough
from privql.pipeline.price import BudgetCost, price
from privql.pipeline.report import StatementCheck
from privql.plan.amounts import ZERO, Amount
from privql.plan.planning import no_budget
from privql.syntax import ast


def priced(
    ledger: Ledger, analyst: str, plans: Sequence[Together]
) -> tuple[tuple[BudgetCost, ...], tuple[Diagnostic, ...]]:
    """What each budget pays in all, and for each unit the first statement that cannot be paid for."""
    over: dict[str, Diagnostic] = {}
    costs: dict[tuple[str, str | None], BudgetCost] = {}
    held: dict[str, list[BudgetState]] = {}  # as each plan leaves them
    located = {id(check): _located(ledger, check) for plan in plans for check in plan.paying}
    for plan in plans:
        asking = [_Priced(check, check.by_unit, check.delta_by_unit, located[id(check)]) for check in plan.paying]
        for unit in dict.fromkeys(unit for one in asking for unit in one.epsilons):
            if unit not in held:
                where = [found[unit] for found in located.values() if unit in found]
                held[unit] = ledger.budgets_for(analyst, unit, where)
            wanted = [one for one in asking if unit in one.epsilons]
            one = _Bill.of(unit, chosen(held[unit], plan.budget), wanted, plan.delta, ledger, analyst)
            if one.problem is not None:
                over.setdefault(unit, one.problem)
            if one.after is not None:
                left = [one.after if state.budget == one.after.budget else state for state in held[unit]]
                held[unit] = fullest_first([state.at(None) for state in left])
            at = unit, one.cost.budget
            costs[at] = costs[at] + one.cost if at in costs else one.cost
    return tuple(costs.values()), tuple(over.values())


def chosen(states: list[BudgetState], name: str | None) -> list[BudgetState]:
    """The budget that SET chose, where it is one of these."""
    mine = [one for one in states if name is not None and fold(one.budget.name) == fold(name)]
    return mine or states


@frozen
class _Priced:
    """A statement and what it spends, of each unit."""

    check: StatementCheck
    epsilons: dict[str, Amount]
    deltas: dict[str, Fraction]
    where: dict[str, InParts]  # by unit, the parts that are charged


def _located(ledger: Ledger, check: StatementCheck) -> dict[str, InParts]:
    """By the names that a plan has for its units."""
    if check.request is None or not check.request.parts:
        return {}
    try:
        found = ledger.located(check.request)
    except LedgerError:  # running it will say why
        return {}
    return {unit: found[fold(unit)] for unit, _ in check.request.parts}


@frozen
class _Bill:
    """Of one plan, for one unit."""

    cost: BudgetCost
    after: BudgetState | None  # the budget that pays, when it has paid
    problem: Diagnostic | None

    @classmethod
    def of(
        cls,
        unit: str,
        states: Sequence[BudgetState],
        asking: Sequence[_Priced],
        delta: Fraction | None,
        ledger: Ledger,
        analyst: str,
    ) -> _Bill:
        total = sum((one.epsilons[unit] for one in asking), ZERO)
        asks = price(total, sum((one.deltas[unit] for one in asking), Fraction(0)))
        problem: Diagnostic | None = None
        if not states:
            first = asking[0].check
            problem = no_budget(unit, analyst, first.span).diagnostics[0].in_source(first.source)
            return cls(BudgetCost(None, unit, asks, False, None), None, problem)
        known = [one for one in asking if one.epsilons[unit].known]
        fixed = [one for one in known for _ in range(one.check.times)]
        met, where = [one.check.events_by_unit[unit] for one in fixed], [one.where.get(unit) for one in fixed]
        found = bill(states, met, delta, where) if met else (states[0], NO_LOSS)
        if isinstance(found, tuple):
            state, loss = found
        else:
            state, loss = states[0].at(place_of(where)), loss_of(sum(met, ()), states[0].order)
            problem = _unpayable(states, [one.check for one in fixed], met, where, delta, ledger, analyst)
        after, lost = state.after(loss), loss.cost
        paid = after if problem is None else state  # of what cannot be paid for nothing is taken away
        left = paid.left.epsilon if total.known else Amount(states[0].left.epsilon) - total
        charged = None if not total.known or lost == Cost(total.constant, asks.delta) else lost
        cost = BudgetCost(state.budget.name, unit, asks, problem is None, left, charged, after.where)
        return cls(cost, after, problem)


def _unpayable(
    states: Sequence[BudgetState],
    checks: Sequence[StatementCheck],
    met: Sequence[Events],
    where: Sequence[InParts | None],
    delta: Fraction | None,
    ledger: Ledger,
    analyst: str,
) -> Diagnostic:
    """Why the first of them that cannot be paid for cannot."""
    low, high = 0, len(met)  # so many can be paid for, so many cannot
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if isinstance(bill(states, met[:middle], delta, where[:middle]), tuple) else (low, middle)
        )
    check, reason = checks[low], bill(states, met[:high], delta, where[:high])
    first = states[0].at(place_of(where[:high]))
    assert isinstance(reason, str)
    asked = sum(map(cost_of, met[:high]), Cost())
    if delta is not None and reason != "max per query" and isinstance(bill(states, met, None, where), tuple):
        problem = _delta_refused(first, delta, check)
    else:
        problem = _refused(first, reason, cost_of(met[low]), asked, check)
        if problem.code == "PQL0502":
            from privql.pipeline.instead import instead, lacking  # for most there is enough

            said = instead(ledger, analyst, check, first.budget.name, reason, lacking(asked, first.left))
            problem = replace(problem, help=problem.help + said)
    return problem.in_source(check.source)


def _delta_refused(state: BudgetState, delta: Fraction, check: StatementCheck) -> Diagnostic:
    return Diagnostic(
        "PQL0502",
        f"`{state.budget.name}` cannot pay for a plan of δ = {amount_text(delta)}",
        check.span,
        why=f"of δ it has {left_text(state.noise_delta)} left for noise and plans",
        help="write BEGIN without DELTA: then it takes what there is",
    )


def _within_most(most: Fraction, check: StatementCheck) -> str:
    """What it may be given instead, and how far off the numbers would be whose error is known beforehand."""
    if check.again is not None:
        return "a smaller EPSILON after SPEND, which is that of all runs together"
    release = check.statement if isinstance(check.statement, ast.CreateRelease) else None
    query = release.query if release is not None else check.statement
    said = f"SPEND EPSILON {amount_text(most)}"
    if not isinstance(query, ast.Query) or query.privacy is None:
        return said
    unpriced = replace(
        query.privacy, epsilon=None, within=None, within_percent=False, confidence=None, max_epsilon=None, given=None
    )
    less = replace(query, privacy=unpriced)
    env = replace(check.env, settings=replace(check.env.settings, epsilon=most))
    again, _ = check_statement(less if release is None else replace(release, query=less), check.span, check.source, env)
    if any(cost_of(events).epsilon > most for events in again.events_by_unit.values()):
        said += ", and less where a clause inside of it says how much"
    elif again.ok and again.epsilon.known:
        errors = [f"`{one.name}` ± {rough(one.halfwidth95)}" for one in again.columns if one.halfwidth95 is not None]
        said += f", which gives {', '.join(errors)} at 95%" if errors else ""
    return said if query.privacy.within is None else f"WITHIN a larger error, or in place of it {said}"


def _refused(state: BudgetState, reason: Reason, one: Cost, total: Cost, check: StatementCheck) -> Diagnostic:
    budget, left = state.budget, state.left
    if reason == "max per query":
        assert budget.max_epsilon is not None
        return Diagnostic(
            "PQL0504",
            f"one query may spend at most ε = {amount_text(budget.max_epsilon)} of `{budget.name}`",
            check.span,
            why=f"{'this one' if check.again is None else 'each run of this one'} costs ε = {amount_text(one.epsilon)}",
            help=f"write {_within_most(budget.max_epsilon, check)}, or split the query",
        )
    if total.epsilon <= left.epsilon:
        before = "" if total.delta == one.delta else f", with what comes before it δ = {amount_text(total.delta)}"
        smaller = "spend a smaller δ, `DELTA 1e-9` after EPSILON, or none" if left.delta else "spend no δ"
        return Diagnostic(
            "PQL0502",
            f"`{budget.name}` cannot pay for this",
            check.span,
            why=f"it costs δ = {amount_text(one.delta)}{before}; left of δ is "
            f"{left_text(left.delta)} for finding groups, and {left_text(state.noise_delta)} for noise",
            help=f"{smaller}: groups stated with KEYS, USING LAPLACE; or ",
        )
    before = "" if total.epsilon == one.epsilon else f", with what comes before it ε = {amount_text(total.epsilon)}"
    return Diagnostic(
        "PQL0502",
        f"`{budget.name}` cannot pay for this",
        check.span,
        why=f"it costs ε = {amount_text(one.epsilon)}{before}, and ε = {left_text(left.epsilon)} is left",
        help="spend less; or " if left.epsilon > 0 else "nothing is left; ",
    )
