"""One difference between two versions of a policy, and what it does to the protection of a unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from privql.diagnostics import NOWHERE, Span
from privql.frozen import frozen
from privql.names import fold
from privql.policy.catalog import Catalog, Table

Effect = Literal["weaker", "stronger", "neutral"]


@frozen
class Change:
    """`reason`: what the policy itself says to a weaker protection. `span`: in the text of the later version."""

    effect: Effect
    what: str
    why: str
    reason: str = ""
    span: Span = NOWHERE

    def __str__(self) -> str:
        told = f"{self.effect:<10}{self.what}\n{'':10}{self.why}"
        return told + (f"\n{'':10}reason: {self.reason}" if self.reason else "")


def remembered(versions: Iterable[Catalog]) -> Catalog:
    """What each name was last declared to be: what is left out of one version and comes back in another is compared
    with what it was, not with nothing."""
    made = Catalog()
    for version in versions:
        tables = {fold(each.name): each for each in made.tables}
        for table in version.tables:
            tables[fold(table.name)] = _with_columns(table, tables.get(fold(table.name)))
        made = Catalog(
            tuple({fold(each.name): each for each in (*made.units, *version.units)}.values()),
            tuple(tables.values()),
            version.views,
            tuple({(fold(each.name), fold(each.unit)): each for each in (*made.budgets, *version.budgets)}.values()),
            version.grants,
            version.refreshed,
            version.padded,
        )
    return made


def _with_columns(table: Table, before: Table | None) -> Table:
    gone = () if before is None else tuple(each for each in before.columns if table.column(each.name) is None)
    return replace(table, columns=(*table.columns, *gone))
