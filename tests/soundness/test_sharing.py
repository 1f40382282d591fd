"""Several aggregates read off one measurement: as much as is claimed, the same answers, and less noise."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from privql.audit import reference
from privql.diagnostics import Source
from privql.finish.cells import finish_block
from privql.finish.table import Table
from privql.kernel.scalars import Value
from privql.noise.laplace import discrete_laplace
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from privql.pipeline.steps import recipes_of
from privql.plan.program import BlockPlan
from tests.soundness.neighbours import SALT, moves
from tests.soundness.world import KINDS, environment, random_row

ENV = environment()


def checked(query: str) -> StatementCheck:
    one, _ = next(iter(check_text(Source(query), ENV)))
    assert one.ok, one.diagnostics
    return one


def plan_of(query: str) -> BlockPlan:
    plan = checked(query).plan
    assert plan is not None
    (made,) = plan.blocks
    return made


def listed(arguments: list[str], functions: list[str], clause: str = "") -> list[str]:
    return [f"{function}({argument}{clause})" for argument in arguments for function in functions]


SHAPES = [
    (["a"], ["COUNT", "SUM", "AVG"], "people", ""),
    (["c", "b"], ["SUM", "AVG"], "people", ""),
    (["f"], ["COUNT", "AVG", "SUM"], "events", ""),
    (["a - 9"], ["SUM", "COUNT"], "rows_alone", ""),
    (["CLAMP(w, -2, 1)"], ["COUNT", "SUM", "AVG"], "members", ""),
    (["a"], ["AVG", "SUM"], "dues", "s"),
    (["c"], ["COUNT", "SUM"], "events", "k"),
    (["b"], ["AVG", "SUM"], "strict", "s"),
]


@pytest.mark.parametrize(("arguments", "functions", "table", "key"), SHAPES)
def test_no_neighbour_moves_both_cells_beyond_the_claim(
    arguments: list[str], functions: list[str], table: str, key: str
) -> None:
    group = f" GROUP BY {key}" if key else ""
    made = plan_of(f"SELECT {', '.join(listed(arguments, functions))} FROM {table}{group} SPEND EPSILON 1")
    assert len(made.measurements) == len(arguments) and made.measured is not None
    farthest = [0] * len(arguments)
    for found in moves(made.measured, random.Random(3)):
        for at, (move, part) in enumerate(zip(found, made.measured.parts, strict=True)):
            assert move.l1 <= part.sensitivity.l1 and move.l2_squared <= part.sensitivity.l2_squared
            farthest[at] = max(farthest[at], move.l1)
    assert farthest == [part.sensitivity.l1 for part in made.measured.parts]


@pytest.mark.parametrize(("arguments", "functions", "table", "key"), SHAPES)
def test_without_noise_the_answers_are_those_of_separate_measurements(
    arguments: list[str], functions: list[str], table: str, key: str
) -> None:
    group = f" GROUP BY {key}" if key else ""
    together, apart = (
        plan_of(
            f"SELECT {', '.join([*listed(arguments, functions, clause), *more])} FROM {table}{group} SPEND EPSILON 1"
        )
        # a mean beside them has rows kept, where totals would be clamped
        for clause, more in (("", ["AVG(a * b)"]), (" SHARE 1", ["AVG(a * b)"]))
    )
    assert len(together.measurements) == len(arguments) + 1 < len(apart.measurements)
    choice = random.Random(5)
    for _ in range(20):
        rows = [{**random_row(choice), "id": f"u{choice.randint(0, 9)}"} for _ in range(choice.randint(0, 6))]
        rows = rows if KINDS[table].rows_per_unit > 1 else list({row["id"]: row for row in rows}.values())
        one, other = (exactly(made, table, rows) for made in (together, apart))
        for row, same in zip(one.rows, other.rows, strict=True):
            for value, expected in zip(row, same, strict=True):
                if isinstance(expected, float):  # their steps differ in size: each rounds a value by half of one
                    assert isinstance(value, float) and value == pytest.approx(expected, abs=1e-9)
                else:
                    assert value == expected


def exactly(made: BlockPlan, table: str, rows: list[dict[str, Value]]) -> Table:
    assert made.measured is not None
    return finish_block(made.block, recipes_of(made), reference.run(made.measured.term, {table: rows}, SALT))


def test_several_at_once_are_measured_with_less_noise_than_apart() -> None:
    """Root mean square errors of 4,000 answers to a million rows, by the noise that is used."""
    rows, mean, runs = 10**6, Fraction(4), 4000
    truth = {"COUNT(b)": float(rows), "SUM(b)": float(rows * mean), "AVG(b)": float(mean)}
    cells = {"COUNT(b)": (rows,), "SUM(b)": (int(rows * mean),), "AVG(b)": (int(rows * mean), int(rows * (5 - mean)))}

    def errors(query: str, exact: tuple[int, ...]) -> dict[str, float]:
        made = plan_of(query)
        assert made.measured is not None
        (part,) = made.measured.parts
        noise = [discrete_laplace(part.scale, runs).tolist() for _ in exact]
        noisy = [[cell + one for cell, one in zip(exact, each, strict=True)] for each in zip(*noise, strict=True)]
        answers = finish_block(made.block, recipes_of(made), noisy, [()] * runs).rows
        names = [one.text for one in made.block.aggregates]
        return {
            name: (sum((row[at] - truth[name]) ** 2 for row in answers) / runs) ** 0.5 for at, name in enumerate(names)
        }

    together = errors("SELECT COUNT(b), SUM(b), AVG(b) FROM people SPEND EPSILON 1", cells["AVG(b)"])
    evenly = {}
    for name in truth:
        evenly |= errors(f"SELECT {name} FROM people SPEND EPSILON 1/3", cells[name])
    print({name: together[name] / evenly[name] for name in truth})
    assert together["COUNT(b)"] < 0.55 * evenly["COUNT(b)"]  # √2/3
    assert together["SUM(b)"] < 0.4 * evenly["SUM(b)"]  # 1/3
    assert together["AVG(b)"] < 0.4 * evenly["AVG(b)"]
