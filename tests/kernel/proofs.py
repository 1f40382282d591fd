"""Random things to release, proved by the rules alone, and their certificates with something changed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from typing import Any, get_args

from privql.kernel import bounds, measure, picks, ranks, rules, selection
from privql.kernel.certificate import Charged, Sealed, certificate, commitments
from privql.kernel.cost import Cost
from privql.kernel.events import Losing, events
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.gaussian import root_above
from privql.kernel.measure import Measured
from privql.kernel.proved import Unproved
from privql.kernel.stable import Stable
from privql.kernel.sums import Balance, Contribution, Hats, Key, Listed, Powers
from privql.kernel.terms import Unit
from tests.kernel.relations import Relations

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(1, 1000), Fraction(40))
DELTAS = (Fraction(1, 10**6), Fraction(1, 10**9), Fraction(1, 100), Fraction(3, 10**15))


class Proofs(Relations):
    """Whatever may be measured, of whatever relation."""

    def measured(self) -> Losing:
        while True:
            rows = self.relation(self.choice.choice((1, 1, 2, 3)))
            if rows.rows is None or rows.rows > 50:
                rows = rules.keep_rows(rows, self.choice.randint(1, 3))
            if self.choice.random() < 0.08:
                rows = rules.once(rows)
            ways = (self.laplace, self.gaussian, self.together, self.selected, self.level, self.placed, self.picked)
            try:
                return self.choice.choice(ways)(rows)
            except Unproved:
                continue

    def epsilon(self) -> Fraction:
        return self.choice.choice(EPSILONS)

    def delta(self) -> Fraction:
        return self.choice.choice(DELTAS)

    def groups(self, rows: Stable) -> tuple[Key | Listed, ...]:
        if self.choice.random() < 0.2:
            return Listed((self.integer(rows), self.integer(rows)), ((0, 0), (0, 1))), *self.keys(rows)
        return self.keys(rows)

    def added(self, rows: Stable) -> Contribution:
        number, where = self.integer(rows), self.maybe(lambda: self.condition(rows))
        far = self.choice.choice((2, 8, 64))
        one_side = self.choice.choice((Steps(number, Fraction(1), 0, far), Steps(number, Fraction(1), -far, 0)))
        factors = tuple((self.steps(rows), self.choice.choice((1, 2))) for _ in range(self.choice.choice((1, 2))))
        return self.choice.choice(
            (
                Tally(where),
                Total(Steps(number, Fraction(1, 2), -5, 2**40), where),
                self.contribution(rows),
                Balance(self.steps(rows), where),
                Powers(factors, where),
                Hats(one_side, where),
            )
        )

    def sums(self, rows: Stable) -> tuple[tuple[Key | Listed, ...], tuple[Contribution, ...]]:
        return self.groups(rows), tuple(self.added(rows) for _ in range(self.choice.choice((1, 1, 2, 3))))

    def laplace(self, rows: Stable) -> Losing:
        keys, added = self.sums(rows)
        scales = tuple(max(measure.moved(rows, keys, each).l1, 1) / self.epsilon() for each in added)
        return measure.laplace(rows, keys, added, scales)

    def gaussian(self, rows: Stable) -> Measured:
        keys, added = self.sums(rows)
        cost = Cost(self.epsilon(), self.delta())
        mu = measure.greatest_mu(cost.epsilon, cost.delta)
        moves = (measure.moved(rows, keys, each).l2_squared for each in added)
        sigmas = tuple(root_above(Fraction(len(added) * move) / mu**2) for move in moves)
        return measure.gaussian(rows, keys, added, sigmas, cost)

    def together(self, rows: Stable) -> Losing:
        of = tuple(self.gaussian(rows) for _ in range(2))
        # each is dear enough for both
        square = sum((each.mu_squared or Fraction(0) for each in of), Fraction(0))
        for factor in (1, 2, 3, 5, 10, 30, 100, 1000, 10**4, 10**5):
            cost = Cost(of[0].cost.epsilon * factor, max(each.cost.delta for each in of))
            if square <= measure.greatest_mu(cost.epsilon, cost.delta) ** 2:
                return measure.together(of, cost)
        raise Unproved("too dear")

    def selected(self, rows: Stable) -> Losing:
        keys = tuple((self.new(), self.integer(rows)) for _ in range(self.choice.choice((1, 2))))
        most, counted = self.choice.choice((None, 1, 2)), self.choice.random() < 0.5
        return selection.truncated_geometric(rows, keys, most, self.epsilon(), self.delta(), counted)

    def level(self, rows: Stable) -> Losing:
        where = self.maybe(lambda: self.condition(rows))
        return bounds.noisy_minimum(rows, self.integer(rows), where, self.choice.randint(1, 40), 3, self.epsilon())

    def placed(self, rows: Stable) -> Losing:
        shares = sorted({Fraction(self.choice.randint(0, 20), 20) for _ in range(self.choice.choice((1, 1, 3, 9)))})
        wanted = tuple(ranks.Rank(share, self.choice.choice((0, 0, 5))) for share in shares)
        return ranks.by_rank(rows, self.groups(rows), self.steps(rows), None, wanted, self.epsilon())

    def picked(self, rows: Stable) -> Losing:
        way = self.choice.choice(get_args(picks.Way))
        delta = self.delta() if way == "GUMBEL" else Fraction(0)
        candidates, many = Key(self.integer(rows), (0, 1, 2, 3)), self.choice.randint(1, 4)
        return picks.most_frequent(rows, self.groups(rows), candidates, None, many, way, self.epsilon(), delta)


def proofs(seed: int) -> tuple[Losing, ...]:
    """One thing, or a few, of one unit."""
    choice = random.Random(seed)
    made = Proofs(choice, Unit("person", change_one=choice.random() < 0.4))
    return tuple(made.measured() for _ in range(choice.choice((1, 1, 1, 2, 3))))


def certified(of: tuple[Losing, ...]) -> str:
    """As if all of it had been charged."""
    met: dict[str, Any] = {}
    for one in of:
        met[one.unit.name] = met.get(one.unit.name, ()) + events(one)
    salt = sha256(repr(len(of)).encode()).digest()
    told = commitments(salt, 3, {"policy": "CREATE UNIT person", "query": "SELECT 1", "inputs": "{}", "answer": "{}"})
    charged = tuple(Charged(unit, "research", lost) for unit, lost in met.items())
    return certificate(of, Sealed("r7", charged, told))


# ---------------------------------------------------------------- changes

Path = tuple[str | int, ...]


def leaves(told: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(told, dict | list):
        for at in told if isinstance(told, dict) else range(len(told)):
            yield from leaves(told[at], (*path, at))
    else:
        yield path


def at(told: Any, path: Path) -> Any:
    for each in path:
        told = told[each]
    return told


def changed(told: Any, path: Path, choice: random.Random) -> Any:
    """The same with another value there, of the same kind: a number, a name, a hash, a yes or no."""
    made = copy.deepcopy(told)
    holder, last, old = at(made, path[:-1]), path[-1], at(told, path)
    holder[last] = other(old, choice)
    return made


def other(old: Any, choice: random.Random) -> Any:
    match old:
        case bool():
            return not old
        case None:
            return choice.choice((0, 1, "1"))
        case int():
            return choice.choice([n for n in (old - 1, old + 1, old * 2 + 1, 0) if n != old])
        case str() if len(old) == 64:
            where = choice.randrange(64)
            return old[:where] + choice.choice([c for c in "0123456789abcdef" if c != old[where]]) + old[where + 1 :]
        case str():
            try:
                number = Fraction(old)
            except (ValueError, ZeroDivisionError):
                names = ("gather", "keep_rows", "join", "INNER", "FULL", "pure", "ranged", "FLIP", "INT", "FLOAT", "x")
                return choice.choice([name for name in names if name != old])
            less, more = number * Fraction(999, 1000), number * Fraction(1001, 1000)
            return str(choice.choice([n for n in (less, more, number + 1, number / 2, Fraction(0)) if n != number]))
        case _:
            raise TypeError(old)


def sealed_anew(told: Any) -> str:
    """What a forger would hand in: with the digest of what it says."""
    body = {name: told[name] for name in told if name != "digest"}
    return text({**body, "digest": sha256(text(body).encode()).hexdigest()})


def text(told: Any) -> str:
    return json.dumps(told, sort_keys=True, separators=(",", ":"))
