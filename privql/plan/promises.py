"""The least ε that keeps what WITHIN asks for, of every number that is read off one measurement.

A count and a sum are off by their noise alone. A mean, a variance and a covariance are off by less the more rows there
are, so the query says of how many at least: `GIVEN COUNT >= 1000`. That is the analyst's word, and decides ε alone:
where there are fewer rows the number may be farther off, and nobody is protected less.

The noise is Laplace's. Another mechanism has an ε of its own for the same promise: the cheaper is to be taken here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from privql.check.relations import Aggregate
from privql.diagnostics import Fix, PrivQLError, Span, refuse
from privql.functions.aggregate.within import RANKED
from privql.kernel.features import Steps
from privql.kernel.measure import Sensitivity
from privql.kernel.ratios import FEWEST, epsilon_of_covariance, epsilon_of_mean, epsilon_of_variance
from privql.kernel.sums import Balance, Contribution, Powers
from privql.kernel.tails import epsilon_within, least_epsilon
from privql.kernel.two import halfwidth_of_two, weights
from privql.plan.amounts import known
from privql.plan.behind import exponent_within
from privql.syntax import ast

_MOST = 2**62  # rows that anybody has
_OF_ROWS = {
    "avg": "an average",
    "var_pop": "a variance",
    "var_samp": "a variance",
    "covar_pop": "a covariance",
    "covar_samp": "a covariance",
}


def promised(
    aggregate: Aggregate,
    contribution: Contribution,
    sensitivity: Sensitivity,
    grid: Fraction,
    clause: ast.Privacy,
    params: Mapping[str, object],
    confidence: Fraction,
) -> Fraction:
    assert clause.within is not None
    if clause.within_percent:
        raise refuse(
            "PQL0411",
            "WITHIN a percentage cannot be promised",
            clause.span,
            why="the answer itself is not known yet",
            help="state an absolute error, such as WITHIN 20",
        )
    if aggregate.privacy is not None and aggregate.privacy.bounds_auto:
        why, help = "its error depends on the bounds that will be found", "state the bounds with CLAMP"
        raise _cannot(aggregate, why, help)
    needs_rows = isinstance(contribution, Balance | Powers) and aggregate.function not in ("count", "sum")
    if needs_rows and aggregate.function not in _OF_ROWS:
        raise _never(aggregate)
    if needs_rows and clause.given is None:
        raise _without_rows(aggregate, clause)
    width = known(clause.within, params, "WITHIN")
    if width <= 0:
        raise refuse("PQL0503", "WITHIN needs a positive error", clause.span, help="write WITHIN 20")
    rows = 0 if clause.given is None else _rows(known(clause.given, params, "GIVEN"), aggregate, clause.span)
    if aggregate.choice is not None:
        return sensitivity.l1 * exponent_within(aggregate.choice, math.floor(width), confidence)
    match contribution:
        case Balance(steps=steps):
            reach = steps.high - steps.low
            if aggregate.function in ("count", "sum"):
                far = width if aggregate.function == "count" else width / grid
                return _of_two(aggregate, steps, sensitivity.l1, far, confidence)
            return epsilon_of_mean(sensitivity.l1, reach, width / (reach * grid), rows, confidence)
        case Powers(factors=factors):
            sides = [(steps.high - steps.low) * steps.grid for steps, _ in factors]
            samples, whole = aggregate.function.endswith("_samp"), contribution.whole
            if len(factors) == 1:
                error = _of_variance(aggregate, width) / sides[0] ** 2
                return epsilon_of_variance(sensitivity.l1, whole, error, rows, confidence, samples)
            return epsilon_of_covariance(
                sensitivity.l1, whole, width / (sides[0] * sides[1]), rows, confidence, samples
            )
        case _:
            return epsilon_within(sensitivity.l1, math.floor(width / grid), confidence)


def _of_two(aggregate: Aggregate, steps: Steps, sensitivity: int, width: Fraction, confidence: Fraction) -> Fraction:
    """Of a count or a sum that is read off a mean's two cells, which both have noise."""
    of = weights(steps.low, steps.high, "count" if aggregate.function == "count" else "sum")

    def near(epsilon: Fraction) -> bool:
        return halfwidth_of_two(sensitivity / epsilon, of, steps.high - steps.low, confidence) <= width

    return least_epsilon(near)


def _of_variance(aggregate: Aggregate, width: Fraction) -> Fraction:
    """How far off a variance may be: its root is nowhere farther off than the root of that."""
    return min(width**2 if of == "root" else width for of in aggregate.asked)


def _rows(given: Fraction, aggregate: Aggregate, span: Span) -> int:
    fewest = FEWEST if aggregate.function in _OF_ROWS and aggregate.function != "avg" else 1
    if given.denominator != 1 or not fewest <= given <= _MOST:
        raise refuse(
            "PQL0503",
            f"GIVEN COUNT >= n needs a whole number of rows, {fewest} or more",
            span,
            help="write `GIVEN COUNT >= 1000`",
        )
    return int(given)


def _without_rows(aggregate: Aggregate, clause: ast.Privacy) -> PrivQLError:
    fix = Fix(Span(clause.span.end, clause.span.end), " GIVEN COUNT >= 1000")
    return refuse(
        "PQL0411",
        f"WITHIN cannot be promised for `{aggregate.text}`",
        aggregate.span,
        why=f"the error of {_OF_ROWS[aggregate.function]} depends on how many rows there are, which is private",
        help="say how many each group has at least, if you know, `GIVEN COUNT >= 1000`, or `SPEND EPSILON 0.5` on it",
        fixes=(fix,),
    )


def _never(aggregate: Aggregate) -> PrivQLError:
    if aggregate.function in RANKED:
        return _cannot(aggregate, "it is as near as the values lie together there, which is private", "")
    why = "its error depends on how far the values spread, too, which is private"
    return _cannot(aggregate, why, "give the WITHIN to the covariance and variances that it is made of")


def _cannot(aggregate: Aggregate, why: str, instead: str) -> PrivQLError:
    return refuse(
        "PQL0411",
        f"WITHIN cannot be promised for `{aggregate.text}`",
        aggregate.span,
        why=why,
        help="spend on it instead, `SPEND EPSILON 0.5`" + (f", or {instead}" if instead else ""),
    )
