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


@frozen
class Powers:
    """Cells that variances and covariances are made of, over rows where no factor is NULL.

    Of a factor of degree d, at x = s - low of R = high - low steps, there are d + 1 terms, i = 0 … d:
    C(d,i)·x^i·(R-x)^(d-i). None is negative, and together they are R^d: of degree 2 (R-x)², 2x(R-x) and x².
    Of two factors there is a cell for each product of a term of the first and a term of the second, in that order.
    """

    factors: tuple[tuple[Steps, int], ...]
    where: Scalar | None = None

    @property
    def whole(self) -> int:
        """What the cells of one row add up to."""
        return prod((steps.high - steps.low) ** degree for steps, degree in self.factors)


@frozen
class Hats:
    """A cell for each knot 1, 2, 4, … up to `far`: how much there is at it, of numbers of steps on one side of 0.

    A row of n steps, counted away from 0, is at two neighbouring knots g <= n <= h, in parts whose mean is n: it adds
    far·(h-n)/(h-g) at g, and far·(n-g)/(h-g) at h. These are whole numbers, since h-g divides `far`; none is negative,
    and together they are `far`. What is at 0, the first knot, has no cell. Σ knot·cell is far·Σn.
    """

    steps: Steps  # one of their bounds is 0, the other `far` or -far, a power of two
    where: Scalar | None = None

    @property
    def far(self) -> int:
        """Where the last knot is, and what one row adds to all cells together at most."""
        return max(-self.steps.low, self.steps.high)

    @property
    def knots(self) -> tuple[int, ...]:
        return tuple(1 << at for at in range(self.far.bit_length()))


Contribution = Tally | Total | Balance | Powers | Hats


def cells(contribution: Contribution) -> int:
    """How many integers a contribution releases per group."""
    match contribution:
        case Powers(factors=factors):
            return prod(degree + 1 for _, degree in factors)
        case Balance():
            return 2
        case Hats(knots=knots):
            return len(knots)
        case _:
            return 1


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
