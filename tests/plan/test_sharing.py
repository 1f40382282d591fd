"""Which aggregates are read off one measurement: those for which that is less noisy, and no others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from privql.kernel.sums import Balance
from privql.kernel.tails import halfwidth, variance
from privql.kernel.two import halfwidth_of_two
from privql.pipeline.report import StatementCheck
from privql.session import Session
from tests.check.clinic import clinic


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened


def accepted(session: Session, text: str) -> StatementCheck:
    check = session.check(text)
    assert check.ok, str(check)
    return check


def parts(session: Session, text: str) -> set[frozenset[str]]:
    return {
        frozenset(one.text for one in (made.aggregate, *made.also)) for made in accepted(session, text).measurements
    }


def together(*groups: str) -> set[frozenset[str]]:
    return {frozenset(group.split("; ")) for group in groups}


SHARED = [
    ("COUNT(age), SUM(age), AVG(age)", "patients", together("COUNT(age); SUM(age); AVG(age)")),
    ("COUNT(age), AVG(age)", "patients", together("COUNT(age); AVG(age)")),
    ("SUM(age), AVG(age)", "patients", together("SUM(age); AVG(age)")),
    ("SUM(age) / COUNT(age)", "patients", together("SUM(age); COUNT(age)")),
    # of another argument, other rows, or rows where it may be NULL
    ("COUNT(cost), AVG(age)", "patients", together("COUNT(cost)", "AVG(age)")),
    ("COUNT(*), AVG(age)", "patients", together("COUNT(*)", "AVG(age)")),
    ("SUM(age) FILTER (WHERE smoker), AVG(age)", "patients",
     together("SUM(age) FILTER (WHERE smoker)", "AVG(age)")),
    ("SUM(age), AVG(age * 2)", "patients", together("SUM(age)", "AVG(age * 2)")),
    # the same filter is the same rows, and a clamp is NULL where its argument is
    ("COUNT(age) FILTER (WHERE smoker), AVG(age) FILTER (WHERE smoker)", "patients",
     together("COUNT(age) FILTER (WHERE smoker); AVG(age) FILTER (WHERE smoker)")),
    ("COUNT(income), AVG(CLAMP(income, 0, 9))", "patients", together("COUNT(income); AVG(CLAMP(income, 0, 9))")),
    # all rows, where it is not NULL: beside the one that leaves the least error
    ("COUNT(*), AVG(age)", "patients WHERE age > 3", together("COUNT(*); AVG(age)")),
    ("COUNT(*), AVG(COALESCE(age, 0))", "patients", together("COUNT(*); AVG(COALESCE(age, 0))")),
    ("COUNT(*), SUM(age), AVG(cost)", "patients WHERE age > 3 AND cost > 3",
     together("COUNT(*); AVG(cost)", "SUM(age)")),
    ("COUNT(*), AVG(cost), SUM(age)", "patients WHERE age > 3 AND cost > 3",
     together("COUNT(*); AVG(cost)", "SUM(age)")),
    ("COUNT(*), COUNT(cost), AVG(age), AVG(cost)", "patients WHERE age > 3",
     together("COUNT(*); AVG(age)", "COUNT(cost); AVG(cost)")),
    # with a clause of its own, each for itself
    ("COUNT(age SHARE 1), AVG(age)", "patients", together("COUNT(age SHARE 1)", "AVG(age)")),
    ("COUNT(age SPEND 0.1), SUM(age), AVG(age)", "patients",
     together("COUNT(age SPEND EPSILON 0.1)", "SUM(age); AVG(age)")),
    ("COUNT(age), AVG(age BOUNDS AUTO)", "patients", together("COUNT(age)", "AVG(age BOUNDS AUTO)")),
    # one member changed moves both cells by the whole range, and a count by one
    ("COUNT(age), AVG(age)", "members", together("COUNT(age); AVG(age)")),
    ("COUNT(age), SUM(age)", "members", together("COUNT(age)", "SUM(age)")),
    # each patient's total is clamped: no mean is made of that
    ("COUNT(minutes), SUM(minutes)", "visits", together("COUNT(minutes)", "SUM(minutes)")),
    ("COUNT(minutes), SUM(minutes), AVG(minutes)", "visits", together("COUNT(minutes); SUM(minutes); AVG(minutes)")),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "table", "expected"), SHARED)
def test_what_shares(listed: str, table: str, expected: set[frozenset[str]], session: Session) -> None:
    assert parts(session, f"SELECT {listed} FROM {table} SPEND EPSILON 1") == expected


def test_an_error_is_promised_for_each_where_that_costs_least(session: Session) -> None:
    for items, given, read_off in (
        ("COUNT(age), SUM(age)", "WITHIN 500", [1]),
        ("COUNT(age - 90), SUM(age - 90)", "WITHIN 500", [0, 0]),
        ("SUM(age), AVG(age)", "WITHIN 20 GIVEN COUNT >= 1000", [1]),
        ("COUNT(age), AVG(age)", "WITHIN 1 GIVEN COUNT >= 120", [1]),
        ("COUNT(age), AVG(age)", "WITHIN 1 GIVEN COUNT >= 1000", [0, 0]),
        ("VAR_POP(age), AVG(age)", "WITHIN 15 GIVEN COUNT >= 1000", [0, 0]),
        ("COUNT(age - 60), SUM(age - 60), AVG(age - 60)", "WITHIN 15 GIVEN COUNT >= 10", [1, 0]),
    ):
        check = accepted(session, f"SELECT {items} FROM patients {given}")
        assert [len(one.also) for one in check.measurements] == read_off
        apart = [accepted(session, f"SELECT {one} FROM patients {given}") for one in items.split(", ")]
        cost = sum(one.epsilon.constant for one in check.measurements)
        assert cost <= sum(one.epsilon.constant for each in apart for one in each.measurements)
        for one in check.measurements:
            for each in (one.aggregate, *one.also):
                width = one.halfwidth(Fraction(95, 100), each)
                assert (width is None) == (each.function in ("avg", "var_pop"))
                assert (width or 0) <= int(given.split()[1])


LISTED = ["COUNT(*)", "COUNT(age)", "SUM(age)", "AVG(age)", "SUM(age - 60)", "AVG(age - 60)", "COUNT(age - 60)"]
COSTLY = [*LISTED, "COUNT(cost)", "SUM(cost)", "AVG(cost)", "SUM(COALESCE(cost, 1))", "AVG(COALESCE(cost, 1))"]
REACHES = {"age": (0, 120), "age - 60": (-60, 60), "cost": (0, 2_000_000), "COALESCE(cost, 1)": (0, 2_000_000)}
NULLABLE = {"age": True, "age - 60": True, "cost": True, "COALESCE(cost, 1)": False}


def weight(part: list[str], changed: bool) -> float | None:
    """Of one measurement, its part of the third root of ε² times the sum of squared relative errors; None where its
    aggregates cannot share one."""
    functions, arguments = zip(*(one[:-1].split("(", 1) for one in part), strict=True)
    if len(part) == 1 and functions[0] == "COUNT":
        return 1.0
    named = set(arguments) - {"*"}
    if len(named) != 1 or ("*" in arguments and NULLABLE[next(iter(named))]):
        return None
    low, high = REACHES[named.pop()]
    far = max(-low, high)
    if len(part) == 1 and functions[0] == "SUM":
        return float(((max(high, 0) - min(low, 0)) / far if changed else 1) ** (2 / 3))
    if len(part) > 1 and set(functions) == {"COUNT"}:
        return None
    squares = {"AVG": 1.0, "COUNT": 2.0, "SUM": (low**2 + high**2) / far**2}
    return float((sum(squares[one] for one in functions) * (2 if changed else 1) ** 2) ** (1 / 3))


def partitions(items: list[str]) -> Iterator[list[list[str]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for at, part in enumerate(rest):
            yield [*rest[:at], [items[0], *part], *rest[at + 1 :]]


def least(items: list[str], changed: bool) -> float:
    weighed = ([weight(part, changed) for part in made] for made in partitions(items))
    return min(sum(one for one in made if one is not None) for made in weighed if None not in made)


def test_no_other_sharing_has_less_error(session: Session) -> None:
    """Every way to put them together: the one that is planned has the least sum of squared relative errors."""
    choice = random.Random(7)
    for _ in range(40):
        changed = choice.random() < 0.3
        items = choice.sample(LISTED if changed else COSTLY, choice.randint(2, 5))
        table = "members" if changed else "patients"
        check = accepted(session, f"SELECT {', '.join(items)} FROM {table} SPEND EPSILON 1")
        planned = [[one.text for one in (made.aggregate, *made.also)] for made in check.measurements]
        weights = [weight(part, changed) for part in planned]
        assert None not in weights, planned
        chosen = sum(one for one in weights if one is not None)
        assert chosen == pytest.approx(least(items, changed), rel=1e-6), (items, planned)
        # and ε is split for it
        for one, expected in zip(check.measurements, weights, strict=True):
            assert expected is not None
            assert float(one.epsilon.constant) == pytest.approx(expected / chosen, rel=2e-3)


def test_the_price_is_the_proof_and_both_cells_are_paid(session: Session) -> None:
    check = accepted(session, "SELECT sex, COUNT(age), SUM(age), AVG(age) FROM patients GROUP BY sex SPEND 1/3")
    assert check.plan is not None and check.epsilon.constant == Fraction(1, 3)
    (block,) = check.plan.blocks
    assert block.measured is not None and block.measured.cost.epsilon == Fraction(1, 3)
    (part,) = block.measured.parts
    assert isinstance(part.contribution, Balance) and part.scale == 360


def test_three_at_once_are_less_than_half_as_far_off_as_split_evenly(session: Session) -> None:
    (one,) = accepted(session, "SELECT COUNT(age), SUM(age), AVG(age) FROM patients SPEND EPSILON 1").measurements
    alone = [
        accepted(session, f"SELECT {f}(age) FROM patients SPEND 1/3").measurements[0] for f in ("COUNT", "SUM", "AVG")
    ]
    assert one.scale is not None and all(each.scale is not None for each in alone)
    count, total, mean = (variance(each.scale) for each in alone if each.scale is not None)
    both = variance(one.scale)
    assert (2 * both / 120**2 / count) ** 0.5 < 0.48
    assert (both / total) ** 0.5 < 0.34  # its lower bound is 0: it is one of the cells
    assert (both / mean) ** 0.5 < 0.34


def test_explained(session: Session) -> None:
    text = session.explain("SELECT COUNT(age), SUM(age), AVG(age) FROM patients SPEND EPSILON 1")
    assert "  AVG(age): Δ = 120, in two cells that share their noise\n" in text
    assert "\n    COUNT(age) comes from this measurement: ± 4 at 95%\n" in text
    assert "\n    SUM(age) comes from this measurement: ± 359 at 95%\n" in text
    text = session.explain("SELECT SUM(age), COUNT(age) FROM patients SPEND EPSILON $e")
    assert "\n    COUNT(age) comes from this measurement\n" in text


def test_narrowing_the_range_narrows_it_for_all(session: Session) -> None:
    text = session.explain("SELECT COUNT(age), SUM(age), AVG(age) FROM patients SPEND EPSILON 1")
    assert "`CLAMP(age, 0, 60)`, if most values lie there: AVG(age) ± 180/n instead of 359/n" in text


@pytest.mark.parametrize(("x", "step"), [("age", Fraction(1)), ("cost", Fraction(1, 100))])
def test_the_answer_says_how_far_off_each_is_and_is_kept(x: str, step: Fraction, session: Session) -> None:
    query = f"SELECT sex, COUNT({x}) AS n, SUM({x}) AS s, AVG({x}) AS m FROM patients GROUP BY sex ORDER BY s SPEND 2"
    check = accepted(session, query)
    answer = session.run(query)
    assert answer.cost.epsilon == 2
    assert answer.certificate["measurements"][0]["also"] == [f"SUM({x})", f"COUNT({x})"]
    _, count, total, mean = [column.halfwidth95 for column in check.columns]
    (one,) = check.measurements
    assert one.scale is not None and mean is None
    assert total == halfwidth(one.scale, Fraction(95, 100)) * step
    assert count == halfwidth_of_two(one.scale, (1, 1), int((120 if x == "age" else 20000) / step), Fraction(95, 100))
    assert all(row[1:3] == pytest.approx([float(count), float(total)]) for row in answer.to_json()["halfwidth95"])
    frame = answer.interval()
    assert (frame["n_high"] - frame["n_low"] == 2 * count).all()
    again = session.run(query)
    assert again.cost.epsilon == 0 and again.rows == answer.rows and again.columns == answer.columns


def test_a_later_query_of_a_named_release_knows_how_far_off_it_is(session: Session) -> None:
    session.run("CREATE RELEASE ages AS SELECT sex, COUNT(age) AS n, SUM(age) AS s FROM patients GROUP BY sex SPEND 3")
    whole = session.run("SELECT n, s FROM ages").to_json()["halfwidth95"]
    found = session.run("SELECT n FROM ages WHERE s > -1e9 UNION ALL SELECT n FROM ages").to_json()["halfwidth95"]
    assert len(whole) == 4 and all(0 < row[0] < row[1] for row in whole)
    assert found == [row[:1] for row in whole] * 2
