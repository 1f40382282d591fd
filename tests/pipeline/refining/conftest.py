"""A session over the people of these tests, and a ledger in a file with them beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from privql.session import Session


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    from privql.session import connect  # not above: what pytest imports this early, typeguard cannot check
    from tests.pipeline.refining.people import FRAMES, POLICY

    with connect(policy=POLICY, frames=FRAMES, analyst="ada") as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    from tests.pipeline.refining.people import stored

    return stored(tmp_path)
