"""The automaton of a pattern finds what the search finds, on random patterns and texts."""

from __future__ import annotations

from bisect import bisect_right
from random import Random

import pytest

from privql.functions.scalar.patterns import NoPattern, pattern
from privql.functions.scalar.search import search
from tests.engines.test_patterns import _LETTERS, _random_pattern

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'privql[spark]'")

from privql.engines.interface import EngineError
from privql.engines.spark.automata import START, Automaton, automaton


def walked(through: Automaton, text: str) -> bool:
    state = START
    for character in reversed(text):
        state = through.states[state][bisect_right(through.ends, ord(character))]
    return through.found[state]


def test_the_automaton_finds_what_the_search_finds() -> None:
    random = Random(4)
    texts = ["".join(random.choice(_LETTERS) for _ in range(random.randint(0, 9))) for _ in range(40)]
    tried = large = true = 0
    while tried < 600:
        given = _random_pattern(random, 4)
        try:
            read = pattern(given)
            made = automaton(read)
        except NoPattern:
            continue
        except EngineError:
            large += 1
            continue
        tried += 1
        for text in texts:
            found = search(given).occurs(text)
            assert walked(made, text) is found, (given, text)
            true += found
    assert 5000 < true < 20_000 and large < 60
