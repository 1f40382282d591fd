"""Random SQL over related tables: one unit more, fewer or changed in all of them moves no sum beyond its claim."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from privql.diagnostics import Source
from privql.kernel.measure import Measured
from privql.kernel.scalars import Value, ValueType
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from privql.plan.program import BlockPlan
from tests import reference
from tests.reference.values import Publics, Tables
from tests.soundness.neighbours import apart
from tests.soundness.related import HOSTILE, Database, environment, together
from tests.soundness.related_queries import Queries

QUERIES = 20_000 if os.environ.get("PRIVQL_SOAK") else 150
SALT = b"related neighbours"
ENVS = [(environment(at_most, change_one), change_one) for at_most in (2, None) for change_one in (False, True)]
LIMITS = ("", "", "", " AT MOST 1 ROWS PER UNIT", " AT MOST 2 ROWS PER UNIT", " AT MOST 5 ROWS PER UNIT")

POOLS: dict[str, tuple[Value, ...]] = {
    "INT": (0, 1, 1, 2, -1, 4, 2**63 - 1, None),
    "TEXT": ("a", "a", "b", "c", "", None),
    "BOOL": (True, False, None),
    "FLOAT": (0.0, 1.0, -0.5, 1e308, None),
}


def random_public(columns: tuple[tuple[str, ValueType], ...], choice: random.Random) -> list[tuple[Value, ...]]:
    """The proof takes nothing from what public rows hold, nor from what was released."""
    rows = [tuple(choice.choice(POOLS[type.kind]) for _, type in columns) for _ in range(choice.choice((0, 1, 3, 5)))]
    return rows + rows[:2] * choice.choice((0, 1, 3))


def publics_of(plan: BlockPlan, choice: random.Random) -> Publics:
    return {name: random_public(columns, choice) for name, _, columns in plan.publics}


def databases(choice: random.Random, units: int) -> tuple[Tables, list[Tables]]:
    """What others have, and what one unit may have beside them."""
    made = Database(choice, HOSTILE)
    others = [made.unit(f"u{at}", choice.choice((1, 3))) for at in range(choice.choice((0, 1, 2)))]
    rest = together(*others, made.nobodys())
    return rest, [made.unit("me", choice.choice((1, 2, 4))) for _ in range(units)]


def moved(
    measured: Measured, plan: BlockPlan, choice: random.Random, change_one: bool, worlds: int
) -> Iterator[tuple[int, int, int]]:
    """For each contribution, by its number: how far the sums are apart, as l1 and squared l2."""
    for _ in range(worlds):
        publics = publics_of(plan, choice)
        rest, own = databases(choice, 5)
        answers = [reference.run(measured.term, together(rest, one), SALT, publics) for one in own]
        alone = reference.run(measured.term, rest, SALT, publics)
        pairs = [(alone, one) for one in answers]
        if change_one:
            pairs += [(one, other) for one in answers for other in answers]
        for one, other in pairs:
            for at, move in enumerate(apart(measured, one, other)):
                yield at, move.l1, move.l2_squared


def accepted(queries: Queries, choice: random.Random) -> Iterator[tuple[StatementCheck, bool]]:
    while True:
        env, change_one = choice.choice(ENVS)
        query = queries.query()
        check, _ = next(iter(check_text(Source(query.sql + choice.choice(LIMITS)), env)))
        if check.ok:
            yield check, change_one


def test_no_neighbour_moves_a_sum_beyond_its_claim() -> None:
    choice, queries = random.Random(3), accepted(Queries(3), random.Random(5))
    claims = reached = 0
    for _ in range(QUERIES):
        check, change_one = next(queries)
        assert check.plan is not None
        for plan in check.plan.blocks:
            assert plan.measured is not None
            farthest = [0] * len(plan.measured.parts)
            for at, l1, l2_squared in moved(plan.measured, plan, choice, change_one, 2):
                claim = plan.measured.parts[at].sensitivity
                where = f"{l1} > {claim.l1}\n{check.source.text}"
                assert l1 <= claim.l1 and l2_squared <= claim.l2_squared, where
                farthest[at] = max(farthest[at], l1)
            claims += len(farthest)
            reached += sum(far == part.sensitivity.l1 for far, part in zip(farthest, plan.measured.parts, strict=True))
    assert reached > claims / 5, f"{reached} of {claims} claims reached"  # by chance: a claim that means nothing is not
    print(f"{reached} of {claims} claims reached")


@pytest.mark.parametrize(
    "rows",
    [
        "(SELECT pid FROM patients UNION ALL SELECT pid FROM adults)",
        "(SELECT pid, age FROM patients UNION SELECT pid, age - 1 FROM adults)",
        "(SELECT pid, age FROM patients EXCEPT ALL SELECT pid, age FROM adults)",
        "patients p JOIN codes c ON p.age = c.code",
        "patients p LEFT JOIN codes c ON p.age = c.code",
        "patients p JOIN wards w ON p.ward = w.ward",
        "patients p CROSS JOIN codes c",
        "patients p FULL JOIN adults a ON p.pid = a.pid AND p.smoker",
        "patients p JOIN (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) v ON p.pid = v.pid",
        "(SELECT DISTINCT pid FROM visits)",
        "(SELECT pid FROM visits GROUP BY pid UNION ALL SELECT pid FROM patients WHERE smoker)",
        "per_patient v LEFT JOIN patients p ON p.pid = v.pid AND v.n > 1",
        "patients p WHERE p.age > (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid)",
    ],
)
def test_what_the_structure_bounds_is_bounded_and_reached(rows: str) -> None:
    choice = random.Random(rows)
    for env, change_one in ENVS:
        alias = "" if " " in rows.split(")")[-1].strip() or not rows.startswith("(") else " AS t"
        check, _ = next(iter(check_text(Source(f"SELECT COUNT(*) FROM {rows}{alias}"), env)))
        assert check.ok and check.plan is not None, check.diagnostics
        (plan,) = check.plan.blocks
        assert plan.measured is not None
        claim, far = plan.measured.parts[0].sensitivity.l1, 0
        for _ in range(40):
            if far < claim:
                far = max(l1 for _, l1, _ in moved(plan.measured, plan, choice, change_one, 8))
        assert far == claim
