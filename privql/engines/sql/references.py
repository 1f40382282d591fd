"""Rows that belong to a unit along references: a test to a visit, the visit to a patient."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from privql.engines.sql.relations import Layer, Names, ReadScan, Rows
from privql.engines.sql.stored import settled
from privql.kernel.terms import Scan


def read_along(scan: Scan, read: ReadScan, names: Names) -> Rows:
    """Along references, each row is at first of the key that it refers to, and then of what that row is of. `read`
    takes scans without any."""
    rows: Rows | None = None
    reached, columns = scan.table, scan.columns
    for link in (*scan.via, None):
        owner = scan.unit_column if link is None else (link.column, link.key[1])
        here = read(replace(scan, table=reached, unit_column=owner, columns=columns, via=()), names)
        rows = here if rows is None else _referring(rows, here)
        if link is not None:
            reached, columns = link.table, (link.key,)
    assert rows is not None
    return rows


def _referring(rows: Rows, to: Rows) -> Rows:
    (key,) = to.columns.values()
    met = f"{rows.owner} = {settled(key.spelled, to.dialect)}"

    def tail(read: Collection[str]) -> str:
        return f" JOIN {to.dialect.derived(to.sql(' '.join([*read, met])), beside=True)} ON {met}"

    return replace(rows.with_layers(Layer({}, tail)), unit=to.unit)


def read_by(scan: Scan) -> list[tuple[str, list[str]]]:
    """The tables that a scan reads, and their columns."""
    found = [(scan.table, [name for name, _ in scan.columns])]
    for link in scan.via:
        found[-1][1].append(link.column)
        found.append((link.table, [link.key[0]]))
    if scan.unit_column is not None:
        found[-1][1].append(scan.unit_column[0])
    return found
