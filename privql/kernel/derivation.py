"""How something was proved, as data: a step for each rule, from what the owner declared to what was measured.

A step says which rule it is (`rule`), the steps that it was given (`of`), what of its other arguments its conclusion
depends on (`says`), and that conclusion (`gives`). No constant of the query is there but limits and bounds, and
nothing of the data but what was released: bounds that were found, and never how many groups were.

`verify` reads this, and shares no code with what wrote it (docs/proofs/certificates.md). It knows fewer rules than
there are here: whatever lets some of a unit's rows stay is `keep`, and what tells them something of others is `learn`.
"""

from __future__ import annotations

from math import prod
from typing import Any

from privql.kernel import rules
from privql.kernel.numbering import Numbering
from privql.kernel.proved import Unproved, proved
from privql.kernel.scalars import NULL, Field
from privql.kernel.stable import Sets, Stable
from privql.kernel.terms import (
    Combine,
    Filter,
    Gather,
    Join,
    KeepRows,
    Lookup,
    Mark,
    Once,
    Project,
    Scan,
    UnitPart,
    Window,
)

Json = dict[str, Any]
_NULLS = -1  # in a set of columns that are unique: but for NULLs


class Derivation:
    """The steps of what is added, in an order in which each follows those that it was given; the same one, once."""

    def __init__(self) -> None:
        self.steps: list[Json] = []
        self.numbering = Numbering()
        self._added: dict[int, tuple[Stable, int]] = {}  # kept, so that no other takes its place in memory

    def add(self, one: Stable) -> int:
        """The number of its step."""
        proved(one, Stable)
        if one.why[0] == "keep_where":  # a condition on each row alone: whatever it is, as much is known
            (rows,) = _given(one)
            return self.add(rows)
        if id(one) not in self._added:
            given, rule, says = _said(one, self.numbering)
            of = [self.add(each) for each in given]
            self._added[id(one)] = one, self.step(rule, of, says, _claim(one, self.numbering))
        return self._added[id(one)][1]

    def step(self, rule: str, of: list[int], says: Json, gives: Json) -> int:
        self.steps.append({"rule": rule, "of": of, "says": says, "gives": gives})
        return len(self.steps) - 1


def _given(one: Stable) -> tuple[Stable, ...]:
    return tuple(each for each in one.why[1] if isinstance(each, Stable))


def _claim(one: Stable, by: Numbering) -> Json:
    return {
        "unit": by.unit(one.unit),
        "named_by": _named_by(one) if one.owned else None,
        "rows": one.rows,
        "columns": by.columns(one.columns),
        "fixed": by.columns(one.determined),
        "unique": sorted(_unique(one.apart, by) + _unique(one.unique - one.apart, by, _NULLS)),
    }


def _named_by(one: Stable) -> str:
    return "ROW" if one.unit_type is None else str(one.unit_type)


def _unique(sets: Sets, by: Numbering, *more: int) -> list[list[int]]:
    return [[*more, *columns] for columns in by.sets(sets)]


def _said(one: Stable, by: Numbering) -> tuple[tuple[Stable, ...], str, Json]:
    """What it was given, by which rule, and what that was told."""
    given = _given(one)
    match one.term:
        case Scan() as scan:
            return given, "scan", _scan(scan, by)
        case UnitPart(input=scan, column=column):
            # what stays are the rows of one of the unit's groups
            (value,) = (Field(name, type) for name, type in scan.columns if name == column)
            groups = rules.keep_rows(rules.gather(given[0], ((f"{column} part", value),), ()), 1)
            return (*given, groups), "keep_groups", {"same": [[by.column(column), by.column(f"{column} part")]]}
        case Filter():
            keys = _gathered(given[1]).keys
            same = [[by.column(value.name), by.column(name)] for name, value in keys if isinstance(value, Field)]
            return given, "keep_groups", {"same": same}
        case KeepRows(limit=limit):
            return given, "keep", {"limit": limit}
        case Project(columns=computed):
            return given, "compute", {"columns": [[by.column(name), by.value(value)] for name, value in computed]}
        case Mark(column=column, on=on, where=where):
            return given, "learn", {"columns": [by.column(column)], "asks": by.asked(given[0].columns, on, where)}
        case Window(calls=calls):
            return given, "learn", {"columns": by.columns(name for name, _ in calls), "asks": None}
        case Lookup(public=public, on=named, where=where, most=most):
            types = dict(public.columns)
            pairs = tuple((ours, Field(column, types[column])) for ours, column in named)
            says = {"columns": by.columns(types), "on": by.pairs(pairs), "most": most}
            return given, "lookup", {**says, "asks": by.asked(given[0].columns, pairs, where)}
        case Join(kind=kind, on=on, where=where):
            asks = by.asked(given[0].columns, on, where)
            return given, "join", {"kind": kind, "on": by.pairs(on), "asks": asks}
        case Gather(keys=keys, features=features, listed=listed):
            by_keys = [[by.column(name), by.reads(value), str(value.type)] for name, value in keys]
            most = None if listed is None else prod(map(len, listed))
            return given, "gather", {"keys": by_keys, "more": by.columns(n for n, _ in features), "listed": most}
        case Combine(op=op, columns=sides):
            left, right = given
            renamed = _renamed(left, [(name, ours) for name, ours, _ in sides])
            return (renamed, _renamed(right, [(name, theirs) for name, _, theirs in sides])), "combine", {"op": op}
        case Once():
            return given, "once", {}


def _scan(scan: Scan, by: Numbering) -> Json:
    """Names of tables and of their columns are in the policy, against which the owner's word is held."""
    return {
        "table": scan.table,
        "unit": by.unit(scan.unit),
        "by": None if scan.unit_column is None else [scan.unit_column[0], str(scan.unit_column[1])],
        "key": scan.key,
        "columns": [[by.column(name), name, str(type), name in scan.unique] for name, type in scan.columns],
        "via": [[link.column, link.table, link.key[0], str(link.key[1])] for link in scan.via],
    }


def _renamed(one: Stable, columns: list[tuple[str, str]]) -> Stable:
    """A side of a set operation by its names; of what type they are makes no difference."""
    return rules.compute(one, tuple((name, Field(of, NULL)) for name, of in columns))


def _gathered(groups: Stable) -> Gather:
    """The groups of which `keep_groups` keeps some."""
    term = groups.term.input if isinstance(groups.term, KeepRows) else groups.term
    if not isinstance(term, Gather):
        raise Unproved("groups that are kept were gathered")
    return term
