"""All runs so far of a release that is made again and again, read as one table: which run it is, and what it said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from privql.check.relations import Label
from privql.domains import Domain
from privql.finish.result import Column, Release
from privql.kernel.scalars import INT
from privql.ledger import StoredRelease

RUN = "run"  # the column that says of which run a row is


def together(runs: Mapping[int, StoredRelease], most: int) -> StoredRelease:
    """By number. What is known of their errors is known of all of them: each run has the same price."""
    answers = {number: Release.from_bytes(stored.answer) for number, stored in runs.items()}
    counted = Column(RUN, INT, run_domain(most), Label.PUBLIC)
    columns = [_column(parts) for parts in zip(*(answer.columns for answer in answers.values()), strict=True)]
    rows = tuple((number, *row) for number, answer in answers.items() for row in answer.rows)
    dummy = any(answer.dummy for answer in answers.values())
    name = "+".join(stored.release_id for stored in runs.values())
    return StoredRelease(name, Release((counted, *columns), rows, release_id=name, dummy=dummy).to_bytes())


def run_domain(most: int) -> Domain:
    return Domain(Fraction(1), Fraction(most), None, False, Fraction(1))


def _column(parts: Sequence[Column]) -> Column:
    """Groups, and with them a domain, may be others after the data changed."""
    first, same = parts[0], all(part.domain == parts[0].domain for part in parts)
    domain = first.domain if same else Domain()
    law = first.law if all(part.law == first.law for part in parts) else None
    cells = tuple(cell for part in parts for cell in part.cells) if law is not None else ()
    return Column(first.name, first.type, domain, first.label, law, cells)
