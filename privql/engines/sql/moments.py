"""Sums and differences of moments: which of them an operator means is the same in all engines, its spelling is not."""

from __future__ import annotations

from collections.abc import Callable

from privql.engines.sql.expressions import Call, Spelled, Spelling

Moved = Callable[[Call, Spelled, object, int], str]
"""A moment, moved by a constant INTERVAL forward or, by the sign, backward."""

DaysLater = Callable[[Call, Spelled, Spelled, str], str]
"""A date, and by the sign so many days after or before it."""


def plus(moved: Moved, days_later: DaysLater) -> Spelling:
    def spelling(call: Call) -> str:
        left, right = call.args
        match left.type.kind, right.type.kind:
            case "INTERVAL", _:
                return moved(call, right, left.value, 1)
            case _, "INTERVAL":
                return moved(call, left, right.value, 1)
            case "INT", _:
                return days_later(call, right, left, "+")
            case _:
                return days_later(call, left, right, "+")

    return spelling


def minus(moved: Moved, days_later: DaysLater, days_between: Callable[[Spelled, Spelled], str]) -> Spelling:
    def spelling(call: Call) -> str:
        left, right = call.args
        match right.type.kind:
            case "INTERVAL":
                return moved(call, left, right.value, -1)
            case "DATE":
                return days_between(left, right)
            case _:
                return days_later(call, left, right, "-")

    return spelling
