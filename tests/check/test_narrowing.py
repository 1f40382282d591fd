"""What the checker believes of a column, against every row that gets there.

A domain that is too small would clamp or drop rows without a word - the kernel makes that harmless to privacy, and not
to answers - and one that is too wide costs noise. So both ways are held: no row that passes the filters lies outside
(random queries, through subqueries that rename and shadow), and simple facts are as narrow as they can be.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from privql.check.relations import Compute, PrivateScan, Rel, Where
from privql.check.tried import tried
from privql.diagnostics import Source
from privql.domains import Domain, finite, interval
from privql.domains.arithmetic import limits
from privql.functions.scalar import evaluate_term
from privql.kernel.scalars import (
    BOOL,
    DATE,
    INT,
    INTERVAL,
    TIMESTAMP,
    Apply,
    Const,
    Field,
    Scalar,
    Value,
    ValueType,
)
from privql.pipeline.check import check_text
from tests.assurance import assured, length
from tests.check.blocks import ENV, block
from tests.soundness.queries import KEYS, Queries
from tests.soundness.world import HOSTILE, read

SEEDS = length(3, 400)
DECLARED: dict[str, tuple[Value, ...]] = {
    **HOSTILE,
    "a": (*range(-3, 8), None),
    "b": (*range(6), None),
    "c": (*(Fraction(n, 10) for n in range(-15, 26)), None),
    "f": (-1.0, 3.0, 0.0, -0.0, 1.0, 0.5, 1.5, 2.999, 5e-324, None),
    "s": ("x", "y", None),
    "d": (*range(19_780, 19_785), None),
    "w": tuple(map(read, HOSTILE["w"])),
}


def reached(rel: Rel, row: dict[str, Value]) -> dict[str, Value] | None:
    """The row as it reads at the end of a block's filters and columns; None if a filter drops it."""
    match rel:
        case PrivateScan(table=table, columns=columns):
            declared = ENV.catalog.table(table)
            assert declared is not None
            if any(column.not_null and row.get(column.name, 0) is None for column in declared.columns):
                return None
            return {id: row.get(name) for id, name, _ in columns}
        case Where(input=below, condition=condition):
            found = reached(below, row)
            return found if found is not None and evaluate_term(condition, found) is True else None
        case Compute(input=below, columns=computed):
            found = reached(below, row)
            return None if found is None else {id: evaluate_term(term, found) for id, term in computed}
        case _:
            raise AssertionError(rel)


def rows(choice: random.Random, count: int) -> Iterator[dict[str, Value]]:
    for _ in range(count):
        yield {name: choice.choice(values) for name, values in DECLARED.items()}


class Nested(Queries):
    """Queries whose source renames, computes, filters and shadows on the way."""

    COLUMNS = ("a", "b", "c", "f", "s", "k", "d", "z", "w", "t")

    def source(self, depth: int) -> str:
        pick = self.choice
        if depth == 0:
            return pick.choice(("people", "grown", "strict", "rows_alone"))
        below = self.source(depth - 1)
        changed = pick.sample(("a", "b", "c", "f"), pick.choice((0, 1, 2)))
        listed = [f"{self.number(1)} AS {c}" if c in changed else c for c in self.COLUMNS]
        if pick.random() < 0.3:
            at, to = pick.sample(("a", "b"), 2)
            listed = [f"{to} AS {at}" if c == at else f"{at} AS {to}" if c == to else c for c in listed]
        where = f" WHERE {self.condition(2)}" if pick.random() < 0.7 else ""
        text = f"SELECT {', '.join(listed)} FROM {below}{where}"
        return f"({text}) AS people" if pick.random() < 0.7 else f"(WITH a AS ({text}) SELECT * FROM a) AS grown"

    def query(self) -> str:
        pick = self.choice
        keys = pick.sample(KEYS, pick.choice((0, 0, 1)))
        listed = [*keys, f"SUM({self.number(2)})", self.aggregate()]
        text = f"SELECT {', '.join(listed)} FROM {self.source(pick.choice((0, 1, 2)))} WHERE {self.condition(2)}"
        return f"{text}{' GROUP BY 1' if keys else ''} SPEND EPSILON 1"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_row_lies_outside_what_is_believed(seed: int) -> None:
    with assured("narrowing") as tally:
        tally["tried"] += 50
        queries, choice = Nested(seed), random.Random(seed)
        tried = inside = 0
        while tried < 50:
            text = queries.query()
            one, _ = next(iter(check_text(Source(text), ENV)))
            if not one.ok:
                assert {d.code for d in one.diagnostics} <= {"PQL0301", "PQL0402", "PQL0403", "PQL0404"}, str(one)
                continue
            tried += 1
            assert one.plan is not None
            made = one.plan.blocks[0].block
            for row in rows(choice, 60):
                found = reached(made.rel, row)
                if found is None:
                    continue
                for key in made.keys:
                    assert evaluate_term(key.value, found) in key.members, (text, key.name, row)
                for aggregate in made.aggregates:
                    if aggregate.argument is None:
                        continue
                    if aggregate.where is not None and evaluate_term(aggregate.where, found) is not True:
                        continue
                    value = evaluate_term(aggregate.argument, found)
                    assert value in aggregate.domain, (text, aggregate.text, value, aggregate.domain.describe(), row)
                    inside += 1
        assert inside > 300


TIGHT = [
    # what SUM(a) is summed over, a being declared INT BETWEEN -3 AND 7, or what is written there
    ("WHERE a > 2", "[3, 7]"),
    ("WHERE a >= 2", "[2, 7]"),
    ("WHERE 2 > a", "[-3, 1]"),
    ("WHERE a < 2.5", "[-3, 2]"),
    ("WHERE a = 5", "{5}"),
    ("WHERE a BETWEEN 1 AND 3", "[1, 3]"),
    ("WHERE a BETWEEN SYMMETRIC 3 AND 1", "[1, 3]"),
    ("WHERE a IN (1, 6)", "{1, 6}"),
    ("WHERE NOT (a < 2)", "[2, 7]"),
    ("WHERE NOT (a < 2 OR a > 4)", "[2, 4]"),
    ("WHERE a < 0 OR a BETWEEN 1 AND 2", "[-3, 2]"),
    ("WHERE a > 2 AND a < 6 AND a <> 4", "[3, 5]"),
    ("WHERE a > b", "[1, 7]"),
    ("WHERE a IS NOT NULL", "[-3, 7]"),
    ("WHERE (a > 2) IS TRUE", "[3, 7]"),
    ("WHERE (a > 2) IS NOT FALSE", "[3, 7] or NULL"),
    ("WHERE (a > 2) IS NOT FALSE AND a < 6", "[3, 5]"),
    ("WHERE k", "[-3, 7] or NULL"),
    ("WHERE a > 2 OR k", "[-3, 7] or NULL"),
    ("WHERE a > 100", "nothing"),
    ("WHERE a = NULL", "nothing"),
    ("WHERE a IN (1, 100)", "{1}"),
    ("WHERE a = 5.0", "{5}"),
    ("WHERE a < 2.5::FLOAT", "[-3, 2]"),
    ("WHERE a < f", "[-3, 2]"),
    ("WHERE a + 1 > 5", "[5, 7]"),
]


@pytest.mark.parametrize(("where", "domain"), TIGHT)
def test_facts_are_as_narrow_as_they_can_be(where: str, domain: str) -> None:
    text = f"SELECT SUM(a) FROM people {where} SPEND EPSILON 1"
    assert block(text).aggregates[0].domain.describe() in (domain, {"nothing": "[101, 7]"}.get(domain))


@pytest.mark.parametrize(
    ("where", "domain"),
    [("(b > 2) IS NOT FALSE", "[3, 5]"), ("(b > a) IS NOT FALSE", "[0, 5]"), ("(b > a + 5) IS NOT FALSE", "[0, 5]")],
)
def test_what_is_never_null_stays_so(where: str, domain: str) -> None:
    assert block(f"SELECT SUM(b) FROM strict WHERE {where} SPEND EPSILON 1").aggregates[0].domain.describe() == domain


TENTHS = [
    # what SUM(c) is summed over, c being a DECIMAL of tenths from -1.5 to 2.5
    ("c < 2", "[-1.5, 1.9]"),
    ("c > 1", "[1.1, 2.5]"),
    ("c > 0.05", "[0.1, 2.5]"),
    ("c < 0.05", "[-1.5, 0]"),
    ("c <= 0.3::FLOAT", "[-1.5, 0.3]"),
    ("c >= 0.1::FLOAT", "[0.1, 2.5]"),
    ("c::DECIMAL(5,0) = 1", "[0.5, 1.4]"),
    ("c IN (0.5, 2, 7)", "{0.5, 2}"),
]


@pytest.mark.parametrize(("where", "domain"), TENTHS)
def test_facts_are_as_narrow_on_a_grid(where: str, domain: str) -> None:
    found = block(f"SELECT SUM(c) FROM people WHERE {where} SPEND EPSILON 1").aggregates[0].domain
    assert found.describe() == domain


TRIED = [
    # what no comparison of the column itself says, every function's own rule does
    ("a", "a + 1 > 4", "[4, 7]"),
    ("a", "2 * a BETWEEN 3 AND 9", "[2, 4]"),
    ("a", "ABS(a) <= 2", "[-2, 2]"),
    ("a", "a IS NOT DISTINCT FROM 3", "[3, 3]"),
    ("a", "a / 4 IN (1, 2)", "[4, 7]"),
    ("a", "a + b > 10", "[6, 7]"),
    ("a", "(a > 2) IS NOT TRUE", "[-3, 2] or NULL"),
    ("a", "a + 1 > 100", "nothing"),
    ("z", "z + 1 BETWEEN 0 AND 10", "[-1, 9]"),
    ("LENGTH(s || s)", "s LIKE 'x%'", "{2}"),
]


@pytest.mark.parametrize(("argument", "where", "domain"), TRIED)
def test_every_function_narrows(argument: str, where: str, domain: str) -> None:
    found = block(f"SELECT SUM({argument}) FROM people WHERE {where} SPEND EPSILON 1").aggregates[0].domain
    assert found.describe() in (domain, {"nothing": "{}"}.get(domain))


def test_what_keeps_an_operation_from_overflowing_is_no_bound() -> None:
    """`z` has none: that z - 1 has a value leaves it 2^64 numbers, and noise for these is no answer."""
    (check, _), *_ = check_text(Source("SELECT SUM(z) FROM people WHERE z - 1 < 5 SPEND EPSILON 1"), ENV)
    assert [found.code for found in check.diagnostics] == ["PQL0402"]


def test_what_would_take_long_to_try_is_left() -> None:
    """A condition of few columns and operations is tried, and of few values each."""

    def learned(condition: Scalar, known: Domain) -> set[str]:
        found = tried(condition, lambda term: known, True, False)
        return {name for name, domain in found.items() if domain.with_null() != known}

    def test(term: Scalar) -> Scalar:
        return Apply("gt", (term, Const(2, INT)), BOOL)

    few = interval(0, 9, True, Fraction(1))
    for count in (1, 2, 3, 4):
        names = [f"x{at}" for at in range(count)]
        all_small = test(Apply("least", tuple(Field(name, INT) for name in names), INT))
        assert learned(all_small, few) == (set(names) if count < 4 else set())
    for count in (1, 22, 23, 24):
        term: Scalar = Field("x", INT)
        for _ in range(count):
            term = Apply("abs", (term,), INT)
        assert learned(test(term), few) == ({"x"} if count < 24 else set())  # and the comparison is one
    for count in (399, 400, 401):
        listed = finite(range(count), True, Fraction(1))
        assert learned(test(Field("x", INT)), listed) == ({"x"} if count < 401 else set())


@pytest.mark.parametrize("type", [INT, DATE, TIMESTAMP])
@pytest.mark.parametrize("op", ["le", "ge", "lt", "gt"])
def test_what_is_declared_is_narrowed_wherever_it_lies(type: ValueType, op: str) -> None:
    """Also where only what overflows would lie beyond it."""
    least, most = map(int, limits(type))
    for first in (least, least + 1, 0, most - 41, most - 40):
        x = Field("x", type)
        far = Apply("add" if first < 0 else "sub", (x, Const((0, 0, 7), INTERVAL)), type)
        moved = far if type == TIMESTAMP else Apply(far.op, (x, Const(7, INT)), type)
        middle = Const(first + 20 + (7 if first < 0 else -7), type)
        test = Apply(op, (moved, middle), BOOL)
        known = interval(first, first + 40, True, Fraction(1))
        found = tried(test, {x: known}.__getitem__, True, False)["x"]
        kept = [value for value in range(first, first + 41) if evaluate_term(test, {"x": value}) is True]
        assert (found.low, found.high, found.nullable) == (kept[0], kept[-1], False), (first, found)


def test_groups_are_those_that_a_condition_leaves() -> None:
    for where, groups in (("s LIKE 'x%'", ("x",)), ("s ~ 'y' OR UPPER(s) = 'Y'", ("y",)), ("s NOT LIKE 'x'", ("y",))):
        key = block(f"SELECT s, COUNT(*) FROM people WHERE {where} GROUP BY s SPEND EPSILON 1").keys[0]
        assert key.members == groups
    for where, days in (("EXTRACT(MONTH FROM d) = 3", 2), ("DATE_TRUNC('month', d) = DATE '2024-02-01'", 3)):
        key = block(f"SELECT d, COUNT(*) FROM people WHERE {where} GROUP BY d SPEND EPSILON 1").keys[0]
        assert len(key.members or ()) == days


@pytest.mark.parametrize("condition", ["a > 3", "a <= 3 OR a IS NULL", "NOT (b > 2)", "a > 3 AND b < 2", "k", "b <= 2"])
def test_if_learns_from_its_condition_what_case_does(condition: str) -> None:
    for then, otherwise in (("a", "NULL"), ("b", "a"), ("1", "b"), ("a", "a * 2"), ("b * 2 - a", "1"), ("a < 3", "k")):
        terms = f"IF({condition}, {then}, {otherwise})", f"CASE WHEN {condition} THEN {then} ELSE {otherwise} END"
        keys = [block(f"SELECT {x} AS x, COUNT(*) FROM people GROUP BY x SPEND EPSILON 1").keys[0] for x in terms]
        assert keys[0].members == keys[1].members is not None, terms


def test_no_value_that_a_condition_lets_through_is_cut_off() -> None:
    """Random conditions of random functions of one column, over every value of it."""
    choice = random.Random(5)
    x, y = Field("x", INT), Field("y", INT)
    apart = 0
    for _ in range(600):
        wide, listed = interval(-9, 9, True, Fraction(1)), finite(range(-9, 10, 3), True, Fraction(1))
        columns = {"x": choice.choice((wide, listed)), "y": interval(-2, 2, choice.random() < 0.5, Fraction(1))}
        term: Scalar = x
        for _ in range(choice.randint(1, 3)):
            op = choice.choice(
                ("add", "sub", "mul", "int_div", "mod", "bits_and", "greatest", "coalesce", "abs", "neg")
            )
            number = choice.choice((None, -3, -1, 0, 2, 5))
            other: Scalar = y if number is None else Const(number, INT)
            pair: tuple[Scalar, ...] = (term, other) if choice.random() < 0.5 else (other, term)
            sides = (term,) if op in ("abs", "neg") else pair
            term = Apply(op, sides, INT)
        test = Apply(
            choice.choice(("lt", "ge", "eq", "ne", "is_distinct", "in")),
            (term, Const(choice.randint(-9, 9), INT)),
            BOOL,
        )
        holds, or_null = choice.random() < 0.6, choice.random() < 0.4

        def domain_of(term: Scalar, columns: dict[str, Domain] = columns) -> Domain:
            return columns[term.name] if isinstance(term, Field) else finite((), True)

        found = tried(test, domain_of, holds, or_null)
        wanted = (holds, None if or_null else holds)
        for a in (*range(-9, 10), None):
            for b in (*range(-2, 3), None):
                if a in columns["x"] and b in columns["y"] and evaluate_term(test, {"x": a, "y": b}) in wanted:
                    assert a in found.get("x", columns["x"]) and b in found.get("y", columns["y"]), (test, holds, a, b)
        apart += found.get("x", columns["x"]) != columns["x"]
    assert apart > 150
