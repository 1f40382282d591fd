"""How many rows of a unit count, and in how many groups: what the query and its tables say, and what that comes to."""

from __future__ import annotations

from math import prod
from typing import Literal

from privql.check.relations import WORTH_TESTING, GroupingKey
from privql.frozen import frozen
from privql.kernel import rules
from privql.kernel.scalars import Field, Scalar, Value
from privql.kernel.stable import Stable
from privql.plan.meetings import cut


@frozen
class Limits:
    """A query's AT MOST."""

    rows: int | None = None
    groups: int | None = None


@frozen
class Bounds:
    """At most so many rows of a unit count and, where that says more, in so many groups; `how` that is enforced: by
    cutting its rows, or by clamping the totals of its one group."""

    keys: tuple[tuple[str, Scalar], ...]
    listed: tuple[tuple[Value, ...], ...] | None  # the values of all keys, if they are known and not too many
    rows: int | None
    groups: int | None
    one_group: bool  # that a unit's many rows are in: the kernel proves it, whatever the query says
    how: Literal["none", "rows", "totals"]

    def cut(self, stable: Stable) -> Stable:
        """Of the rows in the groups that are kept, so many: both by a keyed hash."""
        if self.groups is not None:
            stable = rules.keep_groups(stable, self.keys, self.groups, self.listed)
        return stable if self.rows is None else cut(stable, self.rows)


def bounds_of(stable: Stable, keys: tuple[GroupingKey, ...], rows: int | None, groups: int | None) -> Bounds:
    by = tuple((key.id, key.value) for key in keys)
    values = tuple(key.members for key in keys if key.members is not None)
    listed = values if by and len(values) == len(by) and prod(map(len, values)) <= WORTH_TESTING else None
    named = {value.name for _, value in by if isinstance(value, Field)}
    if groups is not None and any(columns <= named for columns in stable.unique):  # each group has one row
        rows = groups if rows is None else min(rows, groups)
    one_group = bool(by) and stable.rows != 1 and rules.gather(stable, by, ()).rows == 1
    reached = (rows, rules.gather(stable, by, (), listed).rows)
    if groups is not None and any(most is not None and most <= groups for most in reached):
        groups = None
    as_it_is = groups is None and rows in (None, stable.rows)
    return Bounds(by, listed, rows, groups, one_group, "none" if as_it_is else "rows")
