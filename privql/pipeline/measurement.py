"""What EXPLAIN says of one measurement: what moves it, where its argument lies, its price and how far off it may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from privql.check.env import USUAL
from privql.check.relations import Aggregate
from privql.check.typed import Context
from privql.domains import number_text
from privql.kernel import merged
from privql.kernel.cost import amount_text
from privql.kernel.gaussian import root_above
from privql.kernel.noises import halfwidth
from privql.kernel.picks import rounds
from privql.kernel.scalars import Field, fields
from privql.kernel.sums import Balance, Hats, cells
from privql.pipeline.figures import rough
from privql.pipeline.report import StatementCheck
from privql.pipeline.tree import folded
from privql.plan.amounts import Amount
from privql.plan.automatic import Search
from privql.plan.behind import short
from privql.plan.measurements import Measurement
from privql.plan.picks import WAYS
from privql.plan.ranks import off, ranked

_NUMBERS = {2: "two", 3: "three", 4: "four", 6: "six", 9: "nine"}
_NOISES = {"laplace": "discrete Laplace noise", "gaussian": "rounded Gaussian noise"}
_SCALES = {"laplace": "scale", "gaussian": "deviation"}
_UNKNOWN = {"laplace": "scale Δ/ε", "gaussian": "deviation Δ/μ"}
_TYPICAL = 1000  # rows, for an error that depends on how many there are


def measurement(one: Measurement, total: Amount, check: StatementCheck, told: set[str]) -> Iterator[list[str]]:
    """`told`: the columns whose values have been said already."""
    if one.aggregate.choice is not None:
        return _picked(one, total, check, told)
    if isinstance(one.contribution, Hats):
        return _at_knots(one, one.contribution, total, check, told)
    return _placed(one, total, check, told) if ranked(one.aggregate) else _summed(one, total, check, told)


def _placed(one: Measurement, total: Amount, check: StatementCheck, told: set[str]) -> Iterator[list[str]]:
    """A value that is drawn by its rank."""
    drawn, price = one.placed, f"ε = {one.epsilon.text}{share(one.epsilon, total)}: exponential mechanism"
    if drawn is None:
        yield folded(f"{one.aggregate.text}: drawn by its rank", 2)
        yield folded(f"{price}, ± depends on the parameters", 4)
        return
    draws, steps = list(drawn.draw.all()), drawn.term.steps
    moved = number_text(round(max(Fraction(one.moved, one.rank.share.denominator) for one in draws), 6))
    ends = max(abs(rank.offset) for rank in drawn.term.ranks)
    away = f"{number_text(Fraction(ends))} values from the end"
    if len(draws) == 1:
        how = "drawn by its rank" + (f", {away}" if ends else "")
    else:
        how = f"{len(draws)} drawn by their ranks" + (f", least and greatest {away}" if ends else "")
    texts = ", ".join(dict.fromkeys(each.text for each in (one.aggregate, *one.also)))
    yield folded(f"{texts}: {how}, Δ = {moved} ranks", 2)
    for line in _argument(one.aggregate, check, told):
        yield folded(line, 4)
    ranks = rough(max(off(one, steps) for one in draws))
    if len(draws) > 1:
        price += f", {len(draws).bit_length()} times from the middle of the rest"
    among = f"among {steps.high + 1 - steps.low} steps of {number_text(one.grid)}"
    yield folded(f"{price} {among}, {'each about' if len(draws) > 1 else 'at most'} {ranks} ranks off at 95%", 4)


def _picked(one: Measurement, total: Amount, check: StatementCheck, told: set[str]) -> Iterator[list[str]]:
    """Values that are chosen by how frequent they are."""
    choice = one.aggregate.choice
    assert choice is not None and choice.way is not None
    times = rounds(choice.way, choice.count)
    moved = one.sensitivity.l1 // times
    of = f"of {len(choice.candidates)} values"
    what = f"one {of} is chosen" if choice.count == 1 else f"{choice.count} {of} are chosen, most frequent first"
    yield folded(f"{one.aggregate.text}: {what}, Δ = {moved} {'row' if moved == 1 else 'rows'}", 2)
    for said in _argument(one.aggregate, check, told):
        yield folded(said, 4)
    error = "± depends on the parameters"
    if one.picked is not None:
        behind = short(choice, one.picked.exponent, USUAL)
        error = f"at most {rough(behind)} rows behind any that is not chosen at 95%"
    how = WAYS[choice.way] + (f", {times} times" if times > 1 else "")
    yield folded(f"{_price(one, total)}: {how}, {error}", 4)


def _summed(one: Measurement, total: Amount, check: StatementCheck, told: set[str]) -> Iterator[list[str]]:
    grid, moved = one.grid, one.sensitivity
    most, per_row = number_text(moved.l1 * grid), number_text(Fraction(moved.l1, one.rows) * grid)
    shared = cells(one.contribution)
    how = f", in {_NUMBERS[shared]} cells that share their noise" if shared > 1 else ""
    if one.noise == "gaussian":  # what counts then is how far all numbers together move
        how += f", Δ2 = {rough(root_above(Fraction(moved.l2_squared)) * grid)}"
    yield folded(
        f"{one.aggregate.text}: "
        + (f"Δ = {most}" if one.rows == 1 else f"Δ = {per_row} x {one.rows} rows = {most}")
        + how,
        2,
    )
    if one.aggregate.combined:
        yield folded("one sum, less noisy than its parts would be", 4)
    for argument in (one.aggregate, *_further(one.aggregate)):
        for line in _argument(argument, check, told):
            yield folded(line, 4)
    if one.before:
        yield folded(_merged(one, total), 4)
    else:
        scale = _UNKNOWN[one.noise] if one.scale is None else f"{_SCALES[one.noise]} {rough(one.scale * grid)}"
        error = "" if one.split else f", {scale}, {_error(one)}"
        yield folded(f"{_priced(one, total)}{error}", 4)
    for other in one.also:
        width = one.halfwidth(USUAL, other)
        error = f": ± {rough(width)} at 95%" if width is not None else ""
        yield folded(f"{other.text} comes from this measurement{error}", 4)


def _merged(one: Measurement, total: Amount) -> str:
    """What was measured before, and what is added to it."""
    known = rough(merged.deviation(one.before) * one.grid)
    if one.drawn is None:
        return f"as it was: deviation {known}, {_error(one)}"
    assert one.scale is not None
    new = f"{_priced(one, total)}, deviation {rough(one.drawn * one.grid)}"
    return f"{new}; merged with what has {known}: deviation {rough(one.scale * one.grid)}, {_error(one)}"


def _at_knots(
    one: Measurement, hats: Hats, total: Amount, check: StatementCheck, told: set[str]
) -> Iterator[list[str]]:
    """A sum whose bounds nobody stated, where none are looked for."""
    last = number_text(hats.far * hats.steps.grid * (-1 if hats.steps.low < 0 else 1))
    knots = f"at {len(hats.knots)} knots up to {last}, each twice as far as the one before"
    yield folded(f"{one.aggregate.text}: how many lie {knots}, Δ = 1", 2)
    for line in _argument(one.aggregate, check, told):
        yield folded(line, 4)
    yield folded(f"{_priced(one, total)}, ± depends on how far the values spread", 4)


def searched(one: Measurement, search: Search, total: Amount) -> Iterator[list[str]]:
    """The error in terms of the bounds, which are still to be found."""
    low, high = search.intervals[-1]
    whose = f"each {search.unit.name}'s total" if search.totals else "its argument"
    yield folded(f"{one.aggregate.text}: bounds of {whose} are looked for", 2)
    most = f"of {len(search.intervals)} nested ones, [{number_text(low)}, {number_text(high)}] the widest"
    yield folded(f"ε = {search.epsilon.text}{share(search.epsilon, total)}: noisy minimum, {most}", 4)
    price = _priced(one, total)
    if one.scale is None:
        yield folded(f"{price}, {_UNKNOWN[one.noise]}, ± depends on the parameters", 4)
        return
    mean = isinstance(one.contribution, Balance)
    times = halfwidth(one.noise, one.scale, USUAL) * one.grid / (high - low if mean else max(abs(low), abs(high)))
    of = "times their width / n at 95% where n rows are averaged" if mean else "times the farther of them at 95%"
    yield folded(f"{price}, ± about {rough(times)} {of}", 4)


def _priced(one: Measurement, total: Amount) -> str:
    return f"{_price(one, total)}: {_NOISES[one.noise]}"


def _price(one: Measurement, total: Amount) -> str:
    delta = f", δ = {_amount(one.delta)}" if one.delta else ""
    return f"ε = {one.epsilon.text}{share(one.epsilon, total)}{delta}"


def _amount(amount: Fraction) -> str:
    """Exact where that is short."""
    exact = amount_text(amount)
    return exact if len(exact) < 12 else f"{float(amount):.4g}"


def _error(one: Measurement) -> str:
    width = one.halfwidth(USUAL)
    if width is not None:
        return f"± {rough(width)} at 95%"
    if one.scale is None:
        return "± depends on the parameters"
    many = one.among_many(USUAL)
    if many is None:
        return "± depends on how far the values spread"
    return f"about ± {rough(many)}/n at 95% where n rows are averaged: ± {rough(many / _TYPICAL)} of {_TYPICAL}"


def share(epsilon: Amount, total: Amount) -> str:
    if not epsilon.known or not total.known or epsilon == total:
        return ""
    return f" ({number_text(round(100 * epsilon.constant / total.constant, 1))}%)"


def _further(one: Aggregate) -> list[Aggregate]:
    """Its other arguments, each as if it were its only one."""
    return [replace(one, argument=term, domain=domain, argument_type=term.type) for term, domain in one.others]


def _argument(one: Aggregate, check: StatementCheck, told: set[str]) -> Iterator[str]:
    """Where its values lie, which columns make them lie there, and whether a condition has narrowed that."""
    if one.argument is None:
        return
    domain, type = one.domain, one.argument_type
    operands = sorted(
        (check.attributes[id] for id in fields(one.argument) if id in check.attributes), key=lambda known: known.name
    )
    declared = Context(check.env, attributes=dict(check.attributes)).domain_of(one.argument, {})
    narrowed = (declared.low, declared.high) != (domain.low, domain.high)
    line = f"argument in {domain.describe(type)}"
    if isinstance(one.argument, Field):
        told |= fields(one.argument)
        yield line + (f": a condition narrows {declared.describe(type)}" if narrowed else "")
        return
    new = [known for known in operands if known.id not in told]
    told |= {known.id for known in new}
    because = ", ".join(f"{known.name} in {known.domain.describe(known.type)}" for known in new)
    yield line + (f": {because}" if because else "") + (", and a condition narrows it" if narrowed else "")
