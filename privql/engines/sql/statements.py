"""Which statements a term takes, and what an owner asks of stored columns, in every engine that speaks SQL."""

from __future__ import annotations

from privql.engines.interface import Term
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.emit import Statement, emit
from privql.engines.sql.groups import GroupStatement, emit_groups
from privql.engines.sql.ranks import Buckets, RankStatement, emit_histogram, emit_ranks
from privql.engines.sql.relations import ReadScan
from privql.kernel.ranks import Ranks
from privql.kernel.sums import Keys, Sums

Asked = Statement | GroupStatement | RankStatement


def statement_for(term: Term, read: ReadScan, salt: bytes, dialect: Dialect) -> Asked:
    """The one that answers it."""
    match term:
        case Sums():
            return emit(term, read, salt, dialect)
        case Keys():
            return emit_groups(term, read, salt, dialect)
        case Ranks():
            return emit_ranks(term, read, salt, dialect)


def rehearsed(term: Term, read: ReadScan, dialect: Dialect) -> list[Asked]:
    """All that may be asked for it, in the forms that it may take."""
    asked = [statement_for(term, read, b"", dialect)]
    if isinstance(term, Ranks):
        coarse = emit_histogram(term, read, b"", Buckets(0, (1, (0,))), dialect)
        asked += [] if coarse is None else [coarse]
    return asked


def twins(columns: list[str]) -> str:
    """Rows that agree in these columns with another, rows with a NULL among them left aside."""
    present = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return f"WHERE {present} GROUP BY {', '.join(columns)} HAVING count(*) > 1"


def lacking(columns: list[str]) -> str:
    """Rows without a value in one of these columns."""
    return "WHERE " + " OR ".join(f"{column} IS NULL" for column in columns)
