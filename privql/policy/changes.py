"""What a version of the policy changes for the loss of a unit: units, tables, columns; then budgets and grants.

Whatever lets more be learned about somebody than the versions before is weaker, and so is what cannot be compared:
another unit, another neighbour. What is enforced in every query - domains, AT MOST - moves accuracy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from privql.domains import number_text
from privql.names import fold
from privql.policy.budget_changes import budget_changes, grant_changes
from privql.policy.catalog import Catalog, Column, Table
from privql.policy.change import Change, Effect, remembered

Named = Callable[[Table, Column], int]  # how many answers were released that name a column
_ORDER: tuple[Effect, ...] = ("weaker", "stronger", "neutral")


def changes(versions: Sequence[Catalog], new: Catalog, named: Named = lambda table, column: 0) -> tuple[Change, ...]:
    """`versions`: all that were in force, the current one last. The first policy of a ledger changes nothing."""
    if not versions:
        return ()
    ever = remembered(versions)
    found = [
        *_units(versions[-1], ever, new),
        *_tables(versions[-1], ever, new, named),
        *budget_changes(versions[-1], ever, new),
        *grant_changes(versions[-1], new),
        *_padding(versions[-1].padded, new.padded),
        *_stated(versions[-1], new),
    ]
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.effect)))


def _units(old: Catalog, ever: Catalog, new: Catalog) -> Iterator[Change]:
    for unit in new.units:
        before = ever.unit(unit.name)
        if before is None:
            yield Change("neutral", f"`{unit.name}` is a unit now", "it starts with nothing lost")
        elif before.change_one != unit.change_one:
            why = (
                f"whether one {unit.name} is in the data at all is no longer hidden"
                if unit.change_one
                else f"a {unit.name} whose rows change may lose twice as much as before"
            )
            what = "differ in what one has" if unit.change_one else "differ in whether one is there"
            counted = "what was lost so far was counted the other way"
            yield Change("weaker", f"neighbours of `{unit.name}` now {what}", f"{why}; {counted}")
    for unit in old.units:
        if new.unit(unit.name) is None:
            left = [t.name for t in old.tables if t.unit == unit and new.table(t.name) is not None]
            why = f"`{left[0]}` is still there" if left else "nothing of it can be asked any more"
            yield Change("weaker" if left else "neutral", f"`{unit.name}` is no unit any more", why)


def _tables(old: Catalog, ever: Catalog, new: Catalog, named: Named) -> Iterator[Change]:
    for table in new.tables:
        before, shared = ever.table(table.name), _same_files(table, ever)
        if not table.private and (was := _published(table, before, shared)) is not None:
            same = fold(was.name) == fold(table.name)
            what = "is public, and was private" if same else f"makes the rows of `{was.name}` public"
            yield Change("weaker", f"`{table.name}` {what}", "everyone may read them as they are", span=table.span)
            continue
        before = before or shared
        if before is None:
            why = f"it is paid for from the budgets of `{table.unit.name}`" if table.unit else "everyone may read it"
            kind = "private" if table.private else "public"
            yield Change("neutral", f"`{table.name}` is a new {kind} table", why, span=table.span)
        elif table.private and not before.private:
            why = "what was read while it was public is known"
            yield Change("stronger", f"`{table.name}` is private, and was public", why, span=table.span)
        else:
            yield from _table(before, table, named)
    for table in old.tables:
        if new.table(table.name) is None:
            yield Change("neutral", f"`{table.name}` is no longer there", "no query can read it")


def _same_files(table: Table, ever: Catalog) -> Table | None:
    """An earlier table over the same rows, by whatever name; a private one first."""
    alike = [each for each in ever.tables if set(_rows_of(each)) & set(_rows_of(table))]
    return next((each for each in alike if each.private), alike[0] if alike else None)


def _rows_of(table: Table) -> tuple[object, ...]:
    return (*table.files, *([table.connection] if table.connection else ()))


def _published(table: Table, before: Table | None, shared: Table | None) -> Table | None:
    """The private table whose rows this public one shows for the first time."""
    if before is not None and before.private:
        return before
    known = before is not None and set(_rows_of(table)) <= set(_rows_of(before))
    return shared if shared is not None and shared.private and not known else None


def _table(before: Table, now: Table, named: Named) -> Iterator[Change]:
    if _whose(before) != _whose(now):
        why = "somebody may be protected less than before, and what was lost under the old unit is not counted"
        what = f"the rows of `{now.name}` belong to {_told(now)}, and belonged to {_told(before)}"
        yield Change("weaker", what, why, span=now.span)
    if set(before.keys) != set(now.keys):
        why = "keys are verified in the data, now and whenever it changes; the noise follows"
        yield Change("neutral", f"the keys of `{now.name}` are others", why, span=now.span)
    if before.at_most != now.at_most:
        counts = [f"{each} rows" if each else "any number of rows" for each in (now.at_most, before.at_most)]
        why = "every query enforces it, and its noise follows"
        what = f"`{now.name}` keeps {counts[0]} of a unit, and kept {counts[1]}"
        yield Change("neutral", what, why, span=now.span)
    if before.parts_by != now.parts_by:
        why = "what was charged to single parts stays charged, to each unit as much as to any of them"
        told = f"divides its units by `{now.parts_by}`" if now.parts_by else "no longer divides its units"
        yield Change("neutral", f"`{now.name}` {told}", why, span=now.span)
    if _rows_of(before) != _rows_of(now):
        why = f"if these are other data, say so: `REFRESH {now.name} AS '…'`"
        yield Change("neutral", f"`{now.name}` is read from {_from(now)}", why, span=now.span)
    for column in now.columns:
        earlier = before.column(column.name)
        if earlier is not None:
            yield from _column(now, earlier, column, named)
        elif fold(before.name) == fold(now.name):
            why = "it may be asked about" if not column.hidden else "no query may name it"
            yield Change("neutral", f"`{now.name}.{column.name}` is a new column", why, span=column.span)


def _column(table: Table, before: Column, now: Column, named: Named) -> Iterator[Change]:
    name = f"`{table.name}.{now.name}`"
    if before.hidden != now.hidden:
        effect: Effect = "stronger" if now.hidden else "weaker"
        what = "hidden now" if now.hidden else "no longer hidden"
        why = "no query may name it" if now.hidden else "queries may ask about it"
        yield Change(effect, f"{name} is {what}", why, span=now.span)
    if before.visible != now.visible:
        effect = "weaker" if now.visible else "stronger"
        what = "visible now" if now.visible else "no longer visible"
        why = "a query may name single units" if now.visible else "a query may no longer name single units"
        yield Change(effect, f"{name} is {what}", why, span=now.span)
    if _declared(before) != _declared(now):
        released = named(table, now)
        kept = f"; {released} released answers name it, and stay as they are" if released else ""
        why = f"every query holds rows to what is declared, and its noise follows{kept}"
        yield Change("neutral", f"{name} is declared otherwise", why, span=now.span)


def _padding(before: Fraction | None, now: Fraction | None) -> Iterator[Change]:
    if before == now:
        return
    weaker = now is None or (before is not None and now < before)
    is_ = "time is no longer padded" if now is None else f"time is padded to {number_text(now)} s"
    was = "and was not" if before is None else f"and was to {number_text(before)} s"
    why = f"{'more' if weaker else 'fewer'} queries show how long they took"
    yield Change("weaker" if weaker else "stronger", f"{is_}, {was}", why)


def _stated(old: Catalog, new: Catalog) -> Iterator[Change]:
    before = dict(old.refreshed)
    for table, label in dict(new.refreshed).items():
        if before.get(table) != label:
            why = "the same queries are paid for anew; budgets do not refill"
            yield Change("neutral", f"the data of `{table}` is stated to be '{label}'", why)
    if _shown(old) != _shown(new):
        yield Change("neutral", "the views are others", "a view shows no more than its tables")


def _shown(catalog: Catalog) -> object:
    return {fold(view.name): (view.columns, view.query) for view in catalog.views}


def _whose(table: Table) -> object:
    return table.unit and (fold(table.unit.name), fold(table.unit_column or ""), tuple(map(fold, table.via)))


def _told(table: Table) -> str:
    assert table.unit is not None
    how = f"by `{table.unit_column}`" if table.unit_column else f"along `{table.via[0]}`" if table.via else "each alone"
    return f"`{table.unit.name}` ({how})"


def _from(table: Table) -> str:
    if table.connection:
        return f"`{'.'.join(table.connection)}`"
    return "other files" if table.files else "a frame"


def _declared(column: Column) -> object:
    return column.type, column.domain, column.grid, column.not_null, column.references, column.values_from
