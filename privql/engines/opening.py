"""Which engine an address takes, and one engine for all of a policy's connections.

An engine is a module with `open(address, tables, owner_log)`: the address (or what Python gave for it), where each
table of the policy is behind it, and who is handed what an engine truly said. Another package offers its own as an
entry point of the group `privql.engines`, named as its addresses begin: `mywarehouse = "my_package.engine"`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from privql.engines.connections import ConnectionProblem, scheme, shown
from privql.engines.interface import (
    NO_PUBLICS,
    Cells,
    Columns,
    Engine,
    EngineError,
    Group,
    OwnerLog,
    Picky,
    Progressing,
    Publics,
    Steady,
    Stored,
    Tables,
    Term,
    scans,
)
from privql.frozen import frozen
from privql.kernel.ranks import Ranked, Ranks
from privql.kernel.scalars import Value, ValueType
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Scan

if TYPE_CHECKING:
    from types import ModuleType

_T = TypeVar("_T")


@frozen
class Kind:
    """Where an engine's code is, which extra brings what it needs, and what that is called."""

    module: str
    extra: str = ""
    needs: str = ""


_KINDS: Mapping[str, Kind] = {
    "duckdb": Kind("privql.engines.duckdb.databases"),
    "postgresql": Kind("privql.engines.postgres", "postgres", "psycopg"),
    "postgres": Kind("privql.engines.postgres", "postgres", "psycopg"),
    "sc": Kind("privql.engines.spark", "spark", "pyspark"),
    "spark": Kind("privql.engines.spark", "spark", "pyspark"),  # a session that Python gave
}
_GROUP = "privql.engines"


def kind_of(address: object) -> str:
    """The engine that an address takes, or a session: known by the package that it comes from."""
    if isinstance(address, str):
        return scheme(address)
    return {"pyspark": "spark"}.get(type(address).__module__.partition(".")[0], "")


def open_engine(address: object, tables: Tables, owner_log: OwnerLog) -> Engine:
    """A `ConnectionProblem` says what is not installed or not known; an `EngineError` that it could not be reached."""
    made: Engine = _module(kind_of(address), address).open(address, tables, owner_log)
    return made


def of_values(
    address: object,
) -> tuple[Callable[[Stored, OwnerLog], Engine], Callable[[Value, ValueType], bool] | None]:
    """For the conformance kit: what makes an engine there for which given rows are the tables, and what says which
    values it cannot hold."""
    module = _module(kind_of(address), address)
    made = getattr(module, "of_values", None)
    if made is None:
        told = f"`{shown(address)}` has an engine that cannot be tried"
        raise ConnectionProblem(told, "its module needs `of_values(address, tables, owner_log)`")
    return (lambda tables, owner_log: made(address, tables, owner_log)), getattr(module, "holds", None)


def _module(kind: str, address: object) -> ModuleType:
    known = _KINDS.get(kind)
    if known is None:
        from importlib.metadata import entry_points

        for point in entry_points(group=_GROUP, name=kind):
            found: ModuleType = point.load()
            return found
        there = ", ".join(f"`{each}://`" for each in ("postgresql", "sc", "duckdb"))
        raise ConnectionProblem(
            f"nothing here reads `{shown(address)}`", f"an address begins with {there}, or is a path"
        )
    if known.needs:
        try:
            import_module(known.needs)
        except ImportError:  # also of what it needs itself
            told = f"`{shown(address)}` cannot be read: it needs the package {known.needs}"
            raise ConnectionProblem(told, f"install `privql[{known.extra}]`") from None
    return import_module(known.module)


class Engines:
    """The engine of each place, opened when a table of it is first needed. A term goes to the one that has its
    tables."""

    def __init__(self, places: Mapping[str, str], opens: Callable[[str], Engine], owner_log: OwnerLog) -> None:
        """`places`: by a table's name, which one it is in; `opens` makes the engine of a place, and why it cannot is
        told to `owner_log` alone: it may quote an address."""
        self._places, self._opens, self._owner_log = dict(places), opens, owner_log
        self._opened: dict[str, Engine] = {}
        self._turn = threading.Lock()
        self._steady = False
        self._looked: set[str] = set()  # places of which one state was looked at

    def steady(self) -> None:
        """Until `let_go`, the tables of each place are read in one state, where its engine can: what was verified of
        them holds of what is summed."""
        self.let_go()
        self._steady = True
        for engine in list(self._opened.values()):
            if isinstance(engine, Steady):
                engine.steady()

    def let_go(self) -> None:
        self._steady = False
        self._looked.clear()
        for engine in list(self._opened.values()):
            if isinstance(engine, Steady):
                engine.let_go()

    def preflight(self, scans: Iterable[Scan]) -> None:
        for scan in scans:
            self._place_of([scan])
            self._beforehand(scan.table, partial(_preflight, [scan]))

    def rehearse(self, term: Term) -> None:
        self._of(scans(term.input)).rehearse(term)

    def picky(self, term: Term) -> Picky | None:
        """The engine of a term's tables, if not all public texts can be handed over to it."""
        engine = self._of(scans(term.input))
        return engine if isinstance(engine, Picky) else None

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        return self._of(scans(sums.input)).run(sums, salt, publics)

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        return self._of(scans(ranks.input)).ranks(ranks, salt, publics)

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Group]:
        return self._of(scans(keys.input)).groups(keys, salt, publics)

    def readable(self, table: str, columns: Columns) -> bool:
        return self._beforehand(table, lambda engine: engine.readable(table, columns))

    def unique(self, table: str, columns: Columns) -> bool:
        return self._beforehand(table, lambda engine: engine.unique(table, columns))

    def complete(self, table: str, columns: Columns) -> bool:
        return self._beforehand(table, lambda engine: engine.complete(table, columns))

    def progress(self) -> float | None:
        """How far the one is that is at work; None if none is, or it does not know."""
        known = [each.progress() for each in list(self._opened.values()) if isinstance(each, Progressing)]
        return next((done for done in known if done is not None), None)

    def of_table(self, table: str) -> Engine:
        """The engine that has it."""
        return self._in(self._place(table), table)

    def forget(self, place: str) -> None:
        """What is read there is opened anew when it is next needed."""
        with self._turn:
            engine = self._opened.pop(place, None)
        if engine is not None:
            engine.close()

    def close(self) -> None:
        for place in list(self._opened):
            self.forget(place)

    def _beforehand(self, table: str, ask: Callable[[Engine], _T]) -> _T:
        """Nothing is charged yet: a connection that was lost is made again. Not if what was seen over it holds of the
        state that was there, and perhaps of no other."""
        place = self._place(table)
        try:
            engine = self._in(place, table)
            found = ask(engine)
        except EngineError as error:
            if error.kind != "unreachable" or place in self._looked:
                raise
            self.forget(place)
            engine = self._in(place, table)
            found = ask(engine)
        if self._steady and isinstance(engine, Steady):
            self._looked.add(place)
        return found

    def _of(self, scans: list[Scan]) -> Engine:
        return self._in(self._place_of(scans), scans[0].table)

    def _place_of(self, scans: list[Scan]) -> str:
        places = {self._place(name) for scan in scans for name in scan.tables}
        if len(places) != 1:  # what a check refuses beforehand
            raise EngineError("unsupported")
        return places.pop()

    def _place(self, table: str) -> str:
        if table not in self._places:
            raise EngineError("missing source", table)
        return self._places[table]

    def _in(self, place: str, table: str) -> Engine:
        try:
            with self._turn:
                if place not in self._opened:
                    engine = self._opened[place] = self._opens(place)
                    if self._steady and isinstance(engine, Steady):
                        engine.steady()
                return self._opened[place]
        except Exception as cause:
            self._owner_log(cause)
        raise EngineError("unreachable", table)  # outside: else the cause is its context


def _preflight(scans: list[Scan], engine: Engine) -> None:
    engine.preflight(scans)
