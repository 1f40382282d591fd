"""What an accepted query answers without any noise: the reference's exact cells, finished as an answer is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pandas as pd

from privql.engines.interface import Source
from privql.finish.cells import finish_block
from privql.finish.table import Table
from privql.kernel.scalars import Value
from privql.kernel.terms import Sums
from privql.pipeline.report import StatementCheck
from privql.pipeline.steps import derived, recipes_of, unanswered
from privql.policy.catalog import Catalog
from privql.post.run import PostProcessor
from tests import reference
from tests.reference.values import Tables

SALT = b"related"


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


class Exactly:
    """Each block is measured after those that its public rows are made of: they have lower numbers."""

    def __init__(self, post: PostProcessor) -> None:
        self._post = post
        self.publics: dict[str, tuple[tuple[Value, ...], ...]] = {}  # what each block was handed by name
        self.cells: list[tuple[Sums, list[list[int]]]] = []

    def answer(self, check: StatementCheck, tables: Tables) -> Table:
        assert check.query is not None and check.plan is not None
        self.publics, self.cells = {}, []
        answers = [unanswered(plan.block) for plan in check.plan.blocks]
        for at, plan in enumerate(check.plan.blocks):
            assert plan.measured is not None and plan.block.index == at
            for name, rel, columns in plan.publics:
                self.publics[name] = self._post.run(derived(check.query, rel, columns), answers).rows
            cells = reference.run(plan.measured.term, tables, SALT, MappingProxyType(self.publics))
            self.cells.append((plan.measured.term, cells))
            answers[at] = finish_block(plan.block, recipes_of(plan), cells)
        return self._post.run(check.query, answers)
