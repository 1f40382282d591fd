"""What a join multiplies by: how many public rows can agree in some columns, and how many rows of a unit may meet.

One unit's rows must not show by the time or memory that a query takes, so what they can become is bounded beforehand.
To read them, sort them or count them takes time for each; but if each meets each, twice as many take four times that.
"""

from __future__ import annotations

from math import prod

from privql.check.columns import produced
from privql.check.conditions import conjuncts
from privql.check.env import Env
from privql.check.relations import (
    CheckedQuery,
    Combined,
    Compute,
    Distinct,
    Grouped,
    Joined,
    Measured,
    PublicScan,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Sorted,
    Where,
    Windowed,
)
from privql.kernel.scalars import Apply, Field, Scalar

MOST_MET = 100_000  # public rows that one private row can meet
FOUND = 10_000  # of public rows of which it is not known how many agree: groups that are still to be found
MOST_MADE = 10_000_000  # rows that those of one unit can become where they meet many others
UNDECLARED = 1_000  # rows of a unit that may meet many others, where nobody declared how many it has


def sides(left: int | None, right: int | None) -> tuple[int, int] | None:
    """How many rows of a unit on either side may meet: all that are declared. None: these could become too many."""
    others = UNDECLARED if right is None else right
    ours = max(1, min(UNDECLARED, MOST_MADE // others)) if left is None else left
    theirs = max(1, min(UNDECLARED, MOST_MADE // ours)) if right is None else right
    return (ours, theirs) if ours * theirs <= MOST_MADE else None


def most_alike(rel: Rel, columns: frozenset[str], query: CheckedQuery, env: Env) -> int | None:
    """At most so many rows have the same values in these columns; None where nothing is known."""
    match rel:
        case Compute(input=input, columns=computed):
            named = {id: value.name for id, value in computed if isinstance(value, Field)}
            return most_alike(input, frozenset(named[id] for id in columns if id in named), query, env)
        case Where(input=input, condition=condition):
            return most_alike(input, _equal_too(columns, condition), query, env)
        case Windowed(input=input):
            return most_alike(input, columns, query, env)
        case Sorted(input=input, limit=limit):
            known = most_alike(input, columns, query, env)
            return known if limit is None else max(limit, 1) if known is None else max(min(known, limit), 1)
        case Distinct(input=input):
            return most_alike(input, columns, query, env)
        case Shared(name=name, columns=renamed):
            back = {id: there for id, there, _ in renamed}
            return most_alike(dict(query.shared)[name], frozenset(back[id] for id in columns if id in back), query, env)
        case Rows(rows=rows):
            return max(len(rows), 1)
        case Measured(block=block):
            others = [key.members for key in query.blocks[block].keys if key.id not in columns]
            sets = max(len(query.blocks[block].sets), 1)  # in each anew
            return None if None in others else sets * prod(len(members) for members in others if members is not None)
        case Grouped(input=input, keys=keys, sets=sets):
            if len(sets) == 1 and all(keys[at][0] in columns for at in sets[0]):
                return 1
            named = {id: value.name for id, value in keys if isinstance(value, Field)}
            known = most_alike(input, frozenset(named[id] for id in columns if id in named), query, env)
            return None if known is None else known * len(sets)  # groups are made of rows, in each set anew
        case Joined(kind=kind, left=left, right=right, on=on):
            alike = columns if kind == "FULL" else _equal_too(columns, on)
            ours = most_alike(left, alike.intersection(produced(left)), query, env)
            theirs = most_alike(right, alike.intersection(produced(right)), query, env)
            if ours is None or theirs is None:
                return None
            return (ours + 1) * (theirs + 1) if kind == "FULL" else ours * theirs
        case Combined(left=left, right=right):
            sides = [(left, rel.left_columns), (right, rel.right_columns)]
            places = [at for at, (id, _) in enumerate(rel.columns) if id in columns]
            each = [most_alike(side, frozenset(ids[at] for at in places), query, env) for side, ids in sides]
            return None if None in each else sum(one for one in each if one is not None)
        case PublicScan(table=table, columns=scanned):
            return _of_table(table, frozenset(name for id, name, _ in scanned if id in columns), env)
        case ReleasedScan(release=release, columns=scanned):
            return _of_release(release, frozenset(name for id, name, _ in scanned if id in columns), env)
        case _:
            return None


def _equal_too(columns: frozenset[str], condition: Scalar | None) -> frozenset[str]:
    """With the columns that must equal one of these: rows that agree in one agree in the other."""
    tests = [test.args for test in conjuncts(condition) if isinstance(test, Apply) and test.op == "eq"]
    pairs = [(a.name, b.name) for a, b in tests if isinstance(a, Field) and isinstance(b, Field)]
    while more := {b for pair in pairs for a, b in (pair, pair[::-1]) if a in columns} - columns:
        columns = columns | more
    return columns


def _of_table(name: str, columns: frozenset[str], env: Env) -> int | None:
    table = env.catalog.table(name)
    assert table is not None
    if any(set(key) <= columns for key in table.keys):
        return 1
    return env.public.most_alike(table.name, tuple(sorted(columns))) if env.public is not None else None


def _of_release(name: str, columns: frozenset[str], env: Env) -> int | None:
    release = env.release(name)
    return None if release is None or release.alike is None else release.alike(columns)
