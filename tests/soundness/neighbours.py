"""Every database of up to three rows over a hostile domain, against every neighbour, before any noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

from privql.audit import reference
from privql.audit.claims import parts_apart
from privql.kernel.measure import Measured
from privql.kernel.sums import Sums
from privql.kernel.terms import Scan
from tests.soundness.world import HOSTILE, KINDS, Kind, Row, random_row, read

SALT = b"neighbours"
Cells = list[list[int]]
Bag = tuple[Row, ...]  # the rows of one unit


@dataclass(frozen=True)
class Move:
    """How far one contribution's sums are apart between two neighbours."""

    l1: int
    l2_squared: int


def scanned(sums: Sums) -> Scan:
    at = sums.input
    while not isinstance(at, Scan):
        at = at.input
    return at


class Alone:
    """What is answered of nobody but one unit that has one row: asked of many rows, and of each again and again."""

    def __init__(self, sums: Sums) -> None:
        self.kind = KINDS[scanned(sums).table]
        self.columns = [name for name, _ in scanned(sums).columns if name in HOSTILE]
        self._sums = sums
        self._known: dict[tuple[int, ...], tuple[Cells, list[int]]] = {}

    def of(self, row: Row) -> tuple[Cells, list[int]]:
        """Its cells, and these added up over all groups."""
        key = tuple([id(row[name]) for name in self.columns])  # each is one of `HOSTILE`, where 0.0 is not -0.0
        found = self._known.get(key)
        if found is None:
            cells = answer(self._sums, ((row,),), self.kind)
            found = self._known[key] = cells, [sum(column) for column in zip(*cells, strict=True)]
        return found

    def moved(self, row: Row, at: int) -> int:
        return self.of(row)[1][at]


def extremes(measured: Measured, choice: random.Random) -> list[Row]:
    """Rows that move a sum as far as any: from some random ones, and from each other, a column at a time."""
    sums = measured.term
    alone = Alone(sums)
    seen = [random_row(choice) for _ in range(150)]
    out = seen[:2]
    for at in range(sums.width):
        reaching: list[Row] = []  # rows that reach this cell at all
        for sign in (1, -1):

            def moved(row: Row, at: int = at, sign: int = sign) -> int:
                return sign * alone.moved(row, at)

            starts = [max(seen, key=moved), *reaching]
            best = max((_climbed(row, alone.columns, moved) for row in starts), key=moved)
            reaching.append(best)
            seen.append(best)
            out += [best, *_elsewhere(sums, best, alone)]
    return [row for n, row in enumerate(out) if row not in out[:n]]


def _climbed(row: Row, columns: Sequence[str], moved: Callable[[Row], int]) -> Row:
    """A row from which no single column leads further."""
    far = moved(row)
    for name in (*columns, *columns):
        for value in HOSTILE[name]:
            other = {**row, name: read(value)}
            if (there := moved(other)) > far:
                row, far = other, there
    return row


def _elsewhere(sums: Sums, row: Row, alone: Alone) -> list[Row]:
    """The same contribution in another group, if one changed column makes it so."""
    if sums.groups == 1:
        return []
    here, _ = alone.of(row)
    as_here = sorted(here)
    for name in alone.columns:
        for value in HOSTILE[name]:
            other = {**row, name: read(value)}
            there, _ = alone.of(other)
            if there != here and sorted(there) == as_here:
                return [other]
    return []


def answer(sums: Sums, units: Sequence[Bag], kind: Kind) -> Cells:
    rows = [{**row, **({"id": f"u{at}"} if kind.has_id else {})} for at, bag in enumerate(units) for row in bag]
    if kind.has_id:  # nobody's rows may change nothing
        rows += [{**row, "id": None} for bag in units[:1] for row in bag]
    return reference.run(sums, {kind.table: rows}, SALT)


def apart(measured: Measured, one: Cells, other: Cells) -> list[Move]:
    """For each contribution, over all groups."""
    return [Move(*moved) for moved in parts_apart(measured, one, other)]


def bags(rows: Sequence[Row], kind: Kind, choice: random.Random) -> list[Bag]:
    """What one unit may own; where rows are bounded by truncation, also some that own more than may stay."""
    alone: list[Bag] = [(row,) for row in rows]
    if kind.rows_per_unit == 1:
        return alone
    over = list(combinations_with_replacement(rows, kind.rows_per_unit + 1))
    return [*alone, *combinations_with_replacement(rows, 2), *choice.sample(over, min(len(over), 12))]


def moves(measured: Measured, choice: random.Random) -> Iterator[list[Move]]:
    """One unit more (or one changed), beside nobody, beside one other unit, and beside two."""
    kind = KINDS[scanned(measured.term).table]
    sums = measured.term
    own = bags(extremes(measured, choice), kind, choice)
    pairs = list(combinations_with_replacement(own, 2))
    few = choice.sample(pairs, min(len(pairs), 6 if kind.rows_per_unit == 1 else 1))
    others: list[tuple[Bag, ...]] = [(), *((bag,) for bag in choice.sample(own, min(len(own), 4))), *few]
    for beside in others if not kind.change_one else others[:3]:
        answers = [answer(sums, beside, kind), *(answer(sums, (*beside, bag), kind) for bag in own)]
        pairs_of_answers = combinations(answers, 2) if kind.change_one else ((one, answers[0]) for one in answers[1:])
        for one, other in pairs_of_answers:
            yield apart(measured, one, other)
