"""What mechanisms lose, and what a budget bears, computed otherwise than the kernel does: divergences by decimals,
Gaussians by scipy, plans by all that they can come to. μ and ρ of what has a δ are what its price stands for."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

from scipy.special import log_ndtr
from scipy.stats import norm

from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events
from privql.kernel.filters import Shares
from privql.kernel.gaussian import greatest_mu
from privql.kernel.zcdp import greatest_rho


@cache
def renyi(event: Event, order: Fraction) -> float:
    a, e = float(order), event.cost.epsilon
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**9, -(10**9)
        x, alpha = Decimal(e.numerator) / e.denominator, Decimal(order.numerator) / order.denominator
        bit = (((alpha * x).exp() + ((1 - alpha) * x).exp()) / (1 + x.exp())).ln() / (alpha - 1)
    match event.kind:
        case "ranged":
            return min(float(bit), a * float(e) ** 2 / 8)
        case "gaussian":
            return a * mu(event) ** 2 / 2
        case "concentrated":
            return a * float(greatest_rho(event.cost.epsilon, event.cost.delta))
        case _:
            return float(bit)


@cache
def mu(event: Event) -> float:
    """Of Gaussian privacy, the least that is true of it: that of a Gaussian is what its (ε, δ) stands for."""
    if event.kind == "gaussian":
        return float(greatest_mu(event.cost.epsilon, event.cost.delta))
    return -2 * float(norm.ppf(1 / (1 + math.exp(event.cost.epsilon))))


def failing(rest: float, m: float) -> float:
    """The least δ for an ε, which may be negative, of a normal loss."""
    if not m:
        return max(0.0, -math.expm1(rest))
    near, far = log_ndtr(m / 2 - rest / m), log_ndtr(-m / 2 - rest / m)
    return float(math.exp(near) - math.exp(rest + far)) if rest + far < 700 else 0.0


def together(events: Events, epsilon: float) -> float:
    """The least δ of all of them at once, by what all responses can come to."""
    smooth = math.sqrt(math.fsum(mu(one) ** 2 for one in events if one.kind == "gaussian"))
    bits = Counter(float(one.cost.epsilon) for one in events if one.kind != "gaussian")
    total = 0.0
    for wrong in itertools.product(*(range(times + 1) for times in bits.values())):
        chance, loss = 1.0, 0.0
        for (each, times), n in zip(bits.items(), wrong, strict=True):
            right = 1 / (1 + math.exp(-each))
            chance *= math.comb(times, n) * right ** (times - n) * (1 - right) ** n
            loss += (times - 2 * n) * each
        total += chance * failing(epsilon - loss, smooth)
    return total + math.fsum(float(one.cost.delta) for one in events if one.kind == "concentrated")


@dataclass
class Charged:
    """One event to the filters: a query, or a plan, of which plain addition bears an (ε, δ) of its own."""

    events: Events
    epsilon: Fraction
    delta: Fraction
    groups: tuple[Events, ...] = ()  # of a plan that reads parts: what the units of each meet

    @classmethod
    def query(cls, events: Events) -> Charged:
        delta = sum((one.cost.delta for one in events if one.kind != "keys"), Fraction(0))
        return cls(events, sum((one.cost.epsilon for one in events), Fraction(0)), delta)

    @property
    def each(self) -> tuple[Events, ...]:
        return self.groups or (self.events,)


Where = tuple[str, frozenset[str], bool] | None  # a partition, parts of it, and whether a unit may be in two
Number = Callable[[Charged], Fraction | float]


@dataclass
class Unit:
    """What units met: of any part, or (`at`) of these; number by number the most that one did."""

    met: list[tuple[Charged, Where]]
    at: Where = None

    def most(self, number: Number) -> Any:
        lost: dict[tuple[str, bool], dict[str, Any]] = {}
        total: Any = Fraction(0)
        for one, where in self.met:
            if where is None:
                total += number(one)
            for part in () if where is None else where[1]:
                of = lost.setdefault((where[0], where[2]), {})
                of[part] = of.get(part, 0) + number(one)
        for (partition, twice), of in lost.items():
            ends: list[Any] = []
            mine = self.at is not None and self.at[0] == partition
            for part in self.at[1] if mine and self.at is not None else of:
                others = max([0, *(loss for name, loss in of.items() if name != part)])
                ends.append(of.get(part, 0) + (others if twice else 0))
            total += max(ends)
        return total


def keys(one: Charged) -> Fraction:
    return max(sum((e.cost.delta for e in group if e.kind == "keys"), Fraction(0)) for group in one.each)


def apart(one: Charged) -> Fraction:
    """What the Gaussian way bears beside μ²."""
    return max(sum((e.cost.delta for e in group if e.kind == "concentrated"), Fraction(0)) for group in one.each)


def square(one: Charged) -> float:
    return max(math.fsum(mu(event) ** 2 for event in group) for group in one.each)


def divergence(order: Fraction) -> Callable[[Charged], float]:
    return lambda one: max(math.fsum(renyi(event, order) for event in group) for group in one.each)


def bears(cap: Cost, shares: Shares, order: Fraction, unit: Unit, dearer: float) -> bool:
    """Whether any way of adding up does, if what needs floats were so much dearer than it is."""
    if unit.most(keys) > shares.keys * cap.delta:
        return False
    plain = unit.most(lambda one: one.delta) <= shares.plain * cap.delta
    if plain and unit.most(lambda one: one.epsilon) <= cap.epsilon:
        return True
    a, epsilon = float(order), float(cap.epsilon)
    if cap.delta and shares.renyi:
        lost = unit.most(divergence(order)) * dearer
        if lost - math.log(a * float(shares.renyi * cap.delta)) / (a - 1) + math.log1p(-1 / a) <= epsilon:
            return True
    rest = shares.gauss * cap.delta
    if unit.most(apart) or not rest:
        return False
    return bool(epsilon) and failing(epsilon, math.sqrt(unit.most(square) * dearer)) * dearer <= rest
