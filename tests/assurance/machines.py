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
        "certificates",
        "certificates of random queries to the verifier, and each with one number, rule or hash changed",
        "certificates",
        100_000,
        ("soundness/test_certificates.py",),
        beside=("accepted", "changed and refused"),
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
        "postgres",
        "PostgreSQL against the reference: random terms of all primitives over hostile rows",
        "terms",
        48_000,
        ("engines/test_postgres.py::test_every_primitive_means_what_the_reference_says",),
    ),
    Machine(
        "related-engine",
        "the engine against the reference: random SQL over related tables",
        "queries",
        30_000,
        ("soundness/test_related_engine.py",),
    ),
    Machine(
        "related-postgres",
        "PostgreSQL against the reference: random SQL over related tables",
        "queries",
        10_000,
        ("soundness/test_related_postgres.py",),
    ),
    Machine(
        "related-spark",
        "Spark against the reference: random SQL over related tables",
        "queries",
        2_000,
        ("engines/spark/test_related.py",),
    ),
    Machine(
        "conformance",
        "the conformance kit on DuckDB, PostgreSQL and Spark: every signature of every operation, and random terms",
        "cases",
        473_000,
        (
            "conformance/test_kit.py::test_duckdb_means_what_it_should",
            "engines/test_postgres.py::test_every_operation_means_what_it_should",
            "engines/spark/test_conformance.py::test_spark_means_what_it_should",
        ),
    ),
    Machine(
        "tpch",
        "TPC-H on PostgreSQL and Spark: the integers that DuckDB computes",
        "queries",
        44,
        ("queries/test_tpch_postgres.py", "engines/spark/test_tpch.py::test_what_is_measured_is_the_same"),
    ),
    Machine(
        "arrangements",
        "the same rows in other orders, types and files, on 1 thread and on 8, optimised and not",
        "arrangements",
        10_000,
        ("engines/test_arrangements.py::test_the_same_rows_give_the_same_cells_however_they_are_stored",),
        beside=("of 300,000 rows",),
    ),
    Machine(
        "channels",
        "random queries × hostile rows that can be recognised: all that is seen beside noisy numbers",
        "pairs",
        1_000_000,
        ("hostile/test_canaries.py::test_nothing_that_is_seen_tells_of_a_row",),
        beside=("queries", "failures"),
    ),
    Machine(
        "time",
        "padded time by a clock on the wall, of two neighbours",
        "pairs",
        500,
        ("hostile/test_time.py::test_padded_time_tells_neighbours_apart_no_better_than_chance",),
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
    Machine(
        "public",
        "SQL over public and released rows: the engine against the plain meaning of the algebra",
        "queries",
        20000,
        ("post/test_random_trees.py",),
    ),
    Machine(
        "picks",
        "MODE and TOP over related tables × neighbours",
        "choices",
        20000,
        ("soundness/test_related_picks.py::test_no_neighbour_moves_a_choice_beyond_its_claim",),
        beside=("reached",),
    ),
    Machine(
        "features",
        "aggregates and windows of a unit's own rows: plain SQL, and the range that is claimed",
        "databases × features",
        5_840,
        ("soundness/test_features.py",),
    ),
    Machine(
        "groups",
        "AT MOST n GROUPS × neighbours: sums and searches",
        "worlds",
        14_784,
        ("soundness/test_groups_per_unit.py::test_a_unit_moves_no_more_groups_than_it_may",),
    ),
    Machine(
        "one-sum",
        "counts and sums that are only added up, against each by itself",
        "queries",
        2000,
        ("soundness/test_one_sum.py::test_without_noise_the_answers_are_those_of_the_parts",),
    ),
    Machine(
        "narrowing",
        "what is believed of a column × rows that get there",
        "queries",
        20000,
        ("check/test_narrowing.py::test_no_row_lies_outside_what_is_believed",),
    ),
    Machine(
        "functions",
        "domain rules of all scalar functions × random domains and hostile values",
        "rounds",
        1_800_000,
        ("functions/test_domains.py",),
    ),
    Machine(
        "any-query",
        "random trees and random queries over public tables: checked, run and read again",
        "queries",
        14400,
        ("check/test_any_query.py",),
    ),
    Machine(
        "grammar",
        "our parser against lark's, trees written and read again, repairs applied",
        "texts",
        190000,
        ("syntax/test_differential.py", "syntax/test_round_trip.py", "syntax/test_limits.py", "syntax/test_errors.py"),
    ),
    Machine(
        "ranks", "medians and quantiles: the engine against the reference", "queries", 9000, ("engines/test_ranks.py",)
    ),
    Machine(
        "patterns",
        "regular expressions: the engine, ours and Python's",
        "patterns",
        6000,
        ("engines/test_patterns.py",),
    ),
    Machine("documents", "JSON: the engine, ours and Python's", "documents", 60_000, ("engines/test_documents.py",)),
    Machine(
        "samplers",
        "draws against the law on paper",
        "draws",
        381_000_000,
        ("noise/test_law.py", "noise/test_selection.py", "noise/test_flip.py", "mechanisms/test_chi_square.py"),
    ),
    Machine(
        "intervals",
        "intervals: how often they enclose the exact number",
        "releases",
        860_000,
        ("benchmarks/test_coverage.py::test_every_case_covers",),
    ),
    Machine(
        "attacks",
        "averaging, differencing, trackers, reconstruction, membership at full size",
        "attacks",
        5,
        ("attacks/test_attacks.py",),
    ),
    Machine(
        "ledger-attacks",
        "attackers of one ledger, together and alone: 20,000 targets each",
        "targets",
        200_000,
        ("ledger/test_attacks.py",),
    ),
    Machine("ledger-model", "the ledger against a model of it", "steps", 126000, ("ledger/test_model.py",)),
    Machine("ledger-sums", "charges added up against integers", "charges", 20000000, ("ledger/test_sums.py",)),
    Machine(
        "ledger-storm",
        "processes that spend one budget at once",
        "attempts",
        1920000,
        ("ledger/test_storm.py::test_processes_spend_exactly_the_budget",),
    ),
    Machine(
        "ledger-storm-server",
        "processes that spend one budget of a ledger in PostgreSQL at once",
        "attempts",
        1_280_000,
        ("ledger/test_postgres.py::test_processes_spend_exactly_the_budget",),
    ),
    Machine(
        "ledger-deaths",
        "processes killed at any moment and at every statement; disks that fail for good",
        "deaths",
        10000,
        ("ledger/test_storm.py",),
    ),
    Machine(
        "ledger-faults",
        "every statement of everything fails once",
        "faults",
        3_708,
        ("ledger/test_faults.py::test_a_fault_at_every_statement_of_everything",),
    ),
    Machine(
        "mutants",
        "small faults in checker, kernel, noise, ledger and lowering, drawn of all that can be made, each shown to the "
        "tests that enter its function",
        "faults",
        2000,
        ("mutation/__main__.py",),
        ("killed", "faults that are any", Fraction(99, 100)),
        ("argued to change nothing", "that no test enters"),
        (
            "-m",
            "tests.mutation",
            "privql/kernel",
            "privql/noise",
            "privql/ledger",
            "privql/check",
            "privql/domains",
            "privql/plan",
            "privql/engines/sql",
            "privql/engines/duckdb",
            "privql/functions/scalar/ranges.py",
            "--sample",
            "2000",
            "--tests",
            "tests",
        ),
    ),
)

MACHINES = {machine.name: machine for machine in _ALL}
