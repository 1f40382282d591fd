"""What a unit loses by one mechanism, said so that every way of adding up can use it.

A cost (ε, δ) is enough for plain addition. Other ways gain by knowing more, so an event says what kind of mechanism it
was:

    pure            ε, and nothing else is known
    keys            groups that were found: ε, but for events whose chance is δ, which no way of adding up takes away
    ranged          ε, and the privacy loss lies in an interval of width ε, wherever: ε²/8-zero-concentrated
    gaussian        μ-Gaussian private, for the greatest μ that (ε, δ) pays for
    concentrated    ρ-zero-concentrated, for the greatest ρ that (ε, δ) pays for

What the kernel has proved is taken apart here; `losses` says what each is worth (docs/proofs/filters.md).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Literal, assert_never, get_args

from privql.frozen import frozen
from privql.kernel.bounds import Chosen
from privql.kernel.cost import Cost, check_chargeable
from privql.kernel.gaussian import greatest_mu
from privql.kernel.measure import Measured, Together
from privql.kernel.parts import Parts, united, within
from privql.kernel.picks import Picked
from privql.kernel.proved import Unproved
from privql.kernel.ranks import Placed
from privql.kernel.selection import Selected
from privql.kernel.zcdp import greatest_rho

Kind = Literal["pure", "keys", "ranged", "gaussian", "concentrated"]
Losing = Measured | Together | Selected | Chosen | Placed | Picked  # what is proved and costs something

_KINDS: tuple[Kind, ...] = get_args(Kind)
_AMOUNT = re.compile(r"\d+(/\d+)?", re.ASCII)


@frozen
class Event:
    kind: Kind
    cost: Cost

    def __post_init__(self) -> None:
        for part in (self.cost.epsilon, self.cost.delta):
            check_chargeable(part)
        if not self.cost.epsilon:
            raise ValueError("a mechanism without an ε loses nothing, and is no event")
        match self.kind:
            case "pure" | "ranged":
                fits = not self.cost.delta
            case "keys":
                fits = self.cost.delta < 1
            case "gaussian" | "concentrated":
                fits = 0 < self.cost.delta < 1
            case _:
                raise ValueError(f"no mechanism is `{self.kind}`")
        if not fits:
            raise ValueError(f"δ = {self.cost.delta} is not that of what is {self.kind}")


Events = tuple[Event, ...]


def events(one: Losing) -> Events:
    """What a unit loses by it, all of it."""
    match one:
        case Measured() if one.mu_squared is not None:
            return (_gaussian(one.mu_squared, one.cost),)
        case Measured():
            if any(part.noise != "laplace" for part in one.parts):
                raise Unproved("of noise of two kinds at once nothing is known but its cost")
            return tuple(Event("pure", Cost(part.epsilon)) for part in one.parts)
        case Together():
            squares = [each.mu_squared for each in one.of]
            return (_gaussian(sum((square for square in squares if square is not None), Fraction(0)), one.cost),)
        case Selected():
            return (Event("keys", one.cost),)
        case Chosen():
            return (Event("pure", one.cost),)
        case Placed():
            return (Event("ranged", one.cost),)
        case Picked(way="EXPONENTIAL"):
            return (Event("ranged", one.cost),)
        case Picked(way="GUMBEL"):
            if one.rho > greatest_rho(one.cost.epsilon, one.cost.delta):
                raise Unproved("this choice costs more than that")
            return (Event("concentrated", one.cost),)
        case Picked():
            return (Event("pure", one.cost),)
        case _:
            assert_never(one)


def read_within(of: Iterable[Losing]) -> Parts | None:
    """The parts outside of which none of them reads; None where they may read all."""
    terms = (each.term for one in of for each in (one.of if isinstance(one, Together) else (one,)))
    return united(within(term.input) for term in terms)


def _gaussian(mu_squared: Fraction, cost: Cost) -> Event:
    if mu_squared > greatest_mu(cost.epsilon, cost.delta) ** 2:
        raise Unproved("this noise costs more than that")
    return Event("gaussian", cost)


def among(met: Mapping[str, Events], paid: Mapping[str, Events]) -> bool:
    """Whether each unit met no other mechanisms than were paid for. What several cost together follows from the law of
    each one's loss, so that others of no greater sums would not do."""
    return all(Counter(events) <= Counter(paid.get(unit, ())) for unit, events in met.items())


def cost_of(events: Events) -> Cost:
    """By plain addition."""
    if len(events) == 1:
        return events[0].cost
    epsilon = sum((event.cost.epsilon for event in events), Fraction(0))
    return Cost(epsilon, sum((event.cost.delta for event in events if event.cost.delta), Fraction(0)))


def written(events: Events) -> str:
    """The one text of them, exact."""
    return f"[{','.join(map(_row, events))}]"


def _row(event: Event) -> str:
    cost = event.cost
    return f'["{event.kind}","{cost.epsilon}","{cost.delta}"]' if cost.delta else f'["{event.kind}","{cost.epsilon}"]'


def read(text: str) -> Events:
    """What `written` wrote; a ValueError for anything else."""
    rows = json.loads(text)
    if not isinstance(rows, list):
        raise ValueError("events are written as a list")
    found = tuple(_event(row) for row in rows)
    if written(found) != text:
        raise ValueError("these events are not written as they should be")
    return found


def _event(row: object) -> Event:
    match row:
        case [str(kind), str(epsilon)]:
            return Event(_kind(kind), Cost(amount(epsilon)))
        case [str(kind), str(epsilon), str(delta)]:
            return Event(_kind(kind), Cost(amount(epsilon), amount(delta)))
        case _:
            raise ValueError("an event is written as its kind, ε and δ")


def _kind(text: str) -> Kind:
    for kind in _KINDS:
        if kind == text:
            return kind
    raise ValueError(f"no mechanism is `{text}`")


@lru_cache(maxsize=1024)  # totals have the same order and the same zeros, whatever else they say
def amount(text: str) -> Fraction:
    """What `str` writes of a fraction that is not negative."""
    if not _AMOUNT.fullmatch(text) or len(text) > 5000:
        raise ValueError("an amount is written as n/d")
    above, _, below = text.partition("/")
    try:
        return Fraction(int(above), int(below or 1))
    except ZeroDivisionError:
        raise ValueError("an amount does not divide by zero") from None
