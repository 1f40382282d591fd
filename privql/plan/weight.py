"""What a plan may weigh, however few words wrote it: too much is refused before it is priced, whatever the rows are."""

from __future__ import annotations

from privql.diagnostics import Span, refuse
from privql.frozen import inside
from privql.functions.scalar.text import GROWING, LONGEST
from privql.kernel.scalars import Apply, Const
from privql.kernel.terms import Relation

FEW = 8  # relations that cannot come to much
PARTS = 12_000  # of the statement that the engine is given
WRITTEN = 1_000  # characters: a longer text, written out, counts as one that is made
CHARACTERS = 200_000_000  # that texts made of one private row may have, where it meets many public ones


def weighed(term: Relation, met: int, span: Span) -> None:
    """`met`: how many public rows one private row may meet."""
    parts, growing = _weight(term, {})
    if parts > PARTS:
        raise refuse(
            "PQL0104",
            "the query is too large",
            span,
            why=f"what it computes of rows, and again for each of these, would be {parts} steps; {PARTS} may be",
            help="nest fewer LATERAL and correlated queries in each other",
        )
    if met > 1 and met * growing * LONGEST > CHARACTERS:
        raise refuse(
            "PQL0407",
            f"{growing} texts could be made for each of {met} rows that one private row becomes",
            span,
            why="the time and memory that this takes would show that row",
            help="join public rows on more columns, or make the texts of the private table's columns before the join",
        )


def _weight(record: object, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Records in it, and texts that may be long, made so or written so, each as often as it is written out. One that is
    in several places is looked at once."""
    found = known.get(id(record))
    if found is None:
        parts, growing = 1, int(_may_be_long(record))
        for each in inside(record):
            below = _weight(each, known)
            parts += below[0]
            growing += below[1]
        found = known[id(record)] = parts, growing
    return found


def _may_be_long(record: object) -> bool:
    match record:
        case Apply(op=op):
            return op in GROWING
        case Const(value=str() as text):
            return len(text) > WRITTEN
        case _:
            return False
