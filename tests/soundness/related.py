"""Three private tables that refer to each other, public ones beside them, and databases of both kinds of honesty."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from privql.audit.reference.values import Row, Tables
from privql.check.env import Env, Settings
from privql.diagnostics import Source
from privql.kernel.scalars import Value
from privql.policy.build import build_catalog
from privql.syntax import ast, unparse

Rows = list[tuple[Value, ...]]

WARDS: Rows = [("a", 1, True), ("b", 2, None), ("c", None, False)]
CODES: Rows = [(0, "a"), (1, "a"), (1, "b"), (2, None), (None, "b"), (1, "a")]
PUBLIC = {"wards": WARDS, "codes": CODES}
PUBLIC_COLUMNS = {"wards": ("ward", "floor", "open"), "codes": ("code", "label")}

PRIVATE_COLUMNS = {
    "patients": ("pid", "age", "sex", "ward", "smoker", "job"),
    "visits": ("vid", "pid", "ward", "minutes", "urgent", "fee"),
    "tests": ("vid", "level", "kind"),
}


def policy(at_most: int | None, change_one: bool) -> str:
    limit = f" AT MOST {at_most} ROWS PER UNIT" if at_most is not None else ""
    return f"""
CREATE UNIT person{" NEIGHBOURS CHANGE ONE" if change_one else ""};
CREATE PUBLIC TABLE wards (ward TEXT KEY, floor INT, open BOOL);
CREATE PUBLIC TABLE codes (code INT, label TEXT);
CREATE PRIVATE TABLE patients (
  pid TEXT UNIT person KEY, age INT BETWEEN 0 AND 3, sex TEXT IN ('a', 'b'), ward TEXT REFERENCES wards(ward),
  smoker BOOL, job TEXT
);
CREATE PRIVATE TABLE visits (
  vid INT KEY, pid TEXT UNIT person, ward TEXT IN ('a', 'b', 'c'), minutes INT BETWEEN -1 AND 4, urgent BOOL,
  fee INT
){limit};
CREATE PRIVATE TABLE tests (
  vid INT REFERENCES visits(vid), level INT BETWEEN -2 AND 2, kind TEXT IN ('a', 'b') NOT NULL
) UNIT person VIA vid;
CREATE VIEW adults AS SELECT * FROM patients WHERE age >= 1;
CREATE VIEW per_patient AS SELECT pid, COUNT(*) AS n, SUM(minutes) AS total FROM visits GROUP BY pid;
CREATE VIEW stays AS
  SELECT p.pid, p.age, v.vid, v.minutes, v.ward FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.urgent;
CREATE VIEW tested AS SELECT v.pid, v.vid, t.level, t.kind FROM visits v JOIN tests t ON v.vid = t.vid;
CREATE BUDGET everything FOR UNIT person EPSILON 1000000;
"""


class Known:
    """What public tables hold."""

    def column(self, table: str, column: str) -> tuple[Value, ...] | None:
        at = PUBLIC_COLUMNS[table].index(column)
        return tuple(sorted({row[at] for row in PUBLIC[table] if row[at] is not None}))

    def query(self, query: ast.Query) -> tuple[Value, ...] | None:
        listed = re.fullmatch(r"SELECT (\w+) FROM (\w+)", unparse(query))
        return self.column(listed[2], listed[1]) if listed is not None else None

    def most_alike(self, table: str, columns: tuple[str, ...]) -> int | None:
        at = [PUBLIC_COLUMNS[table].index(column) for column in columns]
        alike = [tuple(row[i] for i in at) for row in PUBLIC[table]]
        return max(map(alike.count, alike))


def environment(at_most: int | None, change_one: bool, epsilon: int = 1) -> Env:
    catalog, found = build_catalog(Source(policy(at_most, change_one), "policy"))
    assert not [d for d in found if d.severity == "error"], [str(d) for d in found]
    settings = Settings(epsilon=Fraction(epsilon))
    return Env(catalog, settings=settings, public=Known(), default_delta={"person": Fraction(1, 100)})


# ---------------------------------------------------------------- databases

HONEST: Mapping[str, tuple[Value, ...]] = {
    "age": (0, 1, 2, 3, 3, None),
    "sex": ("a", "b", None),
    "ward": ("a", "b", "c", None),
    "smoker": (True, False, None),
    "minutes": (-1, 0, 1, 2, 4, None),
    "urgent": (True, True, False, None),
    "job": ("cook", "king", "king", None),
    "fee": (0, 5, 5, -3, 1000, None),
    "level": (-2, 0, 1, 2, None),
    "kind": ("a", "b"),
}
HOSTILE: Mapping[str, tuple[Value, ...]] = {
    "age": (0, 1, 3, 3, 4, -1, 2**63 - 1, -(2**63), None),
    "sex": ("a", "b", "", "A", None),
    "ward": ("a", "a", "b", "c", "nowhere", None),
    "smoker": (True, False, None),
    "minutes": (-1, 4, 4, 0, 1, 99, -(2**63), None),
    "urgent": (True, True, False, None),
    "job": ("cook", "king", "", None),
    "fee": (0, 5, -1, 70, 2**63 - 1, -(2**63), None),
    "level": (-2, 2, 0, 1, 7, -(2**63), None),
    "kind": ("a", "b", "c", None),
}


@dataclass
class Database:
    """Rows are added unit by unit, so that the numbers of visits - a KEY - are never used twice."""

    choice: random.Random
    values: Mapping[str, tuple[Value, ...]]
    visits: int = 0
    numbers: list[int] = field(default_factory=list)

    def row(self, table: str, **known: Value) -> Row:
        return {c: known[c] if c in known else self.choice.choice(self.values[c]) for c in PRIVATE_COLUMNS[table]}

    def unit(self, name: Value, most: int) -> Tables:
        """What one unit has: at most one row of patients, and visits with tests."""
        pick = self.choice
        out: dict[str, list[Row]] = {"patients": [], "visits": [], "tests": []}
        if pick.random() < 0.85:
            out["patients"].append(self.row("patients", pid=name))
        for _ in range(pick.choice((0, 1, 2, most, most))):
            self.visits += 1
            out["visits"].append(self.row("visits", pid=name, vid=self.visits))
            if pick.random() < 0.3:  # one like it: how often matters
                self.visits += 1
                out["visits"].append({**out["visits"][-1], "vid": self.visits})
        out["visits"] = out["visits"][:most]
        for visit in out["visits"]:
            for _ in range(pick.choice((0, 1, 1, 2))):
                out["tests"].append(self.row("tests", vid=visit["vid"]))
                if pick.random() < 0.2:
                    out["tests"].append(out["tests"][-1])
        return out

    def nobodys(self) -> Tables:
        """Rows without a unit: no name, a reference to nothing, to NULL, or to such a row."""
        self.visits += 1
        orphan = self.row("visits", pid=None, vid=self.visits)
        unnamed = self.row("visits", pid="u1", vid=None)
        lost = [self.row("tests", vid=vid) for vid in (None, 10**6, self.visits)]
        return {"patients": [self.row("patients", pid=None)], "visits": [orphan, unnamed], "tests": lost}


def together(*parts: Tables) -> Tables:
    return {table: [row for part in parts for row in part[table]] for table in PRIVATE_COLUMNS}


def honest(choice: random.Random) -> Tables:
    """As declared, so that plain SQL over it means the same."""
    made = Database(choice, HONEST)
    return together(*(made.unit(f"u{at}", 3) for at in range(choice.choice((1, 2, 3, 4)))))
