"""Sums and differences of counts that come to one person, whether each is of many people or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privql.attacks.asked import Exact, Numbers, Paid, Through
from privql.attacks.outcome import Given, Line
from privql.attacks.theory import best, permitted, summed
from privql.attacks.wards import CHIEF, TABLES, Wards, counted

Count = Callable[[str], Numbers]  # how many there are of it in each ward
NIGHT, TOP, MAN = "night", "grade = 9 AND sex = 'F'", "sex = 'M'"
WITH_HER: dict[str, Callable[[Count], Numbers]] = {
    "differencing": lambda q: q("TRUE") - q(f"NOT ({CHIEF})"),
    "tracker": lambda q: q(TOP) - q(f"{TOP} AND NOT {NIGHT}"),
    "general tracker": lambda q: q(f"{CHIEF} OR {MAN}") + q(f"{CHIEF} OR NOT {MAN}") - q(MAN) - q(f"NOT {MAN}"),
}
QUESTIONS = {"differencing": 2, "tracker": 2, "general tracker": 4}


def exactly(wards: Wards, formula: str) -> Numbers:
    with Exact(wards.frames) as exact:
        return WITH_HER[formula](lambda where: exact.ask(counted(where))[:, 1])


def through(wards: Wards, formula: str, given: Given, times: int = 1) -> tuple[Numbers, Line]:
    """Its questions share the budget; `times`: all of them so often, in other words, for what is averaged."""
    questions = QUESTIONS[formula] * times
    price = given.epsilon / questions
    asked = 0
    with Through(TABLES, wards.frames, given) as one:

        def count(where: str) -> Numbers:
            nonlocal asked
            asked += 1
            answer = one.ask(counted(where, f"n{asked}"), Paid(price))
            assert answer is not None, "its price is in the budget"
            return answer[:, 1]

        made: Numbers = np.mean([WITH_HER[formula](count) for _ in range(times)], axis=0)
    line = Line(
        f"{formula}: {QUESTIONS[formula]} questions" + (f", {times} times" if times > 1 else ""),
        wards.right(exactly(wards, formula) - 0.5),
        wards.right(made - 0.5),
        summed(float(price), questions, times / 2),
        permitted(float(given.epsilon), float(given.delta)),
        len(wards.secret),
        questions,
    )
    return made, line


def informed(wards: Wards, where: str, given: Given) -> Line:
    """All of ε on one question, by somebody who knows how many others there are in each ward."""
    others = {**wards.frames, "staff": wards.frames["staff"].query("not (grade == 9 and sex == 'F' and night)")}
    with Exact(others) as exact:
        known = exact.ask(counted(where))[:, 1]
    with Exact(wards.frames) as exact:
        truth = wards.right(exact.ask(counted(where))[:, 1] - known - 0.5)
    with Through(TABLES, wards.frames, given) as one:
        answer = one.ask(counted(where), Paid(given.epsilon))
        assert answer is not None, "it costs all there is"
    return Line(
        "its first question for all of ε, knowing all others",
        truth,
        wards.right(answer[:, 1] - known - 0.5),
        best([given.epsilon]),
        permitted(float(given.epsilon), float(given.delta)),
        len(wards.secret),
    )
