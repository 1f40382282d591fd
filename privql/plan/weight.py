"""What a plan may weigh, however few words wrote it: too much is refused before it is priced, whatever the rows are.

Texts that are made are far longer than what wrote them. So how many bytes all rows of one unit make is bounded: one
that made more would show by the memory that this takes, and where there is too little of it, by a query that fails.
"""

from __future__ import annotations

from privql.diagnostics import Span, refuse
from privql.frozen import inside
from privql.functions.scalar.text import GROWING
from privql.kernel.features import Extreme, Mode, Neighbour, Nth, Quantile, Splice
from privql.kernel.scalars import TEXT, Apply, Const, Field
from privql.kernel.terms import Relation
from privql.plan.lengths import Named, columns, text_bytes

FEW = 8  # relations that cannot come to much
MADE = 2**26  # bytes of a unit: where windows meet, the engine holds ten times as many
PARTS = 12_000  # of the statement that the engine is given
WRITTEN = 1_000  # characters: a longer text, written out, counts as one that is made
# By how much more than the text itself engines hold where it is taken apart, measured of DuckDB: 180 bytes a character
# of a document are 45 times its own four, of `REVERSE` 105.
TAKEN_APART = {"json_value": 45, "json_exists": 15, "json_typeof": 15, "json_array_length": 25, "json_valid": 15}
TAKEN_APART |= {"reverse": 26, "initcap": 26}
STORED = text_bytes(Field("", TEXT), {})


def not_too_large(term: Relation, span: Span) -> None:
    parts = _parts(term, {})
    if parts > PARTS:
        raise refuse(
            "PQL0104",
            "the query is too large",
            span,
            why=f"what it computes of rows, and again for each of these, would be {parts} steps; {PARTS} may be",
            help="nest fewer LATERAL and correlated queries in each other",
        )


def weighed(term: Relation, met: int, stored: int, span: Span) -> int | None:
    """How many rows of one unit there may be anywhere in it, if long texts are made of them. `met`: how many public
    rows one private row may meet, `stored`: how many of its own texts, of any length, then go along with each."""
    made = _Texts(term).bytes
    size = made + stored * STORED
    if met > 1 and met * size > MADE:
        raise refuse(
            "PQL0407",
            f"{size:,} bytes of texts could be made for each of {met:,} rows that one private row becomes",
            span,
            why=f"the time and memory that this takes would show that row; {MADE >> 20} MB in all may be",
            help="join public rows on more columns, or make shorter texts: `LEFT(text, 100)`",
        )
    return MADE // made if made else None


class _Texts:
    """Bytes of the long texts that are made of one row, each as often as it is written out."""

    def __init__(self, term: Relation) -> None:
        self._known: dict[int, tuple[int, int]] = {}
        self._named: Named = columns(term)
        made, others = self._of(term)
        self.bytes = made + others if made else 0

    def _of(self, record: object) -> tuple[int, int]:
        """Of texts made, and of those taken apart or carried on. What is in several places is looked at once."""
        found = self._known.get(id(record))
        if found is None:
            made, others = self._own(record)
            for each in inside(record):
                below = self._of(each)
                made += below[0]
                others += below[1]
            found = self._known[id(record)] = made, others
        return found

    def _own(self, record: object) -> tuple[int, int]:
        match record:
            case Apply(op=op) if op in GROWING:
                return text_bytes(record, self._named), 0
            case Apply(op=op, args=(whole, *_)) if op in TAKEN_APART:
                return 0, TAKEN_APART[op] * text_bytes(whole, self._named)
            case Neighbour() | Nth() | Extreme() | Mode() | Quantile() | Splice() if record.value.type.kind == "TEXT":
                return 0, text_bytes(record.value, self._named)
            case Const(value=str() as text) if len(text) > WRITTEN:
                return text_bytes(record, self._named), 0
            case _:
                return 0, 0


def _parts(record: object, known: dict[int, int]) -> int:
    """Records in it, each as often as it is written out."""
    found = known.get(id(record))
    if found is None:
        found = known[id(record)] = 1 + sum(_parts(each, known) for each in inside(record))
    return found
