"""The first layer: what is exact moves between neighbours no farther than is claimed, on every small database.

The reference computes what a term means on all of them; the engine, on some of them and on those that move farthest,
must say the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

from privql.audit import databases
from privql.audit.claims import Claim, apart, claims
from privql.audit.conditions import Met, met
from privql.audit.exact import SALT, ByReference, exact, rows_of_publics, terms_of
from privql.audit.faults import Fault, found_in
from privql.audit.fitting import Meets
from privql.audit.reference.relations import rows as rows_in
from privql.audit.scratch import one_engine
from privql.audit.steps import Step
from privql.audit.world import Bag, Database, World
from privql.engines.interface import Computing, EngineError
from privql.frozen import frozen
from privql.kernel.bounds import Chosen
from privql.kernel.measure import Measured, Together
from privql.kernel.scalars import Value
from privql.kernel.selection import Selected
from privql.kernel.terms import KeepRows
from privql.release import Wanted

_BY_ENGINE = 12  # databases
_CELLS = 6  # of each contribution, whose extremes are looked for
_COMPARED = 40  # bags of one unit that are compared with each other, where units change
_PAIRS = 3  # kept of each measurement

Exact = list[Any]  # of each measurement of a step
Tick = Callable[[float], None]


@frozen
class Pair:
    """Neighbours that a measurement tells apart best, as far as the exact answers say."""

    others: Database
    here: Bag  # of one unit, beside these others
    there: Bag
    price: Fraction

    @property
    def one(self) -> Database:
        return (*self.others, self.here) if self.here else self.others

    @property
    def other(self) -> Database:
        return (*self.others, self.there) if self.there else self.others

    def among(self, many: int) -> Pair:
        """With so many beside that have the same."""
        return replace(self, others=(self.there or self.here,) * many)


@frozen
class Moved:
    """A claim, and the farthest that was seen."""

    claim: Claim
    far: Fraction

    @property
    def kept(self) -> bool:
        return self.far <= self.claim.most


@dataclass
class Brute:
    """What was tried, and what was found."""

    databases: int = 0
    pairs: int = 0
    all_of: int = 0  # kinds of rows of which there are all small databases
    by_engine: int = 0
    moved: list[list[Moved]] = field(default_factory=list)  # of each measurement, claim by claim
    farthest: list[list[Pair]] = field(default_factory=list)  # of each measurement, the farthest first
    telling: list[Bag] = field(default_factory=list)
    otherwise: list[Database] = field(default_factory=list)  # where engine and reference differ

    @property
    def kept(self) -> bool:
        return not self.otherwise and all(one.kept for each in self.moved for one in each)


class Trying:
    def __init__(self, step: Step, world: World, fault: Fault, change_one: bool) -> None:
        self.step, self.world, self.fault, self.change_one = step, world, fault, change_one
        self.found = Brute()
        self._part: dict[tuple[Database, Bag], frozenset[Value]] = {}
        outside = [Claim("the answers, from outside of the parts read", Fraction(0))] if step.parts else []
        self._claims = [(*outside, *fault.claims(claims(made))) for made in step.wanted]
        self.found.moved = [[Moved(claim, Fraction(0)) for claim in each] for each in self._claims]
        self.found.farthest = [[] for _ in step.wanted]

    def exact(self, units: Database) -> Exact:
        nobody = units[0][:1] if units else ()  # nobody's rows may change nothing
        engine = self.fault.meaning(ByReference(self.world.holding(units, nobody)))
        self.found.databases += 1
        return [exact(made, engine, self.step.publics) for made in self.step.wanted]

    def apart(self, at: int, others: Database, here: tuple[Bag, Exact], there: tuple[Bag, Exact]) -> Sequence[Fraction]:
        """What there is of each claim between databases in which the last unit has the one and the other."""
        (one, ours), (other, theirs) = here, there
        far = apart(self.step.wanted[at], ours[at], theirs[at])
        if self.step.parts is None:
            return far
        met = (self._part_of(others, one) | self._part_of(others, other)) & self.step.parts.values
        moved = max(far[-1], Fraction(ours[at] != theirs[at]))  # what differs counts, even where that costs nothing
        return (Fraction(0) if met else moved, *far)

    def _part_of(self, others: Database, bag: Bag) -> frozenset[Value]:
        """In which of the parts the last unit counts; in none, if it has no rows there."""
        assert self.step.parts is not None
        partition = self.step.parts.partition
        if (others, bag) not in self._part:
            before, after = (
                rows_in(partition, self.world.holding(units), SALT, {}) for units in (others, (*others, bag))
            )
            known = {owner for owner, _ in before}
            self._part[others, bag] = frozenset(row[partition.column] for owner, row in after if owner not in known)
        return self._part[others, bag]

    def run(self, most: int, choice: random.Random, tick: Tick) -> Brute:
        told = self.found.telling = self.telling(choice)
        tick(0.3)
        rows = databases.kinds(self.world, told, choice)
        self.found.databases = 0
        every = list(databases.small(self.world, rows, most))
        self.found.all_of = len({row for one in every[:1] for bag in one.own for row in bag})
        limits = [one.limit for term in terms_of(self.step.wanted) for one in found_in(KeepRows, term)]
        limits += [table.at_most for table in self.world.tables if table.at_most is not None]
        limit = max([*map(rows_of, self.step.wanted), *limits])
        every += databases.larger(self.world, told, limit, choice, most // 20)
        for at, each in enumerate(every):
            self._compare(each, choice)
            tick(0.3 + 0.6 * at / len(every))
        self._by_engine(every, choice)
        return self.found

    def telling(self, choice: random.Random) -> list[Bag]:
        """What a unit may have that moves something far."""
        return databases.telling(self.world, self._scores(), self._meets(), choice)

    def _meets(self) -> Meets:
        terms = terms_of(self.step.wanted)

        @cache
        def meets(bag: Bag) -> list[Met]:
            return met(terms, self.world.holding((bag,)), rows_of_publics(self.step.publics), SALT)

        return meets

    def _scores(self) -> list[databases.Score]:
        """What a unit's rows may move: each claim, and each cell up and down."""
        nothing = self.exact(())
        known: dict[Bag, Exact] = {}

        def of(bag: Bag) -> Exact:
            if bag not in known:
                known[bag] = self.exact((bag,))
            return known[bag]

        def claim(at: int, number: int) -> databases.Score:
            return lambda bag: float(self.apart(at, (), ((), nothing), (bag, of(bag)))[number])

        def cell(at: int, column: int, sign: int) -> databases.Score:
            def score(bag: Bag) -> float:
                found = of(bag)[at]
                return float(sign * sum(row[column] for row in found))

            return score

        out: list[databases.Score] = []
        for at, made in enumerate(self.step.wanted):
            out += [claim(at, number) for number in ((-1,) if self.step.parts is None else (0, -1))]
            if isinstance(made, Measured):
                columns = range(made.term.width)
                chosen = columns if len(columns) <= 2 * _CELLS else sorted({*columns[:_CELLS], *columns[-_CELLS:]})
                out += [cell(at, column, sign) for column in chosen for sign in (1, -1)]
        return out

    def _compare(self, each: databases.Neighbours, choice: random.Random) -> None:
        own = list(each.own)
        if self.change_one and len(own) > _COMPARED:
            own = choice.sample(own, _COMPARED)
        answers = [(bag, self.exact(each.of(bag))) for bag in ((), *own)]
        pairs = combinations(answers, 2) if self.change_one else ((answers[0], one) for one in answers[1:])
        for here, there in pairs:
            self.found.pairs += 1
            for at in range(len(self.step.wanted)):
                self._note(at, self.apart(at, each.others, here, there), each.others, here[0], there[0])

    def _note(self, at: int, far: Sequence[Fraction], others: Database, one: Bag, other: Bag) -> None:
        moved, best = self.found.moved[at], self.found.farthest[at]
        for number, here in enumerate(far):
            if here > moved[number].far:
                moved[number] = Moved(moved[number].claim, here)
        if far[-1] > 0 and (len(best) < _PAIRS or far[-1] > best[-1].price):
            best.append(Pair(others, one, other, far[-1]))
            best.sort(key=lambda pair: pair.price, reverse=True)
            del best[_PAIRS:]

    def _by_engine(self, every: Sequence[databases.Neighbours], choice: random.Random) -> None:
        far = [units for best in self.found.farthest for pair in best for units in (pair.one, pair.other)]
        some = [
            each.of(choice.choice(each.own)) for each in choice.sample(every, min(len(every), _BY_ENGINE)) if each.own
        ]
        with one_engine(self.world.catalog, terms_of(self.step.wanted)) as over:
            for units in list(dict.fromkeys([*far, *some]))[:_BY_ENGINE]:
                tables = self.world.holding(units, units[0][:1] if units else ())
                said = self._answered(self.fault.engine(over(tables)))
                reference = ByReference(tables)
                meant = [exact(made, reference, self.step.publics) for made in self.step.wanted]
                self.found.by_engine += 1
                if said != meant:
                    self.found.otherwise.append(units)

    def _answered(self, engine: Computing) -> Exact | None:
        """None where it fails."""
        try:
            return [exact(made, engine, self.step.publics) for made in self.step.wanted]
        except EngineError:
            return None


def rows_of(made: Wanted) -> int:
    """Of one unit, at most: in Selected, groups."""
    match made:
        case Together():
            return max(map(rows_of, made.of))
        case Selected():
            return made.most
        case Chosen():
            return 1
        case _:
            return made.rows
