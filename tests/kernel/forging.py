"""Certificates to be forged, and how: what is told in one, put otherwise under a digest of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from time import process_time
from typing import Any

import pytest

from privql.kernel import measure, picks, ranks, rules, selection
from privql.kernel.cost import Cost
from privql.kernel.events import Losing
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.gaussian import greatest_mu, root_above
from privql.kernel.scalars import INT, TEXT, Field
from privql.kernel.sums import Key
from privql.kernel.terms import Scan, Unit
from privql.kernel.verify import Refused, verified
from tests.kernel.proofs import certified

Json = dict[str, Any]
PERSON = Unit("person")
A, CANDIDATES = Field("a", INT), Key(Field("b", INT), (1, 2, 3))
TABLE = Scan("t", PERSON, ("id", TEXT), False, (("a", INT), ("b", INT)))
ROWS = rules.keep_rows(rules.scan(TABLE), 2)
ONE, SMALL = Fraction(1), Fraction(1, 10**6)


def sum_of(low: int = 0, high: int = 9, scale: int = 18) -> Losing:
    return measure.laplace(ROWS, (), (Total(Steps(A, ONE, low, high)),), (Fraction(scale),))


def gaussian_of(epsilon: Fraction = ONE, delta: Fraction = SMALL) -> Losing:
    sigma = root_above(Fraction(4) / greatest_mu(epsilon, delta) ** 2)
    return measure.gaussian(ROWS, (), (Tally(),), (sigma,), Cost(epsilon, delta))


MADE: dict[str, Losing] = {
    "sum": sum_of(),
    "gaussian": gaussian_of(),
    "groups": selection.truncated_geometric(ROWS, (("k", A),), None, ONE, SMALL, True),
    "ranks": ranks.by_rank(
        ROWS, (), Steps(A, ONE, 0, 9), None, tuple(ranks.Rank(Fraction(n, 8)) for n in (1, 2, 4, 6, 7)), ONE
    ),
    "gumbel": picks.most_frequent(ROWS, (), CANDIDATES, None, 2, "GUMBEL", ONE, SMALL),
    "choice": picks.most_frequent(ROWS, (), CANDIDATES, None, 2, "FLIP", ONE),
}
PRICED = {"epsilon": "1", "delta": "1/1000000"}
TOLD = {name: json.loads(certified((one,))) for name, one in MADE.items()}


def why(told: str) -> str:
    """Why it is refused: in one sentence, at once."""
    start = process_time()
    with pytest.raises(Refused) as found:
        verified(told)
    said = str(found.value)
    assert said.isprintable() and 10 < len(said) < 200 and process_time() - start < 30
    return said


def put(*path: str | int, to: object) -> Callable[[Json], object]:
    def change(told: Any) -> object:
        for each in path[:-1]:
            told = told[each]
        told[path[-1]] = to
        return None

    return change


def last(*path: str | int, to: object) -> Callable[[Json], object]:
    return put("steps", -1, *path, to=to)


def says(name: str, to: object, step: int = -1) -> Callable[[Json], object]:
    return put("steps", step, "says", name, to=to)


def all_costs(kind: str, epsilon: str, delta: str = "0") -> Callable[[Json], object]:
    """Said so wherever it is said."""

    def change(told: Json) -> None:
        event = [kind, epsilon, delta]
        told["steps"][-1]["gives"]["event"] = event
        told["costs"][0] |= {"epsilon": epsilon, "delta": delta, "paid": [event]}

    return change


def both(*changes: Callable[[Json], object]) -> Callable[[Json], object]:
    return lambda told: [change(told) for change in changes]


def step(rule: str, of: list[int], **told: Any) -> Json:
    return {"rule": rule, "of": of, "says": told, "gives": {}}
