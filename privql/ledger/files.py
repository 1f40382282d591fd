"""The ledger's SQLite file: how it is opened, locked, laid out and kept durable."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from random import uniform
from secrets import token_hex
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

from privql.ledger import chain, places
from privql.ledger.clock import now
from privql.ledger.errors import LedgerError
from privql.ledger.remembered import Remembered
from privql.ledger.schema import APPLICATION_ID, CHAINED, VERSION, lay_out
from privql.ledger.store import Found, Store

MEMORY = ":memory:"
_STATE = ("state",)  # of the file, as it is remembered

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


def _code(problem: BaseException) -> int:
    """SQLite's primary result code; 0 for what did not come from SQLite itself."""
    return int(getattr(problem, "sqlite_errorcode", 0)) & 0xFF


class Connection(sqlite3.Connection):
    def __init__(self, *where: Any, **how: Any) -> None:
        super().__init__(*where, **how)
        self.remembered = Remembered()


class FileStore(Store):
    """A file, or one that is in memory."""

    troubles: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: str | os.PathLike[str], *, create: bool, patience: float) -> None:
        text = os.fspath(path)
        if not text:
            raise LedgerError("a ledger needs a path, or `:memory:`")
        self.memory = text == MEMORY
        self._pid = os.getpid()
        self._file: tuple[int, int] | None = None
        self._changes = 0  # how many rows the connection had written when the transaction began
        # what it is called from now on: a later chdir must not lead elsewhere
        super().__init__(text if self.memory else os.path.abspath(text), create=create, patience=patience)

    def at_once(self, work: Callable[[sqlite3.Connection], Found]) -> Found:
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

    def _clean(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA busy_timeout = {round(self._patience * 1000)}")  # till whoever reads is done
        connection.execute("VACUUM")
        (waiting, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
        if waiting:
            raise LedgerError("what was forgotten may stand in the file yet, while others read it: ask again")

    def _begin(self, connection: Connection, kind: str) -> None:
        """Whoever waits tries often, and at no fixed times: SQLite's own waiting, ever longer, may starve one."""
        patience = monotonic() + self._patience
        while True:
            try:
                connection.execute(f"BEGIN {kind}")
                self._changes = connection.total_changes
                # another number if any other connection has committed since, in whichever process
                (state,) = connection.execute("PRAGMA data_version").fetchone()
                if not connection.remembered.holds(_STATE, state):
                    self._still_up_to_date(connection)  # each time anew, if it is refused
                    connection.remembered.anew(_STATE, state)
                return
            except sqlite3.OperationalError as problem:
                if _code(problem) != sqlite3.SQLITE_BUSY or monotonic() > patience:
                    raise
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                sleep(uniform(0, 0.02))

    def _wrote(self, connection: Connection) -> bool:
        return connection.total_changes != self._changes

    def _busy(self, problem: BaseException) -> bool:
        return _code(problem) == sqlite3.SQLITE_BUSY

    def _sentence(self, problem: BaseException) -> str:
        code = _code(problem)
        trouble = _TROUBLE.get(code)
        if code == sqlite3.SQLITE_CANTOPEN and not os.path.isdir(folder := os.path.dirname(self.path)):
            trouble = f"cannot be opened: there is no folder `{folder}`"
        if not self.ledger_id and code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB):
            return f"the ledger at `{self.path}` {trouble}"  # of which nothing can have been asked
        return super()._sentence(problem) if trouble is None else self._told(trouble)

    def _open(self, create: bool) -> Connection:
        if self.memory:
            if self.ledger_id:
                raise LedgerError("this ledger in memory was closed")
            return sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False, factory=Connection)
        places.check(self.path)
        if not create and not os.path.exists(self.path):
            raise LedgerError(f"there is no ledger at `{self.path}`: its owner makes one with `privql policy apply`")
        if create and not os.path.exists(self.path):
            # answers and query texts are for its owner's eyes, until the owner opens it to others
            with suppress(OSError):  # what is wrong is said when the file is opened
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        uri = f"file://{quote(os.fsencode(self.path))}?mode={'rwc' if create else 'rw'}"
        how: Any = {"isolation_level": None, "check_same_thread": False, "factory": Connection}
        opened: Connection = sqlite3.connect(uri, timeout=self._patience, uri=True, **how)
        return opened

    def _recognise(self, connection: sqlite3.Connection) -> int:
        """0: an empty file."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if application != APPLICATION_ID:
            if application or version or tables:
                raise LedgerError(f"`{self.path}` is not a PrivQL ledger")
            return 0
        return self._known(int(version))

    def _nothing_there(self) -> LedgerError:
        return LedgerError(f"`{self.path}` is not a PrivQL ledger")

    def _prepare(self, connection: sqlite3.Connection, found: int) -> None:
        if not self.memory:
            self._make_durable(connection)
        if found < VERSION:
            self._lay_out(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        if not self.memory:
            self._file = places.identity(self.path)
            connection.execute("PRAGMA busy_timeout = 0")  # `_begin` waits

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

    def damage(self, db: sqlite3.Connection) -> list[str]:
        """What is wrong with the file itself."""
        broken = [line for (line,) in db.execute("PRAGMA integrity_check") if line != "ok"]
        there, wanted = _made_of(db), _of_every_ledger()
        broken += [f"it has a {kind} `{name}` that no ledger has" for kind, name in sorted(there - wanted)]
        return broken + [f"it has no {kind} `{name}`" for kind, name in sorted(wanted - there)]


@cache
def _of_every_ledger() -> set[tuple[str, str]]:
    with closing(sqlite3.connect(MEMORY, isolation_level=None)) as fresh:
        lay_out(fresh, 0)
        return _made_of(fresh)


def _made_of(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """Tables and indexes, and what else a file may have, by kind and name; without what SQLite makes for itself."""
    rows = db.execute("SELECT type, name FROM sqlite_master").fetchall()
    return {(kind, name) for kind, name in rows if not name.startswith("sqlite_")}
