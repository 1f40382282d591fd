"""Answers by the house's own release, as many as an audit asks for: real noise upon what the engine computed once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privql.audit.shown import Outcome
from privql.engines.interface import Computing, Publics
from privql.release import EXACT, Samplers, Wanted, drawn


def answers(
    wanted: Sequence[Wanted], engine: Computing, publics: Publics, count: int, samplers: Samplers = EXACT
) -> list[Outcome]:
    """All that is drawn at once, `count` times. The engine should remember what it said."""
    return [told([drawn(one, engine, publics, samplers) for one in wanted]) for _ in range(count)]


def told(drawn: Sequence[Any], before: str = "") -> Outcome:
    """What is no number in words, and the numbers."""
    numbers: list[int] = []
    return f"{before}{_words(drawn, numbers)}", tuple(numbers)


def _words(value: Any, numbers: list[int]) -> str:
    match value:
        case list() | tuple():
            return f"[{','.join(_words(each, numbers) for each in value)}]"
        case int() | np.integer() | Fraction() if not isinstance(value, bool):
            numbers.append(int(value))
            return "#"
        case _:
            return repr(value)
