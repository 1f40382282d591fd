"""The kernel's exact numbers for random amounts: how far noise is off, what it costs, what a budget admits."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction

from privql.kernel import found, gaussian, losses, merged, noises, plans, selection, zcdp
from privql.kernel.cost import Cost
from privql.kernel.events import Event, Kind, events
from privql.kernel.filters import DEFAULT, Filter, Shares, order_for
from privql.kernel.parallel import InParts, Lost
from privql.kernel.terms import Unit
from tests.kernel.proofs import Proofs
from tests.meaning.meaning import proofs

EPSILONS = ("1/1000", "1/10", "3/10", "1", "7/3", "10", "40")
DELTAS = ("1/100", "1/1000000", "1/1000000000", "3/1000000000000000")
SURE = ("1/2", "9/10", "19/20", "999/1000", "999999999/1000000000")
KINDS: tuple[Kind, ...] = ("pure", "keys", "ranged", "gaussian", "concentrated")


class Amounts:
    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)

    def one(self, of: tuple[str, ...]) -> Fraction:
        """One of these, or near it."""
        return Fraction(self.choice.choice(of)) * self.choice.choice(
            (1, 1, Fraction(self.choice.randint(500, 999), 999))
        )

    def event(self) -> Event:
        kind = self.choice.choice(KINDS)
        return Event(kind, Cost(self.one(EPSILONS), Fraction(0) if kind in ("pure", "ranged") else self.one(DELTAS)))


def of_noise(seed: int) -> dict[str, object]:
    draw = Amounts(seed)
    scale, sure, before = (draw.one((*EPSILONS, "1000", "123456789")), draw.one(SURE), draw.one(("0", "1/2")))
    ours = draw.choice.choice(((1, 1), (3, -1), (0, 5), (7, 2), (1, 100)))
    wide, deviations = draw.choice.randint(1, 10**4), [draw.one(EPSILONS) for _ in range(draw.choice.randint(1, 3))]
    out: dict[str, object] = {"of": (scale, sure, before, ours, wide, deviations)}
    for noise in ("laplace", "gaussian"):
        out[noise] = noises.halfwidth(noise, scale, sure), noises.off(noise)
        out[f"{noise} of two"] = noises.halfwidth_of_two(noise, scale, ours, draw.choice.choice((1, 3, 40)), sure)
    out["within"] = gaussian.sigma_within(wide, sure, before)
    out["merged"] = merged.deviation(deviations), merged.weights(deviations), merged.mean((3, 1, 4), (wide, -wide, 7))
    return out


def of_prices(seed: int) -> dict[str, object]:
    draw = Amounts(seed)
    epsilon, delta, most = draw.one(EPSILONS), draw.one(DELTAS), draw.choice.randint(1, 9)
    mu, rho = gaussian.greatest_mu(epsilon, delta), zcdp.greatest_rho(epsilon, delta)
    law = selection.Count(epsilon, delta)
    out: dict[str, object] = {
        "of": (epsilon, delta, most),
        "mu": (mu, gaussian.least_mu(mu**2 * most), gaussian.least_epsilon(mu / most, delta)),
        "rho": (rho, zcdp.best_order(epsilon, delta)),
        "divergence": losses.renyi_of_pure(epsilon, 1 + draw.one(EPSILONS)),
        "reach": (law.reach, law.even, law.certain),
        "units": found.units_within(law.reach + most, law.reach, law.scale, draw.one(SURE)),
    }
    if epsilon > Fraction(1, 20):
        bits, chances = selection.keep_table(selection.Keep(epsilon, delta))
        out["kept"] = bits, chances[:: len(chances) // 20 + 1], len(chances)
    return out


def of_budgets(seed: int) -> dict[str, object]:
    draw = Amounts(seed)
    shares = draw.choice.choice((DEFAULT, Shares(*(Fraction(part, 10) for part in (1, 2, 4, 3)))))
    epsilon, delta = draw.one(("1", "3", "10")), draw.choice.choice((Fraction(0), draw.one(DELTAS)))
    usual = draw.choice.choice((None, Fraction(1, 10)))
    budget = Filter(epsilon, delta, shares, order_for(epsilon, delta, shares, usual))
    met = tuple(draw.event() for _ in range(draw.choice.randint(1, 12)))
    small = tuple(Event(one.kind, Cost(one.cost.epsilon / 40, one.cost.delta / 10**4)) for one in met)
    out: dict[str, object] = {"of": (epsilon, delta, usual, met), "order": budget.order}
    for what, some in (("met", met), ("small", small)):
        lost = budget.loss(some)
        ways = [budget.says(way, lost) for way in ("plain", "renyi", "gaussian")]
        out[what] = losses.written(lost), lost.cost, ways, budget.admits(lost), budget.left(lost)
        out[f"{what} in a plan"] = losses.written(plans.planned(some, delta, budget.order)) if delta else None
    spent = Lost()
    for one in small:
        parts = tuple(sorted(draw.choice.sample(("a", "b", "c"), draw.choice.choice((1, 1, 2)))))
        where = draw.choice.choice((None, InParts("ward", parts, False)))
        spent = spent.plus(where, budget.loss((one,)))
    out["parts"] = losses.written(spent.most), losses.written(spent.of(InParts("ward", ("a",), False)))
    return out


def of_proofs(seed: int) -> dict[str, object]:
    choice = random.Random(seed)
    made = Proofs(choice, Unit("person", choice.random() < 0.5)).measured()
    return {"proved": "\n".join(proofs((made,))), "events": events(made)}


NUMBERS: Mapping[str, Callable[[int], dict[str, object]]] = {
    "noise": of_noise,
    "prices": of_prices,
    "budgets": of_budgets,
    "proofs": of_proofs,
}
