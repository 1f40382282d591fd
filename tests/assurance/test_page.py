"""Every line of docs/assurance.md is of a machine that is there, and every machine has its line."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from tests.assurance import __main__ as runner
from tests.assurance import assured, machines, page, recorder
from tests.assurance.machines import MACHINES
from tests.assurance.parts import shortened, written_out
from tests.docs.markdown import REWRITE, ROOT

TESTS = ROOT / "tests"
_RECORDED = re.compile(r'\bassured\("([\w-]+)"\)')
_LONGER = re.compile(r"^from tests\.assurance import .*\b(length|SOAK)\b", re.MULTILINE)
_OWN = "assurance"


def recording() -> dict[str, set[str]]:
    """Which machines each file records."""
    found = {}
    for path in sorted(TESTS.rglob("*.py")):
        if path.parent.name != _OWN:
            found[str(path.relative_to(TESTS))] = set(_RECORDED.findall(path.read_text(encoding="utf-8")))
    return found


def test_the_table_is_what_the_machines_counted() -> None:
    if REWRITE:
        page.write()
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.render(text, page.runs()), "`python -m tests.assurance --page` writes it"


def test_every_line_has_its_machine_and_every_machine_its_paragraph() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    named = [re.search(r"MACHINE=([\w-]+)", line) for line in lines]
    assert [one and one[1] for one in named] == list(MACHINES)
    assert set(page.runs()) <= set(MACHINES)
    told = [" ".join(one.split()) for one in text.split("\n\n") if one.startswith("**")]
    assert sorted(name for one in told for name in re.findall(r"\*\*([\w-]+)\*\* \(", one)) == sorted(MACHINES)
    for one in told:
        assert "*Cannot see*: " in one, one
        for name, files in re.findall(r"\*\*([\w-]+)\*\* \(([^)]*)\)", one):
            assert set(re.findall(r"`tests/([^`]*)`", files)) == MACHINES[name].files, name


def test_every_machine_is_there_and_records_itself() -> None:
    recorded = recording()
    for machine in MACHINES.values():
        for test in machine.tests:
            file, _, name = test.partition("::")
            text = (TESTS / file).read_text(encoding="utf-8")
            assert not name or f"\ndef {name}(" in text, test
            assert machine.name in recorded[file], f"{test} records nothing of {machine.name}"
    for file, names in recorded.items():
        for name in names:
            assert name in MACHINES and file in MACHINES[name].files, f"{file} records {name}"


def test_whatever_may_take_longer_is_a_machine() -> None:
    ours = {file for machine in MACHINES.values() for file in machine.files}
    longer = {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("test_*.py")
        if path.parent.name != _OWN and _LONGER.search(path.read_text(encoding="utf-8"))
    }
    assert longer - ours == set()


@pytest.fixture
def soaking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(recorder, "SOAK", True)
    monkeypatch.setattr(recorder, "FOLDER", tmp_path)
    monkeypatch.delenv("PRIVQL_UNTIL", raising=False)
    monkeypatch.setitem(MACHINES, "it", machines.Machine("it", "", "cases", 3, ()))
    return tmp_path


def broken_off(error: BaseException) -> None:
    with assured("it") as tally:
        tally["tried"] += 1
        raise error


def test_parts_are_added_up_and_what_fails_is_wrong(soaking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (1, 2):
        monkeypatch.setenv("PYTEST_CURRENT_TEST", f"a.py::test[{part}] (call)")
        with assured("it") as tally:
            tally["tried"] += 2
            tally["claims"] += 5
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "a.py::test[3] (call)")
    with pytest.raises(AssertionError, match="as planned"):
        broken_off(AssertionError("as planned"))
    assert recorder.kept("it") == ({"tried": 4, "claims": 10, "wrong": 1}, ["a.py::test[1]", "a.py::test[2]"])
    recorder.forget("it")
    assert recorder.kept("it") == ({}, [])


PARTS = [*(f"a.py::test[{part}]" for part in (0, 1, 2, 7)), "a.py::all", "a.py::test[wide-3]", "b.py::x[é]"]


def test_parts_are_written_in_short_and_read_again() -> None:
    short = shortened(PARTS)
    assert short == {"a.py::test[": "0-2 7", "a.py::test[wide-": "3", "a.py::all": "", "b.py::x[é]": ""}
    assert written_out(short) == [*PARTS[:4], "a.py::test[wide-3]", "a.py::all", "b.py::x[é]"]


def test_who_goes_on_leaves_out_what_has_passed_and_tries_again_what_was_wrong(
    soaking: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: dict[str, page.Run] = {}
    monkeypatch.setattr(runner, "runs", lambda: pages)
    monkeypatch.setattr(runner, "keep", pages.__setitem__)
    monkeypatch.setattr(runner, "FOLDER", runner.ROOT)
    asked: list[list[str]] = []

    def ended(command: list[str], environment: dict[str, str], minutes: float | None) -> int:
        parts = [part for part in PARTS[:3] if f"--deselect={part}" not in command]
        asked.append(parts)
        for part in parts:
            monkeypatch.setenv("PYTEST_CURRENT_TEST", f"{part} (call)")
            with suppress(ValueError), assured("it") as tally:
                tally["tried"] += 1
                if part == "a.py::test[1]" and len(asked) == 1:
                    raise ValueError
        return int(len(asked) == 1)

    monkeypatch.setattr(runner, "_ended", ended)
    assert not runner._run(MACHINES["it"], None, True)
    assert pages["it"]["figures"] == {"tried": 2, "wrong": 1} and pages["it"]["parts"] == {"a.py::test[": "0 2"}
    assert runner._run(MACHINES["it"], None, True)
    assert asked[1] == ["a.py::test[1]"]
    assert pages["it"]["figures"] == {"tried": 3, "wrong": 0} and "parts" not in pages["it"]
    assert runner._run(MACHINES["it"], None, True) and len(asked[2]) == 3, "what is whole begins anew"


def test_a_machine_that_tries_nothing_is_wrong(soaking: Path) -> None:
    with pytest.raises(AssertionError, match="tried nothing"), assured("it"):
        pass
    assert recorder.kept("it")[0]["wrong"] == 1


def test_what_was_interrupted_is_not_counted(soaking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVQL_UNTIL", "1")
    with pytest.raises(RuntimeError):
        broken_off(RuntimeError("Query interrupted"))
    monkeypatch.delenv("PRIVQL_UNTIL")
    with pytest.raises(KeyboardInterrupt):
        broken_off(KeyboardInterrupt())
    assert not list(soaking.iterdir())


def test_a_run_ends_with_its_time_and_says_how_it_ended() -> None:
    def ended(code: str, minutes: float | None) -> int | None:
        return runner._ended([sys.executable, "-c", code], dict(os.environ), minutes)

    assert ended("raise SystemExit(3)", None) == 3
    assert ended("raise SystemExit(0)", 1) == 0
    assert ended("import time; time.sleep(600)", 1 / 600) is None


def test_what_is_not_whole_or_not_right_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machines.Machine("it", "this", "cases", 3000, (), ("reached", "claims", Fraction(1, 2)))
    run = {"since": "2026-01-02", "date": "2026-01-02", "seconds": 60, "command": "x", "failed": False}
    shown = page._row(machine, {**run, "figures": {"tried": 1500, "wrong": 0, "claims": 8, "reached": 6}})
    assert shown == "| this | 1,500 of 3,000 cases | 0 | 75.0 % of 8 claims reached (≥ 50 %) | 2026-01-02, 60 s | `x` |"
    later = {**run, "date": "2026-01-04", "figures": {"tried": 3000, "wrong": 0, "claims": 8, "reached": 6}}
    assert "| 2026-01-02 to 2026-01-04, 60 s |" in page._row(machine, later)
    assert "| 3,000 cases | 2 |" in page._row(machine, {**run, "figures": {"tried": 3000, "wrong": 2}})
    assert "| its tests failed |" in page._row(machine, {**run, "failed": True, "figures": {"tried": 1, "wrong": 0}})
    assert "| 0 of 3,000 cases | | | not yet run |" in page._row(machine, None)


def test_what_is_kept_is_of_one_shape() -> None:
    for name, run in json.loads(page.KEPT.read_text(encoding="utf-8")).items():
        assert set(run) - {"parts"} == {"since", "date", "seconds", "command", "failed", "figures"}, name
        assert "parts" not in run or run["figures"]["tried"] < MACHINES[name].full
        assert run["figures"]["tried"] > 0 and re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"])
