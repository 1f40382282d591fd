"""The kit sees what an engine gets wrong, loses, fails at or refuses, and says of which operation."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from privql.conformance import kit
from privql.conformance.kit import FULL, QUICK, Extent, Stored, conformance
from privql.conformance.pools import calls
from privql.conformance.report import Outcome, Report
from privql.conformance.terms import Terms
from privql.engines.duckdb import spelling
from privql.engines.duckdb.databases import of_values
from privql.engines.interface import Engine, EngineError
from privql.engines.sql import choices, rows
from privql.kernel import features, sums, terms
from privql.kernel.scalars import Value, ValueType
from privql.surfaces import conformance as command
from privql.surfaces.cli import main
from tests.assurance import assured, length

SCALARS, TERMS = Extent(12, 1, 10**6, 0, 0), Extent(1, 0, 10**6, 4, 12)


def duckdb(stored: Stored) -> Engine:
    return of_values("duckdb://", stored, lambda cause: None)


def outcomes(report: Report) -> dict[str, Outcome]:
    return {each.operation: each for each in report.outcomes}


@pytest.fixture(scope="module")
def quick() -> Report:
    return conformance(duckdb, length(QUICK, FULL), seed=1)


def test_duckdb_means_what_it_should(quick: Report) -> None:
    with assured("conformance") as tally:
        tally["tried"] += quick.cases
        assert quick.ok, str(quick)
    assert str(quick).endswith(f"{quick.cases} cases, differences: none")


def test_every_operation_is_tried(quick: Report) -> None:
    tried = {each.operation for each in quick.outcomes if each.cases > each.refused}
    assert tried >= {call.resolved.op for call in calls()}


def test_every_primitive_is_tried_at_length() -> None:
    everything = {type.__name__ for type in (*terms.Relation.__args__, *sums.Contribution.__args__)} | {
        "Public",
        "Keys",
    }
    everything |= {type.__name__ for type in features.Feature.__args__}
    found = outcomes(conformance(duckdb, TERMS, seed=8))
    assert everything <= set(found), everything - set(found)
    assert not any(each.differences for each in found.values())


@pytest.mark.parametrize(
    ("op", "fault"),
    [
        ("clamp", lambda call: f"least(greatest({call.args[0]}, {call.args[1]}), {call.args[2]})"),
        ("is_null", lambda call: "FALSE"),
        ("greatest", lambda call: choices.SPELLINGS["least"](call)),
        ("upper", lambda call: f"upper({call.args[0]})"),
    ],
)
def test_a_wrong_spelling_is_seen(op: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(spelling.SPELLINGS, op, fault)
    monkeypatch.setattr(kit, "calls", lambda: [call for call in calls() if call.resolved.op in (op, "add")])
    found = outcomes(conformance(duckdb, Extent(60, 10**6, 8, 0, 0)))
    assert found[op].differences and "means" in found[op].example
    assert found["add"].cases and not found["add"].differences


def test_an_operation_that_fails_is_said_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(spelling.SPELLINGS, "reverse", lambda call: "error('no')")
    monkeypatch.setitem(spelling.SPELLINGS, "repeat", lambda call: "no_such_function()")
    some = ("reverse", "repeat", "lower")
    monkeypatch.setattr(kit, "calls", lambda: [call for call in calls() if call.resolved.op in some])
    found = outcomes(conformance(duckdb, Extent(12, 10**6, 8, 0, 0)))
    assert found["reverse"].differences and "the engine fails" in found["reverse"].example
    assert found["repeat"].refused == found["repeat"].cases and not found["repeat"].differences
    assert found["lower"].cases and not found["lower"].refused and not found["lower"].differences


def test_a_primitive_that_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "keep_rows", lambda below, term, draft: below)
    report = conformance(duckdb, Extent(1, 0, 10**6, 1, 12))
    assert outcomes(report)["KeepRows"].differences and not report.ok


class _Losing:
    """An engine that loses a group, or its connection."""

    def __init__(self, real: Engine, lost: Callable[[], None]) -> None:
        self._real, self._lost = real, lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def groups(self, *given: Any) -> Any:
        self._lost()
        return self._real.groups(*given)[1:]


def test_no_random_relation_has_two_columns_of_one_name() -> None:
    """The kernel's rules refuse one that has, and what it means is for nobody to say."""
    drawn = Terms(Random(1))
    for _ in range(2000):
        made = drawn.relation("u")
        while isinstance(made, terms.Project | terms.Filter | terms.KeepRows):
            names = [name for name, _ in made.columns] if isinstance(made, terms.Project) else []
            assert len(set(names)) == len(names), names
            made = made.input


def test_rows_that_are_lost_and_connections_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit, "calls", lambda: [call for call in calls() if call.resolved.op == "neg"])
    losing = conformance(lambda stored: _Losing(duckdb(stored), lambda: None), SCALARS)
    assert "loses rows" in outcomes(losing)["neg"].example

    def gone() -> None:
        raise EngineError("unreachable", "table")

    failing = conformance(lambda stored: _Losing(duckdb(stored), gone), SCALARS)
    assert "the engine fails" in outcomes(failing)["neg"].example


def test_what_a_column_cannot_have_is_left_out() -> None:
    def short(value: Value, of: ValueType) -> bool:
        return not isinstance(value, str) or len(value) < 10

    def opening(stored: Stored) -> Engine:
        texts = [v for _, rows in stored.values() for row in rows for v in row.values() if isinstance(v, str)]
        assert all(len(text) < 10 for text in texts)
        return duckdb(stored)

    assert conformance(opening, Extent(24, 1, 10**6, 1, 4), holds=short).ok


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(kit, "QUICK", SCALARS)
    monkeypatch.setattr(kit, "calls", lambda: [call for call in calls() if call.resolved.op in ("neg", "abs")])
    assert main(["conformance", "--quick"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["operation", "cases", "refused", "differences"]
    assert [line.split()[0] for line in table[1:]] == ["abs", "neg", str(24)]
    monkeypatch.setitem(spelling.SPELLINGS, "neg", lambda call: call.args[0].sql)
    assert main(["conformance", "duckdb://", "--quick", "--format", "json"]) == 1
    assert '"ok": false' in capsys.readouterr().out
    cases, wrong = command.quickly("duckdb://")
    assert cases == 24 and wrong.startswith("neg, ")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://olga:s3cret@h/", "a password on a command line"),
        ("oracle://h/", "nothing here reads `oracle://h/`"),
        ("nowhere", "no connection is named `nowhere`"),
    ],
)
def test_what_cannot_be_tried(address: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", address]) == 2
    said = capsys.readouterr().err
    assert told in said and "s3cret" not in said
