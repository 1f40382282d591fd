"""The contract of `check --format json`."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from privql.plan.amounts import ZERO, Amount
from tests.check.clinic import clinic

DIAGNOSTIC = {"code", "severity", "line", "column", "span", "message", "why", "help", "fixes"}


def shape(value: Any) -> Any:
    match value:
        case dict():
            return {key: shape(part) for key, part in value.items()}
        case list():
            return [shape(part) for part in value]
        case _:
            return value


def test_json_of_a_check() -> None:
    with clinic() as session:
        text = "\nSELECT sex, COUNT(*) AS n,\n       AVG(age) FROM patients\nGROUP BY sex SPEND EPSILON 1/2;\nSELECT 1"
        found = json.loads(json.dumps(session.check_text(text, name="report.pql").to_json()))
    first, second = found.pop("statements")
    assert found == {
        "version": 1,
        "ok": True,
        "file": "report.pql",
        "params": [],
        "total": {"epsilon": "1/2", "delta": "0"},
        "costs": [
            {"budget": "research", "unit": "patient", "epsilon": "1/2", "delta": "0",
             "charged": {"epsilon": "1/2", "delta": "0"}, "fits": True, "left_after": "1999/2"},
        ],
        "diagnostics": [],
    }  # fmt: skip
    measurements, columns = first.pop("measurements"), first.pop("columns")
    assert first == {
        "line": 2,
        "kind": "select",
        "ok": True,
        "span": {"start": [2, 1], "end": [4, 31]},
        "free": None,
        "groups": 4,
        "cost": {"epsilon": "1/2", "delta": "0"},
    }
    assert columns == [
        {"name": "sex", "type": "TEXT", "label": "Released", "nullable": True,
         "domain": "{'F', 'M', 'X'} or NULL", "halfwidth95": None},
        {"name": "n", "type": "INT", "label": "Released", "nullable": False, "domain": "any, not NULL",
         "halfwidth95": "12"},
        {"name": "avg", "type": "FLOAT", "label": "Released", "nullable": True, "domain": "[0, 120] or NULL",
         "halfwidth95": None},
    ]  # fmt: skip
    assert measurements[0] == {
        "text": "COUNT(*)",
        "line": 2,
        "column": 13,
        "block": 0,
        "unit": "patient",
        "rows_per_unit": "1",
        "l1": "1",
        "l2_squared": "1",
        "mechanism": "discrete_laplace",
        "release": "sum",
        "scale": "4",
        "grid": "1",
        "epsilon": "1/4",
        "delta": "0",
    }
    assert (measurements[1]["text"], measurements[1]["line"], measurements[1]["l1"]) == ("AVG(age)", 3, "120")
    assert second["free"] == "post-processing" and second["cost"] == {"epsilon": "0", "delta": "0"}
    assert second["groups"] is None and second["measurements"] == []
    assert second["columns"][0]["label"] == "Public" and second["columns"][0]["domain"] == "{1}"


def test_it_is_said_how_many_groups_there_will_be() -> None:
    with clinic() as session:
        of = {
            "sex, smoker": 12,
            "CUBE (sex, smoker)": 20,
            "ROLLUP (sex, smoker)": 17,
            "GROUPING SETS ((sex), (smoker))": 7,
        }
        for keys, groups in of.items():
            query = f"SELECT COUNT(*) AS n FROM patients GROUP BY {keys} SPEND EPSILON 1"
            check = session.check(query)
            assert check.groups == groups == len(session.run(query).rows)
            assert f", {groups} groups\n" in str(check)
        assert "group" not in str(session.check("SELECT COUNT(*) AS n FROM patients SPEND EPSILON 1"))


def test_json_of_symbols_and_faults() -> None:
    with clinic() as session:
        text = "SELECT COUNT(* SPEND $e), COUNT(age SPEND $e) FROM patients; SELECT nam FROM regions"
        found = json.loads(json.dumps(session.check_text(text).to_json()))
    assert found["ok"] is False and found["params"] == ["e"]
    assert found["total"] == {"epsilon": "2*$e", "delta": "0"}
    assert found["costs"][0]["epsilon"] == "2*$e" and found["costs"][0]["left_after"] == "1000 + -2*$e"
    assert found["statements"][0]["measurements"][0]["scale"] == "1/($e)"
    assert [column["halfwidth95"] for column in found["statements"][0]["columns"]] == [None, None]
    (fault,) = found["diagnostics"]
    assert set(fault) == DIAGNOSTIC
    assert fault["code"] == "PQL0202" and fault["severity"] == "error" and (fault["line"], fault["column"]) == (1, 69)
    assert fault["fixes"] == [{"span": {"start": [1, 69], "end": [1, 72]}, "text": "name"}]
    assert fault["why"] is None and fault["help"] == "did you mean `name`?"


def test_amounts_with_parameters_are_written_for_people() -> None:
    e, f = (Amount(params=((name, Fraction(1)),)) for name in "ef")
    for amount, text in [
        (Amount(Fraction(5, 2)) - e.times(Fraction(2)), "2.5 - 2*$e"),
        (Amount(Fraction(1, 3)) + e + f.times(Fraction(1, 4)), "1/3 + $e + 0.25*$f"),
        (f - e, "$f - $e"),
        (ZERO - e, "-$e"),
        (ZERO - Amount(Fraction(1, 2)), "-0.5"),
        (ZERO, "0"),
    ]:
        assert amount.text == text
