"""What a plan may weigh, however few words wrote it: too much is refused before it is priced, whatever the rows are.

Texts that are made are far longer than what wrote them. So how many bytes all rows of one unit make is bounded: one
that made more would show by the memory that this takes, and where there is too little of it, by a query that fails.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from privql.diagnostics import Span, refuse
from privql.frozen import inside
from privql.functions.scalar.text import GROWING, LONGEST
from privql.kernel.features import Different, Extreme, Mode, Neighbour, Nth, Quantile, Splice
from privql.kernel.scalars import Apply, Const, Field, Scalar
from privql.kernel.terms import Gather, Project, Relation
from privql.plan.lengths import CHARACTER, Named, columns, text_bytes

FEW, FLAT = 8, 3  # relations that cannot come to much: of these, so many times the parts may be
PARTS = 12_000  # of the statement that the engine is given
MADE = 2**26  # bytes of a unit: where windows meet, the engine holds ten times as many
LITTLE = 2**12  # bytes of a row: so much is in any
WRITTEN = 20  # characters: a longer text, written out, is as long in each row
PATTERN = 100  # characters of a format: a longer one makes a text piece by piece, each time as long as all before
# By how much more than the text itself engines hold where it is taken apart, measured of DuckDB: 180 bytes a character
# of a document are 45 times its own four, of `REVERSE` 105.
TAKEN_APART = {"json_value": 45, "json_exists": 15, "json_typeof": 15, "json_array_length": 25, "json_valid": 15}
TAKEN_APART |= {"reverse": 26, "initcap": 26}


def not_too_large(term: Relation, most: int, span: Span) -> None:
    parts = _added(lambda _: 1, term, {})
    if parts > most:
        raise refuse(
            "PQL0104",
            "the query is too large",
            span,
            why=f"what it computes of rows, and again for each of these, would be {parts} steps; {most} may be",
            help="nest fewer LATERAL and correlated queries in each other",
        )


def length_that_fits(stored: int, met: int) -> int | None:
    """How long so many stored texts may be that go along with each of the public rows that one private row meets."""
    return min(LONGEST, MADE // (met * stored * CHARACTER)) if met > 1 and stored else None


def rows_that_fit(term: Relation, met: int, beside: int, span: Span) -> int | None:
    """How many rows of one unit there may be anywhere in it, if long texts are made of them. `met`: how many public
    rows one private row may meet, `beside`: bytes of texts that were made of these."""
    named = columns(term)
    made = beside + _added(partial(_made, named), term, {})
    if made:
        made += _added(partial(_carried, named), term, {})
    made += _added(_written, term, {})
    if met > 1 and met * made > MADE:
        raise refuse(
            "PQL0407",
            f"{made:,} bytes of texts could be made for each of {met:,} rows that one private row becomes",
            span,
            why=f"the time and memory that this takes would show that row; {MADE >> 20} MB in all may be",
            help="join public rows on more columns, or make shorter texts: `LEFT(text, 100)`",
        )
    return MADE // made if made > LITTLE else None


def _added(of: Callable[[object], int], record: object, known: dict[int, int]) -> int:
    """Of everything in it, each as often as it is written out; what is in several places is looked at once."""
    found = known.get(id(record))
    if found is None:
        found = known[id(record)] = of(record) + sum(_added(of, each, known) for each in inside(record))
    return found


def _made(named: Named, record: object) -> int:
    """Bytes of a text that may be longer than what it is made of, or is written out at length."""
    match record:
        case Apply(op=op) if op in GROWING:
            return text_bytes(record, named)
        case Apply(op="strftime" | "to_char", args=(_, Const(value=str() as format))) if len(format) > PATTERN:
            return CHARACTER * len(format) ** 2
        case _:
            return 0


def _written(record: object) -> int:
    match record:
        case Const(value=str() as text) if len(text) > WRITTEN:
            return CHARACTER * len(text)
        case _:
            return 0


def _carried(named: Named, record: object) -> int:
    """What a text takes once more, where it is taken apart, copied, told from others, or beside another row's."""
    match record:
        case Apply(op=op, args=(whole, *_)) if op in TAKEN_APART:
            return TAKEN_APART[op] * text_bytes(whole, named)
        case Project(columns=computed) | Gather(keys=computed):
            return sum(text_bytes(value, named) for name, value in computed if _copied(name, value, named))
        case Neighbour() | Nth() | Extreme() | Mode() | Quantile() | Splice() | Different() if (
            record.value.type.kind == "TEXT"
        ):
            return text_bytes(record.value, named)
        case _:
            return 0


def _copied(name: str, value: Scalar, named: Named) -> bool:
    """Whether it is a text, computed somewhere, that has another name here: not one that is as it is stored."""
    if value.type.kind != "TEXT" or (isinstance(value, Apply) and value.op in GROWING):
        return False
    seen = {name}
    while isinstance(value, Field):
        if value.name in seen:
            return False
        seen.add(value.name)
        made = [one for one in named.get(value.name, ()) if one != value]
        if len(made) != 1:
            return bool(made)
        (value,) = made
    return True
