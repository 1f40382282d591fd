"""Whatever is asked of a ledger, in whatever order, it answers as the model does."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction

import pytest

from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events, Kind
from privql.ledger import PartsAsked, PlanRequest, Prepaid, Request
from tests.assurance import assured, length
from tests.ledger.model import Model
from tests.ledger.told_time import Clock

SEEDS, STEPS = range(length(2, 60)), length(100, 300)
EACH = 7


def some_events(rng: random.Random) -> Events:
    def one() -> Event:
        kind: Kind = rng.choice(("pure", "pure", "ranged", "keys", "gaussian", "concentrated"))
        epsilon = rng.choice((Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 10), Fraction(1, 3)))
        delta = rng.choice((Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10**5)))
        return Event(kind, Cost(epsilon, Fraction(0) if kind in ("pure", "ranged") else delta))

    return tuple(one() for _ in range(rng.choice((1, 1, 1, 2))))


def some_charges(rng: random.Random, units: str) -> tuple[tuple[str, Events], ...]:
    return tuple((unit, some_events(rng)) for unit in units)


def some_parts(
    rng: random.Random, units: str, tables: str = "sst", odds: float = 0.4
) -> tuple[tuple[str, PartsAsked], ...]:
    """Of u, whose neighbours have a unit more, one part or two; of v, whose neighbours have one changed, one."""
    found = []
    for unit in units:
        if rng.random() < odds:
            table, values = rng.choice(tables), rng.sample("abc", 1 if unit == "v" else rng.choice((1, 1, 2)))
            found.append((unit, PartsAsked(table, "p", tuple(values), (table,), unit == "v")))
    return tuple(found)


@dataclass
class Analysts:
    """Who asks whatever comes to mind."""

    rng: random.Random
    model: Model
    asked: list[Request] = field(default_factory=list)
    paid: list[Prepaid] = field(default_factory=list)
    came: Counter[str] = field(default_factory=Counter)

    def ask(self, request: Request, place: tuple[Prepaid, int] | None = None) -> None:
        chosen = self.model.budgets.get(request.budget or "")
        if chosen is None or chosen.unit not in dict(request.charges):
            request = replace(request, budget=None)
        request = replace(request, policy_version=self.model.version)
        came = self.model.reserve(request, place)
        self.came[came] += 1
        if came in ("charged", "slot"):
            self.asked.append(request)

    def step(self, number: int) -> None:
        rng, model = self.rng, self.model
        who, units = rng.choice("xxXyz"), rng.choice(("u", "u", "v", "uv"))
        tables = rng.choice((("s",), ("t",), ("s", "t")))
        budget = rng.choice((None, None, *model.budgets))
        what: str = rng.choices(("ask", "again", "plan", "slot", "clock", "allow"), (20, 10, 5, 12, 2, 2))[0]
        match what:
            case "ask":
                asked = some_charges(rng, units), "[]", tables, None, budget
                self.ask(Request(who, f"q{number}", "{}", 0, *asked, parts=some_parts(rng, units)))
            case "again" if self.asked:
                old = rng.choice(self.asked[-4:])
                self.ask(replace(old, analyst=rng.choice((who, old.analyst, old.analyst))))
            case "plan":
                slots = tuple(some_charges(rng, rng.choice((units, units[:1]))) for _ in range(rng.randint(2, 5)))
                texts = tuple(f"p{number} {at}" for at in range(len(slots)))
                chosen = None if budget is None or model.budgets[budget].unit not in units[:1] else budget
                said, told = (
                    rng.choice((None, None, Fraction(0), Fraction(1, 10**6))),
                    frozenset({0} if number % 4 else ()),
                )
                alike = ("s", 1.0) if rng.random() < 0.4 else ("sst", 0.4)  # often in one partition, all of them
                parts = tuple(some_parts(rng, "".join(dict(slot)), *alike) for slot in slots)
                paid = model.prepay(PlanRequest(who, texts, model.version, slots, tables, chosen, said, told, parts))
                self.paid += [] if paid is None else [paid]
            case "slot" if self.paid:
                plan = rng.choice(self.paid[-3:])
                slot = rng.randrange(len(model.plans[plan.plan].slots))
                charges = model.plans[plan.plan].slots[slot] or (("u", some_events(rng)),)
                lesser = tuple((unit, events[:1]) for unit, events in charges[-1:])
                other = charges[:-1] + some_charges(rng, charges[-1][0])
                asked = rng.choice((charges, charges, lesser, other))
                query = f"q{rng.choice((number, number, 0))}"
                given = model.plans[plan.plan].parts
                parts = some_parts(rng, "uv") if rng.random() < 0.1 or not given else given[slot]
                parts = tuple(one for one in parts if one[0] in dict(asked))
                self.ask(Request(plan.analyst, query, "{}", 0, asked, "[]", tables, parts=parts), (plan, slot))
            case "clock":
                model.clock.at += rng.choice((-30, 1, 5, 24, 60)) * timedelta(hours=1)
            case "allow":
                self.owner(number)
            case _:
                pass  # nothing was charged yet

    def owner(self, number: int) -> None:
        rng, model = self.rng, self.model
        what: str = rng.choice(("policy", "refresh", "forget", "allow", "allow"))
        match what:
            case "policy":
                model.policy(rng)
            case "refresh":
                table = rng.choice("st")
                model.made.refresh(table, str(number))
                model.data[table] += 1
            case "forget" if model.charges:
                model.forget(rng.choice(sorted(model.charges)))
            case "allow":
                for name, one in model.charges.items():
                    if one.starts >= self.rng.choice((1, 4)):
                        model.made.allow_resume(name)
                        one.resumes = one.failures = 0
            case _:
                pass


OFTEN = ("charged", "not what was paid for", "refused", "replayed", "resumed", "slot")


@pytest.mark.parametrize("part", SEEDS)
def test_against_a_model(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    came: Counter[str] = Counter()
    with assured("ledger-model") as tally:
        for seed in range(part * EACH, (part + 1) * EACH):
            rng = random.Random(seed)
            made = Analysts(rng, Model(Clock(monkeypatch)))
            made.model.policy(rng)
            for number in range(STEPS):
                tally["tried"] += 1
                made.step(number)
            made.model.agrees()
            came += made.came
    assert min(came[what] for what in OFTEN) >= 3, came
    assert part or came["waits"] >= 3, came
