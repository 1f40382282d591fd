"""Who pays how much: exact sums, the split of least error, what an accuracy costs, prices that are not known yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privql.kernel.tails import halfwidth
from privql.pipeline.report import StatementCheck
from privql.plan.measurements import Measurement
from privql.plan.spend import fractions_of
from privql.session import Session
from tests.check.clinic import POLICY, clinic


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened


def accepted(session: Session, text: str, **params: object) -> StatementCheck:
    check = session.check(text, params)
    assert check.ok, str(check)
    return check


def spent(session: Session, text: str, **params: object) -> list[str]:
    return [str(one.epsilon) for one in accepted(session, text, **params).measurements]


EXACT = [
    ("SELECT COUNT(*) FROM patients SPEND EPSILON 0.5", ["1/2"]),
    ("SELECT COUNT(*) FROM patients SPEND EPSILON 1/3", ["1/3"]),
    ("SELECT COUNT(*) FROM patients SPEND EPSILON (1.0 + 1e-17)", ["100000000000000001/100000000000000000"]),
    # alike aggregates share equally: to four digits, and the last takes the rest
    ("SELECT COUNT(*), COUNT(age) FROM patients SPEND EPSILON 0.5", ["1/4", "1/4"]),
    ("SELECT COUNT(*), COUNT(age), COUNT(sex) FROM patients SPEND 1", ["3333/10000", "3333/10000", "1667/5000"]),
    ("SELECT COUNT(*), SUM(age) FROM patients SPEND EPSILON 1", ["1/2", "1/2"]),
    ("SELECT COUNT(*), COUNT(age SHARE 3) FROM patients SPEND EPSILON 1", ["1/4", "3/4"]),
    ("SELECT COUNT(*), COUNT(age SHARE 1/3) FROM patients SPEND EPSILON 1", ["3/4", "1/4"]),
    # its own clause comes first, out of the total
    ("SELECT COUNT(* SPEND 0.2), SUM(age) FROM patients SPEND EPSILON 0.5", ["1/5", "3/10"]),
    ("SELECT COUNT(* SPEND 0.2), SUM(age SHARE 3), COUNT(age) FROM patients SPEND EPSILON 1", ["1/5", "3/5", "1/5"]),
    ("SELECT COUNT(* WITHIN 10), SUM(age) FROM patients SPEND EPSILON 0.5", ["711/2500", "539/2500"]),
    ("SELECT COUNT(* SPEND 0.2), SUM(age SPEND 0.1) FROM patients", ["1/5", "1/10"]),
    ("SELECT COUNT(* SPEND 0.2) FROM patients SPEND EPSILON 0.5", ["1/5"]),
    # measured once, however often it is written
    ("SELECT COUNT(*), COUNT(*) + 1, COUNT(patient_id) FROM patients SPEND EPSILON 0.5", ["1/2"]),
    ("SELECT SUM(age) / COUNT(*) FROM patients HAVING COUNT(*) > 3 ORDER BY SUM(age) SPEND 0.5", ["1/4", "1/4"]),
    # an outer clause pays for the blocks inside that have none
    ("SELECT n - m FROM (SELECT COUNT(*) AS n FROM patients) t, (SELECT COUNT(*) AS m FROM calls AT MOST 1 ROWS "
     "PER UNIT) u SPEND EPSILON 1", ["1/2", "1/2"]),
    ("WITH a AS (SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.1) SELECT n, (SELECT COUNT(*) FROM patients WHERE "
     "smoker) FROM a SPEND EPSILON 0.5", ["1/10", "1/2"]),
    ("WITH a AS (SELECT COUNT(*) AS n FROM patients) SELECT x.n + y.n FROM a x, a y SPEND EPSILON 0.5", ["1/2"]),
    # what nothing reads is not measured
    ("WITH a AS (SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.1) SELECT 1", []),
    ("WITH a AS (SELECT COUNT(*) AS n FROM patients), b AS (SELECT SUM(age) AS n FROM patients), c AS (SELECT n FROM "
     "b) SELECT c.n, (SELECT n FROM c) FROM c WHERE EXISTS (SELECT 1 FROM c) SPEND EPSILON 0.5", ["1/2"]),
    ("WITH a AS (SELECT COUNT(*) AS n FROM patients), b AS (SELECT COUNT(*) AS n FROM patients WHERE age > 3) "
     "SELECT COUNT(*) - (SELECT n FROM b) FROM patients WHERE smoker SPEND EPSILON 0.5", ["1/4", "1/4"]),
    ("SELECT (SELECT COUNT(*) FROM visits AT MOST 2 ROWS PER UNIT) SPEND EPSILON 0.5", ["1/2"]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "amounts"), EXACT)
def test_exact_amounts(query: str, amounts: list[str], session: Session) -> None:
    assert spent(session, query) == amounts


SYMBOLIC = [
    ("SELECT COUNT(*) FROM patients SPEND EPSILON $e", ["$e"], "$e"),
    ("SELECT COUNT(*) FROM patients SPEND EPSILON ($e/2)", ["1/2*$e"], "1/2*$e"),
    ("SELECT COUNT(*), COUNT(age) FROM patients SPEND EPSILON $e", ["1/2*$e", "1/2*$e"], "$e"),
    ("SELECT COUNT(* SPEND $e), COUNT(age SPEND $e) FROM patients", ["$e", "$e"], "2*$e"),
    ("SELECT COUNT(* SPEND 0.25), COUNT(age SPEND $e) FROM patients", ["1/4", "$e"], "1/4 + $e"),
    ("SELECT COUNT(* SPEND 0.25), COUNT(age) FROM patients SPEND EPSILON $e", ["1/4", "-1/4 + $e"], "$e"),
    ("SELECT COUNT(*) FROM patients SPEND EPSILON (2 * $a + $b / 4)", ["2*$a + 1/4*$b"], "2*$a + 1/4*$b"),
    ("SELECT COUNT(*) FROM patients SPEND EPSILON ($e - $e + 0.5)", ["1/2"], "1/2"),
]


@pytest.mark.parametrize(("query", "amounts", "cost"), SYMBOLIC)
def test_prices_are_linear_in_what_is_not_known_yet(
    query: str, amounts: list[str], cost: str, session: Session
) -> None:
    check = accepted(session, query)
    assert [str(one.epsilon) for one in check.measurements] == amounts
    assert check.to_json()["cost"] == {"epsilon": cost, "delta": "0"}
    values = {"e": "0.3", "a": "1/7", "b": 0.2}
    bound = accepted(session, query, **{name: values[name] for name in check.params})
    assert bound.epsilon.known
    symbols = {name: Fraction(str(value)) for name, value in values.items()}
    expected = check.epsilon.constant + sum(symbols[name] * factor for name, factor in check.epsilon.params)
    assert bound.epsilon.constant == expected


def test_a_default_is_no_limit_where_every_aggregate_says_what_it_costs() -> None:
    with clinic(POLICY.replace("EPSILON 1000", "EPSILON 1000 DEFAULT EPSILON 1 DELTA 1e-6")) as session:
        assert spent(session, "SELECT COUNT(* SPEND 2) FROM patients") == ["2"]
        assert spent(session, "SELECT COUNT(* SPEND 0.7), COUNT(age SPEND 0.6) FROM patients") == ["7/10", "3/5"]
        (epsilon,) = spent(session, "SELECT COUNT(* WITHIN 1) FROM patients")
        assert Fraction(epsilon) > 1
        for left in (
            "SELECT COUNT(* SPEND 2), COUNT(age) FROM patients",
            "SELECT COUNT(* SPEND 2) FROM patients SPEND 1",
        ):
            assert [found.code for found in session.check(left).diagnostics] == ["PQL0507"]


AGGREGATES = ["COUNT(*)", "COUNT(age)", "SUM(age)", "SUM(cost)", "AVG(age)", "AVG(cost)", "SUM(weight)", "AVG(weight)",
              "SUM(age - 60)", "SUM(CASE WHEN smoker THEN 1 ELSE 0 END)", "SUM(age * cost)"]  # fmt: skip


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=6, unique=True),
    st.fractions(min_value=Fraction(1, 1000), max_value=900, max_denominator=1000),
    st.sampled_from(("patients", "visits", "members")),
    st.lists(st.integers(1, 50), min_size=6, max_size=6),
)
def test_the_parts_are_the_whole_and_the_price_is_the_proof(
    listed: list[str], epsilon: Fraction, table: str, shares: list[int]
) -> None:
    columns = {"patients": {"age", "cost", "weight", "smoker"}, "members": {"age"}, "visits": set[str]()}[table]
    listed = [one for one in listed if set(re.findall("age|cost|weight|smoker", one)) <= columns] or ["COUNT(*)"]
    shared = [f"{one[:-1]} SHARE {share})" for one, share in zip(listed, shares, strict=False)]
    for items in (listed, shared):
        text = f"SELECT {', '.join(items)} FROM {table} SPEND EPSILON {epsilon.numerator}/{epsilon.denominator}"
        check = accepted(SESSION, text)
        assert check.epsilon.constant == epsilon
        assert check.plan is not None
        assert all(one.epsilon.constant > 0 for one in check.measurements)
        (block,) = check.plan.blocks
        assert block.measured is not None and block.measured.cost.epsilon == epsilon
        assert [p.epsilon for p in block.measured.parts] == [one.epsilon.constant for one in check.measurements]


SESSION = clinic()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=40))
def test_parts_add_up_whatever_the_weights(weights: list[float]) -> None:
    parts = fractions_of(weights)
    assert sum(parts) == 1
    for part, weight in zip(parts[:-1], weights, strict=False):
        exact = Fraction(weight) / sum(map(Fraction, weights))
        assert part * (1 - Fraction(1, 10**9)) <= exact < part * (1 + Fraction(11, 10**4))


def test_the_split_of_least_error(session: Session) -> None:
    """ε in proportion to (L1/s)^(2/3), s being what one row can add: no other split has a smaller relative error."""
    text = "SELECT COUNT(*), AVG(age) FROM members SPEND EPSILON 1"
    count, mean = accepted(session, text).measurements
    # CHANGE ONE: a count moves by 1, a mean's two cells by twice its range
    assert (count.sensitivity.l1, mean.sensitivity.l1) == (1, 240)
    best = 1 / (1 + 2 ** (2 / 3))
    assert float(count.epsilon.constant) == pytest.approx(best, abs=1e-4)

    def error(share: float) -> float:
        return 1 / share**2 + (2 / (1 - share)) ** 2

    chosen = error(float(count.epsilon.constant))
    assert all(chosen <= error(share / 100) * 1.0001 for share in range(1, 100))


WITHIN = [
    ("COUNT(*)", "patients", "10", "95", "0.2844"),
    ("COUNT(*)", "patients", "20", "95", None),
    ("SUM(age)", "patients", "500", "99", None),
    ("SUM(cost)", "patients", "1000.5", "90", None),
    ("SUM(weight)", "patients", "1.5", "95", None),
    ("COUNT(*)", "visits", "10", "95", None),
    ("COUNT(*)", "members", "10", "95", "0.2844"),
    ("COUNT(*)", "patients", "0.5", "95", None),
]


@pytest.mark.parametrize(("aggregate", "table", "width", "percent", "cost"), WITHIN)
def test_an_accuracy_is_kept_at_the_least_price(
    aggregate: str, table: str, width: str, percent: str, cost: str | None, session: Session
) -> None:
    check = accepted(session, f"SELECT {aggregate} FROM {table} WITHIN {width} AT {percent}%")
    (one,) = check.measurements
    sure = Fraction(percent) / 100
    assert cost is None or one.epsilon.constant == Fraction(cost)
    assert one.halfwidth(sure) is not None and one.halfwidth(sure) <= Fraction(width)
    cheaper = one.epsilon.constant * Fraction(998, 1000)
    assert halfwidth(one.sensitivity.l1 / cheaper, sure) * one.grid > Fraction(width) - one.grid


def test_each_printed_number_keeps_it(session: Session) -> None:
    check = accepted(session, "SELECT sex, COUNT(*), SUM(age) FROM patients GROUP BY sex WITHIN 50 AT 95%")
    for one in check.measurements:
        width = one.halfwidth(Fraction(95, 100))
        assert width is not None and width <= 50
    assert [column.halfwidth95 is not None for column in check.columns] == [False, True, True]


def test_a_cap_is_a_cap(session: Session) -> None:
    accepted(session, "SELECT COUNT(*) FROM patients WITHIN 10 AT 95% MAX EPSILON 0.2844")
    check = session.check("SELECT COUNT(*) FROM patients WITHIN 10 AT 95% MAX EPSILON 0.2843")
    assert [d.code for d in check.diagnostics] == ["PQL0506"]


def test_a_cap_of_one_aggregate_is_one_too(session: Session) -> None:
    accepted(session, "SELECT COUNT(* WITHIN 10 AT 95% MAX EPSILON 0.2844) FROM patients SPEND EPSILON 1")
    check = session.check("SELECT COUNT(* WITHIN 10 AT 95% MAX EPSILON 0.2843) FROM patients SPEND EPSILON 1")
    assert [d.code for d in check.diagnostics] == ["PQL0506"]


def sole(session: Session, text: str) -> Measurement:
    (one,) = accepted(session, text).measurements
    return one


ROWS = [
    ("patients", "", 1),
    ("patients", " AT MOST 5 ROWS PER UNIT", 1),
    ("visits", "", 20),
    ("visits", " AT MOST 3 ROWS PER UNIT", 3),
    ("visits", " AT MOST 50 ROWS PER UNIT", 20),
    ("calls", " AT MOST 7 ROWS PER UNIT", 7),
]


@pytest.mark.parametrize(("table", "clause", "rows"), ROWS)
def test_the_smaller_bound_on_rows_holds(table: str, clause: str, rows: int, session: Session) -> None:
    text = f"SELECT COUNT(*) FROM {table}{clause} SPEND EPSILON 1"
    one = sole(session, text)
    assert (one.rows, one.sensitivity.l1, one.sensitivity.l2_squared) == (rows, rows, rows**2)


def test_a_bound_on_rows_stands_where_they_are_measured(session: Session) -> None:
    check = session.check("SELECT COUNT(*) FROM (SELECT * FROM visits AT MOST 3 ROWS PER UNIT) AS t SPEND EPSILON 1")
    assert [d.code for d in check.diagnostics] == ["PQL0408"]
    inside = sole(
        session, "SELECT n FROM (SELECT COUNT(*) AS n FROM visits AT MOST 3 ROWS PER UNIT) AS t SPEND EPSILON 1"
    )
    assert inside.rows == 3
    both = (
        "SELECT n FROM (SELECT COUNT(*) AS n FROM visits AT MOST 3 ROWS PER UNIT) AS t AT MOST 2 ROWS PER UNIT SPEND 1"
    )
    assert sole(session, both).rows == 2
