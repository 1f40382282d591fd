"""One SELECT: its clauses in the order in which SQL gives them meaning, and the cut where it measures private rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privql.check.above import above, windowed
from privql.check.around import beside_around, grouped_by, in_sight, reads
from privql.check.beside import arranged, rows_per_unit
from privql.check.calls import aggregates_in
from privql.check.conditions import conjuncts
from privql.check.correlated import by_form, by_number
from privql.check.cut import cut, row_function
from privql.check.expressions import condition
from privql.check.grouping import Collector
from privql.check.items import items_of
from privql.check.keys import every_key, finish_keys, grouping_sets, tell_the_unit, tied_key
from privql.check.lists import nowhere_else
from privql.check.named import private
from privql.check.one_sum import added_up
from privql.check.operations import known_from, not_yet
from privql.check.private_rows import no_unit, private_rows, values_of
from privql.check.relations import (
    Columns,
    Gathered,
    Grouped,
    Rel,
    Where,
)
from privql.check.rollup import rolled_up
from privql.check.scope import Scope
from privql.check.sources import sources
from privql.check.subqueries import of_nothing, outer_ids, tie, tie_groups, untied
from privql.check.tail import Tail, ordered
from privql.check.typed import Context, Place, Typed
from privql.diagnostics import Diagnostic, Span
from privql.domains import Domain, finite, grid_of
from privql.kernel.scalars import BOOL, Apply, Const, Field, Scalar
from privql.names import fold
from privql.syntax import ast


def select(node: ast.Select, tail: Tail, context: Context, outer: Scope) -> tuple[Rel, Columns]:
    rel, scope = sources(node.relations, context, outer)
    windows = {fold(name): window for name, window in node.windows}
    scope = replace(scope, windows=windows)
    place = Place(context, scope)
    facts: Mapping[str, Domain] = {}
    secret = private(rel)
    tied: list[Scalar] = []
    where: Scalar | None = None
    grouped = bool(
        node.group
        or node.group_all
        or node.having is not None
        or any(aggregates_in((node.items, node.qualify, tail.order)))
    )
    frame = context.correlations[-1] if context.correlations and context.correlations[-1].select is node else None
    formed = frame is not None and by_form(node, tail, scope, grouped, frame)
    if frame is not None and formed:
        frame.inner = scope
    named = {fold(item.alias): item.expr for item in node.items if item.alias}
    test = condition(node.where, replace(place, clause="WHERE", not_yet=named)) if node.where is not None else None
    row: Field | None = None  # the number of the row around that this query is answered for
    if frame is not None and by_number(formed, test, secret, grouped, frame, context):
        rel, row = beside_around(rel, frame, context)
        secret = True
    if test is not None:
        if row is None:
            test, tied = untied(test, node, scope, secret, context)
        where = row_function(test, context).term if secret else test.term
        facts = known_from(test, place)
        if secret:
            _note_if_none_pass(facts, test.span, context)
        context.domains.update({id: d for id, d in facts.items() if id not in outer_ids(scope)})
    if secret:
        rel = arranged(rel, where, node, scope if row is None else in_sight(scope), context)
    elif where is not None:
        rel = Where(rel, where)
    place = replace(place, facts=facts)
    collector = Collector(context, place, secret, grouped)
    sets = every_key(node, collector) if node.group_all else grouping_sets(node, collector)
    pairs = tie_groups(tied, node, scope, node.span) if grouped and tied else []
    around = [(outside, tied_key(inner, node.span, collector)) for outside, inner in pairs]
    number = tied_key(row, node.span, collector) if grouped and row is not None else None
    if number is not None and len(sets) > 1:
        raise not_yet("GROUPING SETS in a query answered for each row", node.span, "group by the same keys")
    if around or number is not None:
        sets = (tuple(range(len(collector.keys))),)
    if secret:
        collector.gathered = number is not None or tell_the_unit(collector)
        collector.rows_per_unit = rows_per_unit(rel, context)
    listed = _listed_values(where)
    for at, key in enumerate(collector.keys):
        if key.value.term in listed:
            collector.keys[at] = replace(key, value=replace(key.value, domain=listed[key.value.term]))
    if collector.gathered and len(sets) > 1:
        raise not_yet("GROUPING SETS with the unit among the keys", node.span, "group by the unit alone")
    finish_keys(collector, sets)
    over = replace(place, collector=collector, clause="SELECT")
    items = [
        replace(item, value=replace(item.value, domain=listed[item.value.term])) if item.value.term in listed else item
        for item in items_of(node, over, collector)
    ]
    aliases = {fold(item.name): item.value for item in reversed(items)}
    later = replace(over, aliases=aliases)
    tests: dict[str, Scalar] = {}
    for clause, written in (("HAVING", node.having), ("QUALIFY", node.qualify)):
        if written is not None:
            tests[clause] = collector.above(condition(written, replace(later, clause=clause))).term
    for clause, term in tests.items():
        nowhere_else(reads(term, context), collector, clause)
    order = ordered(tail, items, replace(later, clause="ORDER BY", alias_rule="first"), collector)

    nowhere_else(reads(tuple(collector.windows), context), collector, "a window")
    if secret and frame is None and not collector.gathered:
        items, tests, order = added_up(items, tests, order, collector, context)
    if tail.per_unit and not (secret and (collector.gathered or not grouped)):
        raise no_unit(node.span)
    if secret and not grouped:
        rel = windowed(rel, tests, collector, row)
        made, columns = private_rows(node, tail, rel, items, order, context, row)
        return (tie(made, [], tied, scope, node.span, context) if tied else made), columns
    if collector.gathered:
        keys = tuple((one.id, one.value.term) for one in collector.keys)
        split = [context.attributes[id] for id, _ in keys]
        listed_keys = values_of([one for one in split if one.unit is None], context)
        rel = Gathered(rel, keys, tuple(collector.features.values()), listed_keys)
        if frame is not None and row is not None and number is not None:
            above_it = [item.value.term for item in items], tests.values(), [term for _, term in order]
            read = reads((*(term for terms in above_it for term in terms), *collector.windows), context)
            rel = grouped_by(row, rel, number, not (node.group or node.group_all), read, frame)
        if "HAVING" in tests:
            rel = Where(rel, row_function(Typed(tests["HAVING"], Domain(), node.span), context).term)
        rel = windowed(rel, tests, collector, row)
        made, columns = private_rows(node, tail, rel, items, order, context, row)
    else:
        if secret:
            rel = (
                rolled_up(rel, node, collector, sets, context)
                if collector.rolled_up
                else cut(rel, node, collector, context)
            )
        elif grouped:
            rel = Grouped(
                rel,
                tuple((key.id, key.value.term) for key in collector.keys),
                tuple((id, call) for call, id in collector.exact.items()),
                sets,
                tuple((id, at) for at, id in collector.groupings.items()),
            )
        made, columns = above(node, tail, rel, items, order, tests, collector, context)
    if tied:
        made = tie(made, around, [] if grouped else tied, scope, node.span, context)
    if around:
        counts = {a.id for a in (*collector.measured.values(), *collector.features.values()) if a.function == "count"}
        counts |= {id for call, id in collector.exact.items() if call.function == "count"}
        others = {a.id for a in (*collector.measured.values(), *collector.features.values())} | set(
            collector.exact.values()
        )
        frame = context.correlations[-1]
        frame.one = "HAVING" not in tests
        if not frame.one and of_nothing(tests["HAVING"], counts, others, node.span) == Const(True, BOOL):
            raise not_yet("in a query for each row a HAVING that holds of no rows", node.span, "ask for that outside")
        if frame.one and len(items) == 1:
            frame.default = of_nothing(items[0].value.term, counts, others, node.span)
    return made, columns


def _note_if_none_pass(facts: Mapping[str, Domain], span: Span, context: Context) -> None:
    """A misspelt value is paid for like any other, and its numbers look like an answer."""
    for id, left in facts.items():
        known = context.column_domain(id)
        if left.impossible and not known.empty and id in context.attributes:
            column = context.attributes[id]
            context.notes.append(
                Diagnostic(
                    "PQL0409",
                    "no row passes this condition",
                    span,
                    severity="note",
                    why=f"`{column.name}` is in {known.describe(column.type)}",
                    help="correct the condition: what is measured here is noise around 0",
                )
            )
            return


def _listed_values(condition: Scalar | None) -> dict[Scalar, Domain]:
    """Expressions whose values WHERE lists: `SUBSTRING(phone, 1, 2) IN ('13', '31')`."""
    out: dict[Scalar, Domain] = {}
    for part in conjuncts(condition):
        match part:
            case Apply(op="in" | "eq", args=(Apply() as value, *items)) if all(isinstance(i, Const) for i in items):
                members = [item.value for item in items if isinstance(item, Const)]
                out[value] = finite(members, False, grid_of(value.type))
    return out
