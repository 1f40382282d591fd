"""The clinic, opened once for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from privql.session import Session


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    from tests.check.clinic import clinic  # not above: what pytest imports this early, typeguard cannot check

    with clinic() as opened:
        yield opened
