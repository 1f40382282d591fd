"""The versions of a policy that a ledger keeps: what each changed for the loss of a unit, and what another would."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from privql.diagnostics import NOWHERE, Diagnostic, Source, refuse
from privql.frozen import frozen
from privql.ledger import Ledger, LedgerError, NoLedger, PolicyRecord, on_server
from privql.names import fold
from privql.pipeline.policies import meaning, read_policy, read_record
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog, Column, Table
from privql.policy.change import Change
from privql.policy.changes import changes
from privql.policy.findings import Findings, accepted


@frozen
class PolicyDiff:
    """What a policy would change. `version` and `before`: the one in force, 0 and nothing before the first."""

    version: int
    changes: tuple[Change, ...]
    before: Catalog = Catalog()
    charged_again: bool = False  # whether something that was answered is another question under it

    @property
    def unreasoned(self) -> tuple[Change, ...]:
        """What is weaker, and does not say why."""
        return tuple(each for each in self.changes if each.effect == "weaker" and not each.reason)

    def __str__(self) -> str:
        if not self.version:
            return "this would be the first policy of the ledger"
        again = ["what was answered under other declarations is another question: asked again, it is charged again"]
        again = again if self.charged_again else []
        if not self.changes:
            nothing = f"this changes nothing for the loss: it declares what version {self.version} does"
            return "\n".join([nothing, *again])
        count = len(self.unreasoned)
        told = f"{count} of these needs" if count == 1 else f"{count} of these need"
        need = [f"{told} a reason: `privql policy apply … --reason '…'`"] if count else []
        return "\n".join([*map(str, self.changes), *again, *need])

    def to_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "accepted": not self.unreasoned,
            "charged_again": self.charged_again,
            "changes": [as_json(each) for each in self.changes],
        }


@frozen
class PolicyHistory:
    """Every version, and what it changed."""

    versions: tuple[tuple[PolicyRecord, tuple[Change, ...]], ...]

    def __str__(self) -> str:
        out = []
        for record, changed in self.versions:
            by = f", by {record.applied_by}" if record.applied_by else ""
            reason = [f"reason: {record.reason}"] if record.reason else []
            what = [str(each) for each in changed] or ["the first" if record.version == 1 else "nothing for the loss"]
            told = "\n".join([*reason, *what]).replace("\n", "\n  ")
            out.append(f"version {record.version}, {record.applied_at}{by}\n  {told}")
        return "\n".join(out)

    def to_json(self) -> dict[str, Any]:
        return {
            "versions": [
                {
                    "version": record.version,
                    "applied_at": record.applied_at,
                    "applied_by": record.applied_by,
                    "reason": record.reason,
                    "changes": [as_json(each) for each in changed],
                }
                for record, changed in self.versions
            ]
        }


def as_json(change: Change) -> dict[str, str]:
    return {"effect": change.effect, "what": change.what, "why": change.why, "reason": change.reason}


def policy_diff(policy: str | Path, ledger: str | Path) -> PolicyDiff:
    source, base = read_policy(policy)
    catalog = accepted(*build_catalog(source))
    with opened(ledger) as found:
        diff = compared(found, catalog)
        return replace(diff, charged_again=diff.version > 0 and found.charged_again(meaning(source, base)))


def compared(ledger: Ledger, catalog: Catalog) -> PolicyDiff:
    """What this policy would change in a ledger that has some, or none yet."""
    records = ledger.policy_history()

    def named(table: Table, column: Column) -> int:
        word = re.compile(rf"\b{re.escape(column.name)}\b", re.IGNORECASE)
        read = [each for each in ledger.history() if each.state == "released" and each.data_version]
        return sum(fold(table.name) in json.loads(each.data_version) and bool(word.search(each.query)) for each in read)

    if not records:
        return PolicyDiff(0, ())
    versions = [read_record(each)[0] for each in records]
    return PolicyDiff(records[-1].version, changes(versions, catalog, named), versions[-1])


def compared_at(ledger: str | Path, catalog: Catalog) -> PolicyDiff:
    """The same where the ledger may have to be made first."""
    if not _there(ledger):
        return PolicyDiff(0, ())
    with opened(ledger) as found:
        return compared(found, catalog)


def _there(ledger: str | Path) -> bool:
    if on_server(ledger):
        try:
            Ledger.open(ledger).close()
        except NoLedger:
            return False
        except LedgerError:
            pass  # what is wrong is said when it is used
        return True
    path = Path(ledger)
    return path.exists() and not (path.is_file() and not path.stat().st_size)


def policy_history(ledger: str | Path) -> PolicyHistory:
    with opened(ledger) as found:
        records = found.policy_history()
    catalogs = [read_record(each)[0] for each in records]
    told = [changes(catalogs[:at], catalog) for at, catalog in enumerate(catalogs)]
    return PolicyHistory(tuple(zip(records, told, strict=True)))


def policy_text(ledger: str | Path, version: int | None = None) -> PolicyRecord:
    """A version of the policy as it was written; without a number the one in force."""
    with opened(ledger) as found:
        records = found.policy_history()
    wanted = [each for each in records if version in (None, each.version)]
    if not wanted:
        help = f"the last is {len(records)}"
        raise refuse("PQL0511", f"there is no version {version} of the policy", NOWHERE, help=help)
    return replace(wanted[-1], text=read_record(wanted[-1])[1].text)


@contextmanager
def opened(ledger: str | Path) -> Iterator[Ledger]:
    """What it refuses while it is open is a diagnostic."""
    try:
        with Ledger.open(ledger) as found:
            yield found
    except LedgerError as problem:
        raise refuse("PQL0510", str(problem), NOWHERE) from None


def complained(diff: PolicyDiff, source: Source) -> list[Diagnostic]:
    """Each weaker protection that nobody gave a reason for."""
    found = Findings(source)
    for change in diff.unreasoned:
        found.error(
            "PQL0746",
            change.what,
            change.span,
            why=change.why,
            help="say why it may be: `--reason '…'`; or leave it as it was",
        )
    return found.diagnostics
