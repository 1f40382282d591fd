"""`CREATE RELEASE … EVERY DAY FOR 90 RUNS SPEND EPSILON 1`: what one run may spend, so that all stay within it.

Without a δ, runs add up. With one they are a plan that may take it (`kernel/plans.py`), and each may spend more. What
a run spends is fixed when all are paid for, to four digits; the ledger keeps it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privql.check.env import Env, ReleaseColumn, ReleaseSchema
from privql.check.query import checked
from privql.check.relations import CheckedQuery
from privql.check.typed import Context
from privql.diagnostics import PrivQLError, Span, refuse
from privql.finish.runs import RUN, run_domain
from privql.frozen import frozen
from privql.kernel.cost import Cost, amount_text
from privql.kernel.events import Events
from privql.kernel.losses import Loss, loss_of
from privql.kernel.plans import planned
from privql.kernel.scalars import INT
from privql.kernel.search import least
from privql.ledger import PlanRequest, Request
from privql.names import fold
from privql.pipeline.figures import magnitude
from privql.plan.amounts import known
from privql.plan.planning import plan
from privql.plan.program import Plan
from privql.policy.amounts import LONGEST, hours, lasting
from privql.syntax import ast

MOST = 10_000


@frozen
class Runs:
    """How often a release is made, how far apart, and what that may spend."""

    name: str
    count: int
    hours: int
    each: Fraction  # the ε of a run, as its clause would say it
    total: Fraction
    delta: Fraction
    plan_delta: Fraction  # of it, what adding them up may take; the rest is what the runs themselves need
    losses: dict[str, Cost]  # by unit: what all runs together are charged

    @property
    def words(self) -> str:
        runs = "1 run" if self.count == 1 else f"{self.count} runs, one every {lasting(self.hours)}"
        return f"{runs}, of ε = {amount_text(self.each)} each"

    def request(self, run: Request, values: str) -> PlanRequest:
        """All runs as one plan. The same release is the one that says the same, of the same `values`."""
        said = json.dumps([fold(self.name), run.query, values, self.hours, str(self.total), str(self.delta)])
        texts, slots = (said,) * self.count, (run.charges,) * self.count
        return PlanRequest(run.analyst, texts, run.policy_version, slots, run.tables, run.budget, self.plan_delta)

    def to_json(self) -> dict[str, Any]:
        return {"runs": self.count, "hours": self.hours, "epsilon_of_a_run": str(self.each)}


def made_again(statement: ast.CreateRelease, context: Context) -> tuple[CheckedQuery, Plan, Runs]:
    """One run of it, planned."""
    env, clause = context.env, statement.query.privacy
    assert clause is not None and clause.schedule is not None
    count, apart = _schedule(clause.schedule, statement, env)
    if env.cart is not None:
        raise _refused("a release that is made again is a plan of its own", clause.schedule.span, "COMMIT before it")
    if clause.epsilon is None or clause.within is not None:
        help = "write `SPEND EPSILON …` for all of them, and `DELTA …` to let each spend more"
        raise _refused("nothing says what all runs together may spend", clause.schedule.span, help)
    own = replace(clause, schedule=None)
    query = checked(replace(statement.query, privacy=own), context)
    if query.told:
        from privql.pipeline.told import proved  # brings numpy along

        proved(query)
    if not any(paid for said, paid in context.clauses if said is own):
        help = "leave EVERY out: what is made of public and released rows is free"
        raise _refused("there is nothing to measure again", clause.schedule.span, help)
    total = known(clause.epsilon, env.params, "epsilon")
    delta = Fraction(0) if clause.delta is None else known(clause.delta, env.params, "delta")
    if not 0 <= delta < 1 or total <= 0:
        help = "write SPEND EPSILON 1 DELTA 1e-7"
        raise refuse("PQL0503", "ε is positive, and δ lies between 0 and 1", clause.span, help=help)

    @lru_cache
    def run(each: Fraction, delta: Fraction | None) -> Plan:
        at = replace(
            own,
            epsilon=_number(each, own.span),
            delta=None if delta is None else _number(delta, own.span),
        )
        clauses = [(at if said is own else said, paid) for said, paid in context.clauses]
        return plan(query, clauses, context.manners, env)

    own_delta = _own_delta(lambda given: run(_four_digits(total / count), given), delta, count)
    first = run(_four_digits(total / count), own_delta)
    if not first.epsilon.known:
        name = first.epsilon.params[0][0]
        raise refuse("PQL0304", f"parameter `${name}` has no value", clause.span, help=f"bind it: `--param {name}=…`")
    if first.delta and not delta:
        help = "write `SPEND EPSILON … DELTA …`, of all runs together, or state the groups with KEYS"
        raise _refused("each run needs a δ, and nothing says how much", clause.span, help)

    def together(each: Fraction) -> Fraction:
        met = run(each, own_delta).events_by_unit.values()
        rest = _rest(delta, met, count)
        return max(_lost(events, count, rest).epsilon for events in met)

    before = env.standing.get(fold(statement.name))
    each = before if before is not None else greatest(together, total, count)
    if not each:
        help = "leave what clauses inside say to this one, or spend more"
        raise _refused("what is said inside costs more than all runs may spend", clause.span, help)
    program = run(each, own_delta)
    rest = _rest(delta, program.events_by_unit.values(), count)
    losses = {unit: _lost(met, count, rest).cost for unit, met in program.events_by_unit.items()}
    return query, program, Runs(statement.name, count, apart, each, total, delta, rest, losses)


@lru_cache(maxsize=256)
def _lost(events: Events, count: int, delta: Fraction) -> Loss:
    """What the ledger will charge for all of them."""
    return planned(events * count, delta) if count > 1 else loss_of(events)


def greatest(together: Callable[[Fraction], Fraction], total: Fraction, count: int) -> Fraction:
    """The greatest ε of four digits for which so many runs together cost no more than the total; 0 if there is none.

    What they cost grows with ε, about as a power of it: a few looks are enough to be near.
    """
    guess = _four_digits(total / count)
    cost, slope = together(guess), 1.3
    for _ in range(3):
        nearer = _four_digits(guess * Fraction(math.exp(math.log(total / cost) / slope)))
        if nearer == guess:
            break
        then = together(nearer)
        slope = min(max(math.log(then / cost) / math.log(nearer / guess), 0.5), 2)
        guess, cost = nearer, then
    step = Fraction(10) ** (magnitude(guess) - 3)
    fits = int(guess / step) if cost <= total else 0  # as much does, and so what is less

    def too_much(steps: int) -> bool:
        nonlocal fits
        if steps > fits and together(steps * step) <= total:
            fits = steps
        return steps > fits

    return _four_digits((least(too_much, int(guess / step)) - 1) * step)


def _own_delta(first: Callable[[Fraction | None], Plan], delta: Fraction, count: int) -> Fraction | None:
    """What each run takes for itself - for groups that are found, for noise - where it needs any: half of what there
    is for all of them."""
    if not delta:
        return None
    given = _four_digits(delta / (2 * count))
    return given if first(given).delta else None


def _rest(delta: Fraction, met: Iterable[Events], count: int) -> Fraction:
    """What of the δ the search for groups leaves to adding up."""
    keys = [sum((one.cost.delta for one in events if one.kind == "keys"), Fraction(0)) for events in met]
    return max(delta - count * max(keys), Fraction(0))


def _four_digits(value: Fraction) -> Fraction:
    """Rounded down."""
    step = Fraction(10) ** (magnitude(value) - 3)
    return value // step * step


def _number(value: Fraction, span: Span) -> ast.Expr:
    """Of four digits."""
    power = magnitude(value) - 3
    return ast.Number(f"{value / Fraction(10) ** power}e{power}", span=span)


def _schedule(schedule: ast.Schedule, statement: ast.CreateRelease, env: Env) -> tuple[int, int]:
    count, apart = known(schedule.runs, env.params, "RUNS"), hours(schedule.every)
    if count.denominator != 1 or not 1 <= count <= MOST:
        raise _refused(f"FOR … RUNS takes a whole number from 1 to {MOST}", schedule.span, "write FOR 90 RUNS")
    if apart > LONGEST:
        raise _refused("runs are a hundred years apart at most", schedule.span, "write EVERY DAY, or EVERY 2 WEEKS")
    names = [*(table.name for table in env.catalog.tables), *(view.name for view in env.catalog.views)]
    for name in names:
        run = fold(name).removeprefix(f"{fold(statement.name)}_")
        if run.isascii() and run.isdigit() and 1 <= int(run) <= count:
            raise refuse("PQL0208", f"`{name}` is a table's name", statement.span, help="give the release another name")
    return int(count), apart


def promised(
    runs: Runs, columns: tuple[ReleaseColumn, ...], alike: Callable[[frozenset[str]], int | None]
) -> ReleaseSchema:
    """All runs so far, read together: the columns of one, and before them which run it is."""

    def of_all(names: frozenset[str]) -> int | None:
        one = alike(names - {RUN})
        return one if one is None or RUN in names else one * runs.count

    number = ReleaseColumn(RUN, INT, run_domain(runs.count))
    return ReleaseSchema(runs.name, (number, *columns), of_all, growing=True)


def check_columns(columns: tuple[ReleaseColumn, ...], span: Span) -> None:
    if any(fold(column.name) == RUN for column in columns):
        raise _refused(f"`{RUN}` says which run it is, and is a column of the query too", span, "name that otherwise")


def _refused(what: str, span: Span, help: str) -> PrivQLError:
    return refuse("PQL0512", what, span, help=help)
