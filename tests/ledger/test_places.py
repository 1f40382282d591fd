"""Files that are no place for a ledger, and what happens to the files of one behind its back."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from privql.ledger import Ledger, LedgerError, Permit, places
from privql.ledger.anchors import Anchor, read_anchors
from privql.ledger.schema import VERSION
from tests.ledger.asking import TENTH, ask, budget, ledger, met
from tests.ledger.test_layouts import older

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("enter", [Ledger.open, Ledger.create])
def test_pipes_and_devices_are_refused(tmp_path: Path, enter: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "link", Path("/dev/null")):
        with pytest.raises(LedgerError, match="is a pipe or a device, not a ledger"):
            enter(path)


def test_a_symbolic_link_is_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "l")
    with ledger(path=tmp_path / "link") as made, Ledger.open(tmp_path / "there" / "l") as same:
        for number in range(10):
            (made, same)[number % 2].reserve(ask(number))
        assert made.spent("patient") == same.spent("patient") == made.budget_report()[0].budget.cap
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        ledger(path=tmp_path / "elsewhere").close()
        with pytest.raises(LedgerError, match="moved or replaced"):
            made.reserve(ask("more"))


def test_a_second_name_is_refused(tmp_path: Path) -> None:
    """A log of its own lies beside each name: what one of them spends the other does not see."""
    with ledger(path=tmp_path / "l") as made:
        made.reserve(ask("a"))
        os.link(tmp_path / "l", tmp_path / "second")
        for attempt in (lambda: made.reserve(ask("b")), lambda: Ledger.open(tmp_path / "second")):
            with pytest.raises(LedgerError, match="second name"):
                attempt()
        (tmp_path / "second").unlink()
        assert isinstance(made.reserve(ask("b")), Permit)


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:40 / /data rw,relatime shared:2 - nfs4 server:/export rw,vers=4.2
31 30 254:1 / /data/local rw,relatime - xfs /dev/vdb rw
32 22 0:41 / /home/ann\\040lee/far rw,nosuid - fuse.sshfs ann@there: rw
33 22 0:42 / /mnt/share rw - cifs //server/share rw
34 22 0:43 / /mnt/c rw - 9p drvfs rw
"""


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/data/l", "nfs4"),
        ("/data/deep/er/l", "nfs4"),
        ("/data/local/l", "xfs"),
        ("/data/localer/l", "nfs4"),
        ("/home/ann lee/far/l", "fuse.sshfs"),
        ("/home/ann lee/l", "ext4"),
        ("/mnt/share/l", "cifs"),
        ("/mnt/c/l", "9p"),
        ("/database/l", "ext4"),
    ],
)
def test_network_file_systems_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, system: str
) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(places, "MOUNTS", tmp_path / "mounts")
    assert places.file_system(path) == system
    if system in ("ext4", "xfs"):
        places.check(path)
    else:
        for enter in (Ledger.open, Ledger.create):
            with pytest.raises(LedgerError, match=rf"network file system \({system}\).* put the ledger on a disk"):
                enter(path)


def test_what_is_mounted_over_a_folder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounts").write_text(MOUNTS + "40 22 0:50 / /data rw - tmpfs none rw\n")
    monkeypatch.setattr(places, "MOUNTS", tmp_path / "mounts")
    assert places.file_system("/data/l") == "tmpfs"
    monkeypatch.setattr(places, "MOUNTS", tmp_path / "not there")
    places.check("/data/l")  # a machine that does not tell


DIES = """
import os, signal, sys
from privql.ledger import Ledger
from tests.ledger.asking import ask, plan
made = Ledger.open(sys.argv[1])
for query in range(12):
    release = made.release(made.reserve(ask(query)), os.urandom(4))
    print("told", release.release_id, release.answer.hex())
print("anchor", made.anchor(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def crashed(path: Path) -> tuple[dict[str, str], Anchor]:
    """A ledger whose last user died: its newest charges are in the log beside it."""
    ledger(budget(10), path=path).close()
    done = subprocess.run([sys.executable, "-c", DIES, str(path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    *told, anchor = done.stdout.splitlines()
    return dict(line.split()[1:] for line in told), read_anchors(anchor.removeprefix("anchor "))[0]


def test_locks_that_are_deleted_are_made_anew(tmp_path: Path) -> None:
    told, _ = crashed(tmp_path / "l")
    (tmp_path / "l-shm").unlink()
    with Ledger.open(tmp_path / "l") as made:
        assert {entry.release_id for entry in made.history()} == set(told)
        assert made.verify() == ()


def test_a_log_that_is_cut_short_leaves_no_release_without_its_charge(tmp_path: Path) -> None:
    """What it held is gone, as from a backup that is restored; what is left is what was there at some moment."""
    rng = random.Random(5)
    told, anchor = crashed(tmp_path / "l")
    base, log = (tmp_path / "l").read_bytes(), (tmp_path / "l-wal").read_bytes()
    (tmp_path / "l-shm").unlink()
    left = set()
    for size in (None, 0, 31, *(rng.randrange(len(log)) for _ in range(12)), len(log)):
        path = tmp_path / f"cut{size}"
        path.write_bytes(base)
        if size is not None:
            tail = rng.randbytes(rng.randrange(100)) if size else b""
            path.with_name(f"{path.name}-wal").write_bytes(log[:size] + tail)
        with Ledger.open(path) as made:
            assert made.verify() == ()
            entries = made.history()
            for entry in entries:
                stored = made.get_release("alice", entry.release_id)
                assert stored is None if entry.state == "reserved" else stored.answer.hex() == told[entry.release_id]
            assert [entry.release_id for entry in entries] == list(told)[: len(entries)]
            assert made.spent("patient").epsilon == len(entries) * TENTH
            lost = size is None or size < len(log) - 4096
            assert bool(made.verify([anchor])) == (made.anchor().position < anchor.position) >= lost
            left.add(len(entries))
    assert {0, len(told)} < left


@pytest.mark.parametrize("text", ["[", "1/0", '["x"]', '{"patient": 1}', "-1"])
@pytest.mark.parametrize(
    "where", ["total SET loss", "charge_line SET events", "budget_filter SET shares", "draw SET spent"]
)
def test_a_row_that_says_nothing_says_so(tmp_path: Path, where: str, text: str) -> None:
    with ledger(path=tmp_path / "l") as made:
        granted = made.reserve(ask("a"))
        assert isinstance(granted, Permit)
        made.draw(granted, 0, {"patient": met()}, b"x")
    with closing(sqlite3.connect(tmp_path / "l")) as db, db:
        db.execute(f"UPDATE {where} = ?", (text,))

    def go_on() -> None:
        again = made.reserve(ask("a"))
        made.reserve(ask("b"))
        assert isinstance(again, Permit)
        made.drawn(again)

    with Ledger.open(tmp_path / "l") as made:
        assert made.verify()
        with pytest.raises(LedgerError, match="is damaged: it holds what cannot be read"):
            go_on()


def test_a_file_that_is_damaged_says_so(tmp_path: Path) -> None:
    """Whatever is overwritten: one sentence, or the audit finds it, or it was nowhere that anything is kept."""
    rng = random.Random(6)
    with ledger(budget(10), path=tmp_path / "l") as made:
        for query in range(12):
            granted = made.reserve(ask(query, name=f"n{query}"))
            assert isinstance(granted, Permit)
            made.release(granted, bytes(50))
        before = made.history(), made.spent("patient")
    sound, said = (tmp_path / "l").read_bytes(), set()
    for attempt in range(60):
        path, at = tmp_path / f"damaged{attempt}", rng.randrange(100, len(sound))
        rubbish = rng.choice((rng.randbytes(rng.choice((1, 8, 4096))), b"0" * rng.choice((1, 40))))[: len(sound) - at]
        path.write_bytes(sound[:at] + rubbish + sound[at + len(rubbish) :])
        try:
            with Ledger.open(path) as made:
                if not made.verify():
                    assert (made.history(), made.spent("patient")) == before
                said.add("found by the audit")
                made.reserve(ask("more"))
                made.reserve(ask(3))
                made.budget_report("alice")
        except LedgerError as trouble:
            said.add("damaged" if "is damaged" in str(trouble) else str(trouble))
    assert {"damaged", "found by the audit"} <= said


class TestOlderLayouts:
    def test_what_an_attempt_left_behind_is_nobodys(self, tmp_path: Path) -> None:
        older(tmp_path / "l", 1)
        for left in ("l.layout-1.part", "l.layout-1.part-journal"):
            (tmp_path / left).write_bytes(b"half a copy" * 1000)
        Ledger.open(tmp_path / "l").close()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["l", "l.layout-1"]
        with closing(sqlite3.connect(tmp_path / "l.layout-1")) as db:
            assert db.execute("SELECT COUNT(*) FROM charge").fetchone() == (2,)

    def test_without_room_for_the_copy_nothing_is_changed(self, tmp_path: Path) -> None:
        older(tmp_path / "l", 1)
        (tmp_path / "l.layout-1.part").mkdir()  # no file can be made there
        before = (tmp_path / "l").read_bytes()
        with pytest.raises(LedgerError, match=r"cannot do this .*nothing has been released"):
            Ledger.open(tmp_path / "l")
        with closing(sqlite3.connect(tmp_path / "l")) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert (tmp_path / "l").read_bytes()[100:] == before[100:]  # but for the mode of its journal
        (tmp_path / "l.layout-1.part").rmdir()
        Ledger.open(tmp_path / "l").close()

    def test_many_bring_it_up_to_date_at_once(self, tmp_path: Path) -> None:
        older(tmp_path / "l", 1)
        command = [sys.executable, "-c", "import sys; from privql.ledger import Ledger; Ledger.open(sys.argv[1])"]
        running = [subprocess.Popen([*command, str(tmp_path / "l")], cwd=ROOT) for _ in range(4)]
        assert [one.wait() for one in running] == [0] * 4
        with closing(sqlite3.connect(tmp_path / "l.layout-1")) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (1,)
        with Ledger.open(tmp_path / "l") as made:
            assert made.verify() == ()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["l", "l.layout-1"]

    def test_a_ledger_that_a_newer_one_took_over_is_left_to_it(self, tmp_path: Path) -> None:
        with ledger(path=tmp_path / "l") as made:
            made.reserve(ask("a"))
            for version, said in ((VERSION + 1, "newer PrivQL"), (VERSION - 1, "older ledger")):
                with closing(sqlite3.connect(tmp_path / "l")) as db:
                    db.execute(f"PRAGMA user_version = {version}")
                with pytest.raises(LedgerError, match=said):
                    made.reserve(ask("b"))
