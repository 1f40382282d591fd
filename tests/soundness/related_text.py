"""What random SQL over related tables is made of: tables and columns in sight, and a query's text."""

from __future__ import annotations

from dataclasses import dataclass

TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "patients": (("pid", "unit"), ("age", "int"), ("sex", "text"), ("ward", "text"), ("smoker", "bool")),
    "visits": (("vid", "vid"), ("pid", "unit"), ("ward", "text"), ("minutes", "int"), ("urgent", "bool")),
    "tests": (("vid", "vid"), ("level", "int"), ("kind", "text")),
    "adults": (("pid", "unit"), ("age", "int"), ("sex", "text"), ("ward", "text"), ("smoker", "bool")),
    "per_patient": (("pid", "unit"), ("n", "int"), ("total", "int")),
    "stays": (("pid", "unit"), ("age", "int"), ("vid", "lost"), ("minutes", "int"), ("ward", "text")),
    "tested": (("pid", "unit"), ("vid", "vid"), ("level", "int"), ("kind", "text")),
}
PUBLIC = {
    "wards": (("ward", "text"), ("floor", "int"), ("open", "bool")),
    "codes": (("code", "int"), ("label", "text")),
}
LOCATING = ("unit", "vid")


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


def lost(column: Text) -> Text:
    """On the side of an outer join that NULLs may fill, it locates nothing any more."""
    return Text(column.sql, "lost") if column.kind in LOCATING else column
