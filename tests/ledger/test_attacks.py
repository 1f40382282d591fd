"""Averaging, differencing and trackers, asked by hostile analysts through real sessions until the ledger stops them.

The secret is whether the chief of a ward is in the table. Each of many wards is a target of its own, so that one ledger
tells how often an attacker guesses right: with the true answers always, and under (ε, δ), whatever is asked and with
whomever he colludes, in (e^ε + δ)/(e^ε + 1) of all cases at most (`PRIVQL_SOAK=1 … -s` prints both, for more targets).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from privql.attacks.formulas import QUESTIONS, WITH_HER
from privql.attacks.theory import best, permitted
from privql.attacks.wards import OTHERS
from privql.diagnostics import PrivQLError
from privql.kernel.cost import Cost
from privql.ledger import accounts
from tests.assurance import SOAK, assured
from tests.ledger.attackers import (
    ASKED,
    OTHERWISE,
    SAME,
    TWENTIETH,
    WARDS,
    Draws,
    Guesses,
    Hospital,
    question,
)

PARTS = 16 if SOAK else 2  # how often an attack of several questions is made before the budget ends
MARGIN = math.sqrt(math.log(1e7) / (2 * WARDS))  # chance passes it once in 10^7 (Hoeffding)
Build = Callable[..., Hospital]
Given = TypeVar("Given")
Told = TypeVar("Told")


@pytest.fixture
def hospital(tmp_path: Path) -> Iterator[Build]:
    made: list[Hospital] = []

    def build(budget: str, *analysts: str, limit: str = "") -> Hospital:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        given = f"GRANT research TO {', '.join(analysts)} LIMIT EPSILON {limit} EACH;" if limit else ""
        declared = f"CREATE BUDGET research FOR UNIT person {budget};{given}"
        made.append(Hospital(folder, declared, analysts or ("mallory", "friend")))
        return made[-1]

    yield build
    for one in made:
        one.close()


def rate(guesses: Guesses, hospital: Hospital) -> float:
    return float((guesses == hospital.secret).mean())


def refused(ask: Callable[[], object]) -> list[str]:
    with pytest.raises(PrivQLError) as caught:
        ask()
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


def once(ask: Callable[[Given], Told], given: Given) -> list[Told]:
    return [ask(given)]


def until_refused(ask: Callable[[], list[Told]]) -> list[Told]:
    """What comes of it: nothing, once the budget cannot pay. Anything else that goes wrong is no way to end."""
    try:
        return ask()
    except PrivQLError as problem:
        if [found.code for found in problem.diagnostics] != ["PQL0502"]:
            raise
        return []


def told(attack: str, draws: int, right: float, most: float) -> None:
    if SOAK:
        print(f"\n| {attack} | {draws} | 100 % | {100 * right:.1f} % | {100 * most:.1f} % |")


# ---------------------------------------------------------------- averaging


def asked_in_all_ways(hospital: Hospital, draws: Draws, at: int) -> bool:
    """Whether anything new came of it: what is new is paid for, and what is paid for is new."""
    went = False
    for name, way in {**SAME, **OTHERWISE}.items():
        before, first = hospital.spent(), not draws.of
        seen = [draws.see(release) for release in until_refused(partial(way, hospital, at))]
        assert any(seen) == (hospital.spent() != before), name
        assert name in OTHERWISE or first or not any(seen), f"{name}: drawn again"
        went |= any(seen)
    return went


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_averaging_stops_at_the_budget(hospital: Build, delta: float) -> None:
    with assured("ledger-attacks") as tally:
        tally["tried"] += WARDS
        made, draws = hospital(f"EPSILON 1 DELTA {delta}" if delta else "EPSILON 1"), Draws()
        asked_in_all_ways(made, draws, 1)
        made.apply("REFRESH staff AS 'next month';")  # the owner's: the old texts are new questions, and paid for
        (again,) = question(made, f"{ASKED} {TWENTIETH}")
        assert draws.see(again) and again.cost == Cost(Fraction("0.05"))
        rounds = 2
        while asked_in_all_ways(made, draws, rounds):
            rounds += 1
        while rest := made.budget().left.epsilon:  # to the last crumb
            draws.see(made.of("mallory").run(f"{ASKED.replace('AS n', 'AS rest')} SPEND EPSILON $e", e=rest))
        assert not asked_in_all_ways(made, draws, rounds + 1)
        made.apply("REFRESH staff AS 'a year later';")
        for way in SAME.values():
            assert refused(partial(way, made, 0)) == ["PQL0502"]
        assert made.sound() and (delta or sum(draws.epsilons) == made.spent().epsilon == 1)
        right, law, most = rate(draws.likelier(0, 1) > 0, made), best(draws.epsilons), permitted(1, delta)
        told(f"averaging, δ = {delta}", len(draws.of), right, most)
        assert abs(right - law) <= MARGIN and law <= most and rate(draws.mean() > 0.5, made) <= most + MARGIN


def test_the_whole_budget_at_once_tells_what_it_may_and_no_more(hospital: Build) -> None:
    with assured("ledger-attacks") as tally:
        tally["tried"] += WARDS
        made, draws = hospital("EPSILON 1"), Draws()
        assert all(draws.see(one) for one in question(made, f"{ASKED} SPEND EPSILON 1"))
        assert refused(partial(question, made, f"{ASKED} ORDER BY n SPEND EPSILON 1e-9")) == ["PQL0502"]
        right = rate(draws.likelier(0, 1) > 0, made)
        told("one question", 1, right, permitted(1))
        assert best(draws.epsilons) == pytest.approx(permitted(1)) and abs(right - permitted(1)) <= MARGIN


# ---------------------------------------------------------------- differencing and trackers


def through_privql(hospital: Hospital, attack: str) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """What the attack makes of its answers, on average; and what whoever knows all others makes of them."""
    price, informed, asked = Fraction(1, QUESTIONS[attack] * PARTS), np.zeros(WARDS), 0
    made: list[NDArray[np.float64]] = []

    def count(where: str) -> NDArray[np.float64]:
        nonlocal asked, informed
        asked += 1
        draws = Draws()
        text = f"SELECT ward, COUNT(*) AS n{asked} FROM staff WHERE {where} GROUP BY ward SPEND EPSILON {price}"
        assert draws.see(hospital.of("mallory").run(text))
        informed += draws.likelier(hospital.exactly(where, False), hospital.exactly(where, True))
        return draws.mean()

    while found := until_refused(partial(once, WITH_HER[attack], count)):
        made += found
    return np.mean(made, axis=0), informed, asked - 1


@pytest.mark.parametrize("attack", WITH_HER)
def test_what_finds_her_in_true_answers_stops_at_the_budget(hospital: Build, attack: str) -> None:
    with assured("ledger-attacks") as tally:
        tally["tried"] += WARDS
        made = hospital("EPSILON 1")
        sizes = []

        def count(where: str) -> NDArray[np.float64]:
            sizes.append(made.exactly(where))
            return sizes[-1].astype(float)

        assert rate(WITH_HER[attack](count) == 1, made) == 1.0
        if attack != "differencing":  # no question is of few people, nor of nearly all: to refuse those would not help
            assert min(size.min() for size in sizes) >= 2 and max((size - len(OTHERS)).max() for size in sizes) <= -2
        naive, informed, asked = through_privql(made, attack)
        assert made.spent() == Cost(Fraction(1)) and asked == QUESTIONS[attack] * PARTS and made.sound()
        right = rate(informed > 0, made)
        told(attack, asked, right, permitted(1))
        assert max(right, rate(naive > 0.5, made)) <= permitted(1) + MARGIN


def test_nobody_is_singled_out_by_name(hospital: Build) -> None:
    made = hospital("EPSILON 1")
    for where in ("who = 'p7'", "who <> 'p7'", "who IN ('p7')", "who LIKE 'p7'", "who || '' = 'p7'"):
        asked = partial(question, made, f"SELECT COUNT(*) FROM staff WHERE {where} {TWENTIETH}")
        assert refused(asked) == ["PQL0405"], where
    assert made.spent() == Cost()


# ---------------------------------------------------------------- together


def conspire(hospital: Hospital, price: object, most: int = 40) -> Draws:
    """Each asks in turn, in words of her own, until nobody gets anything."""
    draws, refusals, sessions = Draws(), 0, [hospital.of(name) for name in hospital.analysts]
    for at in range(most):
        session = sessions[at % len(sessions)]
        text = f"{ASKED.replace('AS n', f'AS n{at}')} SPEND EPSILON {price}"
        got = until_refused(partial(once, session.run, text))
        assert all(map(draws.see, got))
        refusals = 0 if got else refusals + 1
        if refusals > len(sessions):
            break
    return draws


@pytest.mark.parametrize(
    ("analysts", "limit", "price", "together"),
    [(2, "0.75", "0.05", "1"), (2, "0.25", "0.05", "0.5"), (10, "0.25", "0.05", "1"), (10, "1", "1", "1")],
)
def test_those_who_collude_get_no_more_than_the_budget(
    hospital: Build, analysts: int, limit: str, price: str, together: str
) -> None:
    with assured("ledger-attacks") as tally:
        tally["tried"] += WARDS
        names = [f"eve{at}" for at in range(analysts)]
        made = hospital("EPSILON 1", *names, limit=limit)
        draws = conspire(made, price)
        assert made.spent() == Cost(Fraction(together)) == Cost(sum(draws.epsilons, Fraction(0))) and made.sound()
        assert max(made.budget(name).own.epsilon for name in names) <= Fraction(limit)
        with made.open(names[0].upper()) as other:  # her name in another case is hers
            assert refused(partial(other.run, f"{ASKED} ORDER BY n SPEND EPSILON {price}")) == ["PQL0502"]
        right, most = rate(draws.likelier(0, 1) > 0, made), permitted(float(Fraction(together)))
        told(f"{analysts} analysts of ε = {limit} each", len(draws.of), right, most)
        assert right <= most + MARGIN


# ---------------------------------------------------------------- planted


def forgetting(monkeypatch: pytest.MonkeyPatch, scope: int) -> None:
    honest = accounts.scopes
    monkeypatch.setattr(accounts, "scopes", lambda *of: [one for at, one in enumerate(honest(*of)) if at != scope])


@pytest.mark.parametrize("scope", [0, 1, 2], ids=["unit", "budget", "analyst"])
def test_planted_a_ledger_that_forgets_to_add_is_noticed(
    hospital: Build, monkeypatch: pytest.MonkeyPatch, scope: int
) -> None:
    forgetting(monkeypatch, scope)
    with pytest.raises(AssertionError):
        test_those_who_collude_get_no_more_than_the_budget(hospital, 2, "0.25", "0.125", "0.5")


def test_planted_without_a_budget_they_learn_more_than_it_permits(
    hospital: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetting(monkeypatch, 1)
    made = hospital("EPSILON 1", *(f"eve{at}" for at in range(10)), limit="1")
    draws = conspire(made, "1")
    assert rate(draws.likelier(0, 1) > 0, made) > permitted(1) + MARGIN
    assert rate(draws.mean() > 0.5, made) > permitted(1) + MARGIN
