"""What is claimed of a relation: how far apart two neighbouring databases may leave it.

A relation is *unit-wise* (`owned`) if every row carries the unit it belongs to, and which rows a unit has depends on
that unit's rows in the database and on public rows alone - none, if it has none there. Neighbours then differ only
in the rows of one unit (two bags under CHANGE ONE: one leaves, another comes, in one unit's place). A relation that is
no longer owned differs in at most as many rows as that unit had. `rows` bounds how many (None: no bound).

`unique` lists sets of columns in which no two rows of one unit agree, NULLs aside. It bounds what a join can multiply.
`apart` are those of which that is known of NULLs, too: grouped by such columns, a unit has one row in each group. Zeros
of both signs may be grouped in another way than they are compared, so there are no FLOATs among them.
`fixed` are columns in which all rows of one unit agree, NULL being a value like others: grouped by them a unit is in
one group.
"""

from __future__ import annotations

from dataclasses import dataclass

from privql.kernel.proved import Proved, Unproved, proved
from privql.kernel.scalars import ValueType
from privql.kernel.terms import Relation, Unit

Sets = frozenset[frozenset[str]]
ONE_ROW: Sets = frozenset((frozenset(),))  # no two rows agree in no columns: there is one row at most


@dataclass(frozen=True, slots=True)
class Stable(Proved):
    term: Relation
    unit: Unit
    unit_type: ValueType | None  # of the values that name units; None: each row is its own
    rows: int | None
    columns: frozenset[str]
    unique: Sets
    fixed: frozenset[str]
    owned: bool = True
    apart: Sets = frozenset()

    @property
    def determined(self) -> frozenset[str]:
        """The columns that the unit determines: all of them, where it has one row."""
        return self.columns if self.owned and self.rows == 1 else self.fixed


def owned(input: Stable) -> None:
    proved(input, Stable)
    if not input.owned:
        raise Unproved("these rows are nobody's any more, and can only be filtered, computed with and summed")


def one_unit(one: Stable, other: Stable) -> None:
    """A unit is known by its value; of two types an engine would make one, and of '1' and '01' the same number."""
    owned(one)
    owned(other)
    if one.unit != other.unit or one.unit_type != other.unit_type:
        raise Unproved("only rows of one unit may be related, named by values of one type")
