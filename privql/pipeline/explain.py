"""EXPLAIN: how the rows come about that are measured, why that needs so much noise, what it costs, and what would be
cheaper."""

from __future__ import annotations

from privql.check.env import USUAL
from privql.domains import value_text
from privql.kernel.cost import amount_text
from privql.kernel.scalars import Value, ValueType
from privql.pipeline.certificate import values_of
from privql.pipeline.cheaper import cheaper
from privql.pipeline.figures import rough
from privql.pipeline.levels import levels
from privql.pipeline.measurement import measurement, searched, share
from privql.pipeline.padding import lengths
from privql.pipeline.price import MOST_NAMED
from privql.pipeline.report import StatementCheck
from privql.pipeline.runs import Runs
from privql.pipeline.tree import Step, Tree, counted, folded, laid_out
from privql.plan.amounts import Amount
from privql.plan.program import BlockPlan
from privql.plan.selection import Selection

_WHOLE = "only of files that are as they were when the policy was applied it is known who is in which part"


def explain(check: StatementCheck) -> str:
    if check.plan is None:
        return f"{check.kind}: nothing is measured"
    if not check.plan.blocks:
        return "post-processing of public and released rows: free"
    out = []
    for plan in check.plan.blocks:
        out += _block(plan, check)
    out += _parts(check)
    total = check.plan.epsilon
    delta = f", δ = {amount_text(check.plan.delta)}" if check.plan.delta else ""
    out.append(f"total: ε = {total.text}{delta}" + (", answered before: free" if check.replay else ""))
    if (shortest := check.env.catalog.padded) is not None and not check.replay:
        out.append(f"time: padded to {lengths(shortest)}")
    if check.again is not None:
        out += folded(_again(check.again), 0)
    if check.refines is not None:
        out.append(f"asked anew: {check.refines.anew}")
    hints = cheaper(check) if check.again is None and check.refines is None else ()
    if hints:
        out.append("cheaper:")
        for hint in hints:
            out += folded(f"{hint.what}: {hint.price}", 2)
    return "\n".join(out)


def _parts(check: StatementCheck) -> list[str]:
    """Whose rows alone were read; and whether they alone are charged."""
    assert check.plan is not None
    charged = dict(check.request.parts) if check.request is not None else check.plan.parts_by_unit
    out: list[str] = []
    for unit, one in check.plan.parts_by_unit.items():
        values = values_of(one)
        named = ", ".join(f"'{value}'" for value in values[:MOST_NAMED]) + (", …" if len(values) > MOST_NAMED else "")
        said = f"each {unit} counts in one {one.partition.column} alone: only those in {named} are charged"
        if unit not in charged:
            said = f"each {unit} is charged, whatever its {one.partition.column}: {_WHOLE}"
        out += folded(said, 0)
    return out


def _again(runs: Runs) -> str:
    """That was one of them."""
    lost = runs.losses.values()
    epsilon, delta = max(cost.epsilon for cost in lost), max(cost.delta for cost in lost)
    plan = f"charged as one plan, when it is first run, ε = {amount_text(epsilon)}"
    return f"{runs.words}: {plan}" + (f", δ = {amount_text(delta)}" if delta else "")


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
        looked_for = searches.get(at)
        lines = searched(one, looked_for, total) if looked_for else measurement(one, total, check, told)
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


def _selection(one: Selection, total: Amount) -> list[str]:
    groups = "1 group" if one.most == 1 else f"at most {one.most} groups"
    line = f"ε = {one.epsilon.text}{share(one.epsilon, total)}, δ = {amount_text(one.delta)}: "
    line += "truncated geometric selection"
    if one.selected is not None:
        keep = one.selected.keep
        line += f", a group of {keep.even} is kept half of the time, one of {keep.certain} always"
    text = f"{one.text}: those that enough units are in, each unit in {groups}"
    out = [*folded(text, 2), *folded(line, 4)]
    for count in one.counts:
        width = one.halfwidth(USUAL)
        error = f": ± {rough(width)} at 95% of a large group" if width is not None else ""
        out += folded(f"{count.text} comes from this search{error}", 4)
    return out


def _members(members: tuple[Value, ...], type: ValueType) -> str:
    """The first and the last of them."""
    shown = [value_text(member, type) for member in members]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:4], "…", shown[-1]])
