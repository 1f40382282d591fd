"""The relations of one block's tree as kernel terms: private rows beside each other and beside public ones.

What is public in it is named, and handed to the engine as rows. Queries inside expressions become joins: a value is
looked up, a test is a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal

from privql.check.around import read_around
from privql.check.columns import produced
from privql.check.conditions import both, conjuncts, equated
from privql.check.env import Env
from privql.check.named import private
from privql.check.relations import (
    Around,
    Block,
    CheckedQuery,
    Combined,
    Compute,
    Distinct,
    Each,
    Gathered,
    Joined,
    Members,
    PrivateScan,
    Rel,
    Sorted,
    Subquery,
    Where,
    Windowed,
)
from privql.diagnostics import refuse
from privql.kernel import relating, rules
from privql.kernel.features import Order, Rank
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar, ValueType, fields
from privql.kernel.stable import Stable
from privql.kernel.terms import Public, SetOperation
from privql.plan.declared import scanned
from privql.plan.fanout import FOUND, MOST_MADE, MOST_MET, UNDECLARED, most_alike, sides
from privql.plan.features import gathered
from privql.plan.units import unit_columns
from privql.plan.windows import read_by, windowed

_TRUE, _FALSE, _UNKNOWN = Const(True, BOOL), Const(False, BOOL), Const(None, BOOL)
_OPPOSITE = {"=": "ne", "<>": "eq", "!=": "eq", "<": "ge", "<=": "gt", ">": "le", ">=": "lt"}
_COMPARED = {"=": "eq", "<>": "ne", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

_OPERATIONS: Mapping[tuple[str, bool], SetOperation] = {
    ("UNION", True): "UNION ALL",
    ("UNION", False): "UNION ALL",  # and of equal rows one is kept
    ("INTERSECT", True): "INTERSECT ALL",
    ("INTERSECT", False): "INTERSECT",
    ("EXCEPT", True): "EXCEPT ALL",
    ("EXCEPT", False): "EXCEPT",
}

PublicRows = tuple[str, Rel, tuple[tuple[str, ValueType], ...]]


class Related:
    """One block's tree. `declared`: the same with each table cut to its declared rows at once, from which is learnt how
    many can come of them; None in that one itself."""

    def __init__(
        self, block: Block, env: Env, query: CheckedQuery, declared: Callable[[], Related] | None = None
    ) -> None:
        self._span, self._unit = block.span, block.unit.name
        self._index, self._env, self._query, self._declared = block.index, env, query, declared
        self._subqueries: Mapping[str, Subquery] = dict(query.subqueries)
        self._names = 0
        self.met = 1  # public rows that one private row can meet
        self.meetings: list[tuple[int | None, int | None]] = []  # of a unit's rows on either side, in order
        self._numbered: dict[str, Stable] = {}  # the rows around a query that is answered for each
        self._types: dict[str, ValueType] = {}  # of every column met so far: their identifiers are the statement's own
        self.publics: list[PublicRows] = []
        self.rows: dict[int, int | None] = {}  # per unit, in each relation of the tree

    def relation(self, rel: Rel, needed: frozenset[str]) -> Stable:
        stable = self._relation(rel, self._needed(needed))
        self.rows[id(rel)] = stable.rows
        return stable

    def _relation(self, rel: Rel, needed: frozenset[str]) -> Stable:
        self._types |= produced(rel)
        match rel:
            case PrivateScan():
                return self._scan(rel, needed)
            case Where(input=input, condition=condition):
                below = self.relation(input, needed | fields(condition))
                return rules.keep_where(self.answered(below, condition), condition)
            case Compute(input=input, columns=columns):
                kept = tuple((id, value) for id, value in columns if id in needed)
                below = self.relation(input, frozenset(name for _, value in kept for name in fields(value)))
                for _, value in kept:
                    below = self.answered(below, value)
                return rules.compute(below, kept)
            case Joined():
                return self._joined(rel, needed)
            case Around(number=number, columns=columns):
                known = tuple((id, value) for id, value in columns if id in needed)
                return rules.compute(self._numbered[number], known)
            case Each(input=input):
                return self.relation(input, needed)
            case Gathered(input=input, keys=keys, features=features, listed=listed):
                wanted = tuple(one for one in features if one.id in needed)
                read = [term for one in wanted for term in one.reads]
                read += [term for _, term in keys]
                below = self.relation(input, frozenset(name for term in read for name in fields(term)))
                for term in read:
                    below = self.answered(below, term)
                return gathered(below, keys, wanted, needed, unit_columns(input, self._env), listed)
            case Distinct(input=input, listed=listed):
                return self._once_each(self.relation(input, frozenset(produced(input))), rel, needed, listed)
            case Windowed(input=input, calls=calls):
                asked = tuple((id, call) for id, call in calls if id in needed)
                below = self.relation(input, needed.intersection(produced(input)) | read_by(asked))
                return windowed(below, asked, unit_columns(input, self._env), self._types)
            case Combined():
                left = self.relation(rel.left, frozenset(rel.left_columns))
                right = self.relation(rel.right, frozenset(rel.right_columns))
                named = zip((id for id, _ in rel.columns), rel.left_columns, rel.right_columns, strict=True)
                made = relating.combine(_OPERATIONS[rel.op, rel.all], left, right, tuple(named))
                return self._once_each(made, rel, needed) if rel.op == "UNION" and not rel.all else made
            case Sorted(input=input, keys=keys, limit=int(limit), per_unit=True):
                below = self.relation(input, needed | {name for key in keys for name in fields(key.value)})
                order = tuple(Order(key.value, key.descending, key.nulls_first) for key in keys)
                return rules.keep_rows(below, limit, order)
            case _:
                raise Unproved("private rows were related in a way that has no rule")

    def _needed(self, needed: frozenset[str]) -> frozenset[str]:
        """With what the queries among them read of the row around."""
        read, todo = set[str](), set(needed)
        while todo:
            name = todo.pop()
            read.add(name)
            one = self._subqueries.get(name)
            if one is not None:
                if isinstance(one.rel, Each):
                    todo |= read_around(one.rel) - read
                terms = [one.operand, one.where, *(outside for outside, _ in one.on)]
                around = {name for term in terms if term is not None for name in fields(term)}
                todo |= around - produced(one.rel).keys() - read
        return frozenset(read)

    def _scan(self, rel: PrivateScan, needed: frozenset[str]) -> Stable:
        stable = scanned(rel, needed & {id for id, _, _ in rel.columns}, self._env)
        table = self._env.catalog.table(rel.table)
        most = table.at_most if table is not None and self._declared is None else None
        return stable if most is None else rules.keep_rows(stable, most)

    def _once_each(self, below: Stable, rel: Rel, needed: frozenset[str], listed: Members = ()) -> Stable:
        """A unit's different rows: its groups by all of their columns."""
        keys = tuple((id, Field(id, type)) for id, type in produced(rel).items())
        renamed = tuple((f"{id}_each", value) for id, value in keys)
        values = tuple((f"{id}_each", members) for id, members in listed)
        once = gathered(
            below, renamed, (), frozenset(f"{id}_each" for id in needed), unit_columns(rel, self._env), values
        )
        return rules.compute(
            once, tuple((id, Field(f"{id}_each", type)) for id, type in produced(rel).items() if id in needed)
        )

    # ---- joins

    def _joined(self, rel: Joined, needed: frozenset[str]) -> Stable:
        ours, theirs = produced(rel.left), produced(rel.right)
        tests = conjuncts(rel.on)
        pairs, rest = _pairs(tests, ours, theirs)
        read = needed | {name for test in tests for name in fields(test)}
        if isinstance(rel.right, Each):
            left = self._number(self.relation(rel.left, (read | read_around(rel.right)).intersection(ours)), rel.right)
            right = self.relation(rel.right, read.intersection(theirs) | {rel.right.row})
            pairs = ((Field(rel.right.number, INT), Field(rel.right.row, INT)), *pairs)
            each: Literal["INNER", "LEFT"] = "LEFT" if rel.kind == "LEFT" else "INNER"
            return _beside_each(each, left, right, pairs, both(rest), rel.right.most)
        if private(rel.left) and private(rel.right):
            left = self.relation(rel.left, read.intersection(ours))
            right = self.relation(rel.right, read.intersection(theirs))
            kind: Literal["INNER", "LEFT", "FULL"] = "INNER"
            if rel.kind == "LEFT" or rel.kind == "FULL":
                kind = rel.kind
            left, right = self._meeting(left, right, pairs)
            return relating.join(kind, left, right, pairs, both(rest))
        if private(rel.right):
            pairs = tuple((b, a) for a, b in pairs)
            return self._looked_up(
                self.relation(rel.right, read.intersection(theirs)), rel.left, read, pairs, rest, False
            )
        below = self.relation(rel.left, read.intersection(ours))
        return self._looked_up(below, rel.right, read, pairs, rest, rel.kind == "LEFT")

    def _number(self, below: Stable, each: Each) -> Stable:
        """Rows with a number within their unit: what a query makes of each is found by it."""
        self._types[each.number] = INT
        self._numbered[each.number] = rules.window(below, (), (), ((each.number, Rank("ROW_NUMBER")),))
        return self._numbered[each.number]

    def _looked_up(
        self,
        below: Stable,
        rel: Rel,
        read: frozenset[str],
        pairs: tuple[tuple[Scalar, Scalar], ...],
        rest: list[Scalar],
        outer: bool,
    ) -> Stable:
        public, on = self._public(rel, read, pairs)
        columns = frozenset(column for _, column in on)
        most = known = most_alike(rel, columns, self._query, self._env)
        if known is None and self._env.public is not None:
            known = FOUND
            most = None if self._declared is None else FOUND  # of how many rows can come of it, it says nothing
        self.met *= known or 1
        self._few(self.met, MOST_MET)
        return relating.lookup(self._multiplied(below, known or 1), public, on, both(rest), most, outer)

    # ---- how many rows one unit's become

    def _few(self, met: int, most: int) -> None:
        if met > most:
            raise refuse(
                "PQL0407",
                f"one private row could meet {met} public rows",
                self._span,
                why=f"the time and memory that this takes would show that row; {most} are as many as may be",
                help="join public rows on more columns, or on a KEY",
            )

    def _meeting(self, left: Stable, right: Stable, on: tuple[tuple[Scalar, Scalar], ...]) -> tuple[Stable, Stable]:
        """Where rows of either side may meet many of the other: at most as many as are declared of each."""
        at = len(self.meetings)
        self.meetings.append((left.rows, right.rows))
        if self._declared is None or any(relating.one_each(left, right, on)):
            return left, right
        ours, theirs = self._sides(*self._declared().meetings[at])
        return _cut(left, ours), _cut(right, theirs)

    def _multiplied(self, below: Stable, by: int) -> Stable:
        """Public rows take part as they are; where they are many, as few of the unit's as are declared."""
        at = len(self.meetings)
        self.meetings.append((below.rows, by))
        if self._declared is None or by == 1:
            return below
        declared = self._declared()
        if declared.met <= UNDECLARED and (below.rows or 0) * by <= MOST_MADE:
            return below
        return _cut(below, self._sides(*declared.meetings[at])[0])

    def _sides(self, left: int | None, right: int | None) -> tuple[int, int]:
        few = sides(left, right)
        if few is None:
            raise refuse(
                "PQL0407",
                f"the rows of one {self._unit} could become {(left or 1) * (right or 1)} in a join",
                self._span,
                why=f"the time and memory that this takes would show them; {MOST_MADE} are as many as may be",
                help="join on a KEY, or keep fewer of each before: `LIMIT 100 PER UNIT`",
            )
        return few

    def _public(
        self, rel: Rel, read: frozenset[str], pairs: tuple[tuple[Scalar, Scalar], ...]
    ) -> tuple[Public, tuple[tuple[Scalar, str], ...]]:
        """The relation by a name, with the columns that are read and those that pairs compare with."""
        self._names += 1
        columns: dict[str, Scalar] = {id: Field(id, type) for id, type in produced(rel).items() if id in read}
        on: list[tuple[Scalar, str]] = []
        for number, (outside, inside) in enumerate(pairs):
            id = inside.name if isinstance(inside, Field) else f"k{self._names}_{number}"
            columns[id] = inside
            on.append((outside, id))
        if not columns:  # how many there are is all that matters, and an engine's rows have some column
            columns[f"k{self._names}"] = _TRUE
        name = f"rows {self._index}.{self._names}"
        typed = tuple((id, term.type) for id, term in columns.items())
        self._types |= dict(typed)
        self.publics.append((name, Compute(rel, tuple(columns.items())), typed))
        return Public(name, typed), tuple(on)

    # ---- queries inside expressions

    def answered(self, below: Stable, term: Scalar) -> Stable:
        """The relation with a column for each query that the term asks."""
        for name in sorted(fields(term) & self._subqueries.keys()):
            if name not in below.columns:
                self._types[name] = next(field.type for field in _fields(term) if field.name == name)
                below = self._answered(below, name, self._subqueries[name])
        return below

    def _answered(self, below: Stable, name: str, asked: Subquery) -> Stable:
        if isinstance(asked.rel, Each):
            below = self._number(below, asked.rel)
        if asked.kind == "scalar":
            return self._valued(below, name, asked)
        if asked.kind == "exists":
            return self._marked(below, name, asked, ())
        assert asked.operand is not None and asked.column is not None
        below = self.answered(below, asked.operand)
        column = Field(asked.column, produced(asked.rel)[asked.column])
        compared = Apply(_COMPARED[asked.op], (asked.operand, column), BOOL)
        if asked.kind == "all":
            compared = Apply(_OPPOSITE[asked.op], (asked.operand, column), BOOL)
        met, some, null = f"{name}_met", f"{name}_some", f"{name}_null"
        below = self._marked(below, met, asked, (compared,))
        below = self._marked(below, some, asked, ())
        below = self._marked(below, null, asked, (Apply("is_null", (column,), BOOL),))
        without = Apply("and", (Apply("is_null", (asked.operand,), BOOL), Field(some, BOOL)), BOOL)
        unknown = Apply("or", (Field(null, BOOL), without), BOOL)  # each said so that no row is compared with each
        found, otherwise = (_FALSE, _TRUE) if asked.kind == "all" else (_TRUE, _FALSE)
        value = Apply("case", (Field(met, BOOL), found, unknown, _UNKNOWN, otherwise), BOOL)
        return self._with(below, name, value, hidden=(met, some, null))

    def _valued(self, below: Stable, name: str, asked: Subquery) -> Stable:
        assert asked.column is not None
        types = produced(asked.rel)
        value: Scalar = Field(asked.column, types[asked.column])
        read = frozenset({asked.column, *(id for _, inner in asked.on for id in fields(inner))})
        before = below.columns
        if private(asked.rel):
            right = self.relation(asked.rel, read)
            if isinstance(asked.rel, Each):
                below = _beside_each("LEFT", below, right, asked.on, asked.where, asked.rel.most)
            else:
                below, right = self._meeting(below, right, asked.on)
                below = relating.join("LEFT", below, right, asked.on, asked.where)
        else:
            public, on = self._public(asked.rel, read, asked.on)
            below = relating.lookup(below, public, on, asked.where, 1, True)
        if asked.default is not None and asked.on:
            inner = asked.on[0][1]  # equal to something, so it is NULL only where no row was found
            value = Apply("case", (Apply("is_null", (inner,), BOOL), asked.default, value), value.type)
        return self._with(below, name, value, hidden=tuple(below.columns - before))

    def _marked(self, below: Stable, column: str, asked: Subquery, tests: tuple[Scalar, ...]) -> Stable:
        """TRUE where some row meets the ties to this row and these tests."""
        types = produced(asked.rel)
        pairs, rest = _pairs([*tests, *conjuncts(asked.where)], below.columns, types)
        pairs = (*asked.on, *pairs)
        read = frozenset(id for test in (*(b for _, b in pairs), *rest) for id in fields(test)).intersection(types)
        if private(asked.rel):
            among = self.relation(asked.rel, read)
            for test in [test for test in rest if fields(test) <= among.columns]:
                among = rules.keep_where(among, test)
                rest.remove(test)
            if rest:  # else rows are found by their values
                below, among = self._meeting(below, among, pairs)
            return relating.mark(below, column, among, pairs, both(rest))
        public, on = self._public(asked.rel, read, pairs)
        if rest:
            tried = most_alike(asked.rel, frozenset(id for _, id in on), self._query, self._env)
            self._few(self.met * (tried or 1), MOST_MADE)
        types = dict(public.columns)
        named = tuple((outside, Field(id, types[id])) for outside, id in on)
        return relating.mark(below, column, public, named, both(rest))

    def _with(self, below: Stable, name: str, value: Scalar, hidden: tuple[str, ...]) -> Stable:
        kept = tuple((id, Field(id, self._types[id])) for id in sorted(below.columns - set(hidden)))
        return rules.compute(below, (*kept, (name, value)))


def _cut(side: Stable, most: int) -> Stable:
    return side if side.rows is not None and side.rows <= most else rules.keep_rows(side, most)


def _beside_each(
    kind: Literal["INNER", "LEFT"],
    around: Stable,
    answers: Stable,
    on: tuple[tuple[Scalar, Scalar], ...],
    where: Scalar | None,
    most: int | None,
) -> Stable:
    """Rows beside what a query makes of each. An answer meets the one row that has its number, and there may be so many
    for each: that none is beyond this needs an operation to be proved."""
    made = relating.join(kind, around, answers, on, where)
    if around.rows is None:
        return made
    known = [answers.rows + (around.rows - 1 if kind == "LEFT" else 0)] if answers.rows is not None else []
    known += [around.rows * max(most, 1)] if most is not None else []
    return _cut(made, min(known)) if known else made


def _fields(term: Scalar) -> list[Field]:
    match term:
        case Field():
            return [term]
        case Apply(args=args):
            return [one for arg in args for one in _fields(arg)]
        case _:
            return []


def _pairs(
    tests: list[Scalar], ours: Collection[str], theirs: Collection[str]
) -> tuple[tuple[tuple[Scalar, Scalar], ...], list[Scalar]]:
    """The equalities of one side's value with the other's, and what else is asked of both."""
    pairs: list[tuple[Scalar, Scalar]] = []
    rest: list[Scalar] = []
    for test in tests:
        pair = equated(test, ours, theirs)
        if pair is None:
            rest.append(test)
        else:
            pairs.append(pair)
    return tuple(pairs), rest
