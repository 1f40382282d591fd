"""What would cost less: the query written in another way, checked and priced again like any query.

A function proposes rewrites of one kind. A proposal is shown only if it passes the checker, measures as many numbers,
none of them less exactly, and spends no more: what is printed is the difference of the two plans. Most ask for less
than the query does - fewer rows of a unit, a narrower range - and say so: the analyst knows whether that will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from privql.check.relations import Aggregate, Block
from privql.domains import grid_of, number_text
from privql.frozen import frozen, rebuilt
from privql.kernel.cost import amount_text
from privql.kernel.scalars import Field, ValueType
from privql.names import fold
from privql.pipeline.check import check_statement
from privql.pipeline.report import StatementCheck, rough
from privql.pipeline.tree import features_of
from privql.pipeline.whether import only_whether
from privql.plan.behind import short
from privql.plan.program import BlockPlan, Measurement, Plan
from privql.plan.ranks import off
from privql.syntax import ast, unparse
from privql.syntax.unparse_queries import privacy

_SURE = Fraction(95, 100)
_SHOWN = 3
_WORTH = Fraction(5, 4)  # less than this is not worth reading about
_TRIED = 6  # aggregates whose range is narrowed


@frozen
class Hint:
    """`query`: the whole of it, rewritten. `gain`: by how much the error shrinks, or ε."""

    what: str
    query: ast.Query
    price: str
    gain: Fraction


Proposal = tuple[str, ast.Query]


def cheaper(check: StatementCheck) -> list[Hint]:
    """The best of what is cheaper, the cheapest first."""
    query = _asked(check.statement)
    if query is None or check.replay or check.plan is None or not check.plan.blocks or not check.plan.epsilon.known:
        return []
    if check.plan.searches:  # what the noise will be, depends on the bounds that are found
        return []
    found = []
    for propose in (listed_keys, fewer_rows, only_whether, narrower):
        for what, rewritten in propose(query, check):
            again, _ = check_statement(rewritten, check.span, check.source, check.env)
            if again.plan is None or _names(again) != _names(check):
                continue
            gain = gained(check.plan, again.plan)
            if gain is not None and (price := _price(check.plan, again.plan)):
                found.append(Hint(what, rewritten, price, gain))
    return sorted(found, key=lambda hint: -hint.gain)[:_SHOWN]


def _names(check: StatementCheck) -> list[str]:
    return [column.name for column in check.query.columns] if check.query is not None else []


def _asked(statement: ast.Statement | None) -> ast.Query | None:
    match statement:
        case ast.Query():
            return statement
        case ast.CreateRelease(query=query):
            return query
        case ast.Explain(statement=inner):
            return _asked(inner)
        case _:
            return None


# ---------------------------------------------------------------- what it gains


def gained(before: Plan, after: Plan) -> Fraction | None:
    """By how much it is cheaper, if that is worth saying and nothing is dearer. No δ is worth it where the numbers are
    as good, of which some may have come from the search for the groups."""
    pairs = _pairs(before, after)
    if not pairs or not after.epsilon.known:
        return None
    spent, spends = before.epsilon.constant, after.epsilon.constant
    if spends > spent or after.delta > before.delta:
        return None
    ratios = [_ratio(*pair) for pair in pairs]
    gain = max(ratios) * spent / spends
    if before.delta and not after.delta:
        gain = max(gain, _WORTH)
    return gain if min(ratios) >= Fraction(99, 100) and gain >= _WORTH else None  # WITHIN rounds ε


@dataclass(frozen=True, slots=True)
class _Number:
    """An aggregate of a block: where it comes from a measurement, `source` is that."""

    plan: BlockPlan
    at: int

    @property
    def source(self) -> Measurement | None:
        at = self.plan.sources[self.at]
        return self.plan.measurements[at] if at is not None else None

    @property
    def named(self) -> bool:
        """Whether its measurement has its name."""
        return self.source is None or self.source.aggregate.id == self.plan.block.aggregates[self.at].id

    @property
    def width(self) -> Fraction | None:
        return self.plan.halfwidth(self.at, _SURE)


def _pairs(before: Plan, after: Plan) -> list[tuple[_Number, _Number]]:
    """The same numbers; none, where they are shared in another way, and not because a search gives some of them."""
    shared = [[len(one.also) for one in plan.measurements] for plan in (before, after)]
    if shared[0] != shared[1] and not any(one.counts for one in before.selections):
        return []
    made = [[_Number(one, at) for one in plan.blocks for at in range(len(one.sources))] for plan in (before, after)]
    return list(zip(*made, strict=True)) if len(made[0]) == len(made[1]) else []


def _ratio(one: _Number, other: _Number) -> Fraction:
    """How much more noise one has than the other: of its cells, if both have such."""
    if one.source is not None and other.source is not None:
        return _noise(one.source) / _noise(other.source)
    assert one.width is not None and other.width is not None  # counts
    return (one.width + 1) / (other.width + 1)


def _noise(one: Measurement) -> Fraction:
    assert one.scale is not None
    deviations = 1 if one.noise == "gaussian" else Fraction(1414, 1000)
    return one.scale * one.grid * deviations


def _price(before: Plan, after: Plan) -> str:
    """What is spent, where that is less, and the error that shrinks most; "" where nobody would see a difference."""
    said = []
    if after.epsilon.constant < before.epsilon.constant:
        said.append(f"ε = {after.epsilon.text} instead of {before.epsilon.text}")
    if after.delta < before.delta:
        said.append(f"δ = {amount_text(after.delta)} instead of {amount_text(before.delta)}" if after.delta else "no δ")
    one, other = max(_pairs(before, after), key=lambda pair: (_ratio(*pair), pair[0].named))
    if _ratio(one, other) >= _WORTH and _error(one) != _error(other):
        said.append(f"{one.plan.block.aggregates[one.at].text} ± {_error(other)} instead of {_error(one)}")
    return ", ".join(said)


def _error(one: _Number) -> str:
    width, source = one.width, one.source
    if width is not None or source is None:
        return rough(width) if width is not None else "by noise"
    if source.placed is not None:
        return f"{rough(off(source.placed.draw, source.placed.term.steps))} ranks"
    if source.picked is not None and source.aggregate.choice is not None:
        return f"{rough(short(source.aggregate.choice, source.picked.exponent, _SURE))} rows"
    among = source.among_many(_SURE)
    return f"{rough(among)}/n" if among is not None else f"by noise of deviation {rough(_noise(source))}"


# ---------------------------------------------------------------- the rewrites


def listed_keys(query: ast.Query, check: StatementCheck) -> Iterator[Proposal]:
    """Groups that are stated need no search: no δ, and no half of ε. How many are stated changes no price."""
    assert check.plan is not None
    looked = [key for selection in check.plan.selections for key in selection.keys]
    unlisted = {key.span: example for key in looked if (example := _example(key.type)) is not None}
    if not unlisted or len(unlisted) < len(looked):
        return

    def change(node: Any) -> Any:
        if isinstance(node, ast.GroupKey) and node.keys is None and node.expr.span in unlisted:
            return replace(node, keys=(unlisted[node.expr.span],))
        if isinstance(node, ast.Privacy):
            return replace(node, delta=None, groups=None, per_unit=node.per_unit if node.rows else None)
        return None

    names = " and ".join(f"`{key.name} KEYS (…)`" for key in looked)
    yield f"state the groups that you know, {names}", rebuilt(query, change)


def _example(type: ValueType) -> ast.Expr | None:
    match type.kind:
        case "TEXT":
            return ast.String("…")
        case "INT" | "DECIMAL" | "FLOAT":
            return ast.Number("1")
        case "DATE":
            return ast.Typed("DATE", "2024-01-01")
        case _:
            return None


def fewer_rows(query: ast.Query, check: StatementCheck) -> Iterator[Proposal]:
    """Half as many rows of a unit."""
    assert check.plan is not None
    most, block = max(((plan.lowered.rows or 1, plan.block) for plan in check.plan.blocks), key=lambda pair: pair[0])
    if most < 2:
        return
    half = ast.Number(str(most // 2))
    clause = replace(query.privacy or ast.Privacy(span=check.span), rows=half)
    rows = "1 row" if most // 2 == 1 else f"{most // 2} rows"
    limits = ast.Privacy(rows=half, groups=clause.groups, per_unit=clause.per_unit, span=clause.span)
    what = f"`{privacy(limits)}`, if {rows} of each {block.unit.name} will do"
    yield what, replace(query, privacy=clause)


def narrower(query: ast.Query, check: StatementCheck) -> Iterator[Proposal]:
    """Half of an argument's range; of a total over one unit's rows a tenth, as few units come near what all could."""
    assert check.plan is not None and check.query is not None
    measured = [(plan.block, one) for plan in check.plan.blocks for one in plan.measurements]
    tried: list[ast.Call] = []
    for block, measurement in measured:
        one, call = measurement.aggregate, _call(query, measurement.aggregate)
        if call is None or call in tried or len(tried) == _TRIED:
            continue
        tried.append(call)
        total = _is_total(block, one)
        bounds = _part(one, Fraction(1, 10) if total else Fraction(1, 2))
        if bounds is None:
            continue
        inner = call.args[0]
        if isinstance(inner, ast.Call) and inner.name.upper() == "CLAMP" and len(inner.args) == 3:
            inner = inner.args[0]
        clamp = ast.Call("CLAMP", (inner, *map(_number, bounds)))
        also = [other for other in map(partial(_call, query), measurement.also) if other is not None]
        new = {old: replace(old, args=(clamp,)) for old in (call, *also) if old.args == call.args}
        why = f"few come near {_far(one)}, which the rows of one {block.unit.name} might add up to"
        text = f"`{unparse(clamp)}`, if {why if total else 'most values lie there'}"
        yield text, rebuilt(query, partial(_swapped, new))


def _swapped(new: dict[ast.Call, ast.Call], node: Any) -> Any:
    return new.get(node) if isinstance(node, ast.Call) else None


def _call(query: ast.Query, one: Aggregate) -> ast.Call | None:
    """Where it is written, unless in a view."""
    found: list[ast.Call] = []

    def see(node: Any) -> Any:
        if isinstance(node, ast.Call) and node.span == one.span and fold(node.name) == one.function:
            found.append(node)
        return None

    rebuilt(query, see)
    plain = found and len(found[0].args) == 1 and not found[0].distinct and not isinstance(found[0].args[0], ast.Named)
    return found[0] if plain else None


def _is_total(block: Block, one: Aggregate) -> bool:
    """Whether its argument is a sum or a count of one unit's rows, that nothing has bounded since."""
    made = features_of(block.rel, one.argument) if isinstance(one.argument, Field) else []
    return any(feature.function in ("sum", "count") for feature in made)


def _far(one: Aggregate) -> str:
    return number_text(max(abs(one.domain.low or Fraction(0)), abs(one.domain.high or Fraction(0))))


def _part(one: Aggregate, part: Fraction) -> tuple[Fraction, Fraction] | None:
    """That part of the range, from its end that is nearest to 0."""
    low, high = one.domain.low, one.domain.high
    if one.argument_type is None or one.function not in ("sum", "avg") or low is None or high is None or low >= high:
        return None
    if one.function == "avg":
        high = low + (high - low) * part
    elif low >= 0:
        high = max(low, high * part)
    elif high <= 0:
        low = min(high, low * part)
    else:
        low, high = low * part, high * part
    unit = grid_of(one.argument_type)
    if unit is None:  # a FLOAT, as few digits as half a range needs
        low, high = (Fraction(f"{float(end):.6g}") for end in (low, high))
    else:
        low, high = (int(end / unit) * unit for end in (low, high))
    return (low, high) if low < high else None


def _number(value: Fraction) -> ast.Expr:
    number = ast.Number(number_text(abs(value)))
    return ast.Unary("-", number) if value < 0 else number
