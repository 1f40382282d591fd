"""What this run leaves out for want of a server is said at its top; and the clock that tests of time have."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tests.ledger.servers import available

if TYPE_CHECKING:
    from tests.ledger.told_time import Clock


def pytest_report_header() -> list[str]:
    wanted = "`make test-engines`, or set PRIVQL_TEST_PG"
    left_out = "ledgers and private tables in PostgreSQL are not tested"
    return [] if available() else [f"no PostgreSQL server ({wanted}): {left_out}"]


def pytest_collection_finish() -> None:
    """What eleven thousand tests are made of stays: looking through it again and again took a twentieth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    from tests.ledger.told_time import Clock  # here, so that PrivQL is first imported by what checks its types

    return Clock(monkeypatch)
