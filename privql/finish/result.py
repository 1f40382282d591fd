"""A `Release`: the answer that a query was given, what it cost, and how exact each number is.

It is immutable and made of exact values, so that the ledger can keep it and give the same answer again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privql.check.env import USUAL
from privql.check.relations import Label
from privql.diagnostics import NOWHERE, refuse
from privql.domains import NUMERIC, Domain, number_text
from privql.finish.accuracy import Cells, bounds, halves
from privql.finish.recipe import Law
from privql.finish.table import Table
from privql.finish.text import MOST_ROWS, text_table
from privql.finish.writing import csv_field, plain, shown
from privql.frozen import frozen
from privql.kernel.cost import Cost, amount_text
from privql.kernel.scalars import Value, ValueType

if TYPE_CHECKING:
    import pandas as pd

    from privql.finish.kept import Made
    from privql.finish.resampling import Spread

MOST_CERTAIN = 1 - Fraction(1, 10**12)  # as far as floats tell it from certainty
Spreads = Callable[[Fraction], Mapping[int, "Spread"]]


@frozen
class Column:
    """`law` is set where the numbers were measured and not computed with; a mean has the `cells` of each row, too."""

    name: str
    type: ValueType
    domain: Domain
    label: Label
    law: Law | None = None
    cells: tuple[Cells | None, ...] = ()


@frozen
class Release:
    """`columns` and exact `rows`; the `cost` paid. `dummy`: the rows were invented from the policy alone."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    cost: Cost = field(default_factory=Cost)
    release_id: str | None = None
    certificate: Mapping[str, Any] = field(default_factory=dict)
    dummy: bool = False
    made: Made | None = None  # how, for the errors of what was computed
    spreads: Spreads | None = field(default=None, compare=False, repr=False)  # computes them, while there is a session
    answers: tuple[Release, ...] = ()  # COMMIT's: those of the queries between BEGIN and it

    @property
    def table(self) -> Table:
        """The exact values, for a later query to read."""
        return Table(tuple((column.name, column.type) for column in self.columns), self.rows)

    # ---- for Python

    def to_pandas(self) -> pd.DataFrame:
        """INT is nullable Int64, DECIMAL exact `decimal.Decimal`, DATE and TIMESTAMP datetime64."""
        from privql.finish.frames import frame

        return frame(self)

    def interval(self, confidence: float | str | Fraction = 0.95) -> pd.DataFrame:
        """For each measured column x, x_low and x_high: they enclose the exact number with this probability."""
        from privql.finish.frames import interval_frame

        try:
            level = Fraction(str(confidence))
        except (ValueError, ZeroDivisionError):
            level = Fraction(0)
        if not 0 < level <= MOST_CERTAIN:
            raise refuse(
                "PQL0511",
                "a confidence lies strictly between 0 and 1, and at least 1e-12 below",
                NOWHERE,
                help="write 0.95 for 95 percent",
            )
        return interval_frame(self, level)

    # ---- for programs

    @property
    def proof(self) -> str | None:
        """Its certificate, for `privql verify`: None of what cost nothing, and of invented rows."""
        return self.certificate.get("proof")

    def told(self) -> dict[str, Any]:
        """`rows` are arrays, DECIMAL as text, days and times as ISO text."""
        return {
            "columns": [
                {"name": column.name, "type": str(column.type), "label": column.label.name.capitalize()}
                for column in self.columns
            ],
            "rows": [
                [plain(value, column.type) for value, column in zip(row, self.columns, strict=True)]
                for row in self.rows
            ],
        }

    def to_json(self) -> dict[str, Any]:
        """What it tells; `halfwidth95` has the shape of `rows`."""
        answer: dict[str, Any] = {
            **self.told(),
            "halfwidth95": [
                [None if half == math.inf else half for half in row] for row in self._halfwidths(len(self.rows))
            ],
            "cost": {"epsilon": str(self.cost.epsilon), "delta": str(self.cost.delta)},
            "release_id": self.release_id,
        }
        if self.dummy:
            answer["dummy"] = True
        return answer

    def to_csv(self) -> str:
        """A header and the rows; NULL is empty, an empty text `""`. Invented rows say so in a last column."""
        lines: list[list[Any]] = [[column.name for column in self.columns] + ["dummy"] * self.dummy]
        for row in self.rows:
            lines.append([plain(value, column.type) for value, column in zip(row, self.columns, strict=True)])
            lines[-1] += [True] * self.dummy
        return "".join(",".join(map(csv_field, line)) + "\n" for line in lines)

    def to_bytes(self) -> bytes:
        """All there is, exactly: what the ledger keeps."""
        from privql.finish.stored import written

        return written(self)

    @staticmethod
    def from_bytes(stored: bytes) -> Release:
        from privql.finish.stored import read

        return read(stored)

    # ---- for people

    def __str__(self) -> str:
        alone = len(self.columns) == 1
        rows = [
            [shown(value, column.type, alone) for value, column in zip(row, self.columns, strict=True)]
            for row in self.rows[:MOST_ROWS]
        ]
        padding = [[None] * len(self.columns)] * (len(self.rows) - len(rows))  # counted, never shown
        halfwidths = self._halfwidths(MOST_ROWS)
        lines = [text_table([column.name for column in self.columns], rows + padding, halfwidths)]
        lines += [f"({found})" for found in self._told_beside()]
        if self.dummy:
            lines.append("(invented rows: made from the policy alone, they say nothing about the data)")
        if self.cost:
            paid = f"ε = {amount_text(self.cost.epsilon)}"
            paid += f", δ = {amount_text(self.cost.delta)}" if self.cost.delta else ""
            if self.dummy:
                lines.append(f"(nothing was spent; of the real rows it would cost {paid})")
            else:
                lines.append(f"({paid}" + (f", release {self.release_id})" if self.release_id else ")"))
        elif self.release_id and not self.dummy:
            lines.append(f"(free, release {self.release_id})")
        return "\n".join(lines)

    __repr__ = __str__

    def _told_beside(self) -> list[str]:
        """Those that were found, since nobody stated them: they are part of the answer. So is how far a sum at knots
        reaches, and how large a group has to be where there is none."""
        whose = {"totals": "each unit's total", "rows": "each value"}
        lines = []
        for one in self.certificate.get("measurements", ()):
            if one.get("found"):
                low, high = (number_text(Fraction(end)) for end in one["found"])
                lines.append(f"{one['text']}: {whose[one['of']]} was brought into [{low}, {high}]")
            if one.get("reached"):
                last = number_text(Fraction(one["reached"]))
                lines.append(f"{one['text']}: what is beyond {last} is told from what is nearer")
            if one.get("even") and not self.rows:
                of = f"one of {one['even']} units ({one['unit']})"
                lines.append(f"{one['text']}: {of} is found half of the time, smaller ones less often")
        return lines

    def _halfwidths(self, most: int) -> list[list[float | None]]:
        """For the first rows, in their shape."""
        rows = self.rows[:most]
        columns: list[list[float | None]] = []
        spreads = self.computed_spreads(USUAL)
        for at, column in enumerate(self.columns):
            values = [row[at] for row in rows]
            if column.law is not None:
                columns.append(halves(column.law, values, column.cells[:most], USUAL))
            elif at in spreads:
                from privql.finish.resampling import halves_of

                columns.append(halves_of(spreads[at], values, column.type, USUAL))
            else:
                columns.append([None] * len(rows))
        return [list(row) for row in zip(*columns, strict=True)]

    def ends(self, at: int, confidence: Fraction) -> Sequence[tuple[Value, Value] | None]:
        """The interval of each number of a column, in values of its type. An end that is open is infinite, or NULL."""
        column, numbers = self.columns[at], [row[at] for row in self.rows]
        found: Sequence[tuple[float | Fraction, float | Fraction] | None] = [None] * len(numbers)
        if column.law is not None:
            found = bounds(column.law, numbers, column.cells, confidence)
        elif at in (spreads := self.computed_spreads(confidence)):
            from privql.finish.resampling import bounds_of

            found = bounds_of(spreads[at], numbers, column.type, confidence)
        return [
            None if pair is None else (_end(pair[0], column.type), _end(pair[1], column.type, up=True))
            for pair in found
        ]

    def computed_spreads(self, confidence: Fraction) -> Mapping[int, Spread]:
        """By column, of those that were computed from noisy numbers and have no law of their own."""
        found = self.spreads(confidence) if self.spreads is not None else {}
        return {at: spread for at, spread in found.items() if self.columns[at].law is None}


def computed(column: Column) -> bool:
    """Whether it may have an error that no law of its own tells."""
    return column.law is None and column.label is Label.RELEASED and column.type.kind in NUMERIC


def _end(end: float | Fraction, type: ValueType, up: bool = False) -> Value:
    match type.kind:
        case "FLOAT":
            try:
                return float(end)
            except OverflowError:
                return math.copysign(math.inf, end)
        case _ if not math.isfinite(end):
            return None
        case "INT":
            return math.ceil(end) if up else math.floor(end)
        case _:
            return Fraction(end)
