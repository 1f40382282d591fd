"""Where rows of a unit meet many others: only as many as are declared, so that they do not show by the time or memory
that a query takes."""

from __future__ import annotations

from collections.abc import Callable

from privql.check.relations import Block
from privql.diagnostics import refuse
from privql.kernel import relating, rules
from privql.kernel.scalars import Scalar
from privql.kernel.stable import Stable
from privql.plan.fanout import MOST_MADE, MOST_MET, UNDECLARED, sides

Pairs = tuple[tuple[Scalar, Scalar], ...]  # what of either side must be equal


class Meetings:
    """Those in one block's tree, in order. `declared`: the same where each table is cut to its declared rows at once,
    from which is learnt how many can meet; None in that one itself."""

    def __init__(self, block: Block, declared: Callable[[], Meetings] | None) -> None:
        self._span, self._unit, self._declared = block.span, block.unit.name, declared
        self.met = 1  # public rows that one private row can meet
        self._sides: list[tuple[int | None, int | None]] = []  # a unit's rows on either side

    def of_private(self, left: Stable, right: Stable, on: Pairs) -> tuple[Stable, Stable]:
        """Where rows of either side may meet many of the other: at most as many as are declared of each."""
        at = len(self._sides)
        self._sides.append((left.rows, right.rows))
        if self._declared is None or any(relating.one_each(left, right, on)):
            return left, right
        ours, theirs = self._few(*self._declared()._sides[at])
        return cut(left, ours), cut(right, theirs)

    def with_public(self, below: Stable, by: int) -> Stable:
        """Public rows take part as they are; where they are many, as few of the unit's as are declared."""
        self.met *= by
        self._bounded(self.met, MOST_MET)
        at = len(self._sides)
        self._sides.append((below.rows, by))
        if self._declared is None or by == 1:
            return below
        declared = self._declared()
        if declared.met <= UNDECLARED and (below.rows or 0) * by <= MOST_MADE:
            return below
        return cut(below, self._few(*declared._sides[at])[0])

    def tried(self, by: int) -> None:
        """So many public rows are looked at for each private row, and none of them stays."""
        self._bounded(self.met * by, MOST_MADE)

    def _bounded(self, met: int, most: int) -> None:
        if met > most:
            raise refuse(
                "PQL0407",
                f"one private row could meet {met} public rows",
                self._span,
                why=f"the time and memory that this takes would show that row; {most} are as many as may be",
                help="join public rows on more columns, or on a KEY",
            )

    def _few(self, left: int | None, right: int | None) -> tuple[int, int]:
        few = sides(left, right)
        if few is None:
            raise refuse(
                "PQL0407",
                f"the rows of one {self._unit} could become {(left or 1) * (right or 1)} in a join",
                self._span,
                why=f"the time and memory that this takes would show them; {MOST_MADE} are as many as may be",
                help="join on a KEY, or keep fewer of each before: `LIMIT 100 PER UNIT`",
            )
        return few


def cut(side: Stable, most: int) -> Stable:
    return side if side.rows is not None and side.rows <= most else rules.keep_rows(side, most)
