"""The tables of a ledger, and how values are written in them.

Amounts are text, `n/d`; names by which rows are found are folded; times are informational, but
for those that `clock.py` names.
`total` is what has been charged so far - by unit (budget and analyst empty), by unit and budget, and by unit, budget
and analyst, a budget's in each of its windows - kept in the transaction of each charge, so that admission reads a few
rows however long the history is. Of what was charged to single parts, `part_total` keeps what each has lost and
`part_greatest` the two greatest; what a `total` says is true of the units of any part.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from privql.ledger.moved import on_events

APPLICATION_ID = 0x5051_4C31  # marks the SQLite file as a ledger

Move = Callable[[sqlite3.Connection], None]  # of what no statement can carry over

_FIRST = (
    "CREATE TABLE ledger (id TEXT NOT NULL, created_at TEXT NOT NULL)",
    "CREATE TABLE policy (version INTEGER PRIMARY KEY, text TEXT NOT NULL, applied_at TEXT NOT NULL)",
    """CREATE TABLE policy_table (
        version INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (version, name)) WITHOUT ROWID""",
    """CREATE TABLE budget (
        version INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
        default_epsilon TEXT, default_delta TEXT, max_epsilon TEXT, PRIMARY KEY (version, name)) WITHOUT ROWID""",
    """CREATE TABLE budget_grant (
        version INTEGER NOT NULL, budget TEXT NOT NULL, analyst TEXT NOT NULL, epsilon TEXT, delta TEXT,
        PRIMARY KEY (version, budget, analyst)) WITHOUT ROWID""",
    """CREATE TABLE data_version (
        name TEXT NOT NULL, counter INTEGER NOT NULL, label TEXT NOT NULL, stated_at TEXT NOT NULL,
        PRIMARY KEY (name, counter)) WITHOUT ROWID""",
    "CREATE TABLE verified (name TEXT PRIMARY KEY, files TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE charge (
        id INTEGER PRIMARY KEY, identity BLOB NOT NULL, analyst TEXT NOT NULL,
        query TEXT NOT NULL, parameters TEXT NOT NULL, policy_version INTEGER NOT NULL REFERENCES policy,
        data_version TEXT NOT NULL, measurements TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('reserved', 'released')), resumes INTEGER NOT NULL,
        reserved_at TEXT NOT NULL, released_at TEXT, drawn BLOB, answer BLOB,
        CHECK ((state = 'released') = (answer IS NOT NULL)))""",
    "CREATE INDEX charge_identity ON charge (identity)",
    """CREATE TABLE charge_line (
        charge INTEGER NOT NULL REFERENCES charge, unit TEXT NOT NULL, budget TEXT NOT NULL,
        epsilon TEXT NOT NULL, delta TEXT NOT NULL, PRIMARY KEY (charge, unit)) WITHOUT ROWID""",
    """CREATE TABLE total (
        unit TEXT NOT NULL, budget TEXT NOT NULL, analyst TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
        PRIMARY KEY (unit, budget, analyst)) WITHOUT ROWID""",
    """CREATE TABLE release_name (
        analyst TEXT NOT NULL, name TEXT NOT NULL, spelling TEXT NOT NULL, charge INTEGER NOT NULL REFERENCES charge,
        PRIMARY KEY (analyst, name)) WITHOUT ROWID""",
)

_STEPS = (
    """CREATE TABLE draw (
        charge INTEGER NOT NULL REFERENCES charge, step INTEGER NOT NULL, spent TEXT NOT NULL, noisy BLOB NOT NULL,
        PRIMARY KEY (charge, step))""",
    """INSERT INTO draw SELECT id, 0, (SELECT json_group_object(lower(unit), json_array(epsilon, delta))
        FROM charge_line WHERE charge = id), drawn FROM charge WHERE drawn IS NOT NULL""",
    "ALTER TABLE charge DROP COLUMN drawn",
)

_NOTES = (
    """CREATE TABLE policy_note (
        version INTEGER PRIMARY KEY REFERENCES policy, reason TEXT NOT NULL, applied_by TEXT NOT NULL,
        meaning TEXT NOT NULL, place TEXT NOT NULL)""",
)

_EVENTS: tuple[str | Move, ...] = (
    """CREATE TABLE budget_filter (
        name TEXT PRIMARY KEY, shares TEXT, renyi_order TEXT NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE plan (
        id INTEGER PRIMARY KEY, identity BLOB NOT NULL, analyst TEXT NOT NULL,
        policy_version INTEGER NOT NULL REFERENCES policy, slots TEXT NOT NULL, after_charge INTEGER NOT NULL,
        reserved_at TEXT NOT NULL)""",
    "CREATE INDEX plan_identity ON plan (identity)",
    """CREATE TABLE plan_line (
        plan INTEGER NOT NULL REFERENCES plan, unit TEXT NOT NULL, budget TEXT NOT NULL, loss TEXT NOT NULL,
        PRIMARY KEY (plan, unit)) WITHOUT ROWID""",
    "ALTER TABLE charge ADD COLUMN plan INTEGER REFERENCES plan",
    "ALTER TABLE charge ADD COLUMN slot INTEGER",
    "CREATE UNIQUE INDEX charge_slot ON charge (plan, slot)",
    "ALTER TABLE charge_line RENAME TO charge_line_before",
    """CREATE TABLE charge_line (
        charge INTEGER NOT NULL REFERENCES charge, unit TEXT NOT NULL, budget TEXT NOT NULL, events TEXT NOT NULL,
        PRIMARY KEY (charge, unit)) WITHOUT ROWID""",
    "DROP TABLE total",
    """CREATE TABLE total (
        unit TEXT NOT NULL, budget TEXT NOT NULL, analyst TEXT NOT NULL, loss TEXT NOT NULL,
        PRIMARY KEY (unit, budget, analyst)) WITHOUT ROWID""",
    on_events,
    "DROP TABLE charge_line_before",
)

_UNANSWERED = ("CREATE INDEX charge_unanswered ON charge (analyst, resumes) WHERE state = 'reserved'",)

_WINDOWS = (
    "ALTER TABLE budget ADD COLUMN every INTEGER",
    """CREATE TABLE budget_window (
        budget TEXT NOT NULL, number INTEGER NOT NULL, began TEXT NOT NULL, opened_at TEXT NOT NULL,
        version INTEGER NOT NULL REFERENCES policy, PRIMARY KEY (budget, number)) WITHOUT ROWID""",
    """INSERT INTO budget_window SELECT lower(name), 0, applied_at, applied_at, MIN(version)
        FROM budget JOIN policy USING (version) GROUP BY lower(name)""",
    "ALTER TABLE charge_line ADD COLUMN window_number INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE plan_line ADD COLUMN window_number INTEGER NOT NULL DEFAULT 0",
    """CREATE TABLE total_anew (
        unit TEXT NOT NULL, budget TEXT NOT NULL, analyst TEXT NOT NULL, window_number INTEGER NOT NULL,
        loss TEXT NOT NULL, PRIMARY KEY (unit, budget, analyst, window_number)) WITHOUT ROWID""",
    "INSERT INTO total_anew SELECT unit, budget, analyst, 0, loss FROM total",
    "DROP TABLE total",
    "ALTER TABLE total_anew RENAME TO total",
    """CREATE TABLE standing (
        analyst TEXT NOT NULL, name TEXT NOT NULL, spelling TEXT NOT NULL, plan INTEGER NOT NULL REFERENCES plan,
        hours INTEGER NOT NULL, runs INTEGER NOT NULL, epsilon TEXT NOT NULL,
        PRIMARY KEY (analyst, name)) WITHOUT ROWID""",
)

_CHAIN = (
    """CREATE TABLE charge_anew (
        id INTEGER PRIMARY KEY, identity BLOB NOT NULL, analyst TEXT NOT NULL,
        query TEXT NOT NULL, parameters TEXT NOT NULL, policy_version INTEGER NOT NULL REFERENCES policy,
        data_version TEXT NOT NULL, measurements TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('reserved', 'released', 'forgotten')), resumes INTEGER NOT NULL,
        reserved_at TEXT NOT NULL, released_at TEXT, answer BLOB, plan INTEGER REFERENCES plan, slot INTEGER,
        CHECK ((state = 'released') = (answer IS NOT NULL)))""",
    """INSERT INTO charge_anew SELECT id, identity, analyst, query, parameters, policy_version, data_version,
        measurements, state, resumes, reserved_at, released_at, answer, plan, slot FROM charge""",
    "DROP TABLE charge",
    "ALTER TABLE charge_anew RENAME TO charge",
    "CREATE INDEX charge_identity ON charge (identity)",
    "CREATE UNIQUE INDEX charge_slot ON charge (plan, slot)",
    "CREATE INDEX charge_unanswered ON charge (analyst, resumes) WHERE state = 'reserved'",
    "CREATE INDEX charge_analyst ON charge (analyst)",
    "CREATE INDEX release_name_charge ON release_name (charge)",
    """CREATE TABLE forgotten (
        what TEXT PRIMARY KEY, forgotten_at TEXT NOT NULL, forgotten_by TEXT NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE entry (
        position INTEGER PRIMARY KEY, kind TEXT NOT NULL, fields TEXT NOT NULL, salt BLOB, head BLOB NOT NULL)""",
)

_PARTS = (
    """CREATE TABLE charge_part (
        charge INTEGER NOT NULL REFERENCES charge, unit TEXT NOT NULL, division TEXT NOT NULL, part TEXT NOT NULL,
        PRIMARY KEY (charge, unit, division, part)) WITHOUT ROWID""",
    """CREATE TABLE plan_part (
        plan INTEGER NOT NULL REFERENCES plan, slot INTEGER NOT NULL, unit TEXT NOT NULL, division TEXT NOT NULL,
        part TEXT NOT NULL, PRIMARY KEY (plan, slot, unit, division, part)) WITHOUT ROWID""",
    """CREATE TABLE part_total (
        unit TEXT NOT NULL, budget TEXT NOT NULL, analyst TEXT NOT NULL, window_number INTEGER NOT NULL,
        division TEXT NOT NULL, part TEXT NOT NULL, loss TEXT NOT NULL,
        PRIMARY KEY (unit, budget, analyst, window_number, division, part)) WITHOUT ROWID""",
    """CREATE TABLE part_greatest (
        unit TEXT NOT NULL, budget TEXT NOT NULL, analyst TEXT NOT NULL, window_number INTEGER NOT NULL,
        division TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL,
        PRIMARY KEY (unit, budget, analyst, window_number, division)) WITHOUT ROWID""",
)

# a charge that no plan paid for, and whose answer is not waited for in vain, is in no index for those
_INDEXES = (
    "DROP INDEX charge_slot",
    "CREATE UNIQUE INDEX charge_slot ON charge (plan, slot) WHERE plan IS NOT NULL",
    "DROP INDEX charge_unanswered",
    "CREATE INDEX charge_unanswered ON charge (analyst, resumes) WHERE state = 'reserved' AND resumes >= 3",
)

# what failed counts for good, whatever was answered later
_FAILURES = (
    "ALTER TABLE charge ADD COLUMN failures INTEGER NOT NULL DEFAULT 0",
    "DROP INDEX charge_unanswered",
    "CREATE INDEX charge_started_again ON charge (analyst) WHERE failures > 0 OR resumes > 0",
)

# a new file takes all of them, an older one those that it has not had
LAYOUTS: tuple[tuple[str | Move, ...], ...] = (
    _FIRST,
    _STEPS,
    _NOTES,
    _EVENTS,
    _UNANSWERED,
    _WINDOWS,
    _CHAIN,
    _PARTS,
    _INDEXES,
    _FAILURES,
)
VERSION = len(LAYOUTS)
CHAINED = LAYOUTS.index(_CHAIN) + 1  # what is older has no chain yet


def lay_out(db: sqlite3.Connection, found: int, up_to: int = VERSION) -> None:
    """What a ledger of the layout that was found has not had; 0: it has had none."""
    for layout in LAYOUTS[found:up_to]:
        for step in layout:
            if isinstance(step, str):
                db.execute(step)
            else:
                step(db)
