"""What a connection has read or written, for as long as nobody else has written: a charge begins with what the one
before it has left.

A fact is true in a transaction that begins where the connection's last one ended. Whether it does is asked of whatever
holds the ledger (`_begin` of a store): a file tells that in the way in which SQLite finds out for itself whether the
pages that it has in memory are those of the file. Whoever writes a fact says here what it is from now on, or forgets
it; a transaction that fails when something was written forgets everything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Fact = TypeVar("Fact")
Name = tuple[Hashable, ...]  # of a fact: what it is, and of what

_MOST = 4096  # facts; with more of them everything is looked up anew


class Remembered:
    def __init__(self) -> None:
        self._facts: dict[Name, Any] = {}
        self.written = False  # whether the transaction has said what something is from now on

    def still(self, what: Name, fact: object) -> bool:
        """Whether this is so yet; else nothing is remembered but that it is so now."""
        if what in self._facts and self._facts[what] == fact:
            return True
        self.forget()
        self._facts[what] = fact
        return False

    def known(self, what: Name, read: Callable[[], Fact]) -> Fact:
        """As it is remembered, or read now."""
        if what in self._facts:
            found: Fact = self._facts[what]
            return found
        found = read()
        self._keep(what, found)
        return found

    def now(self, what: Name, fact: object) -> None:
        """This transaction writes it."""
        self.written = True
        self._keep(what, fact)

    def _keep(self, what: Name, fact: object) -> None:
        if len(self._facts) >= _MOST:
            self._facts.clear()
        self._facts[what] = fact

    def forget(self) -> None:
        self._facts.clear()


def of(db: Any) -> Remembered:
    """What a store's connection remembers; any other remembers nothing."""
    found: Remembered | None = getattr(db, "remembered", None)
    return Remembered() if found is None else found
