"""A process that dies between the steps of a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import privql.release as room
from privql.session import connect


class Killed(BaseException):
    pass


def killed_at(query: str, point: str, where: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run, and die where this would be drawn, or not at all; which draws were made."""
    draws: list[str] = []

    def drawn(name: str, honest: Any, *given: Any) -> object:
        if name == point:
            raise Killed
        draws.append(name)
        return honest(*given)

    died = False
    with monkeypatch.context() as patch:
        for name in ("_selected", "_chosen", "_noisy"):
            patch.setattr(room, name, partial(drawn, name, getattr(room, name)))
        with connect(where, analyst="ada") as opened:
            try:
                opened.run(query)
            except Killed:
                died = True
    assert died is (point != "")
    return draws
