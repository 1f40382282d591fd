"""What is exact below the noise: asked of the engine, or computed row by row by the reference; and remembered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from privql.audit import reference
from privql.audit.reference.ranks import ranked
from privql.audit.reference.values import Tables
from privql.audit.world import read
from privql.engines.interface import NO_PUBLICS, Cells, Computing, Group, Publics, Term
from privql.kernel.bounds import Chosen
from privql.kernel.measure import Measured, Together
from privql.kernel.picks import Picked
from privql.kernel.ranks import Placed, Ranked, Ranks
from privql.kernel.scalars import Value
from privql.kernel.selection import Selected
from privql.kernel.sums import Keys, Sums
from privql.release import Wanted

SALT = b"audited"
_Asked = TypeVar("_Asked", bound=Term)
_Answer = TypeVar("_Answer")


class ByReference:
    """An engine that takes its time: rows in Python, and what each term means said once more."""

    def __init__(self, tables: Tables) -> None:
        self._tables = read(tables)

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        cells = reference.run(sums, self._tables, salt, rows_of_publics(publics))
        return np.array(cells, dtype=object).reshape(sums.groups, sums.width)

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        return ranked(ranks, self._tables, salt, rows_of_publics(publics))

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Group]:
        return reference.counted(keys, self._tables, salt, rows_of_publics(publics))


def rows_of_publics(publics: Publics) -> Mapping[str, Sequence[tuple[Value, ...]]]:
    return {name: given.rows for name, given in publics.items()}


class Through:
    """An engine that another one answers for."""

    def __init__(self, engine: Computing) -> None:
        self._engine = engine

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        return self._engine.run(sums, salt, publics)

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        return self._engine.ranks(ranks, salt, publics)

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Group]:
        return self._engine.groups(keys, salt, publics)


class Remembering(Through):
    """An engine that is asked each question once, by one salt: what is drawn upon its answers is drawn anew."""

    def __init__(self, engine: Computing) -> None:
        super().__init__(engine)
        self._known: dict[Term, Any] = {}
        self._by_id: dict[int, tuple[Term, Any]] = {}  # the same, by the very term: found sooner

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        return self._once(sums, super().run, publics)

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        return self._once(ranks, super().ranks, publics)

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Group]:
        return self._once(keys, super().groups, publics)

    def _once(self, term: _Asked, answer: Callable[[_Asked, bytes, Publics], _Answer], publics: Publics) -> _Answer:
        kept = self._by_id.get(id(term))
        if kept is not None and kept[0] is term:
            known: _Answer = kept[1]
            return known
        if term not in self._known:
            self._known[term] = answer(term, SALT, publics)
        found: _Answer = self._known[term]
        self._by_id[id(term)] = term, found
        return found

    @property
    def answers(self) -> Mapping[Term, Any]:
        """All that it was asked, and what it said."""
        return self._known


def terms_of(wanted: Sequence[Wanted]) -> list[Term]:
    return [each.term for one in wanted for each in (one.of if isinstance(one, Together) else (one,))]


def exact(made: Wanted, engine: Computing, publics: Publics) -> Any:
    """All that noise is put upon, in a form that can be compared."""
    match made:
        case Measured() | Chosen() | Picked():
            return [[int(cell) for cell in row] for row in engine.run(made.term, SALT, publics).tolist()]
        case Selected():
            return {group: int(units) for group, units in engine.groups(made.term, SALT, publics)}
        case Placed():
            return [
                (int(n), [tuple(map(int, met)) for met in near]) for n, near in engine.ranks(made.term, SALT, publics)
            ]
        case Together():
            return [exact(one, engine, publics) for one in made.of]
