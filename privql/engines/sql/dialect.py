"""What engines that speak SQL say each in its own way.

What they say alike is written down once, in this room: `CASE`, `coalesce`, `row_number() OVER (…)`, `sum`, `count`,
`VALUES`, `NULLS FIRST`, `CAST(… AS BIGINT)`, `INTERSECT ALL`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from privql.engines.sql.expressions import Spelled, Spelling
from privql.engines.sql.measure import Measure
from privql.frozen import frozen
from privql.kernel.features import Steps
from privql.kernel.scalars import Value, ValueType


@frozen
class Of:
    """Which rows an aggregate is of: those for which a condition holds; around each row, if it is a window's."""

    where: str = ""
    over: str = ""

    def __str__(self) -> str:
        return (f" FILTER (WHERE {self.where})" if self.where else "") + self.over


class Dialect(Protocol):
    """Each method takes expressions as texts that may stand beside any sign, and makes one that may."""

    # ---- values

    @property
    def spellings(self) -> Mapping[str, Spelling]:
        """Of every scalar operation, by its name in `privql.functions.scalar`."""

    @property
    def takes_loose(self) -> frozenset[str]:
        """The operations that keep NaN and infinities apart from numbers: those of an argument are so of the result,
        or the result is NULL."""

    def literal(self, value: Value, type: ValueType) -> Spelled:
        """A constant, of exactly its type."""

    def type_name(self, type: ValueType) -> str:
        """What values of this type are stored as."""

    def bound(self, name: str, given: list[str], body: Callable[[list[str]], str]) -> str:
        """The body over names for these expressions, each of which is computed once. `name` is fresh: what they are
        called is to begin with it."""

    def ordered(self, value: Spelled) -> str:
        """A value as it is put in order: texts by the numbers of their characters."""

    # ---- numbers

    def wide(self, value: int | str | Spelled) -> str:
        """A constant or an expression as a whole number of up to 2^127."""

    def quotient(self, dividend: str, divisor: str) -> str:
        """Of such wide numbers, toward zero."""

    def remainder(self, dividend: str, divisor: str) -> str:
        """What the quotient leaves."""

    def shifted(self, number: str, places: int) -> str:
        """A BIGINT that is not negative, without its last binary places."""

    def finite(self, number: Spelled) -> str:
        """Whether a FLOAT, or what else is `loose`, is neither NaN nor infinite. It may be NULL where that is."""

    def bits(self, number: str) -> str:
        """A FLOAT's 64 bits as the BIGINT that they are, too."""

    def measured(self, value: Spelled, by: Steps, grouped: bool) -> Measure:
        """`value` is a leaf: that of the steps, perhaps loose if FLOAT. `grouped`: of many small groups, each of which
        pays for what is counted."""

    def whole(self, sum: str, scale: int) -> str:
        """The sum of a measure as a wide number, NULL of nothing."""

    # ---- moments

    def days(self, date: str) -> str:
        """Since 1970, as a whole number of any type."""

    def date(self, days: str) -> str: ...

    def micros(self, timestamp: str) -> str:
        """Since 1970, as a whole number of any type."""

    def timestamp(self, micros: str) -> str: ...

    # ---- relations

    def derived(self, select: str, beside: bool = False) -> str:
        """A SELECT to select from; `beside`: what another is joined to."""

    @property
    def looks_once(self) -> bool:
        """Whether what an EXISTS among the columns asks for is looked for at once, and not anew for each row."""

    @property
    def joins_few(self) -> bool:
        """Whether a few values are found sooner in a relation of them than by a CASE."""

    def fingerprint(self, parts: list[str]) -> str:
        """MD5 of the UTF-8 of texts one after the other, NULLs left out, as what is in order as its bytes from the last
        to the first are."""

    # ---- aggregates

    def aggregate(self, function: str, argument: str, of: Of) -> str:
        """One of those that all engines have under one name."""

    def summed(self, argument: str, reach: int | None, of: Of) -> str:
        """The exact sum of whole numbers from -reach to reach, or of anything else that is exact."""

    def extreme(self, value: Spelled, greatest: bool, of: Of) -> str: ...

    def different(self, value: Spelled, of: Of) -> str | None:
        """How many different values, NULL aside; None if there is no such aggregate: then they are listed."""

    def splice(self, value: Spelled, separator: Spelled, order: list[str], of: Of) -> str | None:
        """Texts one after the other; None if no aggregate takes an order: then they are listed."""

    def listed(self, value: Spelled, of: Of) -> str:
        """All values of these rows, none of them NULL, in any order: in that of what is listed of the same rows."""

    def different_in(self, listed: str) -> str:
        """How many there are in a list; 0 of NULL."""

    def spliced(self, places: str, listed: str, separator: Spelled) -> str:
        """A list of texts in the order of a list of their places."""

    def quantile(self, listed: str, type: ValueType, place: Callable[[str], str]) -> str:
        """The value at a place, from 1, of a list in order: `place` tells it from how many there are."""

    def mode(self, listed: str, type: ValueType) -> str:
        """The most frequent value; of several as frequent, the least."""

    # ---- windows

    @property
    def group_frames(self) -> bool:
        """Whether frames are counted in GROUPS."""

    @property
    def empty_frame(self) -> str:
        """A frame that holds no row."""

    def nth(self, value: Spelled, place: int, present: bool, order: str, over: str) -> str | None:
        """The value in this order at a place of the frame, as `Nth` says; None if no function takes an order of its
        own: then what is in the frame is listed."""

    def nth_in(self, places: str, listed: str, place: int) -> str:
        """The value at this one, from 1 or -1, of a list in the order of a list of places."""
