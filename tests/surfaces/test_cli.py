"""The commands, their formats and their exit codes."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.surfaces.conftest import Command

ALICE = ("--as", "alice")


def test_a_file_is_checked_and_priced_without_spending(applied: Command) -> None:
    checked = applied("check", "report.pql", *ALICE, "--format", "json")
    assert checked.code == 0
    (line,) = checked.out.splitlines()
    answer = json.loads(line)
    assert answer["ok"] is True
    assert Fraction(answer["total"]["epsilon"]) == Fraction("0.6")
    assert len(answer["statements"]) == 2
    assert answer["diagnostics"] == []
    for _ in range(3):  # what is only checked can be checked for ever
        assert applied("check", "report.pql", *ALICE).code == 0
    assert applied("run", "report.pql", *ALICE).code == 0


def test_check_works_from_a_policy_alone(privql: Command) -> None:
    assert privql("check", "report.pql", "--policy", "policy.pql", *ALICE).code == 0
    explained = privql("explain", "report.pql", "--policy", "policy.pql", *ALICE)
    assert explained.code == 0
    assert "0.4" in explained.out


def test_answers_are_one_json_object_a_line(applied: Command) -> None:
    run = applied("run", "report.pql", *ALICE, "--format", "json")
    assert run.code == 0
    counted, summed = map(json.loads, run.out.splitlines())
    assert [column["name"] for column in counted["columns"]] == ["n", "mean_age"]
    ((n, mean),) = counted["rows"]
    assert isinstance(n, int)
    assert mean is None or 0 <= mean <= 120
    assert len(counted["halfwidth95"]) == 1
    assert len(counted["halfwidth95"][0]) == 2
    assert Fraction(counted["cost"]["epsilon"]) == Fraction("0.4")
    assert counted["release_id"] != summed["release_id"]
    assert [row[0] for row in summed["rows"]][:2] == ["F", "M"]
    assert isinstance(summed["rows"][0][1], str), "DECIMAL travels as text"


def test_answers_as_csv_are_the_tables_one_after_another(applied: Command) -> None:
    run = applied("run", "report.pql", *ALICE, "--format", "csv")
    assert run.code == 0
    counted, summed = (list(csv.reader(io.StringIO(part))) for part in run.out.split("\n\n"))
    assert counted[0] == ["n", "mean_age"]
    assert len(counted) == 2
    assert summed[0] == ["sex", "total"]


def test_answers_as_tables_carry_their_error(applied: Command) -> None:
    run = applied("run", "report.pql", *ALICE)
    assert run.code == 0
    assert "±" in run.out
    assert run.out.count("95%") == 2, "the confidence is named once a table"


def test_the_same_question_again_is_the_same_answer_for_nothing(applied: Command) -> None:
    first = [
        json.loads(line)["rows"] for line in applied("run", "report.pql", *ALICE, "--format", "json").out.splitlines()
    ]
    again = applied("run", "report.pql", *ALICE, "--format", "json")
    assert [json.loads(line)["rows"] for line in again.out.splitlines()] == first
    assert applied("run", "-c", "SELECT COUNT(*) FROM patients SPEND EPSILON 0.4", *ALICE).code == 0


def test_a_file_that_the_budget_cannot_carry_is_refused_before_it_starts(applied: Command) -> None:
    text = "SELECT COUNT(*) FROM patients SPEND EPSILON 0.7; SELECT AVG(age) FROM patients SPEND EPSILON 0.7;"
    refused = applied("run", "-", *ALICE, stdin=text)
    assert (refused.code, refused.out) == (1, "")
    assert "PQL05" in refused.err
    partial = applied("run", "-", "--partial", "--format", "json", *ALICE, stdin=text)
    assert partial.code == 1
    assert len(partial.out.splitlines()) == 1
    assert "PQL05" in partial.err


def test_a_wrong_statement_stops_the_file_before_it_starts(applied: Command) -> None:
    text = "SELECT COUNT(*) FROM patients SPEND EPSILON 0.1; SELECT COUNT(*) FROM patient SPEND EPSILON 0.1;"
    refused = applied("run", "-", *ALICE, stdin=text)
    assert (refused.code, refused.out) == (1, "")
    assert "PQL0201" in refused.err
    assert "<stdin>:1:" in refused.err


def test_a_check_that_fails_says_so_everywhere(applied: Command) -> None:
    text = ("-c", "SELECT COUNT(*) FROM patients SPEND EPSILON 0.1; SELECT COUNT(*) FROM patient SPEND EPSILON 0.1")
    for command in ("check", "explain"):
        refused = applied(command, *text, *ALICE)
        assert refused.code == 1
        assert "PQL0201" in refused.err
    told = applied("check", *text, *ALICE, "--format", "json")
    assert told.code == 1
    answer = json.loads(told.out)
    assert answer["ok"] is False
    assert [each["ok"] for each in answer["statements"]] == [True, False]
    assert answer["diagnostics"][0]["code"] == "PQL0201"
    listed = applied("check", *text, *ALICE, "--format", "csv").out.splitlines()
    assert listed[0] == "statement,ok,epsilon,delta"
    assert len(listed) == 3


def test_parameters_are_bound_from_the_command(applied: Command) -> None:
    text = ("-c", "SELECT COUNT(*) FROM patients WHERE age >= $from SPEND EPSILON $e")
    run = applied("run", *text, *ALICE, "--param", "e=0.25", "--param", "from=40", "--format", "json")
    assert run.code == 0, run.err
    assert Fraction(json.loads(run.out)["cost"]["epsilon"]) == Fraction("0.25")
    unbound = applied("run", *text, *ALICE, "--param", "from=40")
    assert unbound.code == 1
    assert "$e" in unbound.err
    assert applied("check", *text, *ALICE).code == 0, "the cost of a check may be symbolic"


def test_budget_says_what_is_left(applied: Command) -> None:
    applied("run", "report.pql", *ALICE)
    told = applied("budget", *ALICE)
    assert told.code == 0
    assert "0.4" in told.out
    assert json.loads(applied("budget", *ALICE, "--format", "json").out)


def test_invented_rows_cost_nothing(applied: Command) -> None:
    for _ in range(5):
        assert applied("run", "report.pql", "--dummy", *ALICE).code == 0
    assert "1" in applied("budget", *ALICE).out


def test_of_a_policy_alone_invented_rows_are_asked(applied: Command) -> None:
    told = applied("run", "report.pql", "--dummy", "--policy", "policy.pql", *ALICE)
    assert told.code == 0 and "invented rows" in told.out and "nothing was spent" in told.out
    refused = applied("run", "report.pql", "--policy", "policy.pql", *ALICE)
    assert (refused.code, refused.out) == (2, "") and "--dummy" in refused.err


def test_owner_statements_are_refused(applied: Command) -> None:
    refused = applied("run", "-c", "GRANT research TO mallory;", *ALICE)
    assert (refused.code, refused.out) == (1, "")


def test_who_was_granted_nothing_spends_nothing(applied: Command) -> None:
    refused = applied("run", "report.pql", "--as", "mallory")
    assert (refused.code, refused.out) == (1, "")
    assert "PQL05" in refused.err


def test_an_owner_sees_what_a_policy_changes_and_says_why(applied: Command, hospital: Path) -> None:
    text = (hospital / "policy.pql").read_text(encoding="utf-8")
    assert applied("policy", "diff", "policy.pql").out.startswith("this changes nothing for the loss")
    (hospital / "next.pql").write_text(text.replace("EPSILON 3", "EPSILON 9", 1), encoding="utf-8")
    weaker = applied("policy", "diff", "next.pql")
    assert weaker.code == 1 and "had 3" in weaker.out and "--reason" in weaker.out
    assert json.loads(applied("policy", "diff", "next.pql", "--format", "json").out)["accepted"] is False
    refused = applied("policy", "apply", "next.pql")
    assert refused.code == 1 and "PQL0746" in refused.err
    assert applied("policy", "apply", "next.pql", "--reason", "a second study", "--as", "olga").code == 0
    history = applied("policy", "history")
    assert history.code == 0 and "by olga" in history.out and "reason: a second study" in history.out
    assert len(json.loads(applied("policy", "history", "--format", "json").out)["versions"]) == 2
    assert applied("policy", "show", "1").out.strip() == text.strip()
    assert "EPSILON 9" in applied("policy", "show").out
    assert applied("policy", "show", "3").code == 1
    assert applied("policy", "show", "x").code == 2
    assert applied("policy", "history", "--ledger", "absent.db").code == 2


def test_a_policy_is_checked(privql: Command, hospital: Path) -> None:
    assert privql("policy", "check", "policy.pql").code == 0
    (hospital / "wrong.pql").write_text("CREATE UNIT patient; CREATE UNIT Patient;", encoding="utf-8")
    wrong = privql("policy", "check", "wrong.pql")
    assert wrong.code == 1
    assert "PQL0702" in wrong.err
    told = privql("policy", "check", "wrong.pql", "--format", "json")
    assert told.code == 1
    assert json.loads(told.out)["diagnostics"][0]["code"] == "PQL0702"
    assert privql("policy", "apply", "wrong.pql").code == 1
    assert not (hospital / "ledger.db").exists()


def test_a_declaration_that_the_data_breaks_is_found_at_apply(privql: Command, hospital: Path) -> None:
    with (hospital / "patients.csv").open("a", encoding="utf-8") as rows:
        rows.write("p0,33,F,1.00\n")
    refused = privql("policy", "apply", "policy.pql")
    assert refused.code == 1
    assert "p0" not in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("chekc", "report.pql"),
        ("check",),
        ("check", "absent.pql"),
        ("check", "."),
        ("check", "report.pql", "-c", "SELECT 1"),
        ("check", "report.pql", "--param", "e"),
        ("check", "report.pql", "--param", "=1"),
        ("check", "report.pql", "--param", "e=1", "--param", "e=2"),
        ("check", "report.pql", "--format", "xml"),
        ("check", "report.pql", "--ledger", "absent.db"),
        ("check", "report.pql", "--ledger", "."),
        ("check", "report.pql", "--as", " "),
        ("check", "report.pql", "--policy", "absent.pql"),
        ("check", "report\0.pql"),
        ("run", "report.pql", "--policy", "policy.pql"),
        ("policy",),
        ("policy", "apply"),
        ("policy", "apply", "absent.pql"),
        ("budget", "report.pql"),
    ],
)
def test_wrong_usage_is_one_line_and_two(applied: Command, arguments: tuple[str, ...]) -> None:
    wrong = applied(*arguments)
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.startswith("privql: ")
    assert len(wrong.err.splitlines()) == 1


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"SELECT '\xe9'", b"PAR1\x00\x15\x04"])
def test_what_is_no_text_is_wrong_usage(applied: Command, hospital: Path, raw: bytes) -> None:
    (hospital / "odd.pql").write_bytes(raw)
    for arguments in (("check", "odd.pql"), ("run", "odd.pql"), ("policy", "check", "odd.pql")):
        wrong = applied(*arguments, *(ALICE if arguments[0] != "policy" else ()))
        assert wrong.code == 2
        assert "odd.pql" in wrong.err
    assert applied("check", "-", *ALICE, stdin=raw).code == 2


def test_a_ledger_that_is_none_is_refused_in_plain_words(applied: Command, hospital: Path) -> None:
    (hospital / "text.db").write_text("this is no database, but it is long enough to be looked at " * 30)
    wrong = applied("check", "report.pql", *ALICE, "--ledger", "text.db")
    assert wrong.code in (1, 2)
    assert wrong.out == ""
    assert wrong.err


def test_an_empty_file_is_accepted_and_free(applied: Command) -> None:
    for command in ("check", "run"):
        assert applied(command, "-", *ALICE, stdin="-- nothing yet\n").code == 0


def test_a_byte_order_mark_is_not_text(applied: Command) -> None:
    assert applied("check", "-", *ALICE, stdin=b"\xef\xbb\xbfSELECT COUNT(*) FROM patients SPEND EPSILON 0.1").code == 0
    assert "<stdin>:1:1\n" in applied("check", "-", *ALICE, stdin=b"\xef\xbb\xbfSELEC 1").err


def test_help_and_version_are_accepted(privql: Command) -> None:
    assert privql("--version").out.startswith("privql ")
    helped = privql("run", "--help")
    assert helped.code == 0
    assert "--partial" in helped.out


def test_what_can_be_seen_without_spending_is_seen(applied: Command) -> None:
    text = """SHOW TABLES; SHOW BUDGET; SHOW RELEASES; DESCRIBE patients; SELECT * FROM DUMMY patients LIMIT 2;
        EXPLAIN SELECT COUNT(*) FROM patients SPEND EPSILON 1; SELECT 1 + 1 AS two"""
    seen = applied("run", "-c", text, *ALICE)
    assert seen.code == 0, seen.err
    for word in ("private, of patient", "research", "DECIMAL(10,2)", "Laplace", "invented", "two"):
        assert word in seen.out
    assert json.loads(applied("budget", *ALICE, "--format", "json").out)["budgets"][0]["spent"] == "0"
