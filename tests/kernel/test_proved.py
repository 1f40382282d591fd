"""What is proved is made by the rules, and by nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import privql
from privql.kernel import bounds, measure, picks, ranks, rules, selection
from privql.kernel.cost import Cost
from privql.kernel.features import Steps, Tally
from privql.kernel.proved import Proved, Unproved
from privql.kernel.scalars import INT, Field
from privql.kernel.sums import Key
from privql.kernel.terms import Unit
from tests.kernel.databases import scans

ROWS = rules.keep_rows(rules.scan(scans(Unit("person"))["visits"]), 1)
V = Field("v", INT)
PROVED: tuple[Proved, ...] = (
    ROWS,
    measure.laplace(ROWS, (), (Tally(),), (Fraction(1),)),
    selection.truncated_geometric(ROWS, (("v", V),), None, Fraction(1), Fraction(1, 1000)),
    bounds.noisy_minimum(ROWS, V, None, 2, 0, Fraction(1)),
    ranks.by_rank(ROWS, (), Steps(V, Fraction(1), 0, 9), None, (ranks.Rank(Fraction(1, 2)),), Fraction(1)),
    picks.most_frequent(ROWS, (), Key(V, (0, 1)), None, 1, "FLIP", Fraction(1)),
)


@pytest.mark.parametrize("made", PROVED, ids=lambda made: type(made).__name__)
def test_a_proof_cannot_be_made_by_hand(made: Any) -> None:
    values = {name: getattr(made, name) for name in type(made).__match_args__}
    with pytest.raises(TypeError):
        type(made)(**values)
    with pytest.raises(Unproved):
        type(made)(**values, why=made.why, by=object())
    with pytest.raises(ValueError, match="replace"):
        replace(made)
    with pytest.raises(Unproved):
        replace(made, by=None)


@pytest.mark.wrong_types
def test_what_only_looks_like_a_proof_is_given_to_no_rule() -> None:
    """A relation of any number of rows, that says it has one; noise that says it costs nothing."""
    claims = {name: getattr(ROWS, name) for name in type(ROWS).__match_args__}
    rows: Any = SimpleNamespace(**{**claims, "term": scans(Unit("person"))["visits"]}, determined=ROWS.determined)
    noise: Any = SimpleNamespace(mu_squared=Fraction(0), unit=ROWS.unit)
    rules_given: tuple[Callable[[], Proved], ...] = (
        lambda: measure.laplace(rows, (), (Tally(),), (Fraction(1),)),
        lambda: measure.gaussian(rows, (), (Tally(),), (Fraction(9),), Cost(Fraction(1), Fraction(1, 9))),
        lambda: measure.together((noise,), Cost(Fraction(1), Fraction(1, 9))),
        lambda: selection.truncated_geometric(rows, (("v", V),), None, Fraction(1), Fraction(1, 1000)),
        lambda: bounds.noisy_minimum(rows, V, None, 2, 0, Fraction(1)),
        lambda: ranks.by_rank(rows, (), Steps(V, Fraction(1), 0, 9), None, (ranks.Rank(Fraction(1, 2)),), Fraction(1)),
        lambda: picks.most_frequent(rows, (), Key(V, (0, 1)), None, 1, "FLIP", Fraction(1)),
    )
    for given in rules_given:
        with pytest.raises(Unproved, match="that a rule has made"):
            given()


def test_only_rules_have_what_a_rule_shows() -> None:
    room = Path(privql.__file__).parent
    having = {path for path in room.rglob("*.py") if re.search(r"\bRULE\b", path.read_text("utf-8"))}
    rooms = ("bounds", "measure", "picks", "proved", "ranks", "relating", "rules", "selection")
    assert having == {room / "kernel" / f"{name}.py" for name in rooms}
