"""Every machine: what it tries, and how much of it. A line of docs/assurance.md each, and a paragraph below it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class Machine:
    name: str
    title: str
    unit: str  # what is counted as tried
    full: int  # how many of them `make soak` tries
    tests: tuple[str, ...]  # below tests/: a file, or a test in it
    # of what is counted under the second word how much must be counted under the first
    share: tuple[str, str, Fraction] | None = None
    beside: tuple[str, ...] = field(default=())  # what else is counted and shown
    command: tuple[str, ...] = ()  # what Python runs, where that is not pytest

    @property
    def files(self) -> set[str]:
        return {test.split("::")[0] for test in self.tests}


_ALL = (
    Machine(
        "neighbours",
        "random typed queries × all neighbours of tiny databases",
        "queries",
        100_000,
        (
            "soundness/test_neighbours.py::test_no_neighbour_moves_a_sum_beyond_its_claim_and_nearly_every_claim_is_reached",
        ),
        ("reached", "claims", Fraction(9, 10)),
        ("pairs",),
    ),
)

MACHINES = {machine.name: machine for machine in _ALL}
