"""Queries inside expressions: as values of public and released rows, and beside a row of private ones.

Beside private rows such a query is taken apart: what it has to do with the row around it - conditions of its WHERE - is
stated beside it, so that it can be a join. One that reads private rows itself must be of the same unit as the row
around it, unless it is a release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from privql.check.around import beside_private, each, names_outside, seen_from_inside, seen_from_outside
from privql.check.columns import produced
from privql.check.conditions import both, conjuncts
from privql.check.inside import read_inside, replaced
from privql.check.named import private
from privql.check.opaque import alike
from privql.check.operations import OPERATORS, apply, not_yet
from privql.check.relations import Attribute, Compute, Each, Label, Rel, Subquery, SubqueryKind, Where
from privql.check.repairs import not_this_units
from privql.check.scope import Scope
from privql.check.typed import Asked, Context, Correlation, Place, Typed, const
from privql.diagnostics import Span, refuse
from privql.domains import Domain
from privql.functions.scalar import evaluate_term
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar, fields
from privql.syntax import ast, unparse


def subquery(
    kind: SubqueryKind, query: ast.Query, place: Place, span: Span, operand: Typed | None = None, op: str = "="
) -> Typed:
    context = place.context
    asked = kind, operand.term if operand else None, op, unparse(query), id(place.scope)
    if asked not in context.asked:  # a query written twice is one: so it is found among the group keys, too
        context.asked[asked] = place.scope, _subquery(kind, query, place, span, operand, op)
    found = context.asked[asked][1]
    if operand is None:
        return replace(found.value, span=span)
    if found.of_known and operand.domain.nullable:  # what was known of it there may not be known here
        raise not_this_units(query, place.scope, span, False, context)
    if found.one:  # of one row, IN and ANY and ALL ask what a comparison does
        return apply(OPERATORS["<>" if op == "!=" else op], [operand, replace(found.value, span=span)], span)
    return replace(found.value, span=span)


def _subquery(kind: SubqueryKind, query: ast.Query, place: Place, span: Span, operand: Typed | None, op: str) -> Asked:
    from privql.check.query import query as checked  # queries are made of expressions, and expressions of queries

    context = place.context
    above = place.collector
    tied = Correlation(query.body, released=above is not None and above.grouped and above.label is not Label.PRIVATE)
    around = place.scope if tied.released else seen_from_inside(place.scope, tied, context)
    context.correlations.append(tied)
    rel, columns = checked(query, context, around)
    context.correlations.pop()
    if kind != "exists" and len(columns) != 1:
        raise refuse(
            "PQL0303", f"this query has {len(columns)} columns where one is wanted", span, help="select one column"
        )
    if kind == "exists" and tied.one:  # whether any row matches or none
        return Asked(const(True, BOOL, span))
    column = columns[0] if columns else None
    if kind != "exists":
        assert column is not None
        tested = context.attributes.get(operand.term.name) if operand and isinstance(operand.term, Field) else None
        alike(column, tested, span)
        if operand is not None and tied.one:
            kind, operand = "scalar", None
        elif operand is not None:
            rel, column = _comparable(rel, column, operand, span, context)
    if tied.row is not None:
        rel = each(rel, tied, context)
        tied = replace(tied, on=[(Field(rel.number, INT), Field(rel.row, INT))])
    else:
        rel, tied = seen_from_outside(rel, tied, context), _outside(tied, context)
    one, of_known = tied.one, False
    if private(rel) and not isinstance(rel, Each) and not _of_one_unit(tied.on, context):
        of_known = _by_what_is_known(kind, op, operand, column, context)
        if not of_known:
            raise not_this_units(query, place.scope, span, kind == "exists", context)
    if kind == "exists":
        result, domain = BOOL, const(True, BOOL, span).domain.union(const(False, BOOL, span).domain)
    elif kind == "scalar":
        assert column is not None
        result, domain = column.type, context.column_domain(column.id).with_null()
        if tied.default is not None:
            domain = domain.union(context.domain_of(tied.default, {}))
    else:
        assert column is not None and operand is not None
        operand = replace(operand, term=_met(operand, column, span)[0])
        result, domain = BOOL, const(True, BOOL, span).domain.union(const(False, BOOL, span).domain).with_null()
    otherwise: Scalar | None = None
    if tied.released or not beside_private(place.scope, context):
        otherwise = tied.default
        rel, tied = _tied_again(rel, tied), Correlation(None)
    id = context.fresh()
    context.subqueries[id] = Subquery(
        kind,
        rel,
        column.id if column else None,
        operand.term if operand else None,
        op,
        tuple(tied.on),
        both(tied.where),
        tied.default,
    )
    label = max((context.attributes[c.id].label for c in columns), default=Label.RELEASED)
    context.add(Attribute(id, kind, result, domain, label, span=span))
    if otherwise is None:
        return Asked(Typed(Field(id, result), domain, span), one, of_known)
    found = context.add(Attribute(context.fresh(), "exists", BOOL, Domain(), label, span=span)).id
    context.subqueries[found] = Subquery("exists", rel, None)
    value = Typed(Apply("case", (Field(found, BOOL), Field(id, result), otherwise), result), domain, span)
    return Asked(value, one, of_known)


def _outside(tied: Correlation, context: Context) -> Correlation:
    known = names_outside(tied)
    return replace(
        tied,
        on=[(replaced(outside, known, context), inner) for outside, inner in tied.on],
        where=[replaced(part, known, context) for part in tied.where],
    )


def _tied_again(rel: Rel, tied: Correlation) -> Rel:
    """A release beside rows that anybody may know: it is one query for all of them, and each looks for its group."""
    ties = [*(Apply("eq", pair, BOOL) for pair in tied.on), *tied.where]
    condition = both(ties)
    return rel if condition is None else Where(rel, condition)


def _comparable(rel: Rel, column: Attribute, operand: Typed, span: Span, context: Context) -> tuple[Rel, Attribute]:
    """The query with its column in the type in which the two are compared."""
    there = _met(operand, column, span)[1]
    if there == Field(column.id, column.type):
        return rel, column
    if column.locates is not None:  # through a type that rounds, two units would be one
        help = f"compare it with what is {column.type}, too"
        raise refuse("PQL0301", f"{operand.type} is compared with a query of {column.type}", span, help=help)
    domain = context.domain_of(there, {})
    cast = context.add(replace(column, id=context.fresh(), type=there.type, domain=domain))
    kept = ((id, Field(id, type)) for id, type in produced(rel).items())
    return Compute(rel, (*kept, (cast.id, there))), cast


def _met(operand: Typed, column: Attribute, span: Span) -> tuple[Scalar, Scalar]:
    met = apply("eq", [operand, Typed(Field(column.id, column.type), column.domain, span)], span)
    assert isinstance(met.term, Apply)
    here, there = met.term.args
    return here, there


def _of_one_unit(pairs: Iterable[tuple[Scalar, Scalar]], context: Context) -> bool:
    """Whether what must be equal tells the unit, on both sides."""
    places = [(located(outside, context), located(inner, context)) for outside, inner in pairs]
    return any(here is not None and here == there for here, there in places)


def _by_what_is_known(
    kind: SubqueryKind, op: str, operand: Typed | None, column: Attribute | None, context: Context
) -> bool:
    """IN and = ANY ask for an equality, too, and only rows of the same unit decide - but where either side may be NULL:
    then the rows of all units do."""
    if kind not in ("in", "any") or op != "=":
        return False
    assert operand is not None and column is not None
    known = not context.column_domain(column.id).nullable
    return known and _of_one_unit([(operand.term, Field(column.id, column.type))], context)


def located(term: Scalar, context: Context) -> str | None:
    return context.attributes[term.name].locates if isinstance(term, Field) else None


# ---------------------------------------------------------------- inside: conditions on the row around


def untied(
    condition: Typed, select: ast.Select, scope: Scope, secret: bool, context: Context
) -> tuple[Typed, list[Scalar]]:
    """The condition without those of its parts that read columns around this SELECT, and those parts: where the rows
    around are private, or its own are."""
    own = {column.id for column in scope.every_column()}
    outside = outer_ids(scope) - own
    parts = conjuncts(condition.term)
    around = {part: read_inside(part, context) & outside for part in parts}
    known = context.correlations[-1].private if context.correlations else set()  # private rows around, in this query
    tied = [part for part in parts if around[part] and (secret or around[part] & known)]
    if not tied:
        return condition, []
    if not context.correlations or context.correlations[-1].select is not select:
        raise not_yet("a query that reads private columns from further around", condition.span, "join instead")
    if any(fields(part) & context.subqueries.keys() for part in tied):
        raise not_yet("a query within a correlated query over private rows", condition.span, "join instead")
    rest = [part for part in parts if part not in tied]
    return replace(condition, term=both(rest) or Const(True, BOOL)), tied


def tie_groups(tied: Sequence[Scalar], select: ast.Select, scope: Scope, span: Span) -> list[tuple[Scalar, Scalar]]:
    """Of an aggregating query, what is equal outside and inside: the inside becomes a group key."""
    outside = outer_ids(scope)
    if select.group or select.group_all:
        raise not_yet("GROUP BY in a correlated query beside private rows", span, "join instead")
    pairs: list[tuple[Scalar, Scalar]] = []
    for part in tied:
        pair = _tied(part, outside)
        if pair is None:
            raise not_yet(
                "a correlated aggregate whose condition is no equality", span, "join, and aggregate with GROUP BY"
            )
        pairs.append(pair)
    return pairs


def tie(
    rel: Rel, on: Sequence[tuple[Scalar, Scalar]], rest: Sequence[Scalar], scope: Scope, span: Span, context: Context
) -> Rel:
    """The query with the columns that its ties to the row around need; the ties stand in the correlation."""
    if not isinstance(rel, Compute):
        raise not_yet("DISTINCT, ORDER BY or LIMIT in a correlated query over private rows", span, "leave it out")
    frame, extra = context.correlations[-1], dict[str, Scalar]()
    outside = outer_ids(scope)

    def kept(inner: Scalar) -> Field:
        id = context.fresh()
        source = context.attributes.get(inner.name) if isinstance(inner, Field) else None
        label = context.label(inner)
        context.add(
            Attribute(
                id, "", inner.type, context.domain_of(inner, {}), label, locates=source.locates if source else None
            )
        )
        extra[id] = inner
        return Field(id, inner.type)

    for around, inner in on:
        frame.on.append((around, kept(inner)))
    for part in rest:
        pair = _tied(part, outside)
        if pair is not None:
            frame.on.append((pair[0], kept(pair[1])))
        else:
            own = {id: Field(id, context.attributes[id].type) for id in fields(part) - outside}
            known: dict[Scalar, Field] = {column: kept(column) for column in own.values()}
            frame.where.append(replaced(part, known, context))
    return Compute(rel.input, (*rel.columns, *extra.items()))


def _tied(part: Scalar, outside: set[str]) -> tuple[Scalar, Scalar] | None:
    """Of an equality of a value outside with one inside: the two, in this order."""
    if isinstance(part, Apply) and part.op == "eq":
        for one, other in (part.args, part.args[::-1]):
            if fields(one) <= outside and not fields(other) & outside:
                return one, other
    return None


def of_nothing(value: Scalar, counts: set[str], others: set[str], span: Span) -> Scalar | None:
    """What a correlated aggregate is where no row matches: counts are 0, all else is NULL."""
    read = fields(value)
    if not read <= counts | others:
        raise not_yet(
            "another query, or a column, beside a correlated aggregate over private rows", span, "join instead"
        )
    row = {id: 0 if id in counts else None for id in read}
    found = evaluate_term(value, row)
    return None if found is None else Const(found, value.type)


def outer_ids(scope: Scope) -> set[str]:
    return {column.id for around in scope.around() for column in around.every_column()}
