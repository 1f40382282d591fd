"""What a query would measure of a policy without data, or why it is refused."""

from __future__ import annotations

from privql.check.env import Env
from privql.diagnostics import Diagnostic
from privql.diagnostics import Source as Text
from privql.kernel.sums import Sums
from privql.pipeline.check import check_text
from privql.policy.build import build_catalog

DECLARED = 20
POLICY = f"""
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (pid INT UNIT patient KEY, age INT BETWEEN 0 AND 120);
CREATE PRIVATE TABLE visits (
  vid INT KEY, pid INT UNIT patient, minutes INT BETWEEN 0 AND 600
) AT MOST {DECLARED} ROWS PER UNIT;
CREATE PRIVATE TABLE calls (pid INT UNIT patient, day INT, seconds INT BETWEEN 0 AND 600);
CREATE PRIVATE TABLE beats (pid INT UNIT patient, at INT) AT MOST 5000 ROWS PER UNIT;
CREATE BUDGET research FOR UNIT patient EPSILON 9;
"""
ENV = Env(build_catalog(Text(POLICY, "policy"))[0])


def checked(query: str) -> Sums | Diagnostic:
    (check, _), *_ = check_text(Text(f"{query} SPEND EPSILON 1", "query"), ENV)
    if check.plan is None:
        return check.diagnostics[0]
    (block,) = check.plan.blocks
    assert block.measured is not None
    return block.measured.term
