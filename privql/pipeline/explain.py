"""EXPLAIN: what is measured, why it needs that much noise, and what that costs."""

from __future__ import annotations

from fractions import Fraction

from privql.domains import number_text, value_text
from privql.kernel.cost import amount_text
from privql.kernel.scalars import Value, ValueType
from privql.kernel.terms import Balance
from privql.pipeline.report import StatementCheck, rough
from privql.plan.program import BlockPlan, Measurement
from privql.plan.selection import Selection

_SURE = Fraction(95, 100)


def explain(check: StatementCheck) -> str:
    if check.plan is None:
        return f"{check.kind}: nothing is measured"
    if not check.plan.blocks:
        return "post-processing of public and released rows: free"
    out = []
    for plan in check.plan.blocks:
        out += _block(plan)
    total = check.plan.epsilon
    delta = f", δ = {amount_text(check.plan.delta)}" if check.plan.delta else ""
    out.append(f"total: ε = {total.text}{delta}" + (", answered before: free" if check.replay else ""))
    return "\n".join(out)


def _block(plan: BlockPlan) -> list[str]:
    block, most = plan.block, plan.lowered.rows
    neighbours = "one changed" if block.unit.change_one else "one more or fewer"
    rows = "1 row" if most == 1 else f"at most {most} rows"
    unit = block.unit.name
    out = [f"measure {', '.join(block.tables)}: protects each {unit} ({neighbours}), {rows} per {unit}"]
    match plan.lowered.bounding:
        case "totals":
            out.append(f"  bounding: the totals of each {unit} are clamped to those of {rows}")
        case "rows":
            out.append(f"  bounding: of each {unit} {rows} are kept, by a keyed hash")
        case "none":
            pass
    for key in block.keys:
        if key.members is None:
            out.append(f"  group by {key.name}: {key.unknown}, so they are looked for")
        else:
            out.append(f"  group by {key.name}: {len(key.members)} groups, {_members(key.members, key.type)}")
    if plan.selection is not None:
        out += _selection(plan.selection)
    for one in plan.measurements:
        out += _measurement(one)
    return out


def _measurement(one: Measurement) -> list[str]:
    grid, moved = one.grid, one.sensitivity
    reach = number_text(moved.l1 * grid)
    argument = (
        ""
        if one.aggregate.argument is None
        else f", argument in {one.aggregate.domain.describe(one.aggregate.argument_type)}"
    )
    how = "two cells that share their noise" if isinstance(one.contribution, Balance) else "one sum"
    per_row = number_text(Fraction(moved.l1, one.rows) * grid)
    out = [
        f"  {one.aggregate.text}{argument}: {how}, "
        + (f"Δ = {reach}" if one.rows == 1 else f"Δ = {per_row} x {one.rows} rows = {reach}")
    ]
    width = one.halfwidth(_SURE)
    error = (
        "its error depends on the count"
        if isinstance(one.contribution, Balance)
        else (f"± {rough(width)} at 95%" if width is not None else "± depends on the parameters")
    )
    scale = f"scale {rough(one.scale * grid)}" if one.scale is not None else "scale Δ/ε"
    out.append(f"    ε = {one.epsilon.text}: discrete Laplace noise, {scale}, {error}")
    return out


def _selection(one: Selection) -> list[str]:
    groups = "1 group" if one.most == 1 else f"at most {one.most} groups"
    line = f"    ε = {one.epsilon.text}, δ = {amount_text(one.delta)}: truncated geometric selection"
    if one.selected is not None:
        keep = one.selected.keep
        line += f", a group of {keep.even} is kept half of the time, one of {keep.certain} always"
    return [f"  {one.text}: those that enough units are in, each unit in {groups}", line]


def _members(members: tuple[Value, ...], type: ValueType) -> str:
    """The first and the last of them."""
    shown = [value_text(member, type) for member in members]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:4], "…", shown[-1]])
