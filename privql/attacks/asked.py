"""The two who are asked the same: an engine that answers exactly, and a session of PrivQL, on the same frames."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import privql
from privql.attacks.outcome import Given

Numbers = NDArray[np.float64]
Frames = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Paid:
    """What a question may spend. With a δ, whichever noise errs less is taken."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @property
    def clause(self) -> str:
        return "SPEND EPSILON $epsilon" + (" DELTA $delta USING AUTO" if self.delta else "")

    @property
    def params(self) -> dict[str, object]:
        return {"epsilon": self.epsilon, **({"delta": self.delta} if self.delta else {})}


class Exact:
    """Plain SQL over the rows: what would be answered without privacy."""

    def __init__(self, frames: Frames) -> None:
        self._engine = duckdb.connect()
        for name, frame in frames.items():
            self._engine.register(name, frame)

    def ask(self, text: str) -> Numbers:
        return np.array(self._engine.execute(text).fetchall(), dtype=float)

    def __enter__(self) -> Exact:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()


class Through:
    """An analyst's session on a scratch ledger of its own, with the whole budget, until that is spent."""

    def __init__(self, tables: str, frames: Frames, given: Given) -> None:
        delta = f" DELTA {_decimal(given.delta)}" if given.delta else ""
        budget = f"CREATE BUDGET research FOR UNIT person EPSILON {_decimal(given.epsilon)}{delta};"
        policy = f"CREATE UNIT person;{tables}{budget}GRANT research TO mallory;"
        self._session = privql.connect(policy=policy, ledger=":memory:", analyst="mallory", frames=frames)
        self.paid: list[Fraction] = []  # the ε of each answer that was not free

    def ask(self, text: str, paid: Paid) -> Numbers | None:
        """None: the budget cannot pay. Anything else that is refused is a fault of the attack."""
        try:
            return self._read(self._session.run(f"{text} {paid.clause}", paid.params))
        except privql.PrivQLError as refused:
            if [one.code for one in refused.diagnostics] != ["PQL0502"]:
                raise
            return None

    def ask_as_plan(self, texts: Sequence[str], paid: Paid) -> list[Numbers]:
        """All of them between BEGIN and COMMIT; nothing where that is more than the budget."""
        try:
            self._session.run("BEGIN")
            for text in texts:
                self._session.run(f"{text} {paid.clause}", paid.params)
            answers = self._session.run("COMMIT").answers
        except privql.PrivQLError as refused:
            self._session.run("ROLLBACK")
            if [one.code for one in refused.diagnostics] != ["PQL0502"]:
                raise
            return []
        self.paid += [paid.epsilon] * len(texts)
        return [np.array(one.rows, dtype=float) for one in answers]

    def _read(self, release: privql.Release) -> Numbers:
        if release.cost.epsilon:
            self.paid.append(release.cost.epsilon)
        return np.array(release.rows, dtype=float)

    def deviation(self, text: str, paid: Paid) -> float:
        """That of the noise which a question's answer would have, as EXPLAIN says."""
        told = self._session.explain(f"{text} {paid.clause}", paid.params)
        scale = re.search(r"Laplace noise, scale ([0-9.]+)", told)
        gaussian = re.search(r"Gaussian noise, deviation ([0-9.]+)", told)
        if scale is not None:
            return math.sqrt(2) * float(scale[1])
        assert gaussian is not None, told
        return float(gaussian[1])

    def __enter__(self) -> Through:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()


def _decimal(amount: Fraction) -> str:
    """As a policy writes it: exact for what a person types."""
    places = 0
    while amount.denominator != 1 and (amount * 10**places).denominator != 1:
        places += 1
    digits = str(int(amount * 10**places)).rjust(places + 1, "0")
    return digits[: len(digits) - places] + ("." + digits[len(digits) - places :] if places else "")
