"""The owner's word meets the data and the ledger: what a policy claims is verified, then it is in force.

Only this creates a ledger, and every version stays in it. Nothing here is an analyst's: that a key is broken is a
fact about the data, told to its owner alone, and never with a value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from privql.diagnostics import NOWHERE, Diagnostic, Source, refuse
from privql.engines.interface import Engine, EngineError
from privql.engines.interface import Source as Rows
from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.ledger import NO_NOTE, Ledger, LedgerError, Note
from privql.names import fold
from privql.pipeline.policies import (
    OwnersLog,
    bindings,
    declared,
    engines,
    leads,
    meaning,
    read_policy,
    stored_text,
)
from privql.pipeline.verify import Watch, unwatched, verify, without_values
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog
from privql.policy.findings import Findings, accepted
from privql.syntax import quote


@frozen
class AppliedPolicy:
    """The version now in force, what its owner may want to reconsider, and what units have lost so far.

    A unit or a budget of another name starts anew, so its owner is shown what stands under the old ones.
    """

    version: int
    warnings: tuple[Diagnostic, ...]
    lost: Mapping[str, Cost]

    def __str__(self) -> str:
        out = [*map(str, self.warnings), f"version {self.version} of the policy is in force"]
        if self.lost:
            out[-1] += "\nlost so far: " + "; ".join(f"{unit} {cost}" for unit, cost in self.lost.items())
        return "\n\n".join(out)

    def to_json(self) -> dict[str, Any]:
        lost = {unit: {"epsilon": str(cost.epsilon), "delta": str(cost.delta)} for unit, cost in self.lost.items()}
        return {"version": self.version, "warnings": [each.to_json() for each in self.warnings], "lost": lost}


def apply_policy(
    policy: str | Path,
    ledger: str | Path,
    frames: Mapping[str, object] | None = None,
    *,
    reason: str = "",
    by: str = "",
    connections: Mapping[str, object] | str | os.PathLike[str] | None = None,
    watch: Watch = unwatched,
) -> AppliedPolicy:
    """Read, verify on the data, and put in force; a PrivQLError says all that stands against it.

    `reason`: why less may be protected than before, where it is; `by`: who applies it. The ledger keeps both. `watch`:
    who is shown how far the reading of a table is.
    """
    from privql.pipeline.other_ledgers import other_ledgers
    from privql.pipeline.versions import compared_at, complained

    source, base = read_policy(policy)
    catalog, found = build_catalog(source)
    accepted(catalog, found)
    diff = compared_at(ledger, catalog)
    if not reason.strip():
        accepted(catalog, complained(diff, source))
    leading = leads(connections, base)
    bound = bindings(catalog, base, frames, leading)
    files = {table: fingerprint(rows) for table, rows in bound.items()}  # before the data is read: it may change after
    log = OwnersLog()
    engine = engines(catalog, bound, leading, log)
    try:
        found += verify(catalog, engine, source, bound, log, watch)
        if not any(each.severity == "error" for each in found):
            found += _never_as_declared(catalog, engine, source, bound, watch)
    finally:
        engine.close()
    accepted(catalog, found)
    try:
        with Ledger.create(ledger) as opened:
            found += other_ledgers(ledger, opened, catalog, base)
            note = Note(reason.strip(), by, meaning(source, base))
            version = put_policy(opened, catalog, source, base, note, diff.version)
            unstated = _unstated(opened, files, catalog, diff.before)
            found += unstated.values()
            divided = _dividing(catalog)
            for table, told in files.items():
                if told is not None and not (table in unstated and table in divided):
                    opened.mark_verified(table, told)
            return AppliedPolicy(version, tuple(found), opened.losses())
    except LedgerError as problem:
        raise refuse("PQL0510", str(problem), NOWHERE) from None


def fingerprint(rows: Rows) -> str | None:
    """When and how long the files of a table are; None for a frame or a server. It says only whether to verify again.

    With the time of the last change to the file itself: a copy that keeps length and date is told apart by it.
    """
    from privql.engines.duckdb.sources import paths

    if not rows.files:
        return None
    found = []
    beside = (
        [f"{path}.wal" for path in paths(rows)] if rows.inside else []
    )  # of a database: what is not yet in its file
    for path in [*paths(rows), *filter(os.path.exists, beside)]:
        told = os.stat(path)
        found.append([path, told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_ino])
    return json.dumps(found)


def _unstated(
    ledger: Ledger, files: Mapping[str, str | None], catalog: Catalog, before: Catalog
) -> dict[str, Diagnostic]:
    """Tables whose files changed since they were verified, and of which no new REFRESH says so."""
    labels, known, divided = dict(catalog.refreshed), dict(before.refreshed), _dividing(catalog)
    alone = ", and one that reads single parts is charged to all units, who may be in others now"
    return {
        table: Diagnostic(
            "PQL0748",
            f"the files of `{table}` changed since they were verified",
            NOWHERE,
            why="while nothing states it, a query that was answered before gets its old answer"
            + (alone if table in divided else ""),
            help=f"if the data changed, write `REFRESH {quote(table)} AS '…';`",
            severity="warning",
        )
        for table, told in files.items()
        if told is not None and ledger.verified(table) not in (None, told) and labels.get(table) == known.get(table)
    }


def _dividing(catalog: Catalog) -> frozenset[str]:
    """On whose data it depends in which part a unit is."""
    divided = [table.name for table in catalog.tables if table.parts_by is not None]
    return frozenset(divided).union(*map(catalog.reached, divided))


def put_policy(
    ledger: Ledger, catalog: Catalog, source: Source, base: Path, note: Note = NO_NOTE, after: int | None = None
) -> int:
    """The version in force afterwards: a new one if anything changed. The data is the version REFRESH states last."""
    tables = [table.name for table in catalog.tables]
    version = ledger.apply_policy(stored_text(source, base), *declared(catalog), tables, note, after)
    for table, label in dict(catalog.refreshed).items():
        ledger.refresh(table, label)
    return version


def _never_as_declared(
    catalog: Catalog, engine: Engine, source: Source, bound: Collection[str], watch: Watch
) -> list[Diagnostic]:
    """A warning: a column that nothing was written into yet looks the same. So a look that fails refuses nothing."""
    found, with_data = Findings(source), {fold(name) for name in bound}
    for table in catalog.tables:
        if fold(table.name) not in with_data:
            continue
        with suppress(EngineError):
            for column in without_values(table, engine, watch):
                found.warning(
                    "PQL0751",
                    f"`{table.name}` holds no {column.type} in `{column.name}`",
                    found.name(column.span, column.name),
                    why="read as declared it is NULL in every row",
                    help="declare the type that the data has, or cast it there",
                )
    return found.diagnostics
