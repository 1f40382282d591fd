"""The ledger as the rest of the house uses it: each method is one transaction."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import TracebackType
from typing import Self, TypeVar

from privql.kernel import events as mechanisms
from privql.kernel import losses
from privql.kernel.cost import Cost
from privql.kernel.events import Events
from privql.kernel.parallel import InParts
from privql.ledger import (
    accounts,
    audit,
    chain,
    charges,
    entries,
    forgetting,
    incidents,
    naming,
    notes,
    parts,
    plans,
    policies,
    refining,
    spendings,
    standing,
)
from privql.ledger.anchors import Anchor
from privql.ledger.asked import asked as weighed
from privql.ledger.budgets import BudgetRow, BudgetState, GrantRow
from privql.ledger.chain import Link
from privql.ledger.errors import LedgerError, StalePolicy
from privql.ledger.files import FileStore
from privql.ledger.policies import Policy
from privql.ledger.records import (
    NO_NOTE,
    Draw,
    Entry,
    Note,
    Permit,
    PlanEntry,
    PlanRequest,
    PolicyRecord,
    Prepaid,
    Replay,
    Request,
    Standing,
    StoredRelease,
)
from privql.ledger.spendings import Spending
from privql.ledger.store import Store, on_server
from privql.names import fold

_Asked = TypeVar("_Asked", Request, PlanRequest)

PATIENCE = 30.0  # seconds to wait for other processes


class Ledger:
    """Made by `Ledger.create` (the owner's apply, or a scratch session) and `Ledger.open` (everyone else)."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._policies: dict[int, Policy] = {}  # a version never changes once it is committed

    @classmethod
    def create(cls, path: str | os.PathLike[str], patience: float = PATIENCE) -> Self:
        """A new ledger, or the one that is there. `:memory:` is a scratch ledger that ends with the process."""
        return cls(_store(path, True, patience))

    @classmethod
    def open(cls, path: str | os.PathLike[str], patience: float = PATIENCE) -> Self:
        """The ledger that is there; only its owner creates one."""
        return cls(_store(path, False, patience))

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The owner's side

    def apply_policy(
        self,
        text: str,
        budgets: Iterable[BudgetRow],
        grants: Iterable[GrantRow],
        tables: Iterable[str],
        note: Note = NO_NOTE,
        after: int | None = None,
    ) -> int:
        """A new version, or the current one if nothing changes. What was spent stays spent, by unit and by budget.

        `after`: the version that the new one was compared with; no other may have come between.
        """
        new = policies.declared(text, budgets, grants, tables)
        with self._store.transaction() as db:
            if after is not None and policies.newest(db) != after:
                raise LedgerError("another version of the policy was applied meanwhile: look at it, and apply again")
            version = policies.apply(db, new)
            notes.write(db, version, note, self._store.path)
            return version

    @property
    def ledger_id(self) -> str:
        return self._store.ledger_id

    def place(self) -> str | None:
        """Where the ledger was when the version in force was applied."""
        with self._store.transaction("DEFERRED") as db:
            query = "SELECT place FROM policy_note WHERE version = ?"
            row = db.execute(query, (policies.newest(db),)).fetchone()
        return None if row is None else str(*row)

    def refresh(self, table: str, label: str) -> None:
        """REFRESH table AS label: the data changed, so answers are no longer repeated for nothing. Budgets stay."""
        with self._store.transaction() as db:
            policies.refresh(db, self._current(db), table, label)

    def mark_verified(self, table: str, files: str) -> None:
        """The owner held the policy's word against these files of the table."""
        with self._store.transaction() as db:
            db.execute(
                "INSERT INTO verified VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET files = excluded.files",
                (fold(table), files),
            )

    def verified(self, table: str) -> str | None:
        with self._store.transaction("DEFERRED") as db:
            row = db.execute("SELECT files FROM verified WHERE name = ?", (fold(table),)).fetchone()
        return None if row is None else str(*row)

    def allow_resume(self, *release_ids: str) -> None:
        """The owner has looked at charges that failed, or have no answer: they may be resumed, and count no more."""
        with self._store.transaction() as db:
            for release_id in release_ids:
                charges.allow_resume(db, release_id)

    def forget(
        self, release_id: str | None = None, *, analyst: str | None = None, before: str | None = None, by: str = ""
    ) -> tuple[str, ...]:
        """Erase the texts, answers and noisy numbers of a release, of an analyst's, or of those before a date (of what
        fits all that is said). The charges stay charged, and the chain verifies. Returns what was forgotten now."""
        with self._store.transaction() as db:
            number = None if release_id is None else naming.charge_number(release_id)
            if release_id is not None and (number is None or entries.entry(db, release_id) is None):
                raise LedgerError(
                    f"there is no release `{release_id}`: it is written as `r7`, and names are their analysts'"
                )
            gone = forgetting.forget(db, number, analyst, before, by)
        self._store.sweep()
        return gone

    def failed(self, permit: Permit, words: str) -> str | None:
        """What was begun under a charge failed. It counts, and the owner finds the words under the number returned."""
        self._own(permit)
        number = incidents.noted(self._store.path, permit.release_id, permit.analyst, words) if self._in_file else None
        with self._store.transaction() as db:
            charges.failed(db, permit)
        return number

    def incidents(self) -> tuple[incidents.Incident, ...]:
        """The owner's: what failed, and how."""
        return incidents.read(self._store.path) if self._in_file else ()

    @property
    def _in_file(self) -> bool:
        return not (self._store.memory or on_server(self._store.path))

    # A query's way through

    def prepay(self, requests: Sequence[PlanRequest]) -> tuple[Prepaid, ...]:
        """Charge queries whose prices are fixed as one, before any of them runs; or find that they were.

        Of several plans all are charged, or none.
        """

        def charge(db: sqlite3.Connection) -> tuple[Prepaid, ...]:
            policy = self._current(db)
            return tuple(plans.prepay(db, policy, self._still_meant(db, policy, one)) for one in requests)

        return self._store.at_once(charge)

    def find_plan(self, request: PlanRequest) -> Prepaid | None:
        """The same plan, if it was charged before."""
        with self._store.transaction("DEFERRED") as db:
            policy = self._current(db)
            return plans.find(db, policy, self._still_meant(db, policy, request))

    def stand(self, name: str, request: PlanRequest, hours: int, epsilon: Fraction) -> Standing:
        """Charge all runs of a query that is asked again and again, each so many hours after the one before it began
        and for this ε; or find that they were charged."""
        with self._store.transaction() as db:
            policy = self._current(db)
            return standing.stand(db, policy, name, self._still_meant(db, policy, request), hours, epsilon)

    def turn(self, name: str, request: PlanRequest) -> Standing | None:
        """How far a standing release is, if it was charged; NoMoreRuns where it has ended."""
        with self._store.transaction("DEFERRED") as db:
            policy = self._current(db)
            return standing.turn(db, policy, name, self._still_meant(db, policy, request))

    def standing(self, analyst: str) -> tuple[Standing, ...]:
        """The analyst's standing releases, oldest first."""
        with self._store.transaction("DEFERRED") as db:
            return standing.listed(db, analyst)

    def reserve(self, request: Request, prepaid: Prepaid | None = None, slot: int = 0) -> Permit | Replay:
        """Charge the query before it reads any private row, or find its answer; OverBudget if nobody can pay.

        A query of a plan takes the slot that was paid for it.
        """
        place = None if prepaid is None else (prepaid, slot)

        def charge(db: sqlite3.Connection) -> Permit | Replay:
            policy = self._current(db)
            asked = self._still_meant(db, policy, request)
            if asked.refines is not None:
                refining.check(db, policy, weighed(db, policy, asked), asked.refines)
            return charges.reserve(db, self._store.ledger_id, policy, asked, place)

        return self._store.at_once(charge)

    def find(self, request: Request) -> str | None:
        """Which release `reserve` would give back for nothing, if there is one."""
        with self._store.transaction("DEFERRED") as db:
            policy = self._current(db)
            return charges.find(db, policy, self._still_meant(db, policy, request))

    def keep(self, analyst: str, name: str, query: str, answer: bytes) -> StoredRelease:
        """Name an answer that cost nothing. A name never moves: another answer of that name is refused."""
        with self._store.transaction() as db:
            return naming.keep(db, self._current(db), analyst, name, query, answer)

    def kept(self, analyst: str, name: str, query: str) -> StoredRelease | None:
        """What `keep` would give back; NameTaken if the name is another release's."""
        with self._store.transaction("DEFERRED") as db:
            return naming.kept(db, analyst, name, query)

    def drawn(self, permit: Permit) -> tuple[Draw, ...]:
        """The steps that an earlier attempt under this charge has drawn."""
        self._own(permit)
        with self._store.transaction("DEFERRED") as db:
            forgetting.still_there(db, permit.release_id)
            return charges.drawn(db, permit.release_id)

    def draw(self, permit: Permit, step: int, spent: Mapping[str, Events], noisy: bytes) -> bytes:
        """Keep a step's noisy numbers before anything is made of them. Only what this returns may be used."""
        self._own(permit)
        with self._store.transaction() as db:
            forgetting.still_there(db, permit.release_id)
            return charges.draw(db, permit, step, spent, noisy)

    def release(self, permit: Permit, answer: bytes) -> StoredRelease:
        """Store the answer before anyone sees it. Only what this returns may be shown, never the draw itself."""
        self._own(permit)
        if type(answer) is not bytes:
            raise LedgerError("an answer is stored as bytes")
        with self._store.transaction() as db:
            forgetting.still_there(db, permit.release_id)
            return charges.release(db, permit, answer)

    # Reading

    def policy(self) -> PolicyRecord:
        with self._store.transaction("DEFERRED") as db:
            return self._current(db).record

    def policy_history(self) -> tuple[PolicyRecord, ...]:
        with self._store.transaction("DEFERRED") as db:
            return policies.history(db)

    def charged_again(self, meaning: str) -> bool:
        """Whether something that was answered costs again once a policy of this meaning is in force."""
        with self._store.transaction("DEFERRED") as db:
            return notes.charged_again(db, policies.newest(db), meaning)

    def means_the_same(self, version: int, other: int) -> bool:
        """Whether an answer that was given under one version of the policy is the other's."""
        with self._store.transaction("DEFERRED") as db:
            return notes.origin(db, version) == notes.origin(db, other)

    def data_version(self, tables: Iterable[str]) -> str:
        with self._store.transaction("DEFERRED") as db:
            return policies.data_version(db, self._current(db), tables)

    def budgets_for(self, analyst: str, unit: str, where: Sequence[InParts] = ()) -> list[BudgetState]:
        """The budgets for the unit that the analyst may use; the first that can pay is the one that pays. With what
        was lost in these parts."""
        with self._store.transaction("DEFERRED") as db:
            return accounts.usable(db, self._current(db), analyst, unit, where)

    def located(self, request: Request) -> dict[str, InParts]:
        """By unit, the parts to which `reserve` would charge it."""
        with self._store.transaction("DEFERRED") as db:
            return parts.by_unit(db, self._current(db), request.policy_version, request.parts)

    def budget_report(self, analyst: str | None = None) -> tuple[BudgetState, ...]:
        """Every budget the analyst may use, or (None, for the owner) every budget there is."""
        with self._store.transaction("DEFERRED") as db:
            policy = self._current(db)
            return tuple(
                accounts.reported(db, policy, accounts.stands(db, policy, budget, analyst))
                for budget in policy.budgets.values()
                if analyst is None or policy.may_use(budget.name, analyst)
            )

    def losses(self) -> dict[str, Cost]:
        """What each unit lost in all, under every name that a unit ever had."""
        with self._store.transaction("DEFERRED") as db:
            rows = db.execute("SELECT unit, loss FROM total WHERE budget = '' AND analyst = '' ORDER BY unit")
            return {unit: losses.read(loss).cost for unit, loss in rows.fetchall()}

    def spent(self, unit: str, budget: str | None = None, analyst: str | None = None) -> Cost:
        """What the unit lost, ever: in all, in one budget, by one analyst, or by one analyst in one budget."""
        query = "SELECT budget, loss FROM total WHERE unit = ? AND analyst = ?"
        with self._store.transaction("DEFERRED") as db:
            rows = db.execute(query, (fold(unit), fold(analyst or ""))).fetchall()
        every = analyst is not None and budget is None
        wanted = [loss for of, loss in rows if every or of == fold(budget or "")]
        return sum((losses.read(loss).cost for loss in wanted), Cost())

    def last(self, analyst: str, budget: str) -> Events:
        """What a unit met by the analyst's last query from a budget: how many like it are left is what people ask."""
        query = "SELECT events FROM charge_line JOIN charge ON id = charge WHERE analyst = ? AND budget = ?"
        with self._store.transaction("DEFERRED") as db:
            ever = "SELECT 1 FROM total WHERE budget = ? AND analyst = ?"
            if db.execute(ever, (fold(budget), fold(analyst))).fetchone() is None:
                return ()  # without a look at all that the analyst asked of others
            row = db.execute(f"{query} ORDER BY id DESC LIMIT 1", (fold(analyst), budget)).fetchone()
        return () if row is None else mechanisms.read(*row)

    def get_release(self, analyst: str, release_id: str) -> StoredRelease | None:
        """The answer, if there is one that this analyst may see."""
        with self._store.transaction("DEFERRED") as db:
            return charges.seen(db, self._current(db), analyst, release_id)

    def release_named(self, analyst: str, name: str) -> StoredRelease | None:
        with self._store.transaction("DEFERRED") as db:
            release = naming.named(db, analyst, name)
            return None if release is None else charges.seen(db, self._current(db), analyst, release)

    def earlier(self, analyst: str, name: str, id_alone: bool = False) -> Entry | None:
        """A release that this analyst may see, by its name or number; NotRefined if none can be merged with it."""
        with self._store.transaction("DEFERRED") as db:
            return refining.earlier(db, self._current(db), analyst, name, id_alone)

    def is_same(self, request: Request, release_id: str) -> bool:
        """Whether the release is the answer of this very query."""
        with self._store.transaction("DEFERRED") as db:
            policy = self._current(db)
            return refining.same(weighed(db, policy, self._still_meant(db, policy, request)), db, release_id)

    def noisy(self, analyst: str, release_id: str) -> bytes:
        """What a release measured, for those who may see it."""
        with self._store.transaction("DEFERRED") as db:
            return refining.noisy(db, self._current(db), analyst, release_id)

    def release_names(self, analyst: str) -> tuple[str, ...]:
        """What the analyst's releases are called, oldest first."""
        with self._store.transaction("DEFERRED") as db:
            return naming.names(db, analyst)

    def releases(self, analyst: str) -> tuple[Entry, ...]:
        """What the analyst has been answered, oldest first."""
        with self._store.transaction("DEFERRED") as db:
            return tuple(entries.released_to(db, analyst))

    def entry(self, release_id: str) -> Entry | None:
        with self._store.transaction("DEFERRED") as db:
            return entries.entry(db, release_id)

    def history(self) -> tuple[Entry, ...]:
        """Every charge, for the owner and the auditor."""
        with self._store.transaction("DEFERRED") as db:
            return tuple(entries.all_entries(db))

    def charged(self) -> tuple[Entry | PlanEntry, ...]:
        """Every charge and every plan, in the order in which they were charged."""
        with self._store.transaction("DEFERRED") as db:
            return tuple(entries.charged(db))

    def spendings(self) -> tuple[Spending, ...]:
        """What was charged: queries by themselves, and plans, each at its turn."""
        with self._store.transaction("DEFERRED") as db:
            return tuple(spendings.spendings(db))

    def chain(self) -> tuple[Link, ...]:
        """Every entry, with what of its texts is still there."""
        with self._store.transaction("DEFERRED") as db:
            return tuple(chain.links(db))

    def anchor(self) -> Anchor:
        """Where the chain is now, to be kept where whoever writes the ledger cannot reach it."""
        with self._store.transaction("DEFERRED") as db:
            return chain.anchor(db, self._store.ledger_id)

    def verify(self, anchors: Iterable[Anchor] = ()) -> tuple[str, ...]:
        """What is wrong, a sentence each: the chain and what it covers, every sum and every admission."""
        with self._store.transaction("DEFERRED") as db:
            return audit.verify(db, self._store.ledger_id, tuple(anchors), self._store.damage(db))

    def _own(self, permit: Permit) -> None:
        if type(permit) is not Permit or permit.ledger_id != self._store.ledger_id:
            raise LedgerError("a release needs the permit that this ledger gave")

    def _still_meant(self, db: sqlite3.Connection, policy: Policy, request: _Asked) -> _Asked:
        """The request under the version in force, if that differs in budgets and grants at most from its own."""
        was, version = request.policy_version, policy.record.version
        if was == version:
            return request
        if notes.origin(db, was) != policy.origin:
            raise StalePolicy(
                f"the query was checked against version {was} of the policy, and version {version} is in force, "
                "which changes more than budgets and grants: connect again and check it anew; nothing was charged"
            )
        return replace(request, policy_version=version)

    def _current(self, db: sqlite3.Connection) -> Policy:
        version = policies.newest(db)
        if not version:
            raise LedgerError("this ledger has no policy yet: its owner applies one with `privql policy apply`")
        if version not in self._policies:
            self._policies[version] = policies.load(db, version)
        return self._policies[version]


def _store(path: str | os.PathLike[str], create: bool, patience: float) -> Store:
    if on_server(path):
        from privql.ledger.postgres import PostgresStore  # a file needs no server

        return PostgresStore(os.fspath(path), create=create, patience=patience)
    return FileStore(path, create=create, patience=patience)
