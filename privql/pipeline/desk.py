"""What an answer is made with: the ledger, the places of the data, the named and invented rows that a query reads."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from privql.check.relations import CheckedQuery, PublicScan
from privql.finish.result import Release
from privql.finish.table import Table
from privql.frozen import frozen
from privql.ledger import Ledger, StoredRelease
from privql.pipeline.places import Places
from privql.pipeline.request import leaves, read_by, roots


@frozen
class Desk:
    """All that an answer is made with, opened only when it is needed."""

    ledger: Ledger
    analyst: str
    policy_version: int
    places: Places
    released: Callable[[str], StoredRelease]  # by name
    dummy: bool = False
    shortest: Callable[[], Fraction | None] = lambda: None  # that any reading of rows may show as: PAD TIME

    def release_id(self, name: str) -> str:
        return self.released(name).release_id


def inputs(query: CheckedQuery, desk: Desk) -> tuple[dict[str, Table], dict[str, Table]]:
    """The named answers and the invented rows that a query reads."""
    released = {name: release.table for name, release in releases_of(query, desk).items()}
    return released, dummies_of(query, desk)


def dummies_of(query: CheckedQuery, desk: Desk) -> dict[str, Table]:
    found = (leaf for leaf in leaves(roots(query)) if isinstance(leaf, PublicScan) and leaf.dummy)
    return {leaf.table: desk.places.dummy(leaf.table) for leaf in found}


def releases_of(query: CheckedQuery, desk: Desk) -> dict[str, Release]:
    return {name: Release.from_bytes(desk.released(name).answer) for name in read_by(query)}


def named_by(query: CheckedQuery, desk: Desk) -> dict[str, str]:
    """Which answers stand behind the names that a query reads."""
    return {name: desk.release_id(name) for name in read_by(query)}


def invented(query: CheckedQuery, desk: Desk) -> bool:
    return desk.dummy or any(isinstance(leaf, PublicScan) and leaf.dummy for leaf in leaves(roots(query)))
