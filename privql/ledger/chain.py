"""Each thing that the ledger keeps for good has an entry that carries the hash of the entry before it.

An entry covers the row that it tells of: its clear columns as they are, and by SHA-256(salt ‖ name ‖ text) what may
have to be erased: texts, answers, noisy numbers. Without text and salt the chain verifies still, and tells nothing.
Who changes a row, drops one or turns two round breaks the chain; who can write the file can forge all of it, which
only an anchor shows that is kept elsewhere.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import field
from hashlib import sha256
from secrets import token_bytes
from typing import Any

from privql.frozen import frozen
from privql.ledger import remembered
from privql.ledger.anchors import Anchor, lost
from privql.ledger.clock import now

Fields = dict[str, Any]
HEAD = ("head",)  # where the chain is, as it is remembered
_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@frozen
class Kind:
    """Which rows of a table entries tell of, and what of them they cover."""

    table: str
    label: str  # what a person calls it
    key: tuple[str, ...]
    clear: tuple[str, ...]
    hidden: tuple[str, ...] = ()  # what may be erased
    parts: tuple[tuple[str, str, tuple[str, ...]], ...] = ()  # rows of other tables that belong to it, by their column
    where: str = "TRUE"
    initial: Fields = field(default_factory=dict)  # a row that says no more than this needs no entry
    follows: Callable[[Fields, Fields], bool] = lambda before, after: False  # what a second entry may say of a row


_BUDGET = "name", "unit", "epsilon", "delta", "default_epsilon", "default_delta", "max_epsilon", "every"
_GRANT = "budget", "analyst", "epsilon", "delta"
KINDS = {
    "policy": Kind(
        "policy",
        "version {version} of the policy",
        ("version",),
        ("text", "applied_at"),
        parts=(
            ("policy_table", "version", ("name",)),
            ("budget", "version", _BUDGET),
            ("budget_grant", "version", _GRANT),
        ),
    ),
    "note": Kind(
        "policy_note",
        "the note on version {version} of the policy",
        ("version",),
        ("reason", "applied_by", "meaning", "place"),
    ),
    "filter": Kind(
        "budget_filter",
        "the filters of budget `{name}`",
        ("name",),
        ("shares", "renyi_order"),
        follows=lambda before, after: before["shares"] is None and before["renyi_order"] == after["renyi_order"],
    ),
    "window": Kind(
        "budget_window",
        "window {number} of budget `{budget}`",
        ("budget", "number"),
        ("began", "opened_at", "version"),
    ),
    "refresh": Kind("data_version", "version {counter} of `{name}`", ("name", "counter"), ("label", "stated_at")),
    "plan": Kind(
        "plan",
        "plan {id}",
        ("id",),
        ("analyst", "policy_version", "slots", "after_charge", "reserved_at"),
        hidden=("identity",),
        parts=(
            ("plan_line", "plan", ("unit", "budget", "loss", "window_number")),
            ("plan_part", "plan", ("slot", "unit", "division", "part")),
        ),
    ),
    "standing": Kind(
        "standing",
        "the standing release `{name}` of `{analyst}`",
        ("analyst", "name"),
        ("spelling", "plan", "hours", "runs", "epsilon"),
    ),
    "charge": Kind(
        "charge",
        "r{id}",
        ("id",),
        ("analyst", "policy_version", "data_version", "reserved_at", "plan", "slot"),
        hidden=("query", "parameters", "measurements"),
        parts=(
            ("charge_line", "charge", ("unit", "budget", "events", "window_number")),
            ("charge_part", "charge", ("unit", "division", "part")),
        ),
    ),
    "resumes": Kind(
        "charge",
        "the attempts of r{id}",
        ("id",),
        ("resumes",),
        initial={"resumes": 0},
        follows=lambda before, after: after["resumes"] in (0, before["resumes"] + 1),
    ),
    "failures": Kind(
        "charge",
        "the failures of r{id}",
        ("id",),
        ("failures",),
        initial={"failures": 0},
        follows=lambda before, after: not after["failures"] or after["failures"] > before["failures"],
    ),
    "draw": Kind("draw", "step {step} of r{charge}", ("charge", "step"), ("spent",), hidden=("noisy",)),
    "release": Kind(
        "charge", "the answer of r{id}", ("id",), ("released_at",), hidden=("answer",), where="released_at IS NOT NULL"
    ),
    "name": Kind("release_name", "the name `{name}` of `{analyst}`", ("analyst", "name"), ("spelling", "charge")),
    "forgotten": Kind("forgotten", "that {what} was forgotten", ("what",), ("forgotten_at", "forgotten_by")),
}


@frozen
class Row:
    key: tuple[Any, ...]
    clear: Fields  # with the key
    hidden: dict[str, str | bytes | None]


def rows(db: sqlite3.Connection, name: str, key: tuple[Any, ...] = ()) -> Iterator[Row]:
    """The rows of a kind, or the one with this key, as entries speak of them."""
    kind = KINDS[name]
    columns = (*kind.key, *kind.clear, *kind.hidden)
    where = " AND ".join([f"({kind.where})", *(f"{column} = ?" for column in (kind.key if key else ()))])
    query = f"SELECT {', '.join(columns)} FROM {kind.table} WHERE {where} ORDER BY {', '.join(kind.key)}"
    for found in db.execute(query, key).fetchall():
        named = dict(zip(columns, found, strict=True))
        clear = {column: named[column] for column in (*kind.key, *kind.clear)}
        for table, refers, said in kind.parts:
            part = f"SELECT {', '.join(said)} FROM {table} WHERE {refers} = ? ORDER BY {', '.join(said)}"
            clear[table] = [list(each) for each in db.execute(part, found[:1]).fetchall()]
        yield Row(found[: len(kind.key)], clear, {column: named[column] for column in kind.hidden})


def strays(db: sqlite3.Connection, name: str) -> Iterator[str]:
    """Rows that would belong to one that is not there, and to the next that takes its key, a sentence each."""
    kind = KINDS[name]
    for table, refers, _ in kind.parts:
        there = f"SELECT {kind.key[0]} FROM {kind.table}"
        query = f"SELECT DISTINCT {refers} FROM {table} WHERE {refers} NOT IN ({there}) ORDER BY {refers}"
        for (key,) in db.execute(query).fetchall():
            yield f"a row of `{table}` is of {kind.label.format_map({kind.key[0]: key})}, which is not there"


def append(db: sqlite3.Connection, name: str, *key: object) -> None:
    """An entry of the row that this transaction has written, and that is read back."""
    (row,) = rows(db, name, key)
    tell(db, name, row)


def begin(db: sqlite3.Connection) -> None:
    """A chain over what an older ledger holds."""
    for name, kind in KINDS.items():
        for row in rows(db, name):
            if not _untold(kind, row):
                tell(db, name, row)


def tell(db: sqlite3.Connection, name: str, row: Row) -> None:
    """An entry of a row as `rows` would read it."""
    salt = token_bytes(32) if row.hidden else None
    covered = {column: commitment(salt, column, text) for column, text in row.hidden.items() if salt is not None}
    position, head = _last(db)
    fields = canonical(row.clear | covered)
    follows = hashed(head, position + 1, name, fields)
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", (position + 1, name, fields, salt, follows))
    remembered.of(db).now(HEAD, (position + 1, follows))


def canonical(fields: Any) -> str:
    return _json(fields)


def commitment(salt: bytes, column: str, text: str | bytes | None) -> str:
    raw = text.encode() if isinstance(text, str) else bytes(text or b"")
    return sha256(salt + column.encode() + b"\0" + raw).hexdigest()


def hashed(head: bytes, position: int, name: str, fields: str) -> bytes:
    return sha256(head + f"{position} {name} {fields}".encode()).digest()


def genesis(db: sqlite3.Connection) -> bytes:
    return sha256(canonical(db.execute("SELECT id, created_at FROM ledger").fetchone()).encode()).digest()


def _last(db: sqlite3.Connection) -> tuple[int, bytes]:
    def read() -> tuple[int, bytes]:
        row = db.execute("SELECT position, head FROM entry ORDER BY position DESC LIMIT 1").fetchone()
        return (0, genesis(db)) if row is None else (row[0], row[1])

    return remembered.of(db).known(HEAD, read)


def forget(db: sqlite3.Connection, charges: set[int], plans: set[int]) -> None:
    """Without its salt, a commitment tells nothing of the text."""
    for position, name, fields in db.execute(
        "SELECT position, kind, fields FROM entry WHERE salt IS NOT NULL"
    ).fetchall():
        told = json.loads(fields)
        number, of = told.get("charge", told.get("id")), plans if name == "plan" else charges
        if number in of:
            db.execute("UPDATE entry SET salt = NULL WHERE position = ?", (position,))


@frozen
class Link:
    """An entry, as it is told to others: without its salt."""

    position: int
    kind: str
    fields: Fields
    head: str
    texts: dict[str, str | bytes]  # what of it can be erased, and is not


def links(db: sqlite3.Connection) -> Iterator[Link]:
    query = "SELECT position, kind, fields, head FROM entry ORDER BY position"
    for position, name, text, head in db.execute(query).fetchall():
        fields = json.loads(text)
        kept: dict[str, str | bytes] = {}
        if KINDS[name].hidden:
            for row in rows(db, name, tuple(fields[column] for column in KINDS[name].key)):
                kept = {column: value for column, value in row.hidden.items() if value}
        yield Link(position, name, fields, head.hex(), kept)


def anchor(db: sqlite3.Connection, ledger_id: str) -> Anchor:
    position, head = _last(db)
    return Anchor(ledger_id, position, head.hex(), now())


# ---------------------------------------------------------------- the audit


@frozen
class _Told:
    position: int
    fields: Fields
    salt: bytes | None


def verify(db: sqlite3.Connection, ledger_id: str, anchors: tuple[Anchor, ...] = ()) -> Iterator[str]:
    """What is wrong with the chain, a sentence each."""
    told: dict[tuple[str, tuple[Any, ...]], _Told] = {}
    heads = {0: genesis(db)}
    position, previous = 0, heads[0]
    for found, name, text, salt, head in db.execute("SELECT * FROM entry ORDER BY position"):
        if found != position + 1:
            yield f"the chain has no entry {position + 1}"
        if head != hashed(previous, found, name, text):
            yield f"entry {found} of the chain, or the one before it, was changed"
        position, previous = found, head
        heads[position] = head
        yield from _keep(told, name, _Told(position, json.loads(text), salt))
    yield from lost(anchors, ledger_id, position, heads)
    erased = {what for (what,) in db.execute("SELECT what FROM forgotten")}
    if len(db.execute("SELECT id FROM ledger").fetchall()) > 1:
        yield "the ledger has two names"
    for name, kind in KINDS.items():
        yield from strays(db, name)
        for row in rows(db, name):
            label = kind.label.format_map(row.clear)
            entry = told.pop((name, row.key), None)
            if entry is not None:
                yield from _compared(label, kind, row, entry, erased)
            elif not _untold(kind, row):
                yield f"{label}: the chain has no entry of it"
    for (name, _), entry in told.items():
        yield f"{KINDS[name].label.format_map(entry.fields)}: entry {entry.position} tells of it, and it is not there"


def _keep(told: dict[tuple[str, tuple[Any, ...]], _Told], name: str, entry: _Told) -> Iterator[str]:
    if name not in KINDS:
        yield f"entry {entry.position} of the chain is of no kind that there is"
        return
    kind = KINDS[name]
    if entry.salt is not None and not kind.hidden:
        yield f"entry {entry.position} of the chain has a salt, and nothing to hide"
    at = name, tuple(entry.fields[column] for column in kind.key)
    if at in told and not kind.follows(told[at].fields, entry.fields):
        label = kind.label.format_map(entry.fields)
        yield f"{label}: entry {entry.position} says anew what entry {told[at].position} has said for good"
    told[at] = entry


def _compared(label: str, kind: Kind, row: Row, entry: _Told, erased: set[str]) -> Iterator[str]:
    """The row against its entry; an entry of an older layout covers the columns that there were, and rows of a table
    that there was not then are no part of it."""
    for table, _, _ in kind.parts:
        if table not in entry.fields and row.clear[table]:
            yield f"{label}: `{table}` is not what the chain says"
    for column, said in entry.fields.items():
        if column not in row.hidden:
            if column not in row.clear or row.clear[column] != said:
                yield f"{label}: `{column}` is not what the chain says"
        elif entry.salt is not None and said != commitment(entry.salt, column, row.hidden[column]):
            yield f"{label}: `{column}` is not what the chain commits to"
        elif entry.salt is None and row.hidden[column]:
            yield f"{label}: `{column}` was to be forgotten, and is there"
    subject = f"plan {row.key[0]}" if kind.table == "plan" else f"r{row.key[0]}"
    if row.hidden and (entry.salt is None) != (subject in erased):
        yield f"{label}: what was erased is not what was forgotten"


def _untold(kind: Kind, row: Row) -> bool:
    return bool(kind.initial) and kind.initial.items() <= row.clear.items()
