"""A hospital with a secret in each of its wards, and attackers who ask for it in as many ways as there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import privql
from privql.attacks.wards import CHIEF, TABLES, Wards
from privql.diagnostics import PrivQLError
from privql.finish.result import Release
from privql.kernel.cost import Cost
from privql.ledger import BudgetState, Ledger
from privql.session import Session
from tests.assurance import length

WARDS = length(500, 20_000)
POLICY = f"CREATE UNIT person;{TABLES}CREATE VIEW everyone AS SELECT * FROM staff;"
Numbers = NDArray[np.int64]
Guesses = NDArray[np.bool_]


class Hospital:
    """What the owner has, and whatever sessions the attackers open."""

    def __init__(self, folder: Path, budget: str, analysts: Sequence[str] = ("mallory", "friend")) -> None:
        wards = Wards(WARDS, seed=7)
        self.secret, self.frames, self.staff = wards.secret, wards.frames, wards.frames["staff"]
        self.ledger, self.policy, self.analysts = folder / "ledger.db", POLICY + budget, tuple(analysts)
        self.apply()
        self._sessions = {name: self.open(name) for name in analysts}

    def apply(self, more: str = "") -> None:
        privql.apply(self.policy + more, self.ledger, self.frames, by="owner")

    def open(self, analyst: str) -> Session:
        return privql.connect(self.ledger, analyst=analyst, frames=self.frames)

    def of(self, analyst: str) -> Session:
        return self._sessions[analyst]

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()

    def budget(self, analyst: str | None = None) -> BudgetState:
        (found,) = self.of(analyst or self.analysts[0]).budget().budgets
        return found

    def spent(self) -> Cost:
        return self.budget().spent

    def sound(self) -> bool:
        """The ledger agrees with itself, and the unit lost what the budget did."""
        with Ledger.open(self.ledger) as ledger:
            return ledger.verify() == () and ledger.spent("person") == self.spent()

    def exactly(self, where: str, chief: bool | None = None) -> Numbers:
        """What there is; or would be, were there a chief in each ward or in none."""
        staff = self.staff if chief is None else self.staff.query("not (grade == 9 and sex == 'F' and night)")
        if chief:
            chiefs = pd.DataFrame({"ward": range(WARDS), "sex": "F", "grade": 9, "night": True})
            staff = pd.concat([staff, chiefs])
        with duckdb.connect() as engine:
            engine.register("staff", staff)
            counts = f"SELECT COUNT(*) FILTER (WHERE {where}) FROM staff GROUP BY ward ORDER BY ward"
            return np.array(engine.execute(counts).fetchall())[:, 0]


class Draws:
    """What came back, by release: the same release never tells two things."""

    def __init__(self) -> None:
        self.of: dict[str, tuple[Fraction, Numbers]] = {}

    def see(self, release: Release) -> bool:
        """Whether it is new."""
        assert release.release_id is not None
        numbers = np.array([row[1:] for row in release.rows])
        assert (numbers == numbers[:, :1]).all(), "one count was drawn twice under one charge"
        known = self.of.get(release.release_id)
        if known is not None:
            assert (known[1] == numbers[:, 0]).all() and release.cost == Cost(), "a release was drawn again"
            return False
        self.of[release.release_id] = release.cost.epsilon, numbers[:, 0]
        return True

    @property
    def epsilons(self) -> list[Fraction]:
        return [epsilon for epsilon, _ in self.of.values()]

    def mean(self) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = np.mean([numbers for _, numbers in self.of.values()], axis=0)
        return mean

    def likelier(self, without: Numbers | int, beside: Numbers | int) -> NDArray[np.float64]:
        """How much better they go with the one truth than with the other: no test is better than its sign."""
        weights = [float(e) * (abs(numbers - without) - abs(numbers - beside)) for e, numbers in self.of.values()]
        together: NDArray[np.float64] = np.sum(weights, axis=0)
        return together


# ---------------------------------------------------------------- the same question, again and again

ASKED = f"SELECT ward, COUNT(*) AS n FROM staff WHERE {CHIEF} GROUP BY ward"
TWENTIETH = "SPEND EPSILON 0.05"


def question(hospital: Hospital, text: str, analyst: str = "mallory", **params: object) -> list[Release]:
    return [hospital.of(analyst).run(text, params)]


def _elsewhere(hospital: Hospital, text: str) -> list[Release]:
    with hospital.open("mallory") as session:
        return [session.run(text)]


def _cart(hospital: Hospital, *texts: str) -> list[Release]:
    session = hospital.of("mallory")
    session.run("BEGIN")
    try:
        for text in texts:
            session.run(text)
        return list(session.run("COMMIT").answers)
    except PrivQLError:
        session.run("ROLLBACK")
        raise


def _other_case(text: str, at: int) -> str:
    return text[: at % 6] + text[at % 6 :].lower().replace("'f'", "'F'")


def _text(hospital: Hospital, *texts: str) -> list[Release]:
    return [one for one in hospital.of("mallory").run_text(";".join(texts)) if one.release_id]


Way = Callable[[Hospital, int], list[Release]]
SAME: dict[str, Way] = {  # the identical question
    "again": lambda h, _: question(h, f"{ASKED} {TWENTIETH}"),
    "another analyst": lambda h, _: question(h, f"{ASKED} {TWENTIETH}", "friend"),
    "another session": lambda h, _: _elsewhere(h, f"{ASKED} {TWENTIETH}"),
    "in a cart": lambda h, _: _cart(h, f"{ASKED} {TWENTIETH}"),
    "as a text": lambda h, _: _text(h, f"{ASKED} {TWENTIETH}", f"{ASKED} {TWENTIETH}"),
    "blanks": lambda h, at: question(h, f"{ASKED} {' ' * at} {TWENTIETH}"),
    "comment": lambda h, at: question(h, f"{ASKED} /* {at} */ {TWENTIETH}"),
    "case": lambda h, at: question(h, f"{_other_case(ASKED, at)} {TWENTIETH}"),
}
OTHERWISE: dict[str, Way] = {  # the same question in other words, new ones in each round
    "alias": lambda h, at: question(h, f"{ASKED.replace('AS n', f'AS n{at}')} {TWENTIETH}"),
    "truism": lambda h, at: question(h, f"{ASKED.replace('WHERE', f'WHERE {at} = {at} AND')} {TWENTIETH}"),
    "parameter": lambda h, at: question(h, f"{ASKED.replace('WHERE', 'WHERE $a >= 0 AND')} {TWENTIETH}", a=at),
    "other ε": lambda h, at: question(h, f"{ASKED} SPEND EPSILON {0.05 + at / 10**5:.5f}"),
    "ε as parameter": lambda h, at: question(h, f"{ASKED} SPEND EPSILON $e", e=f"{0.04 + at / 10**5:.5f}"),
    "ε of the session": lambda h, at: _text(h, f"SET epsilon = {0.03 + at / 10**5:.5f}", ASKED),
    "view": lambda h, at: question(h, f"{ASKED.replace('staff', f'everyone AS e{at}')} {TWENTIETH}"),
    "subquery": lambda h, at: question(
        h, f"WITH t{at} AS (SELECT * FROM staff) {ASKED.replace('staff', f't{at}')} {TWENTIETH}"
    ),
    "sum": lambda h, at: question(
        h, f"SELECT ward, SUM(CASE WHEN {CHIEF} THEN 1 ELSE 0 END) AS s{at} FROM staff GROUP BY ward {TWENTIETH}"
    ),
    "twice in a query": lambda h, at: question(h, f"{ASKED.replace('AS n', f'AS n, COUNT(*) AS m{at}')} {TWENTIETH}"),
    "order": lambda h, at: question(h, f"{ASKED} ORDER BY ward, n + {at} {TWENTIETH}"),
    "name": lambda h, at: question(
        h, f"CREATE RELEASE r{at} AS {ASKED.replace('WHERE', f'WHERE {-at} = {-at} AND')} {TWENTIETH}"
    ),
    "again and again": lambda h, at: question(h, f"CREATE RELEASE d{at} AS {ASKED} EVERY DAY FOR 1 RUNS {TWENTIETH}"),
    "cart": lambda h, at: _cart(h, *(f"{ASKED.replace('AS n', f'AS c{at}_{i}')} SPEND EPSILON 0.02" for i in "ab")),
    "text": lambda h, at: _text(h, *(f"{ASKED.replace('AS n', f'AS t{at}_{i}')} SPEND EPSILON 0.02" for i in "ab")),
    "a friend": lambda h, at: question(h, f"{ASKED.replace('AS n', f'AS x{at}')} {TWENTIETH}", "friend"),
}  # fmt: skip
