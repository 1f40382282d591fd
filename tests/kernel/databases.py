"""Tiny related databases: some units with a bag of rows in every table, and rows that are nobody's.

The owner's word is kept: a person is one row, codes and the numbers of visits are unique, whoever has them. Everything
else is as hostile as it can be: duplicates, NULLs, zeros of both signs, units without rows in one table or the other,
references to nothing, to a visit that is nobody's, or to one that a unit has only in the neighbouring database.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from privql.audit.reference import Publics, Row
from privql.kernel.scalars import FLOAT, INT, TEXT, Value, ValueType
from privql.kernel.terms import Link, Public, Scan, Unit

UNITS = ("u0", "u1", "u2")
SALT = b"force"
SMALL: tuple[Value, ...] = (None, 0, 1, 1, 2)
FLOATS: tuple[Value, ...] = (0.0, -0.0, 1.5)
PUBLIC = Public("areas", (("pa", INT), ("pb", INT)))
PUBLIC_ROWS: Publics = {"areas": ((0, 0), (1, 1), (1, 2), (1, 2), (2, None), (None, 1), (0, 2))}
COLUMNS: Mapping[str, tuple[tuple[str, ValueType], ...]] = {
    "people": (("code", INT), ("p", INT)),
    "visits": (("number", INT), ("v", INT), ("w", INT)),
    "tests": (("visit", INT), ("x", INT), ("y", INT), ("f", FLOAT)),
}
MOST = 3  # rows of a unit in one table

Bag = Mapping[str, list[Row]]  # what a unit has, by table


@dataclass(frozen=True)
class Database:
    units: Mapping[str, Bag]
    nobody: Bag

    def tables(self, choice: random.Random) -> dict[str, list[Row]]:
        """In an order that says nothing."""
        bags = (*self.units.values(), self.nobody)
        found = {table: [row for bag in bags for row in bag[table]] for table in COLUMNS}
        return {table: choice.sample(rows, len(rows)) for table, rows in found.items()}

    def with_unit(self, unit: str, bag: Bag | None) -> Database:
        others = {name: kept for name, kept in self.units.items() if name != unit}
        return Database(others if bag is None else {**others, unit: bag}, self.nobody)


def scans(unit: Unit) -> dict[str, Scan]:
    owned = ("id", TEXT)
    link = Link("visit", "visits", ("number", INT))
    return {
        "people": Scan("people", unit, owned, True, COLUMNS["people"], unique=frozenset({"code"})),
        "visits": Scan("visits", unit, owned, False, COLUMNS["visits"], unique=frozenset({"number"})),
        "tests": Scan("tests", unit, owned, False, COLUMNS["tests"], via=(link,)),
    }


def bag(unit: str, choice: random.Random) -> Bag:
    """Each unit has numbers of its own; references are to them, and sometimes to nothing."""
    at = 3 * UNITS.index(unit)
    numbers = [*choice.sample(range(at, at + 3), choice.randint(0, 3)), None][:MOST]
    same = choice.random() < 0.5  # often rows that agree in everything but their numbers
    one = {c: choice.choice(SMALL) for c in ("v", "w", "x", "y")}

    def row(*columns: str) -> dict[str, Value]:
        return {c: one[c] if same and choice.random() < 0.9 else choice.choice(SMALL) for c in columns}

    code = choice.choice((at, at + 1, None))
    people: list[Row] = [{"id": unit, "code": code, "p": choice.choice(SMALL)}]
    known = [number for number in numbers if number is not None]
    return {
        "people": people if choice.random() < 0.8 else [],
        "visits": [{"id": unit, "number": number, **row("v", "w")} for number in numbers if choice.random() < 0.9],
        "tests": [
            {"visit": choice.choice(known) if known else None, **row("x", "y"), "f": choice.choice(FLOATS)}
            for _ in range(choice.randint(0, MOST))
        ],
    }


def nobody(choice: random.Random) -> Bag:
    """Rows without a unit, and references to nothing, to nobody's rows, and to what a unit may have in a neighbour."""
    return {
        "people": [{"id": None, "code": 90, "p": 1}],
        "visits": [{"id": None, "number": 91, "v": 1, "w": 1}, {"id": None, "number": None, "v": 1, "w": 2}],
        "tests": [
            {"visit": number, "x": choice.choice(SMALL), "y": 1, "f": 0.0}
            for number in (None, 91, 99, choice.randrange(9))
        ],
    }


def database(choice: random.Random) -> Database:
    present = choice.sample(UNITS, choice.randint(1, len(UNITS)))
    return Database({unit: bag(unit, choice) for unit in present}, nobody(choice))
