"""Random SQL over related tables, over hostile rows: PostgreSQL computes bit for bit what the reference says."""

from __future__ import annotations

import pytest

from tests.assurance import assured, length
from tests.ledger.servers import available
from tests.soundness.related_measured import agree, arrow, drawn

if not available():
    pytest.skip("needs a PostgreSQL server: `make test-engines`, or PRIVQL_TEST_PG", allow_module_level=True)

from tests.engines import on_postgres

PARTS, EACH = range(length(2, 500)), 20


@pytest.mark.parametrize("seed", PARTS)
def test_the_engine_relates_rows_as_the_reference_does(seed: int) -> None:
    with assured("related-postgres") as tally:
        for check, tables, choice in drawn(seed, EACH):
            tally["tried"] += 1
            with on_postgres.engine(arrow(tables)) as engine:
                agree(engine, check, tables, choice)
