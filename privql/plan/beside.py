"""Private rows beside others, as kernel terms: joins of one unit's rows, and public rows that are looked up."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from privql.check.around import read_around
from privql.check.columns import produced
from privql.check.conditions import both, conjuncts, equated
from privql.check.named import private
from privql.check.relations import Each, Joined, Rel
from privql.kernel import relating
from privql.kernel.scalars import INT, Field, Scalar, fields
from privql.kernel.stable import Stable
from privql.plan.fanout import FOUND, most_alike
from privql.plan.meetings import Pairs, cut

if TYPE_CHECKING:
    from privql.plan.related import Related


def joined(tree: Related, rel: Joined, needed: frozenset[str]) -> Stable:
    ours, theirs = produced(rel.left), produced(rel.right)
    tests = conjuncts(rel.on)
    pairs, rest = equalities(tests, ours, theirs)
    read = needed | {name for test in tests for name in fields(test)}
    if isinstance(rel.right, Each):
        left = tree.number(tree.relation(rel.left, (read | read_around(rel.right)).intersection(ours)), rel.right)
        right = tree.relation(rel.right, read.intersection(theirs) | {rel.right.row})
        pairs = ((Field(rel.right.number, INT), Field(rel.right.row, INT)), *pairs)
        each: Literal["INNER", "LEFT"] = "LEFT" if rel.kind == "LEFT" else "INNER"
        return beside_each(each, left, right, pairs, both(rest), rel.right.most)
    if private(rel.left) and private(rel.right):
        left = tree.relation(rel.left, read.intersection(ours))
        right = tree.relation(rel.right, read.intersection(theirs))
        kind: Literal["INNER", "LEFT", "FULL"] = "INNER"
        if rel.kind == "LEFT" or rel.kind == "FULL":
            kind = rel.kind
        left, right = tree.meetings.of_private(left, right, pairs)
        return relating.join(kind, left, right, pairs, both(rest))
    if private(rel.right):
        pairs = tuple((b, a) for a, b in pairs)
        return _looked_up(tree, tree.relation(rel.right, read.intersection(theirs)), rel.left, read, pairs, rest, False)
    below = tree.relation(rel.left, read.intersection(ours))
    return _looked_up(tree, below, rel.right, read, pairs, rest, rel.kind == "LEFT")


def _looked_up(
    tree: Related,
    below: Stable,
    rel: Rel,
    read: frozenset[str],
    pairs: Pairs,
    rest: list[Scalar],
    outer: bool,
) -> Stable:
    public, on = tree.public(rel, read, pairs)
    columns = frozenset(column for _, column in on)
    most = known = most_alike(rel, columns, tree.query, tree.env)
    if known is None and tree.env.public is not None:
        known = FOUND
        most = None if tree.declared is None else FOUND  # of how many rows can come of it, it says nothing
    return relating.lookup(tree.meetings.with_public(below, known or 1), public, on, both(rest), most, outer)


def beside_each(
    kind: Literal["INNER", "LEFT"],
    around: Stable,
    answers: Stable,
    on: Pairs,
    where: Scalar | None,
    most: int | None,
) -> Stable:
    """Rows beside what a query makes of each. An answer meets the one row that has its number, and there may be so many
    for each: that none is beyond this needs an operation to be proved."""
    made = relating.join(kind, around, answers, on, where)
    if around.rows is None:
        return made
    known = [answers.rows + (around.rows - 1 if kind == "LEFT" else 0)] if answers.rows is not None else []
    known += [around.rows * max(most, 1)] if most is not None else []
    return cut(made, min(known)) if known else made


def equalities(tests: list[Scalar], ours: Collection[str], theirs: Collection[str]) -> tuple[Pairs, list[Scalar]]:
    """The equalities of one side's value with the other's, and what else is asked of both."""
    pairs: list[tuple[Scalar, Scalar]] = []
    rest: list[Scalar] = []
    for test in tests:
        pair = equated(test, ours, theirs)
        if pair is None:
            rest.append(test)
        else:
            pairs.append(pair)
    return tuple(pairs), rest
