"""`privql audit`: what it prints, how it ends, and what it refuses before anything is tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privql.audit.faults import FAULTS
from privql.surfaces import audit
from tests.surfaces.conftest import Command

FEW = ("--draws", "1000", "--databases", "100", "--as", "alice")
COUNT = "SELECT COUNT(*) FROM patients SPEND EPSILON 1"


def test_a_query_that_keeps_its_claim(applied: Command, hospital: Path) -> None:
    (hospital / "patients.csv").unlink()  # it is not read
    before = (hospital / "ledger.db").read_bytes()
    done = applied("audit", *FEW, "-c", COUNT)
    assert done.code == 0 and done.err == "", done
    assert "line 1: select, ε = 1 of patient" in done.out
    assert "verdict: nothing contradicts the claims" in done.out
    assert (hospital / "ledger.db").read_bytes() == before


def test_a_planted_fault_is_told_and_found(privql: Command) -> None:
    done = privql(
        "audit", "--policy", "policy.pql", *FEW, "--format", "json", "--planted-fault", "sensitivity", "-c", COUNT
    )
    assert done.code == 1 and done.err == ""
    told = json.loads(done.out)
    assert not told["ok"] and told["fault"] == "sensitivity"
    assert {one["layer"] for one in told["found"]} >= {"small databases"}
    (statement,) = told["statements"]
    assert statement["claimed"] == {"patient": {"epsilon": "1", "delta": "0"}}


def test_the_names_are_those_of_the_faults() -> None:
    assert tuple(FAULTS) == audit.FAULTS


def test_a_query_that_is_refused_is_not_audited(privql: Command) -> None:
    done = privql("audit", "--policy", "policy.pql", *FEW, "-c", "SELECT age FROM patients SPEND EPSILON 1")
    assert done.code == 1 and done.out == "" and done.err.startswith("error[PQL")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-c", COUNT, "--draws", "0"),
        ("-c", COUNT, "--draws", "many"),
        ("-c", COUNT, "--databases", "1"),
        ("-c", COUNT, "--seed", "-1"),
        ("-c", COUNT, "--planted-fault", "gremlin"),
        ("-c", COUNT, "--format", "csv"),
        ("-c", COUNT, "--planted-fault", "groups", *FEW),
        ("-c", COUNT, "--planted-fault", "rows", *FEW),
    ],
)
def test_wrong_words_are_refused_in_a_line(privql: Command, arguments: tuple[str, ...]) -> None:
    done = privql("audit", "--policy", "policy.pql", *arguments)
    assert done.code == 2 and done.out == ""
    assert done.err.startswith("privql: ") and done.err.count("\n") == 1


def test_a_ledger_that_is_not_there(privql: Command) -> None:
    done = privql("audit", *FEW, "-c", COUNT)
    assert done.code == 2 and "is not there" in done.err


NEVER = "SELECT COUNT_IF(age % 7 = 9) AS n FROM patients SPEND EPSILON 1"  # whoever is there


@pytest.mark.parametrize("fault", [(), ("--planted-fault", "sensitivity")])
def test_where_no_row_is_measured_nothing_is_said_for_the_claim(privql: Command, fault: tuple[str, ...]) -> None:
    done = privql("audit", "--policy", "policy.pql", *FEW, *fault, "-c", NEVER)
    assert done.code == 3 and done.err == ""
    verdict = done.out.partition("verdict: ")[2]
    assert verdict.startswith("inconclusive - ") and "no row was found that this part of the query measures" in verdict
    assert ("the planted fault `sensitivity` was not found" in verdict) == bool(fault)
    done = privql("audit", "--policy", "policy.pql", *FEW, *fault, "--format", "json", "-c", NEVER)
    told = json.loads(done.out)
    assert done.code == 3 and not told["ok"] and told["verdict"] == "inconclusive" and told["found"] == []
    assert any("line 1, measuring" in why for why in told["untried"])


def test_one_part_of_a_query_that_no_row_comes_to_is_told(privql: Command) -> None:
    both = "SELECT COUNT_IF(age % 7 = 9) AS n, COUNT_IF(sex = 'F') AS m FROM patients SPEND EPSILON 1"
    done = privql("audit", "--policy", "policy.pql", *FEW, "-c", both)
    assert done.code == 3 and "the cells of aggregate 1, added up" in done.out.partition("verdict: ")[2]


def test_a_planted_fault_that_is_not_found_is_no_success(privql: Command) -> None:
    small = "SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.05"  # of which a fifth is not seen by 1,000 answers
    done = privql("audit", "--policy", "policy.pql", *FEW, "--planted-fault", "noise", "-c", small)
    assert done.code == 3 and "the planted fault `noise` was not found" in done.out.partition("inconclusive")[2]
