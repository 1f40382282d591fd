"""What an operation takes and gives: signatures, implicit casts, literals that take their partner's type, domains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from privql.check import constants
from privql.check.misfits import misfit
from privql.check.narrow import facts
from privql.check.typed import Place, Typed, const
from privql.diagnostics import Fix, PrivQLError, Span, refuse
from privql.domains import Domain, finite
from privql.domains.arithmetic import span as ends
from privql.functions.scalar import evaluate, infer, objection, resolve, signatures
from privql.kernel.scalars import BOOL, DATE, Apply, Const, Value, ValueType

MOST_OPERATIONS = 4000
_TRUTHS = {"0": "FALSE", "1": "TRUE"}
_DAY = re.compile(r"'\d{4}-\d\d-\d\d'", re.ASCII)


_SAME_TYPED = frozenset(
    {
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "is_distinct",
        "in",
        "case",
        "coalesce",
        "nullif",
        "greatest",
        "least",
        "clamp",
        "add",
        "sub",
        "mul",
        "div",
        "int_div",
        "mod",
        "if",
    }
)


def apply(op: str, args: Sequence[Typed], span: Span, name: str | None = None) -> Typed:
    """The operation on these arguments, cast to what it takes."""
    args = agree(op, args)
    values: tuple[Value, ...] = tuple(a.term.value if isinstance(a.term, Const) else None for a in args)
    resolved = resolve(op, tuple(a.type for a in args), values)
    if resolved is None:
        timed = misfit(op, args, span)
        if timed is not None:
            raise timed
        wrong = objection(op, values)
        if wrong is not None:
            raise refuse("PQL0302", wrong, span, help="correct this argument")
        shown = name or _symbol(op)
        given = ", ".join(str(a.type) for a in args)
        taken_types = signatures(op)
        meant = _meant(op, args, values)
        alike = ", where every T is the same type" if re.search(r"\bT\b", taken_types) else ""
        raise refuse(
            "PQL0301",
            f"`{shown}` does not take ({given})",
            span,
            why=f"`{shown}` takes {taken_types}{alike}",
            help="write " + " and ".join(f"`{fix.text}` for `{said}`" for said, fix in meant)
            if meant
            else "cast an argument, `CAST(x AS …)`, or correct it",
            fixes=tuple(fix for _, fix in meant),
        )
    taken = [coerce(a, t) for a, t in zip(args, resolved.arg_types, strict=True)]
    if all(a.constant for a in taken):
        known = tuple(a.term.value for a in taken if isinstance(a.term, Const))
        return const(evaluate(resolved.op, resolved.arg_types, resolved.result, known), resolved.result, span)
    if resolved.op == "clamp" and _within(*taken):
        return replace(taken[0], span=span)
    size = sized(taken, span)
    domain = infer(resolved.op, resolved.arg_types, resolved.result, tuple(a.domain for a in taken))
    return Typed(Apply(resolved.op, tuple(a.term for a in taken), resolved.result), domain, span, size=size)


def _within(value: Typed, least: Typed, most: Typed) -> bool:
    """Whether no value meets this clamp: all that is known of it stays known without, branches and steps too."""
    if not (least.constant and most.constant):
        return False
    (low, high), (_, floor), (top, _) = ends(value.domain), ends(least.domain), ends(most.domain)
    return floor <= low and high <= top


def _meant(op: str, args: Sequence[Typed], values: tuple[Value, ...]) -> list[tuple[str, Fix]]:
    """Days that are written as texts, and truths as numbers: a function does not guess that they are meant as such."""
    told = (f"'{a.text}'" if a.text is not None else str(v) for a, v in zip(args, values, strict=True))
    # a parameter is longer or shorter than its value: what it is bound to is no edit of the query
    said = [old if len(old) == a.span.end - a.span.start else "" for old, a in zip(told, args, strict=True)]
    days = [f"DATE {old}" if _DAY.fullmatch(old) else "" for old in said]
    truths = [_TRUTHS.get(old, "") for old in said]
    for type, texts in (DATE, days), (BOOL, truths):
        types = tuple(type if text else a.type for a, text in zip(args, texts, strict=True))
        if any(texts) and resolve(op, types, values) is not None:
            return [(old, Fix(a.span, text)) for old, a, text in zip(said, args, texts, strict=True) if text]
    return []


def negated(value: Typed, negates: bool) -> Typed:
    return apply("not", [value], value.span) if negates else value


def sized(parts: Sequence[Typed], span: Span) -> int:
    """Nested BETWEEN and CASE double what they hold with each level: a short text could mean a million operations."""
    size = 1 + sum(part.size for part in parts)
    if size > MOST_OPERATIONS:
        raise refuse(
            "PQL0104",
            f"this expression has more than {MOST_OPERATIONS} operations",
            span,
            why="BETWEEN and CASE x WHEN repeat their operand, so nesting them doubles it each time",
            help="compute the operand in a subquery, `FROM (SELECT … AS x FROM t)`, and use `x`",
        )
    return size


def coerce(value: Typed, type: ValueType) -> Typed:
    """The value as `type`: by an implicit cast, as a literal, or as a NULL or parameter without a type of its own."""
    if value.type == type:
        return value
    if value.free or value.type.kind == "NULL":
        return Typed(Const(None, type), value.domain, value.span, free=value.free)
    if value.text is not None:
        return constants.literal(value.text, type, value.span)
    return cast(value, type, value.span)


def cast(value: Typed, type: ValueType, span: Span) -> Typed:
    if isinstance(value.term, Const):
        return const(evaluate("cast", (value.type,), type, (value.term.value,)), type, span)
    domain = infer("cast", (value.type,), type, (value.domain,))
    return Typed(Apply("cast", (value.term,), type), domain, span, size=sized([value], span))


def agree(op: str, args: Sequence[Typed]) -> Sequence[Typed]:
    """String literals beside something typed are read as that type."""
    if op not in _SAME_TYPED or not any(a.text is not None for a in args):
        return args
    partner = next((a.type for a in args if a.text is None and a.type.kind not in ("NULL", "BOOL", "INTERVAL")), None)
    if partner is None and op in ("eq", "ne", "in", "is_distinct", "coalesce", "nullif"):
        partner = next((a.type for a in args if a.text is None and a.type.kind == "BOOL"), None)
    if partner is None or partner.kind == "TEXT":
        return args
    return [constants.literal(a.text, partner, a.span) if a.text is not None else a for a in args]


def known_from(value: Typed, place: Place, holds: bool = True, or_null: bool = False) -> dict[str, Domain]:
    return facts(value.term, lambda term: place.context.domain_of(term, place.facts), holds, or_null)


def branches(test: Typed, place: Place) -> tuple[Typed, Place, Place]:
    """A test, and where it holds and where it does not; it has no other answer where no row gets to one of them."""
    holds, fails = known_from(test, place), known_from(test, place, holds=False, or_null=True)
    never, always = (any(one.impossible for one in known.values()) for known in (holds, fails))
    if always and not never:
        test = replace(test, domain=finite((True,), False))
    elif never and not always:
        test = replace(test, domain=finite((False,), test.domain.nullable))
    return test, place.knowing(holds), place.knowing(fails)


def not_yet(what: str, span: Span, help: str = "") -> Exception:
    return refuse("PQL0408", f"{what} cannot be used yet", span, why="this version does not accept it", help=help)


def _symbol(op: str) -> str:
    return next((symbol for symbol, name in OPERATORS.items() if name == op), op.upper())


OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "int_div",
    "%": "mod",
    "^": "power",
    "||": "concat",
    "&": "bits_and",
    "|": "bits_or",
    "<<": "shift_left",
    ">>": "shift_right",
    "=": "eq",
    "<>": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "AND": "and",
    "OR": "or",
}


VOLATILE = frozenset(
    {"random", "rand", "setseed", "now", "current_date", "current_time", "current_timestamp", "localtime"}
    | {"localtimestamp", "today", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday"}
    | {"gen_random_uuid", "uuid", "nextval"}
)


def volatile(name: str, span: Span) -> PrivQLError:
    return refuse(
        "PQL0410",
        f"`{name}` gives another answer each time",
        span,
        why="a query's cost and its replay rest on its text alone",
        help="write the value, or bind a parameter",
    )
