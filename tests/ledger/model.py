"""A ledger as a list of mechanisms: what it has to answer, by nothing that the ledger computes itself.

The model shares no arithmetic with the ledger (`sums_anew.py`), brackets what floats compute, and says nothing where
the ledger's own digits decide.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from privql.kernel.cost import Cost
from privql.kernel.events import Events
from privql.kernel.filters import DEFAULT, Shares
from privql.ledger import (
    BudgetRow,
    GrantRow,
    Ledger,
    LedgerError,
    Note,
    OverBudget,
    Permit,
    PlanRequest,
    Prepaid,
    Replay,
    Request,
)
from tests.ledger.sums_anew import Charged, bears, mu, renyi, together
from tests.ledger.told_time import Clock

NEAR = 1e-4  # what the ledger's six digits may be dearer than the truth
Asked = dict[str, list[Events]]  # by unit: what each query meets


@dataclass
class Kept:
    """A charge, as the model remembers it."""

    owner: str
    line: dict[str, str]  # budgets by unit
    tables: tuple[str, ...]
    state: str = "reserved"
    resumes: int = 0
    answer: bytes = b""


@dataclass
class Model:
    clock: Clock
    made: Ledger = field(default_factory=lambda: Ledger.create(":memory:"))
    version: int = 0
    budgets: dict[str, BudgetRow] = field(default_factory=dict)
    shares: dict[str, Shares] = field(default_factory=dict)
    grants: dict[tuple[str, str], GrantRow] = field(default_factory=dict)
    orders: dict[str, Fraction] = field(default_factory=dict)
    windows: dict[str, tuple[int, datetime]] = field(default_factory=dict)  # the last that was written down
    lost: dict[tuple[str, str, int], list[tuple[str, Charged]]] = field(default_factory=lambda: defaultdict(list))
    charges: dict[str, Kept] = field(default_factory=dict)
    same: dict[tuple[object, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    slots: dict[tuple[int, int], str] = field(default_factory=dict)  # which charge took it
    plans: dict[int, PlanRequest] = field(default_factory=dict)
    data: Counter[str] = field(default_factory=Counter)
    meant: str = "0"

    # ------------------------------------------------ who may pay

    def window(self, budget: BudgetRow) -> tuple[int, datetime]:
        number, start = self.windows[budget.name]
        gone = 0 if budget.every is None else max((self.clock.at - start) // timedelta(hours=budget.every), 0)
        return number + gone, start + gone * timedelta(hours=budget.every or 0)

    def may(self, budget: str, analyst: str) -> bool:
        return budget in self.budgets and (not self.grants or (budget, analyst) in self.grants)

    def can(self, budget: BudgetRow, analyst: str, more: Charged, queries: list[Events], dearer: float) -> bool:
        if budget.max_epsilon is not None and any(Charged.query(e).epsilon > budget.max_epsilon for e in queries):
            return False
        spent = self.lost[budget.unit, budget.name, self.window(budget)[0]]
        grant = self.grants.get((budget.name, analyst))
        cap = Cost(
            budget.epsilon if grant is None or grant.epsilon is None else grant.epsilon,
            budget.delta if grant is None or grant.delta is None else grant.delta,
        )
        shares, order = self.shares.get(budget.name, DEFAULT), self.orders[budget.name]
        everyone, own = [one for _, one in spent], [one for by, one in spent if by == analyst]
        if not bears(budget.cap, shares, order, [*everyone, more], dearer):
            return False
        return budget.cap <= cap or bears(cap, shares, order, [*own, more], dearer)

    def waits(self, analyst: str, tables: tuple[str, ...]) -> bool:
        mine = (one for one in self.charges.values() if one.owner == analyst and one.state == "reserved")
        return any(one.resumes >= 3 and set(one.tables) & set(tables) for one in mine)

    def sees(self, number: str, analyst: str) -> bool:
        one = self.charges[number]
        return one.owner == analyst or all(self.may(budget, analyst) for budget in one.line.values())

    # ------------------------------------------------ what is done to both

    def policy(self, rng: random.Random) -> None:
        rows = []
        for name in rng.sample(("a", "b", "c"), rng.randint(1, 3)):
            row = self.shares.get(name)
            delta = rng.choice((Fraction(0), Fraction(1, 10**6), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 20)))
            fresh = rng.choice((DEFAULT, Shares(*(Fraction(n, 10) for n in rng.choice(((1, 2, 3, 4), (0, 0, 9, 1)))))))
            rows.append(
                BudgetRow(
                    name,
                    "uv"[bool(rows) and rng.random() < 0.4],
                    Fraction(rng.choice((3, 10, 30, 50, 100)), 10),
                    delta,
                    rng.choice((None, Fraction(1, 20))),
                    max_epsilon=rng.choice((*[None] * 5, Fraction(1, 2))),
                    shares=fresh if row is None else row,
                    every=rng.choice((None, None, 24, 100)),
                )
            )
        grants = [
            GrantRow(
                row.name,
                who,
                rng.choice((None, Fraction(1), Fraction(2))),
                rng.choice((None, None, row.delta / 2)),
            )
            for row in rows
            for who in ("x", "y")
            if rng.random() < 0.7
        ]
        grants = grants if rng.random() < 0.5 else []
        said = rng.choice(("0", "0", "0", "1", ""))  # whatever says nothing means something of its own
        shown = [replace(row, name=rng.choice((row.name, row.name.upper()))) for row in rows]
        text = f"{self.version} {rng.random()}"
        self.version = self.made.apply_policy(text, shown, grants, ["s", "t"], Note(meaning=said))
        self.meant = said or f"version {self.version}"
        self.budgets, self.grants = {row.name: row for row in rows}, {(g.budget, g.analyst): g for g in grants}
        for row in rows:
            self.windows.setdefault(row.name, (0, self.clock.at))
            if row.delta:
                self.shares.setdefault(row.name, row.shares)
        for state in self.made.budget_report():
            name = state.budget.name.lower()
            assert self.orders.setdefault(name, state.order) == state.order  # chosen once
            assert state.budget.shares == self.shares.get(name, DEFAULT)

    def reserve(self, request: Request, place: tuple[Prepaid, int] | None = None) -> str:
        """A query, asked of both; what came of it."""
        analyst, asked = request.analyst.lower(), dict(request.charges)
        versions = tuple(self.data[table] for table in request.tables)
        key = request.query, self.meant, request.tables, versions, request.charges
        known = [number for number in self.same[key] if self.charges[number].state != "forgotten"]
        shown = [n for n in known if self.charges[n].state == "released" and self.sees(n, analyst)]
        mine = [n for n in known if self.charges[n].state == "reserved" and self.charges[n].owner == analyst]
        found = self.asked(request, place)
        if shown:
            assert isinstance(found, Replay)
            assert (found.release_id, found.answer) == (shown[0], self.charges[shown[0]].answer)
            return "replayed"
        if mine:
            one = self.charges[mine[-1]]
            if one.resumes >= 3:
                assert isinstance(found, LedgerError)
                return "waits"
            assert isinstance(found, Permit) and found.release_id == mine[-1]
            one.resumes += 1
            self.measured(found, asked)
            return "resumed"
        waits = self.waits(analyst, request.tables)
        if place is not None and (slot := self.plans[place[0].plan].slots[place[1]]):
            paid = dict(slot)
            if any(Counter(events) - Counter(paid.get(unit, ())) for unit, events in asked.items()):
                assert isinstance(found, LedgerError) and not isinstance(found, OverBudget)
                return "not what was paid for"
            if (place[0].plan, place[1]) not in self.slots:
                if waits:
                    assert isinstance(found, LedgerError)
                    return "waits"
                assert isinstance(found, Permit) and not found.resumes
                self.slots[place[0].plan, place[1]] = found.release_id
                self.taken(found, key, analyst, request)
                return "slot"
        queries = {unit: [events] for unit, events in asked.items()}
        one_by_unit = {unit: Charged.query(events) for unit, events in asked.items()}
        if isinstance(found, LedgerError):
            assert waits or not self.surely(analyst, one_by_unit, queries, request.budget)
            return "refused"
        assert isinstance(found, Permit) and not found.resumes and not waits
        assert {line.unit: line.events for line in found.charges} == asked
        for line in found.charges:
            budget = line.budget.lower()
            self.charged(budget, analyst, line.unit, one_by_unit[line.unit], queries[line.unit], request.budget)
            assert line.window == self.windows[budget][0]
        self.taken(found, key, analyst, request)
        return "charged"

    def able(
        self, unit: str, analyst: str, one: Charged, queries: list[Events], chosen: str | None, dearer: float
    ) -> set[str]:
        rows = [row for row in self.budgets.values() if row.unit == unit]
        mine = [row for row in rows if row.name == chosen] or rows
        return {r.name for r in mine if self.may(r.name, analyst) and self.can(r, analyst, one, queries, dearer)}

    def surely(self, analyst: str, ones: dict[str, Charged], queries: Asked, chosen: str | None) -> bool:
        """Whether all units can pay."""
        return all(self.able(unit, analyst, one, queries[unit], chosen, 1 + NEAR) for unit, one in ones.items())

    def charged(
        self, budget: str, analyst: str, unit: str, more: Charged, queries: list[Events], chosen: str | None
    ) -> None:
        assert budget in self.able(unit, analyst, more, queries, chosen, 1 - NEAR)
        self.windows[budget] = self.window(self.budgets[budget])
        self.lost[unit, budget, self.windows[budget][0]].append((analyst, more))

    def asked(self, request: Request, place: tuple[Prepaid, int] | None) -> Permit | Replay | LedgerError:
        try:
            return self.made.reserve(request, *(place or ()))
        except LedgerError as refused:
            return refused

    def taken(self, permit: Permit, key: tuple[object, ...], analyst: str, request: Request) -> None:
        assert permit.release_id not in self.charges
        line = {one.unit: one.budget.lower() for one in permit.charges}
        self.charges[permit.release_id] = Kept(analyst, line, request.tables)
        self.same[key].append(permit.release_id)

    def measured(self, permit: Permit, asked: dict[str, Events]) -> None:
        """Its noise is what was drawn first, and its answer the first that was stored."""
        one = self.charges[permit.release_id]
        before = self.made.drawn(permit)
        noisy = self.made.draw(permit, 0, asked, os.urandom(4))
        assert not before or before[0].noisy == noisy
        for unit, events in asked.items():
            with pytest.raises(LedgerError, match="more than was charged"):
                self.made.draw(permit, 1, {unit: events[:1]}, b"")
        if int(permit.release_id[1:]) % 3:  # others are asked for again and again, and never answered
            one.state, one.answer = "released", noisy
            assert self.made.release(permit, noisy).answer == noisy
            assert self.made.release(permit, b"another").answer == noisy

    def prepay(self, request: PlanRequest) -> Prepaid | None:
        analyst = request.analyst.lower()
        queries: Asked = defaultdict(list)
        for at, slot in enumerate(request.slots):
            for unit, events in slot if at not in request.answered else ():
                queries[unit].append(events)
        ones = {unit: Charged.query(sum(met, ())) for unit, met in queries.items()}
        known, waits = self.made.find_plan(request), self.waits(analyst, request.tables)
        try:
            (paid,) = self.made.prepay([request])
        except LedgerError:
            assert known is None
            assert waits or request.delta or not self.surely(analyst, ones, queries, request.budget)
            return None
        if known is not None:
            assert paid == known and paid.plan in self.plans
            return paid
        assert not waits and paid.plan not in self.plans
        unpaid = [() if at in request.answered else slot for at, slot in enumerate(request.slots)]
        self.plans[paid.plan] = replace(request, slots=tuple(unpaid))
        spending = self.made.spendings()[-1]
        assert spending.what == f"plan {paid.plan}" and {line.unit for line in spending.lines} == ones.keys()
        for line in spending.lines:
            sums, loss = ones[line.unit], line.loss(self.orders[line.budget.lower()])
            one = Charged(sums.events, loss.epsilon, loss.delta)
            if (one.epsilon, one.delta) != (sums.epsilon, sums.delta):
                # never less than all that they can come to, at that ε
                assert together(one.events, float(one.epsilon)) <= float(one.delta) * (1 + 1e-9) + 1e-14
            self.charged(line.budget.lower(), analyst, line.unit, one, queries[line.unit], request.budget)
        return paid

    def forget(self, number: str) -> None:
        self.made.forget(number)
        self.charges[number].state = "forgotten"

    # ------------------------------------------------ at the end

    def agrees(self) -> None:
        sums: dict[tuple[str, str | None, str | None], Cost] = defaultdict(Cost)
        for (unit, budget, _), spent in self.lost.items():
            for analyst, one in spent:
                cost = Cost(one.epsilon, one.delta + one.keys)
                for scope in ((unit, None, None), (unit, budget, None), (unit, budget, analyst)):
                    sums[scope] += cost
        for scope, cost in sums.items():
            assert self.made.spent(*scope) == cost
        for state in self.made.budget_report():
            name = state.budget.name.lower()
            row = self.budgets[name]
            number = self.window(row)[0]
            events = [e for _, one in self.lost[row.unit, name, number] for e in one.events]
            assert state.window.number == number
            assert math.isclose(state.lost.gauss / 2**64, math.fsum(mu(e) ** 2 for e in events), rel_tol=NEAR)
            by_order = math.fsum(renyi(e, self.orders[name]) for e in events)
            assert math.isclose(state.lost.renyi / 2**64, by_order, rel_tol=NEAR)
        assert self.made.verify() == ()
