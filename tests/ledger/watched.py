"""Connections whose statements somebody else carries out: who fails them, or dies in the midst."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

Around = Callable[[Callable[[], Any]], Any]


class Watched:
    def __init__(self, real: sqlite3.Connection, around: Around) -> None:
        self._real, self._around = real, around

    def execute(self, *args: Any) -> Any:
        return self._around(lambda: self._real.execute(*args))

    def executemany(self, *args: Any) -> Any:
        return self._around(lambda: self._real.executemany(*args))

    def backup(self, *args: Any) -> Any:
        return self._around(lambda: self._real.backup(*(getattr(one, "_real", one) for one in args)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class Fault:
    """What fails: the `at`-th statement, and those after it; `done`: it was carried out all the same."""

    def __init__(self, code: int, at: int, lasting: int, done: bool) -> None:
        self.code, self.at, self.lasting, self.done, self.seen = code, at, lasting, done, 0

    def __call__(self, statement: Callable[[], Any]) -> Any:
        self.seen += 1
        failing = self.at <= self.seen < self.at + self.lasting
        done = statement() if not failing or self.done else None
        if failing:
            raise self._trouble()
        return done

    def _trouble(self) -> sqlite3.OperationalError:
        """Made elsewhere than it is raised: else it would keep the statement's cursor open, by its own traceback."""
        trouble = sqlite3.OperationalError("trouble")
        trouble.sqlite_errorcode = self.code
        return trouble
