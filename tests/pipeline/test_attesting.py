"""A certificate that says of tables what their owner did not is refused by whoever has the policy."""

from __future__ import annotations

import pytest

from privql.check.env import Env
from privql.diagnostics import Source
from privql.kernel.certificate import Charged, Sealed, certificate, commitments
from privql.kernel.verify import verified
from privql.pipeline.attesting import attested
from privql.pipeline.check import check_text
from privql.policy.build import build_catalog

POLICY = """
CREATE UNIT patient;
CREATE UNIT ward;
CREATE UNIT visitor NEIGHBOURS CHANGE ONE;
CREATE PRIVATE TABLE patients (id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 99);
CREATE PRIVATE TABLE notes (id TEXT UNIT patient, n INT BETWEEN 0 AND 9, code INT) AT MOST 3 ROWS PER UNIT;
CREATE PRIVATE TABLE visits (number INT KEY, who TEXT REFERENCES patients(id), cost INT BETWEEN 0 AND 9)
  UNIT patient VIA who AT MOST 3 ROWS PER UNIT;
CREATE BUDGET research FOR UNIT patient EPSILON 9;
CREATE BUDGET wards FOR UNIT ward EPSILON 9;
CREATE BUDGET visitors FOR UNIT visitor EPSILON 9;
"""
NOTES = "notes (id TEXT UNIT patient, n INT BETWEEN 0 AND 9, code INT) AT MOST 3 ROWS PER UNIT;"
LIES = {
    "its unit is a key": "notes (id TEXT UNIT patient KEY, n INT BETWEEN 0 AND 9, code INT);",
    "a column is unique": NOTES.replace("code INT", "code INT KEY"),
    "it is of another type": NOTES.replace("n INT", "n DECIMAL(3,1)"),
    "units are named by another type": NOTES.replace("id TEXT", "id INT"),
    "units are named by another column": NOTES.replace("UNIT patient", "").replace(
        ", code", ", who TEXT UNIT patient, code"
    ),
    "it is of other units": NOTES.replace("UNIT patient", "UNIT ward"),
    "rows are their own units": "notes (id TEXT, n INT BETWEEN 0 AND 9, code INT) UNIT ROW AS patient;",
    "units may change": "notes (id TEXT UNIT visitor, n INT BETWEEN 0 AND 9, code INT) AT MOST 3 ROWS PER UNIT;",
}
QUERY = "SELECT SUM(n) FROM notes WHERE code > 0 SPEND EPSILON 1"


def certified(declared: str, committed: str) -> str:
    """Of a query that was checked under one policy, and says that it was checked under another."""
    catalog, found = build_catalog(Source(declared, "policy"))
    assert not [one for one in found if one.severity == "error"], found
    check, _ = next(iter(check_text(Source(QUERY), Env(catalog))))
    assert check.ok and check.plan is not None, check.diagnostics
    charged = tuple(Charged(unit, "research", met) for unit, met in check.plan.events_by_unit.items())
    measured = [each for block in check.plan.blocks for each in block.all_over(None)]
    texts = {"policy": committed, "query": QUERY, "inputs": "{}", "answer": "{}"}
    return certificate(measured, Sealed("r1", charged, commitments(bytes(32), 1, texts)))


@pytest.mark.parametrize("lie", LIES)
def test_a_scan_that_lies_is_seen_by_whoever_has_the_policy(lie: str) -> None:
    assert attested(certified(POLICY, POLICY), POLICY).wrong is None
    assert NOTES in POLICY
    lying = POLICY.replace(NOTES, LIES[lie])
    told = certified(lying, POLICY)
    verified(told)  # by itself it is a proof of something
    assert attested(told, POLICY).wrong == "the policy declares `notes` otherwise"
    assert attested(told, lying).wrong == "its policy is another one"
    assert attested(certified(lying, lying), lying).wrong is None
