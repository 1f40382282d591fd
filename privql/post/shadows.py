"""A query over replicates: every number that carries noise is computed beside itself once more, from other noise.

Rows are those of the answer. Each noisy column `x` has a shadow `x~`, and each row the number of its replicate. What
chooses, orders or groups rows reads the released numbers, so that a row of a replicate is a row of the answer; what is
shown reads the shadows. A query that has lost its way from a number to its cells - through DISTINCT counts, INTERSECT,
a recursion - has no shadow for it, and says so by leaving it out.

A shadow is NULL where the replicate says nothing. Three functions have one that is extended to where they are not
defined, or less: a ratio whose divisor has another sign than the released one says nothing, since the exact divisor
could be that near to 0; the logarithm of nothing is below all numbers; the root of less than nothing is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from privql.check.columns import produced
from privql.check.relations import (
    AggregateCall,
    CheckedQuery,
    Combined,
    Compute,
    Distinct,
    Grouped,
    Joined,
    Measured,
    Recursive,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Sorted,
    SortKey,
    Subquery,
    Where,
    WindowCall,
    Windowed,
    Working,
)
from privql.finish.resampling import FAR
from privql.finish.table import Table
from privql.frozen import inside
from privql.kernel.scalars import BOOL, FLOAT, INT, Apply, Const, Field, Scalar, ValueType, fields

_NOTHING = Const(None, BOOL)
_GROWING = frozenset({"add", "sub", "neg", "cast", "round", "floor", "ceil", "trunc", "exp", "degrees", "radians"})
_LOGS = frozenset({"ln", "log10", "log2"})
_LINEAR = frozenset({"sum", "avg"})
_AMONG = frozenset({"min", "max", "quantile_cont", "quantile_disc"})
_ONE_ROW = frozenset({"lag", "lead", "first_value", "last_value", "nth_value"})
_SUMMARIES = _LINEAR | _AMONG | {"var_pop", "var_samp", "stddev_pop"} | {
    "stddev_samp", "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept"
}  # fmt: skip


def shadow(id: str) -> str:
    return f"{id}~"


@dataclass(frozen=True, slots=True)
class Leaf:
    """Rows that came with noise: as they were released, and with the shadows of some columns in each replicate.

    `shadows` has the replicate, the number of the row, and then the columns `known`, by position; `lost` are noisy,
    too, but nothing is known of their noise.
    """

    released: Table
    shadows: Table | None
    known: tuple[int, ...] = ()
    monotone: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    bounds: frozenset[int] = frozenset()  # whose shadows only say how far they may be off at most


@dataclass(frozen=True, slots=True)
class Shadowed:
    """`query` gives the rows of each replicate in turn, and the shadow of each column that has one."""

    query: CheckedQuery
    tables: tuple[Table, ...]
    columns: tuple[int, ...]  # which of the columns of the answer have one
    monotone: tuple[bool, ...]
    bounds: tuple[bool, ...]
    outputs: tuple[tuple[str, ValueType], ...]
    lost: frozenset[int] = frozenset()  # noisy columns that have none


def shadowed(query: CheckedQuery, blocks: Sequence[Leaf], released: Mapping[str, Leaf], replicates: Table) -> Shadowed:
    """`replicates`: their numbers, a row each."""
    made = _Shadows(query, blocks, released, replicates)
    rel, number = made.rel(query.rel)
    columns = [at for at, column in enumerate(query.columns) if column.id in made.noisy and _numeric(column.type)]
    if number is not None:
        rel = Sorted(rel, (SortKey(Field(number, INT), False, False),))
    lifted = replace(query, rel=rel, shared=tuple(made.shared.items()), subqueries=tuple(made.subqueries.items()))
    ids = [query.columns[at].id for at in columns]
    return Shadowed(
        lifted,
        tuple(made.tables),
        tuple(columns) if number is not None else (),
        tuple(id not in made.bent for id in ids),
        tuple(id in made.bounds for id in ids),
        tuple((shadow(id), query.columns[at].type) for id, at in zip(ids, columns, strict=True)),
        frozenset(at for at, column in enumerate(query.columns) if column.id in made.lost),
    )


def _numeric(type: ValueType) -> bool:
    return type.kind in ("INT", "FLOAT", "DECIMAL")


Lifted = tuple[Rel, str | None]  # and the column that numbers the replicate; None where there is nothing noisy


@dataclass
class _Shadows:
    query: CheckedQuery
    blocks: Sequence[Leaf]
    released: Mapping[str, Leaf]
    replicates: Table
    tables: list[Table] = field(default_factory=list)
    noisy: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    bent: set[str] = field(default_factory=set)  # noisy, and not monotone in their cells
    bounds: set[str] = field(default_factory=set)  # whose shadows say how far they may be off at most, one way or other
    shared: dict[str, Rel] = field(default_factory=dict)
    subqueries: dict[str, Subquery] = field(default_factory=dict)
    numbers: dict[str, str | None] = field(default_factory=dict)  # of shared queries
    asked: dict[str, Lifted] = field(default_factory=dict)  # scalar subqueries
    fresh_ids: int = 0

    def __post_init__(self) -> None:
        self.shared.update(self.query.shared)
        self.subqueries.update(self.query.subqueries)
        self.tables += [leaf.released for leaf in self.blocks]
        self.tables.append(self.replicates)

    def fresh(self, of: str) -> str:
        self.fresh_ids += 1
        return f"{of}~{self.fresh_ids}"

    # ---- values

    def reads(self, term: Scalar) -> tuple[bool, bool]:
        """Whether it is noisy, and whether nothing is known of its noise."""
        noisy = lost = False
        for name in fields(term):
            if name in self.subqueries:
                one, other = self._subquery(name)
                noisy, lost = noisy or one, lost or other
            else:
                noisy, lost = noisy or name in self.noisy, lost or name in self.lost
        return noisy, lost

    def _subquery(self, name: str) -> tuple[bool, bool]:
        found = self.subqueries[name]
        if found.kind == "exists":
            return False, False
        if name not in self.asked:
            self.asked[name] = self.rel(found.rel)
        assert found.column is not None
        noisy, lost = found.column in self.noisy, found.column in self.lost
        if found.kind == "scalar":
            return noisy, lost
        operand = self.reads(found.operand) if found.operand is not None else (False, False)
        return False, noisy or lost or any(operand)

    def shadow(self, term: Scalar, number: str) -> Scalar:
        match term:
            case Field(name=name, type=type) if name in self.subqueries:
                return Field(self._shadow_of_subquery(name, number), type) if any(self.reads(term)) else term
            case Field(name=name, type=type) if name in self.noisy:
                return Field(shadow(name), type)
            case Apply(op=op, args=args, type=type):
                made = Apply(op, tuple(self.shadow(arg, number) for arg in args), type)
                return made if made == term else _extended(term, made)
            case _:
                return term

    def _shadow_of_subquery(self, name: str, number: str) -> str:
        rel, inner = self.asked[name]
        column = self.subqueries[name].column
        assert column is not None
        if inner is not None:
            rel = Where(rel, _same(inner, number))
        made = self.fresh(name)
        self.subqueries[made] = Subquery("scalar", rel, shadow(column))
        return made

    def monotone(self, term: Scalar) -> bool:
        """Whether it only grows, or only falls, with each of the noisy numbers in it, or is a ratio of such."""
        match term:
            case Field(name=name) if name in self.subqueries:
                column = self.subqueries[name].column
                return column not in self.bent
            case Field(name=name):
                return name not in self.bent
            case Apply(op=op, args=args):
                noisy = [arg for arg in args if self.reads(arg)[0]]
                one = len(noisy) <= 1 and (op in _LOGS or op in ("mul", "sqrt", "log", "coalesce", "clamp"))
                return (not noisy or one or op in _GROWING or op == "div") and all(map(self.monotone, noisy))
            case Const():
                return True

    def learn(self, id: str, terms: Sequence[Scalar], monotone: bool = True) -> bool:
        """What is known of a column made of these terms; True where it gets a shadow."""
        read = [self.reads(term) for term in terms]
        if any(lost for _, lost in read) or any(map(self._mixes, terms)):
            self.lost.add(id)
        elif any(noisy for noisy, _ in read):
            self.noisy.add(id)
            if not (monotone and all(map(self.monotone, terms))):
                self.bent.add(id)
            if any(self._columns(term) & self.bounds for term in terms):
                self.bounds.add(id)
            return True
        return False

    def _columns(self, term: Scalar) -> set[str]:
        """Its noisy columns, those of the queries in it by their own names."""
        named = fields(term)
        asked = {self.subqueries[name].column for name in named & self.subqueries.keys()}
        return {name for name in {*named, *asked} if name is not None and name in self.noisy}

    def _mixes(self, term: Scalar) -> bool:
        """Whether it has a number whose shadow is only a bound together with others: they might cancel in it."""
        columns = self._columns(term)
        return bool(columns & self.bounds) and (len(columns) > 1 or not self.monotone(term))

    # ---- relations

    def rel(self, rel: Rel) -> Lifted:
        match rel:
            case Measured(block=block, columns=columns):
                return self._leaf(rel, self.blocks[block], [id for id, _ in columns], block)
            case ReleasedScan(release=release, columns=scanned):
                return self._released(rel, self.released[release], scanned)
            case Shared():
                return self._shared(rel)
            case Where(input=below, condition=condition):
                made, number = self.rel(below)
                return (rel, None) if number is None else (Where(made, condition), number)
            case Compute():
                return self._compute(rel)
            case Joined():
                return self._joined(rel)
            case Grouped():
                return self._grouped(rel)
            case Windowed():
                return self._windowed(rel)
            case Distinct(input=below):
                made, number = self.rel(below)
                return (rel, None) if number is None else self._distinct(made, produced(below), number)
            case Combined():
                return self._combined(rel)
            case Sorted():
                return self._sorted(rel)
            case Recursive(columns=columns):
                if self._meets_noise(rel):
                    self.lost |= {id for id, _ in columns}
                return rel, None
            case Rows(columns=columns, rows=rows):
                for at, (id, _) in enumerate(columns):
                    if any(any(self.reads(row[at])) for row in rows):
                        self.lost.add(id)
                return rel, None
            case _:
                return rel, None

    def _meets_noise(self, rel: Rel) -> bool:
        todo: list[Any] = [rel]
        while todo:
            match todo.pop():
                case Measured() | ReleasedScan():
                    return True
                case Working():
                    pass
                case Shared(name=name):
                    todo.append(self.shared[name])
                case Field(name=name) if name in self.subqueries:
                    todo.append(self.subqueries[name])
                case node:
                    todo.extend(inside(node))
        return False

    def _leaf(self, rel: Rel, leaf: Leaf, ids: Sequence[str], released: int) -> Lifted:
        self.lost |= {ids[at] for at in leaf.lost}
        if leaf.shadows is None:
            return rel, None
        self.noisy |= {ids[at] for at in leaf.known}
        self.bent |= {ids[at] for at in leaf.known if at not in leaf.monotone}
        self.bounds |= {ids[at] for at in leaf.bounds}
        row, number, again = self.fresh("row"), self.fresh("replicate"), self.fresh("row")
        types = [type for _, type in leaf.released.columns]
        one = Measured(released, (*zip(ids, types, strict=True), (row, INT)))
        self.tables.append(leaf.shadows)
        other = Measured(
            len(self.tables) - 1,
            ((number, INT), (again, INT), *((shadow(ids[at]), types[at]) for at in leaf.known)),
        )
        return Joined("INNER", one, other, _same(row, again)), number

    def _released(self, rel: ReleasedScan, leaf: Leaf, scanned: Sequence[tuple[str, str, ValueType]]) -> Lifted:
        names = [name for name, _ in leaf.released.columns]
        ids = [self.fresh("unread") for _ in names]
        for id, name, _ in scanned:
            ids[names.index(name)] = id
        self.tables.append(leaf.released)
        made, number = self._leaf(rel, leaf, ids, len(self.tables) - 1)
        twice = [(id, ids[names.index(name)]) for id, name, _ in scanned if ids[names.index(name)] != id]
        self.lost |= {id for id, _ in twice}
        return made, number

    def _replicated(self, rel: Rel, number: str | None) -> tuple[Rel, str]:
        if number is not None:
            return rel, number
        number = self.fresh("replicate")
        return Joined("CROSS", Measured(len(self.blocks), ((number, INT),)), rel), number

    def _shared(self, rel: Shared) -> Lifted:
        if rel.name not in self.numbers:
            self.numbers[rel.name] = None
            made, number = self.rel(self.shared[rel.name])
            self.numbers[rel.name] = number
            if number is not None:
                self.shared[shadow(rel.name)] = made
        number = self.numbers[rel.name]
        for here, there, _ in rel.columns:
            for known in (self.noisy, self.lost, self.bent, self.bounds):
                if there in known:
                    known.add(here)
        if number is None:
            return rel, None
        shadows = [(shadow(here), shadow(there), type) for here, there, type in rel.columns if there in self.noisy]
        mine = self.fresh("replicate")
        return Shared(shadow(rel.name), (*rel.columns, *shadows, (mine, number, INT))), mine

    def _compute(self, rel: Compute) -> Lifted:
        made, number = self.rel(rel.input)
        wanted = [(id, term) for id, term in rel.columns if self.learn(id, [term])]
        if number is None and not wanted:
            return rel, None
        made, number = self._replicated(made, number)
        shadows = [(shadow(id), self.shadow(term, number)) for id, term in wanted]
        return Compute(made, (*rel.columns, *shadows, (number, Field(number, INT)))), number

    def _joined(self, rel: Joined) -> Lifted:
        (left, one), (right, other) = self.rel(rel.left), self.rel(rel.right)
        if one is None and other is None:
            return rel, None
        if rel.kind in ("LEFT", "FULL"):
            left, one = self._replicated(left, one)
        if rel.kind in ("RIGHT", "FULL"):
            right, other = self._replicated(right, other)
        kind, on = rel.kind, rel.on
        if one is not None and other is not None:
            same = _same(one, other)
            on = same if on is None else Apply("and", (on, same), BOOL)
            kind = "INNER" if kind == "CROSS" else kind
        made = Joined(kind, left, right, on, rel.lateral)
        if kind == "FULL":
            assert one is not None and other is not None
            number = self.fresh("replicate")
            either = Apply("coalesce", (Field(one, INT), Field(other, INT)), INT)
            return Compute(made, (*_passed(produced(made)), (number, either))), number
        return made, (other if kind == "RIGHT" or one is None else one)

    def _calls(self, calls: Sequence[tuple[str, AggregateCall]]) -> list[tuple[str, list[Scalar]]]:
        """Those that get a shadow, with the arguments that are noisy."""
        wanted: list[tuple[str, list[Scalar]]] = []
        for id, call in calls:
            if call.function == "count" and not call.distinct:
                continue  # what is chosen stays chosen
            known = call.function in _SUMMARIES | _ONE_ROW and not call.distinct
            if not known:
                if any(any(self.reads(arg)) for arg in call.args):
                    self.lost.add(id)
            elif self.learn(id, call.args, call.function in _LINEAR | _ONE_ROW | _AMONG):
                if call.function in _AMONG:
                    self.bounds.add(id)
                wanted.append((id, [arg for arg in call.args if self.reads(arg)[0]]))
        return wanted

    def _grouped(self, rel: Grouped) -> Lifted:
        made, number = self.rel(rel.input)
        for id, term in rel.keys:
            if any(self.reads(term)):
                self.lost.add(id)
        wanted = self._calls(rel.aggregates)
        if number is None and not wanted:
            return rel, None
        made, number = self._replicated(made, number)
        calls = dict(rel.aggregates)
        more: list[tuple[str, AggregateCall]] = []
        finished: list[tuple[str, Scalar]] = []
        for id, noisy in wanted:
            call = calls[id]
            whole = self.fresh(id)
            more.append((whole, self._shadow_call(call, number)))
            pairs = []
            for arg in noisy:
                pairs.append((self.fresh(id), self.fresh(id)))
                for name, counted in zip(pairs[-1], (arg, self.shadow(arg, number)), strict=True):
                    more.append((name, AggregateCall("count", (counted,), INT, where=call.where)))
            found = self._off(id, call, whole, number)
            finished.append((shadow(id), _if_all(found, pairs)))
        grouped = Grouped(
            made,
            (*rel.keys, (number, Field(number, INT))),
            (*rel.aggregates, *more),
            tuple((*chosen, len(rel.keys)) for chosen in rel.sets),
            rel.grouping,
        )
        kept = _passed(produced(rel))
        return Compute(grouped, (*kept, *finished, (number, Field(number, INT)))), number

    def _windowed(self, rel: Windowed) -> Lifted:
        made, number = self.rel(rel.input)
        wanted = self._calls([(id, window.call) for id, window in rel.calls])
        if number is None and not wanted:
            return rel, None
        made, number = self._replicated(made, number)
        below = produced(made)
        windows = {id: _within(window, number) for id, window in rel.calls}
        more: list[tuple[str, WindowCall]] = []
        finished: list[tuple[str, Scalar]] = []
        for id, noisy in wanted:
            window = windows[id]
            if window.ignore_nulls:
                self.noisy.discard(id)
                self.lost.add(id)
                continue
            whole = self.fresh(id)
            more.append((whole, replace(window, call=self._shadow_call(window.call, number))))
            pairs = []
            for arg in noisy if window.call.function not in _ONE_ROW else ():
                pairs.append((self.fresh(id), self.fresh(id)))
                for name, counted in zip(pairs[-1], (arg, self.shadow(arg, number)), strict=True):
                    counts = AggregateCall("count", (counted,), INT, where=window.call.where)
                    more.append((name, replace(window, call=counts)))
            found = self._off(id, window.call, whole, number)
            finished.append((shadow(id), _if_all(found, pairs)))
        made = Windowed(made, (*windows.items(), *more))
        kept = _passed({**below, **produced(rel)})
        return Compute(made, (*kept, *finished)), number

    def _shadow_call(self, call: AggregateCall, number: str) -> AggregateCall:
        """The same of the shadows; of one value among several, the farthest that any of them moved.

        A greatest value of noisy ones is above the greatest exact one more often than not, and that of replicates even
        more so; but it is off by no more than the one that is off most.
        """
        if call.function not in _AMONG:
            return replace(call, args=tuple(self.shadow(arg, number) for arg in call.args))
        type = call.args[0].type
        moved = Apply("abs", (Apply("sub", (self.shadow(call.args[0], number), call.args[0]), type),), type)
        return AggregateCall("max", (moved,), type, where=call.where)

    def _off(self, id: str, call: AggregateCall, whole: str, number: str) -> Scalar:
        if call.function not in _AMONG:
            return Field(whole, call.type)
        way: Scalar = Apply("mod", (Field(number, INT), Const(2, INT)), INT)
        up = Apply("eq", (way, Const(0, INT)), BOOL)
        moved = _cast(Field(whole, call.args[0].type), call.type)
        ends = (Apply(op, (Field(id, call.type), moved), call.type) for op in ("add", "sub"))
        return Apply("case", (up, *ends), call.type)

    def _distinct(self, rel: Rel, columns: Mapping[str, ValueType], number: str) -> Lifted:
        """A row that only one row became keeps its shadows."""
        rows = self.fresh("rows")
        shadows = [(id, self.fresh(id), type) for id, type in columns.items() if id in self.noisy]
        picked = [(made, AggregateCall("max", (Field(shadow(id), type),), type)) for id, made, type in shadows]
        keys = (*_passed(columns), (number, Field(number, INT)))
        grouped = Grouped(rel, keys, ((rows, AggregateCall("count", (), INT)), *picked), (tuple(range(len(keys))),))
        alone = Apply("eq", (Field(rows, INT), Const(1, INT)), BOOL)
        finished = [(shadow(id), _if(alone, Field(made, type))) for id, made, type in shadows]
        return Compute(grouped, (*keys, *finished)), number

    def _combined(self, rel: Combined) -> Lifted:
        (left, one), (right, other) = self.rel(rel.left), self.rel(rel.right)
        pairs = list(zip(rel.columns, rel.left_columns, rel.right_columns, strict=True))
        union = rel.op == "UNION"
        for (id, _), *both in pairs:
            if any(side in self.lost or (side in self.noisy and not union) for side in both):
                self.lost.add(id)
            elif any(side in self.noisy for side in both):
                self.noisy.add(id)
                for known in (self.bent, self.bounds):
                    if any(side in known for side in both):
                        known.add(id)
        if not union or (one is None and other is None):
            return rel, None
        (left, one), (right, other) = self._replicated(left, one), self._replicated(right, other)
        number = self.fresh("replicate")
        noisy = [(id, type, old, new) for (id, type), old, new in pairs if id in self.noisy]
        left = self._with_shadows(left, [old for _, _, old, _ in noisy])
        right = self._with_shadows(right, [new for _, _, _, new in noisy])
        together = Combined(
            "UNION",
            True,
            left,
            (*rel.left_columns, *(shadow(old) for _, _, old, _ in noisy), one),
            right,
            (*rel.right_columns, *(shadow(new) for _, _, _, new in noisy), other),
            (*rel.columns, *((shadow(id), type) for id, type, _, _ in noisy), (number, INT)),
        )
        return (together, number) if rel.all else self._distinct(together, dict(rel.columns), number)

    def _with_shadows(self, rel: Rel, ids: Sequence[str]) -> Rel:
        """What is exact on one side of a UNION is its own shadow."""
        have = produced(rel)
        lacking = {shadow(id): Field(id, have[id]) for id in ids if id not in self.noisy}
        return Compute(rel, (*_passed(have), *lacking.items())) if lacking else rel

    def _sorted(self, rel: Sorted) -> Lifted:
        made, number = self.rel(rel.input)
        if number is None:
            return rel, None
        if rel.limit is None and not rel.offset:
            return Sorted(made, rel.keys), number
        place = self.fresh("place")
        numbered = WindowCall(AggregateCall("row_number", (), INT), (Field(number, INT),), rel.keys)
        within: Scalar = Apply("gt", (Field(place, INT), Const(rel.offset, INT)), BOOL)
        if rel.limit is not None:
            last = Apply("le", (Field(place, INT), Const(rel.offset + rel.limit, INT)), BOOL)
            within = Apply("and", (within, last), BOOL)
        return Sorted(Where(Windowed(made, ((place, numbered),)), within), rel.keys), number


def _within(window: WindowCall, number: str) -> WindowCall:
    return replace(window, partition=(*window.partition, Field(number, INT)))


def _passed(columns: Mapping[str, ValueType]) -> tuple[tuple[str, Scalar], ...]:
    return tuple((id, Field(id, type)) for id, type in columns.items())


def _same(one: str, other: str) -> Scalar:
    return Apply("eq", (Field(one, INT), Field(other, INT)), BOOL)


def _cast(value: Scalar, type: ValueType) -> Scalar:
    return value if value.type == type else Apply("cast", (value,), type)


def _if(condition: Scalar, value: Scalar) -> Scalar:
    return Apply("case", (condition, value, Const(None, value.type)), value.type)


def _if_all(value: Scalar, pairs: Sequence[tuple[str, str]]) -> Scalar:
    """NULL where a shadow among those that were put together is."""
    for one, other in pairs:
        value = _if(_same(one, other), value)
    return value


def _extended(term: Apply, made: Apply) -> Scalar:
    match made.op:
        case "div" if made.args[1] != term.args[1]:
            zero = Const(0.0 if made.args[1].type == FLOAT else 0, made.args[1].type)
            signs = [Apply(op, (side, zero), BOOL) for op in ("gt", "lt") for side in (made.args[1], term.args[1])]
            both = (Apply("and", (signs[0], signs[1]), BOOL), Apply("and", (signs[2], signs[3]), BOOL))
            return _if(Apply("or", both, BOOL), made)
        case "ln" | "log10" | "log2" | "sqrt" if len(made.args) == 1:
            least = Const(0.0 if made.op == "sqrt" else -FAR, FLOAT)
            zero = Const(0.0, FLOAT)
            beyond = Apply("le", (made.args[0], zero), BOOL)
            return Apply("case", (beyond, least, made), FLOAT)
        case _:
            return made
