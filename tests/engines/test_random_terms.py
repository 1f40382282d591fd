"""Random terms, operations within operations, mean on each engine what their Python says, over hostile rows."""

from __future__ import annotations

from random import Random

import pytest

from privql.conformance.pools import PRICE, WIDE
from privql.conformance.terms import COLUMNS, Terms, hostile_rows
from privql.functions.scalar import evaluate_term
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP
from tests.engines.hosts import HOSTS, Host, kept, refused

SEEDS = range(4)
_TYPES = (INT, FLOAT, PRICE, WIDE, TEXT, BOOL, DATE, TIMESTAMP)
_SHORT = 2000  # a text is copied into whatever is made of it


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_term_means_what_its_python_says(seed: int, host: Host) -> None:
    random = Random(seed)
    rows = [kept(host, row) for row in hostile_rows(random, 40)]
    rows = [{c: v[:_SHORT] if isinstance(v, str) else v for c, v in row.items()} for row in rows]
    made = Terms(random)
    drawn = [made.scalar(random.choice(_TYPES), dict(COLUMNS), random.choice((2, 3, 4))) for _ in range(150)]
    terms = [term for term in drawn if not refused(host, term)]
    assert len(terms) > 140
    with host.connect() as connection:
        host.load(connection, "t", COLUMNS, rows)
        for at in range(0, len(terms), 10):
            some = terms[at : at + 10]
            for row, found in zip(rows, host.evaluated(connection, "t", some), strict=True):
                for term, got in zip(some, found, strict=True):
                    assert got == evaluate_term(term, row), (term, row)
