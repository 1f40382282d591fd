"""What an aggregate of private rows counts: the rows that pass its own filter and have a value, and no others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from privql.check.relations import Compute, PrivateScan, Rel, Where
from privql.diagnostics import Source
from privql.domains import Domain, finite, interval
from privql.functions.scalar import evaluate_term
from privql.kernel.scalars import Value
from privql.pipeline.check import check_text
from tests.soundness.world import environment

ENV = environment()

COUNTED: list[tuple[str, Callable[[int | None, bool | None], bool]]] = [
    # `a` may be NULL, and `k` is TRUE, FALSE or NULL
    ("COUNT(*)", lambda a, k: True),
    ("COUNT(a)", lambda a, k: a is not None),
    ("COUNT(a + 1)", lambda a, k: a is not None),
    ("COUNT(*) FILTER (WHERE CLAMP(a, -1000, 1000) > 2)", lambda a, k: a is not None and a > 2),
    ("COUNT(*) FILTER (WHERE CLAMP(a, NULL, 1000) > 2)", lambda a, k: False),
    ("COUNT(*) FILTER (WHERE CLAMP(a, -1000, NULL) > 2)", lambda a, k: False),
    ("COUNT(*) FILTER (WHERE k)", lambda a, k: k is True),
    ("COUNT(a) FILTER (WHERE k)", lambda a, k: a is not None and k is True),
    ("COUNT(a) FILTER (WHERE NOT k)", lambda a, k: a is not None and k is False),
    ("COUNT(COALESCE(a, 0)) FILTER (WHERE k IS NULL)", lambda a, k: k is None),
    ("SUM(a) FILTER (WHERE k)", lambda a, k: k is True),
    ("AVG(a) FILTER (WHERE a > 2)", lambda a, k: a is not None and a > 2),
]


def columns(rel: Rel, row: dict[str, Value]) -> dict[str, Value]:
    match rel:
        case PrivateScan(columns=read):
            return {id: row.get(name) for id, name, _ in read}
        case Where(input=below):
            return columns(below, row)
        case Compute(input=below, columns=computed):
            found = columns(below, row)
            return {id: evaluate_term(term, found) for id, term in computed}
        case _:
            raise AssertionError(rel)


@pytest.mark.parametrize(("written", "counts"), COUNTED, ids=[written for written, _ in COUNTED])
def test_the_rows_that_count(written: str, counts: Callable[[int | None, bool | None], bool]) -> None:
    one, _ = next(iter(check_text(Source(f"SELECT {written} FROM people SPEND EPSILON 1"), ENV)))
    assert one.ok and one.plan is not None, str(one)
    block = one.plan.blocks[0].block
    (aggregate,) = block.aggregates
    for a, k in product((None, -3, 2, 3), (None, True, False)):
        found = columns(block.rel, {"a": a, "k": k})
        passes = aggregate.where is None or evaluate_term(aggregate.where, found) is True
        assert passes == counts(a, k), (a, k)


@pytest.mark.parametrize("name", ["SUM", "AVG", "COUNT"])
@pytest.mark.parametrize("order", ["{}(a ORDER BY b)", "{}(a) WITHIN GROUP (ORDER BY b)"])
def test_an_order_that_does_not_matter_is_refused(name: str, order: str) -> None:
    one, _ = next(iter(check_text(Source(f"SELECT {order.format(name)} FROM people SPEND EPSILON 1"), ENV)))
    assert [found.code for found in one.diagnostics] == ["PQL0305"]


ANSWERS = [
    # what a number that was measured may be, noise and all
    ("COUNT(*)", Domain(None, None, None, False, Fraction(1))),
    ("COUNT(DISTINCT a)", Domain(None, None, None, False, Fraction(1))),
    ("SUM(a)", Domain(None, None, None, False, Fraction(1))),
    ("SUM(2 * a)", Domain(None, None, None, False, Fraction(2))),
    ("SUM(c)", Domain(None, None, None, False, Fraction(1, 10))),
    ("SUM(f)", Domain(None, None, None, False, None)),
    ("SUM(FLOOR(f))", Domain(None, None, None, False, None)),
    ("AVG(a)", Domain(Fraction(-3), Fraction(7), None, True, None)),
    ("COUNT(*) % 2 = 1", finite([False, True], False)),
    ("COUNT(*) < 0", finite([False, True], False)),
]


@pytest.mark.parametrize(("written", "domain"), ANSWERS, ids=[written for written, _ in ANSWERS])
def test_an_answer_is_any_number_that_noise_makes_of_it(written: str, domain: Domain) -> None:
    one, _ = next(iter(check_text(Source(f"SELECT {written} AS x FROM people SPEND EPSILON 1"), ENV)))
    assert one.ok and one.plan is not None, str(one)
    assert one.columns[0].attribute.domain == domain


def test_a_row_counts_for_nothing_or_for_one() -> None:
    one, _ = next(iter(check_text(Source("SELECT COUNT(*) AS x, COUNT(a) FROM people SPEND EPSILON 1"), ENV)))
    assert one.plan is not None
    for aggregate in one.plan.blocks[0].block.aggregates:
        assert aggregate.domain == interval(0, 1, False, Fraction(1))


@pytest.mark.parametrize(
    "written",
    [
        "SUM(z)",
        "AVG(w)",
        "SUM(z + 1)",
        "CORR(z, a)",
        "CORR(a, z)",
        "COVAR_POP(w, z)",
        "QUANTILE(w, 0.5)",
        "HISTOGRAM(z, 3)",
    ],
)
def test_what_the_help_writes_is_what_the_edit_makes(written: str) -> None:
    """Where an argument has no bounds, it is that argument which is given some."""
    text = f"SELECT {written} FROM people SPEND EPSILON 1"
    one, _ = next(iter(check_text(Source(text), ENV)))
    (found,) = one.diagnostics
    (fix,) = found.fixes
    edited = text[: fix.span.start] + fix.text + text[fix.span.end :]
    assert found.code == "PQL0402" and fix.text.startswith("CLAMP(")
    assert f"`{edited.removeprefix('SELECT ').split(' FROM')[0]}`" in found.help
