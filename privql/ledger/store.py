"""Where a ledger is kept: one transaction at a time, durable when it returns, one clear sentence when it cannot.

A process has one connection per ledger, used by one thread at a time. SQLite's file locks do not survive fork, so
every connection is closed before a fork and opened again on demand, on both sides. What a file and a server do each in
its own way is in `files.py` and `postgres.py`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from privql.ledger.errors import LedgerError
from privql.ledger.schema import VERSION

Found = TypeVar("Found")

_gate = threading.RLock()  # held in every transaction, and while the process forks
_stores: weakref.WeakSet[Store] = weakref.WeakSet()

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # what comes of reading rubbish


def on_server(path: str | os.PathLike[str]) -> bool:
    """Whether a ledger is in PostgreSQL, by its address (`postgres.py`)."""
    return os.fspath(path).startswith(("postgresql://", "postgres://"))


class Store(ABC):
    troubles: tuple[type[Exception], ...]
    memory = False

    def __init__(self, path: str, *, create: bool, patience: float) -> None:
        self.path = path
        self.ledger_id = ""
        self._patience = patience
        self._connection: Any = None
        self._at_work = False
        with _gate:
            _stores.add(self)
            with self._in_plain_words():
                self._connect(create)

    @contextmanager
    def transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """All or nothing, and durable once it returns. Any failure rolls back and leaves no answer behind."""
        with _gate:
            if self._at_work:
                raise LedgerError(
                    "the ledger is at work: it was called from within itself, by a signal handler perhaps"
                )
            self._at_work = True
            try:
                connection = self._connection or self._connect(create=False)
                self._check_place()
                if connection.in_transaction:  # an earlier rollback failed
                    connection.execute("ROLLBACK")
                connection.remembered.begins()
                self._begin(connection, kind)
                yield connection
                connection.execute("COMMIT")
                connection.remembered.ended()
            except BaseException as problem:
                self._undo(problem)
                raise
            finally:
                self._at_work = False

    def at_once(self, work: Callable[[sqlite3.Connection], Found]) -> Found:
        """`work` in one transaction; whoever may find nothing to write keeps nobody waiting, where that is possible."""
        with self.transaction() as db:
            return work(db)

    def sweep(self) -> None:
        """What was erased leaves the file, too, and the log beside it."""
        with _gate, self._in_plain_words():
            connection = self._connection or self._connect(create=False)
            self._check_place()
            self._clean(connection)

    def close(self) -> None:
        with _gate:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        try:
            yield
        except BaseException as problem:
            self._undo(problem)
            raise

    def _undo(self, problem: BaseException) -> None:
        """Nothing of it was done, and that is said in plain words, where it was not in any."""
        broken = isinstance(problem, self.troubles)
        self._roll_back(broken and not self._busy(problem))
        if broken or isinstance(problem, (OSError, UnicodeError, OverflowError)):
            raise LedgerError(self._sentence(problem)) from problem
        if isinstance(problem, _UNREADABLE):
            raise LedgerError(self._told("is damaged: it holds what cannot be read")) from problem

    def _roll_back(self, broken: bool) -> None:
        try:
            if self._connection is not None:
                if self._connection.remembered.written or self._wrote(self._connection):
                    self._connection.remembered.forget()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.remembered.ended()
        except self.troubles:
            broken = True
        if broken and not self.memory:
            self.close()  # the next transaction starts from the file alone

    def _busy(self, problem: BaseException) -> bool:
        """Whether somebody else was faster, and all is well."""
        return False

    def _sentence(self, problem: BaseException) -> str:
        return self._told(f"cannot do this ({first_line(problem)})")

    def _told(self, trouble: str) -> str:
        return (
            f"the ledger at `{self.path}` {trouble}; nothing has been released, "
            "and a query that was charged is not charged again when it is repeated"
        )

    def _connect(self, create: bool) -> Any:
        connection = self._open(create)
        try:
            connection.execute("BEGIN DEFERRED")  # one look: another process may be laying out the same ledger
            found = self._recognise(connection)
            connection.execute("COMMIT")
            if not found and not create:
                raise self._nothing_there()
            self._prepare(connection, found)
            self._is_the_same(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        # a ledger that nobody holds any more lets go of its file, and before the collector finds the connection
        weakref.finalize(self, connection.close).atexit = False
        return connection

    def _is_the_same(self, connection: Any) -> None:
        (ledger_id,) = connection.execute("SELECT id FROM ledger").fetchone()
        if self.ledger_id not in ("", ledger_id):
            raise LedgerError(f"another ledger has taken the place of `{self.path}`")
        self.ledger_id = ledger_id

    def _still_up_to_date(self, connection: Any) -> None:
        if self._recognise(connection) < VERSION:
            raise LedgerError(f"an older ledger has taken the place of `{self.path}`")

    def _known(self, version: int) -> int:
        if version > VERSION:
            raise LedgerError(
                f"the ledger at `{self.path}` was written by a newer PrivQL "
                f"(layout {version}, this one knows {VERSION}): upgrade to use it"
            )
        return version

    @abstractmethod
    def _open(self, create: bool) -> Any: ...

    @abstractmethod
    def _recognise(self, connection: Any) -> int:
        """The layout of a ledger; 0: there is none yet. What is none is refused before anything is written to it."""

    @abstractmethod
    def _nothing_there(self) -> LedgerError: ...

    @abstractmethod
    def _prepare(self, connection: Any, found: int) -> None:
        """Durable, and in the present layout."""

    @abstractmethod
    def _begin(self, connection: Any, kind: str) -> None:
        """And what the connection remembers is true in the transaction that begins."""

    def _wrote(self, connection: Any) -> bool:
        """Whether the transaction may have written something."""
        return True

    @abstractmethod
    def _clean(self, connection: Any) -> None:
        """What was erased leaves whatever holds it yet."""

    @abstractmethod
    def _check_place(self) -> None:
        """Whether the ledger is where it was."""

    def damage(self, db: Any) -> list[str]:
        """What is wrong with what holds it."""
        return []


def _before_fork() -> None:
    _gate.acquire()
    for store in list(_stores):
        if not store.memory:
            store.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_gate.release, after_in_child=_gate.release)


def first_line(problem: BaseException) -> str:
    """What a store says of its trouble, without the statement that it may quote below."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
