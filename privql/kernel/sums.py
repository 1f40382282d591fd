"""What leaves the rows: integers for each group. `measure` says what it costs to release them with noise."""

from __future__ import annotations

from math import prod

from privql.frozen import frozen
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import Scalar, Value, ValueType
from privql.kernel.terms import Relation


@frozen
class Key:
    """A grouping value and the list of the groups that exist, None for the NULL group. Rows elsewhere are dropped."""

    value: Scalar
    members: tuple[Value, ...]


@frozen
class Listed:
    """Several grouping values together, and the combinations that exist, a tuple each. Rows elsewhere are dropped."""

    values: tuple[Scalar, ...]
    members: tuple[tuple[Value, ...], ...]


@frozen
class Balance:
    """Two cells: Σ(s - low) and Σ(high - s) over rows whose steps s are not NULL. They share the mean between them."""

    steps: Steps
    where: Scalar | None = None


Contribution = Tally | Total | Balance


def cells(contribution: Contribution) -> int:
    """How many integers a contribution releases per group."""
    return 2 if isinstance(contribution, Balance) else 1


@frozen
class Sums:
    """For every group of the product of the keys, in that order, the cells of each contribution.

    Without keys there is one group.
    """

    input: Relation
    keys: tuple[Key | Listed, ...]
    contributions: tuple[Contribution, ...]

    @property
    def groups(self) -> int:
        return prod(len(key.members) for key in self.keys)

    @property
    def width(self) -> int:
        return sum(cells(contribution) for contribution in self.contributions)


@frozen
class Keys:
    """For each combination of the columns' values that any row has, the number of rows. NULL is a value like others."""

    input: Relation
    columns: tuple[tuple[str, ValueType], ...]
