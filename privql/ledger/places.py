"""Where a ledger may lie: in a file of its own, under one name, on a disk of this machine.

A log and a file of locks lie beside it, found by its name, and processes share them by way of memory. Under two names,
or on two machines, there would be two of each, and the budget would be spent twice.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from privql.frozen import frozen
from privql.ledger.errors import LedgerError
from privql.ledger.schema import APPLICATION_ID

MOUNTS = Path("/proc/self/mountinfo")  # Linux's list of what is mounted where

_ELSEWHERE = frozenset(
    [
        "9p",
        "afs",
        "afpfs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "drvfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "prl_fs",
        "smb2",
        "smb3",
        "smbfs",
        "vboxsf",
        "vmhgfs",
        "fuse.ceph",
        "fuse.ceph-fuse",
        "fuse.curlftpfs",
        "fuse.davfs2",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.goofys",
        "fuse.mfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "fuse.vmhgfs-fuse",
    ]
)


def check(path: str) -> None:
    """Refuse what cannot hold a ledger; a file that is not there yet is none of these."""
    try:
        found = os.stat(path)
    except OSError:
        pass  # missing, or what is wrong with it is said when it is opened
    else:
        if stat.S_ISDIR(found.st_mode):
            raise LedgerError(f"`{path}` is a folder, not a ledger")
        if not stat.S_ISREG(found.st_mode):
            raise LedgerError(f"`{path}` is a pipe or a device, not a ledger")
        _check_names(path, found)
    system = file_system(os.path.realpath(path))
    if system in _ELSEWHERE:
        raise LedgerError(
            f"`{path}` is on a network file system ({system}), whose locks cannot be trusted: two machines could spend "
            "the same budget; put the ledger on a disk of the machine on which PrivQL runs"
        )


def _check_names(path: str, found: os.stat_result) -> None:
    if found.st_nlink > 1:
        raise LedgerError(
            f"the ledger at `{path}` has a second name (a hard link), under which it would have a log of its own and "
            "spend the same budget again; remove that name, or make it a symbolic link"
        )


def identity(path: str) -> tuple[int, int]:
    """Which file it is."""
    found = os.stat(path)
    _check_names(path, found)
    return found.st_dev, found.st_ino


def file_system(path: str) -> str | None:
    """The type of the file system on which a path lies; None where the machine does not tell."""
    try:
        lines = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    deepest, found = "", None
    for line in lines:
        mount, _, system = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mount.split(" ")[4])
        if len(point) >= len(deepest) and os.path.commonpath((point, path)) == point:  # what is mounted over it counts
            deepest, found = point, system.split(" ")[0]
    return found


@frozen
class Seen:
    """Another file's ledger, looked at and not touched."""

    ledger_id: str
    policy: str  # the text in force


def look(path: str | os.PathLike[str]) -> Seen | None:
    """None where there is no ledger with a policy, or none that can be read."""
    try:
        with closing(sqlite3.connect(f"file://{quote(os.fsencode(os.path.abspath(path)))}?mode=ro", uri=True)) as db:
            if db.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
                return None
            row = db.execute("SELECT id, text FROM ledger, policy ORDER BY version DESC LIMIT 1").fetchone()
    except (sqlite3.Error, OSError):
        return None
    return None if row is None else Seen(*row)
