"""EXPLAIN: how the rows come about that are measured, why that needs so much noise, what it costs, and what would be
cheaper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from privql.check.relations import Aggregate
from privql.check.typed import Context
from privql.domains import number_text, value_text
from privql.kernel.cost import amount_text
from privql.kernel.gaussian import root_above
from privql.kernel.noises import halfwidth
from privql.kernel.picks import rounds
from privql.kernel.scalars import Field, Value, ValueType, fields
from privql.kernel.sums import Balance, cells
from privql.pipeline.cheaper import cheaper
from privql.pipeline.levels import levels
from privql.pipeline.report import StatementCheck, rough
from privql.pipeline.tree import Step, Tree, counted, folded, laid_out
from privql.plan.amounts import Amount
from privql.plan.automatic import Search
from privql.plan.behind import short
from privql.plan.picks import WAYS
from privql.plan.program import BlockPlan, Measurement
from privql.plan.ranks import off, ranked
from privql.plan.selection import Selection

_SURE = Fraction(95, 100)
_NUMBERS = {2: "two", 3: "three", 4: "four", 6: "six", 9: "nine"}
_NOISES = {"laplace": "discrete Laplace noise", "gaussian": "rounded Gaussian noise"}
_UNKNOWN = {"laplace": "Δ/ε", "gaussian": "Δ/μ"}
_TYPICAL = 1000  # rows, for an error that depends on how many there are


def explain(check: StatementCheck) -> str:
    if check.plan is None:
        return f"{check.kind}: nothing is measured"
    if not check.plan.blocks:
        return "post-processing of public and released rows: free"
    out = []
    for plan in check.plan.blocks:
        out += _block(plan, check)
    total = check.plan.epsilon
    delta = f", δ = {amount_text(check.plan.delta)}" if check.plan.delta else ""
    out.append(f"total: ε = {total.text}{delta}" + (", answered before: free" if check.replay else ""))
    hints = cheaper(check)
    if hints:
        out.append("cheaper:")
        for hint in hints:
            out += folded(f"{hint.what}: {hint.price}", 2)
    return "\n".join(out)


def _block(plan: BlockPlan, check: StatementCheck) -> list[str]:
    assert check.query is not None and check.plan is not None
    block, unit = plan.block, plan.block.unit
    neighbours = "one changed" if unit.change_one else "one more or fewer"
    out = folded(f"measure {', '.join(block.tables)}: protects each {unit.name} ({neighbours})", 0)
    steps = Tree(block, check.env, check.query, check.attributes).steps()
    out += laid_out([*steps, *_bounding(plan)], 2)
    for key in block.keys:
        if key.members is None:
            known = "as they were found" if block.groups_of is not None else f"{key.unknown}, so they are looked for"
            out += folded(f"group by {key.name}: {known}", 2)
        else:
            groups = "1 group" if len(key.members) == 1 else f"{len(key.members)} groups"
            out += folded(f"group by {key.name}: {groups}, {_members(key.members, key.type)}", 2)
    if plan.lowered.bounds.one_group:
        out += folded(f"each {unit.name} is in one group, whatever rows it has", 2)
    total = check.plan.epsilon
    if plan.selection is not None:
        out += _selection(plan.selection, total)
    told: set[str] = set()
    searches = {search.at: search for search in plan.searches}
    for at, one in enumerate(plan.measurements):
        told_of = _picked if one.aggregate.choice else _placed if ranked(one.aggregate) else _measurement
        lines = told_of(one, total, check, told) if at not in searches else _searched(one, searches[at], total)
        for line in lines:
            out += line
        for said in levels(plan, at) if plan.marginals else ():
            out += folded(said, 4)
    return out


def _bounding(plan: BlockPlan) -> list[Step]:
    bounds, unit = plan.lowered.bounds, plan.block.unit.name
    rows, steps = counted(bounds.rows), []
    if bounds.groups is not None:
        groups = "1 group" if bounds.groups == 1 else f"{bounds.groups} groups"
        steps.append(Step(f"keep {groups} of each {unit}, by a keyed hash"))
    match bounds.how:
        case "totals":
            return [*steps, Step(f"clamp each {unit}'s total to that of {rows}", rows)]
        case "rows" if bounds.rows is not None:
            return [*steps, Step(f"keep {rows} of each {unit}, by a keyed hash", rows)]
        case _:
            return steps


def _placed(one: Measurement, total: Amount, check: StatementCheck, told: set[str]) -> Iterator[list[str]]:
    """A value that is drawn by its rank."""
    drawn, price = one.placed, f"ε = {one.epsilon.text}{_share(one.epsilon, total)}: exponential mechanism"
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
    assert choice is not None
    assert choice.way is not None
    times = rounds(choice.way, choice.count)
    moved = one.sensitivity.l1 // times
    of = f"of {len(choice.candidates)} values"
    what = f"one {of} is chosen" if choice.count == 1 else f"{choice.count} {of} are chosen, most frequent first"
    yield folded(f"{one.aggregate.text}: {what}, Δ = {moved} {'row' if moved == 1 else 'rows'}", 2)
    for said in _argument(one.aggregate, check, told):
        yield folded(said, 4)
    error = "± depends on the parameters"
    if one.picked is not None:
        behind = short(choice, one.picked.exponent, _SURE)
        error = f"at most {rough(behind)} rows behind any that is not chosen at 95%"
    how = WAYS[choice.way] + (f", {times} times" if times > 1 else "")
    yield folded(f"ε = {one.epsilon.text}{_share(one.epsilon, total)}: {how}, {error}", 4)


def _measurement(one: Measurement, total: Amount, check: StatementCheck, told: set[str]) -> Iterator[list[str]]:
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
    named = "deviation" if one.noise == "gaussian" else "scale"
    scale = f"{named} {rough(one.scale * grid)}" if one.scale is not None else f"{named} {_UNKNOWN[one.noise]}"
    error = "" if one.split else f", {scale}, {_error(one)}"
    yield folded(f"{_priced(one, total)}{error}", 4)
    for other in one.also:
        width = one.halfwidth(_SURE, other)
        error = f": ± {rough(width)} at 95%" if width is not None else ""
        yield folded(f"{other.text} comes from this measurement{error}", 4)


def _searched(one: Measurement, search: Search, total: Amount) -> Iterator[list[str]]:
    """The error in terms of the bounds, which are still to be found."""
    low, high = search.intervals[-1]
    whose = f"each {search.unit.name}'s total" if search.totals else "its argument"
    yield folded(f"{one.aggregate.text}: bounds of {whose} are looked for", 2)
    most = f"of {len(search.intervals)} nested ones, [{number_text(low)}, {number_text(high)}] the widest"
    yield folded(f"ε = {search.epsilon.text}{_share(search.epsilon, total)}: noisy minimum, {most}", 4)
    price = _priced(one, total)
    if one.scale is None:
        named = "deviation" if one.noise == "gaussian" else "scale"
        yield folded(f"{price}, {named} {_UNKNOWN[one.noise]}, ± depends on the parameters", 4)
        return
    mean = isinstance(one.contribution, Balance)
    times = halfwidth(one.noise, one.scale, _SURE) * one.grid / (high - low if mean else max(abs(low), abs(high)))
    of = "times their width / n at 95% where n rows are averaged" if mean else "times the farther of them at 95%"
    yield folded(f"{price}, ± about {rough(times)} {of}", 4)


def _priced(one: Measurement, total: Amount) -> str:
    delta = f", δ = {rough_amount(one.delta)}" if one.delta else ""
    return f"ε = {one.epsilon.text}{_share(one.epsilon, total)}{delta}: {_NOISES[one.noise]}"


def rough_amount(amount: Fraction) -> str:
    """Exact where that is short."""
    exact = amount_text(amount)
    return exact if len(exact) < 12 else f"{float(amount):.4g}"


def _error(one: Measurement) -> str:
    width = one.halfwidth(_SURE)
    if width is not None:
        return f"± {rough(width)} at 95%"
    if one.scale is None:
        return "± depends on the parameters"
    many = one.among_many(_SURE)
    if many is None:
        return "± depends on how far the values spread"
    return f"about ± {rough(many)}/n at 95% where n rows are averaged: ± {rough(many / _TYPICAL)} of {_TYPICAL}"


def _share(epsilon: Amount, total: Amount) -> str:
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


def _selection(one: Selection, total: Amount) -> list[str]:
    groups = "1 group" if one.most == 1 else f"at most {one.most} groups"
    line = f"ε = {one.epsilon.text}{_share(one.epsilon, total)}, δ = {amount_text(one.delta)}: "
    line += "truncated geometric selection"
    if one.selected is not None:
        keep = one.selected.keep
        line += f", a group of {keep.even} is kept half of the time, one of {keep.certain} always"
    text = f"{one.text}: those that enough units are in, each unit in {groups}"
    out = [*folded(text, 2), *folded(line, 4)]
    for count in one.counts:
        width = one.halfwidth(_SURE)
        error = f": ± {rough(width)} at 95% of a large group" if width is not None else ""
        out += folded(f"{count.text} comes from this search{error}", 4)
    return out


def _members(members: tuple[Value, ...], type: ValueType) -> str:
    """The first and the last of them."""
    shown = [value_text(member, type) for member in members]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:4], "…", shown[-1]])
