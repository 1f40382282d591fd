"""Tables of hostile values as files."""

from __future__ import annotations

from pathlib import Path

from privql.conformance.rows import Row
from privql.conformance.terms import COLUMNS
from privql.engines.sql.expressions import text
from privql.kernel.scalars import FLOAT
from tests.engines.values import connect, load


def write(rows: list[Row], path: Path) -> None:
    """As Parquet, some of the NULLs of FLOAT columns as NaN or an infinity."""
    with connect() as connection:
        load(connection, "t", COLUMNS, rows)
        for c, t in COLUMNS:
            if t == FLOAT:
                wild = "list_extract([NULL, 'nan', 'inf', '-inf'], CAST(1 + rowid % 4 AS INTEGER))"
                connection.execute(f"UPDATE t SET {c} = CAST({wild} AS DOUBLE) WHERE {c} IS NULL")
        connection.execute(f"COPY t TO {text(str(path))}")
