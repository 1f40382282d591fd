"""The steps of a plan: what can be measured is measured, until every block is answered.

A block waits for those whose answers it reads. One whose groups nobody listed first learns which there are, and one
whose bounds nobody stated finds some; it is then measured over these groups, within these bounds. What the steps are
depends on the plan and on earlier noisy answers alone, so a charge that is resumed takes the same ones; their total
cost was fixed before the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal

from privql.check.relations import Attribute, Block, CheckedQuery, Label, Measured, Rel, Shared
from privql.domains import Domain
from privql.finish.cells import finish_block
from privql.finish.recipe import Level, Recipe
from privql.finish.table import Table
from privql.frozen import frozen, inside
from privql.kernel.events import Losing
from privql.kernel.measure import Measured as Sums
from privql.kernel.scalars import Apply, Field, ValueType, fields
from privql.kernel.selection import Count
from privql.kernel.sums import Hats, cells
from privql.plan.program import BlockPlan
from privql.plan.ranks import cell

Rows = list[tuple[Any, ...]]
Release = Callable[[int, Sequence[Losing], Mapping[str, Table]], list[Rows]]
Merge = Callable[[BlockPlan, Rows], Rows]  # with the earlier answers of a release that is made more accurate
Computed = Callable[[CheckedQuery, Sequence[Table]], Table]  # by the post-processor, of what is released or public

_GIVES: Mapping[str, Literal["mean", "count", "sum"]] = {"avg": "mean", "count": "count", "sum": "sum"}


@frozen
class Answered:
    """A block's noisy cells, how its aggregates are made of them, and what comes out; and what it was found to be."""

    plan: BlockPlan
    recipes: tuple[Recipe, ...]
    cells: Rows
    table: Table
    groups: Rows
    levels: tuple[Level, ...] = ()


@dataclass
class Program:
    query: CheckedQuery
    plans: Sequence[BlockPlan]
    release: Release
    computed: Computed
    merge: Merge = lambda _, rows: rows
    found: dict[int, Rows] = field(default_factory=dict)  # the groups of blocks that had to look for them
    numbers: dict[int, Rows] = field(default_factory=dict)  # and of how many units each is, where that was said
    bounded: dict[int, BlockPlan] = field(default_factory=dict)  # blocks that had to look for anything, and have
    answers: dict[int, Answered] = field(default_factory=dict)

    def run(self) -> list[Answered]:
        step = 0
        while len(self.answers) < len(self.plans):
            open_ = [one for one in self.plans if one.block.index not in self.answers]
            ready = [one for one in open_ if self._ready(one)]
            wanted = {one.block.index: self._wanted(one) for one in ready}
            measured = [what for each in wanted.values() for what in each]
            noisy: Iterator[Rows] = iter(())
            if measured:
                publics = {name: table for one in ready for name, table in self._publics(one).items()}
                noisy = iter(self.release(step, measured, publics))
                step += 1
            for one in ready:
                rows = [next(noisy) for _ in wanted[one.block.index]]
                if self._looks(one):
                    self._learn(one, rows)
                else:
                    self._answer(self.bounded.get(one.block.index, one), [row for each in rows for row in each])
        return [self.answers[one.block.index] for one in self.plans]

    def _ready(self, plan: BlockPlan) -> bool:
        found = plan.block.groups_of is None or plan.block.groups_of in self.found
        return found and self._needs(plan) <= self.answers.keys()

    def _found(self, plan: BlockPlan) -> Rows | None:
        """The groups of a block, where not all are listed."""
        finder = plan.block.groups_of
        return self.found.get(plan.block.index if finder is None else finder)

    def _needs(self, plan: BlockPlan) -> set[int]:
        return {index for _, rel, _ in plan.publics for index in reads(rel, self.query)}

    def _looks(self, plan: BlockPlan) -> bool:
        """Whether groups or bounds are still to be found."""
        return bool(plan.looked_for) and plan.block.index not in self.bounded

    def _wanted(self, plan: BlockPlan) -> Sequence[Losing]:
        """What to measure next; nothing, where no group was found."""
        if self._looks(plan):
            return plan.looked_for
        return self.bounded.get(plan.block.index, plan).all_over(self._found(plan))

    def _learn(self, plan: BlockPlan, noisy: Sequence[Rows]) -> None:
        """In the order of `looked_for`: the groups, if any were, and the level of each aggregate's bounds."""
        if plan.selection is not None:
            self.found[plan.block.index], *noisy = noisy
            if plan.selection.counts:
                rows = self.found[plan.block.index]
                self.found[plan.block.index] = [row[:-1] for row in rows]
                self.numbers[plan.block.index] = [row[-1:] for row in rows]
        self.bounded[plan.block.index] = plan.within([level for ((level,),) in noisy])

    def _publics(self, plan: BlockPlan) -> dict[str, Table]:
        tables = [self._table(one.block) for one in self.plans]
        return {name: self.computed(derived(self.query, rel, columns), tables) for name, rel, columns in plan.publics}

    def _table(self, block: Block) -> Table:
        known = self.answers.get(block.index)
        return known.table if known is not None else unanswered(block)

    def _answer(self, plan: BlockPlan, rows: Rows) -> None:
        recipes = recipes_of(plan)
        groups = plan.groups(self._found(plan))
        rows = self.merge(plan, rows) if plan.measurements else [()] * len(groups)
        if plan.numbers is not None:
            rows = [row + number for row, number in zip(rows, self.numbers[plan.numbers.block], strict=True)]
        plan, levels = _reached(plan, rows), levels_of(plan)
        table = finish_block(plan.block, recipes, rows, groups, levels)
        self.answers[plan.block.index] = Answered(plan, recipes, rows, table, groups, levels)


def recipes_of(plan: BlockPlan) -> tuple[Recipe, ...]:
    """How each aggregate is made of the block's noisy cells."""
    out, starts = [], [0, *accumulate(cells(one.contribution) for one in plan.measurements)]
    for aggregate, source in zip(plan.block.aggregates, plan.sources, strict=True):
        if source is None:
            assert plan.numbers is not None and plan.numbers.selected is not None
            law = plan.numbers.selected.keep
            assert isinstance(law, Count)
            out.append(Recipe(law, starts[-1], law.scale, aggregate.type, "count"))
            continue
        one = plan.measurements[source]
        assert one.scale is not None
        if one.picked is not None:  # the first of its candidates, the second, …
            out.append(Recipe(one.picked.candidates, len(out), one.scale, aggregate.type))
            continue
        if one.placed is not None:
            at = cell(aggregate, one.placed)
            out.append(Recipe(one.placed.term.steps, at, one.scale, aggregate.type))
            continue
        gives = _GIVES.get(aggregate.function, "mean")
        out.append(Recipe(one.contribution, starts[source], one.scale, aggregate.type, gives, one.law))
    return tuple(out)


def _reached(plan: BlockPlan, rows: Rows) -> BlockPlan:
    """With what the cells at knots say of how far they reach."""
    made, start = [], 0
    for one in plan.measurements:
        width = cells(one.contribution)
        if isinstance(one.contribution, Hats) and one.scale is not None:
            from privql.finish.hats import reached  # brings numpy along

            steps = one.contribution.steps
            last = one.contribution.knots[reached(rows[0][start : start + width], one.scale)]
            one = replace(one, reached=last * steps.grid * (-1 if steps.low < 0 else 1))
        made.append(one)
        start += width
    return replace(plan, measurements=tuple(made))


def levels_of(plan: BlockPlan) -> tuple[Level, ...]:
    """Of what marginals its cells are, where it has several grouping sets and all of its groups are listed."""
    out: list[Level] = []
    if not plan.marginals or plan.lowered.unlisted:
        return ()
    for marginal, measured in zip(plan.marginals, (plan.measured, *plan.beside), strict=True):
        assert isinstance(measured, Sums)
        scales = (part.scale for part in measured.parts for _ in range(cells(part.contribution)))
        out.append(Level(marginal.keys, tuple(scales)))
    return tuple(out)


def reads(rel: Rel, query: CheckedQuery) -> set[int]:
    """The blocks that a relation over released rows is made of."""
    shared, subqueries = dict(query.shared), dict(query.subqueries)
    blocks: set[int] = set()
    seen: set[str] = set()
    todo: list[Any] = [rel]
    while todo:
        match todo.pop():
            case Field() | Apply() as term:
                asked = (fields(term) & subqueries.keys()) - seen
                seen |= asked
                todo.extend(subqueries[name] for name in asked)
            case Measured(block=block):
                blocks.add(block)
            case Shared(name=name) if name not in seen:
                seen.add(name)
                todo.append(shared[name])
            case node:
                todo.extend(inside(node))
    return blocks


def derived(query: CheckedQuery, rel: Rel, columns: Sequence[tuple[str, ValueType]]) -> CheckedQuery:
    """The part of a query that a block reads by name, as a query of its own."""
    attributes = tuple(Attribute(id, id, type, Domain(), Label.RELEASED) for id, type in columns)
    return replace(query, rel=rel, columns=attributes)


def unanswered(block: Block) -> Table:
    """A block's columns without a row: nobody reads them yet."""
    return Table(block.columns, ())
