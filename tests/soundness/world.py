"""A small policy with a table of every kind, and the rows that a hostile world would put into it."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction

from privql.check.env import Env
from privql.diagnostics import Source
from privql.kernel.scalars import Value
from privql.policy.build import build_catalog

_COLUMNS = """
  a INT BETWEEN -3 AND 7, b INT BETWEEN 0 AND 5, c DECIMAL(4,1) BETWEEN -1.5 AND 2.5, f FLOAT BETWEEN -1 AND 3,
  s TEXT IN ('x', 'y'), k BOOL, d DATE BETWEEN DATE '2024-02-27' AND DATE '2024-03-02', z INT, w FLOAT, t TEXT
"""

POLICY = f"""
CREATE UNIT person;
CREATE UNIT member NEIGHBOURS CHANGE ONE;
CREATE PRIVATE TABLE people (id TEXT UNIT person KEY, {_COLUMNS});
CREATE PRIVATE TABLE events (id TEXT UNIT person, {_COLUMNS}) AT MOST 2 ROWS PER UNIT;
CREATE PRIVATE TABLE rows_alone ({_COLUMNS}) UNIT ROW AS person;
CREATE PRIVATE TABLE members (id TEXT UNIT member KEY, {_COLUMNS});
CREATE PRIVATE TABLE dues (id TEXT UNIT member, {_COLUMNS}) AT MOST 2 ROWS PER UNIT;
CREATE PRIVATE TABLE strict (id TEXT UNIT person KEY, {_COLUMNS.replace("0 AND 5", "0 AND 5 NOT NULL")});
CREATE VIEW grown AS SELECT *, a + b AS ab, CASE WHEN k THEN a ELSE b END AS kab FROM people WHERE a > 0;
CREATE VIEW doubled AS SELECT ab * 2 AS a, b, c, f, s, k, d, z, w, t FROM grown;
CREATE BUDGET all_of_it FOR UNIT person EPSILON 1000;
CREATE BUDGET dues_of_it FOR UNIT member EPSILON 1000;
"""

_DAY = 19_780  # 2024-02-27

HOSTILE: dict[str, tuple[Value, ...]] = {
    "a": (-3, 7, 0, 1, 5, -4, 8, None, -(2**63), 2**63 - 1),
    "b": (0, 5, 1, 3, -1, 6, None, 2**63 - 1),
    "c": (Fraction(-3, 2), Fraction(5, 2), Fraction(0), Fraction(1, 10), Fraction(999), None),
    "f": (-1.0, 3.0, 0.0, 1.0, -0.0, 0.5, 1.5, 2.999, -7.0, 1e308, None, math.nan, math.inf, -math.inf, 5e-324),
    "s": ("x", "y", "X", "", " x", None, "y\u0301"),
    "k": (True, False, None),
    "d": (_DAY, _DAY + 4, _DAY + 2, _DAY + 3, _DAY - 1, _DAY + 5, None),
    "z": (0, 1, -1, 5, 6, 2**63 - 1, -(2**63), None),
    "w": (0.0, 1.0, -1.0, 2.0, 1e308, -1e308, 1e-308, None, math.nan, math.inf),
    "t": ("", "x", "0", "3", "9", "-3", "99", "%", None),
}

Row = dict[str, Value]


@dataclass(frozen=True)
class Kind:
    """How the rows of a table belong to units."""

    table: str
    rows_per_unit: int
    change_one: bool
    has_id: bool = True


KINDS = {
    kind.table: kind
    for kind in (
        Kind("people", 1, False),
        Kind("events", 2, False),
        Kind("rows_alone", 1, False, has_id=False),
        Kind("members", 1, True),
        Kind("dues", 2, True),
        Kind("strict", 1, False),
    )
}


def environment() -> Env:
    catalog, found = build_catalog(Source(POLICY, "policy"))
    assert not [d for d in found if d.severity == "error"], [str(d) for d in found]
    return Env(catalog)


def random_row(choice: random.Random) -> Row:
    return {name: read(choice.choice(values)) for name, values in HOSTILE.items()}


def read(value: Value) -> Value:
    """As a scan reads it: NaN and infinities are NULL."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
