"""Ledgers beside the one that is applied to: what is spent in one is unknown to the other, so their losses add up."""

from __future__ import annotations

import os
from pathlib import Path

from privql.diagnostics import NOWHERE, Diagnostic, PrivQLError
from privql.ledger import Ledger, PolicyRecord, on_server
from privql.ledger.places import look
from privql.names import fold
from privql.pipeline.policies import read_record
from privql.policy.catalog import Catalog
from privql.policy.findings import listing


def other_ledgers(path: str | Path, ledger: Ledger, catalog: Catalog, base: Path) -> list[Diagnostic]:
    """A warning for each copy of this ledger, and for each other one with the same units: beside the policy, beside
    the ledger, and where this ledger was when the version in force was applied."""
    if os.fspath(path) == ":memory:" or on_server(path):
        return []
    own, before = Path(path).resolve(), ledger.place()
    beside = [*base.glob("*.db"), *own.parent.glob("*.db"), *([Path(before)] if before else [])]
    found = []
    for other in sorted({each.resolve() for each in beside} - {own}):
        seen = look(other)
        if seen is None:
            continue
        if seen.ledger_id == ledger.ledger_id:
            message, why = f"`{other}` is a copy of this ledger", "each knows nothing of what the other spends"
            found.append(_warning(message, why, "keep one of them, the one in which was spent last"))
        elif units := _shared(seen.policy, catalog):
            message = f"`{other}` keeps budgets for {listing(units)}, too"
            found.append(_warning(message, "what is lost in both adds up, and neither counts it", "keep one ledger"))
    return found


def _shared(text: str, catalog: Catalog) -> list[str]:
    try:
        theirs = {fold(unit.name) for unit in read_record(PolicyRecord(0, text, ""))[0].units}
    except (PrivQLError, ValueError):
        return []  # of another version of PrivQL, perhaps
    return [unit.name for unit in catalog.units if fold(unit.name) in theirs]


def _warning(message: str, why: str, help: str) -> Diagnostic:
    return Diagnostic("PQL0747", message, NOWHERE, why=why, help=help, severity="warning")
