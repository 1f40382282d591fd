"""The set a value is known to lie in: an interval or a finite set, with or without NULL, on a grid or not.

Domains decide accuracy (how much noise a sum needs, which groups exist); the kernel enforces by operation whatever
a plan concludes from them. Bounds are exact rationals: of DATE in days, of TIMESTAMP in microseconds since 1970.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from privql.frozen import frozen
from privql.kernel.scalars import Value, ValueType

_WHOLE = Fraction(1)
_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - all times are UTC
NUMERIC = frozenset({"INT", "FLOAT", "DECIMAL"})
ORDERED = NUMERIC | {"DATE", "TIMESTAMP"}


@frozen
class Domain:
    """`values` (sorted, without None) when the set is finite and listed; else [low, high], either end open as None.

    `grid` says that every value is a multiple of it: 1 for INT, DATE and TIMESTAMP, 10^-s for DECIMAL, None for FLOAT.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    values: tuple[Value, ...] | None = None
    nullable: bool = True
    grid: Fraction | None = None

    # ---- what it contains

    @property
    def bounded(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def empty(self) -> bool:
        """No value but perhaps NULL."""
        if self.values is not None:
            return not self.values
        return self.low is not None and self.high is not None and self.low > self.high

    @property
    def impossible(self) -> bool:
        """Not even NULL: no row comes here."""
        return self.empty and not self.nullable

    @property
    def only(self) -> Value:
        """The one value that there can be, beside NULL; None where there can be others."""
        return self.values[0] if self.values is not None and len(self.values) == 1 else None

    @property
    def size(self) -> int | None:
        """How many values it has, NULL apart; None if they are not counted."""
        if self.values is not None:
            return len(self.values)
        if self.empty:
            return 0
        if self.low is None or self.high is None or self.grid is None:
            return None
        return math.floor(self.high / self.grid) - math.ceil(self.low / self.grid) + 1

    def members(self, limit: int) -> tuple[Value, ...] | None:
        """Every non-NULL value in order, if there are at most `limit`; else None."""
        size = self.size
        if size is None or size > limit:
            return None
        if self.values is not None or not size:
            return self.values or ()
        assert self.low is not None and self.grid is not None
        first = math.ceil(self.low / self.grid)
        last = first + size - 1
        if self.grid.denominator == 1:
            return tuple(step * self.grid.numerator for step in range(first, last + 1))
        return tuple(step * self.grid for step in range(first, last + 1))

    def __contains__(self, value: Value) -> bool:
        if value is None:
            return self.nullable
        if self.values is not None:
            return value in self.values
        if not isinstance(value, (int, float, Fraction)):
            return self.low is None and self.high is None
        if isinstance(value, float) and not math.isfinite(value):
            return False
        exact = Fraction(value)
        if self.grid is not None and (exact if self.grid == 1 else exact / self.grid).denominator != 1:
            return False
        return (self.low is None or exact >= self.low) and (self.high is None or exact <= self.high)

    # ---- how it combines

    def with_null(self, nullable: bool = True) -> Domain:
        return self if nullable == self.nullable else replace(self, nullable=nullable)

    def union(self, other: Domain) -> Domain:
        """What either may be."""
        nullable = self.nullable or other.nullable
        if self.empty:
            return other.with_null(nullable)
        if other.empty:
            return self.with_null(nullable)
        if self.values is not None and other.values is not None:
            return finite([*self.values, *other.values], nullable, shared_grid(self.grid, other.grid))
        low = min(self.low, other.low) if self.low is not None and other.low is not None else None
        high = max(self.high, other.high) if self.high is not None and other.high is not None else None
        return Domain(low, high, None, nullable, shared_grid(self.grid, other.grid))

    def within(self, low: Fraction | None, high: Fraction | None) -> Domain:
        """What is left when the value is known to lie in [low, high], and so not to be NULL."""
        if self.values is not None:
            return self.keep(
                lambda v: (
                    isinstance(v, (int, float, Fraction)) and (low is None or v >= low) and (high is None or v <= high)
                )
            )
        lows = [b for b in (self.low, low) if b is not None]
        highs = [b for b in (self.high, high) if b is not None]
        return replace(
            self, low=max(lows) if lows else None, high=min(highs) if highs else None, nullable=False
        ).on_grid()

    def keep(self, condition: Callable[[Value], bool]) -> Domain:
        """What is left of a listed set, NULL excluded; an interval stays as it is, without NULL."""
        if self.values is None:
            return self.with_null(False)
        return finite([v for v in self.values if condition(v)], False, self.grid)

    def on_grid(self) -> Domain:
        """Bounds moved inward to the grid."""
        if self.grid is None or self.values is not None:
            return self
        low, high = self.low, self.high
        if low is not None and (low.denominator != 1 or self.grid != 1):
            low = math.ceil(low / self.grid) * self.grid
        if high is not None and (high.denominator != 1 or self.grid != 1):
            high = math.floor(high / self.grid) * self.grid
        return self if low == self.low and high == self.high else replace(self, low=low, high=high)

    def describe(self, type: ValueType | None = None) -> str:
        """`type` tells days and moments from numbers."""
        null = " or NULL" if self.nullable else ""
        if self.values is not None:
            if not self.values:
                return "NULL" if self.nullable else "nothing"
            shown = ", ".join(value_text(v, type) for v in self.values[:6])
            more = f", … {len(self.values)} values" if len(self.values) > 6 else ""
            return "{" + shown + more + "}" + null
        if self.low is None and self.high is None:
            return "any" + ("" if self.nullable else ", not NULL")
        low = "-∞" if self.low is None else value_text(self.low, type)
        high = "∞" if self.high is None else value_text(self.high, type)
        return f"[{low}, {high}]{null}"


def finite(values: Iterable[Value], nullable: bool, grid: Fraction | None = None) -> Domain:
    """A listed set. Numbers among the values also give it bounds."""
    unique = {v for v in values if v is not None}
    ordered = tuple(sorted(unique, key=_order))
    numbers = [Fraction(v) for v in ordered if isinstance(v, (int, float, Fraction)) and not isinstance(v, bool)]
    low, high = (min(numbers), max(numbers)) if numbers else (None, None)
    return Domain(low, high, ordered, nullable, grid)


def union_of(domains: Sequence[Domain]) -> Domain:
    """What any of several may be."""
    listed = [d.values for d in domains if d.values is not None]
    if len(listed) == len(domains):
        grids = [d.grid for d in domains if not d.empty]
        grid = reduce(shared_grid, grids) if grids else None
        return finite([value for values in listed for value in values], any(d.nullable for d in domains), grid)
    return reduce(Domain.union, domains)


def interval(low: Fraction | int | None, high: Fraction | int | None, nullable: bool, grid: Fraction | None) -> Domain:
    return Domain(
        None if low is None else Fraction(low), None if high is None else Fraction(high), None, nullable, grid
    ).on_grid()


def whole(type: ValueType, nullable: bool = True) -> Domain:
    """Everything that a type holds."""
    match type.kind:
        case "BOOL":
            return finite([False, True], nullable)
        case "NULL":
            return Domain(values=(), nullable=True)
        case _:
            return Domain(nullable=nullable, grid=grid_of(type))


def grid_of(type: ValueType) -> Fraction | None:
    match type.kind:
        case "INT" | "DATE" | "TIMESTAMP":
            return _WHOLE
        case "DECIMAL":
            return Fraction(1, 10**type.scale)
        case _:
            return None


def held(domain: Domain, type: ValueType) -> Domain:
    """A declared domain with its ends as the type holds them: of FLOAT, the doubles nearest to what was written."""
    if type.kind != "FLOAT" or domain.values is not None:
        return domain
    low, high = (None if end is None else Fraction(float(end)) for end in (domain.low, domain.high))
    return replace(domain, low=low, high=high)


def shared_grid(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    """The coarsest grid that holds both, when both lie on one."""
    if a is None or b is None:
        return None
    if a.denominator == b.denominator:
        return a if a == b else Fraction(math.gcd(a.numerator, b.numerator), a.denominator)
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def number_text(value: Fraction) -> str:
    """A rational as a person writes it: a decimal where that is exact and short, else n/d."""
    if value.denominator == 1:
        return str(value.numerator)
    scale = 0
    rest = value.denominator
    while rest % 10 == 0:
        rest, scale = rest // 10, scale + 1
    twos = fives = 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    digits = scale + max(twos, fives)
    if rest == 1 and digits > 18 and abs(value) < 2**1000 and Fraction(float(value)) == value:
        return repr(float(value))  # a FLOAT, as short as tells it from all others
    if rest != 1 or digits > 18:
        return f"{value.numerator}/{value.denominator}"
    scaled = abs(value.numerator) * 10**digits // value.denominator
    text = str(scaled).rjust(digits + 1, "0")
    return ("-" if value < 0 else "") + text[:-digits] + "." + text[-digits:]


def _order(value: Value) -> tuple[int, object]:
    return (1, value) if isinstance(value, str) else (0, value)


def value_text(value: Value, type: ValueType | None = None) -> str:
    """A value as a query would write it, dates and times without their quotes."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, Fraction)):
        moment = _moment(Fraction(value), type.kind) if type is not None else None
        return moment if moment is not None else number_text(Fraction(value))
    return str(value)


def _moment(value: Fraction, kind: str) -> str | None:
    """A day or a moment since 1970; None for what the calendar does not hold."""
    try:
        if kind == "DATE":
            return (_EPOCH + datetime.timedelta(days=int(value))).date().isoformat()
        if kind == "TIMESTAMP":
            return (_EPOCH + datetime.timedelta(microseconds=int(value))).isoformat(sep=" ")
    except OverflowError:
        pass
    return None
