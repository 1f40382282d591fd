"""One Spark for all tests of its engine, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.spark import local


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if reason := local.missing():
        pytest.skip(reason)
    session = local.session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
