"""What a condition asks, part by part."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from privql.kernel.scalars import BOOL, Apply, Scalar, fields


def conjuncts(term: Scalar | None) -> list[Scalar]:
    """What must hold, part by part: of `(a AND b) OR (a AND c)`, a is one."""
    match term:
        case None:
            return []
        case Apply(op="and", args=args):
            return [one for arg in args for one in conjuncts(arg)]
        case Apply(op="or", args=args):
            each = [conjuncts(arg) for arg in args]
            common = [one for one in each[0] if all(one in parts for parts in each)]
            if not common:
                return [term]
            rest = [both([one for one in parts if one not in common]) for parts in each]
            either = [] if None in rest else [Apply("or", tuple(one for one in rest if one is not None), BOOL)]
            return [*common, *either]
        case _:
            return [term]


def both(terms: Sequence[Scalar]) -> Scalar | None:
    return None if not terms else terms[0] if len(terms) == 1 else Apply("and", tuple(terms), BOOL)


def also(where: Scalar | None, test: Scalar) -> Scalar:
    return test if where is None else Apply("and", (where, test), BOOL)


def present(value: Scalar) -> Scalar:
    """It is not NULL."""
    return Apply("not", (Apply("is_null", (value,), BOOL),), BOOL)


def equated(test: Scalar, ours: Collection[str], theirs: Collection[str]) -> tuple[Scalar, Scalar] | None:
    """Of an equality of one side's value with one that is made of the other's columns: the two, in this order."""
    if isinstance(test, Apply) and test.op == "eq":
        for one, other in (test.args, test.args[::-1]):
            if fields(other) and fields(one).issubset(ours) and fields(other).issubset(theirs):
                return one, other
    return None
