"""The one clock that the ledger looks at. Two things are decided by it: which window of a budget is open
(`windows.py`), and whether the next run of a standing release is due (`standing.py`). Other times are for reading."""

from __future__ import annotations

from datetime import UTC, datetime


def tells() -> datetime:
    return datetime.now(UTC)


def written(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def now() -> str:
    return written(tells())
