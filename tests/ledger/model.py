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
    PartsAsked,
    Permit,
    PlanRequest,
    Prepaid,
    Replay,
    Request,
)
from tests.ledger.sums_anew import Charged, Unit, Where, bears, divergence, keys, square, together
from tests.ledger.told_time import Clock

NEAR = 1e-4  # what the ledger's six digits may be dearer than the truth
Asked = dict[str, list[Events]]  # by unit: what each query meets
Located = dict[str, Where]  # by unit, the parts to which it is charged


def inside(one: Where, other: Where) -> bool:
    """Whether a query that reads these parts is paid for by what was charged to those."""
    return other is None or (one is not None and (one[0], one[2]) == (other[0], other[2]) and one[1] <= other[1])


def as_a_plan(met: list[Events], where: list[Where]) -> tuple[Charged, Where]:
    """What these queries are as one, and in which parts; in none, where not all are in one partition or a unit may be
    in several."""
    everything = Charged.query(sum(met, ()))
    if len(met) == 1:
        return everything, where[0]
    named = [one for one in where if one is not None]
    at: Where = None
    if named and len(named) == len(where) and len({(one[0], one[2]) for one in named}) == 1:
        union = frozenset[str]().union(*(one[1] for one in named))
        at = None if named[0][2] and len(union) > 1 else (named[0][0], union, named[0][2])
    divided = next((one[0] for one in named if at is not None or not one[2]), None)
    parts = {part for one in named if one[0] == divided for part in one[1]}
    each = [
        sum((e for e, one in zip(met, where, strict=True) if one is None or one[0] != divided or part in one[1]), ())
        for part in (*parts, None)
    ]
    groups = tuple(filter(None, each))
    costs = [Charged.query(group) for group in groups]
    return Charged(everything.events, max(c.epsilon for c in costs), max(c.delta for c in costs), groups), at


@dataclass
class Kept:
    """A charge, as the model remembers it."""

    owner: str
    line: dict[str, str]  # budgets by unit
    tables: tuple[str, ...]
    where: Located
    state: str = "reserved"
    resumes: int = 0
    failures: int = 0
    answer: bytes = b""

    @property
    def starts(self) -> int:
        """Of which no answer came, or that failed before it did."""
        return max(self.failures, self.resumes + 1 if self.state == "reserved" and self.resumes else 0)


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
    lost: dict[tuple[str, str, int], list[tuple[str, Charged, Where]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    charges: dict[str, Kept] = field(default_factory=dict)
    same: dict[tuple[object, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    slots: dict[tuple[int, int], str] = field(default_factory=dict)  # which charge took it
    plans: dict[int, PlanRequest] = field(default_factory=dict)
    data: Counter[str] = field(default_factory=Counter)
    places: dict[int, list[Located]] = field(default_factory=dict)  # of the slots of plans, as they were charged
    meant: str = "0"
    since: int = 0  # the first of the versions without a break that mean the same

    def located(self, asked: tuple[tuple[str, PartsAsked], ...]) -> Located:
        return {
            unit: (
                str((one.table, one.column, self.since, [self.data[table] for table in one.tables])),
                frozenset(one.values),
                one.change_one,
            )
            for unit, one in asked
        }

    # ------------------------------------------------ who may pay

    def window(self, budget: BudgetRow) -> tuple[int, datetime]:
        number, start = self.windows[budget.name]
        gone = 0 if budget.every is None else max((self.clock.at - start) // timedelta(hours=budget.every), 0)
        return number + gone, start + gone * timedelta(hours=budget.every or 0)

    def may(self, budget: str, analyst: str) -> bool:
        return budget in self.budgets and (not self.grants or (budget, analyst) in self.grants)

    def can(
        self, budget: BudgetRow, analyst: str, more: Charged, queries: list[Events], at: Where, dearer: float
    ) -> bool:
        if budget.max_epsilon is not None and any(Charged.query(e).epsilon > budget.max_epsilon for e in queries):
            return False
        spent = self.lost[budget.unit, budget.name, self.window(budget)[0]]
        grant = self.grants.get((budget.name, analyst))
        cap = Cost(
            budget.epsilon if grant is None or grant.epsilon is None else grant.epsilon,
            budget.delta if grant is None or grant.delta is None else grant.delta,
        )
        shares, order = self.shares.get(budget.name, DEFAULT), self.orders[budget.name]
        everyone = [*((one, where) for _, one, where in spent), (more, at)]
        own = [*((one, where) for by, one, where in spent if by == analyst), (more, at)]
        if not bears(budget.cap, shares, order, Unit(everyone, at), dearer):
            return False
        return budget.cap <= cap or bears(cap, shares, order, Unit(own, at), dearer)

    def waits(self, analyst: str, tables: tuple[str, ...], besides: Kept | None = None) -> bool:
        mine = [one for one in self.charges.values() if one.owner == analyst and one is not besides]
        return any(sum(one.starts for one in mine if table in one.tables) >= 4 for table in tables)

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
        meant, self.meant = self.meant, said or f"version {self.version}"
        self.since = self.since if meant == self.meant and self.since else self.version
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
        analyst, asked, where = request.analyst.lower(), dict(request.charges), self.located(request.parts)
        versions = tuple(self.data[table] for table in request.tables)
        key = request.query, self.meant, request.tables, versions, request.charges
        known = [number for number in self.same[key] if self.charges[number].state != "forgotten"]
        shown = [n for n in known if self.charges[n].state == "released" and self.sees(n, analyst)]
        mine = [n for n in known if self.charges[n].state == "reserved" and self.charges[n].owner == analyst]
        mine = [n for n in mine if all(inside(where.get(u), paid) for u, paid in self.charges[n].where.items())]
        found = self.asked(request, place)
        if shown:
            assert isinstance(found, Replay)
            assert (found.release_id, found.answer) == (shown[0], self.charges[shown[0]].answer)
            return "replayed"
        if mine:
            one = self.charges[mine[-1]]
            if one.resumes >= 3 or self.waits(analyst, request.tables, one):
                assert isinstance(found, LedgerError)
                return "waits"
            assert isinstance(found, Permit) and found.release_id == mine[-1]
            one.resumes += 1
            self.measured(found, asked)
            return "resumed"
        waits = self.waits(analyst, request.tables)
        if place is not None and (slot := self.plans[place[0].plan].slots[place[1]]):
            paid = dict(slot)
            within = all(inside(where.get(u), one) for u, one in self.places[place[0].plan][place[1]].items())
            if not within or any(Counter(events) - Counter(paid.get(unit, ())) for unit, events in asked.items()):
                assert isinstance(found, LedgerError) and not isinstance(found, OverBudget)
                return "not what was paid for"
            if (place[0].plan, place[1]) not in self.slots:
                if waits:
                    assert isinstance(found, LedgerError)
                    return "waits"
                assert isinstance(found, Permit) and not found.resumes
                self.slots[place[0].plan, place[1]] = found.release_id
                self.taken(found, key, analyst, request, where)
                return "slot"
        queries = {unit: [events] for unit, events in asked.items()}
        one_by_unit = {unit: Charged.query(events) for unit, events in asked.items()}
        if isinstance(found, LedgerError):
            assert waits or not self.surely(analyst, one_by_unit, queries, where, request.budget)
            return "refused"
        assert isinstance(found, Permit) and not found.resumes and not waits
        assert {line.unit: line.events for line in found.charges} == asked
        for line in found.charges:
            budget = line.budget.lower()
            one, at = one_by_unit[line.unit], where.get(line.unit)
            assert (None if line.where is None else frozenset(line.where.parts)) == (None if at is None else at[1])
            self.charged(budget, analyst, line.unit, one, queries[line.unit], at, request.budget)
            assert line.window == self.windows[budget][0]
        self.taken(found, key, analyst, request, where)
        return "charged"

    def able(
        self, unit: str, analyst: str, one: Charged, queries: list[Events], at: Where, chosen: str | None, dearer: float
    ) -> set[str]:
        rows = [row for row in self.budgets.values() if row.unit == unit]
        mine = [row for row in rows if row.name == chosen] or rows
        return {r.name for r in mine if self.may(r.name, analyst) and self.can(r, analyst, one, queries, at, dearer)}

    def surely(
        self, analyst: str, ones: dict[str, Charged], queries: Asked, where: Located, chosen: str | None
    ) -> bool:
        """Whether all units can pay."""
        return all(
            self.able(unit, analyst, one, queries[unit], where.get(unit), chosen, 1 + NEAR)
            for unit, one in ones.items()
        )

    def charged(
        self,
        budget: str,
        analyst: str,
        unit: str,
        more: Charged,
        queries: list[Events],
        at: Where,
        chosen: str | None,
    ) -> None:
        assert budget in self.able(unit, analyst, more, queries, at, chosen, 1 - NEAR)
        self.windows[budget] = self.window(self.budgets[budget])
        self.lost[unit, budget, self.windows[budget][0]].append((analyst, more, at))

    def asked(self, request: Request, place: tuple[Prepaid, int] | None) -> Permit | Replay | LedgerError:
        try:
            return self.made.reserve(request, *(place or ()))
        except LedgerError as refused:
            return refused

    def taken(self, permit: Permit, key: tuple[object, ...], analyst: str, request: Request, where: Located) -> None:
        assert permit.release_id not in self.charges
        line = {one.unit: one.budget.lower() for one in permit.charges}
        self.charges[permit.release_id] = Kept(analyst, line, request.tables, where)
        self.same[key].append(permit.release_id)

    def measured(self, permit: Permit, asked: dict[str, Events]) -> None:
        """Its noise is what was drawn first, and its answer the first that was stored."""
        one = self.charges[permit.release_id]
        if int(permit.release_id[1:]) % 7 == 0:
            one.failures += 1
            self.made.failed(permit, "whatever the engine said")
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
        slots: dict[str, list[Where]] = defaultdict(list)
        places = [self.located(one) for one in request.parts or ((),) * len(request.slots)]
        for at, slot in enumerate(request.slots):
            for unit, events in slot if at not in request.answered else ():
                queries[unit].append(events)
                slots[unit].append(places[at].get(unit))
        plans = {unit: as_a_plan(met, slots[unit]) for unit, met in queries.items()}
        ones, where = {unit: one for unit, (one, _) in plans.items()}, {unit: at for unit, (_, at) in plans.items()}
        known, waits = self.made.find_plan(request), self.waits(analyst, request.tables)
        try:
            (paid,) = self.made.prepay([request])
        except LedgerError:
            assert known is None
            assert waits or request.delta or not self.surely(analyst, ones, queries, where, request.budget)
            return None
        if known is not None:
            assert paid == known and paid.plan in self.plans
            return paid
        assert not waits and paid.plan not in self.plans
        unpaid = [() if at in request.answered else slot for at, slot in enumerate(request.slots)]
        self.plans[paid.plan] = replace(request, slots=tuple(unpaid))
        self.places[paid.plan] = [{} if at in request.answered else one for at, one in enumerate(places)]
        spending = self.made.spendings()[-1]
        assert spending.what == f"plan {paid.plan}" and {line.unit for line in spending.lines} == ones.keys()
        for line in spending.lines:
            sums, loss = ones[line.unit], line.loss(self.orders[line.budget.lower()])
            one = Charged(sums.events, loss.epsilon, loss.delta, sums.groups)
            if (one.epsilon, one.delta) != (sums.epsilon, sums.delta):
                # never less than all that they can come to, at that ε
                for group in one.each:
                    assert together(group, float(one.epsilon)) <= float(one.delta) * (1 + 1e-9) + 1e-14
            at_ = where[line.unit]
            self.charged(line.budget.lower(), analyst, line.unit, one, queries[line.unit], at_, request.budget)
        return paid

    def forget(self, number: str) -> None:
        self.made.forget(number)
        self.charges[number].state = "forgotten"

    # ------------------------------------------------ at the end

    def agrees(self) -> None:
        met: dict[tuple[str, str | None, str | None], dict[int, list[tuple[Charged, Where]]]] = {}
        for (unit, budget, window), spent in self.lost.items():
            for analyst, one, at in spent:
                for scope in ((unit, None, None), (unit, budget, None), (unit, budget, analyst)):
                    of = met.setdefault(scope, {}).setdefault(window if scope[1] else 0, [])
                    of.append((one, at))
        for scope, windows in met.items():
            cost = Cost()
            for spent in map(Unit, windows.values()):
                cost += Cost(spent.most(lambda one: one.epsilon), spent.most(lambda one: one.delta) + spent.most(keys))
            assert self.made.spent(*scope) == cost
        for state in self.made.budget_report():
            name = state.budget.name.lower()
            row = self.budgets[name]
            number = self.window(row)[0]
            unit_met = Unit([(one, at) for _, one, at in self.lost[row.unit, name, number]])
            assert state.window.number == number
            assert math.isclose(state.lost.gauss / 2**64, unit_met.most(square), rel_tol=NEAR)
            assert math.isclose(state.lost.renyi / 2**64, unit_met.most(divergence(self.orders[name])), rel_tol=NEAR)
        assert self.made.verify() == ()
