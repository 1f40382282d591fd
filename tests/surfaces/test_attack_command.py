"""`privql attack`: what it prints and draws, and what it refuses before anything is tried."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from privql.attacks import ROWS
from privql.surfaces import attack
from tests.surfaces.conftest import Command


def test_an_attack_is_told_and_drawn(privql: Command, hospital: Path) -> None:
    done = privql("attack", "differencing", "--rows", "200", "--epsilon", "2", "--delta", "0", "--out", "picture.svg")
    assert done.code == 0 and done.err == ""
    assert done.out.startswith("differencing: ") and "| through PrivQL |" in done.out and "88.1 %" in done.out
    assert (hospital / "picture.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_the_names_are_those_of_the_attacks() -> None:
    assert tuple(ROWS) == attack.NAMES


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("guessing",),
        *(
            (option, text)
            for option in ("--epsilon",)
            for text in ("0", "-1", "nan", "inf", "1/3", "1e999999999", "21")
        ),
        *(("--delta", text) for text in ("-1e-6", "1", "x", "1e-999999999", "NaN", "0.5", "9" * 50)),
        *(("--rows", text) for text in ("0", "-5", "1000000000", "1.5", "9" * 30)),
        *(("--seed", text) for text in ("-1", "x", str(2**63))),
        ("--out", "nowhere/picture.svg"),
        ("--out", "."),
    ],
)
def test_wrong_numbers_are_refused_in_a_line(privql: Command, arguments: tuple[str, ...]) -> None:
    given = arguments if not arguments or not arguments[0].startswith("-") else ("averaging", *arguments)
    done = privql("attack", *given)
    assert done.code == 2 and done.out == ""
    assert done.err.startswith("privql: ") and done.err.count("\n") == 1


def test_reconstruction_wants_a_power_of_two(privql: Command) -> None:
    done = privql("attack", "reconstruct", "--rows", "1000")
    assert done.code == 2 and "power of two" in done.err


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    tick, done = attack._progress()
    tick(0.5)
    assert screen.getvalue().count("█") == attack.WIDTH // 2 and "50%" in screen.getvalue()
    done()
    assert screen.getvalue().endswith(" \r")


def test_an_interrupt_takes_the_bar_away_and_leaves(privql: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("privql.attacks.attack", interrupted)
    done = privql("attack", "tracker")
    assert done.code == 130 and done.out == ""


def test_more_than_theory_permits_is_a_fault(privql: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from privql.attacks.outcome import Line, Outcome

    line = Line("by magic", 1.0, 1.0, None, 0.73, 10_000)
    monkeypatch.setattr("privql.attacks.attack", lambda *given: Outcome("tracker", "who?", "guesses", [line], "<svg/>"))
    done = privql("attack", "tracker")
    assert done.code == 1 and "by magic" in done.out and "a fault in PrivQL" in done.err
