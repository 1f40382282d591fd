"""Anchors: where the chain was, to be kept out of reach of whoever writes the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from privql.frozen import frozen
from privql.ledger.errors import LedgerError

_MARK = "privql-ledger"  # begins one


@frozen
class Anchor:
    ledger_id: str
    position: int
    head: str
    at: str

    def __str__(self) -> str:
        return f"{_MARK} {self.ledger_id} {self.position} {self.head} {self.at}"


def read_anchors(text: str) -> tuple[Anchor, ...]:
    """One a line; a LedgerError where a line is none, or there is no line."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        mark, *words = line.split()
        if mark != _MARK or len(words) != 4 or not (words[1].isascii() and words[1].isdigit()):
            raise LedgerError("this is no anchor of a ledger: `privql ledger anchor` writes one, a line each")
        found.append(Anchor(words[0], int(words[1]), words[2], words[3]))
    if not found:
        raise LedgerError("there is no anchor here: `privql ledger anchor` writes one")
    return tuple(found)


def lost(anchors: tuple[Anchor, ...], ledger_id: str, last: int, heads: Mapping[int, bytes]) -> Iterator[str]:
    """What a chain of these heads does not hold to, a sentence each."""
    for each in anchors:
        when = f"the anchor of {each.at}"
        if each.ledger_id != ledger_id:
            yield f"{when} is of another ledger, {each.ledger_id}"
        elif each.position > last:
            yield (
                f"{when} was taken after entry {each.position}, and the chain ends with entry {last}: "
                "this is an older copy, or its last entries were deleted"
            )
        elif each.position not in heads or heads[each.position].hex() != each.head:
            yield f"{when} knows another entry {each.position}: what the ledger held then was rewritten"
