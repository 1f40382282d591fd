"""Queries, and two neighbouring databases for each: chosen so that much of what is claimed can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privql.kernel.scalars import Value
from tests.soundness.neighbours import Bag
from tests.soundness.world import KINDS, Kind, Row

_PLAIN: Row = {
    "a": 0, "b": 0, "c": None, "f": 0.0, "s": "x", "k": True, "d": 19_780, "z": 0, "w": 0.0, "t": "cook",
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    name: str
    table: str
    query: str  # between SELECT and FROM, and what follows
    clauses: str
    one: Sequence[Bag]
    other: Sequence[Bag]
    reached: float = 0.5  # what part of the claim a long run must show
    looking: bool = False  # whether only what finds groups or bounds is looked at, by its own share of ε
    whole: str = ""  # the query, if it was written by chance

    @property
    def kind(self) -> Kind:
        return KINDS[self.table]

    @property
    def text(self) -> str:
        return (
            self.whole
            or f"SELECT {self.query} FROM {self.table} {self.clauses} SPEND EPSILON {self.epsilon}{self.delta}"
        )

    @property
    def epsilon(self) -> int:
        """2, of which most can be seen; three tenths of what BOUNDS AUTO has look for bounds."""
        return 8 if self.looking and "AUTO" in self.query else 2

    @property
    def delta(self) -> str:
        return (
            " DELTA 0.01" if " t," in f" {self.query}" or "GAUSSIAN" in self.clauses or "GUMBEL" in self.query else ""
        )


def row(**values: Value) -> Row:
    return {**_PLAIN, **values}


def tenths(count: int) -> Fraction:
    return Fraction(count, 10)


def units(*bags: Row | Sequence[Row]) -> list[Bag]:
    return [(bag,) if isinstance(bag, dict) else tuple(bag) for bag in bags]


def more(name: str, table: str, query: str, clauses: str, others: Sequence[Bag], unit: Bag, reached: float = 0.5,
         looking: bool = False) -> Pair:  # fmt: skip
    return Pair(name, table, query, clauses, [*others, unit], others, reached, looking)


_FEW = units(row(b=1), row(b=3, s="y"), row(a=2, b=2))
_ONE = (row(),)
_GAUSSIAN = "USING GAUSSIAN"
_BY_S, _BY_T = "GROUP BY s", "GROUP BY t"
_COOKS = units(*[row() for _ in range(6)])
_LOW, _HIGH = row(c=tenths(-7)), row(c=tenths(25))
_RANKED = units(_LOW)  # one more, far above: what lies between gets likelier, what is below less likely

PAIRS = [
    more("count", "people", "COUNT(*)", "", _FEW, _ONE, 0.7),
    more("sum", "people", "SUM(a)", "", _FEW, (row(a=7),), 0.7),
    more("grouped", "people", "s, COUNT(*)", _BY_S, _FEW, _ONE, 0.7),
    more("mean, at an end", "people", "AVG(b)", "", _FEW, (row(b=5),)),
    more("mean, in the middle", "people", "AVG(b)", "", _FEW, (row(b=2),)),
    more("variance, at an end", "people", "VAR_POP(b)", "", _FEW, (row(b=5),)),
    more("variance, in the middle", "people", "STDDEV(b)", "", _FEW, (row(b=2),), 0.3),
    more("covariance", "people", "COVAR_POP(a, b)", "", _FEW, (row(a=7, b=0),)),
    more("shared", "people", "COUNT(b), SUM(b), AVG(b)", "", _FEW, (row(b=5),)),
    more("two aggregates", "people", "COUNT(*), SUM(a)", "", _FEW, (row(a=7),)),
    more("median", "people", "MEDIAN(c)", "", _RANKED, (_HIGH,), 0.7),
    more("greatest", "people", "MAX(c)", "", units(*[row(c=tenths(24))] * 9), (row(c=tenths(24)),), 0.2),
    more("several quantiles", "people", "QUANTILE(c, [0.25, 0.5, 0.75])", "", units(_LOW, _LOW), (_HIGH,), 0.1),
    more("most frequent", "people", "MODE(b)", "", units(row()), (row(b=1),), 0.6),
    more("two most frequent", "people", "TOP(b, 2)", "", units(row(), row()), (row(b=1),), 0.3),
    more("two by Gumbel noise", "people", "TOP(b, 2 USING GUMBEL)", "", units(row(), row()), (row(b=1),), 0.1),
    more("bins", "people", "HISTOGRAM(b, 3)", "", _FEW, (row(b=5),)),
    more("levels", "people", "s, k, SUM(b)", "GROUP BY CUBE(s, k)", _FEW, (row(b=5),), 0.3),
    more("gaussian", "people", "s, COUNT(*)", f"{_BY_S} {_GAUSSIAN}", _FEW, _ONE, 0.4),
    more("gaussian, user level", "events", "s, AVG(b)", f"{_BY_S} {_GAUSSIAN}", _FEW, (row(b=5), row(b=5, s="y")), 0.2),
    Pair("gaussian, changed", "members", "s, SUM(b)", f"{_BY_S} {_GAUSSIAN}", [*_FEW, (row(b=5),)],
         [*_FEW, (row(b=5, s="y"),)], 0.2),
    more("row level", "rows_alone", "AVG(b)", "", _FEW, (row(b=5),)),
    more("user level, count", "events", "COUNT(*)", "", _FEW, tuple(row(a=n) for n in range(4)), 0.7),
    more("user level, mean", "events", "s, AVG(b)", _BY_S, _FEW, (row(b=5), row(b=5, s="y"))),
    more("user level, median", "events", "MEDIAN(c)", "", units((_LOW, _LOW)), (_HIGH, _HIGH), 0.7),
    Pair("changed, filtered", "members", "COUNT(*)", "WHERE k", [*_FEW, (row(),)], [*_FEW, (row(k=False),)], 0.7),
    Pair("changed, sum", "members", "SUM(a)", "", [*_FEW, (row(a=-3),)], [*_FEW, (row(a=7),)], 0.7),
    Pair("changed, grouped", "members", "s, COUNT(*)", _BY_S, [*_FEW, (row(),)], [*_FEW, (row(s="y"),)]),
    Pair("changed, mean", "members", "AVG(b)", "", [*_FEW, (row(b=0),)], [*_FEW, (row(b=5),)]),
    Pair("changed, variance", "members", "VAR_POP(b)", "", [*_FEW, (row(b=0),)], [*_FEW, (row(b=5),)]),
    Pair("changed, two rows", "dues", "s, SUM(b)", _BY_S, [*_FEW, (row(b=5),) * 2], [*_FEW, (row(b=5, s="y"),) * 2]),
    Pair("changed, median", "members", "MEDIAN(c)", "", [*_RANKED, (row(c=tenths(-15)),)],
         [*_RANKED, (_HIGH,)], 0.3),
    Pair("changed, medians", "dues", "s, MEDIAN(c)", _BY_S, [*_RANKED, (_HIGH, _HIGH)],
         [*_RANKED, (row(c=tenths(25), s="y"),) * 2], 0.1),
    more("found groups", "people", "t, COUNT(*)", _BY_T, _COOKS, _ONE, 0.2),
    more("found groups, one alone", "people", "t, COUNT(*)", _BY_T, _COOKS, (row(t="king"),), 0.0),
    more("found groups, user level", "events", "t, SUM(b)", _BY_T, _COOKS, (row(), row(t="king")), 0.0),
    more("groups alone", "people", "t, COUNT(*)", _BY_T, _COOKS, _ONE, 0.7, True),
    more("bounds alone", "people", "SUM(z BOUNDS AUTO)", "", units(*[row(z=9)] * 6), (row(z=9),), 0.7, True),
    more("bounds found", "people", "SUM(z BOUNDS AUTO)", "", units(row(z=1), row(z=2)), (row(z=9),), 0.1),
    more("sum at knots", "people", "SUM(ABS(z) BOUNDS AUTO)", "", units(row(z=1), row(z=2)), (row(z=9),), 0.1),
    Pair("changed, bounds found", "members", "AVG(z BOUNDS AUTO)", "", units(row(z=1), row(z=40)),
         units(row(z=1), row(z=0)), 0.1),
]  # fmt: skip
