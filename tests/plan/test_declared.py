"""Declarations made true at the scan: grids, bounds, lists, NOT NULL; and the steps in which sums are taken.

The terms of plans are evaluated in Python: whatever a source holds, what comes out of a scan lies in the domain that
the checker believes in.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

from privql.audit import reference
from privql.check.env import Env, PublicValues
from privql.check.relations import Aggregate
from privql.diagnostics import NOWHERE, Source
from privql.domains import Domain, finite, held, interval
from privql.functions.scalar import evaluate_term
from privql.kernel.features import Total
from privql.kernel.scalars import FLOAT, INT, Field, Value, ValueType, decimal
from privql.kernel.sums import Balance
from privql.pipeline.check import check_text
from privql.plan.bounds import contribution
from privql.plan.declared import enforced
from privql.plan.program import Plan
from privql.policy.build import build_catalog
from privql.syntax import ast

DAY = 19_723  # 2024-01-01
COLUMNS: list[tuple[str, tuple[Value, ...], str]] = [
    ("INT BETWEEN -10 AND 20", (-11, -10, 0, 20, 21, -(2**63), 2**63 - 1), "[-10, 20] or NULL"),
    ("INT BETWEEN -10 AND 20 GRID 5", (*range(-14, 25), -(2**63), 2**63 - 1), "[-10, 20] or NULL"),
    ("INT BETWEEN -9 AND 21 GRID 3", (*range(-14, 25), 2**63 - 1), "[-9, 21] or NULL"),
    ("INT BETWEEN 0 AND 4000000000000000000 GRID 1000", (1, 499, 500, 501, 2**62, 2**63 - 1), ""),
    ("INT GRID 10", (1, 5, 15, -7), "any"),
    ("INT IN (1, 5, 7)", (0, 1, 2, 5, 7, -1), "{1, 5, 7} or NULL"),
    ("DECIMAL(6,2) BETWEEN -1 AND 1.5", tuple(Fraction(n, 100) for n in range(-150, 200, 7)), "[-1, 1.5] or NULL"),
    ("DECIMAL(6,2) BETWEEN -1 AND 1.5 GRID 0.25", tuple(Fraction(n, 100) for n in range(-150, 200)), ""),
    ("DECIMAL(6,2) BETWEEN 0 AND 0.9 GRID 0.03", tuple(Fraction(n, 100) for n in range(-10, 110)), ""),
    ("DECIMAL(38,2) BETWEEN 0 AND 1 GRID 0.5", (Fraction(1, 4), Fraction(3, 4), Fraction(10**36)), ""),
    ("FLOAT BETWEEN -1 AND 3", (-2.0, 0.1, 3.0, 4.0, 1e308, -1e308, 5e-324), "[-1, 3] or NULL"),
    ("FLOAT BETWEEN -1 AND 3 GRID 0.5", (-2.0, -0.75, -0.74, 0.0, 0.25, 0.249, 2.75, 2.9, 1e308, -5e-324), ""),
    ("FLOAT BETWEEN 0 AND 1 GRID 0.1", (0.05, 0.1, 0.3, 0.15, 0.95, 2.0), ""),
    ("FLOAT BETWEEN -6 AND 9 GRID 3", (0.05, 1.5, 4.49, 4.5, -7.0, 2.0), ""),
    ("FLOAT BETWEEN 0 AND 1e300 GRID 0.5", (0.3, 1e299, 2e300), ""),
    ("FLOAT GRID 0.5", (0.3,), "any"),
    ("FLOAT BETWEEN 0.1 AND 0.3", (0.1, 0.2, 0.3, 0.0, 1.0), "[0.1, 0.3] or NULL"),
    ("DATE BETWEEN DATE '2024-01-01' AND DATE '2024-01-31'", (DAY - 1, DAY, DAY + 30, DAY + 31), "[2024-01-01, "
     "2024-01-31] or NULL"),
    ("DATE IN (DATE '2024-01-01')", (DAY - 1, DAY), "{2024-01-01} or NULL"),
    ("TEXT IN ('a', 'b')", ("a", "A", "", "b "), "{'a', 'b'} or NULL"),
    ("BOOL", (True, False), "{FALSE, TRUE} or NULL"),
    ("TIMESTAMP BETWEEN TIMESTAMP '2024-01-01 00:00:00' AND TIMESTAMP '2024-01-01 12:30:00'", (0, DAY * 86_400_000_000),
     "[2024-01-01 00:00:00, 2024-01-01 12:30:00] or NULL"),
]  # fmt: skip


def environment(*columns: str, table: str = "UNIT person KEY", public: PublicValues | None = None) -> Env:
    text = f"""CREATE UNIT person;
        CREATE PRIVATE TABLE t (id TEXT {table}, {", ".join(columns)});
        CREATE PUBLIC TABLE codes (code INT KEY);
        CREATE BUDGET b FOR UNIT person EPSILON 1000;"""
    catalog, found = build_catalog(Source(text, "policy"))
    assert not [d for d in found if d.severity == "error"], [str(d) for d in found]
    return Env(catalog, public=public)


class Codes:
    """A public table that holds these values, or cannot be read."""

    def __init__(self, held: tuple[Value, ...] | None) -> None:
        self.held = held

    def column(self, table: str, column: str) -> tuple[Value, ...] | None:
        return self.held

    def query(self, query: ast.Query) -> tuple[Value, ...] | None:
        return self.held

    def most_alike(self, table: str, columns: tuple[str, ...]) -> int | None:
        return None


@pytest.mark.parametrize(("declaration", "values", "domain"), COLUMNS)
def test_what_is_declared_is_made_true(declaration: str, values: tuple[Value, ...], domain: str) -> None:
    env = environment(f"x {declaration}")
    column = env.catalog.tables[0].columns[1]
    assert domain in ("", column.domain.describe(column.type))
    term, believed = enforced(column, env), held(column.domain, column.type)
    for value in (*values, None):
        found = evaluate_term(term, {"x": value})
        assert found in believed, (value, found)
        if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) and found is not None:
            assert isinstance(found, (int, float, Fraction))
            kept = clamped(Fraction(value), believed)
            grid = believed.grid
            assert abs(Fraction(found) - kept) <= (grid / 2 if grid is not None else 0), (value, found)


@pytest.mark.parametrize("held", [None, (), (5,), (1, 5, 7), (1, None)])
@pytest.mark.parametrize("ends", ["", " NOT NULL"])
def test_what_a_query_does_not_list_is_null_and_what_dangles_stays(held: tuple[Value, ...] | None, ends: str) -> None:
    of_query, of_table = f"x INT IN (SELECT code FROM codes){ends}", f"x INT REFERENCES codes(code){ends}"
    for column, public in product((of_query, of_table), (Codes(held), None)):
        env = environment(column, public=public)
        term = enforced(env.catalog.tables[0].columns[1], env)
        known = None if public is None or column == of_table else held
        for value in (*range(9), None):
            assert evaluate_term(term, {"x": value}) == (value if known is None or value in known else None)


def clamped(value: Fraction, domain: Domain) -> Fraction:
    low, high = domain.low, domain.high
    return max(value if high is None else min(value, high), value if low is None else low) if low is not None else value


def test_a_value_on_the_grid_stays_and_one_half_way_goes_up() -> None:
    for declaration, values in (
        ("INT BETWEEN -10 AND 20 GRID 5", {-10: -10, -8: -10, -7: -5, 2: 0, 3: 5, 18: 20}),
        ("INT BETWEEN -10 AND 20 GRID 2", {-9: -8, 1: 2, 0: 0, 19: 20}),
        ("DECIMAL(4,1) BETWEEN -1 AND 1 GRID 0.5", {Fraction(-3, 10): Fraction(-1, 2), Fraction(-1, 5): Fraction(0)}),
        ("FLOAT BETWEEN -1 AND 3 GRID 0.5", {-0.25: 0.0, 0.25: 0.5, 0.24: 0.0, 2.75: 3.0}),
    ):
        env = environment(f"x {declaration}")
        term = enforced(env.catalog.tables[0].columns[1], env)
        assert {value: evaluate_term(term, {"x": value}) for value in values} == values


def test_a_grid_makes_groups() -> None:
    one, _ = next(iter(check_text(Source("SELECT x, COUNT(*) FROM t GROUP BY x SPEND EPSILON 1"),
                                  environment("x FLOAT BETWEEN 0 AND 2 GRID 0.5"))))  # fmt: skip
    assert one.plan is not None, str(one)
    (key,) = one.plan.blocks[0].block.keys
    assert key.members == (0, Fraction(1, 2), 1, Fraction(3, 2), 2, None)
    measured = one.plan.blocks[0].measured
    assert measured is not None
    rows = [{"id": str(at), "x": value} for at, value in enumerate((0.1, 0.3, 0.6, 1.9, 7.0, None))]
    assert reference.run(measured.term, {"t": rows}, b"") == [[1], [2], [0], [0], [2], [1]]


def planned(text: str, env: Env) -> Plan:
    one, _ = next(iter(check_text(Source(text), env)))
    assert one.ok and one.plan is not None, str(one)
    return one.plan


def counted(text: str, env: Env, rows: list[dict[str, Value]]) -> list[list[int]]:
    measured = planned(text, env).blocks[0].measured
    assert measured is not None
    return reference.run(measured.term, {"t": rows}, b"")


def test_a_bound_may_be_asked_for() -> None:
    env = environment("x FLOAT BETWEEN 0 AND 0.1")
    made = planned("SELECT SUM(x) FROM t WHERE x >= 0.1 SPEND EPSILON 1", env).blocks[0].block
    assert made.aggregates[0].domain.describe() == "[0.1, 0.1]"
    assert 0.1 in made.aggregates[0].domain


def test_not_null_drops_the_row_and_dates_outside_are_null() -> None:
    env = environment("x INT BETWEEN 0 AND 9 NOT NULL", "d DATE BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'")
    rows: list[dict[str, Value]] = [
        {"id": "a", "x": 1, "d": DAY},
        {"id": "b", "x": None, "d": DAY},
        {"id": "c", "x": 50, "d": DAY - 1},
        {"id": None, "x": 2, "d": DAY},
        {"id": "e", "x": 3, "d": DAY + 1},
    ]
    assert counted("SELECT COUNT(* SHARE 1), COUNT(d), SUM(x SHARE 1) FROM t SPEND EPSILON 1", env, rows) == [
        [3, 2, 13]
    ]
    assert counted("SELECT COUNT(*) FROM t WHERE d IS NULL SPEND EPSILON 1", env, rows) == [[1]]
    assert counted("SELECT COUNT(*) FROM t WHERE x > 8 SPEND EPSILON 1", env, rows) == [[1]]


def test_rows_that_a_filter_drops_use_up_no_share() -> None:
    env = environment("x INT BETWEEN 0 AND 9", table="UNIT person")
    rows: list[dict[str, Value]] = [{"id": "a", "x": at} for at in range(10)]
    text = "SELECT COUNT(*) FROM t WHERE x >= 8 AT MOST 2 ROWS PER UNIT SPEND EPSILON 1"
    assert counted(text, env, rows) == [[2]]


# ---- steps


def aggregate(function: str, type: ValueType, domain: Domain) -> Aggregate:
    return Aggregate("c1", function, Field("x", type), domain, type, None, type, "", NOWHERE)


DOMAINS: list[tuple[ValueType, Domain]] = [
    (INT, interval(0, 120, True, Fraction(1))),
    (INT, interval(-100, -20, False, Fraction(1))),
    (INT, interval(5, 5, False, Fraction(1))),
    (INT, interval(0, 0, False, Fraction(1))),
    (INT, interval(101, 7, False, Fraction(1))),
    (INT, Domain(values=(), nullable=True)),
    (INT, interval(-(2**63), 2**63 - 1, True, Fraction(1))),
    (INT, interval(0, 300, True, Fraction(3))),
    (decimal(10, 2), interval(0, 20_000, True, Fraction(1, 100))),
    (decimal(38, 0), interval(0, 10**38 - 1, True, Fraction(1))),
    (decimal(38, 38), interval(0, 1, True, Fraction(1, 10**38))),
    (FLOAT, interval(0, 300, True, None)),
    (FLOAT, interval(-1, 1, True, None)),
    (FLOAT, interval(Fraction(10**6), Fraction(10**6) + Fraction(1, 2**20), True, None)),
    (FLOAT, interval(Fraction(-1.7e308), Fraction(1.7e308), True, None)),
    (FLOAT, interval(0, Fraction(5e-324), True, None)),
    (FLOAT, interval(0, Fraction(1e-300), True, None)),
    (FLOAT, interval(0, 0, True, None)),
    (FLOAT, interval(7, 7, True, None)),
    (FLOAT, interval(0, 360, True, Fraction(3))),
    (FLOAT, interval(0, 360, True, Fraction(3, 4))),
    (FLOAT, finite([0.75, 1.5], False, Fraction(3, 4))),
]


@pytest.mark.parametrize(("type", "domain"), DOMAINS)
@pytest.mark.parametrize("function", ["sum", "avg"])
def test_steps_hold_their_domain_closely_and_never_overflow(function: str, type: ValueType, domain: Domain) -> None:
    made = contribution(aggregate(function, type, domain))
    assert isinstance(made, Balance if function == "avg" else Total)
    steps = made.steps
    assert steps.low <= steps.high and max(abs(steps.low), abs(steps.high)) <= 2**62
    assert steps.high > steps.low or (function == "sum" and steps.low != 0), "a measurement needs a range"
    if type.kind == "FLOAT":
        assert all(end & (end - 1) == 0 for end in (steps.grid.numerator, steps.grid.denominator))
        assert steps.grid >= Fraction(2) ** -1022
    if domain.empty:
        assert (steps.low, steps.high) == (0, 1), "for no value, as little noise as can be"
        return
    assert domain.low is not None and domain.high is not None
    choice = random.Random(1)
    far = max(abs(domain.low), abs(domain.high))
    for _ in range(50):
        value = domain.low + (domain.high - domain.low) * Fraction(choice.randint(0, 10**6), 10**6)
        if domain.grid is not None:
            value = math.floor(value / domain.grid) * domain.grid
        row: dict[str, Value] = {"x": float(value) if type == FLOAT else int(value) if type == INT else value}
        found = reference.in_steps(steps, row)
        assert found is not None
        exact = domain.grid is not None and far / domain.grid < 2**61
        error = abs(found * steps.grid - Fraction(row["x"]))
        least = Fraction(2) ** -1022
        assert error <= (0 if exact else max(far / 2**37, least)), (value, found)


def test_a_float_sum_is_as_fine_as_it_pays() -> None:
    """Noise grows with the reach in steps only by rounding the end up: at most one part in 2^39."""
    for function in ("sum", "avg"):
        steps = contribution(aggregate(function, FLOAT, interval(-1, 3, True, None))).steps
        assert steps.high * steps.grid == 3 and steps.low * steps.grid == -1
        assert 2**38 <= 3 / steps.grid <= 2**42
