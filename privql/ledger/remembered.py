"""What a connection has read or written, for as long as nobody else has written: a charge begins with what the one
before it has left.

A fact is true in a transaction that begins where the connection's last one ended. Whether it does is asked of whatever
holds the ledger (`_begin` of a store): a file tells that in the way in which SQLite finds out for itself whether the
pages that it has in memory are those of the file. Whoever writes a fact says here what it is from now on, or forgets
it; a transaction that fails when something was written forgets everything, and so does one that was never seen to end.
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
        self._open = False  # whether a transaction has begun of which it is not known how it ended

    def begins(self) -> None:
        if self._open:  # its end was interrupted: nobody knows which of the facts came of it
            self.forget()
        self._open, self.written = True, False

    def ended(self) -> None:
        """Committed, or undone and what it wrote forgotten."""
        self._open = False

    def holds(self, what: Name, fact: object) -> bool:
        """Whether this is remembered, and is still so."""
        return what in self._facts and self._facts[what] == fact

    def anew(self, what: Name, fact: object) -> None:
        """Nothing is remembered but this."""
        self.forget()
        self._facts[what] = fact

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
