"""Where budget is spent, and never lost.

`Ledger.reserve` charges a query before any private row is read, `Ledger.release` stores its answer before anyone sees
it. Both are single durable transactions; between them stands a `Permit`, the one thing that lets noise be drawn.
"""

from privql.ledger.accounts import fullest_first
from privql.ledger.anchors import Anchor, read_anchors
from privql.ledger.budgets import BudgetRow, BudgetState, GrantRow
from privql.ledger.errors import (
    Forgotten,
    LedgerError,
    NameTaken,
    NoLedger,
    NoMoreRuns,
    NotRefined,
    OverBudget,
    Reason,
    StalePolicy,
    TooManyResumes,
    WaitsForOwner,
)
from privql.ledger.incidents import Incident
from privql.ledger.ledger import Ledger
from privql.ledger.parts import column_of, inside
from privql.ledger.plans import bill, place_of
from privql.ledger.records import (
    NO_NOTE,
    ChargeLine,
    Draw,
    Entry,
    Note,
    PartsAsked,
    Permit,
    PlanEntry,
    PlanLine,
    PlanRequest,
    PolicyRecord,
    Prepaid,
    Replay,
    Request,
    Standing,
    StoredRelease,
)
from privql.ledger.spendings import Spending, Tally
from privql.ledger.standing import run_name
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
    "Incident",
    "Ledger",
    "LedgerError",
    "NameTaken",
    "NoLedger",
    "NoMoreRuns",
    "NotRefined",
    "Note",
    "OverBudget",
    "PartsAsked",
    "Permit",
    "PlanEntry",
    "PlanLine",
    "PlanRequest",
    "PolicyRecord",
    "Prepaid",
    "Reason",
    "Replay",
    "Request",
    "Spending",
    "StalePolicy",
    "Standing",
    "StoredRelease",
    "Tally",
    "TooManyResumes",
    "WaitsForOwner",
    "bill",
    "column_of",
    "fullest_first",
    "inside",
    "on_server",
    "place_of",
    "read_anchors",
    "run_name",
]
