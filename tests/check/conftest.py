"""The clinic, opened once for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from privql.session import Session
from tests.check.clinic import clinic


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened
