"""From a block of the typed tree to what the kernel measures: so many rows per unit, groups, and what each row adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from privql.check.columns import produced
from privql.check.env import Env
from privql.check.relations import Block, CheckedQuery, Once
from privql.kernel import rules
from privql.kernel.rules import Stable
from privql.kernel.scalars import Scalar, Value, fields
from privql.kernel.terms import Contribution, KeepRows, Key, Listed
from privql.plan.related import PublicRows, Related
from privql.plan.totals import of_units


@dataclass(frozen=True, slots=True)
class Lowered:
    stable: Stable
    owned: Stable  # the rows, before they stop being anybody's: whose groups these are
    keys: tuple[Key | Listed, ...]
    contributions: tuple[Contribution, ...]  # what a row of `stable` adds
    rows: int | None  # how many of a unit's rows count, if any number is
    publics: tuple[PublicRows, ...]  # what the engine is handed by name: a relation, and its columns
    unlisted: tuple[tuple[str, Scalar], ...] = ()  # keys whose values nobody listed

    def over(self, found: Sequence[tuple[Value, ...]]) -> Lowered:
        """The same over the groups that were found."""
        keys = (replace(key, members=tuple(found)) if isinstance(key, Listed) else key for key in self.keys)
        return replace(self, keys=tuple(keys))

    @property
    def bounding(self) -> Literal["none", "totals", "rows"]:
        """How each unit's part is bounded: not at all, its totals are clamped, or its rows are cut."""
        if self.rows != 1 and self.stable.rows == 1:
            return "totals"
        return "rows" if isinstance(self.stable.term, KeepRows) else "none"

    @property
    def grouped(self) -> bool:
        return bool(self.unlisted) or prod(len(key.members) for key in self.keys) > 1


def lower(
    block: Block, contributions: tuple[Contribution, ...], rows: int | None, env: Env, query: CheckedQuery
) -> Lowered:
    """`rows`: the query's AT MOST, on top of the tables' own."""
    needed = frozenset(produced(block.rel)) if isinstance(block.rel, Once) else frozenset[str]()
    for key in block.keys:
        needed |= fields(key.value)
    for contribution in contributions:
        needed |= _reads(contribution)
    made, stable = _related(block, needed, env, query)
    limits = [] if rows is None else [rows]
    if stable.rows is None or stable.rows > 1:
        # as many rows as there would be, had each table been cut to its declared rows at once
        _, declared = _related(block, needed, env, query, cut=True)
        limits += [] if declared.rows is None else [declared.rows]
    rows = min([*limits, *([] if stable.rows is None else [stable.rows])], default=None)
    if rows is not None and rows != stable.rows:
        open_ = [one.privacy is not None and one.privacy.bounds_auto for one in block.aggregates]
        totals = None if block.keys or isinstance(block.rel, Once) else of_units(stable, contributions, rows, open_)
        if totals is not None:
            stable, contributions = totals
        else:  # last of all, so that rows which a filter drops do not use up a unit's share
            stable = rules.keep_rows(stable, rows)
    owned = stable
    if isinstance(block.rel, Once):
        stable = rules.once(stable)
    return _grouped(stable, owned, block, contributions, rows, tuple(made.publics))


def rows_within(block: Block, env: Env, query: CheckedQuery) -> Mapping[int, int | None]:
    """How many rows a unit has at most in each relation of a block's tree, by `id`, were each table cut to its
    declared rows at once: what a person reads to see where they grow."""
    needed = frozenset(produced(block.rel)) if isinstance(block.rel, Once) else frozenset[str]()
    needed |= {name for term in _asked(block) for name in fields(term)}
    made, _ = _related(block, needed, env, query, cut=True)
    return made.rows


def _asked(block: Block) -> list[Scalar]:
    asked = [key.value for key in block.keys]
    return asked + [term for one in block.aggregates for term in (one.argument, one.where) if term is not None]


def _related(
    block: Block, needed: frozenset[str], env: Env, query: CheckedQuery, cut: bool = False
) -> tuple[Related, Stable]:
    """The rows of the block while they are still their units', with what its keys and aggregates ask of them."""
    made = Related(block, env, query, cut)
    stable = made.relation(block.rel.input if isinstance(block.rel, Once) else block.rel, needed)
    for term in _asked(block):
        stable = made.answered(stable, term)
    return made, stable


def _grouped(
    stable: Stable,
    owned: Stable,
    block: Block,
    contributions: tuple[Contribution, ...],
    rows: int | None,
    publics: tuple[PublicRows, ...],
) -> Lowered:
    """Where some keys are not listed, these stand together in the place of the first, and hold any one group so far."""
    unlisted = tuple((key.id, key.value) for key in block.keys if key.members is None)
    keys: list[Key | Listed] = []
    for key in block.keys:
        if key.members is not None:
            keys.append(Key(key.value, key.members))
        elif key.id == unlisted[0][0]:
            keys.append(Listed(tuple(value for _, value in unlisted), ((None,) * len(unlisted),)))
    return Lowered(stable, owned, tuple(keys), contributions, rows, publics, unlisted)


def _reads(contribution: Contribution) -> frozenset[str]:
    read = fields(contribution.where) if contribution.where is not None else frozenset()
    steps = getattr(contribution, "steps", None)
    return read | fields(steps.value) if steps is not None else read
