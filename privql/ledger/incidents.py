"""What failed after it was charged, for the owner alone.

An engine's words may quote rows, so nobody who asks sees them and the ledger does not keep them: the analyst gets a
number, and the words stand under it in a file beside the ledger, which its owner alone may read. A process that runs
as somebody else writes none.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from secrets import token_hex
from typing import Any

from privql.frozen import frozen
from privql.ledger.clock import now
from privql.ledger.errors import LedgerError

_LONGEST = 10_000  # characters


@frozen
class Incident:
    number: str
    at: str
    release_id: str
    analyst: str
    words: str

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}


def file_beside(ledger: str) -> str:
    return f"{ledger}.incidents"


def noted(ledger: str, release: str, analyst: str, words: str) -> str | None:
    """The number under which the owner finds the words; None where they could not be kept for the owner alone."""
    made = Incident(token_hex(4), now(), release, analyst, words[:_LONGEST])
    with suppress(OSError):
        if hasattr(os, "geteuid") and os.stat(ledger).st_uid != os.geteuid():
            return None
        flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
        opened = os.open(file_beside(ledger), flags, 0o600)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(opened, 0o600)
            os.write(opened, (json.dumps(made.to_json()) + "\n").encode())
        finally:
            os.close(opened)
        return made.number
    return None


def read(ledger: str) -> tuple[Incident, ...]:
    """Oldest first. A line that a crash cut off is none."""
    try:
        with open(file_beside(ledger), encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return ()
    except OSError as problem:
        raise LedgerError(f"`{file_beside(ledger)}` cannot be read: {problem.strerror}") from None
    found = []
    for line in lines:
        with suppress(ValueError, TypeError):
            found.append(Incident(**json.loads(line)))
    return tuple(found)
