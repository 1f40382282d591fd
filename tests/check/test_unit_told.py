"""A window and a group are within a unit where they are by the column that names it, and nowhere else."""

from __future__ import annotations

import pytest

from privql.check.env import Env
from privql.diagnostics import Source
from privql.pipeline.check import check_text
from privql.policy.build import build_catalog

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
