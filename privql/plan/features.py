"""Features of a unit's own rows: SQL's aggregates as the kernel's counts, sums of steps, extremes and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privql.check.conditions import also, present
from privql.check.relations import Aggregate, Members
from privql.functions.aggregate.within import MOMENTS
from privql.functions.scalar.text import LONGEST
from privql.kernel import rules
from privql.kernel.features import (
    Bits,
    Different,
    Extreme,
    Feature,
    Mode,
    Order,
    Quantile,
    Rank,
    Splice,
    Tally,
)
from privql.kernel.proved import Unproved
from privql.kernel.scalars import FLOAT, INT, Apply, Const, Field, Scalar, Value, ValueType, decimal
from privql.kernel.stable import Stable
from privql.plan import held
from privql.plan.added_up import added_up, cast, in_units
from privql.plan.declared import applied
from privql.plan.moments import moment, within

_ONE = Const(1, INT)
_TOO_LONG = LONGEST + 1  # characters


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
        if one.distinct and one.function != "count":
            below, one = _of_different(below, one, tuple(value for _, value in own))
        values.append((one.id, value_of(one, features)))
    known = dict(listed)
    members = tuple(known[id] for id, _ in own) if own and known.keys() >= {id for id, _ in own} else None
    below = held.of_groups(below, features.values())
    stable = rules.gather(below, tuple(own), tuple(features.items()), members)
    return rules.compute(stable, tuple(values))


def _of_different(below: Stable, one: Aggregate, keys: tuple[Scalar, ...]) -> tuple[Stable, Aggregate]:
    """DISTINCT: of the rows of a group in which the arguments are the same, one is taken."""
    name = f"{one.id}_first"
    values = (value for value in (one.argument, one.where, *(value for value, _ in one.others)) if value is not None)
    first = ((name, Rank("ROW_NUMBER")),)
    below = rules.window(below, (*keys, *values), (), first)
    return below, replace(one, where=also(one.where, applied("eq", Field(name, INT), _ONE)))


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
        case "count_if":
            return feature("rows", Tally(also(one.where, one.argument)), INT)
        case "min" | "any_value" | "bool_and" | "max" | "bool_or":
            greatest = one.function in ("max", "bool_or")
            return feature("extreme", Extreme(one.argument, greatest, one.where), one.type)
        case "mode":
            return feature("mode", Mode(one.argument, _short(one)), one.type)
        case "bit_and":
            return feature("bits", Bits("AND", one.argument, one.where), INT)
        case "bit_or":
            return feature("bits", Bits("OR", one.argument, one.where), INT)
        case "bit_xor":
            return feature("bits", Bits("XOR", one.argument, one.where), INT)
        case "string_agg":
            order = tuple(Order(_beginning(key.value), key.descending, key.nulls_first) for key in one.order)
            separator = _constant(one)
            assert isinstance(separator, str)
            # a text that is too long makes the whole too long, however much there is of it
            return feature("text", Splice(_beginning(one.argument), separator[:_TOO_LONG], order, one.where), one.type)
        case "quantile_disc":
            return feature("place", Quantile(one.argument, _share(one), "LEAST", _short(one)), one.type)
        case "median" | "quantile_cont":
            share = _share(one)
            low = feature("below", Quantile(one.argument, share, "BELOW", one.where), FLOAT)
            high = feature("above", Quantile(one.argument, share, "ABOVE", one.where), FLOAT)
            return _between(low, high, share, feature("present", Tally(_present(one)), INT))
        case "sum" | "avg":
            totals = added_up(one, _present(one), feature)
            if one.function == "sum":
                return in_units(totals, one.type)
            count = cast(feature("present", Tally(_present(one)), INT), FLOAT)
            mean = applied("div", in_units(totals, FLOAT), count)
            return within(mean, one.domain) if one.domain.bounded else mean
        case function if function in MOMENTS:
            return moment(one, _present(one), lambda suffix, made: feature(suffix, made, _moment_type(made)))
        case function:
            raise Unproved(f"no feature of a unit is a {function}")


def _short(one: Aggregate) -> Scalar | None:
    """Where the value, if it is a text, is no longer than those that are made: all of them are held."""
    assert one.argument is not None
    if one.argument.type.kind != "TEXT":
        return one.where
    return also(one.where, applied("le", applied("length", one.argument), Const(LONGEST, INT)))


def _beginning(value: Scalar) -> Scalar:
    """Of a text, as much as tells that it is longer than any that is made."""
    return applied("left", value, Const(_TOO_LONG, INT)) if value.type.kind == "TEXT" else value


def _moment_type(made: Feature) -> ValueType:
    return INT if isinstance(made, Tally) else decimal(38, 0)


def _between(low: Field, high: Field, share: float, present: Field) -> Scalar:
    """Between the neighbours of place (n - 1)·share, as far as that is from the lower."""
    place = applied("mul", applied("sub", cast(present, FLOAT), Const(1.0, FLOAT)), Const(share, FLOAT))
    far = applied("sub", place, applied("floor", place))
    near = applied("sub", Const(1.0, FLOAT), far)
    value = applied("add", applied("mul", low, near), applied("mul", high, far))
    return Apply("clamp", (value, low, high), FLOAT)  # rounding may lead beyond


def _constant(one: Aggregate) -> Value:
    """A separator or a share: the second argument."""
    ((given, _),) = one.others
    assert isinstance(given, Const)
    return given.value


def _share(one: Aggregate) -> float:
    share = _constant(one) if one.others else 0.5
    assert isinstance(share, float)
    return share


def _present(one: Aggregate) -> Scalar:
    assert one.argument is not None
    others = (value for value, _ in one.others if not isinstance(value, Const))
    where = one.where
    for value in (one.argument, *others):
        where = also(where, present(value))
    assert where is not None
    return where
