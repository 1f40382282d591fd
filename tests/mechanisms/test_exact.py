"""The law of every sampler, computed from all words that it may be given, is the law on paper."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privql.noise.laplace import discrete_laplace
from tests.mechanisms.registry import LESS, mechanisms
from tests.mechanisms.words import law_of

COMPUTED = [name for name, made in mechanisms().items() if made.computed is not None]


@pytest.mark.parametrize("name", COMPUTED)
def test_the_law_of_the_code_is_the_law_on_paper(name: str) -> None:
    """Up to the words that are left open, and these are few."""
    made = mechanisms()[name]
    assert made.computed is not None and made.chance is not None
    law = made.computed()
    assert law.open < Fraction(1, 2000)
    assert sum(law.chances.values()) + law.open == 1
    for outcome, found in law.chances.items():
        wanted = made.chance(outcome)
        assert found <= wanted <= found + law.open, (outcome, float(found), float(wanted))


def test_less_noise_is_seen() -> None:
    scale = Fraction(7, 3)
    chance = mechanisms()[f"discrete_laplace {scale}"].chance
    assert chance is not None
    law = law_of(lambda source: int(discrete_laplace(scale * LESS, 1, source=source)[0]), 1)
    assert all(not found <= chance(k) <= found + law.open for k, found in law.chances.items())
