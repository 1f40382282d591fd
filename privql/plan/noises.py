"""Which noise a block's sums carry: discrete Laplace, unless `USING` says otherwise.

A Gaussian takes a δ. Its measurements are paid for together: of μ(ε, δ)², which they add up to, each has the part that
it has of the block's ε. As σ² is Δ2²/μ², the sum of squared errors relative to public scales s, Σ load·σ²/s², is least
where these parts are in proportion to √load·Δ2/s, and so that is how ε is split here. An aggregate with a SPEND of its
own has no less of μ² than that ε, with as large a part of δ, would buy alone: its Gaussian and the others' compose.

WITHIN says how large each σ may be. What that takes of μ² is added up, and one ε bought for the block with its δ.

AUTO takes what makes that sum less, or the ε that WITHIN needs, block by block: the Gaussian where a unit moves many
numbers, Laplace where it moves one or few. Where no δ is stated, and the budget has none, that is Laplace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from privql.check.relations import Block
from privql.check.typed import Clause
from privql.diagnostics import Span, refuse
from privql.kernel import noises
from privql.kernel.gaussian import greatest_mu, least_epsilon, least_mu, root_above
from privql.kernel.noises import Noise
from privql.plan.amounts import Amount
from privql.plan.ranks import ranked
from privql.plan.spend import Wanted, fractions_of, scale_of
from privql.syntax import ast

Asked = Literal["laplace", "gaussian", "auto"]
_WORDS: Mapping[str, Asked] = {"LAPLACE": "laplace", "GAUSSIAN": "gaussian", "AUTO": "auto"}
_LEAST_PART = Fraction(1, 10**6)  # of what a block needs most: less would be no amount of budget


def asked_for(clauses: Sequence[Clause]) -> dict[int, tuple[Asked, Span]]:
    """Of each block, by the innermost clause that says so, and where it does."""
    out: dict[int, tuple[Asked, Span]] = {}
    for clause, indices in clauses:
        if clause is None or clause.mechanism is None:
            continue
        if clause.mechanism not in _WORDS:
            raise refuse(
                "PQL0408",
                f"there is no noise named {clause.mechanism}",
                clause.span,
                help="write USING LAPLACE, USING GAUSSIAN or USING AUTO",
            )
        for index in indices:
            out.setdefault(index, (_WORDS[clause.mechanism], clause.span))
    return out


def sums(block: Block) -> bool:
    """Whether it is sums that noise is added to."""
    return bool(block.aggregates) and not any(ranked(one) or one.choice is not None for one in block.aggregates)


def without_delta(span: Span) -> Exception:
    return refuse(
        "PQL0408",
        "USING GAUSSIAN needs a δ",
        span,
        why="no finite amount of Gaussian noise is worth an ε alone, and neither query nor budget states a δ above 0",
        help="spend one, `SPEND EPSILON 0.5 DELTA 1e-7`, or leave USING out: Laplace noise needs none",
    )


def in_part(clause: ast.Privacy) -> Exception:
    return refuse(
        "PQL0411",
        "Gaussian noise is promised for all numbers that it is added to, or for none",
        clause.span,
        why="they are paid for together: what keeps a promise of one depends on what the others spend",
        help="state a WITHIN for each of them, or leave USING GAUSSIAN out",
    )


def sigma(l2_squared: int, mu_squared: Fraction) -> Fraction:
    return root_above(l2_squared / mu_squared)


def parts(spent: Sequence[Amount], delta: Fraction) -> list[tuple[Fraction, Fraction | None]]:
    """What each has of δ and of μ²: no μ² while an ε has a parameter without a value."""
    if not all(one.known for one in spent):
        return [(delta / len(spent), None) for _ in spent]
    whole = sum((one.constant for one in spent), Fraction(0))
    square = greatest_mu(whole, delta) ** 2
    return [(delta * one.constant / whole, square * one.constant / whole) for one in spent]


def promised(wanted: Sequence[Wanted], sigmas: Sequence[Fraction], delta: Fraction) -> list[Wanted]:
    """Each with its part of the least ε of which, with δ, none needs a greater deviation."""
    needs = [one.sensitivity.l2_squared / sigma**2 for one, sigma in zip(wanted, sigmas, strict=True)]
    bought = least_epsilons(needs, delta)
    return [replace(one, promised=epsilon) for one, epsilon in zip(wanted, bought, strict=True)]


def least_epsilons(needs: Sequence[Fraction], delta: Fraction) -> list[Fraction]:
    """The parts of the least ε that, with δ, buys each what it needs of μ²."""
    least = max(needs) * _LEAST_PART
    fractions = fractions_of([float(max(need, least)) for need in needs])
    square = max(need / fraction for need, fraction in zip(needs, fractions, strict=True))
    epsilon = least_epsilon(least_mu(square), delta)
    return [epsilon * part for part in fractions]


def cheaper(laplace: Sequence[Amount], gaussian: Sequence[Amount]) -> Noise:
    """Of a promise."""
    sums = [sum(one.constant for one in amounts) for amounts in (laplace, gaussian)]
    return "gaussian" if sums[1] < sums[0] else "laplace"


def better(wanted: Sequence[Wanted], laplace: Sequence[Amount], gaussian: Sequence[Amount], delta: Fraction) -> Noise:
    """That with the smaller sum of squared errors, for each way of splitting ε."""
    for name, _ in (param for epsilon in (*laplace, *gaussian) for param in epsilon.params):
        raise refuse(
            "PQL0304",
            f"parameter `${name}` has no value",
            wanted[0].aggregate.span,
            why="AUTO compares how far off each noise would be, which depends on it",
            help=f"bind it: `--param {name}=…`, or say USING LAPLACE or USING GAUSSIAN",
        )
    bought = parts(gaussian, delta)
    errors: dict[Noise, float] = {"laplace": 0.0, "gaussian": 0.0}
    for one, epsilon, (_, square) in zip(wanted, laplace, bought, strict=True):
        assert square is not None
        each: dict[Noise, Fraction] = {
            "laplace": one.sensitivity.l1 / epsilon.constant,
            "gaussian": sigma(one.sensitivity.l2_squared, square),
        }
        for noise, scale in each.items():
            errors[noise] += float(one.load) * noises.variance(noise, scale) / scale_of(one.contribution) ** 2
    return "gaussian" if errors["gaussian"] < errors["laplace"] else "laplace"
