"""How something was proved, as data: a step for each rule, from what the owner declared to what was measured.

A step says which rule it is (`rule`), the steps that it was given (`of`), what of its other arguments its conclusion
depends on (`says`), and that conclusion (`gives`). No constant of the query is there but limits and bounds, and
nothing of the data but what was released: bounds that were found, and never how many groups were.

`verify` reads this, and shares no code with what wrote it (docs/proofs/certificates.md).
"""

from __future__ import annotations

from typing import Any

from privql.kernel.numbering import Numbering
from privql.kernel.proved import Proved, Unproved
from privql.kernel.released import Released, released
from privql.kernel.stable import Stable
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
    Public,
    Scan,
    UnitPart,
    Window,
)

Json = dict[str, Any]


class Derivation:
    """The steps of what is added, in an order in which each follows those that it was given; the same one, once."""

    def __init__(self) -> None:
        self.steps: list[Json] = []
        self.numbering = Numbering()
        self._added: dict[int, tuple[Proved, int]] = {}  # kept, so that no other takes its place in memory

    def add(self, one: Proved) -> int:
        """The number of its step."""
        if id(one) not in self._added:
            rule, given = one.why
            of = [self.add(each) for each in given]
            if isinstance(one, Stable):
                says, gives = _said(one, self.numbering), _claim(one, self.numbering)
            elif isinstance(one, Released):
                says, gives = released(one, self.numbering)
            else:
                raise Unproved("there is nothing else that could be proved")
            self._added[id(one)] = one, len(self.steps)
            self.steps.append({"rule": rule, "of": of, "says": says, "gives": gives})
        return self._added[id(one)][1]

    @property
    def units(self) -> list[Json]:
        return [{"name": unit.name, "change_one": unit.change_one} for unit in self.numbering.units]


def _claim(one: Stable, by: Numbering) -> Json:
    return {
        "unit": by.unit(one.unit),
        "unit_type": None if one.unit_type is None else str(one.unit_type),
        "rows": one.rows,
        "columns": by.columns(one.columns),
        "unique": by.sets(one.unique),
        "apart": by.sets(one.apart),
        "fixed": by.columns(one.fixed),
        "owned": one.owned,
    }


def _said(one: Stable, by: Numbering) -> Json:
    match one.term:
        case Scan() as scan:
            return _scan(scan, by)
        case UnitPart(column=column):
            return {"column": by.column(column)}
        case Filter(input=Mark(column=column)) if one.why[0] == "keep_groups":
            return {"column": by.column(column), "keys": by.named(_gathered(one.why[1][1]).keys)}
        case Filter(condition=condition):
            return {"reads": by.reads(condition)}
        case Project(columns=computed):
            return {"columns": by.named(computed)}
        case KeepRows(limit=limit, order=order):
            return {"limit": limit, "order": by.reads(order)}
        case Lookup(public=public, on=named, where=where, most=most):
            shared = [[by.column(name), str(type)] for name, type in public.columns]
            beside = [[by.value(value), by.column(name)] for value, name in named]
            return {"public": shared, "on": beside, "where": by.reads(where), "most": most}
        case Join(kind=kind, on=on, where=where):
            return {"kind": kind, "on": by.pairs(on), "where": by.reads(where)}
        case Mark(column=column, among=among, on=on, where=where):
            theirs = [by.column(name) for name, _ in among.columns] if isinstance(among, Public) else None
            return {"column": by.column(column), "public": theirs, "on": by.pairs(on), "where": by.reads(where)}
        case Gather(keys=keys, features=features, listed=listed):
            return {
                "keys": by.named(keys),
                "features": [[by.column(name), by.reads(made)] for name, made in features],
                "listed": None if listed is None else [len(values) for values in listed],
            }
        case Combine(op=op, columns=sides):
            return {"op": op, "columns": [[by.column(name) for name in each] for each in sides]}
        case Window(partition=partition, order=order, calls=calls):
            reads = by.reads(partition, order, tuple(call for _, call in calls))
            return {"columns": [by.column(name) for name, _ in calls], "reads": reads}
        case Once():
            return {}


def _scan(scan: Scan, by: Numbering) -> Json:
    """Names of tables and of their columns are in the policy, against which the owner's word is held."""
    return {
        "table": scan.table,
        "unit": by.unit(scan.unit),
        "unit_column": None if scan.unit_column is None else [scan.unit_column[0], str(scan.unit_column[1])],
        "key": scan.key,
        "columns": [[by.column(name), name, str(type)] for name, type in scan.columns],
        "via": [[link.column, link.table, link.key[0], str(link.key[1])] for link in scan.via],
        "unique": sorted(scan.unique),
    }


def _gathered(groups: Proved) -> Gather:
    """The groups of which `keep_groups` keeps some."""
    term = groups.term if isinstance(groups, Stable) else None
    term = term.input if isinstance(term, KeepRows) else term
    assert isinstance(term, Gather)
    return term
