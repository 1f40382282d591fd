"""What is kept of parts bounds what any unit met, and is no more than number by number it must be."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from privql.kernel import parallel
from privql.kernel.cost import Cost
from privql.kernel.events import Event, Kind
from privql.kernel.losses import NO_LOSS, Loss, loss_of
from privql.kernel.parallel import Greatest, InParts, Lost, greatest

ORDER = Fraction(3)
NAMES = ("a", "b", "c")
Charge = tuple[InParts | None, Loss]


def some_loss(rng: random.Random) -> Loss:
    kind: Kind = rng.choice(("pure", "keys", "gaussian", "concentrated"))
    delta = Fraction(0) if kind == "pure" else Fraction(1, rng.choice((100, 1000)))
    return loss_of((Event(kind, Cost(Fraction(rng.randint(1, 9), 10), delta)),), ORDER)


def history(rng: random.Random, twice: bool, length: int) -> Iterator[Charge]:
    for _ in range(length):
        partition = rng.choice((None, "X", "X", "Y", "Z"))
        parts = rng.sample(NAMES, 1 if twice else rng.choice((1, 1, 2, 3)))
        yield None if partition is None else InParts(partition, tuple(parts), twice), some_loss(rng)


def met(charges: list[Charge], places: dict[str, tuple[str, ...]]) -> Loss:
    """By a unit that is in these parts, before or after: each charge once."""
    mine = (loss for where, loss in charges if where is None or set(where.parts) & set(places[where.partition]))
    return sum(mine, NO_LOSS)


def units(twice: bool) -> Iterator[dict[str, tuple[str, ...]]]:
    """Every unit that there may be, the one in no part that was asked for among them."""
    of = [*product((*NAMES, "-"), repeat=2 if twice else 1)]
    for places in product(of, repeat=3):
        yield dict(zip("XYZ", places, strict=True))


def kept(charges: list[Charge]) -> Lost:
    made = Lost()
    for where, loss in charges:
        made = made.plus(where, loss)
    return made


def wrong(rng: random.Random, twice: bool) -> bool:
    charges = list(history(rng, twice, rng.randint(0, 9)))
    made = kept(charges)
    every = [(places, met(charges, places)) for places in units(twice)]
    if made.most != greatest(loss for _, loss in every):
        return True
    for partition, part in product("XYZ", NAMES):
        of = [loss for places, loss in every if part in places[partition]]
        if made.of(InParts(partition, (part,), twice)) != greatest(of):
            return True
    both = [loss for places, loss in every if set(places["X"]) & {"a", "b"}]
    return not twice and made.of(InParts("X", ("a", "b"))) != greatest(both)


def caught(twice: bool) -> bool:
    rng = random.Random(5)
    try:
        return any(wrong(rng, twice) for _ in range(20))
    except ValueError:  # a loss below nothing
        return True


@pytest.mark.parametrize("twice", [False, True])
def test_no_unit_met_more_and_some_unit_met_as_much(twice: bool) -> None:
    rng = random.Random(5)
    assert not any(wrong(rng, twice) for _ in range(6 if twice else 20))


@pytest.mark.parametrize(
    ("name", "fault", "twice"),
    [
        ("raised", lambda self, before, after: Greatest(after, self.second), False),  # the last, not the greatest
        ("raised", lambda self, before, after: Greatest(greatest((self.first, after)), self.second), True),
        ("bound", lambda self, twice: self.first, True),
        ("beside", lambda self, own: NO_LOSS, True),
        ("beside", lambda self, own: self.first, True),
    ],
)
def test_a_fault_is_seen(name: str, fault: object, twice: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel.Greatest, name, fault)
    assert caught(twice)


def test_what_other_partitions_lost_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Lost.plus

    def forgetful(self: Lost, where: InParts | None, loss: Loss) -> Lost:
        made = right(self, where, loss)
        return made if where is None else replace(made, most=made.greatest[where.partition].first)

    monkeypatch.setattr(Lost, "plus", forgetful)
    assert caught(False)


def test_what_is_charged_in_no_part_is_no_charge_in_parts() -> None:
    with pytest.raises(ValueError, match="at least"):
        InParts("X", ())
    with pytest.raises(ValueError, match="once in each"):
        InParts("X", ("a", "a"))
    with pytest.raises(ValueError, match="to all of them"):
        InParts("X", ("a", "b"), twice=True)
    assert InParts("X", ("a",)) <= InParts("X", ("b", "a")) and not InParts("Y", ("a",)) <= InParts("X", ("a",))


def test_losses_of_two_orders_are_not_compared() -> None:
    one, other = (loss_of((Event("pure", Cost(Fraction(1))),), order) for order in (Fraction(2), Fraction(3)))
    with pytest.raises(ValueError, match="orders"):
        greatest((one, other))
