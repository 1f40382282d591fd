"""What is known of a column once a condition is known to hold.

Comparisons of a column with something bounded are understood; what else teaches something is found by trying
(`tried`). A condition can be known TRUE (WHERE, FILTER, a CASE branch taken), or known not to be (the branches after
it), and then it may be NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privql.check.tried import tried
from privql.domains import Domain, finite
from privql.domains.arithmetic import DAY
from privql.kernel.scalars import Apply, Const, Field, Scalar, Value

DomainOf = Callable[[Scalar], Domain]

_FLIP = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NEGATE = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_OF_TIME = {("DATE", "TIMESTAMP"), ("TIMESTAMP", "DATE")}


def facts(condition: Scalar, domain_of: DomainOf, holds: bool = True, or_null: bool = False) -> dict[str, Domain]:
    """What follows from `condition` being TRUE (holds), or being FALSE; `or_null`: or NULL."""
    match condition:
        case Apply(op="not", args=(inner,)):
            return facts(inner, domain_of, not holds, or_null)
        case Apply(op=("and" | "or") as op, args=parts):
            each = [facts(part, domain_of, holds, or_null) for part in parts]
            return _all(each) if (op == "and") == holds else _any(each)
        case Apply(op=("eq" | "ne" | "lt" | "le" | "gt" | "ge") as op, args=(left, right)):
            relation = op if holds else _NEGATE[op]
            found = _all(
                [_compared(left, relation, right, domain_of), _compared(right, _FLIP[relation], left, domain_of)]
            )
            if or_null:
                found = _null_again(found, domain_of, (left, right))
            if found and all(isinstance(side, Const) or _column(side) is not None for side in (left, right)):
                return found
            return _all([found, tried(condition, domain_of, holds, or_null)])
        case Apply(op="in", args=(value, *items)) if all(isinstance(i, Const) for i in items):
            column = _column(value)
            if column is None:
                return tried(condition, domain_of, holds, or_null)
            known, listed = domain_of(column), _before(value, {i.value for i in items if isinstance(i, Const)})
            if listed is None:
                return {}
            kept = _among(known, listed) if holds else known.keep(lambda v: v not in listed)
            found = {column.name: kept}
            return _null_again(found, domain_of, (value, *items)) if or_null else found
        case Apply(op="is_null", args=(value,)):
            column = _column(value)
            if column is None:
                return tried(condition, domain_of, holds, or_null)
            known = domain_of(column)
            return {column.name: finite((), known.nullable, known.grid) if holds else known.with_null(False)}
        case Apply(op="is_true", args=(inner,)):
            return facts(inner, domain_of, holds, not holds)
        case Apply(op="is_false", args=(inner,)):
            return facts(inner, domain_of, not holds, not holds)
        case Field(name=name, type=type) if type.kind == "BOOL":
            kept = domain_of(condition).keep(lambda v: v is holds)
            return {name: kept.with_null(domain_of(condition).nullable and or_null)}
        case Apply():
            return tried(condition, domain_of, holds, or_null)
        case _:
            return {}


def _all(each: list[dict[str, Domain]]) -> dict[str, Domain]:
    out: dict[str, Domain] = {}
    for found in each:
        for id, domain in found.items():
            out[id] = _both(out[id], domain) if id in out else domain
    return out


def _both(a: Domain, b: Domain) -> Domain:
    nullable = a.nullable and b.nullable
    if a.values is not None:
        return a.keep(lambda v: v in b).with_null(nullable)
    if b.values is not None:
        return b.keep(lambda v: v in a).with_null(nullable)
    return a.within(b.low, b.high).with_null(nullable)


def _any(each: list[dict[str, Domain]]) -> dict[str, Domain]:
    common = set.intersection(*(set(found) for found in each)) if each else set()
    out = {}
    for id in common:
        domain = each[0][id]
        for found in each[1:]:
            domain = domain.union(found[id])
        out[id] = domain
    return out


def _column(term: Scalar) -> Field | None:
    """The column that a term is, seen through casts that change no number, or that make a day a moment or back."""
    while isinstance(term, Apply) and term.op == "cast" and (_kinds(term) in _OF_TIME or _widens(term)):
        term = term.args[0]
    return term if isinstance(term, Field) else None


def _widens(cast: Apply) -> bool:
    """Every number is still itself, and none has become NULL. As FLOAT 0.3 is another number."""
    source, target = cast.args[0].type, cast.type
    if target.kind != "DECIMAL" or source.kind not in ("INT", "DECIMAL"):
        return False
    whole = 19 if source.kind == "INT" else source.precision - source.scale
    return target.scale >= source.scale and target.precision - target.scale >= whole


def _kinds(cast: Apply) -> tuple[str, str]:
    return cast.args[0].type.kind, cast.type.kind


def _casts(term: Scalar) -> list[tuple[str, str]]:
    """Between days and moments, the outermost first."""
    found = []
    while isinstance(term, Apply):
        found.append(_kinds(term))
        term = term.args[0]
    return [kinds for kinds in found if kinds in _OF_TIME]


def _before(term: Scalar, values: set[Value]) -> set[Value] | None:
    """The values of a column that are cast to these; None if they are too many to list."""
    for kinds in _casts(term):
        if kinds == ("TIMESTAMP", "DATE"):
            return None
        values = {v // DAY for v in values if isinstance(v, int) and v % DAY == 0}
    if (column := _column(term)) is not None and column.type.kind == "INT":
        return {int(v) for v in values if isinstance(v, (int, Fraction)) and v.denominator == 1}
    return values


def _bounds_before(
    term: Scalar, low: Fraction | None, high: Fraction | None
) -> tuple[Fraction | None, Fraction | None]:
    """Where a column lies that is cast into these bounds: a day is as long as its last moment."""
    for kinds in _casts(term):
        if kinds == ("DATE", "TIMESTAMP"):
            low = None if low is None else Fraction(-(-low // DAY))
            high = None if high is None else Fraction(high // DAY)
        else:
            low = None if low is None else Fraction(math.ceil(low) * DAY)
            high = None if high is None else Fraction(math.floor(high) * DAY + DAY - 1)
    return low, high


def _compared(left: Scalar, relation: str, right: Scalar, domain_of: DomainOf) -> dict[str, Domain]:
    column = _column(left)
    if column is None:
        return {}
    known, other = domain_of(column), domain_of(right)
    if other.empty and not isinstance(right, Const):
        return {}
    listed = None if other.values is None else _before(left, set(other.values))
    if relation == "eq" and listed is not None:
        return {column.name: _among(known, listed)}
    if relation == "ne":
        single = other.only is not None and not other.nullable
        gone = listed if single and listed is not None else set()
        return {column.name: known.keep(lambda v: v not in gone)}
    if column.type.kind in ("TEXT", "BOOL"):
        return {column.name: known.with_null(False)}
    strict = relation in ("lt", "gt")
    moved = _casts(left)
    step = Fraction(1) if moved else known.grid if known.grid is not None else Fraction(0)
    low = other.low if relation in ("eq", "gt", "ge") else None
    high = other.high if relation in ("eq", "lt", "le") else None
    if strict and step:
        # strictly more than b on a grid is at least the next grid point after b
        low = (low // step + 1) * step if low is not None else None
        high = (-(-high // step) - 1) * step if high is not None else None
    return {column.name: known.within(*_bounds_before(left, low, high))}


def _among(known: Domain, listed: set[Value]) -> Domain:
    if known.values is not None:
        return known.keep(lambda v: v in listed)
    return finite([v for v in listed if v is not None and v in known], False, known.grid)


def _null_again(found: dict[str, Domain], domain_of: DomainOf, terms: tuple[Scalar, ...]) -> dict[str, Domain]:
    """The comparison may also be NULL: because this column is, or because another part is and this one is anything."""
    nullable = [term for term in terms if domain_of(term).nullable]
    alone = {None if (column := _column(term)) is None else column.name for term in nullable}
    return {id: domain.with_null(bool(nullable)) for id, domain in found.items() if alone <= {id}}
