"""How many public rows can agree in some columns: what a join multiplies by."""

from __future__ import annotations

from math import prod

from privql.check.env import Env
from privql.check.relations import (
    CheckedQuery,
    Compute,
    Distinct,
    Grouped,
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
from privql.kernel.scalars import Field


def most_alike(rel: Rel, columns: frozenset[str], query: CheckedQuery, env: Env) -> int | None:
    """At most so many rows have the same values in these columns; None where nothing is known."""
    match rel:
        case Compute(input=input, columns=computed):
            named = {id: value.name for id, value in computed if isinstance(value, Field)}
            return most_alike(input, frozenset(named[id] for id in columns if id in named), query, env)
        case Where(input=input) | Windowed(input=input):
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
            return None if None in others else prod(len(members) for members in others if members is not None)
        case Grouped(keys=keys, sets=sets):
            if len(sets) == 1 and all(keys[at][0] in columns for at in sets[0]):
                return 1
            return None
        case PublicScan(table=table, columns=scanned):
            return _of_table(table, frozenset(name for id, name, _ in scanned if id in columns), env)
        case ReleasedScan(release=release, columns=scanned):
            return _of_release(release, frozenset(name for id, name, _ in scanned if id in columns), env)
        case _:
            return None


def _of_table(name: str, columns: frozenset[str], env: Env) -> int | None:
    table = env.catalog.table(name)
    assert table is not None
    if any(set(key) <= columns for key in table.keys):
        return 1
    return env.public.most_alike(table.name, tuple(sorted(columns))) if env.public is not None else None


def _of_release(name: str, columns: frozenset[str], env: Env) -> int | None:
    release = env.release(name)
    return None if release is None or release.alike is None else release.alike(columns)
