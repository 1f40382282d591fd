"""Trackers: no question is of few people, nor of nearly all, and still they come to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from privql.attacks.asked import Exact
from privql.attacks.drawing import Axes, Picture
from privql.attacks.formulas import TOP, WITH_HER, informed, through
from privql.attacks.outcome import Given, Line, Outcome
from privql.attacks.theory import permitted, summed
from privql.attacks.wards import OTHERS, Wards, counted

SECRET = "is there a chief in this ward?"
BUDGETS = tuple(Fraction(at) for at in ("1/4", "1/2", "1", "2", "4", "8"))  # for the picture, of the ε that is given
Courses = list[tuple[float, tuple[Line, Line]]]


def attack(given: Given, tick: Callable[[float], None]) -> Outcome:
    wards = Wards(given.rows or 2000, given.seed)
    _, tracker = through(wards, "tracker", given)
    _, general = through(wards, "general tracker", given)
    _, often = through(wards, "general tracker", given, 8)
    lines = [tracker, general, often, informed(wards, TOP, given)]
    tick(0.4)
    courses: Courses = []
    for at, times in enumerate(BUDGETS):
        other = replace(given, epsilon=given.epsilon * times)
        both = through(wards, "general tracker", other)[1], informed(wards, TOP, other)
        courses.append((float(other.epsilon), both))
        tick(0.4 + 0.6 * (at + 1) / len(BUDGETS))
    few, many = smallest(wards)
    note = f"no question is of fewer than {few} people of a ward, nor of all but fewer than {many}"
    return Outcome("tracker", SECRET, "guesses that are right", lines, _picture(courses, given), notes=(note,))


def smallest(wards: Wards) -> tuple[int, int]:
    """Of how few people a question is, and of how few its opposite: to refuse those of few would not help."""
    sizes: list[float] = []
    with Exact(wards.frames) as exact:

        def count(where: str) -> object:
            found = exact.ask(counted(where))[:, 1]
            sizes.extend((found.min(), (len(OTHERS) - found).min()))
            return found

        for formula in ("tracker", "general tracker"):
            WITH_HER[formula](count)  # type: ignore[arg-type]
    return int(min(sizes[::2])), int(min(sizes[1::2]))


def _picture(courses: Courses, given: Given) -> str:
    low, high = float(given.epsilon) / 5, float(given.epsilon) * 10
    picture = Picture(720, 400, "Trackers: guesses that are right, by the budget")
    axes = Axes(picture, (64, 56, 620, 280), (low, high), (0.45, 1.02), logarithmic=True)
    tens = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    axes.frame("ε of the budget", "guesses that are right", [at for at, *_ in courses], tens)
    axes.line([(low, 1.0), (high, 1.0)], "exact")
    axes.say(low * 1.03, 0.965, "exact answers", "exact")
    steps = [low * (high / low) ** (at / 60) for at in range(61)]
    curve = [(e, permitted(e, float(given.delta))) for e in steps]
    axes.area([*curve, (high, 1.02), (low, 1.02)], "bound", 0.08)
    axes.line(curve, "bound")
    axes.say(*curve[22], "nobody gets above ", "bound", end=True)
    for name, at in (("the tracker's four questions", 0), ("one question, knowing all others", 1)):
        for e, both in courses:
            axes.dot(e, both[at].privql, "privql")
        e, both = courses[3]
        axes.say(e * 1.06, both[at].privql - 0.035, name, "privql")
    axes.line([(e, summed(e / 4, 4)) for e in steps], "soft", dashed=True)
    return picture.written()
