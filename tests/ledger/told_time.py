"""A clock that tells what a test says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from privql.ledger import clock

START = datetime(2026, 1, 1, 8, tzinfo=UTC)


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = START
        monkeypatch.setattr(clock, "tells", lambda: self.at)
