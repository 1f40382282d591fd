"""The ledger's SQLite file: one transaction at a time, durable when it returns, one clear sentence when it cannot.

A process has one connection per ledger, used by one thread at a time. SQLite's file locks do not survive fork, so
every connection is closed before a fork and opened again on demand, on both sides.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from random import uniform
from secrets import token_hex
from time import monotonic, sleep
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from privql.ledger import chain, places
from privql.ledger.clock import now
from privql.ledger.errors import LedgerError
from privql.ledger.schema import APPLICATION_ID, CHAINED, VERSION, lay_out

MEMORY = ":memory:"

_Found = TypeVar("_Found")

_gate = threading.RLock()  # held in every transaction, and while the process forks
_stores: weakref.WeakSet[Store] = weakref.WeakSet()

_TROUBLE = {
    sqlite3.SQLITE_BUSY: "is locked by another process",
    sqlite3.SQLITE_LOCKED: "is locked by another process",
    sqlite3.SQLITE_READONLY: "cannot be written: the file or its folder is read-only",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOTADB: "is not a PrivQL ledger",
    sqlite3.SQLITE_TOOBIG: "cannot hold a text or an answer of this size",
}

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # what comes of reading rubbish


def on_server(path: str | os.PathLike[str]) -> bool:
    """Whether a ledger is in PostgreSQL, by its address (`postgres.py`)."""
    return os.fspath(path).startswith(("postgresql://", "postgres://"))


def _code(problem: BaseException) -> int:
    """SQLite's primary result code; 0 for what did not come from SQLite itself."""
    return int(getattr(problem, "sqlite_errorcode", 0)) & 0xFF


class Store:
    """Where a ledger is: a file of SQLite's."""

    troubles: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: str | os.PathLike[str], *, create: bool, patience: float) -> None:
        text = os.fspath(path)
        if not text:
            raise LedgerError("a ledger needs a path, or `:memory:`")
        self.memory = text == MEMORY
        self.path = text if self.memory else self._placed(text)
        self.ledger_id = ""
        self._patience = patience
        self._connection: sqlite3.Connection | None = None
        self._at_work = False
        self._pid = os.getpid()
        self._file: tuple[int, int] | None = None
        with _gate:
            _stores.add(self)
            with self._in_plain_words():
                self._connect(create)

    def _placed(self, path: str) -> str:
        """What it is called from now on: a later chdir must not lead elsewhere."""
        return os.path.abspath(path)

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
                with self._in_plain_words():
                    connection = self._connection or self._connect(create=False)
                    self._check_place()
                    if connection.in_transaction:  # an earlier rollback failed
                        connection.execute("ROLLBACK")
                    self._begin(connection, kind)
                    yield connection
                    connection.execute("COMMIT")
            finally:
                self._at_work = False

    def at_once(self, work: Callable[[sqlite3.Connection], _Found]) -> _Found:
        """`work` in one transaction that takes the lock when it first writes, if nothing was written since it began;
        else in one that holds it from the start. So whoever writes nothing, being refused, keeps nobody waiting."""
        try:
            with self.transaction("DEFERRED") as db:
                return work(db)
        except LedgerError as trouble:
            if trouble.__cause__ is None or _code(trouble.__cause__) != sqlite3.SQLITE_BUSY:
                raise
        with self.transaction() as db:
            return work(db)

    def sweep(self) -> None:
        """What was erased leaves the file, too, and the log beside it."""
        with _gate, self._in_plain_words():
            connection = self._connection or self._connect(create=False)
            self._check_place()
            self._clean(connection)

    def _clean(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA busy_timeout = {round(self._patience * 1000)}")  # till whoever reads is done
        connection.execute("VACUUM")
        (waiting, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
        if waiting:
            raise LedgerError("what was forgotten may stand in the file yet, while others read it: ask again")

    def _begin(self, connection: sqlite3.Connection, kind: str) -> None:
        """Whoever waits tries often, and at no fixed times: SQLite's own waiting, ever longer, may starve one."""
        patience = monotonic() + self._patience
        while True:
            try:
                connection.execute(f"BEGIN {kind}")
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version != VERSION:
                    self._still_up_to_date(connection)
                return
            except sqlite3.OperationalError as problem:
                if _code(problem) != sqlite3.SQLITE_BUSY or monotonic() > patience:
                    raise
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                sleep(uniform(0, 0.02))

    def _still_up_to_date(self, connection: Any) -> None:
        if self._recognise(connection) < VERSION:
            raise LedgerError(f"an older ledger has taken the place of `{self.path}`")

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
            broken = isinstance(problem, self.troubles)
            self._roll_back(broken and _code(problem) != sqlite3.SQLITE_BUSY)
            if broken or isinstance(problem, (OSError, UnicodeError, OverflowError)):
                raise LedgerError(self._sentence(problem)) from problem
            if isinstance(problem, _UNREADABLE):
                raise LedgerError(self._told("is damaged: it holds what cannot be read")) from problem
            raise

    def _roll_back(self, broken: bool) -> None:
        try:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except self.troubles:
            broken = True
        if broken and not self.memory:
            self.close()  # the next transaction starts from the file alone

    def _sentence(self, problem: BaseException) -> str:
        return self._told(_TROUBLE.get(_code(problem), f"cannot do this ({problem})"))

    def _told(self, trouble: str) -> str:
        return (
            f"the ledger at `{self.path}` {trouble}; nothing has been released, "
            "and a query that was charged is not charged again when it is repeated"
        )

    def _connect(self, create: bool) -> sqlite3.Connection:
        connection = self._open(create)
        try:
            connection.execute("BEGIN")  # one look: another process may be laying out the same file
            found = self._recognise(connection)
            connection.execute("COMMIT")
            if not found and not create:
                raise LedgerError(f"`{self.path}` is not a PrivQL ledger")
            if not self.memory:
                self._make_durable(connection)
            if found < VERSION:
                self._lay_out(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            self._is_the_same(connection)
            if not self.memory:
                self._file = places.identity(self.path)
                connection.execute("PRAGMA busy_timeout = 0")  # `_begin` waits
        except BaseException:
            connection.close()
            raise
        self._connected(connection)
        return connection

    def _is_the_same(self, connection: Any) -> None:
        (ledger_id,) = connection.execute("SELECT id FROM ledger").fetchone()
        if self.ledger_id not in ("", ledger_id):
            raise LedgerError(f"another ledger has taken the place of `{self.path}`")
        self.ledger_id = ledger_id

    def _connected(self, connection: Any) -> None:
        self._connection = connection
        # a ledger that nobody holds any more lets go of its file, and before the collector finds the connection
        weakref.finalize(self, connection.close).atexit = False

    def damage(self, db: sqlite3.Connection) -> list[str]:
        """What is wrong with the file itself."""
        return [line for (line,) in db.execute("PRAGMA integrity_check") if line != "ok"]

    def _open(self, create: bool) -> sqlite3.Connection:
        if self.memory:
            if self.ledger_id:
                raise LedgerError("this ledger in memory was closed")
            return sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
        places.check(self.path)
        if not create and not os.path.exists(self.path):
            raise LedgerError(f"there is no ledger at `{self.path}`: its owner makes one with `privql policy apply`")
        if create and not os.path.exists(self.path):
            # answers and query texts are for its owner's eyes, until the owner opens it to others
            with suppress(OSError):  # what is wrong is said when the file is opened
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        uri = f"file://{quote(os.fsencode(self.path))}?mode={'rwc' if create else 'rw'}"
        return sqlite3.connect(uri, timeout=self._patience, isolation_level=None, check_same_thread=False, uri=True)

    def _recognise(self, connection: sqlite3.Connection) -> int:
        """The layout of a ledger; 0: an empty file. A foreign file is refused before anything is written to it."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if application != APPLICATION_ID:
            if application or version or tables:
                raise LedgerError(f"`{self.path}` is not a PrivQL ledger")
            return 0
        return self._known(int(version))

    def _known(self, version: int) -> int:
        if version > VERSION:
            raise LedgerError(
                f"the ledger at `{self.path}` was written by a newer PrivQL "
                f"(layout {version}, this one knows {VERSION}): upgrade to use it"
            )
        return version

    def _make_durable(self, connection: sqlite3.Connection) -> None:
        journal = self._switch_to_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: its fsync alone does not reach the disk
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
        if journal != "wal" or synchronous != 2:
            raise LedgerError(f"the ledger at `{self.path}` cannot be kept durably on this file system")

    def _switch_to_wal(self, connection: sqlite3.Connection) -> str:
        """SQLite does not wait for others when it changes the mode of a new file, so this does."""
        patience = monotonic() + self._patience
        while True:
            try:
                return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
            except sqlite3.OperationalError as problem:
                if _code(problem) != sqlite3.SQLITE_BUSY or monotonic() > patience:
                    raise
                sleep(0.01)

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        found = self._recognise(connection)  # another process may have been faster
        if 0 < found < VERSION and not self.memory:
            self._keep_a_copy(f"{self.path}.layout-{found}")
        lay_out(connection, found)
        if not found:
            connection.execute("INSERT INTO ledger VALUES (?, ?)", (token_hex(16), now()))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        if found < CHAINED:
            chain.begin(connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")

    def _keep_a_copy(self, copy: str) -> None:
        """Of a file in an older layout, as it was, beside it: a PrivQL of its time can still read that. Nobody else
        writes meanwhile, so that it is all there was, and what is left of an attempt that broke off is nobody's."""
        part = f"{copy}.part"
        for left_over in (part, f"{part}-journal"):
            with suppress(FileNotFoundError):
                os.unlink(left_over)
        if os.path.exists(copy):
            return
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            with closing(self._open(create=False)) as old, closing(sqlite3.connect(part, isolation_level=None)) as kept:
                old.backup(kept)
            os.replace(part, copy)
        except BaseException:
            os.unlink(part)  # the disk may be full
            raise

    def _check_place(self) -> None:
        """A file moved away or replaced while in use would split the budget in two; a copy in memory, too."""
        if self.memory:
            if os.getpid() != self._pid:
                raise LedgerError("a ledger in memory stays in the process that made it")
            return
        try:
            moved = places.identity(self.path) != self._file
        except OSError:
            moved = True
        if moved:
            raise LedgerError(f"the ledger at `{self.path}` was moved or replaced while in use")


def _before_fork() -> None:
    _gate.acquire()
    for store in list(_stores):
        if not store.memory:
            store.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_gate.release, after_in_child=_gate.release)
