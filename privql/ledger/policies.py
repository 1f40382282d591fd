"""What the owner declared, version by version, and which version the data is in. Nothing here is ever deleted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from privql.frozen import frozen
from privql.kernel.cost import check_chargeable, check_delta
from privql.kernel.filters import DEFAULT, Filter
from privql.ledger import chain, notes, remembered, windows
from privql.ledger.amounts import read, read_if, shares_read, shares_written, written, written_if
from privql.ledger.budgets import BudgetRow, GrantRow
from privql.ledger.clock import now
from privql.ledger.errors import LedgerError
from privql.ledger.records import PolicyRecord
from privql.names import fold
from privql.policy.shares import spelled

_RECORD = (
    "SELECT version, text, applied_at, COALESCE(reason, ''), COALESCE(applied_by, '')"
    " FROM policy LEFT JOIN policy_note USING (version)"
)


@frozen
class Policy:
    """One version of the policy. A version never changes once it is applied."""

    record: PolicyRecord
    budgets: dict[str, BudgetRow]  # by folded name
    grants: dict[tuple[str, str], GrantRow]  # by folded budget and analyst
    tables: frozenset[str]  # folded names
    promises: dict[str, Filter]  # by folded budget, once applied
    origin: int = 0  # the first version that differs from it in budgets and grants at most, once applied

    def of_unit(self, unit: str) -> list[BudgetRow]:
        return [budget for budget in self.budgets.values() if fold(budget.unit) == fold(unit)]

    def grant(self, budget: str, analyst: str) -> GrantRow | None:
        return self.grants.get((fold(budget), fold(analyst)))

    def may_use(self, budget: str, analyst: str) -> bool:
        """A policy that grants nothing to anyone is open to everyone; one GRANT closes whatever is not granted."""
        return fold(budget) in self.budgets and (not self.grants or self.grant(budget, analyst) is not None)


def declared(text: str, budgets: Iterable[BudgetRow], grants: Iterable[GrantRow], tables: Iterable[str]) -> Policy:
    """A policy not yet applied. What the ledger relies on is checked here; the rest is the policy room's."""
    by_name: dict[str, BudgetRow] = {}
    for budget in budgets:
        if not budget.name or not budget.unit:
            raise LedgerError("a budget needs a name and a unit")
        if not budget.delta:  # how nothing is split says nothing
            budget = replace(budget, shares=DEFAULT)
        if by_name.setdefault(fold(budget.name), budget) is not budget:
            raise LedgerError(f"budget `{budget.name}` is declared twice")
        epsilons = budget.epsilon, budget.default_epsilon, budget.max_epsilon
        _check(f"budget `{budget.name}`", epsilons, (budget.delta, budget.default_delta))
    by_pair: dict[tuple[str, str], GrantRow] = {}
    for grant in grants:
        if fold(grant.budget) not in by_name:
            raise LedgerError(f"budget `{grant.budget}` is granted but not declared")
        if not grant.analyst:
            raise LedgerError(f"budget `{grant.budget}` is granted to nobody")
        if by_pair.setdefault((fold(grant.budget), fold(grant.analyst)), grant) is not grant:
            raise LedgerError(f"budget `{grant.budget}` is granted to `{grant.analyst}` twice")
        _check(f"the grant of budget `{grant.budget}`", (grant.epsilon,), (grant.delta,))
    return Policy(PolicyRecord(0, text, ""), by_name, by_pair, frozenset(map(fold, tables)), {})


def proposed(budgets: Iterable[BudgetRow], grants: Iterable[GrantRow]) -> Policy:
    """A policy as it would be, had it been the first of its ledger."""
    made = declared("", budgets, grants, ())
    return replace(made, promises={name: row.promise(row.cap, row.order) for name, row in made.budgets.items()})


def _check(whose: str, epsilons: Iterable[Fraction | None], deltas: Iterable[Fraction | None]) -> None:
    try:
        for epsilon in epsilons:
            check_chargeable(epsilon or Fraction(0))
        for delta in deltas:
            check_delta(delta or Fraction(0))
    except ValueError as problem:
        raise LedgerError(f"{whose}: {problem}") from None


def apply(db: sqlite3.Connection, new: Policy) -> int:
    """The version of the new policy: the current one, if nothing differs from it."""
    current = newest(db)
    if current:
        old = load(db, current)
        unchanged = (old.budgets, old.grants, old.tables) == (new.budgets, new.grants, new.tables)
        if unchanged and old.record.text == new.record.text:
            return current
    version = current + 1
    for stray in chain.strays(db, "policy"):  # it would be declared by nobody, and be in force
        raise LedgerError(f"the ledger was tampered with: {stray}")
    db.execute("INSERT INTO policy VALUES (?, ?, ?)", (version, new.record.text, now()))
    db.executemany("INSERT INTO policy_table VALUES (?, ?)", [(version, name) for name in new.tables])
    for row in new.budgets.values():
        amounts = written(row.epsilon), written(row.delta)
        optional = map(written_if, (row.default_epsilon, row.default_delta, row.max_epsilon))
        said = version, row.name, row.unit, *amounts, *optional, row.every
        db.execute("INSERT INTO budget VALUES (?,?,?,?,?,?,?,?,?)", said)
        _divide(db, row)
        windows.begin(db, row, version)
    for grant in new.grants.values():
        limits = written_if(grant.epsilon), written_if(grant.delta)
        db.execute("INSERT INTO budget_grant VALUES (?,?,?,?,?)", (version, grant.budget, grant.analyst, *limits))
    chain.append(db, "policy", version)
    remembered.of(db).forget()
    return version


def _divide(db: sqlite3.Connection, budget: BudgetRow) -> None:
    """The order of one filter is chosen when a budget is first declared, how its δ is split when it first has any.

    Each filter answers for its share of δ over all that the budget ever admits. Were they chosen anew, those before
    would answer for theirs as well.
    """
    name, shares = fold(budget.name), shares_written(budget.shares) if budget.delta else None
    kept = db.execute("SELECT shares FROM budget_filter WHERE name = ?", (name,)).fetchone()
    if kept is None:
        order = written(budget.order)
        db.execute("INSERT INTO budget_filter VALUES (?, ?, ?)", (name, shares, order))
        chain.append(db, "filter", name)
        return
    (before,) = kept
    if shares is not None and before is None:
        db.execute("UPDATE budget_filter SET shares = ? WHERE name = ?", (shares, name))
        chain.append(db, "filter", name)
    elif shares not in (None, before):
        raise LedgerError(
            f"the δ of budget `{budget.name}` was split when it was first declared, and stays so: each way of adding "
            f"up answers for its share of all that was ever charged; write `SHARES ({spelled(shares_read(before))})`"
        )


def newest(db: sqlite3.Connection) -> int:
    """The version in force; 0 before the first."""

    def read() -> int:
        (version,) = db.execute("SELECT MAX(version) FROM policy").fetchone()
        return int(version or 0)

    return remembered.of(db).known(("policy",), read)


def load(db: sqlite3.Connection, version: int) -> Policy:
    record = PolicyRecord(*db.execute(f"{_RECORD} WHERE version = ?", (version,)).fetchone())
    kept = db.execute("SELECT name, shares, renyi_order FROM budget_filter")
    filters = {name: (DEFAULT if said is None else shares_read(said), read(order)) for name, said, order in kept}
    budgets = {}
    rows = db.execute("SELECT * FROM budget WHERE version = ?", (version,))
    for _, name, unit, epsilon, delta, *optional, every in rows:
        default_epsilon, default_delta, max_epsilon = map(read_if, optional)
        shares, _ = filters[fold(name)]
        amounts = read(epsilon), read(delta), default_epsilon, default_delta, max_epsilon
        row = BudgetRow(name, unit, *amounts, shares, every)
        budgets[fold(name)] = row
    grants = {}
    for _, budget, analyst, *limits in db.execute("SELECT * FROM budget_grant WHERE version = ?", (version,)):
        grants[fold(budget), fold(analyst)] = GrantRow(budget, analyst, *map(read_if, limits))
    tables = db.execute("SELECT name FROM policy_table WHERE version = ?", (version,))
    promises = {name: row.promise(row.cap, filters[name][1]) for name, row in budgets.items()}
    known = frozenset(name for (name,) in tables)
    return Policy(record, budgets, grants, known, promises, notes.origin(db, version))


def history(db: sqlite3.Connection) -> tuple[PolicyRecord, ...]:
    return tuple(PolicyRecord(*row) for row in db.execute(f"{_RECORD} ORDER BY version"))


def refresh(db: sqlite3.Connection, policy: Policy, table: str, label: str) -> None:
    """The owner states that the data changed. The same label again is the same version: a policy may be run twice."""
    _known(policy, [table])
    query = "SELECT counter, label FROM data_version WHERE name = ? ORDER BY counter DESC LIMIT 1"
    counter, last = db.execute(query, (fold(table),)).fetchone() or (0, None)
    if label != last:
        db.execute("INSERT INTO data_version VALUES (?, ?, ?, ?)", (fold(table), counter + 1, label, now()))
        chain.append(db, "refresh", fold(table), counter + 1)
        remembered.of(db).forget()


def data_version(db: sqlite3.Connection, policy: Policy, tables: Iterable[str]) -> str:
    """Counters only: a hash of the content would tell two candidate databases apart."""
    wanted = tuple(tables)

    def read() -> str:
        counters: dict[str, int] = {}
        query = "SELECT MAX(counter) FROM data_version WHERE name = ?"
        for name in sorted(_known(policy, wanted)):
            (counter,) = db.execute(query, (name,)).fetchone()
            counters[name] = counter or 0
        return json.dumps(counters)

    return remembered.of(db).known(("data", policy.record.version, *wanted), read)


def _known(policy: Policy, tables: Iterable[str]) -> set[str]:
    names = {fold(table): table for table in tables}
    for name, table in names.items():
        if name not in policy.tables:
            raise LedgerError(f"the policy has no table `{table}`")
    return set(names)
