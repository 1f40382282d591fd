"""Each attack finds out what it wants from exact answers, and through PrivQL what theory says and no more.

`PRIVQL_SOAK=1` makes them as long as `privql attack` does. A fault in the noise is found out by the same attacks.
"""

from __future__ import annotations

import xml.etree.ElementTree as Xml
from collections.abc import Callable
from fractions import Fraction

import pytest

import privql.release
from privql.attacks import ROWS, Given, Outcome, attack, refused
from privql.attacks.asked import Exact, Paid, Through
from privql.attacks.outcome import Line, sparkline
from privql.attacks.wards import CHIEF, TABLES, Wards, counted
from tests.assurance import SOAK, assured
from tests.docs.markdown import DOCS

SIZES = {"averaging": 150, "differencing": 200, "tracker": 150, "reconstruct": 128, "membership": 400}


def carried_out(name: str, epsilon: str = "1", delta: str = "1e-6", rows: int | None = None) -> Outcome:
    if name == "averaging" and not SOAK:
        delta = "0"  # a δ buys many more answers
    return attack(name, Given(Fraction(epsilon), Fraction(delta), None if SOAK else rows or SIZES[name], seed=3))


@pytest.mark.parametrize("name", ROWS)
def test_exact_answers_tell_all_and_privql_what_theory_says(name: str) -> None:
    with assured("attacks") as tally:
        tally["tried"] += 1
        outcome = carried_out(name)
        for line in outcome.lines:
            assert line.truth >= (0.95 if "means" in line.way else 0.99), line
            assert line.within, line
        assert len(outcome.lines) >= 3 and outcome.within
        picture = Xml.fromstring(outcome.picture)
        assert picture.tag.endswith("svg") and "prefers-color-scheme:dark" in outcome.picture
        assert "nan" not in outcome.picture and "http" not in outcome.picture.replace("http://www.w3.org/2000/svg", "")
        told = str(outcome)
        assert told.startswith(f"{name}: ") and all(line.way in told for line in outcome.lines)


@pytest.mark.parametrize(("name", "epsilon"), [("differencing", "0.25"), ("reconstruct", "3"), ("membership", "3")])
def test_without_a_delta_and_with_other_budgets(name: str, epsilon: str) -> None:
    assert carried_out(name, epsilon, "0", rows=64).within


@pytest.mark.parametrize("name", ROWS)
def test_planted_a_tenth_of_the_noise_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quieter(monkeypatch, Fraction(1, 10))
    outcome = carried_out(name)
    assert [line for line in outcome.lines if line.privql > line.most + line.margin], outcome
    assert not outcome.within


@pytest.mark.skipif(not SOAK, reason="takes many rows")
@pytest.mark.parametrize("name", ROWS)
def test_planted_half_of_the_noise_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quieter(monkeypatch, Fraction(1, 2))
    assert not carried_out(name).within


def quieter(monkeypatch: pytest.MonkeyPatch, part: Fraction) -> None:
    for sampler in ("discrete_laplace", "rounded_gaussian"):
        honest: Callable[..., object] = getattr(privql.release, sampler)
        monkeypatch.setattr(privql.release, sampler, _scaled(honest, part))


def _scaled(honest: Callable[..., object], part: Fraction) -> Callable[..., object]:
    return lambda scale, *more, **named: honest(scale * part, *more, **named)


def test_the_budget_ends_and_nothing_else_is_taken_for_its_end() -> None:
    wards = Wards(10, seed=1)
    with Through(TABLES, wards.frames, Given(delta=Fraction(0))) as one:
        half = Paid(Fraction(1, 2))
        assert one.ask(counted(CHIEF), half) is not None and one.ask(counted(CHIEF), half) is not None
        assert one.paid == [Fraction(1, 2)], "the same again is free"
        assert one.ask_as_plan([counted(CHIEF, "a"), counted(CHIEF, "b")], half) == []
        assert one.ask(counted(CHIEF, "c"), half) is not None and one.ask(counted(CHIEF, "d"), half) is None
        with pytest.raises(privql.PrivQLError, match="PQL0405"):
            one.ask("SELECT COUNT(*) FROM staff WHERE who = 'p1'", half)


def test_a_plan_is_answered_as_its_questions_are() -> None:
    wards = Wards(40, seed=1)
    with Through(TABLES, wards.frames, Given(Fraction(20), Fraction(0))) as one, Exact(wards.frames) as exact:
        first, second = one.ask_as_plan([counted(CHIEF), counted("night", "m")], Paid(Fraction(10)))
        assert wards.right(first[:, 1] - 0.5) > 0.9
        assert abs(second[:, 1] - exact.ask(counted("night"))[:, 1]).max() <= 3


@pytest.mark.parametrize("name", ROWS)
def test_what_an_attack_is_not_made_on(name: str) -> None:
    least, most = ROWS[name]
    assert refused(name, least) is refused(name, most) is refused(name, None) is None
    for rows in (0, -1, least - 1, most + 1, 10**9):
        assert refused(name, rows)
        with pytest.raises(ValueError, match="is made on"):
            attack(name, Given(rows=rows))
    assert name != "reconstruct" or refused(name, 1000)


def test_each_way_has_the_chance_of_its_own_tries() -> None:
    lines = [Line("all", 1.0, 0.52, 0.53, 0.73, 4096), Line("few", 1.0, 0.56, None, 0.73, 256)]
    told = str(Outcome("reconstruct", "who?", "bits recovered", lines, ""))
    rows = {row[0].strip(): row[4].strip() for row in (line.split("|") for line in told.split("\n")) if len(row) > 5}
    assert rows == {"way": "±", "all": "1.5 %", "few": "6.1 %"}


def test_samples_of_the_page_are_what_is_predicted_but_for_chance_and_it_says_which_are_not() -> None:
    page = (DOCS / "attacks.md").read_text("utf-8")
    rows = [row for line in page.split("\n") if len(row := [cell.strip(" %") for cell in line.split(" | ")]) == 7]
    tried = [(row[0], *map(float, row[3:6])) for row in rows if row[0] != "way" and row[5]]
    assert len(rows) > 24 and len(tried) > 16
    beyond = [found for _, found, chance, predicted in tried if abs(found - predicted) > chance + 0.05]
    assert len(beyond) <= 2 and all(f"{found} %, where" in page for found in beyond)


def test_a_sparkline_goes_from_a_half_to_all() -> None:
    assert sparkline([0.0, 0.5, 0.75, 1.0, 2.0], 1.0) == "▁▁▅██"
    assert len(sparkline([0.6] * 1000, 1.0)) == 48
