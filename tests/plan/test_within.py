"""WITHIN: what an accuracy costs in a query's own units, for every aggregate, and that the answers keep to it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pandas as pd
import pytest

import privql
from privql.kernel.ratios import covariance, epsilon_of, mean, variance
from privql.session import Session
from tests.check.clinic import clinic

SURE = Fraction(95, 100)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened


def price(session: Session, text: str, **params: object) -> Fraction:
    check = session.check(text, params)
    assert check.ok, str(check)
    return check.measurements[0].epsilon.constant


def test_a_mean_costs_what_its_range_rows_and_group_need(session: Session) -> None:
    found = epsilon_of(mean(120, Fraction(2, 120), 1000), 120, SURE)
    assert price(session, "SELECT AVG(age) FROM patients WITHIN 2 GIVEN COUNT >= 1000") == found
    assert price(session, "SELECT sex, AVG(age) FROM patients GROUP BY sex WITHIN 2 GIVEN COUNT >= 1000") == found
    assert price(session, "SELECT AVG(age WITHIN 2 GIVEN COUNT >= $n) FROM patients", n=1000) == found
    surer = epsilon_of(mean(120, Fraction(2, 120), 1000), 120, Fraction(99, 100))
    assert price(session, "SELECT AVG(age) FROM patients WITHIN 2 AT 99% GIVEN COUNT >= 1000") == surer > found
    many = epsilon_of(mean(600, Fraction(2, 600), 10**6), 20 * 600, SURE)
    assert price(session, "SELECT AVG(minutes) FROM visits WITHIN 2 GIVEN COUNT >= 1000000") == many
    few = epsilon_of(mean(600, Fraction(2, 600), 10**6), 3 * 600, SURE)
    cut = "SELECT AVG(minutes) FROM visits AT MOST 3 ROWS PER UNIT WITHIN 2 GIVEN COUNT >= 1000000"
    assert price(session, cut) == few
    cents = epsilon_of(mean(2_000_000, Fraction(50, 20000), 1000), 2_000_000, SURE)
    assert price(session, "SELECT AVG(cost) FROM patients WITHIN 50 GIVEN COUNT >= 1000") == cents
    changed = epsilon_of(mean(120, Fraction(2, 120), 1000), 2 * 120, SURE)  # one row goes, and another comes
    assert price(session, "SELECT AVG(age) FROM members WITHIN 2 GIVEN COUNT >= 1000") == changed


def test_neither_errors_nor_rows_are_amounts_of_budget(session: Session) -> None:
    found = epsilon_of(mean(120, Fraction(2, 120), 5_000_000), 120, SURE)
    assert price(session, "SELECT AVG(age) FROM patients WITHIN 2 GIVEN COUNT >= 5000000") == found
    assert price(session, "SELECT AVG(age) FROM patients WITHIN 2 GIVEN COUNT >= $n", n=5_000_000) == found
    wide = price(session, "SELECT SUM(cost) FROM patients WITHIN 5000000")
    assert 0 < wide < price(session, "SELECT SUM(cost) FROM patients WITHIN 1048576")
    for huge in ("1e16", "1e300", "1e400"):
        check = session.check(f"SELECT SUM(cost) FROM patients WITHIN {huge}")
        assert [d.code for d in check.diagnostics] == ["PQL0503"]


def test_a_variance_is_a_share_of_the_range_squared_and_its_root_of_that(session: Session) -> None:
    def of(error: Fraction, samples: bool) -> Fraction:
        return epsilon_of(variance(120**2, error / 120**2, 5000, samples), 120**2, SURE)

    given = "FROM patients WITHIN 4 GIVEN COUNT >= 5000"
    assert price(session, f"SELECT VAR_POP(age) {given}") == of(Fraction(4), False)
    assert price(session, f"SELECT VARIANCE(age) {given}") == of(Fraction(4), True)
    assert price(session, f"SELECT STDDEV_POP(age) {given}") == of(Fraction(16), False)
    assert price(session, f"SELECT STDDEV(age) {given}") == of(Fraction(16), True)
    for both in ("STDDEV(age), VARIANCE(age)", "VARIANCE(age), STDDEV(age)"):
        assert price(session, f"SELECT {both} {given}") == of(Fraction(4), True)
    narrow = "FROM patients WITHIN 1/2 GIVEN COUNT >= 5000"
    assert price(session, f"SELECT VAR_POP(age), STDDEV_POP(age) {narrow}") == of(Fraction(1, 4), False)


def test_a_covariance_is_a_share_of_both_ranges(session: Session) -> None:
    for name, samples in (("COVAR_POP", False), ("COVAR_SAMP", True)):
        found = price(session, f'SELECT {name}(age, "größe") FROM patients WITHIN 50 GIVEN COUNT >= 5000')
        assert found == epsilon_of(covariance(120 * 200, Fraction(50, 120 * 200), 5000, samples), 120 * 200, SURE)


@pytest.mark.parametrize(
    ("aggregate", "fewest"),
    [("COUNT(*)", 1), ("AVG(age)", 1), ("VAR_POP(age)", 10), ("STDDEV(age)", 10), ('COVAR_SAMP(age, "größe")', 10)],
)
def test_as_many_rows_can_be_given_as_there_may_be(session: Session, aggregate: str, fewest: int) -> None:
    """Of fewer than ten a sample's variance is too far from that of all rows."""
    taken = []
    for rows in (fewest - 1, fewest, 10**15, 10**15 + 1):
        check = session.check(f"SELECT {aggregate} FROM patients WITHIN 2 GIVEN COUNT >= {rows}")
        taken.append(not any(d.message.startswith("GIVEN") for d in check.diagnostics))
    assert taken == [False, True, True, False]


WORST = """
CREATE UNIT person;
CREATE PRIVATE TABLE people (id INT UNIT person KEY, low INT BETWEEN 0 AND 50, flag INT BETWEEN 0 AND 1);
CREATE BUDGET b FOR UNIT person EPSILON 100000;
GRANT b TO alice;
"""


@pytest.mark.parametrize(
    ("aggregate", "true", "error"),
    [("AVG(low)", 0.0, 1.0), ("AVG(flag)", 0.5, 0.05), ("VAR_POP(low)", 0.0, 60.0), ("STDDEV(low)", 0.0, 8.0)],
)
def test_answers_are_as_near_as_promised(aggregate: str, true: float, error: float) -> None:
    """Of the data that are the worst, in exactly so many rows; each query is another, so that it is measured anew."""
    rows, runs = 200, 50
    people = pd.DataFrame({"id": range(rows), "low": [0] * rows, "flag": [at % 2 for at in range(rows)]})
    far = 0
    with privql.connect(policy=WORST, frames={"people": people}, analyst="alice") as session:
        for run in range(runs):
            asked = f"SELECT {aggregate} AS x FROM people WHERE low < {run + 51}"
            (answer,) = session.run(f"{asked} WITHIN {error} AT 80% GIVEN COUNT >= {rows}").rows[0]
            far += answer is None or abs(answer - true) > error
    assert far <= 0.2 * runs + 3 * (0.16 * runs) ** 0.5


@pytest.mark.parametrize(
    ("text", "said", "help"),
    [
        ("AVG(cost) FROM patients WITHIN 0.001 GIVEN COUNT >= 2", "no ε that protects anybody", "a larger error"),
        ("COUNT(*) FROM patients WITHIN 100000000000000", "next to no ε", "a smaller error"),
        ("COUNT(*) FROM patients WITHIN 1/0", "WITHIN divides by zero", "a ratio such as 1/3"),
        ("COUNT(*) FROM patients SPEND EPSILON 1/0", "ε divides by zero", "a ratio such as 1/3"),
    ],
)
def test_a_wish_beyond_any_price_says_which_way_to_go(session: Session, text: str, said: str, help: str) -> None:
    (problem,) = session.check(f"SELECT {text}").diagnostics
    assert problem.code == "PQL0503" and said in problem.message and help in problem.help


def test_what_one_query_may_spend_is_no_clause_beside_within() -> None:
    """The repair of the one that asks for an accuracy is another accuracy: `SPEND EPSILON` cannot stand beside it."""
    with privql.connect(
        policy=WORST.replace("EPSILON 100000", "EPSILON 10 MAX EPSILON 0.5 PER QUERY"), analyst="alice"
    ) as s:
        helps = [
            s.check(f"SELECT COUNT(*) FROM people {clause}").diagnostics[0].help for clause in ("WITHIN 1", "SPEND 9")
        ]
    most = "SPEND EPSILON 0.5, which gives `count` ± 6 at 95%, or split the query"
    assert helps == [f"write WITHIN a larger error, or in place of it {most}", f"write {most}"]


def test_the_place_of_a_wish_is_that_of_its_own_clause(session: Session) -> None:
    for clause in ("SPEND 0", "SHARE -1"):
        text = f"SELECT COUNT(* {clause}), AVG(age) FROM patients SPEND EPSILON 0.4"
        (problem,) = session.check(text).diagnostics
        assert text.index(clause) <= problem.span.start < text.index(clause) + len(clause), clause


SAID = ("0", "1e-400", "1e-320", "1e-17", "0.1", "1e15", "2e15", "1/1e-307", "1/1e-400", "1e308", "1e15 * 1e15", "$n")


@pytest.mark.parametrize("within", SAID)
@pytest.mark.parametrize("noise", ["", " USING GAUSSIAN DELTA 1e-6"])
def test_whatever_is_said_of_an_answer_is_priced_or_refused(session: Session, within: str, noise: str) -> None:
    """However it is written: products and quotients have the same upper limit as numbers."""
    for aggregate in ("COUNT(*)", "SUM(age)", "AVG(age)", "VAR_POP(age)", "MEDIAN(age)"):
        for given in ("", *(f" GIVEN COUNT >= {each}" for each in SAID)):
            for params in ({"n": 10**300}, {"n": 1e-300}, {"n": 50}) if "$n" in within + given else ({},):
                session.check(f"SELECT {aggregate} FROM patients WITHIN {within}{given}{noise}", params)
