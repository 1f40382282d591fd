"""Averaging: the same question in ever new words, until the noise cancels out - or the budget has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from privql.attacks.asked import Exact, Numbers, Paid, Through
from privql.attacks.drawing import Axes, Picture
from privql.attacks.outcome import Given, Line, Outcome
from privql.attacks.theory import best, permitted
from privql.attacks.wards import CHIEF, TABLES, Wards, counted

AGAIN = 100  # how often the identical question is asked
MOST = 2000  # answers that anybody waits for
FARTHEST = 20_000  # of which theory tells
SECRET = "is there a chief in this ward?"


def attack(given: Given, tick: Callable[[float], None]) -> Outcome:
    wards = Wards(given.rows or 1000, given.seed)
    most = permitted(float(given.epsilon), float(given.delta))
    with Exact(wards.frames) as exact:
        truth = wards.right(exact.ask(counted(CHIEF))[:, 1] - 0.5)
    lines, courses = [], {}

    def attacked(way: str, ask: Callable[[Through], Sequence[Numbers]]) -> list[float]:
        with Through(TABLES, wards.frames, given) as one:
            course = _rights(wards, ask(one))
            if course:
                lines.append(Line(way, truth, course[-1], best(one.paid), most, len(wards.secret), len(one.paid)))
        return course

    attacked(f"the identical question, {AGAIN} times", lambda one: _identical(one, Paid(given.epsilon / 20)))
    for part, word, begun in ((20, "a twentieth", 0.05), (50, "a fiftieth", 0.15)):
        way = f"in other words, {word} of ε each, until refused"
        courses[part] = attacked(way, _until_refused(given.epsilon / part, begun, tick))
    texts = [counted(CHIEF, f"n{at}") for at in range(len(courses[50]) * 9 // 8)]
    attacked("the same as one plan, an eighth more", lambda one: one.ask_as_plan(texts, Paid(given.epsilon / 50)))
    whole = attacked("one question for all of ε", lambda one: _identical(one, Paid(given.epsilon), 1))
    tick(1)
    picture = _picture(courses, whole[-1], most, given)
    return Outcome("averaging", SECRET, "guesses that are right", lines, picture, ("answer by answer", courses[20]))


def _identical(one: Through, paid: Paid, times: int = AGAIN) -> list[Numbers]:
    """What is new of it: the first answer."""
    answers = [answer for _ in range(times) if (answer := one.ask(counted(CHIEF), paid)) is not None]
    return [answer for at, answer in enumerate(answers) if at == 0 or not np.array_equal(answer, answers[at - 1])]


def _until_refused(price: Fraction, begun: float, tick: Callable[[float], None]) -> Callable[[Through], list[Numbers]]:
    def ask(one: Through) -> list[Numbers]:
        answers: list[Numbers] = []
        while len(answers) < MOST and (answer := one.ask(counted(CHIEF, f"n{len(answers)}"), Paid(price))) is not None:
            answers.append(answer)
            tick(begun + 0.6 * min(1.0, len(answers) / 150))
        return answers

    return ask


def _rights(wards: Wards, answers: Sequence[Numbers]) -> list[float]:
    """After each answer, how often the best guess from all so far is right. An answer is nearer to 1 or to 0, and that
    is all that it tells of which is true."""
    votes = np.cumsum([np.where(answer[:, 1] > 0.5, 1.0, -1.0) for answer in answers], axis=0)
    return [wards.right(each) for each in votes]


def _picture(courses: dict[int, list[float]], whole: float, most: float, given: Given) -> str:
    picture = Picture(720, 400, "Averaging: guesses that are right, by the number of answers")
    axes = Axes(picture, (64, 56, 620, 280), (1, FARTHEST), (0.45, 1.02), logarithmic=True)
    tens = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    axes.frame("answers, each in new words", "guesses that are right", (1, 10, 100, 1000, 10_000), tens)
    axes.line([(1, 1.0), (FARTHEST, 1.0)], "exact")
    axes.say(1.15, 0.965, "exact answers: one is enough", "exact")
    axes.line([(1, most), (FARTHEST, most)], "bound")
    axes.say(1.15, most + 0.015, f"ε = {float(given.epsilon):g} permits no more, whatever is asked", "bound")
    for part, course in courses.items():
        price = given.epsilon / part
        counts = sorted({round(1.3**step) for step in range(38)} | {FARTHEST})
        axes.line([(many, best([price] * many)) for many in counts], "soft", dashed=True)
        axes.line([(at + 1, right) for at, right in enumerate(course)], "privql")
        axes.dot(len(course), course[-1], "privql")
        axes.say(len(course), 0.465, f"refused after {len(course)}", "privql", end=part == min(courses))
    axes.dot(1, whole, "privql")
    axes.say(1.15, whole - 0.03, "one question for all of ε", "privql")
    axes.say(1500, 0.88, "if nobody added up", "soft", end=True)
    return picture.written()
