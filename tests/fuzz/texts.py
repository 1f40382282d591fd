"""Random texts: of the grammar, of queries with something changed, of words, of characters."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz.grammar import sentence
from tests.fuzz.pieces import ODD, WORDS, alike, corpus

_LONGEST = 400  # words: what is longer takes its time and finds no more


class Texts:
    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)

    def query(self) -> str:
        return self._text(corpus()[0])

    def policy(self) -> str:
        return self._text(corpus()[1])

    def _text(self, known: Sequence[Sequence[str]]) -> str:
        pick = self.choice
        kind = pick.random()
        if kind < 0.25:
            found = " ".join(sentence(pick, depth=pick.randint(6, 13)))
        elif kind < 0.35:  # of the grammar, and then something is wrong with it
            found = " ".join(self._changed(sentence(pick, depth=pick.randint(6, 11)), known))
        elif kind < 0.6:
            found = "".join(self._changed(list(self._part(known)), known))
        elif kind < 0.9:  # what can still be read
            found = "".join(self._exchanged(list(self._part(known))))
        elif kind < 0.96:
            found = " ".join(pick.choice(WORDS) for _ in range(pick.randint(1, 20)))
        else:
            found = "".join(self._character() for _ in range(pick.randint(1, 40)))
        return found if pick.random() < 0.9 else self._scratched(found)

    def _part(self, known: Sequence[Sequence[str]]) -> Sequence[str]:
        one = self.choice.choice(known)
        if len(one) <= _LONGEST:
            return one
        start = self.choice.randrange(len(one) - _LONGEST)
        return one[start : start + _LONGEST]

    def _changed(self, words: list[str], known: Sequence[Sequence[str]]) -> list[str]:
        pick = self.choice
        for _ in range(pick.choice((1, 1, 1, 2, 3, 5))):
            at = pick.randrange(len(words) + 1)
            match pick.randrange(7):
                case 0:
                    del words[at : at + pick.choice((1, 1, 2, 4))]
                case 1:
                    words.insert(at, f" {pick.choice(WORDS)} ")
                case 2:
                    words[at : at + 1] = [pick.choice(WORDS)]
                case 3:  # part of another
                    other = self._part(known)
                    start = pick.randrange(len(other))
                    words[at:at] = [" ", *other[start : start + pick.randint(1, 12)], " "]
                case 4:  # part of itself
                    start = pick.randrange(len(words) + 1)
                    words[at:at] = words[start : start + pick.randint(1, 12)]
                case 5:
                    other_at = pick.randrange(len(words) + 1)
                    words[at : at + 1], words[other_at : other_at + 1] = (
                        words[other_at : other_at + 1],
                        words[at : at + 1],
                    )
                case _:
                    words.insert(at, " ".join(sentence(pick, "expression", pick.randint(2, 6))).join(" " * 2))
        return words

    def _exchanged(self, words: list[str]) -> list[str]:
        pick, share = self.choice, self.choice.choice((0.03, 0.1, 0.3))
        return [pick.choice(alike(word)) if word.strip() and pick.random() < share else word for word in words]

    def _character(self) -> str:
        pick = self.choice
        match pick.randrange(3):
            case 0:
                return chr(pick.randrange(0x20, 0x7F))
            case 1:
                return pick.choice(ODD)
            case _:
                return chr(pick.randrange(0x110000))

    def _scratched(self, text: str) -> str:
        pick = self.choice
        for _ in range(pick.randint(1, 3)):
            at = pick.randrange(len(text) + 1)
            text = text[:at] + pick.choice(("", self._character())) + text[at + pick.randint(0, 3) :]
        return text
