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
    Machine(
        "texts",
        "fuzzed texts: queries, policies, parameters",
        "texts",
        10_000_000,
        ("fuzz/test_texts.py",),
        beside=("read", "accepted"),
    ),
    Machine(
        "related",
        "random SQL over related tables × one unit more, fewer or changed in all of them",
        "queries",
        100_000,
        ("soundness/test_related.py::test_no_neighbour_moves_a_sum_beyond_its_claim",),
        ("reached", "claims", Fraction(1, 5)),
    ),
    Machine(
        "rewrites",
        "the same question in other words: price, noise and answers",
        "pairs of queries",
        100_000,
        ("rewrites/test_rewrites.py",),
        beside=("answered", "refused"),
    ),
    Machine(
        "rules",
        "random relations of the kernel's terms × neighbours, and what each rule says of their rows",
        "relations",
        100_000,
        ("kernel/test_rules_by_force.py",),
    ),
    Machine(
        "sums",
        "the engine against the reference: random terms over hostile rows, in two orders, on 1 thread and on 8",
        "terms",
        100_000,
        ("engines/test_random_sums.py::test_the_engine_computes_what_the_reference_says",),
    ),
    Machine(
        "trees",
        "the engine against the reference: random terms in which rows meet, in three orders, optimised and not",
        "terms",
        100_000,
        ("engines/test_random_trees.py::test_the_engine_computes_what_the_reference_says",),
    ),
    Machine(
        "related-engine",
        "the engine against the reference: random SQL over related tables",
        "queries",
        30_000,
        ("soundness/test_related_engine.py",),
    ),
    Machine(
        "plain",
        "answers without noise against plain SQL: random SQL over related tables",
        "queries",
        100_000,
        ("soundness/test_plain.py::test_an_answer_without_noise_is_that_of_plain_sql",),
        beside=("refused", "drawn or rounded"),
    ),
    Machine(
        "audit",
        "black-box audit: 10^5 answers of each of two neighbours",
        "pairs",
        200,
        (
            "mechanisms/test_audit.py::test_no_answers_contradict_the_claim",
            "mechanisms/test_audit.py::test_no_answers_to_random_queries_contradict_it",
        ),
        beside=("answers", "half shown"),
    ),
)

MACHINES = {machine.name: machine for machine in _ALL}
