"""Every rule against databases of a tiny world and their neighbours, before any noise: what it proves is so."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction

import pytest

from privql.audit import reference
from privql.audit.reference import Row
from privql.kernel import measure, rules
from privql.kernel.measure import Measured
from privql.kernel.stable import Stable
from privql.kernel.sums import cells
from privql.kernel.terms import Unit
from tests.assurance import assured, length
from tests.kernel.databases import PUBLIC_ROWS, SALT, UNITS, Bag, Database, bag, database
from tests.kernel.relations import Relations

BATCHES = length(20, 2500)
EACH = 40
NEIGHBOURS = 10
Content = tuple[tuple[str, object], ...]


def contents(rows: Iterable[Row]) -> Counter[Content]:
    return Counter(tuple(sorted(row.items())) for row in rows)


def neighbours(choice: random.Random, change_one: bool) -> Iterator[tuple[str, Database, Database]]:
    """A unit, and two databases that differ in its rows, in all tables at once."""
    for _ in range(NEIGHBOURS):
        base, unit = database(choice), choice.choice(UNITS)
        one: Bag | None = bag(unit, choice) if change_one else None
        yield unit, base.with_unit(unit, one), base.with_unit(unit, bag(unit, choice))


def check_rows(stable: Stable, unit: str, one: Database, other: Database, choice: random.Random) -> None:
    found = [reference.rows(stable.term, each.tables(choice), SALT, PUBLIC_ROWS) for each in (one, other)]
    if not stable.owned:
        before, after = (contents(row for _, row in rows) for rows in found)
        gone, come = (before - after).total(), (after - before).total()
        moved = max(gone, come) if stable.unit.change_one else gone + come
        assert stable.rows is None or moved <= stable.rows
        return
    owned = [reference.by_unit(rows) for rows in found]
    for name in UNITS:
        assert name == unit or contents(owned[0].get(name, [])) == contents(owned[1].get(name, []))
    for each, source in zip(owned, (one, other), strict=True):
        assert each.keys() <= source.units.keys()
        for rows in each.values():
            assert stable.rows is None or len(rows) <= stable.rows
            assert all(row.keys() == stable.columns for row in rows)
            for key in stable.unique:
                values = [tuple(row[c] for c in sorted(key)) for row in rows]
                whole = [value for value in values if None not in value]
                assert len(set(whole)) == len(whole)
            for key in stable.apart:
                values = [tuple(row[c] for c in sorted(key)) for row in rows]
                assert len(set(values)) == len(values)
            assert all(len({row[c] for row in rows}) <= 1 for c in stable.determined)


def check_cells(measured: Measured, one: Database, other: Database, choice: random.Random) -> None:
    left, right = (reference.run(measured.term, each.tables(choice), SALT, PUBLIC_ROWS) for each in (one, other))
    at = 0
    for part in measured.parts:
        width = cells(part.contribution)
        moves = [
            a - b
            for ours, theirs in zip(left, right, strict=True)
            for a, b in zip(ours[at : at + width], theirs[at : at + width], strict=True)
        ]
        assert sum(map(abs, moves)) <= part.sensitivity.l1
        assert sum(move**2 for move in moves) <= part.sensitivity.l2_squared
        at += width


@pytest.mark.parametrize("seed", range(BATCHES))
def test_neighbours_differ_in_one_units_rows_and_move_no_sum_further_than_its_claim(seed: int) -> None:
    choice = random.Random(seed)
    with assured("rules") as tally:
        for _ in range(EACH):
            tally["tried"] += 1
            unit = Unit("person", change_one=choice.random() < 0.4)
            made = Relations(choice, unit)
            stable = made.relation(choice.choice((1, 2, 2, 3)))
            if choice.random() < 0.15:
                stable = rules.once(stable)
            measured = None
            if stable.rows is None and stable.owned:
                measurable = rules.keep_rows(stable, choice.randint(1, 3))
            else:
                measurable = stable
            if measurable.rows is not None:
                contributions = tuple(made.contribution(measurable) for _ in range(2))
                if all(measure.reach(each).l1 for each in contributions):
                    scales = (Fraction(1),) * 2
                    measured = measure.laplace(measurable, made.keys(measurable), contributions, scales)
            for holder, one, other in neighbours(choice, unit.change_one):
                try:
                    check_rows(stable, holder, one, other, choice)
                    if measured is not None:
                        check_cells(measured, one, other, choice)
                except AssertionError as error:
                    error.add_note(f"{holder}: {one}\n{other}\n{stable}\n{measured}")
                    raise
