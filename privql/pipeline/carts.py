"""What of a text is charged together: a text that is submitted whole, and what stands between its BEGIN and COMMIT.

One budget pays for a plan, so what another budget is SET for is another plan. A question that is asked twice has one
answer, and what is rolled back has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from privql.check.env import Cart
from privql.diagnostics import Diagnostic
from privql.frozen import frozen
from privql.ledger import PlanRequest, Request
from privql.names import fold
from privql.pipeline.report import StatementCheck
from privql.syntax import ast


@frozen
class Together:
    """Queries that are charged as one, in their order; `budget` pays, where SET budget chose it."""

    checks: tuple[StatementCheck, ...]
    budget: str | None = None
    cart: Cart | None = None

    @property
    def again(self) -> bool:
        """It is all the runs of one release that is made again and again."""
        return self.checks[0].again is not None

    @property
    def delta(self) -> Fraction | None:
        if (runs := self.checks[0].again) is not None:
            return runs.plan_delta
        return None if self.cart is None else self.cart.delta

    @property
    def paying(self) -> tuple[StatementCheck, ...]:
        return tuple(check for check in self.checks if check.spared is None)


def ended(checks: Sequence[StatementCheck]) -> tuple[StatementCheck, ...]:
    """What is rolled back does not run, and what was asked above is not asked again."""
    rolled = [check.env.cart for check in checks if isinstance(check.statement, ast.Rollback)]
    asked: set[tuple[object, ...]] = set()
    out = []
    for check in checks:
        if check.env.cart is not None and any(check.env.cart is cart for cart in rolled):
            check = replace(check, spared="rolled back") if check.runs else check
        elif check.request is not None:
            question = _question(check.request)
            if question in asked:
                check = replace(check, spared="same as before")
            asked.add(question)
        out.append(check)
    return tuple(out)


def together(checks: Iterable[StatementCheck]) -> tuple[Together, ...]:
    """The plans of a text, in the order of their first queries."""
    carts: list[tuple[Cart | None, str | None, list[StatementCheck]]] = []
    for check in checks:
        if not check.runs or not check.ok or check.spared in ("rolled back", "same as before"):
            continue
        named = None if check.budget is None else fold(check.budget)
        for cart, name, found in carts:
            if cart is check.env.cart and name == named and check.again is None is found[0].again:
                found.append(check)
                break
        else:
            carts.append((check.env.cart, named, [check]))
    return tuple(Together(tuple(of), name, cart) for cart, name, of in carts)


def committed(checks: Sequence[StatementCheck]) -> tuple[Together, ...]:
    """Those of them that no open BEGIN keeps from being charged. What is made again is charged for itself."""
    closed = [check.env.cart for check in checks if isinstance(check.statement, ast.Commit)]
    plans = [one for one in together(checks) if not one.again]
    return tuple(one for one in plans if one.cart is None or any(one.cart is cart for cart in closed))


def requested(plan: Together, analyst: str, version: int) -> PlanRequest | None:
    """The plan as the ledger knows it; None where all is answered, or a parameter has no value yet."""
    asked = [check.request for check in plan.checks if check.request is not None]
    answered = frozenset(at for at, check in enumerate(plan.checks) if check.replay)
    if len(answered) == len(plan.checks) or len(asked) < len(plan.checks):
        return None
    return PlanRequest(
        analyst,
        tuple("\n".join((one.query, one.parameters, one.measurements)) for one in asked),
        version,
        tuple(one.charges for one in asked),
        tuple(dict.fromkeys(table for one in asked for table in one.tables)),
        plan.budget,
        plan.delta,
        answered,
        tuple(one.parts for one in asked),
    )


def unended(checks: Sequence[StatementCheck]) -> tuple[Diagnostic, ...]:
    """A text that opens a cart says what becomes of it."""
    last = next((check.after for check in reversed(checks) if check.after is not None), None)
    opened = [check for check in checks if isinstance(check.statement, ast.Begin) and check.ok]
    if last is None or last.cart is None or not opened:
        return ()
    return (
        Diagnostic(
            "PQL0508",
            "the text ends inside BEGIN",
            opened[-1].span,
            why="what follows is neither run nor forgotten",
            help="end it with COMMIT, or with ROLLBACK",
        ).in_source(opened[-1].source),
    )


def _question(request: Request) -> tuple[object, ...]:
    return request.query, request.parameters, request.measurements, request.charges
