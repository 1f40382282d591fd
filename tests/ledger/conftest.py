"""Ledgers of these tests live in memory where there is a file system for it: thousands of commits, no disk to wait for.

Locks, crashes of a process and full disks are the same there; what a disk does when the power fails is not tested here.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.ledger.servers import available

collect_ignore = [] if available() else ["test_postgres.py"]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
