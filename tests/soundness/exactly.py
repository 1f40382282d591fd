"""What an accepted query answers without any noise: the reference's exact cells, finished as an answer is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pandas as pd

from privql.audit import reference
from privql.audit.reference.values import Publics, Tables
from privql.check.relations import WindowCall, Windowed
from privql.engines.interface import Source
from privql.finish.cells import finish_block
from privql.finish.origins import Origin, traced
from privql.finish.table import Table
from privql.frozen import inside
from privql.kernel.measure import Measured
from privql.kernel.scalars import Value
from privql.pipeline.report import StatementCheck
from privql.pipeline.steps import derived, levels_of, recipes_of, unanswered
from privql.plan.measurements import Measurement
from privql.plan.program import BlockPlan
from privql.policy.catalog import Catalog
from privql.post.run import PostProcessor

SALT = b"related"
NOTHING = 10**12  # what is told from the rest, as far as noise hides it, is told from all without any


def public_engine(catalog: Catalog, rows: Mapping[str, Sequence[tuple[Value, ...]]]) -> PostProcessor:
    frames, types = {}, {}
    for table in catalog.tables:
        if not table.private:
            types[table.name] = tuple((column.name, column.type) for column in table.columns)
            columns = [name for name, _ in types[table.name]]
            frame = pd.DataFrame([list(row) for row in rows[table.name]], columns=columns, dtype=object)
            frame = frame.astype({n: "Int64" if t.kind == "INT" else object for n, t in types[table.name]})
            frames[table.name] = Source(frame=frame)
    return PostProcessor(frames, types)


def groups_of(plan: BlockPlan, tables: Tables, publics: Publics) -> list[tuple[Value, ...]] | None:
    """Those that any unit is in, where they have to be found."""
    return None if plan.selection is None else [group for group, _ in counted(plan, tables, publics)]


def units_of(plan: BlockPlan, tables: Tables, publics: Publics) -> list[int]:
    """How many are in each of them."""
    return [units for _, units in counted(plan, tables, publics)]


def counted(plan: BlockPlan, tables: Tables, publics: Publics) -> list[tuple[tuple[Value, ...], int]]:
    assert plan.selection is not None and plan.selection.selected is not None
    return reference.counted(plan.selection.selected.term, tables, SALT, publics)


def comparable(check: StatementCheck) -> bool:
    """Whether it has an answer without noise, and one that is SQL's: what is drawn - by its rank, or by how frequent it
    is - has none, and sums of too many rows to be counted in steps of their values are rounded.

    So are sums of floats, but no farther than is shown: only where they decide something, 2 + 2^-40 is not 2.
    """
    assert check.plan is not None and check.query is not None
    shown = {origin for origins in traced(check.query) for origin in origins if isinstance(origin, Origin)}
    numbers = {(origin.block, origin.aggregate) for origin in shown}
    decides = "HAVING" in check.source.text

    def rounded(one: Measurement, plan: BlockPlan) -> bool:
        own, type = one.aggregate.domain.grid, one.aggregate.argument_type
        if type is None or type.kind != "FLOAT":
            return own is not None and one.grid > own
        read = {at for at, source in enumerate(plan.sources) if source is not None and plan.measurements[source] is one}
        return decides or not {(plan.block.index, at) for at in read} <= numbers

    return not any(
        one.placed is not None or one.picked is not None or rounded(one, plan)
        for plan in check.plan.blocks
        for one in plan.measurements
    ) and not unsettled(check.query)


def unsettled(part: Any) -> bool:
    """Whether somewhere the places of rows in two orders stand side by side: of rows that are alike, either may be
    first in one and last in the other."""
    if isinstance(part, Windowed):
        orders = {(call.partition, call.order) for _, call in part.calls if by_place(call)}
        if len(orders) > 1:
            return True
    return any(unsettled(one) for one in inside(part))


def by_place(call: WindowCall) -> bool:
    """Whether rows that its order puts at one place may have different answers."""
    return call.frame_unit == "ROWS" or call.call.function in ("row_number", "ntile", "lag", "lead")


class Exactly:
    """Bounds that are looked for are found as wide as they can be.

    Each block is measured after those that its public rows are made of: they have lower numbers.
    """

    def __init__(self, post: PostProcessor) -> None:
        self._post = post
        self.publics: dict[str, tuple[tuple[Value, ...], ...]] = {}  # what each block was handed by name

    def answer(self, check: StatementCheck, tables: Tables) -> Table:
        assert check.query is not None and check.plan is not None
        self.publics = {}
        answers = [unanswered(plan.block) for plan in check.plan.blocks]
        groups: dict[int | None, list[tuple[Value, ...]] | None] = {}  # of each block
        for at, plan in enumerate(check.plan.blocks):
            assert plan.block.index == at
            for name, rel, columns in plan.publics:
                self.publics[name] = self._post.run(derived(check.query, rel, columns), answers).rows
            publics = MappingProxyType(self.publics)
            finder = plan.block.groups_of
            found = groups[at] = groups[finder] if finder is not None else groups_of(plan, tables, publics)
            widest = plan.within([len(search.intervals) - 1 for search in plan.searches])
            measured = widest.all_over(found)
            there = widest.groups(found)
            cells: list[Sequence[int]] = []
            for one in measured:
                assert isinstance(one, Measured), "what is drawn is not comparable"
                cells += reference.run(one.term, tables, SALT, publics)
            cells = cells if measured else [()] * len(there)
            if plan.numbers is not None:
                finding = next(one for one in check.plan.blocks if one.block.index == plan.numbers.block)
                cells = [[*row, units] for row, units in zip(cells, units_of(finding, tables, publics), strict=True)]
            recipes = [replace(one, scale=one.scale / NOTHING) for one in recipes_of(widest)]
            answers[at] = finish_block(plan.block, recipes, cells, there, levels_of(widest))
        return self._post.run(check.query, answers)
