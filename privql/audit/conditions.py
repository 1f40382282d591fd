"""How many of a query's conditions the rows of a unit meet: the way to rows that it measures, where none are near.

A condition is a part of a filter or of a join, a group that is listed, an argument that is there. Each counts by
itself, so that one column after the other can be made to fit, where all of them together show nothing until the last.
What may be met and need not - by a LEFT JOIN, by EXISTS, which a NOT may be before - counts less than any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, product

from privql.audit.reference import relations
from privql.audit.reference.beside import named
from privql.audit.reference.values import Publics, Row, Tables, equal, holds
from privql.audit.world import read
from privql.check.conditions import conjuncts
from privql.engines.interface import Term
from privql.functions.scalar import evaluate_term
from privql.kernel.ranks import Ranks
from privql.kernel.scalars import Field, Scalar
from privql.kernel.sums import Contribution, Key, Keys, Listed, Powers, Sums
from privql.kernel.terms import (
    Combine,
    Filter,
    Gather,
    Join,
    KeepRows,
    Lookup,
    Mark,
    Once,
    Project,
    Public,
    Relation,
    Scan,
    UnitPart,
    Window,
)

_BESIDE = 2000  # pairs of rows that are looked at
_HINT = 0.01

Met = tuple[float, int]  # how many conditions are met, of how many
Asked = Callable[[Row], bool]


def met(terms: Sequence[Term], tables: Tables, publics: Publics, salt: bytes) -> list[Met]:
    """For each thing that is measured by itself: each contribution of each term."""
    looking = _Looking(read(tables), publics, salt)
    return [added((looking.way(term.input), last)) for term in terms for last in looking.measured(term)]


def added(some: Iterable[Met]) -> Met:
    held, of = 0.0, 0
    for here, all_here in some:
        held, of = held + here, of + all_here
    return held, of


class _Looking:
    """The database has one unit, so that whose a row is is no question."""

    def __init__(self, tables: Tables, publics: Publics, salt: bytes) -> None:
        self._tables, self._publics, self._salt = tables, publics, salt
        self._rows: dict[int, list[Row]] = {}
        self._ways: dict[int, Met] = {}

    def rows(self, relation: Relation | Public) -> list[Row]:
        if id(relation) not in self._rows:
            if isinstance(relation, Public):
                found = named(relation, self._publics[relation.name])
            else:
                owned = relations.rows(relation, self._tables, self._salt, self._publics)
                found = [row for _, row in owned]
            self._rows[id(relation)] = found
        return self._rows[id(relation)]

    def way(self, relation: Relation) -> Met:
        """What each relation below asks, and that it has rows at all."""
        if id(relation) not in self._ways:
            self._ways[id(relation)] = added((*self._below(relation), (bool(self.rows(relation)), 1)))
        return self._ways[id(relation)]

    def _below(self, relation: Relation) -> Iterator[Met]:
        match relation:
            case Filter(input=input, condition=condition):
                yield self.way(input)
                yield _most(self.rows(input), _parts(condition))
            case Join(kind=kind, left=left, right=right, on=on, where=where):
                met = self._beside(left, right, on, where)
                yield _hint(self.way(left)) if kind == "FULL" else self.way(left)
                yield from (one if kind == "INNER" else _hint(one) for one in (self.way(right), met))
            case Lookup(input=input, public=public, on=on, where=where, outer=outer):
                columns = dict(public.columns)
                equalities = tuple((ours, Field(column, columns[column])) for ours, column in on)
                beside = self._beside(input, public, equalities, where)
                yield self.way(input)
                yield _hint(beside) if outer else beside
            case Mark(input=input, among=among, on=on, where=where):
                yield self.way(input)
                yield _hint(added((
                    (0, 0) if isinstance(among, Public) else self.way(among),
                    self._beside(input, among, on, where),
                )))  # fmt: skip
            case Combine(op=op, left=left, right=right):
                each = self.way(left), self.way(right)
                yield from each if op.startswith("INTERSECT") else map(_hint, each)
            case UnitPart() | Project() | KeepRows() | Gather() | Window() | Once():
                yield self.way(relation.input)
            case Scan():
                pass

    def _beside(
        self,
        one: Relation,
        other: Relation | Public,
        on: Sequence[tuple[Scalar, Scalar]],
        where: Scalar | None,
    ) -> Met:
        """Rows of two relations; of a sum both are there, and each counts once."""
        there = self.rows(other)
        both = ({**row, **beside} for row, beside in islice(product(self.rows(one), there), _BESIDE))
        return _most(both, [*(_equal(*pair) for pair in on), *_parts(where)])

    def measured(self, term: Sums | Keys | Ranks) -> Iterator[Met]:
        if isinstance(term, Keys):
            yield 0, 0
            return
        groups = [_listed(key) for key in term.keys]
        arguments = (
            [(term.where, [term.steps.value])] if isinstance(term, Ranks) else map(_argument, term.contributions)
        )
        for where, values in arguments:
            yield _most(self.rows(term.input), [*groups, *_parts(where), *map(_there, values)])


def _hint(one: Met) -> Met:
    held, of = one
    return (_HINT * held / of if of else 0), 0


def _most(rows: Iterable[Row], asked: Sequence[Asked]) -> Met:
    """By the row that meets most of it."""
    return max((sum(one(row) for one in asked) for row in rows), default=0) if asked else 0, len(asked)


def _parts(condition: Scalar | None) -> list[Asked]:
    return [partial(holds, part) for part in conjuncts(condition)]


def _equal(one: Scalar, other: Scalar) -> Asked:
    return lambda row: equal(evaluate_term(one, row), evaluate_term(other, row))


def _there(value: Scalar) -> Asked:
    return lambda row: evaluate_term(value, row) is not None


def _listed(key: Key | Listed) -> Asked:
    return lambda row: relations.member(key, row) in key.members


def _argument(contribution: Contribution) -> tuple[Scalar | None, list[Scalar]]:
    match contribution:
        case Powers(factors=factors):
            return contribution.where, [steps.value for steps, _ in factors]
        case _:
            steps = getattr(contribution, "steps", None)
            return contribution.where, [] if steps is None else [steps.value]
