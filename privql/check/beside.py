"""Private rows beside others: which joins are private still, and in which order they are made.

Rows of two private tables may meet only where they are of the same unit: some equality must say so, of columns that
locate the same thing - the unit itself, or a row whose key a reference names. Which rows a comma or an INNER JOIN puts
together is said by ON and WHERE alike, so both are read before the joins are made: each condition goes to the first
place where all of its columns are in sight.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import TypeGuard

from privql.check.columns import produced
from privql.check.conditions import both, conjuncts, equated
from privql.check.inside import read_inside, replaced
from privql.check.named import one_place, private, private_tables
from privql.check.operations import not_yet
from privql.check.relations import (
    Around,
    Compute,
    Distinct,
    Each,
    Gathered,
    Joined,
    PrivateScan,
    PublicScan,
    Rel,
    Shared,
    Sorted,
    Where,
    Windowed,
)
from privql.check.repairs import keeps_public_rows, off_the_unit
from privql.check.scope import Scope
from privql.check.typed import Context
from privql.diagnostics import Span, refuse
from privql.kernel.scalars import Apply, Field, Scalar, fields
from privql.policy.findings import listing
from privql.syntax import ast


def arranged(rel: Rel, condition: Scalar | None, node: ast.Select | ast.Join, scope: Scope, context: Context) -> Rel:
    """FROM and WHERE over private rows: the tables one after another, each where conditions tie it to those before."""
    leaves: list[Rel] = []
    tests: list[Scalar] = []
    _flatten(rel, leaves, tests)
    tests += conjuncts(condition)
    if len(leaves) == 1 and not _lateral(leaves[0]):
        rest = both(tests)
        return leaves[0] if rest is None else Where(leaves[0], rest)
    columns = [set(produced(leaf)) for leaf in leaves]
    everything = set().union(*columns)
    reads = {test: read_inside(test, context) & everything for test in tests}
    for at, leaf in enumerate(leaves):
        own = [test for test in tests if reads[test] and reads[test] <= columns[at]]
        if not private(leaf):  # a query that was taken apart is put together beside private rows alone
            own = [test for test in own if not _taken_apart(test, context)]
        tests = [test for test in tests if test not in own]
        if _lateral(leaf):
            before = produced(leaf.left).keys()
            below = [test for test in own if reads[test] <= before]
            own = [test for test in own if test not in below]
            leaf = replace(leaf, left=arranged(leaf.left, both(below), node, scope, context))
        above = both(own)
        leaves[at] = leaf if above is None else Where(leaf, above)
    same = _same(tests)
    todo = sorted(range(len(leaves)), key=lambda at: not private(leaves[at]))  # stable: private ones first
    first = todo.pop(0)
    made, seen = leaves[first], set(columns[first])
    while todo:
        chosen = _next(todo, leaves, columns, seen, tests, same, context)
        if chosen is None:
            raise off_the_unit(seen, columns[todo[0]], node, scope)
        todo.remove(chosen)
        seen |= columns[chosen]
        now = [t for t in tests if reads[t] <= seen and not fields(t) & context.subqueries.keys()]
        tests = [test for test in tests if test not in now]
        made = Joined("INNER", made, leaves[chosen], both(now))
    rest = both(tests)
    return made if rest is None else Where(made, rest)


def _lateral(leaf: Rel) -> TypeGuard[Joined]:
    """Rows beside what a query makes of each: what was asked of these rows alone arranges them first."""
    return isinstance(leaf, Joined) and isinstance(leaf.right, Each)


def _taken_apart(test: Scalar, context: Context) -> bool:
    asked = [context.subqueries[name] for name in fields(test) & context.subqueries.keys()]
    return any(one.on or one.where is not None for one in asked)


def _flatten(rel: Rel, leaves: list[Rel], tests: list[Scalar]) -> None:
    if not isinstance(rel, Joined) or rel.kind not in ("INNER", "CROSS"):
        leaves.append(rel)
        return
    if rel.lateral:
        leaves.append(replace(rel, on=None))
    else:
        _flatten(rel.left, leaves, tests)
        _flatten(rel.right, leaves, tests)
    tests += conjuncts(rel.on)


def _next(
    todo: Sequence[int],
    leaves: Sequence[Rel],
    columns: Sequence[set[str]],
    seen: set[str],
    tests: Sequence[Scalar],
    same: dict[str, str],
    context: Context,
) -> int | None:
    """Which to join next: private rows of the same unit, public rows that an equality ties, then any public ones."""
    for at in todo:
        if _of_one_unit(seen, columns[at], same, context):
            return at
    public = [at for at in todo if not private(leaves[at])]
    for at in public:
        if any(equated(test, seen, columns[at]) for test in tests):
            return at
    waiting = any(private(leaves[at]) for at in todo)
    return public[0] if public and not waiting else None


def _same(tests: Iterable[Scalar]) -> dict[str, str]:
    """Columns that must be equal, each with one of them that stands for all."""
    leader: dict[str, str] = {}

    def find(id: str) -> str:
        while leader.get(id, id) != id:
            id = leader[id]
        return id

    for test in tests:
        match test:
            case Apply(op="eq", args=(Field(name=one), Field(name=other))):
                leader[find(one)] = find(other)
                leader.setdefault(find(other), find(other))
            case _:
                pass
    return {id: find(id) for id in list(leader)}


def _of_one_unit(left: set[str], right: set[str], same: dict[str, str], context: Context) -> bool:
    def located(ids: set[str]) -> set[tuple[str, str]]:
        return {(same[id], place) for id in ids if id in same and (place := context.attributes[id].locates) is not None}

    return bool(located(left) & located(right))


def outer_join(joined: Joined, node: ast.Join, scope: Scope, context: Context) -> Rel:
    """A LEFT, RIGHT or FULL join with private rows, whose ON says all of how they meet."""
    left, right = private(joined.left), private(joined.right)
    kept = {"LEFT": (True, False), "RIGHT": (False, True), "FULL": (True, True)}[joined.kind]
    if (kept[0] and not left) or (kept[1] and not right):
        raise keeps_public_rows(node, left)
    ours, theirs = set(produced(joined.left)), set(produced(joined.right))
    for_each = isinstance(joined.right, Each)
    if for_each and joined.kind != "LEFT":
        raise not_yet(f"a {joined.kind} JOIN LATERAL", node.span, "write LEFT JOIN LATERAL")
    if left and right and not for_each and not _of_one_unit(ours, theirs, _same(conjuncts(joined.on)), context):
        raise off_the_unit(ours, theirs, node, scope)
    joined = _asked_before(joined, node.span, context)
    if joined.kind == "RIGHT":
        return replace(joined, kind="LEFT", left=joined.right, right=joined.left)
    return joined


def _asked_before(joined: Joined, span: Span, context: Context) -> Joined:
    """The queries of ON, each answered beside the rows that it reads, before these meet others."""
    ours, theirs = produced(joined.left).keys(), produced(joined.right).keys()
    on = both(conjuncts(joined.on))
    if on is None:
        return joined
    for name in sorted(fields(on) & context.subqueries.keys()):
        asked = context.attributes[name]
        value, answer = Field(name, asked.type), context.add(replace(asked, id=context.fresh()))
        read = read_inside(value, context) & (ours | theirs)
        left = private(joined.left) and read <= ours
        if not left and (not (private(joined.right) and read <= theirs) or isinstance(joined.right, Each)):
            raise not_yet("a query in ON about both sides of an outer join", span, "ask it in a SELECT of one side")
        side = joined.left if left else joined.right
        kept = tuple((id, Field(id, type)) for id, type in produced(side).items())
        side = Compute(side, (*kept, (answer.id, value)))
        on = replaced(on, {value: Field(answer.id, asked.type)}, context)
        joined = replace(joined, left=side, on=on) if left else replace(joined, right=side, on=on)
    return joined


def rows_per_unit(rel: Rel, context: Context) -> int | None:
    """By the owner's declarations, how many rows one unit has; what is inferred of it bounds nothing but accuracy."""
    match rel:
        case PrivateScan(table=name):
            table = context.env.catalog.table(name)
            assert table is not None
            return 1 if table.one_row_per_unit else table.at_most
        case Around():
            return 1  # what stands beside is counted for each of them
        case Where(input=input) | Compute(input=input) | Windowed(input=input) | Sorted(input=input):
            return rows_per_unit(input, context)
        case Joined(kind=kind, left=left, right=right, on=on) if kind != "FULL":
            ours = rows_per_unit(left, context) if private(left) else 1
            theirs = rows_per_unit(right, context) if private(right) else 1
            pairs = [test.args for test in conjuncts(on) if isinstance(test, Apply) and test.op == "eq"]
            if private(left) and _is_row(right, pairs, context):
                return ours
            if private(right) and kind != "LEFT" and _is_row(left, pairs, context):
                return theirs
            if not (private(left) and private(right)):
                return None
            return None if ours is None or theirs is None else ours * theirs
        case Gathered(listed=listed) | Distinct(listed=listed):
            return prod(len(values) for _, values in listed) if listed else None
        case _:
            return None


def _is_row(side: Rel, pairs: Sequence[tuple[Scalar, ...]], context: Context) -> bool:
    """Whether equalities with what this side does not read name one row of it, by its key."""
    own = produced(side).keys()
    turned = [turned for pair in pairs for turned in (pair, pair[::-1])]
    return _by_key(
        side, {one.name for one, other in turned if isinstance(one, Field) and not fields(other) & own}, context
    )


def _by_key(rel: Rel, columns: Collection[str], context: Context) -> bool:
    match rel:
        case Where(input=input):
            return _by_key(input, columns, context)
        case Compute(input=input, columns=computed):
            named = {value.name for id, value in computed if id in columns and isinstance(value, Field)}
            return _by_key(input, named, context)
        case Shared(name=name, columns=renamed):
            back = {there for here, there, _ in renamed if here in columns}
            return _by_key(dict(context.shared)[name], back, context)
        case PrivateScan(table=name) | PublicScan(table=name):
            table = context.env.catalog.table(name)
            assert table is not None
            known = {named for id, named, _ in rel.columns if id in columns}
            return any(known.issuperset(key) for key in table.keys)
        case _:
            return False


def one_unit(left: Rel, right: Rel, span: Span, context: Context) -> None:
    """Private rows of both sides must be of the same kind of unit, told by a column."""
    tables = [context.env.catalog.table(name) for rel in (left, right) for name in private_tables(rel, context)]
    units = {table.unit.name for table in tables if table is not None and table.unit is not None}
    if len(units) > 1:
        raise refuse(
            "PQL0412",
            f"private rows of different units: {listing(sorted(units))}",
            span,
            why="a row of both would belong to two units",
            help="aggregate one of them first; the answer may be joined with anything",
        )
    one_place(tables, span)
    if private(left) and private(right) and any(t is not None and not t.unit_column and not t.via for t in tables):
        raise not_yet("a join of private tables whose rows are units themselves", span, "declare a unit column")
