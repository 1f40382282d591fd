"""From a block of the typed tree to what the kernel measures: so many rows per unit, groups, and what each row adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import prod

from privql.check.columns import produced
from privql.check.env import Env
from privql.check.relations import Block, CheckedQuery, GroupingKey, Once
from privql.diagnostics import refuse
from privql.frozen import frozen
from privql.kernel import rules
from privql.kernel.features import Tally, Total
from privql.kernel.scalars import Field, Scalar, Value, fields
from privql.kernel.stable import Stable
from privql.kernel.sums import Balance, Contribution, Hats, Key, Listed, Powers
from privql.plan.asked import answered
from privql.plan.bounding import Bounds, Limits, bounds_of
from privql.plan.related import Light, PublicRows, Related
from privql.plan.totals import of_units
from privql.plan.weight import FEW, FLAT, PARTS, length_that_fits, not_too_large, rows_that_fit


@frozen
class Lowered:
    stable: Stable
    owned: Stable  # the rows, before they stop being anybody's: whose groups these are
    keys: tuple[Key | Listed, ...]
    contributions: tuple[Contribution, ...]  # what a row of `stable` adds
    bounds: Bounds
    publics: tuple[PublicRows, ...]  # what the engine is handed by name: a relation, and its columns
    unlisted: tuple[tuple[str, Scalar], ...] = ()  # keys whose values nobody listed

    @property
    def rows(self) -> int | None:
        """How many of a unit's rows count, if any number is."""
        return self.bounds.rows

    def over(self, found: Sequence[tuple[Value, ...]]) -> Lowered:
        """The same over the groups that were found."""
        keys = (replace(key, members=tuple(found)) if isinstance(key, Listed) else key for key in self.keys)
        return replace(self, keys=tuple(keys))

    @property
    def grouped(self) -> bool:
        return bool(self.unlisted) or prod(len(key.members) for key in self.keys) > 1


def lower(
    block: Block, contributions: tuple[Contribution, ...], limits: Limits, env: Env, query: CheckedQuery
) -> Lowered:
    """`limits`: the query's, on top of the tables' own."""
    needed = frozenset(produced(block.rel)) if isinstance(block.rel, Once) else frozenset[str]()
    for key in block.keys:
        needed |= fields(key.value)
    for contribution in contributions:
        needed |= _reads(contribution)
    chosen = [one.argument for one in block.aggregates if one.choice is not None and one.argument is not None]
    needed = needed.union(*map(fields, chosen))
    _of_its_own(block, query)
    declared = cache(lambda: _related(block, needed, env, query))
    made, stable = _related(block, needed, env, query, lambda: declared()[0])
    flat = len(made.rows) <= FEW and made.meetings.met == 1
    not_too_large(stable.term, PARTS * FLAT if flat else PARTS, block.span)
    fit = rows_that_fit(stable.term, made.meetings.met, made.public_texts, block.span)
    for light in made.lighter(fit, length_that_fits(made.long_texts, made.meetings.met)):
        made, stable = _related(block, needed, env, query, lambda: declared()[0], light)
        if fit is None or made.fits(fit):
            break
    # as many rows as there would be, had each table been cut to its declared rows at once
    stated = stable.rows if stable.rows == 1 else declared()[1].rows
    rows = [limit for limit in (limits.rows, stated) if limit is not None]
    most = min((limit for limit in (*rows, stable.rows) if limit is not None), default=None) if rows else None
    groups = tuple(key for key in block.keys if not key.bin)
    bounds, keys = bounds_of(stable, groups, most, limits.groups), block.keys
    if not contributions:  # each of a unit's groups is one row in the search for them, and those are kept there
        bounds = replace(bounds, groups=None, how="none")
    if bounds.how != "none":
        open_ = [one.privacy is not None and one.privacy.bounds_auto for one in block.aggregates]
        # a unit has no total of several bins, nor of several candidates
        apart = isinstance(block.rel, Once) or len(groups) < len(keys) or bool(chosen)
        totals = None if apart else of_units(stable, bounds, contributions, open_)
        if totals is not None:
            stable, contributions = totals
            bounds = replace(bounds, how="totals")
            keys = tuple(replace(key, value=Field(key.id, key.type)) for key in keys)
        else:  # last of all, so that rows which a filter drops do not use up a unit's share
            stable = bounds.cut(stable)
    owned = stable
    if isinstance(block.rel, Once):
        stable = rules.once(stable)
    return _grouped(stable, owned, keys, contributions, bounds, tuple(made.publics))


def _of_its_own(block: Block, query: CheckedQuery) -> None:
    """A query that is measured by itself adds up its own columns, not those of a row around it."""
    own = {*produced(block.rel), *dict(query.subqueries)}
    for one in block.aggregates:
        if not own.issuperset(name for term in one.reads for name in fields(term)):
            help = "name a column of the tables in this query's own FROM, or aggregate in the query around"
            raise refuse(
                "PQL0408", "an aggregate of a column of the query around cannot be used yet", one.span, help=help
            )


def rows_within(block: Block, env: Env, query: CheckedQuery) -> Mapping[int, int | None]:
    """How many rows a unit has at most in each relation of a block's tree, by `id`, were each table cut to its
    declared rows at once: what a person reads to see where they grow."""
    needed = frozenset(produced(block.rel)) if isinstance(block.rel, Once) else frozenset[str]()
    needed |= {name for term in _asked(block) for name in fields(term)}
    made, _ = _related(block, needed, env, query)
    return made.rows


def _asked(block: Block) -> list[Scalar]:
    asked = [key.value for key in block.keys]
    return asked + [term for one in block.aggregates for term in one.reads]


def _related(
    block: Block,
    needed: frozenset[str],
    env: Env,
    query: CheckedQuery,
    declared: Callable[[], Related] | None = None,
    light: Light | None = None,
) -> tuple[Related, Stable]:
    """The rows of the block while they are still their units', with what its keys and aggregates ask of them."""
    made = Related(block, env, query, declared, light)
    stable = made.relation(block.rel.input if isinstance(block.rel, Once) else block.rel, needed)
    return made, answered(made, stable, *_asked(block))


def _grouped(
    stable: Stable,
    owned: Stable,
    by: tuple[GroupingKey, ...],
    contributions: tuple[Contribution, ...],
    bounds: Bounds,
    publics: tuple[PublicRows, ...],
) -> Lowered:
    """Where some keys are not listed, these stand together in the place of the first, and hold any one group so far."""
    unlisted = tuple((key.id, key.value) for key in by if key.members is None)
    keys: list[Key | Listed] = []
    for key in by:
        if key.members is not None:
            keys.append(Key(key.value, key.members))
        elif key.id == unlisted[0][0]:
            keys.append(Listed(tuple(value for _, value in unlisted), ((None,) * len(unlisted),)))
    return Lowered(stable, owned, tuple(keys), contributions, bounds, publics, unlisted)


def _reads(contribution: Contribution) -> frozenset[str]:
    read = fields(contribution.where) if contribution.where is not None else frozenset()
    match contribution:
        case Total(steps=steps) | Balance(steps=steps) | Hats(steps=steps):
            return read | fields(steps.value)
        case Powers(factors=factors):
            return read.union(*(fields(steps.value) for steps, _ in factors))
        case Tally():
            return read
