"""Reconstruction: a secret bit of everybody, from sums over many. Whoever answers too much too exactly tells it all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import md5

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from privql.attacks.asked import Exact, Numbers, Paid, Through
from privql.attacks.decoding import hadamard, programmed, spread_of_squares, squares
from privql.attacks.drawing import Picture
from privql.attacks.outcome import Given, Line, Outcome
from privql.attacks.theory import best, normal, permitted

SECRET = "who of them is ill?"
FEW = 256  # as many as a matrix of questions is solved for
TABLES = """
CREATE PRIVATE TABLE people (who TEXT UNIT person KEY, seat INT BETWEEN 0 AND {last} NOT NULL, ill BOOL NOT NULL,
  answers TEXT NOT NULL);
"""


class People:
    """Everybody has a seat, and answered some questions, which is known; half of them are ill, which is not."""

    def __init__(self, many: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.ill: NDArray[np.bool_] = random.permutation(np.arange(many) % 2 == 0)
        self.few = min(many, FEW)
        said = random.integers(0, 2, (many, 2 * self.few))
        self.said = said[: self.few].T.astype(float)
        self.frames = {
            "people": pd.DataFrame(
                {
                    "who": [f"p{at}" for at in random.permutation(many)],
                    "seat": np.arange(many),
                    "ill": self.ill,
                    "answers": ["".join("ny"[one] for one in each) for each in said],
                }
            )
        }

    def right(self, bits: Numbers) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (bits > 0.5) == self.ill[: len(bits)]
        return found


@dataclass(frozen=True)
class Way:
    """One question of many groups, what is made of its answer, and by how much noise of deviation 1 moves each bit."""

    name: str
    text: str
    many: int  # bits
    groups: int  # answers
    first: int
    decoded: Callable[[Numbers], Numbers]
    moved: Numbers | None


def ways(people: People) -> list[Way]:
    many, few = len(people.ill), people.few
    each = "COUNT(DISTINCT who) AS n"  # in groups one person each time, which a Gaussian hides with less noise
    over = "FROM people CROSS JOIN generate_series({}, {}) AS asked(k) WHERE ill AND "
    subsets = subsets_of(few)
    return [
        Way(
            "Hadamard rows",
            f"SELECT 2 * k + BIT_COUNT(seat & k) % 2 AS half, {each} {over.format(0, many - 1)} TRUE "
            "GROUP BY half ORDER BY half",
            many,
            2 * many,
            0,
            lambda answers: hadamard(answers[::2] - answers[1::2]),
            np.full(many, math.sqrt(2 / many)),
        ),
        Way(
            "linear program",
            f"SELECT k, {each} {over.format(0, len(subsets) - 1)} seat < {few} "
            "AND MD5(CAST(k AS TEXT) || '/' || CAST(seat AS TEXT)) < '8' GROUP BY k ORDER BY k",
            few,
            len(subsets),
            0,
            lambda answers: programmed(subsets, answers),
            None,
        ),
        Way(
            "2-way marginals",
            f"SELECT k, {each} {over.format(1, 2 * few)} seat < {few} "
            "AND SUBSTRING(answers, k, 1) = 'y' GROUP BY k ORDER BY k",
            few,
            2 * few,
            1,
            lambda answers: squares(people.said, answers),
            spread_of_squares(people.said),
        ),
    ]


def subsets_of(few: int) -> Numbers:
    """Half of the seats each, by a hash: the attacker knows which, and an engine computes the same."""
    return np.array(
        [[md5(f"{k}/{seat}".encode()).hexdigest() < "8" for seat in range(few)] for k in range(4 * few)], float
    )


def attack(given: Given, tick: Callable[[float], None]) -> Outcome:
    people = People(given.rows or 4096, given.seed)
    tables = TABLES.format(last=len(people.ill) - 1)
    most = permitted(float(given.epsilon), float(given.delta))
    lines: list[Line] = []
    panels: list[tuple[str, NDArray[np.bool_], NDArray[np.bool_]]] = []

    def line(way: str, found: NDArray[np.bool_], noisy: NDArray[np.bool_], predicted: float | None, asked: int) -> None:
        lines.append(Line(way, float(found.mean()), float(noisy.mean()), predicted, most, len(found), asked))
        panels.append((way, found, noisy))

    for at, way in enumerate(ways(people)):
        with Exact(people.frames) as exact:
            truth = people.right(way.decoded(_by_group(exact.ask(way.text), way)))
        with Through(tables, people.frames, given) as one:
            paid = Paid(given.epsilon, given.left_for_gaussians())
            answer = one.ask(way.text, paid)
            assert answer is not None, "it costs all there is"
            noisy = people.right(way.decoded(_by_group(answer, way)))
            law = None if way.moved is None else _law(way.moved * one.deviation(way.text, paid))
        line(way.name, truth, noisy, law, way.groups)
        tick((at + 1) / 4)
    text = "SELECT seat, COUNT(*) AS n FROM people WHERE ill GROUP BY seat ORDER BY seat"
    alone = Way("each by a seat", text, len(people.ill), len(people.ill), 0, lambda answers: answers, None)
    with Exact(people.frames) as exact:
        truth = people.right(_by_group(exact.ask(text), alone))
    with Through(tables, people.frames, given) as one:
        answer = one.ask(text, Paid(given.epsilon))
        assert answer is not None, "it costs all there is"
        noisy = people.right(_by_group(answer, alone))
    line("each for itself, a group of one", truth, noisy, best([given.epsilon]), len(people.ill))
    tick(1)
    return Outcome("reconstruct", SECRET, "bits recovered; half are by chance", lines, _picture(panels, given))


def _by_group(answer: Numbers, way: Way) -> Numbers:
    """An exact engine leaves out groups that nobody is in: they have 0."""
    found = np.zeros(way.groups)
    found[answer[:, 0].astype(int) - way.first] = answer[:, 1]
    return found


def _law(moved: Numbers) -> float:
    """Each bit is right if noise of this deviation does not carry it over the middle."""
    return float(np.mean([normal(0.5 / one) for one in moved]))


def _picture(panels: list[tuple[str, NDArray[np.bool_], NDArray[np.bool_]]], given: Given) -> str:
    picture = Picture(720, 476, "Reconstruction: each cell is somebody; red is a secret that was found")
    for row, (top, name) in enumerate(((72, "exact answers"), (274, f"through PrivQL, ε = {float(given.epsilon):g}"))):
        picture.text(20, top - 12, name, "ink")
        for at, (way, *found) in enumerate(panels):
            left = 20 + at * 174
            picture.cells(left, top, 150, found[row])
            picture.text(left, top + 168, f"{100 * found[row].mean():.1f}%", "exact")
            picture.text(left, top + 186, way.partition(",")[0] if row else "", "soft")
    return picture.written()
