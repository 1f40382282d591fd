"""Differencing: how many there are, less how many there are but her."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from privql.attacks.asked import Numbers
from privql.attacks.drawing import Axes, Picture
from privql.attacks.formulas import exactly, informed, through
from privql.attacks.outcome import Given, Outcome
from privql.attacks.wards import Wards

SECRET = "is the chief one of this ward?"
FARTHEST = 12


def attack(given: Given, tick: Callable[[float], None]) -> Outcome:
    wards = Wards(given.rows or 2000, given.seed)
    noisy, once = through(wards, "differencing", given)
    tick(0.2)
    _, often = through(wards, "differencing", given, 16)
    tick(0.9)
    lines = [once, often, informed(wards, "TRUE", given)]
    picture = _picture(exactly(wards, "differencing"), noisy, wards.secret)
    return Outcome("differencing", SECRET, "guesses that are right", lines, picture)


def _picture(exact: Numbers, noisy: Numbers, secret: NDArray[np.bool_]) -> str:
    picture = Picture(720, 400, "Differencing: all of a ward, less all but its chief")
    for left, title, found in ((64, "exact answers", exact), (404, "through PrivQL", noisy)):
        axes = Axes(picture, (left, 84, 280, 246), (-FARTHEST - 1, FARTHEST + 1), (0, 1 if found is exact else 0.4))
        levels = (0, 0.5, 1) if found is exact else (0, 0.1, 0.2, 0.3, 0.4)
        axes.frame("the difference", "", (-10, -5, 0, 5, 10), levels)
        picture.text(left, 66, title, "ink")
        for has, colour in ((False, "privql"), (True, "exact")):
            counts = Counter(np.clip(found[secret == has], -FARTHEST, FARTHEST).tolist())
            for value, many in counts.items():
                part = many / (secret == has).sum()
                corners = [(value - 0.45, 0), (value - 0.45, part), (value + 0.45, part), (value + 0.45, 0)]
                axes.area(corners, colour, 0.55)
    picture.text(700, 28, "■ wards with a chief", "exact", anchor="end")
    picture.text(550, 28, "■ without", "privql", anchor="end")
    return picture.written()
