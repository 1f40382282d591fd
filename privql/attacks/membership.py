"""Membership: was this person in the study? Asked of its published means, and of the one count that tells most."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from privql.attacks.asked import Exact, Numbers, Paid, Through
from privql.attacks.drawing import Axes, Picture
from privql.attacks.outcome import Given, Line, Outcome
from privql.attacks.theory import most_area, most_found, normal, permitted

SECRET = "was this person in the study?"
ANSWERS = 64  # yes or no, each as likely, of everybody
OTHERS = 4  # in each study, beside the one who is looked for
FALSE = 0.1  # of those who were not there, how many may be taken for members
TABLES = """
CREATE PUBLIC TABLE studies (study INT KEY);
CREATE PRIVATE TABLE people (who TEXT UNIT person KEY, study INT REFERENCES studies(study) NOT NULL,
  answers TEXT NOT NULL);
"""
Curve = tuple[Numbers, Numbers]


class Studies:
    """Many small ones. The attacker knows what somebody said, of whom each may have had one, and half of them had."""

    def __init__(self, many: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        said = random.integers(0, 2, (many, OTHERS + 1, ANSWERS))
        self.looked_for = said[:, 0]
        self.secret: NDArray[np.bool_] = random.permutation(np.arange(many) % 2 == 0)
        rows = [(study, _word(each)) for study in range(many) for each in said[study, 0 if self.secret[study] else 1 :]]
        people = pd.DataFrame(rows, columns=["study", "answers"])
        people["who"] = [f"p{at}" for at in random.permutation(len(rows))]
        self.frames = {"people": people, "studies": pd.DataFrame({"study": range(many)})}

    def curve(self, weights: Numbers) -> Curve:
        """How many others are taken for members, and how many members are found, the likeliest first."""
        levels = np.unique(weights)[::-1]
        taken = [(weights[~self.secret] >= level).mean() for level in levels]
        found = [(weights[self.secret] >= level).mean() for level in levels]
        return np.array([0.0, *taken]), np.array([0.0, *found])


@dataclass(frozen=True)
class Way:
    name: str
    text: str
    weighed: Callable[[Numbers], Numbers]  # how much speaks for a member, study by study


def ways(studies: Studies) -> list[Way]:
    many = len(studies.secret)
    signs = 2.0 * studies.looked_for - 1
    looked_for = ", ".join(f"'{study} {_word(each)}'" for study, each in enumerate(studies.looked_for))

    def means(answer: Numbers) -> Numbers:
        sums = np.zeros((many, ANSWERS))
        sums[answer[:, 0].astype(int), answer[:, 1].astype(int) - 1] = answer[:, 2]
        weights: Numbers = np.einsum("ij,ij->i", signs, sums - OTHERS / 2)
        return weights

    def count(answer: Numbers) -> Numbers:
        counts = np.zeros(many)
        counts[answer[:, 0].astype(int)] = answer[:, 1]
        return np.clip(counts, 0, 1)  # beyond, nothing speaks for either side

    return [
        Way(
            f"means of {ANSWERS} answers",
            f"SELECT study, k, COUNT(DISTINCT who) AS n FROM people CROSS JOIN generate_series(1, {ANSWERS}) AS q(k) "
            "WHERE SUBSTRING(answers, k, 1) = 'y' GROUP BY study, k ORDER BY study, k",
            means,
        ),
        Way(
            "who said just that",
            f"SELECT study, COUNT(*) AS n FROM people WHERE CAST(study AS TEXT) || ' ' || answers IN ({looked_for}) "
            "GROUP BY study ORDER BY study",
            count,
        ),
    ]


def attack(given: Given, tick: Callable[[float], None]) -> Outcome:
    studies = Studies(given.rows or 1000, given.seed)
    epsilon, delta = float(given.epsilon), float(given.delta)
    lines: list[Line] = []
    exact_curves: list[Curve] = []
    curves: list[Curve] = []
    for at, way in enumerate(ways(studies)):
        with Exact(studies.frames) as exact:
            exact_curves.append(studies.curve(way.weighed(exact.ask(way.text))))
        with Through(TABLES, studies.frames, given) as one:
            paid = Paid(given.epsilon) if at else Paid(given.epsilon, given.left_for_gaussians())
            answer = one.ask(way.text, paid)
            assert answer is not None, "it costs all there is"
            curves.append(studies.curve(way.weighed(answer)))
            means = None if at else _area_of_means(one.deviation(way.text, paid))
        both = area(exact_curves[-1]), area(curves[-1])
        laws = (most_area(epsilon), most_found(FALSE, epsilon)) if at else (means, None)
        half, asked = len(studies.secret) // 2, 1 if at else ANSWERS
        lines.append(Line(f"{way.name}: area under the curve", *both, laws[0], most_area(epsilon, delta), half, asked))
        both = found_at(exact_curves[-1], FALSE), found_at(curves[-1], FALSE)
        name = f"{way.name}: members found at {FALSE:.0%} false alarms"
        lines.append(Line(name, *both, laws[1], most_found(FALSE, epsilon, delta), half // 2, asked))
        tick((at + 1) / 2)
    measure = "a guess without any answer has an area of 50 %, and finds as many as it has false alarms"
    return Outcome("membership", SECRET, measure, lines, _picture(exact_curves, curves, epsilon, delta))


def area(curve: Curve) -> float:
    """How often a member is likelier taken for one than somebody else is."""
    return float(np.trapezoid(curve[1], curve[0]))


def found_at(curve: Curve, alarms: float) -> float:
    """Between two corners of a curve a coin decides. Where it rises at once, all that it finds."""
    return float(np.interp(alarms, curve[0] + 1e-12 * np.arange(len(curve[0])), curve[1]))


def _area_of_means(deviation: float) -> float:
    """Her answers add half of each to a sum that all others, and the noise, move at random."""
    spread = math.sqrt(ANSWERS * (OTHERS / 4 + deviation**2))
    return normal(ANSWERS / 2 / spread / math.sqrt(2))


def _word(answers: NDArray[np.int64]) -> str:
    return "".join("ny"[one] for one in answers)


def _picture(exact: list[Curve], curves: list[Curve], epsilon: float, delta: float) -> str:
    picture = Picture(560, 540, "Membership: members found, by false alarms")
    axes = Axes(picture, (72, 56, 440, 420), (0, 1), (0, 1.01))
    tens = (0, 0.2, 0.4, 0.6, 0.8, 1)
    axes.frame("others who are taken for members", "members found", tens, tens)
    corner = 1 - permitted(epsilon, delta)
    limits = [(0.0, delta), (corner, 1 - corner), (1 - delta, 1.0)]
    axes.area([*limits, (0.0, 1.0)], "bound", 0.1)
    axes.line(limits, "bound")
    axes.say(corner * 0.5, 0.93, f"not with ε = {epsilon:g}", "bound")
    axes.line([(0, 0), (1, 1)], "faint")
    axes.say(0.62, 0.58, "no answers at all", "soft")
    for curve, dashed in zip(exact, (True, False), strict=True):
        axes.line(list(zip(*map(list, curve), strict=True)), "exact", dashed=dashed)
    axes.say(0.5, 0.95, "exact answers", "exact")
    for curve, dashed in zip(curves, (True, False), strict=True):
        axes.line(list(zip(*map(list, curve), strict=True)), "privql", dashed=dashed)
    axes.say(0.36, 0.2, "through PrivQL: dashed, the means;", "privql")
    axes.say(0.36, 0.155, "solid, one count of who said just that", "privql")
    return picture.written()
