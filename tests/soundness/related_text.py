"""What random SQL over related tables is made of: tables and columns in sight, and a query's text, for two readers.

PrivQL and a plain engine mean the same by most of it; where they spell it apart, `either` says both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "patients": (
        ("pid", "unit"),
        ("age", "int"),
        ("sex", "text"),
        ("ward", "text"),
        ("smoker", "bool"),
        ("job", "name"),
    ),
    "visits": (
        ("vid", "vid"),
        ("pid", "unit"),
        ("ward", "text"),
        ("minutes", "int"),
        ("urgent", "bool"),
        ("fee", "wide"),
    ),
    "tests": (("vid", "vid"), ("level", "int"), ("kind", "text")),
    "adults": (
        ("pid", "unit"),
        ("age", "int"),
        ("sex", "text"),
        ("ward", "text"),
        ("smoker", "bool"),
        ("job", "name"),
    ),
    "per_patient": (("pid", "unit"), ("n", "int"), ("total", "int")),
    "stays": (("pid", "unit"), ("age", "int"), ("vid", "lost"), ("minutes", "int"), ("ward", "text")),
    "tested": (("pid", "unit"), ("vid", "vid"), ("level", "int"), ("kind", "text")),
}
PUBLIC = {
    "wards": (("ward", "text"), ("floor", "int"), ("open", "bool")),
    "codes": (("code", "int"), ("label", "text")),
}
LOCATING = ("unit", "vid")  # what says whose a row is
LOCATED = {"pid", "vid", "k"}  # names that columns of these kinds have where they do, for certain
UNKNOWN = ("name", "wide")  # texts and numbers of which nothing was declared


@dataclass(frozen=True)
class Text:
    """A column in sight: how it is written, and what it is."""

    sql: str
    kind: str


@dataclass(frozen=True)
class Rows:
    """A query or a table, to be named in FROM."""

    sql: str
    columns: tuple[tuple[str, str], ...]
    public: bool = False

    def kinds(self) -> set[str]:
        return {kind for _, kind in self.columns}


@dataclass(frozen=True)
class Query:
    sql: str
    plain: str
    keys: int
    looking: bool = False  # for groups that nobody listed


def lost(column: Text) -> Text:
    """On the side of an outer join that NULLs may fill, it locates nothing any more."""
    match column.kind:
        case "unit":
            return Text(column.sql, "lost unit")
        case "vid":
            return Text(column.sql, "lost")
        case _:
            return column


def either(ours: str, plain: str) -> str:
    return f"⟦{ours}¦{plain}⟧"


def read(text: str, plain: bool) -> str:
    inmost = re.compile("⟦([^⟦¦⟧]*)¦([^⟦¦⟧]*)⟧")
    while "⟦" in text:
        text = inmost.sub(r"\2" if plain else r"\1", text)
    return text
