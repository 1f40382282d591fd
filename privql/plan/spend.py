"""Who pays how much: the clause's total over the measurements it covers, for the least error.

An aggregate's own SPEND or WITHIN comes first, out of the total; the rest is split in proportion to SHARE times
(L1/s)^(2/3), which minimises the sum of squared errors relative to each aggregate's public scale s - the most that one
row can add. Where several are read off one measurement, all their errors count. Fractions are rounded down to four
significant digits and the last one takes the rest, so sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from privql.check.relations import Aggregate
from privql.diagnostics import Span, refuse
from privql.domains import number_text
from privql.frozen import frozen
from privql.kernel.cost import check_epsilon
from privql.kernel.features import Tally
from privql.kernel.measure import Sensitivity, reach
from privql.kernel.noises import Noise
from privql.kernel.sums import Contribution, Powers
from privql.plan.amounts import ZERO, Amount, amount, known
from privql.plan.promises import TooNear, epsilon_promised, sigma_promised, sureness
from privql.syntax import ast


@frozen
class Wanted:
    """One measurement that a clause pays for: of an aggregate, and of others that are read off it, too."""

    aggregate: Aggregate
    contribution: Contribution
    sensitivity: Sensitivity
    grid: Fraction  # one step, in the answer's own units
    also: tuple[Aggregate, ...] = ()
    load: Fraction = Fraction(1)  # the squares of what all of them make of one cell's relative error, together
    noise: Noise = "laplace"
    promised: Fraction | None = None  # the ε of Gaussian noise that keeps a promise

    @property
    def weight(self) -> float:
        """What it asks of ε, were all shares alike."""
        scale = scale_of(self.contribution)
        if self.noise == "gaussian":  # see `noises`
            return math.sqrt(self.sensitivity.l2_squared * self.load) / scale
        return math.pow(self.sensitivity.l1 / scale, 2 / 3) * math.pow(self.load, 1 / 3)


def scale_of(contribution: Contribution) -> int:
    """The most that one row can add."""
    return 1 if isinstance(contribution, Tally) else reach(contribution).l1


@frozen
class Shares:
    """How many blocks a clause measures, and how many must look for their groups, first or only.

    Looking takes as large a share as all that is then measured of a block: of one block's ε, half. A group that is
    as likely kept as not then has a count that is off by a tenth at most, and fewer groups are lost than with less.
    """

    blocks: int
    looking: int


def split(
    clause: ast.Privacy | None,
    wanted: Sequence[Wanted],
    default: Fraction | None,
    params: Mapping[str, object],
    span: Span,
    shares: Shares,
) -> tuple[list[Amount], Amount]:
    """The ε of each measurement, and of each search for groups."""
    fixed = [_own(one, params) for one in wanted]
    if clause is not None and clause.within is not None:
        if not shares.blocks:
            raise refuse(
                "PQL0411",
                "WITHIN says how far off a number may be, and here is none",
                clause.span,
                help="spend on it instead, `SPEND EPSILON 0.5`",
            )
        sure = sureness(clause, params)
        spent = [
            own if own is not None else Amount(_within(one, clause, params, sure))
            for one, own in zip(wanted, fixed, strict=True)
        ]
        each = sum(spent, ZERO).times(Fraction(1, shares.blocks))
    else:
        said = None not in fixed and not shares.looking  # then nothing is left for a default to pay
        total = _total(clause, None if said else default, params)
        if total is None:
            if not said:
                raise refuse(
                    "PQL0501",
                    "nothing says what this query may spend",
                    span,
                    why="it has no SPEND or WITHIN, and neither the session nor a budget open to you has a default ε",
                    help="add `SPEND EPSILON 0.1` at the end",
                )
            spent, each = [own for own in fixed if own is not None], ZERO
        else:
            _sensible(total, clause.span if clause is not None else span)
            each = total.times(Fraction(1, shares.blocks + shares.looking))
            left = total - each.times(Fraction(shares.looking)) if shares.looking else total
            spent = _shared(left, wanted, fixed, params, clause)
    _within_cap(clause, [*spent, *[each] * shares.looking], params)
    for one, epsilon in zip(wanted, spent, strict=True):
        own = one.aggregate.privacy
        wished = any(said is not None and said.within is not None for said in (clause, own))
        asked = own if own is not None and own.epsilon is not None else clause
        _sensible(epsilon, asked.span if asked is not None else one.aggregate.span, wished)
    return spent, each


def _total(clause: ast.Privacy | None, default: Fraction | None, params: Mapping[str, object]) -> Amount | None:
    if clause is not None and clause.epsilon is not None:
        return amount(clause.epsilon, params, "ε")
    return Amount(default) if default is not None else None


def _own(one: Wanted, params: Mapping[str, object]) -> Amount | None:
    clause = one.aggregate.privacy
    if one.promised is not None:
        own = Amount(one.promised)
    elif clause is None:
        return None
    elif clause.within is not None:
        own = Amount(_within(one, clause, params, sureness(clause, params)))
    else:
        return amount(clause.epsilon, params, "ε") if clause.epsilon is not None else None
    _within_cap(clause, [own], params)
    return own


def _shared(
    total: Amount,
    wanted: Sequence[Wanted],
    fixed: Sequence[Amount | None],
    params: Mapping[str, object],
    clause: ast.Privacy | None,
) -> list[Amount]:
    rest = total
    for own in fixed:
        if own is not None:
            rest = rest - own
    if not wanted:
        return []
    span = clause.span if clause is not None else wanted[0].aggregate.span
    open_ = [one for one, own in zip(wanted, fixed, strict=True) if own is None]
    if rest.known and (rest.constant < 0 or (open_ and rest.constant == 0)):
        raise refuse(
            "PQL0507",
            "its aggregates alone spend more than the query",
            span,
            why=f"their own clauses take ε = {(total - rest).text} of ε = {total.text}",
            help="spend more on the query, or less on an aggregate",
        )
    fractions = fractions_of([_weight(one, params) for one in open_])
    shares = iter([rest.times(fraction) for fraction in fractions])
    return [own if own is not None else next(shares) for own in fixed]


def _weight(one: Wanted, params: Mapping[str, object]) -> float:
    share = Fraction(1)
    if one.aggregate.privacy is not None and one.aggregate.privacy.share is not None:
        share = known(one.aggregate.privacy.share, params, "SHARE")
        if share <= 0:
            raise refuse("PQL0503", "SHARE must be positive", one.aggregate.privacy.span, help="write SHARE 2")
    return float(share) * one.weight


def fractions_of(weights: Sequence[float]) -> list[Fraction]:
    """Each weight's part of the whole, rounded down to four significant digits; the last takes the rest."""
    if not weights:
        return []
    whole = math.fsum(weights)
    out = []
    for weight in weights[:-1]:
        part = weight / whole
        digits = 3 - math.floor(math.log10(part))
        out.append(Fraction(math.floor(part * 10**digits * (1 + 1e-12)), 10**digits))
    return [*out, 1 - sum(out, Fraction(0))]


def _within(one: Wanted, clause: ast.Privacy, params: Mapping[str, object], confidence: Fraction) -> Fraction:
    """Of all that are read off it."""
    shape = (one.contribution, one.sensitivity, one.grid)
    return max(epsilon_promised(each, *shape, clause, params, confidence) for each in (one.aggregate, *one.also))


def deviation(one: Wanted, clause: ast.Privacy | None, params: Mapping[str, object]) -> Fraction | None:
    """Of Gaussian noise, the greatest that keeps what its own WITHIN asks, or the clause's; None where neither does."""
    own = one.aggregate.privacy
    says = own if own is not None and (own.within is not None or own.epsilon is not None) else clause
    if says is None or says.within is None:
        return None
    sure = sureness(says, params)
    shape = (one.contribution, one.grid)
    return min(sigma_promised(each, *shape, says, params, sure) for each in (one.aggregate, *one.also))


def asked_within(clause: ast.Privacy, params: Mapping[str, object]) -> Callable[[Wanted], float]:
    """What each measurement costs under the clause's WITHIN. There is no bound for what is read off cells of powers
    beside that which they are for: such a measurement is too dear."""
    sure = sureness(clause, params)

    def costs(one: Wanted) -> float:
        if isinstance(one.contribution, Powers) and one.also:
            return math.inf
        if one.noise == "gaussian":  # of these it is μ² that adds up
            try:
                sigma = deviation(one, clause, params)
            except TooNear:  # of cells that several share; by itself each may have it
                return math.inf
            return math.inf if sigma is None else float(one.sensitivity.l2_squared / sigma**2)
        return float(_within(one, clause, params, sure))

    return costs


def _within_cap(clause: ast.Privacy | None, spent: Sequence[Amount], params: Mapping[str, object]) -> None:
    if clause is None or clause.max_epsilon is None:
        return
    cap = known(clause.max_epsilon, params, "MAX EPSILON")
    total = sum((one.constant for one in spent), Fraction(0))
    if total > cap:
        raise refuse(
            "PQL0506",
            f"this accuracy costs ε = {number_text(total)}, more than MAX EPSILON {number_text(cap)}",
            clause.span,
            help=f"raise MAX EPSILON to {number_text(total)}, or accept a larger error",
        )


def _sensible(epsilon: Amount, span: Span, wished: bool = False) -> None:
    """`wished`: it is what an accuracy costs."""
    if not epsilon.known:
        return
    try:
        check_epsilon(epsilon.constant)
    except ValueError as problem:
        help = "write a number such as 0.5, or a ratio such as 1/3"
        if not wished:
            raise refuse("PQL0503", str(problem), span, help=help) from None
        hard = epsilon.constant > 1
        raise refuse(
            "PQL0503",
            "no ε that protects anybody buys this accuracy" if hard else "this accuracy asks for next to no ε",
            span,
            why=str(problem),
            help="accept a larger error, or spend what you will: `SPEND EPSILON 0.5`"
            if hard
            else "ask for a smaller error, or spend what you will: `SPEND EPSILON 0.01`",
        ) from None
