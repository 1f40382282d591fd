"""A window and a group are within a unit where they are by the column that names it, and nowhere else."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest

from privql.check.env import Env
from privql.diagnostics import Source
from privql.pipeline.check import check_text
from privql.policy.build import build_catalog
from tests.check import clinic

POLICY = """
CREATE UNIT u;
CREATE PRIVATE TABLE t (id TEXT UNIT u NOT NULL, g INT BETWEEN 0 AND 3 NOT NULL, x INT BETWEEN 0 AND 9)
  AT MOST 3 ROWS PER UNIT;
CREATE BUDGET b FOR UNIT u EPSILON 9;
"""
WINDOW = "SELECT SUM(CLAMP(r, 0, 9)) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY {} ORDER BY x) AS r FROM t) AS s"
GROUP = "SELECT SUM(CLAMP(n, 0, 9)) FROM (SELECT COUNT(*) AS n FROM t GROUP BY {}) AS s"


ENV = Env(build_catalog(Source(POLICY, "policy"))[0])


def codes(text: str) -> list[str]:
    one, _ = next(iter(check_text(Source(f"{text} SPEND EPSILON 1"), ENV)))
    return [found.code for found in one.diagnostics]


@pytest.mark.parametrize("by", ["id", "id, g", "g, id", "id, x"])
def test_by_the_unit_each_has_its_own(by: str) -> None:
    assert codes(WINDOW.format(by)) == []
    assert codes(GROUP.format(by)) == []


@pytest.mark.parametrize("by", ["g", "x", "g, x"])
def test_by_anything_else_a_window_would_be_over_all(by: str) -> None:
    assert codes(WINDOW.format(by)) == ["PQL0407"]


def groups(by: str) -> int | None:
    """Of how many groups a sum over grouped rows is made: None where that is of private rows, unit by unit."""
    one, _ = next(iter(check_text(Source(f"{GROUP.format(by)} SPEND EPSILON 1"), ENV)))
    assert one.plan is not None, str(one)
    (block,) = one.plan.blocks
    return None if not block.block.keys else len(block.block.keys[0].members or ())


def test_a_group_by_what_does_not_name_the_unit_is_of_many_units() -> None:
    assert (groups("id"), groups("id, g"), groups("g")) == (None, None, 4)


ROWS = ["visits v", "patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.minutes > 60"]
ASKED = [
    "SELECT w.visit_id FROM visits w WHERE w.minutes > 70",
    "SELECT w.visit_id FROM patients q LEFT JOIN visits w ON w.patient_id = q.patient_id AND w.minutes > 70",
]
COMPARED = [f"{op} {many}" for op in ("=", "<>", "<", "<=", ">", ">=") for many in ("ANY", "ALL")] + ["IN", "NOT IN"]


def test_where_the_rows_of_one_unit_are_enough_they_say_what_those_of_all_would() -> None:
    """Without a word of the unit, only an equality of what is never NULL has to do with one unit's rows alone."""
    accepted = []
    rich = clinic.POLICY.replace("EPSILON 1000", "EPSILON 100000")
    with clinic.clinic(rich) as session, duckdb.connect() as plain:
        for name in ("patients", "visits"):
            plain.register(name, clinic.FRAMES[name])
        for rows, asked, compared in product(ROWS, ASKED, COMPARED):
            text = f"SELECT COUNT(*) FROM {rows} WHERE v.visit_id {compared} ({asked})"
            check = session.check(f"{text} SPEND EPSILON 300")
            if check.ok:
                accepted.append((rows, asked, compared))
                assert session.run(f"{text} SPEND EPSILON 300").rows == tuple(plain.execute(text).fetchall()), text
            else:
                assert [found.code for found in check.diagnostics] == ["PQL0412"], text
    assert accepted == [(ROWS[0], ASKED[0], compared) for compared in ("= ANY", "<> ALL", "IN", "NOT IN")]


@pytest.mark.parametrize("one", ["visit_id", "COALESCE(minutes, 0)"])
@pytest.mark.parametrize("other", ["patient_id", "visit_id + 1", "COALESCE(minutes, 0)"])
def test_equal_values_are_not_of_one_unit(one: str, other: str) -> None:
    with clinic.clinic() as session:
        check = session.check(
            f"SELECT COUNT(*) FROM visits WHERE {one} IN (SELECT {other} FROM visits) SPEND EPSILON 1"
        )
    assert [found.code for found in check.diagnostics] == ["PQL0405" if other == "patient_id" else "PQL0412"]


FEW = "SELECT w.patient_id, w.minutes FROM visits w WHERE w.minutes > 70"
FILLED = (
    "SELECT w.patient_id, q.age FROM patients q LEFT JOIN visits w ON w.patient_id = q.patient_id AND w.minutes > 70"
)


@pytest.mark.parametrize(
    ("rows", "asked", "codes"), [(ROWS[0], FEW, []), (ROWS[1], FEW, ["PQL0412"]), (ROWS[0], FILLED, ["PQL0412"])]
)
def test_of_rows_as_of_values(rows: str, asked: str, codes: list[str]) -> None:
    with clinic.clinic() as session:
        for compared in ("IN", "NOT IN"):
            text = f"SELECT COUNT(*) FROM {rows} WHERE (v.patient_id, v.minutes) {compared} ({asked}) SPEND EPSILON 1"
            assert [found.code for found in session.check(text).diagnostics] == codes
