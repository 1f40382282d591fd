"""Variances, covariances and what is made of them: exact sums of products of steps, and a few rounded operations."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from privql.check.relations import Aggregate
from privql.domains import Domain
from privql.functions.aggregate.within import SPREADS, domain_within
from privql.kernel.features import FACTOR_LIMIT, Feature, Moment, Steps, Tally
from privql.kernel.scalars import FLOAT, Apply, Const, Field, Scalar, ValueType, decimal
from privql.plan.bounds import coarsened, steps_of
from privql.plan.declared import applied

_WHOLE = decimal(19, 0)
Made = Callable[[str, Feature], Field]


def moment(one: Aggregate, present: Scalar, made: Made) -> Scalar:
    """`present`: whether a row has all arguments; `made` adds a feature and gives the field of it."""
    assert one.argument is not None
    named = [(one.argument, one.domain), *one.others]  # of a pair, y and x
    factors = [_factor(value, domain) for value, domain in named]
    rows = made("rows", Tally(present))
    n, count = _cast(rows, _WHOLE), _cast(rows, FLOAT)
    sums = [made(f"sum{at}", Moment((factor,), present)) for at, factor in enumerate(factors)]

    def apart(i: int, j: int) -> Scalar:
        """n² times the covariance, in steps: n·Σuv - Σu·Σv is a whole number."""
        product = made(f"product{i}{j}", Moment((factors[i], factors[j]), present))
        return _cast(applied("sub", applied("mul", n, product), applied("mul", sums[i], sums[j])), FLOAT)

    def covariance(i: int, j: int, kind: str) -> Scalar:
        others = count if kind == "pop" else applied("sub", count, Const(1.0, FLOAT))
        mean = applied("div", apart(i, j), applied("mul", count, others))
        scaled = _times(_times(mean, factors[i].grid), factors[j].grid)
        name = f"var_{kind}" if one.function in SPREADS else f"covar_{kind}"
        return within(scaled, domain_within(name, tuple(domain for _, domain in named), None))

    def mean(at: int) -> Scalar:
        total = applied("add", sums[at], applied("mul", n, Const(Fraction(factors[at].low), _WHOLE)))
        return _times(applied("div", _cast(total, FLOAT), count), factors[at].grid)

    match one.function:
        case "var_pop" | "var_samp":
            return covariance(0, 0, one.function[4:])
        case "stddev_pop" | "stddev_samp":
            return applied("sqrt", covariance(0, 0, one.function[7:]))
        case "covar_pop" | "covar_samp":
            return covariance(0, 1, one.function[6:])
        case "corr":
            size = applied("mul", applied("sqrt", apart(0, 0)), applied("sqrt", apart(1, 1)))
            one_at_most = domain_within("corr", (), None)
            return within(applied("div", apart(0, 1), size), one_at_most)
        case _:
            slope = _times(applied("div", apart(0, 1), apart(1, 1)), factors[0].grid / factors[1].grid)
            return slope if one.function == "regr_slope" else applied("sub", mean(0), applied("mul", slope, mean(1)))


def _factor(value: Scalar, domain: Domain) -> Steps:
    """As fine as a sum would take it, or as the products allow."""
    return coarsened(steps_of(value, domain, spread=True), FACTOR_LIMIT)


def within(value: Scalar, domain: Domain) -> Scalar:
    """Rounding may lead a little beyond the ends of what there can be."""
    if domain.high is None:
        return value
    assert domain.low is not None
    return Apply("clamp", (value, Const(float(domain.low), FLOAT), Const(float(domain.high), FLOAT)), FLOAT)


def _times(value: Scalar, factor: Fraction) -> Scalar:
    return value if factor == 1 else applied("mul", value, Const(float(factor), FLOAT))


def _cast(value: Scalar, type: ValueType) -> Scalar:
    return Apply("cast", (value,), type)
