"""What a condition teaches of its columns, found by trying whether it can hold in a part of a column's domain.

The rules of every function's domain answer that, so every function narrows: `EXTRACT(YEAR FROM d) = 2024`,
`s LIKE 'a%'`, `a + 1 > b`. Listed values are tried one by one; an interval loses what can be cut off at either end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from privql.check.typed import inferred
from privql.domains import Domain, finite, interval
from privql.domains.arithmetic import limits
from privql.frozen import frozen
from privql.kernel.scalars import Apply, Const, Field, Scalar

MOST_VALUES = 400  # tried one by one
MOST_OPERATIONS = 24  # of a condition: each trial infers all of them
_MOST_COLUMNS = 3
_NUMBERS = frozenset({"INT", "DECIMAL"})
_WITH_ENDS = frozenset({"INT", "DECIMAL", "DATE", "TIMESTAMP"})


@frozen
class _Trial:
    condition: Scalar
    columns: Mapping[str, Domain]
    holds: bool
    or_null: bool

    def may_be(self, column: str, domain: Domain) -> bool:
        """Whether the condition may be as wanted while a column lies there."""
        found = inferred(self.condition, {**self.columns, column: domain}.__getitem__)
        return self.holds in found or (self.or_null and found.nullable)


def tried(condition: Scalar, domain_of: Callable[[Scalar], Domain], holds: bool, or_null: bool) -> dict[str, Domain]:
    """As `narrow.facts`, of a condition that is no conjunction and no choice."""
    fields, operations = _parts(condition)
    if len(fields) > _MOST_COLUMNS or operations > MOST_OPERATIONS:
        return {}
    known = {field.name: domain_of(field) for field in fields}
    trial = _Trial(condition, known, holds, or_null)
    return {field.name: _narrowed(trial, field, known[field.name]) for field in fields}


def _narrowed(trial: _Trial, field: Field, known: Domain) -> Domain:
    grid = known.grid
    nullable = known.nullable and trial.may_be(field.name, finite((), True, grid))
    if known.values is not None:
        if len(known.values) > MOST_VALUES:
            return known.with_null(nullable)
        return known.keep(lambda value: trial.may_be(field.name, finite((value,), False, grid))).with_null(nullable)
    if field.type.kind not in _WITH_ENDS or grid is None or known.empty:
        return known.with_null(nullable)
    least, most = map(Fraction, limits(field.type))
    first = math.ceil((least if known.low is None else known.low) / grid)
    last = math.floor((most if known.high is None else known.high) / grid)

    def between(low: int, high: int) -> bool:
        return trial.may_be(field.name, interval(low * grid, high * grid, False, grid))

    if not between(first, last):
        return finite((), nullable, grid)
    low = _first(first, last, lambda end: between(first, end))
    high = -_first(-last, -low, lambda end: between(-end, last))
    # what only keeps an operation from overflowing is no bound that anybody means
    margin = (most - least) / (4 if field.type.kind in _NUMBERS else 1000)
    bounded_low = low > first and (known.low is not None or low * grid > least + margin)
    bounded_high = high < last and (known.high is not None or high * grid < most - margin)
    return known.within(
        low * grid if bounded_low else known.low, high * grid if bounded_high else known.high
    ).with_null(nullable)


def _first(start: int, stop: int, reaches: Callable[[int], bool]) -> int:
    """The first end that is reached, as halving finds it: before it nothing is."""
    while start < stop:
        middle = (start + stop) // 2
        if reaches(middle):
            stop = middle
        else:
            start = middle + 1
    return start


def _parts(condition: Scalar) -> tuple[list[Field], int]:
    """The columns of a condition, and how many operations it has."""
    found: dict[str, Field] = {}
    operations = 0
    todo = [condition]
    while todo and operations <= MOST_OPERATIONS:
        match todo.pop():
            case Field() as field:
                found[field.name] = field
            case Apply(args=args):
                operations += 1
                todo += args
            case Const():
                pass
    return list(found.values()), operations
