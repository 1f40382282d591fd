"""Many wards of a hospital, and a secret in each: has it a chief? One question asks of all, for the price of one."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from privql.attacks.asked import Numbers

OTHERS = [("F", 9, False), ("F", 3, True), ("M", 9, True), ("M", 2, False)] * 2  # of a ward: all but its chief
CHIEF = "grade = 9 AND sex = 'F' AND night"  # nobody else is all three
TABLES = """
CREATE PUBLIC TABLE wards (ward INT KEY);
CREATE PRIVATE TABLE staff (who TEXT UNIT person KEY, ward INT REFERENCES wards(ward) NOT NULL,
  grade INT BETWEEN 1 AND 9, sex TEXT IN ('F', 'M'), night BOOL);
"""


class Wards:
    """Half of the wards have a chief; which, the seed says."""

    def __init__(self, wards: int, seed: int) -> None:
        draw = random.Random(seed)
        self.secret: NDArray[np.bool_] = np.array([draw.random() < 0.5 for _ in range(wards)])
        rows = [
            (ward, *each)
            for ward in range(wards)
            for each in (*OTHERS, *([("F", 9, True)] if self.secret[ward] else []))
        ]
        staff = pd.DataFrame(rows, columns=["ward", "sex", "grade", "night"])
        staff["who"] = [f"p{at}" for at in range(len(rows))]
        self.frames = {"staff": staff, "wards": pd.DataFrame({"ward": range(wards)})}

    def right(self, weights: Numbers) -> float:
        """How many are guessed right where what is positive speaks for a chief; 0 is right half of the time."""
        return float((1 + np.sign(weights) * np.where(self.secret, 1.0, -1.0)).mean() / 2)


def counted(where: str, named: str = "n") -> str:
    """The question, the same for an exact engine: wards without such people have a 0."""
    return f"SELECT ward, COUNT_IF({where}) AS {named} FROM staff GROUP BY ward ORDER BY ward"
