"""The relations of one block's tree as kernel terms: private rows beside each other and beside public ones.

What is public in it is named, and handed to the engine as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from privql.check.around import read_around
from privql.check.columns import produced
from privql.check.env import Env
from privql.check.exposed import nothing_around, nothing_private
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
from privql.frozen import frozen
from privql.kernel import relating, rules
from privql.kernel.features import Order, Rank
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, INT, Const, Field, Scalar, ValueType, fields
from privql.kernel.search import least
from privql.kernel.stable import Stable
from privql.kernel.terms import Public, SetOperation
from privql.plan.asked import answered
from privql.plan.beside import joined
from privql.plan.declared import long_texts, scanned
from privql.plan.features import gathered
from privql.plan.lengths import made_bytes
from privql.plan.meetings import Meetings, Pairs, cut
from privql.plan.units import unit_columns
from privql.plan.windows import read_by, windowed

_OPERATIONS: Mapping[tuple[str, bool], SetOperation] = {
    ("UNION", True): "UNION ALL",
    ("UNION", False): "UNION ALL",  # and of equal rows one is kept
    ("INTERSECT", True): "INTERSECT ALL",
    ("INTERSECT", False): "INTERSECT",
    ("EXCEPT", True): "EXCEPT ALL",
    ("EXCEPT", False): "EXCEPT",
}

PublicRows = tuple[str, Rel, tuple[tuple[str, ValueType], ...]]


@frozen
class Light:
    """Two cuts, each by itself, where texts are long: of each table so many rows of a unit are read, if not all; and
    of its own texts so many characters, where many public rows carry them along."""

    rows: int | None
    characters: int | None


class Related:
    """One block's tree. `declared`: the same with each table cut to its declared rows at once, from which is learnt how
    many can come of them; None in that one itself."""

    def __init__(
        self,
        block: Block,
        env: Env,
        query: CheckedQuery,
        declared: Callable[[], Related] | None = None,
        light: Light | None = None,
    ) -> None:
        self.env, self.query, self.declared, self.light = env, query, declared, light
        self.long_texts = 0  # stored columns that are read, whose texts may be of any length
        self.public_texts = 0  # bytes of texts that were made of public rows
        self._tables = 0  # that are read, of which a unit may have many rows
        self.meetings: Meetings = Meetings(block, None if declared is None else lambda: declared().meetings)
        self.subqueries: Mapping[str, Subquery] = dict(query.subqueries)
        self._index, self._span = block.index, block.span
        self._names = 0
        self._numbered: dict[str, Stable] = {}  # the rows around a query that is answered for each
        self.types: dict[str, ValueType] = {}  # of every column met so far: their identifiers are the statement's own
        self.publics: list[PublicRows] = []
        self.rows: dict[int, int | None] = {}  # per unit, in each relation of the tree

    def relation(self, rel: Rel, needed: frozenset[str]) -> Stable:
        stable = self._relation(rel, self._needed(needed))
        self.rows[id(rel)] = stable.rows
        return stable

    def _relation(self, rel: Rel, needed: frozenset[str]) -> Stable:
        self.types |= produced(rel)
        match rel:
            case PrivateScan():
                return self._scan(rel, needed)
            case Where(input=input, condition=condition):
                return rules.keep_where(self._reading(input, [condition], needed), condition)
            case Compute(input=input, columns=columns):
                kept = tuple((id, value) for id, value in columns if id in needed)
                return rules.compute(self._reading(input, [value for _, value in kept]), kept)
            case Joined():
                return joined(self, rel, needed)
            case Around(number=number, columns=columns):
                known = tuple((id, value) for id, value in columns if id in needed)
                return rules.compute(self._numbered[number], known)
            case Each(input=input):
                return self.relation(input, needed)
            case Gathered(input=input, keys=keys, features=features, listed=listed):
                wanted = tuple(one for one in features if one.id in needed)
                read = [*(term for one in wanted for term in one.reads), *(term for _, term in keys)]
                return gathered(self._reading(input, read), keys, wanted, needed, unit_columns(input, self.env), listed)
            case Distinct(input=input, listed=listed):
                return self._once_each(self.relation(input, frozenset(produced(input))), rel, needed, listed)
            case Windowed(input=input, calls=calls):
                asked = tuple((id, call) for id, call in calls if id in needed)
                below = self._reading(input, read_by(asked), needed.intersection(produced(input)))
                return windowed(below, asked, unit_columns(input, self.env), self.types)
            case Combined():
                left = self.relation(rel.left, frozenset(rel.left_columns))
                right = self.relation(rel.right, frozenset(rel.right_columns))
                named = zip((id for id, _ in rel.columns), rel.left_columns, rel.right_columns, strict=True)
                made = relating.combine(_OPERATIONS[rel.op, rel.all], left, right, tuple(named))
                return self._once_each(made, rel, needed) if rel.op == "UNION" and not rel.all else made
            case Sorted(input=input, keys=keys, limit=int(limit), per_unit=True):
                below = self._reading(input, [key.value for key in keys], needed)
                order = tuple(Order(key.value, key.descending, key.nulls_first) for key in keys)
                return rules.keep_rows(below, limit, order)
            case _:
                raise Unproved("private rows were related in a way that has no rule")

    def _reading(self, rel: Rel, terms: Sequence[Scalar], needed: frozenset[str] = frozenset()) -> Stable:
        """Rows with what these terms read, and with the answers to what they ask."""
        read = frozenset(name for term in terms for name in fields(term))
        return answered(self, self.relation(rel, needed | read), *terms)

    def _needed(self, needed: frozenset[str]) -> frozenset[str]:
        """With what the queries among them read of the row around."""
        read, todo = set[str](), set(needed)
        while todo:
            name = todo.pop()
            read.add(name)
            one = self.subqueries.get(name)
            if one is not None:
                if isinstance(one.rel, Each):
                    todo |= read_around(one.rel) - read
                terms = [one.operand, one.where, *(outside for outside, _ in one.on)]
                around = {name for term in terms if term is not None for name in fields(term)}
                todo |= around - produced(one.rel).keys() - read
        return frozenset(read)

    def _scan(self, rel: PrivateScan, needed: frozenset[str]) -> Stable:
        read = needed & {id for id, _, _ in rel.columns}
        stable = scanned(rel, read, self.env, None if self.light is None else self.light.characters)
        self.long_texts += long_texts(rel, read, self.env)
        self._tables += stable.rows != 1
        if self.light is not None and self.light.rows is not None:
            stable = cut(stable, self.light.rows)
        table = self.env.catalog.table(rel.table)
        assert table is not None
        most = table.at_most if self.declared is None else None
        return stable if most is None else rules.keep_rows(stable, most)

    def lighter(self, most: int | None, characters: int | None) -> Iterator[Light]:
        """So that a unit has no more rows anywhere: as many of each table as if those of several only came together,
        and if that is too many, as if all of them met."""
        if most is not None and self._tables and not self.fits(most):
            each = most // self.meetings.met
            yield Light(max(1, each // self._tables), characters)
            yield Light(max(1, least(lambda rows: rows**self._tables > each, 1) - 1), characters)
        elif characters is not None:
            yield Light(None, characters)

    def fits(self, most: int) -> bool:
        return all(there is not None and there <= most for there in self.rows.values())

    def _once_each(self, below: Stable, rel: Rel, needed: frozenset[str], listed: Members = ()) -> Stable:
        """A unit's different rows: its groups by all of their columns."""
        keys = tuple((id, Field(id, type)) for id, type in produced(rel).items())
        renamed = tuple((f"{id}_each", value) for id, value in keys)
        values = tuple((f"{id}_each", members) for id, members in listed)
        once = gathered(
            below, renamed, (), frozenset(f"{id}_each" for id in needed), unit_columns(rel, self.env), values
        )
        return rules.compute(
            once, tuple((id, Field(f"{id}_each", type)) for id, type in produced(rel).items() if id in needed)
        )

    def number(self, below: Stable, each: Each) -> Stable:
        """Rows with a number within their unit: what a query makes of each is found by it."""
        self.types[each.number] = INT
        self._numbered[each.number] = rules.window(below, (), (), ((each.number, Rank("ROW_NUMBER")),))
        return self._numbered[each.number]

    def public(self, rel: Rel, read: frozenset[str], pairs: Pairs) -> tuple[Public, tuple[tuple[Scalar, str], ...]]:
        """The relation by a name, with the columns that are read and those that pairs compare with."""
        self._names += 1
        columns: dict[str, Scalar] = {id: Field(id, type) for id, type in produced(rel).items() if id in read}
        on: list[tuple[Scalar, str]] = []
        for number, (outside, inside) in enumerate(pairs):
            id = inside.name if isinstance(inside, Field) else f"k{self._names}_{number}"
            columns[id] = inside
            on.append((outside, id))
        if not columns:  # how many there are is all that matters, and an engine's rows have some column
            columns[f"k{self._names}"] = Const(True, BOOL)
        name = f"rows {self._index}.{self._names}"
        typed = tuple((id, term.type) for id, term in columns.items())
        self.types |= dict(typed)
        rows = Compute(rel, tuple(columns.items()))
        self.public_texts += made_bytes(rel, self.query, columns.values())
        nothing_private(rows, self.query, self._span)
        nothing_around(rows, self.query, self._span)
        self.publics.append((name, rows, typed))
        return Public(name, typed), tuple(on)
