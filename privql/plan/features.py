"""Features of a unit's own rows: SQL's aggregates as the kernel's counts, sums of steps and extremes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from privql.check.relations import Aggregate, Members
from privql.domains import grid_of
from privql.kernel import rules
from privql.kernel.rules import Stable
from privql.kernel.scalars import BOOL, FLOAT, INT, Apply, Const, Field, Scalar, ValueType, decimal
from privql.kernel.terms import Different, Extreme, Feature, Steps, Tally, Total
from privql.plan.bounds import steps_of
from privql.plan.declared import applied


def gathered(
    below: Stable,
    keys: tuple[tuple[str, Scalar], ...],
    wanted: Sequence[Aggregate],
    needed: frozenset[str],
    units: frozenset[str],
    listed: Members,
) -> Stable:
    """Each unit's groups. A key that is the unit itself splits none of them: it is a value that their rows share."""
    features: dict[str, Feature] = {}
    values: list[tuple[str, Scalar]] = []
    own: list[tuple[str, Scalar]] = []
    for id, value in keys:
        if not (isinstance(value, Field) and value.name in units):
            own.append((id, value))
        elif id in needed:
            features[id] = Extreme(value, greatest=False)
        if id in needed:
            values.append((id, Field(id, value.type)))
    for one in wanted:
        values.append((one.id, value_of(one, features)))
    known = dict(listed)
    members = tuple(known[id] for id, _ in own) if own and known.keys() >= {id for id, _ in own} else None
    stable = rules.gather(below, tuple(own), tuple(features.items()), members)
    return rules.compute(stable, tuple(values))


def value_of(one: Aggregate, features: dict[str, Feature]) -> Scalar:
    """What the aggregate is, over the features that it needs: these are added."""

    def feature(suffix: str, made: Feature, type: ValueType) -> Field:
        features[f"{one.id}_{suffix}"] = made
        return Field(f"{one.id}_{suffix}", type)

    if one.argument is None:
        return feature("rows", Tally(one.where), INT)
    match one.function:
        case "count":
            if one.distinct:
                return feature("different", Different(one.argument, one.where), INT)
            return feature("present", Tally(_present(one)), INT)
        case "min" | "max":
            return feature("extreme", Extreme(one.argument, one.function == "max", one.where), one.type)
        case "sum" | "avg":
            steps = _steps(one)
            total = feature("total", Total(steps, one.where), INT)
            if one.function == "sum":
                return _in_units(total, steps.grid, one.type)
            count = feature("present", Tally(_present(one)), INT)
            sum = applied("mul", _cast(total, FLOAT), Const(float(steps.grid), FLOAT))
            return applied("div", sum, _cast(count, FLOAT))


def _present(one: Aggregate) -> Scalar:
    assert one.argument is not None
    present = Apply("not", (Apply("is_null", (one.argument,), BOOL),), BOOL)
    return present if one.where is None else Apply("and", (one.where, present), BOOL)


def _steps(one: Aggregate) -> Steps:
    """As fine as the type is, or as fine as a bounded range needs."""
    assert one.argument is not None
    if one.domain.bounded or one.domain.empty:
        return steps_of(one.argument, one.domain, spread=False)
    grid = grid_of(one.argument.type)
    assert grid is not None  # sums of FLOAT without bounds are refused
    return Steps(one.argument, grid, -rules.STEP_LIMIT, rules.STEP_LIMIT)


def _in_units(total: Field, grid: Fraction, type: ValueType) -> Scalar:
    match type.kind:
        case "INT":
            return total if grid == 1 else applied("mul", total, Const(int(grid), INT))
        case "FLOAT":
            return applied("mul", _cast(total, FLOAT), Const(float(grid), FLOAT))
        case _:
            written = decimal(len(str(grid.numerator)) + type.scale, type.scale)
            return _cast(applied("mul", _cast(total, decimal(19, 0)), Const(grid, written)), type)


def _cast(value: Scalar, type: ValueType) -> Scalar:
    return value if value.type == type else Apply("cast", (value,), type)
