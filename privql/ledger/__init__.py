"""Where budget is spent, and never lost.

`Ledger.reserve` charges a query before any private row is read, `Ledger.release` stores its answer before anyone sees
it. Both are single durable transactions; between them stands a `Permit`, the one thing that lets noise be drawn.
"""

from privql.ledger.accounts import fullest_first
from privql.ledger.chain import Anchor, read_anchors
from privql.ledger.errors import (
    Forgotten,
    LedgerError,
    NameTaken,
    NoLedger,
    OverBudget,
    Reason,
    StalePolicy,
    TooManyResumes,
    WaitsForOwner,
)
from privql.ledger.ledger import Ledger
from privql.ledger.plans import PlanEntry, bill
from privql.ledger.records import (
    NO_NOTE,
    BudgetRow,
    BudgetState,
    ChargeLine,
    Draw,
    Entry,
    GrantRow,
    Note,
    Permit,
    PlanRequest,
    PolicyRecord,
    Prepaid,
    Replay,
    Request,
    StoredRelease,
)
from privql.ledger.spendings import Spending, SpendingLine
from privql.ledger.store import on_server

__all__ = [
    "NO_NOTE",
    "Anchor",
    "BudgetRow",
    "BudgetState",
    "ChargeLine",
    "Draw",
    "Entry",
    "Forgotten",
    "GrantRow",
    "Ledger",
    "LedgerError",
    "NameTaken",
    "NoLedger",
    "Note",
    "OverBudget",
    "Permit",
    "PlanEntry",
    "PlanRequest",
    "PolicyRecord",
    "Prepaid",
    "Reason",
    "Replay",
    "Request",
    "Spending",
    "SpendingLine",
    "StalePolicy",
    "StoredRelease",
    "TooManyResumes",
    "WaitsForOwner",
    "bill",
    "fullest_first",
    "on_server",
    "read_anchors",
]
