"""Ledgers of these tests live in memory where there is a file system for it: thousands of commits, no disk to wait for.

Locks, crashes of a process and full disks are the same there; what a disk does when the power fails is not tested here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from tests.ledger.servers import available

if TYPE_CHECKING:
    from privql.ledger.chain import Row
    from privql.ledger.remembered import Name, Remembered

collect_ignore = [] if available() else ["test_postgres.py"]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def nothing_is_taken_for_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a connection remembers is looked up all the same, and is what is found; whatever an entry is told of a
    row is what stands in the row."""
    from privql.ledger import chain  # not above: what pytest imports this early, typeguard cannot check
    from privql.ledger.remembered import Remembered

    known, tell = Remembered.known, chain.tell

    def held(self: Remembered, what: Name, read: Callable[[], Any]) -> Any:
        remembered, found = known(self, what, read), read()
        if remembered != found:
            pytest.fail(f"{what} is remembered as {remembered}, and is {found}")
        return remembered

    def told(db: Any, name: str, row: Row) -> None:
        (found,) = chain.rows(db, name, row.key)
        if row != found:
            pytest.fail(f"{name} is told as {row}, and is {found}")
        tell(db, name, row)

    monkeypatch.setattr(Remembered, "known", held)
    monkeypatch.setattr(chain, "tell", told)
