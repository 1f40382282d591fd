"""How far apart two neighbouring databases may leave a relation: one rule a term, each beside the sentence it proves.

In the manner of an LCF prover, a `Stable` can only be made by the rule functions here: who holds one holds its proof.
A relation is *unit-wise* (`owned`) if every row carries the unit it belongs to, and which rows a unit has depends on
that unit's rows in the database and on public rows alone - none, if it has none there. Neighbours then differ only
in the rows of one unit (two bags under CHANGE ONE: one leaves, another comes, in one unit's place). A relation that is
no longer owned differs in at most as many rows as that unit had. `rows` bounds how many (None: no bound).

`unique` lists sets of columns in which no two rows of one unit agree, NULLs aside. It bounds what a join can multiply.
`fixed` are columns in which all rows of one unit agree, NULL being a value like others: grouped by them a unit is in
one group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import prod

from privql.kernel.scalars import BOOL, INT, TEXT, Apply, Field, Scalar, Value, ValueType, fields
from privql.kernel.terms import (
    Bits,
    Combine,
    Different,
    Extreme,
    Feature,
    Filter,
    Frame,
    Gather,
    Join,
    KeepRows,
    Lookup,
    Mark,
    Mode,
    Moment,
    Neighbour,
    Nth,
    Once,
    Order,
    Over,
    Project,
    Public,
    Quantile,
    Rank,
    Relation,
    Scan,
    Splice,
    Steps,
    Tally,
    Total,
    Unit,
    Window,
)

STEP_LIMIT = 2**62  # 2^63 rows of that many steps fit 127 bits
FACTOR_LIMIT = 2**40  # 2^45 rows of the product of two such numbers fit 38 digits
_RULE = object()


class Unproved(Exception):
    """A term for which there is no rule. Never the fault of the data: it says that a plan is wrong."""


Sets = frozenset[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Stable:
    term: Relation
    unit: Unit
    unit_type: ValueType | None  # of the values that name units; None: each row is its own
    rows: int | None
    columns: frozenset[str]
    unique: Sets
    fixed: frozenset[str]
    owned: bool
    _by: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._by is not _RULE:
            raise Unproved("a stable relation is made by a rule, not by hand")

    @property
    def determined(self) -> frozenset[str]:
        """The columns that the unit determines: all of them, where it has one row."""
        return self.columns if self.owned and self.rows == 1 else self.fixed


def scan(term: Scan) -> Stable:
    """Rows without a unit are dropped, so every row has one; adding or removing a unit changes only its own rows.

    At most one row a unit when each row is its own unit, or when the unit is a key. Along references a row has at most
    one unit, because each step leads to at most one row. The databases that the owner may bind are those that
    pass these checks, so neighbours are drawn from them alone. The rows of a unit agree in the column that names it.
    """
    if term.via and (term.unit_column is None or term.key):
        raise Unproved("along references there is a unit column, and it is no key")
    one = term.unit_column is None or term.key
    names = frozenset(name for name, _ in term.columns)
    unique = frozenset(frozenset((name,)) for name in term.unique & names) | (_ONE if one else frozenset())
    of = None if term.unit_column is None else term.unit_column[1]
    named = frozenset(() if term.via else (name for name, type in term.columns if (name, type) == term.unit_column))
    return Stable(term, term.unit, of, 1 if one else None, names, unique, named, True, _RULE)


_ONE: Sets = frozenset((frozenset(),))  # no two rows agree in no columns: there is one row at most


def keep_where(input: Stable, condition: Scalar) -> Stable:
    """A filter decides about a row from that row alone, so a unit's rows after it depend on its rows before it."""
    reads(condition, input.columns)
    return replace(input, term=Filter(input.term, condition))


def compute(input: Stable, columns: tuple[tuple[str, Scalar], ...]) -> Stable:
    """Each row becomes one row, from itself alone, and keeps its unit. What reads only columns in which a unit's rows
    agree is the same for all of them."""
    for _, value in columns:
        reads(value, input.columns)
    names = _new(name for name, _ in columns)
    copies: dict[str, str] = {}
    for name, value in columns:
        if isinstance(value, Field):
            copies.setdefault(value.name, name)
    unique = frozenset(frozenset(copies[name] for name in key) for key in input.unique if key <= copies.keys())
    fixed = frozenset(name for name, value in columns if fields(value) <= input.determined)
    return replace(input, term=Project(input.term, columns), columns=names, unique=unique, fixed=fixed)


def keep_rows(input: Stable, limit: int, order: tuple[Order, ...] = ()) -> Stable:
    """Which of a unit's rows stay is a function of that unit's rows (and a secret, fixed salt); at most `limit` do."""
    _owned(input)
    if limit < 1:
        raise Unproved("a unit keeps at least one row")
    _ordered(order, input)
    rows = limit if input.rows is None else min(limit, input.rows)
    unique = input.unique | (_ONE if rows == 1 else frozenset())
    return replace(input, term=KeepRows(input.term, limit, order), rows=rows, unique=unique)


def lookup(
    input: Stable,
    public: Public,
    on: tuple[tuple[Scalar, str], ...],
    where: Scalar | None,
    most: int | None,
    outer: bool,
) -> Stable:
    """The public rows are the same for both neighbours, so what a row becomes depends on that row alone; and it becomes
    at most `most` rows, because of the public rows that agree in the columns of `on` no more take part. If that is
    one, and looked for by what a unit's rows agree in, all of them meet the same, or none."""
    _owned(input)
    named = _named(public)
    for value, column in on:
        reads(value, input.columns)
        if column not in named:
            raise Unproved("a public relation has no such column")
        if value.type != dict(public.columns)[column]:
            raise Unproved("public rows that differ in a column could be equal as another type")
    columns = _apart(input.columns, named)
    if where is not None:
        reads(where, columns)
    if most is not None and most < 1:
        raise Unproved("some public row may take part")
    rows = None if input.rows is None or most is None else input.rows * most
    term = Lookup(input.term, public, on, where, most, outer)
    asked = frozenset(name for value, _ in on for name in fields(value)) | _read(where) & input.columns
    fixed = input.determined | (named if most == 1 and asked <= input.determined else frozenset())
    unique = input.unique if most == 1 else frozenset()
    return replace(input, term=term, rows=rows, columns=columns, unique=unique, fixed=fixed)


def join(left: Stable, right: Stable, term: Join) -> Stable:
    """Rows meet rows of their own unit alone, so a unit's rows after it depend on its rows on both sides.

    A row meets at most one row of a side that is unique in columns that must equal its values - of the same type, for
    as FLOAT two integers may be one; else, all that the unit has there. LEFT and FULL add a row for each that meets
    none: where a of l rows meet b of r, there are at most ab + (l-a) + (r-b), and that is greatest where all meet or
    none does. If in a LEFT join no two of the l rows meet the same, one meets r and l-1 meet none. What the rows of a
    side agree in, they agree in beside others; and beside NULLs, if whether a row meets any is the same for all.
    """
    _one_unit(left, right)
    if term.left != left.term or term.right != right.term:
        raise Unproved("a join relates the rows given")
    for ours, theirs in term.on:
        reads(ours, left.columns)
        reads(theirs, right.columns)
    columns = _apart(left.columns, right.columns)
    if term.where is not None:
        reads(term.where, columns)
    one_left, one_right = one_each(left, right, term.on)
    most = _least(_times(left.rows, 1 if one_right else right.rows), _times(right.rows, 1) if one_left else None)
    match term.kind:
        case "INNER":
            rows = most
        case "LEFT":
            rows = left.rows if one_right else _plus(most, left.rows, -1) if one_left else most
        case "FULL":
            rows = _plus(left.rows, right.rows)
            if not (one_left or one_right):
                rows = _most(rows, _times(left.rows, right.rows))
    unique: Sets = frozenset()
    if term.kind != "FULL":
        unique |= left.unique if one_right else frozenset()
        unique |= right.unique if one_left and term.kind == "INNER" else frozenset()
    asked = frozenset(name for ours, _ in term.on for name in fields(ours)) | _read(term.where) & left.columns
    fixed = left.determined if term.kind != "FULL" else frozenset()
    if term.kind == "INNER" or (term.kind == "LEFT" and asked <= left.determined):
        fixed |= right.determined
    return Stable(term, left.unit, left.unit_type, rows, columns, unique, fixed, True, _RULE)


def one_each(left: Stable, right: Stable, on: Iterable[tuple[Scalar, Scalar]]) -> tuple[bool, bool]:
    """Whether a row meets at most one of the left side, and at most one of the right."""
    exact = [(ours, theirs) for ours, theirs in on if ours.type == theirs.type]
    return _unique_in(left, (ours for ours, _ in exact)), _unique_in(right, (theirs for _, theirs in exact))


def mark(input: Stable, among: Stable | Public, term: Mark) -> Stable:
    """Each row stays as it is; whether it meets another depends on it, and on rows of its unit or on public ones: where
    rows agree in what is asked of them, it is the same."""
    _owned(input)
    if isinstance(among, Stable):
        _one_unit(input, among)
        if term.among != among.term:
            raise Unproved("a row is marked by the rows given")
        theirs = among.columns
    else:
        theirs = _named(among)
        if term.among != among:
            raise Unproved("a row is marked by the public rows given")
    if term.input != input.term:
        raise Unproved("a row is marked where it stands")
    for own, other in term.on:
        reads(own, input.columns)
        reads(other, theirs)
    both = _apart(input.columns, theirs)
    if term.where is not None:
        reads(term.where, both)
    asked = frozenset(name for own, _ in term.on for name in fields(own)) | _read(term.where) & input.columns
    fixed = input.fixed | (frozenset((term.column,)) if asked <= input.determined else frozenset())
    return replace(input, term=term, columns=_apart(input.columns, {term.column}), fixed=fixed)


def gather(
    input: Stable,
    keys: tuple[tuple[str, Scalar], ...],
    features: tuple[tuple[str, Feature], ...],
    listed: tuple[tuple[Value, ...], ...] | None = None,
) -> Stable:
    """A unit's groups are made of its own rows: each of at least one, so there are no more groups than rows, and where
    only listed values are kept, no more than combinations of them. By keys in which its rows agree it has one group."""
    _owned(input)
    for _, value in keys:
        reads(value, input.columns)
    for _, feature in features:
        _feature(feature, input)
    names = _new(name for name, _ in (*keys, *features))
    own = frozenset(name for name, _ in keys)
    fixed = frozenset(name for name, value in keys if fields(value) <= input.determined)
    most = 1 if own <= fixed else input.rows
    if listed is not None:
        if len(listed) != len(keys) or any(not values or len(set(values)) != len(values) for values in listed):
            raise Unproved("the values of each key must be listed, each once")
        most = _least(most, prod(map(len, listed)))
    term = Gather(input.term, keys, features, listed)
    return Stable(term, input.unit, input.unit_type, most, names, frozenset((own,)), fixed, True, _RULE)


def keep_groups(
    input: Stable,
    keys: tuple[tuple[str, Scalar], ...],
    limit: int,
    listed: tuple[tuple[Value, ...], ...] | None = None,
) -> Stable:
    """The rows in the first `limit` of a unit's groups, by a keyed hash of unit and keys: those that `mark` finds among
    these groups. Where it is one group, the unit's rows agree in its keys."""
    if not keys:
        raise Unproved("groups are by something")
    groups = gather(input, keys, (), listed)
    if groups.rows is None or groups.rows > limit:
        groups = keep_rows(groups, limit)
    same: list[Scalar] = []
    for name, value in keys:
        same.append(Apply("not", (Apply("is_distinct", (value, Field(name, value.type)), BOOL),), BOOL))
    where = same[0] if len(same) == 1 else Apply("and", tuple(same), BOOL)
    kept = f"{keys[0][0]}_kept"
    found = keep_where(mark(input, groups, Mark(input.term, kept, groups.term, (), where)), Field(kept, BOOL))
    agreed = (value.name for _, value in keys if isinstance(value, Field)) if groups.rows == 1 else ()
    return replace(found, fixed=found.fixed | frozenset(agreed))


def combine(left: Stable, right: Stable, term: Combine) -> Stable:
    """A set operation within each unit: a union has the rows of both at most, the others no more than one side."""
    _one_unit(left, right)
    if term.left != left.term or term.right != right.term:
        raise Unproved("a set operation combines the rows given")
    names = _new(name for name, _, _ in term.columns)
    ours, theirs = ({pair[at] for pair in term.columns} for at in (1, 2))
    if not ours <= left.columns or not theirs <= right.columns:
        raise Unproved("a set operation names columns that a side does not have")
    match term.op:
        case "UNION":
            rows = _plus(left.rows, right.rows)
        case "INTERSECT":
            rows = _least(left.rows, right.rows)
        case "EXCEPT":
            rows = left.rows
    unique: Sets = frozenset() if term.all else frozenset((names,))
    kept = [(name, one in left.determined, other in right.determined) for name, one, other in term.columns]
    match term.op:
        case "UNION":
            fixed = frozenset[str]()
        case "INTERSECT":
            fixed = frozenset(name for name, one, other in kept if one or other)
        case "EXCEPT":
            fixed = frozenset(name for name, one, _ in kept if one)
    return Stable(term, left.unit, left.unit_type, rows, names, unique, fixed, True, _RULE)


def window(input: Stable, term: Window) -> Stable:
    """Each row stays, and learns something of the rows of its own unit."""
    _owned(input)
    if term.input != input.term:
        raise Unproved("a window is over the rows given")
    _ordered(term.order, input)
    for value in term.partition:
        reads(value, input.columns)
    for _, call in term.calls:
        match call:
            case Rank():
                pass
            case Neighbour(value=value, default=default):
                reads(value, input.columns)
                reads(default, input.columns)
            case Over(feature=feature, frame=frame):
                _feature(feature, input)
                _framed(frame)
            case Nth(value=value, place=place, frame=frame):
                reads(value, input.columns)
                _framed(frame)
                if place < 1 and place != -1:
                    raise Unproved("places of a frame are counted from 1; -1 is the last")
    return replace(input, term=term, columns=_apart(input.columns, _new(name for name, _ in term.calls)))


def once(input: Stable) -> Stable:
    """A row is there if any unit has it, so one unit's rows add or take away as many at most."""
    _owned(input)
    return replace(input, term=Once(input.term), unique=frozenset(), fixed=frozenset(), owned=False)


def reads(value: Scalar, columns: frozenset[str]) -> None:
    """A row function may read the columns of its row and nothing else."""
    if not fields(value) <= columns:
        raise Unproved("a row function reads a column that its relation does not have")


def stepped(steps: Steps, columns: frozenset[str]) -> None:
    reads(steps.value, columns)
    if steps.grid <= 0 or not -STEP_LIMIT <= steps.low <= steps.high <= STEP_LIMIT:
        raise Unproved("steps must be clamped within ±2^62")


def _feature(feature: Feature, input: Stable) -> None:
    if feature.where is not None:
        reads(feature.where, input.columns)
    match feature:
        case Total(steps=steps):
            stepped(steps, input.columns)
        case Extreme(value=value) | Different(value=value) | Mode(value=value):
            reads(value, input.columns)
        case Bits(value=value):
            reads(value, input.columns)
            if value.type != INT:
                raise Unproved("only an INT has bits")
        case Quantile(value=value, share=share):
            reads(value, input.columns)
            if not 0 <= share <= 1:
                raise Unproved("a share lies between 0 and 1")
        case Splice(value=value, order=order):
            reads(value, input.columns)
            _ordered(order, input)
            if value.type != TEXT:
                raise Unproved("only texts are put one after the other")
        case Moment(factors=factors):
            if not 1 <= len(factors) <= 2:
                raise Unproved("a moment has one factor or two")
            for steps in factors:
                stepped(steps, input.columns)
                if steps.high - steps.low > FACTOR_LIMIT:
                    raise Unproved("factors have at most 2^40 steps")
        case Tally():
            pass


def _framed(frame: Frame | None) -> None:
    if frame is not None and max(abs(frame.start or 0), abs(frame.end or 0)) > STEP_LIMIT:
        raise Unproved("a frame's edges are within ±2^62")


def _ordered(order: tuple[Order, ...], input: Stable) -> None:
    for each in order:
        reads(each.value, input.columns)


def _owned(*inputs: Stable) -> None:
    if not all(input.owned for input in inputs):
        raise Unproved("these rows are nobody's any more, and can only be filtered, computed with and summed")


def _one_unit(one: Stable, other: Stable) -> None:
    """A unit is known by its value; of two types an engine would make one, and of '1' and '01' the same number."""
    _owned(one, other)
    if one.unit != other.unit or one.unit_type != other.unit_type:
        raise Unproved("only rows of one unit may be related, named by values of one type")


def _read(where: Scalar | None) -> frozenset[str]:
    return frozenset() if where is None else fields(where)


def _named(public: Public) -> frozenset[str]:
    return _new(name for name, _ in public.columns)


def _new(names: Iterable[str]) -> frozenset[str]:
    listed = tuple(names)
    if len(set(listed)) != len(listed):
        raise Unproved("two columns of one name")
    return frozenset(listed)


def _apart(one: frozenset[str], other: frozenset[str] | set[str]) -> frozenset[str]:
    if one & other:
        raise Unproved("two columns of one name")
    return one | other


def _unique_in(side: Stable, values: Iterable[Scalar]) -> bool:
    named = {value.name for value in values if isinstance(value, Field)}
    return any(key <= named for key in side.unique)


def _times(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other


def _plus(one: int | None, other: int | None, more: int = 0) -> int | None:
    return None if one is None or other is None else one + other + more


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
