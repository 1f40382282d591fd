"""Queries answered for each row around them: a unit has no more rows than can be, and in the engine the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from privql.audit import reference
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.finish.table import Table
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from tests.soundness.related import environment, together
from tests.soundness.related_measured import frames
from tests.soundness.related_neighbours import SALT, databases, random_public

VISITS = 3  # a unit's at most
ENV = environment(VISITS, change_one=False, epsilon=10**6)
PATIENT, VISIT = "SELECT p.sex, COUNT(*) FROM patients p", "SELECT p.ward, COUNT(*) FROM visits p"
OTHERS = "SELECT v.minutes FROM visits v WHERE v.pid = p.pid ORDER BY v.minutes"
FOUND = (Path(__file__).parent / "found.sql").read_text(encoding="utf-8").splitlines()
EACH = [line.split("|", 1)[1] for line in FOUND if "LATERAL" in line or "v.minutes > p.age" in line]


def checked(query: str) -> StatementCheck:
    one, _ = next(iter(check_text(Source(f"{query} AT MOST 1000 ROWS PER UNIT"), ENV)))
    assert one.ok, one.diagnostics
    return one


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (f"{PATIENT}, LATERAL ({OTHERS} LIMIT 1) x", 1),
        (f"{PATIENT}, LATERAL ({OTHERS} LIMIT 2) x", 2),
        (f"{PATIENT} LEFT JOIN LATERAL ({OTHERS} LIMIT 1) x ON TRUE", 1),
        (f"{PATIENT}, LATERAL ({OTHERS}) x", VISITS),
        (f"{VISIT}, LATERAL ({OTHERS} LIMIT 1) x", VISITS),
        (f"{VISIT}, LATERAL ({OTHERS}) x", VISITS * VISITS),
        (f"{VISIT} LEFT JOIN LATERAL ({OTHERS}) x ON TRUE", VISITS * VISITS + VISITS - 1),
        (f"{VISIT}, LATERAL (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid) x", VISITS),
        (f"{VISIT}, LATERAL (SELECT p.minutes + 1) x", VISITS),
        (f"{VISIT} WHERE 1 < (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND v.vid > p.vid)", VISITS),
        (f"{VISIT} WHERE 1 < ({OTHERS} LIMIT 1)", VISITS),
        (f"{PATIENT}, LATERAL (SELECT w.floor FROM wards w WHERE w.ward = p.ward) x", 1),
        (f"{PATIENT}, visits o, LATERAL ({OTHERS} LIMIT 1) x WHERE o.pid = p.pid", VISITS),
        (f"{PATIENT}, visits o, LATERAL ({OTHERS} LIMIT 2) x WHERE x.minutes > o.vid AND o.pid = p.pid", 2 * VISITS),
        (f"{PATIENT}, wards w, LATERAL ({OTHERS} LIMIT 1) x WHERE w.ward = p.ward AND w.floor > x.minutes", 1),
    ],
)
def test_a_unit_has_no_more_rows_than_its_rows_and_what_each_of_them_is_answered(query: str, rows: int) -> None:
    plan = checked(f"{query} GROUP BY 1").plan
    assert plan is not None and plan.blocks[0].measured is not None
    (part,) = plan.blocks[0].measured.parts
    assert part.sensitivity.l1 == rows


def test_the_engine_answers_each_row_as_the_reference_does() -> None:
    choice = random.Random(5)
    for query in EACH:
        plan = checked(query).plan
        assert plan is not None
        rest, own = databases(choice, 3)
        tables = together(rest, *own)
        engine = DuckDBEngine(frames(tables), threads=1)
        try:
            for one in plan.blocks:
                publics = {name: random_public(columns, choice) for name, _, columns in one.publics}
                given = {name: Table(columns, tuple(publics[name])) for name, _, columns in one.publics}
                assert one.measured is not None
                cells = [list(map(int, row)) for row in engine.run(one.measured.term, SALT, given)]
                assert cells == reference.run(one.measured.term, tables, SALT, publics), f"{query}\n{tables}"
        finally:
            engine.close()
