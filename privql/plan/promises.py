"""How much noise keeps what WITHIN asks for, and what that costs, of every number that is read off one measurement.

A count and a sum are off by their noise alone. A mean, a variance and a covariance are off by less the more rows there
are, so the query says of how many at least: `GIVEN COUNT >= 1000`. That is the analyst's word, and decides ε alone:
where there are fewer rows the number may be farther off, and nobody is protected less.

Laplace noise has a price by itself, the least ε. Of Gaussian noise it is the greatest deviation that is found here:
what that costs depends on what else it is paid for with (see `noises`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from privql.check.env import USUAL
from privql.check.relations import Aggregate
from privql.diagnostics import Fix, PrivQLError, Span, refuse
from privql.domains import number_text
from privql.functions.aggregate.within import RANKED
from privql.kernel import gaussian
from privql.kernel.features import Steps
from privql.kernel.gaussian import greatest_sigma, sigma_within
from privql.kernel.measure import Sensitivity
from privql.kernel.noises import Left, off
from privql.kernel.ratios import FEWEST, Missed, covariance, epsilon_of, mean, sigma_of, variance
from privql.kernel.sums import Balance, Contribution, Powers
from privql.kernel.tails import epsilon_within, least_epsilon
from privql.kernel.two import halfwidth_of_two, weights
from privql.plan.amounts import MOST_SAID, known
from privql.plan.behind import exponent_within
from privql.syntax import ast

_HARDLY = Fraction(1, 10**9)  # a deviation of no noise to speak of
_FIFTY_PERCENT = Fraction(1, 2)
_OF_ROWS = {
    "avg": "an average",
    "var_pop": "a variance",
    "var_samp": "a variance",
    "covar_pop": "a covariance",
    "covar_samp": "a covariance",
}


def epsilon_promised(
    aggregate: Aggregate,
    contribution: Contribution,
    sensitivity: Sensitivity,
    grid: Fraction,
    clause: ast.Privacy,
    params: Mapping[str, object],
    confidence: Fraction,
) -> Fraction:
    """Of Laplace noise, or of a choice, the least ε that is enough."""
    width, rows = _wished(aggregate, contribution, clause, params)
    if aggregate.choice is not None:
        if aggregate.choice.way == "GUMBEL":
            raise _cannot(aggregate, "what keeps it by Gumbel noise depends on δ, too", "leave out USING GUMBEL")
        return sensitivity.l1 * exponent_within(aggregate.choice, math.floor(width), confidence)
    match contribution:
        case Balance(steps=steps) if aggregate.function in ("count", "sum"):
            of, over, far = _of_two(aggregate, steps, width, grid)
            return least_epsilon(
                lambda epsilon: halfwidth_of_two(sensitivity.l1 / epsilon, of, over, confidence) <= far
            )
        case Balance() | Powers():
            return epsilon_of(_of_rows(aggregate, contribution, grid, width, rows), sensitivity.l1, confidence)
        case _:
            return epsilon_within(sensitivity.l1, math.floor(width / grid), confidence)


def sigma_promised(
    aggregate: Aggregate,
    contribution: Contribution,
    grid: Fraction,
    clause: ast.Privacy,
    params: Mapping[str, object],
    confidence: Fraction,
    noise: Left = "gaussian",
) -> Fraction:
    """Of Gaussian noise the greatest deviation that is small enough; or of what several leave that are merged."""
    width, rows = _wished(aggregate, contribution, clause, params)
    before = off(noise)
    match contribution:
        case Balance(steps=steps) if aggregate.function in ("count", "sum"):
            of, over, most = _of_two(aggregate, steps, width, grid)

            def near(sigma: Fraction) -> bool:
                return gaussian.halfwidth_of_two(sigma, of, over, confidence, before) <= most

            if not near(_HARDLY):
                raise _too_near(aggregate, clause)
            return greatest_sigma(near)
        case Balance() | Powers():
            found = sigma_of(_of_rows(aggregate, contribution, grid, width, rows), confidence, before)
            if found is None:
                raise _too_near(aggregate, clause)
            return found
        case _:
            if (far := math.floor(width / grid)) < 2 * before:
                raise _too_near(aggregate, clause)
            return sigma_within(far, confidence, before)


def sureness(clause: ast.Privacy, params: Mapping[str, object]) -> Fraction:
    """What AT says."""
    if clause.confidence is None:
        return USUAL
    percent = known(clause.confidence, params, "AT")
    if not _FIFTY_PERCENT <= percent / 100 <= Fraction(999999, 10**6):
        raise refuse(
            "PQL0503",
            f"{number_text(percent)}% is not a confidence",
            clause.span,
            help="write 50% to 99.9999%, such as AT 95%",
        )
    return percent / 100


def _wished(
    aggregate: Aggregate, contribution: Contribution, clause: ast.Privacy, params: Mapping[str, object]
) -> tuple[Fraction, int]:
    """How far off it may be, and of how many rows."""
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
    return width, 0 if clause.given is None else _rows(known(clause.given, params, "GIVEN"), aggregate, clause.span)


def _of_rows(
    aggregate: Aggregate, contribution: Balance | Powers, grid: Fraction, width: Fraction, rows: int
) -> Missed:
    """Of a mean, a variance or a covariance."""
    if isinstance(contribution, Balance):
        reach = contribution.steps.high - contribution.steps.low
        return mean(reach, width / (reach * grid), rows)
    sides = [(steps.high - steps.low) * steps.grid for steps, _ in contribution.factors]
    samples, whole = aggregate.function.endswith("_samp"), contribution.whole
    if len(sides) == 1:
        return variance(whole, _of_variance(aggregate, width) / sides[0] ** 2, rows, samples)
    return covariance(whole, width / (sides[0] * sides[1]), rows, samples)


def _of_two(
    aggregate: Aggregate, steps: Steps, width: Fraction, grid: Fraction
) -> tuple[tuple[int, int], int, Fraction]:
    """Of a count or a sum that is read off a mean's two cells, which both have noise: what it is made of, and how far
    off it may be."""
    of = weights(steps.low, steps.high, "count" if aggregate.function == "count" else "sum")
    return of, steps.high - steps.low, width if aggregate.function == "count" else width / grid


def _of_variance(aggregate: Aggregate, width: Fraction) -> Fraction:
    """How far off a variance may be: its root is nowhere farther off than the root of that."""
    return min(width**2 if of == "root" else width for of in aggregate.asked)


def _rows(given: Fraction, aggregate: Aggregate, span: Span) -> int:
    fewest = FEWEST if aggregate.function in _OF_ROWS and aggregate.function != "avg" else 1
    if given.denominator != 1 or given < fewest:
        raise refuse(
            "PQL0503",
            f"GIVEN COUNT >= n needs a whole number of rows, from {fewest} to {MOST_SAID}",
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


class TooNear(PrivQLError):
    """What no Gaussian noise keeps, however small, as it is rounded."""


def _too_near(aggregate: Aggregate, clause: ast.Privacy) -> PrivQLError:
    made = refuse(
        "PQL0411",
        f"WITHIN so little cannot be promised for `{aggregate.text}`",
        clause.span,
        why="rounding alone may move it farther",
        help="accept a larger error",
    )
    return TooNear(made.diagnostics)


def _cannot(aggregate: Aggregate, why: str, instead: str) -> PrivQLError:
    return refuse(
        "PQL0411",
        f"WITHIN cannot be promised for `{aggregate.text}`",
        aggregate.span,
        why=why,
        help="spend on it instead, `SPEND EPSILON 0.5`" + (f", or {instead}" if instead else ""),
    )
