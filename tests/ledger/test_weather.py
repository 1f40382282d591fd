"""Bad weather: each trouble is one clear sentence, nothing is lost, and nothing is given out that is not paid for."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from privql.ledger import Ledger, LedgerError, OverBudget, Permit, Replay
from privql.ledger.schema import VERSION
from tests.ledger.asking import ask, budget, ledger, plan
from tests.ledger.watched import Fault, Watched

ROOT = Path(__file__).parents[2]


def test_only_its_owner_makes_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"no ledger at .* `privql policy apply`"):
        Ledger.open(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []
    for path in ("", ":memory:"):
        with pytest.raises(LedgerError):
            Ledger.open(path)
    with pytest.raises(LedgerError, match="needs a path"):
        Ledger.create("")
    with pytest.raises(LedgerError, match=r"cannot be opened: there is no folder `.*no`$"):
        Ledger.create(tmp_path / "no" / "folder")


def foreign(kind: str, path: Path) -> None:
    match kind:
        case "text":
            path.write_text("not a database, but long enough to be read as one " * 99)
        case "sqlite":
            connection = sqlite3.connect(path)
            connection.execute("CREATE TABLE t (x)")
            connection.close()
        case "another application":
            connection = sqlite3.connect(path)
            connection.execute("PRAGMA application_id = 7")
            connection.close()
        case _:
            path.mkdir()


@pytest.mark.parametrize("kind", ["text", "sqlite", "another application", "folder"])
@pytest.mark.parametrize("enter", [Ledger.open, Ledger.create])
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, kind: str, enter: Any) -> None:
    path = tmp_path / "f"
    foreign(kind, path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(LedgerError, match=r"not a (PrivQL )?ledger$"):
        enter(path)
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_file_becomes_a_ledger_only_by_apply(tmp_path: Path) -> None:
    path = tmp_path / "l"
    path.touch()
    with pytest.raises(LedgerError, match="not a PrivQL ledger"):
        Ledger.open(path)
    Ledger.create(path).close()
    Ledger.open(path).close()


def test_making_a_ledger_waits_for_whoever_looks_at_the_file(tmp_path: Path) -> None:
    path = tmp_path / "l"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA user_version = 0")
    other.execute("BEGIN")
    other.execute("SELECT * FROM sqlite_master").fetchall()
    with pytest.raises(LedgerError, match="locked"):
        Ledger.create(path, patience=0.05)
    leaving = threading.Timer(0.1, lambda: other.execute("COMMIT"))
    leaving.start()
    made = ledger(path=path)
    leaving.join()
    other.close()
    assert made.policy().version == 1


@pytest.mark.wrong_types
def test_makers_of_one_ledger_do_not_trip_over_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that switch a new file to WAL at once: SQLite tells one of them at once that it is locked."""
    connect, refusals = sqlite3.connect, [1, 2]

    class Rival(Watched):
        def execute(self, *args: Any) -> Any:
            if "journal_mode" in args[0] and refusals:
                refusals.pop()
                locked = sqlite3.OperationalError("database is locked")
                locked.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise locked
            return self._real.execute(*args)

    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: Rival(connect(*args, **more), lambda do: do()))
    ledger(path=tmp_path / "l").close()
    assert not refusals


def test_a_newer_layout_is_refused(tmp_path: Path) -> None:
    ledger(path=tmp_path / "l").close()
    connection = sqlite3.connect(tmp_path / "l")
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    for enter in (Ledger.open, Ledger.create):
        with pytest.raises(LedgerError, match=r"newer PrivQL .* upgrade"):
            enter(tmp_path / "l")


def test_strange_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a?mode=memory", "b#c", "d%20e", "f g", "é", "file:x"):
        ledger(path=tmp_path / name).close()
        assert (tmp_path / name).stat().st_size > 0
    monkeypatch.chdir(tmp_path)
    made = ledger(path="relative")
    made.close()
    monkeypatch.chdir("/")
    assert made.policy().version == 1


def test_a_ledger_that_was_replaced_is_not_used(tmp_path: Path) -> None:
    path, away = tmp_path / "l", tmp_path / "away"
    made = ledger(path=path)
    path.rename(away)
    with pytest.raises(LedgerError, match="moved or replaced"):
        made.reserve(ask("a"))
    other = ledger(path=path)
    with pytest.raises(LedgerError, match="moved or replaced"):
        made.reserve(ask("a"))
    made.close()
    for _ in range(2):
        with pytest.raises(LedgerError, match="another ledger"):
            made.reserve(ask("a"))
    assert other.history() == ()


def test_a_lock_that_stays(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger(path=path).close()
    made = Ledger.open(path, patience=0.05)
    granted = made.reserve(ask("a"))
    assert isinstance(granted, Permit)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for attempt in (lambda: made.reserve(ask("b")), lambda: made.release(granted, b"x")):
        with pytest.raises(LedgerError, match="locked by another process"):
            attempt()
    assert made.spent("patient").epsilon * 10 == 1  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    assert made.release(granted, b"y").answer == b"y"


def test_who_writes_nothing_waits_for_nobody(tmp_path: Path) -> None:
    """Refusals and repeated answers are told while another holds the lock."""
    path = tmp_path / "l"
    ledger(path=path).close()
    with Ledger.open(path, patience=0.05) as made, sqlite3.connect(path, isolation_level=None) as other:
        told = finish(made, ask("a"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OverBudget):
            made.reserve(ask("b", 1))
        with pytest.raises(OverBudget):
            made.prepay((plan("c", "d", epsilon="0.5"),))
        assert finish(made, ask("a")) == told
        with pytest.raises(LedgerError, match="locked by another process"):
            made.reserve(ask("e"))
        other.execute("ROLLBACK")
        made.reserve(ask("e"))
    other.close()


def test_what_was_seen_before_others_wrote_is_seen_again(tmp_path: Path) -> None:
    """Another process writes between a first look and the first write."""
    with ledger(path=tmp_path / "l") as made:
        made.reserve(ask("a", "0.9"))
        looks = []

        def work(db: sqlite3.Connection) -> object:
            looks.append(db.execute("SELECT MAX(id) FROM charge").fetchone())
            if len(looks) == 1:
                with closing(sqlite3.connect(tmp_path / "l", isolation_level=None)) as rival:
                    rival.execute("UPDATE charge SET resumes = 1")
            db.execute("UPDATE charge SET resumes = resumes + 1")
            return db.execute("SELECT resumes FROM charge").fetchone()

        assert made._store.at_once(work) == (2,)
        assert len(looks) == 2


def test_a_full_ledger_loses_nothing(tmp_path: Path) -> None:
    made = ledger(budget(1000), path=tmp_path / "l")
    connection = made._store._connection
    assert connection is not None
    granted = made.reserve(ask("a"))
    assert isinstance(granted, Permit)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerError, match="disk is full"):
        made.release(granted, b"x" * 100_000)
    assert [entry.state for entry in made.history()] == ["reserved"]
    again = made.reserve(ask("a"))  # on a fresh connection, as if the disk had room again
    assert isinstance(again, Permit) and again.resumes == 1
    assert made.release(again, b"y" * 100_000).answer == b"y" * 100_000
    assert made.spent("patient").epsilon * 10 == 1
    assert made.verify() == ()


NO_SPACE = """
import resource, signal, sys
from pathlib import Path
from privql.ledger import Ledger, LedgerError
from tests.ledger.asking import ask
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
made = Ledger.open(sys.argv[1])
room = Path(sys.argv[1] + "-wal").stat().st_size + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
for query in range(1000):
    try:
        permit = made.reserve(ask(query, "0.01"))
        print(made.release(permit, b"z" * 3000).release_id)
    except LedgerError as trouble:
        print("trouble", trouble)
        break
"""


@pytest.mark.parametrize("room", [0, 5_000, 30_000, 60_001])
def test_a_disk_that_takes_no_more(tmp_path: Path, room: int) -> None:
    """Writes really fail, at some byte of the log; what was told before is there, and the rest can go on."""
    path = tmp_path / "l"
    ledger(budget(1000), path=path)  # stays open, so that the log does
    command = [sys.executable, "-c", NO_SPACE, str(path), str(room)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    *told, trouble = done.stdout.splitlines()
    assert trouble.startswith("trouble the ledger at") and "nothing has been released" in trouble
    made = Ledger.open(path)
    entries = made.history()
    assert [entry.release_id for entry in entries if entry.state == "released"] == told
    assert made.spent("patient").epsilon * 100 == len(entries)
    assert made.verify() == ()
    finish(made, ask(len(told), "0.01"))


READ_ONLY = """
import os, sys
from privql.ledger import Ledger, LedgerError
from tests.ledger.asking import ask
if os.geteuid() == 0:
    os.seteuid(65534)
made = Ledger.open(sys.argv[1])
print(made.spent("patient").epsilon)
made.reserve(ask("b"))
"""


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "l"
    made = ledger(path=path)
    made.reserve(ask("a"))
    for part in tmp_path.iterdir():
        part.chmod(0o444)
    tmp_path.chmod(0o555)
    done = subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], cwd=ROOT, capture_output=True, text=True)
    assert "LedgerError: the ledger at" in done.stderr and "read-only" in done.stderr, done.stderr
    assert len(made.history()) == 1


def finish(made: Ledger, request: Any) -> tuple[str, bytes]:
    """What a patient analyst does: ask until there is an answer."""
    granted = made.reserve(request)
    if isinstance(granted, Replay):
        return granted.release_id, granted.answer
    stored = made.release(granted, os.urandom(8))
    return stored.release_id, stored.answer


@pytest.mark.parametrize("memory", [False, True], ids=["file", "memory"])
@pytest.mark.parametrize("lasting", [1, 3])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.wrong_types
def test_a_fault_at_every_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool, lasting: int, memory: bool
) -> None:
    """Never an answer without its charge, never a second charge, whatever statement fails and whoever tries again."""
    connect = sqlite3.connect
    reached = at = 0
    while reached >= at:
        at += 1
        faults = Fault(sqlite3.SQLITE_IOERR, 10**9, lasting, after)
        with monkeypatch.context() as patch:
            patch.setattr(
                sqlite3, "connect", lambda *args, faults=faults, **more: Watched(connect(*args, **more), faults)
            )
            made = ledger(budget(1), path=":memory:" if memory else tmp_path / f"l{at}")
            if not memory:
                made.close()
            faults.at, faults.seen = at, 0
            told = []
            for _ in range(8):
                try:
                    told.append(finish(made, ask("a")))
                    break
                except LedgerError:
                    continue
            reached = faults.seen
            faults.at = 10**9
            told.append(finish(made, ask("a")))
            (entry,) = made.history()
            assert entry.state == "released"
            stored = made.get_release("alice", entry.release_id)
            assert stored is not None and set(told) == {(entry.release_id, stored.answer)}
            assert made.spent("patient").epsilon * 10 == 1
            assert made.verify() == ()
            made.close()
    assert at > 15


def test_a_new_ledger_is_for_its_owners_eyes(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Ledger.create(tmp_path / "ledger.db") as ledger:
            ledger.apply_policy("-- nothing yet", [], [], [])
            assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
    finally:
        os.umask(before)
