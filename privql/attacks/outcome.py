"""What an attack is given, and what it tells of itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

SPARKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Given:
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    rows: int | None = None  # of the secret; else as many as the attack likes
    seed: int = 1  # of the invented data: noise has none

    def left_for_gaussians(self) -> Fraction:
        """The part of δ that a budget without SHARES leaves for adding up plainly."""
        return self.delta / 4


@dataclass(frozen=True)
class Line:
    """One way to attack: how often it was right, of how many tries, beside what theory says of it."""

    way: str
    truth: float
    privql: float
    predicted: float | None  # for exactly this way to ask
    most: float  # for any way there is
    tries: int
    asked: int = 1  # answers that were paid for

    @property
    def margin(self) -> float:
        """Chance goes so far once in ten million times (Hoeffding)."""
        return math.sqrt(math.log(1e7) / (2 * self.tries))

    @property
    def chance(self) -> str:
        """How far chance moves it, at most, in 19 cases of 20."""
        return _percent(1.96 * math.sqrt(0.25 / self.tries))

    @property
    def within(self) -> bool:
        law = self.predicted is None or abs(self.privql - self.predicted) <= self.margin
        return law and self.privql <= self.most + self.margin


@dataclass(frozen=True)
class Outcome:
    name: str
    secret: str  # what is attacked
    measure: str  # what the figures are
    lines: Sequence[Line]
    picture: str  # SVG
    spark: tuple[str, Sequence[float]] | None = None
    notes: Sequence[str] = field(default=())

    @property
    def within(self) -> bool:
        return all(line.within for line in self.lines)

    def __str__(self) -> str:
        head = ["way", "answers", "exact", "through PrivQL", "±", "predicted", "at most"]
        rows = [
            [
                line.way,
                str(line.asked),
                _percent(line.truth),
                _percent(line.privql),
                line.chance,
                "" if line.predicted is None else _percent(line.predicted),
                _percent(line.most),
            ]
            for line in self.lines
        ]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        shown = [
            " | ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(both)).rstrip()
            for both in (zip(row, widths, strict=True) for row in (head, *rows))
        ]
        shown.insert(1, "-+-".join("-" * width for width in widths))
        within = "±: as far as chance moves it in 19 runs of 20"
        told = [f"{self.name}: {self.secret}", "", *shown, f"({self.measure}; {within})"]
        if self.spark is not None:
            label, values = self.spark
            told += ["", f"{label}, from 50 % to the most: {sparkline(values, self.lines[0].most)}"]
        return "\n".join([*told, *(f"({note})" for note in self.notes)])


def sparkline(values: Sequence[float], high: float, low: float = 0.5, most: int = 48) -> str:
    """How it goes on, in at most so many marks."""
    picked = [values[at * len(values) // min(most, len(values))] for at in range(min(most, len(values)))]
    steps = [(value - low) / (high - low) * len(SPARKS) for value in picked]
    return "".join(SPARKS[min(max(int(step), 0), len(SPARKS) - 1)] for step in steps)


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"
