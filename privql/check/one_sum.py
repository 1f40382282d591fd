"""Counts and sums that stand in a query only added up together: they are measured as one sum.

SUM(a) + 2·SUM(b) - COUNT(*) is the sum of a + 2b - 1 over the rows, NULL adding nothing. One row moves that by no more
than it moves the parts together, L <= Σ|cᵢ|·Lᵢ, and with all of ε on it its deviation is L/ε; were each part measured
with its share of ε, the best shares would make it (Σ (|cᵢ|·Lᵢ)^⅔)^(3/2)/ε, which is never less. So nothing is asked of
the data. What is read off a mean for nothing is left there, as is every part that stands elsewhere, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from privql.check.grouping import Collector
from privql.check.inside import read_inside, replaced, rewritten, terms_in
from privql.check.items import Item
from privql.check.operations import apply, cast
from privql.check.relations import Aggregate, Attribute, Label
from privql.check.typed import Context, Typed, const
from privql.domains import Domain, number_text
from privql.kernel.scalars import INT, Apply, Const, Field, Scalar, ValueType, fields
from privql.syntax import ast

Order = list[tuple[ast.OrderItem, Scalar]]
Linear = dict[str, Fraction]  # of each part, how often it is taken
_MOST = 2**60  # steps of a row: more would make them wider than those of its parts


def added_up(
    items: list[Item], tests: dict[str, Scalar], order: Order, collector: Collector, context: Context
) -> tuple[list[Item], dict[str, Scalar], Order]:
    """The same expressions over one sum instead of several, wherever that is less noisy."""
    parts = {one.id: one for one in collector.measured.values() if _may_be_part(one, collector)}
    if len(parts) < 2 or collector.elements is not None:
        return items, tests, order
    above = [*(item.value.term for item in items), *tests.values(), *(term for _, term in order)]
    above += [term for call in collector.windows for term in terms_in(call)]
    if all(len(fields(term) & parts.keys()) < 2 for term in above):
        return items, tests, order
    known: dict[Scalar, Field] = {}
    for combination in _combinations(above, parts, context):
        made = _one(combination, parts, context)
        if made is not None:
            _instead(made, combination, collector, context)
            known.update({term: Field(made.id, made.type) for term in combination.terms})
    if not known:
        return items, tests, order
    collector.windows = {rewritten(call, known, context): id for call, id in collector.windows.items()}
    return (
        [replace(item, value=replace(item.value, term=replaced(item.value.term, known, context))) for item in items],
        {clause: replaced(term, known, context) for clause, term in tests.items()},
        [(written, replaced(term, known, context)) for written, term in order],
    )


@dataclass(slots=True)
class _Combination:
    """`terms`: all that are the same parts, as often, and of one type."""

    linear: Linear
    type: ValueType
    terms: list[Apply] = field(default_factory=list)


def _may_be_part(one: Aggregate, collector: Collector) -> bool:
    """Not what has a clause of its own, nor what a mean of the query gives for nothing."""
    if one.function not in ("count", "sum") or one.privacy is not None or one.distinct or one.bins is not None:
        return False
    of_mean = ("avg", one.argument, one.where)
    return all((each.function, each.argument, each.where) != of_mean for each in collector.measured.values())


def _combinations(above: Iterable[Scalar], parts: Mapping[str, Aggregate], context: Context) -> list[_Combination]:
    """Those whose parts stand nowhere else: the widest first, then what is left within the others."""
    free = set(parts)
    while True:
        found: dict[tuple[object, ...], _Combination] = {}
        uses: dict[str, set[object]] = {id: set() for id in parts}
        todo = list(above)
        while todo:
            term = todo.pop()
            linear = _linear(term, free)
            if isinstance(term, Apply) and linear is not None and len(linear) > 1 and all(linear.values()):
                key = (tuple(sorted(linear.items())), term.type)
                found.setdefault(key, _Combination(linear, term.type)).terms.append(term)
                for id in linear:
                    uses[id].add(key)
            elif isinstance(term, Apply):
                todo.extend(term.args)
            else:
                for id in read_inside(term, context) & parts.keys():
                    uses[id].add("alone")
        shared = {id for one in found.values() for id in one.linear if len(uses[id]) > 1}
        if not shared:
            return list(found.values())
        free -= shared


def _linear(term: Scalar, free: set[str]) -> Linear | None:
    match term:
        case Field(name=name) if name in free:
            return {name: Fraction(1)}
        case Apply(op="cast", args=(inner,), type=type) if _exact(inner.type, type):
            return _linear(inner, free)
        case Apply(op="neg", args=(inner,)):
            return _times(_linear(inner, free), Fraction(-1))
        case Apply(op="mul", args=(Const(value=factor), inner) | (inner, Const(value=factor))) if _keeps_digits(term):
            if not isinstance(factor, int | float | Fraction):  # but NULL: no constant is infinite
                return None
            return _times(_linear(inner, free), Fraction(factor))
        case Apply(op="add" | "sub" as op, args=(one, other)):
            first, second = _linear(one, free), _times(_linear(other, free), Fraction(1 if op == "add" else -1))
            if first is None or second is None:
                return None
            return {id: first.get(id, Fraction(0)) + second.get(id, Fraction(0)) for id in (*first, *second)}
        case _:
            return None


def _times(linear: Linear | None, factor: Fraction) -> Linear | None:
    return None if linear is None else {id: times * factor for id, times in linear.items()}


def _exact(given: ValueType, taken: ValueType) -> bool:
    """A cast that is the same for a sum as for what is summed: it rounds nothing, and has room for what there is."""
    if taken.kind == "DECIMAL":
        digits = {"INT": 19, "DECIMAL": given.precision - given.scale}.get(given.kind)
        return digits is not None and given.scale <= taken.scale and digits <= taken.precision - taken.scale
    return taken.kind == "FLOAT"


def _keeps_digits(product: Scalar) -> bool:
    """Whether nothing is rounded, as it would be in every row."""
    if not isinstance(product, Apply) or product.type.kind != "DECIMAL":
        return True
    return product.type.scale == sum(factor.type.scale for factor in product.args)


def _one(combination: _Combination, parts: Mapping[str, Aggregate], context: Context) -> Aggregate | None:
    """Their sum as one, unless a row's value would not fit where the parts' do."""
    of = [parts[id] for id in combination.linear]
    conditions = {one.where for one in of}
    common = of[0].where if len(conditions) == 1 else None
    rows = {one.id: _of_row(one, len(conditions) > 1) for one in of}
    row = _row(combination.terms[0], rows)
    known = row.domain
    alike = (row.type.kind, row.type.scale) == (combination.type.kind, combination.type.scale)
    if not alike or known.nullable or known.low is None or known.high is None:
        return None
    if known.grid is not None and max(abs(known.low), abs(known.high)) / known.grid > _MOST:
        return None
    first, last = min(one.span for one in of), max(one.span for one in of)
    return Aggregate(
        context.fresh(),
        "sum",
        row.term,
        row.domain,
        row.type,
        common,
        combination.type,
        _said(combination.linear, parts),
        first.to(last),
        combined=True,
    )


def _of_row(one: Aggregate, tested: bool) -> Typed:
    """What one row adds to a part: 0 where it does not count."""
    nothing = const(0, INT, one.span)
    value = const(1, INT, one.span)
    if one.argument is not None:
        value = Typed(one.argument, one.domain, one.span)
        if one.domain.nullable:
            value = apply("coalesce", [value, nothing], one.span)
    if not tested or one.where is None:
        return value
    return apply("case", [Typed(one.where, Domain(), one.span), value, nothing], one.span)


def _row(term: Scalar, rows: Mapping[str, Typed]) -> Typed:
    """The combination of what a row adds to each part."""
    match term:
        case Field(name=name):
            return rows[name]
        case Const(value=value, type=type):
            return const(value, type, next(iter(rows.values())).span)
        case Apply(op="cast", args=(inner,), type=type):
            made = _row(inner, rows)
            return cast(made, type, made.span) if made.type.kind != type.kind else made
        case Apply(op=op, args=args):
            made_of = [_row(arg, rows) for arg in args]
            return apply(op, made_of, made_of[0].span)


def _instead(made: Aggregate, combination: _Combination, collector: Collector, context: Context) -> None:
    """Where the first of its parts was measured."""
    out: dict[tuple[object, ...], Aggregate] = {}
    for key, one in collector.measured.items():
        if one.id not in combination.linear:
            out[key] = one
        elif made.id not in (each.id for each in out.values()):
            out["combined", made.id] = made
    collector.measured = out
    grid = None if made.type.kind == "FLOAT" else made.domain.grid
    answer = Domain(None, None, None, False, grid)
    context.add(Attribute(made.id, made.function, made.type, answer, Label.RELEASED))


def _said(linear: Linear, parts: Mapping[str, Aggregate]) -> str:
    out = ""
    for id, times in linear.items():
        sign = "-" if times < 0 else "+"
        often = "" if abs(times) == 1 else f"{number_text(abs(times))} * "
        out += (f" {sign} " if out else "-" if times < 0 else "") + often + parts[id].text
    return out
