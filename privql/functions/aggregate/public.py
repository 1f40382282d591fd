"""Aggregates and window functions over public and released rows: which there are, their types and domains.

Nothing is measured here - such rows are free, and SQL's own meaning holds, made total: what would overflow is NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from privql.domains import Domain, interval, whole
from privql.frozen import frozen
from privql.functions.scalar.declare import converts
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, ValueType, decimal

Types = tuple[ValueType, ...]
Typing = Callable[[Types], tuple[Types, ValueType] | None]
DomainRule = Callable[[tuple[Domain, ...]], Domain]

_ONE = Fraction(1)


@frozen
class Declared:
    """`names[0]` is what the typed tree calls the function; the others mean the same in a query."""

    names: tuple[str, ...]
    typing: Typing
    domain: DomainRule
    constant: int | None = None  # the argument that must be a constant


def resolve_aggregate(name: str, types: Types, distinct: bool) -> tuple[str, Types, ValueType] | None:
    """The function meant, the types its arguments are cast to, and the type of its result; None if there is none."""
    if distinct and not types:
        return None
    return _resolve(_AGGREGATES, name, types)


def resolve_window(name: str, types: Types) -> tuple[str, Types, ValueType] | None:
    """The same for a function that is one of windows only."""
    return _resolve(_WINDOWS, name, types)


def aggregate_domain(function: str, domains: tuple[Domain, ...]) -> Domain:
    """Where the result of a resolved function lies, arguments being in these domains."""
    return (_AGGREGATES.get(function) or _WINDOWS[function]).domain(domains)


def constant_argument(function: str) -> int | None:
    """The index of the argument that must be a constant: a separator, or a quantile between 0 and 1."""
    return (_AGGREGATES.get(function) or _WINDOWS[function]).constant


def _resolve(table: dict[str, Declared], name: str, types: Types) -> tuple[str, Types, ValueType] | None:
    declared = table.get(name)
    found = declared.typing(types) if declared is not None else None
    return None if declared is None or found is None else (declared.names[0], *found)


# ---------------------------------------------------------------- typing


def _fixed(arguments: Types, result: ValueType) -> Typing:
    def typing(types: Types) -> tuple[Types, ValueType] | None:
        if len(types) == len(arguments) and all(map(converts, types, arguments)):
            return arguments, result
        return None

    return typing


def _count(types: Types) -> tuple[Types, ValueType] | None:
    return (types, INT) if len(types) <= 1 else None


def _sum(types: Types) -> tuple[Types, ValueType] | None:
    match types:
        case (ValueType(kind="INT" | "NULL"),):
            return (INT,), INT
        case (ValueType(kind="DECIMAL", scale=scale),):
            return types, decimal(38, scale)
        case (ValueType(kind="FLOAT"),):
            return types, FLOAT
        case _:
            return None


def _avg(types: Types) -> tuple[Types, ValueType] | None:
    """INT and DECIMAL stay what they are, so that their sum is exact."""
    found = _sum(types)
    return None if found is None else (found[0], FLOAT)


def _same(*further: ValueType, least: int = 1) -> Typing:
    """The first argument's type comes back; from `least` arguments on, further ones may be left out."""

    def typing(types: Types) -> tuple[Types, ValueType] | None:
        if not least <= len(types) <= 1 + len(further) or types[0].kind == "INTERVAL":
            return None
        first = TEXT if types[0].kind == "NULL" else types[0]
        wanted = (first, *further[: len(types) - 1])
        return (wanted, first) if all(map(converts, types, wanted)) else None

    return typing


def _neighbour(types: Types) -> tuple[Types, ValueType] | None:
    """LAG and LEAD: a value, how many rows away, and what stands where there is no such row."""
    if len(types) == 3:
        found = _same(INT)(types[:2])
        return ((*found[0], found[1]), found[1]) if found is not None and converts(types[2], found[1]) else None
    return _same(INT)(types)


# ---------------------------------------------------------------- domains


def _from(low: int | None, high: int | None, nullable: bool, grid: Fraction | None) -> DomainRule:
    return lambda domains: interval(low, high, nullable, grid)


def _value(domains: tuple[Domain, ...]) -> Domain:
    """One of the values; NULL where there is none."""
    return domains[0].with_null()


def _between(domains: tuple[Domain, ...]) -> Domain:
    return interval(domains[0].low, domains[0].high, True, None)


def _sum_domain(domains: tuple[Domain, ...]) -> Domain:
    of = domains[0]
    low = of.low if of.low is not None and of.low >= 0 else None
    high = of.high if of.high is not None and of.high <= 0 else None
    return interval(low, high, True, of.grid)


def _neighbour_domain(domains: tuple[Domain, ...]) -> Domain:
    return (domains[0].union(domains[2]) if len(domains) == 3 else domains[0]).with_null()


_COUNTS = _from(0, None, False, _ONE)
_RANKS = _from(1, None, True, _ONE)
_SPREAD = _from(0, None, True, None)
_SHARE = _from(0, 1, False, None)
_ANY = _from(None, None, True, None)


def _any_of(type: ValueType) -> DomainRule:
    return lambda domains: whole(type)


# ---------------------------------------------------------------- what there is

_NUMBER = _fixed((FLOAT,), FLOAT)
_PAIR = _fixed((FLOAT, FLOAT), FLOAT)
_BITS = _fixed((INT,), INT)
_TRUTHS = _fixed((BOOL,), BOOL)

_ALL_AGGREGATES = (
    Declared(("count",), _count, _COUNTS),
    Declared(("count_if", "countif"), _fixed((BOOL,), INT), _COUNTS),
    Declared(("sum",), _sum, _sum_domain),
    Declared(("avg", "mean"), _avg, _between),
    Declared(("min",), _same(), _value),
    Declared(("max",), _same(), _value),
    Declared(("any_value",), _same(), _value),
    Declared(("mode",), _same(), _value),
    Declared(("var_pop",), _NUMBER, _SPREAD),
    Declared(("var_samp", "variance"), _NUMBER, _SPREAD),
    Declared(("stddev_pop",), _NUMBER, _SPREAD),
    Declared(("stddev_samp", "stddev"), _NUMBER, _SPREAD),
    Declared(("covar_pop",), _PAIR, _ANY),
    Declared(("covar_samp",), _PAIR, _ANY),
    Declared(("corr",), _PAIR, _from(-1, 1, True, None)),
    Declared(("regr_slope",), _PAIR, _ANY),
    Declared(("regr_intercept",), _PAIR, _ANY),
    Declared(("median",), _NUMBER, _between),
    Declared(("quantile_cont", "quantile", "percentile_cont"), _PAIR, _between, constant=1),
    Declared(("quantile_disc", "percentile_disc"), _same(FLOAT, least=2), _value, constant=1),
    Declared(("string_agg", "listagg", "group_concat"), _fixed((TEXT, TEXT), TEXT), _ANY, constant=1),
    Declared(("bool_and", "every", "logical_and"), _TRUTHS, _any_of(BOOL)),
    Declared(("bool_or", "logical_or"), _TRUTHS, _any_of(BOOL)),
    Declared(("bit_and",), _BITS, _any_of(INT)),
    Declared(("bit_or",), _BITS, _any_of(INT)),
    Declared(("bit_xor",), _BITS, _any_of(INT)),
)
_ALL_WINDOWS = (
    Declared(("row_number",), _fixed((), INT), _RANKS),
    Declared(("rank",), _fixed((), INT), _RANKS),
    Declared(("dense_rank",), _fixed((), INT), _RANKS),
    Declared(("percent_rank",), _fixed((), FLOAT), _SHARE),
    Declared(("cume_dist",), _fixed((), FLOAT), _SHARE),
    Declared(("ntile",), _fixed((INT,), INT), _RANKS),
    Declared(("lag",), _neighbour, _neighbour_domain),
    Declared(("lead",), _neighbour, _neighbour_domain),
    Declared(("first_value",), _same(), _value),
    Declared(("last_value",), _same(), _value),
    Declared(("nth_value",), _same(INT, least=2), _value),
)

_AGGREGATES = {name: declared for declared in _ALL_AGGREGATES for name in declared.names}
_WINDOWS = {name: declared for declared in _ALL_WINDOWS for name in declared.names}
ROWS = frozenset({"histogram", "approx_quantiles", "top"})  # those whose answer is always several rows
PAIRED = frozenset(f"regr_{of}" for of in ("count", "avgx", "avgy", "sxx", "syy", "sxy", "r2"))  # made of the others
AGGREGATES = frozenset(_AGGREGATES) | PAIRED | ROWS  # every name that a query may call
WINDOWS = frozenset(_WINDOWS)
