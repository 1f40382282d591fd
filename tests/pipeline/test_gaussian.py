"""USING GAUSSIAN and AUTO, from the text to the answer and the ledger."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pandas as pd
import pytest

from privql.diagnostics import PrivQLError
from privql.kernel.cost import Cost
from privql.kernel.gaussian import affordable, greatest_mu
from privql.kernel.measure import Measured
from privql.kernel.noises import variance
from privql.kernel.sums import Balance
from privql.plan.program import Plan
from privql.session import Session, connect

POLICY = """CREATE UNIT person; CREATE UNIT guest NEIGHBOURS CHANGE ONE; CREATE UNIT stranger;
CREATE PRIVATE TABLE people (id INT UNIT person KEY, sex TEXT IN ('f', 'm') NOT NULL,
  age INT BETWEEN 0 AND 100 NOT NULL, job TEXT, paid DECIMAL(8,2));
CREATE PRIVATE TABLE visits (id INT UNIT person, ward INT BETWEEN 1 AND 30 NOT NULL, minutes INT BETWEEN 0 AND 60)
  AT MOST 40 ROWS PER UNIT;
CREATE PRIVATE TABLE nights (id INT UNIT guest, room INT BETWEEN 1 AND 30 NOT NULL) AT MOST 40 ROWS PER UNIT;
CREATE PRIVATE TABLE calls (id INT UNIT stranger KEY, age INT BETWEEN 0 AND 100);
CREATE BUDGET b FOR UNIT person EPSILON 1000 DELTA 0.01;
CREATE BUDGET g FOR UNIT guest EPSILON 1000 DELTA 0.01;
CREATE BUDGET s FOR UNIT stranger EPSILON 1000;"""
WARDS = "SELECT ward, COUNT(DISTINCT id) AS n FROM visits GROUP BY ward AT MOST 16 GROUPS PER UNIT"
ROOMS = "SELECT room, COUNT(DISTINCT id) AS n FROM nights GROUP BY room AT MOST 16 GROUPS PER UNIT"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    people = pd.DataFrame(
        {
            "id": range(600),
            "sex": [("f", "m")[at % 2] for at in range(600)],
            "age": [at % 100 for at in range(600)],
            "job": [("cook", "nurse", "smith")[at % 3] for at in range(600)],
            "paid": ["1.50"] * 600,
        }
    )
    visits = [(person, 1 + (person + step) % 30, 30) for person in range(300) for step in range(10)]
    nights = [(guest, 1 + (guest + step) % 30) for guest in range(300) for step in range(10)]
    frames = {
        "people": people,
        "visits": pd.DataFrame(visits, columns=["id", "ward", "minutes"]),
        "nights": pd.DataFrame(nights, columns=["id", "room"]),
        "calls": pd.DataFrame({"id": range(9), "age": 1}),
    }
    with connect(policy=POLICY, frames=frames, analyst="ada") as opened:
        yield opened


def planned(session: Session, text: str) -> Plan:
    check = session.check(text)
    assert check.ok and check.plan is not None, str(check)
    return check.plan


def bought(plan: Plan) -> Fraction:
    """What all of a plan's Gaussians are together: each block's measurement says its own."""
    total = Fraction(0)
    for block in plan.blocks:
        if isinstance(block.measured, Measured):
            assert block.measured.mu_squared is not None
            assert block.measured.mu_squared <= greatest_mu(*price(block.measured)) ** 2
            total += block.measured.mu_squared
    return total


def price(measured: Measured) -> tuple[Fraction, Fraction]:
    return measured.cost.epsilon, measured.cost.delta


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM people",
        "SELECT sex, COUNT(*), SUM(age), AVG(age) FROM people GROUP BY sex",
        "SELECT VAR_POP(age), SUM(age) FROM people",
        "SELECT SUM(age SHARE 5), COUNT(*) FROM people",
        "SELECT SUM(age SPEND EPSILON 0.25), COUNT(*) FROM people",
        "SELECT COUNT(*) FROM people WHERE id IN (SELECT id FROM visits)",
        "SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)",
        "SELECT job, COUNT(*), SUM(age) FROM people GROUP BY job",
        "SELECT SUM(paid BOUNDS AUTO), COUNT(*) FROM people",
        "SELECT (SELECT COUNT(*) FROM people) + (SELECT COUNT(*) FROM visits)",
        "SELECT MEDIAN(age), COUNT(*) FROM people",
        WARDS,
        ROOMS,
    ],
)
def test_what_is_planned_is_charged_and_paid_for(session: Session, text: str) -> None:
    plan = planned(session, f"{text} SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN")
    assert plan.epsilon.constant == 1 and plan.delta == Fraction(1, 10**6)
    assert affordable(plan.epsilon.constant, greatest_mu(Fraction(1), plan.delta), plan.delta)
    assert 0 < bought(plan) <= greatest_mu(Fraction(1), plan.delta) ** 2
    before = {each.budget.name: each.spent for each in session.budget().budgets}
    answer = session.run(f"{text} SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN")
    assert answer.cost == Cost(Fraction(1), Fraction(1, 10**6))
    spent = [each.spent - before[each.budget.name] for each in session.budget().budgets]
    assert sum(each.epsilon for each in spent) == 1 and sum(each.delta for each in spent) == Fraction(1, 10**6)
    made = [one for one in answer.certificate["measurements"] if one["mechanism"] == "rounded_gaussian"]
    assert made
    for one in made:
        scale, square = Fraction(one["scale"]), Fraction(one["mu_squared"])
        assert scale**2 * square >= Fraction(one["l2_squared"])


def test_a_unit_in_many_groups_moves_them_by_the_root_of_how_many(session: Session) -> None:
    (laplace,) = planned(session, f"{WARDS} SPEND EPSILON 1").measurements
    (one,) = planned(session, f"{WARDS} SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN").measurements
    assert one.scale is not None and laplace.scale is not None
    assert one.sensitivity.l2_squared == 16
    assert float(one.scale) == pytest.approx(4 / float(greatest_mu(Fraction(1), Fraction(1, 10**6))), rel=1e-6)
    assert variance("gaussian", one.scale) < variance("laplace", laplace.scale) * 0.6
    (changed,) = planned(session, f"{ROOMS} SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN").measurements
    assert changed.sensitivity.l2_squared == 32


def test_auto_takes_what_errs_less_and_no_delta_where_it_need_not(session: Session) -> None:
    many = planned(session, f"{WARDS} SPEND EPSILON 1 DELTA 1e-6 USING AUTO")
    assert [one.noise for one in many.measurements] == ["gaussian"] and many.delta == Fraction(1, 10**6)
    few = planned(session, "SELECT COUNT(*) FROM people SPEND EPSILON 1 DELTA 1e-6 USING AUTO")
    assert [one.noise for one in few.measurements] == ["laplace"] and few.delta == 0
    both = planned(
        session,
        "SELECT (SELECT COUNT(*) FROM people), COUNT(DISTINCT id), ward FROM visits GROUP BY ward"
        " AT MOST 16 GROUPS PER UNIT SPEND EPSILON 1 DELTA 1e-6 USING AUTO",
    )
    assert {one.noise for one in both.measurements} == {"gaussian", "laplace"} and both.delta == Fraction(1, 10**6)
    found = "SELECT job, SUM(age) FROM people GROUP BY job SPEND EPSILON 1 DELTA 1e-6"
    auto, plain = planned(session, f"{found} USING AUTO"), planned(session, found)
    assert auto == plain  # the search has all of δ


@pytest.mark.parametrize("columns", [1, 2, 5, 20, 60])
def test_auto_is_never_worse_than_either(session: Session, columns: int) -> None:
    sums = ", ".join(f"SUM(age * {at + 1})" for at in range(columns))
    text = f"SELECT {sums} FROM people SPEND EPSILON 1 DELTA 1e-6"
    errors = []
    for using in ("AUTO", "LAPLACE", "GAUSSIAN"):
        made = planned(session, f"{text} USING {using}").measurements
        spreads = [(one, one.scale) for one in made if one.scale is not None]
        errors.append(sum(variance(one.noise, scale) / (at + 1) ** 2 for at, (one, scale) in enumerate(spreads)))
    assert errors[0] == min(errors)
    assert (errors[2] < errors[1]) == (columns >= 20)


@pytest.mark.parametrize("asked", ["AVG(room), COUNT(*)", "AVG(room), SUM(room), COUNT(*)", "SUM(room), COUNT(*)"])
def test_what_is_shared_is_what_errs_least_with_this_noise(session: Session, asked: str) -> None:
    """An aggregate with a clause of its own shares with none: SHARE 1 says nothing else."""

    def weight(text: str) -> tuple[float, int]:
        block = planned(session, f"SELECT {text} FROM nights SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN").blocks[0]
        error = 0.0
        for at, one in enumerate(block.block.aggregates):
            source = block.sources[at]
            assert source is not None
            made = block.measurements[source]
            assert made.scale is not None
            cells = isinstance(made.contribution, Balance)
            low, high = (1, 30) if cells else (0, 1)
            per = {"avg": 1 / 29**2, "count": 2 / 29**2 if cells else 1.0, "sum": 1 / 30**2}[one.function]
            if one.function == "sum" and cells:
                per *= (low**2 + high**2) / 29**2
            error += float(made.scale) ** 2 * per
        return error, len(block.measurements)

    chosen, _ = weight(asked)
    parts = asked.split(", ")
    for apart in product((False, True), repeat=len(parts)):
        other = ", ".join(f"{one[:-1]} SHARE 1)" if alone else one for one, alone in zip(parts, apart, strict=True))
        assert chosen <= weight(other)[0] * 1.001
    assert weight("AVG(room), COUNT(*)")[1] == 2  # with Laplace noise one is less
    laplace = planned(session, "SELECT AVG(room), COUNT(*) FROM nights SPEND EPSILON 1")
    assert len(laplace.measurements) == 1


def test_without_a_word_noise_is_laplace(session: Session) -> None:
    plan = planned(session, f"{WARDS} SPEND EPSILON 1 DELTA 1e-6")
    assert [one.noise for one in plan.measurements] == ["laplace"] and plan.delta == 0


def test_the_budgets_delta_pays_where_none_is_stated(session: Session) -> None:
    assert planned(session, f"{WARDS} SPEND EPSILON 1 USING GAUSSIAN").delta == Fraction(1, 10**4)
    assert planned(session, f"{WARDS} SPEND EPSILON 1 USING AUTO").delta == Fraction(1, 10**4)
    calls = planned(session, "SELECT COUNT(*) FROM calls SPEND EPSILON 1 USING AUTO")
    assert calls.delta == 0 and calls.measurements[0].noise == "laplace"


REFUSED = [
    ("SELECT COUNT(*) FROM calls SPEND EPSILON 1 USING GAUSSIAN", "PQL0408", "needs a δ"),
    ("SELECT MEDIAN(age) FROM people SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN", "PQL0408", "nothing"),
    ("SELECT COUNT(*) FROM people SPEND EPSILON 1 USING CAUCHY", "PQL0408", "CAUCHY"),
    ("SELECT COUNT(*) FROM people SPEND EPSILON $e DELTA 1e-6 USING AUTO", "PQL0304", "AUTO"),
    ("SELECT COUNT(*) FROM people SPEND EPSILON 1 DELTA 2 USING GAUSSIAN", "PQL0503", "δ"),
]


@pytest.mark.parametrize(("text", "code", "word"), REFUSED)
def test_what_is_refused(session: Session, text: str, code: str, word: str) -> None:
    (found,) = session.check(text).diagnostics
    assert found.code == code and word in str(found)


def test_what_bounds_leave_of_the_least_epsilon_pays_for_no_more_than_that(session: Session) -> None:
    plan = planned(session, "SELECT SUM(paid BOUNDS AUTO) FROM people USING GAUSSIAN SPEND EPSILON 1e-12 DELTA 1e-99")
    assert 0 < bought(plan) < greatest_mu(Fraction(1, 10**12), Fraction(1, 10**99)) ** 2


def test_a_parameter_may_come_later(session: Session) -> None:
    text = "SELECT COUNT(*) FROM people SPEND EPSILON $e DELTA 1e-6 USING GAUSSIAN"
    plan = planned(session, text)
    assert plan.delta == Fraction(1, 10**6) and plan.measurements[0].scale is None
    assert "deviation Δ/μ" in session.explain(text)
    assert session.run(text, {"e": 2}).cost.epsilon == 2


def test_answers_are_as_far_off_as_they_say(session: Session) -> None:
    """Of 60 intervals at 95%, fewer than 49 hold what they should with a chance below 10^-5."""
    exact = pd.DataFrame({"k": [at % 100 % 20 for at in range(600)], "age": [at % 100 for at in range(600)]})
    truth = exact.groupby("k")["age"].agg(["count", "sum", "mean"]).to_numpy()
    text = "SELECT age % 20 AS k, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS m FROM people GROUP BY k KEYS ({})"
    keys = ", ".join(map(str, range(20)))
    inside, offs = [0, 0, 0], []
    for at in range(3):
        answer = session.run(f"{text.format(keys)} SPEND EPSILON 20.{at} DELTA 1e-6 USING GAUSSIAN")
        frame = answer.interval()
        for row, values in enumerate(answer.rows):
            for column, name in enumerate("nsm"):
                low, high, true = frame[f"{name}_low"][row], frame[f"{name}_high"][row], truth[row][column]
                inside[column] += low <= true <= high
                offs += [(float(values[column + 1]) - true) / (high - low)] if name == "s" else []
    assert min(inside) >= 49
    assert 0.15 < math.sqrt(sum(off**2 for off in offs) / len(offs)) < 0.4  # 1/3.92 is expected of a normal number


def test_noise_has_the_deviation_that_is_named(session: Session) -> None:
    keys = ", ".join(map(str, range(100, 2100)))
    text = f"SELECT age + 100 * LENGTH(sex) AS k, COUNT(*) AS n FROM people GROUP BY k KEYS ({keys})"
    answer = session.run(f"{text} SPEND EPSILON 0.01 DELTA 1e-6 USING GAUSSIAN")
    (made,) = answer.certificate["measurements"]
    off = [float(n) for _, n in answer.rows]
    spread = math.sqrt(math.fsum(n * n for n in off) / len(off)) / float(Fraction(made["scale"]))
    assert 0.9 < spread < 1.1  # by chance once in 10^9 times


def test_refusals_name_the_budget(session: Session) -> None:
    with pytest.raises(PrivQLError, match="PQL0502"):
        session.run("SELECT COUNT(*) FROM people SPEND EPSILON 9000 DELTA 0.5 USING GAUSSIAN")


def test_what_delta_a_gaussian_names_is_not_what_it_takes(session: Session) -> None:
    """(1, 1/2) and (ε, 10⁻⁹) may be two names of one μ: the budget knows it by that."""
    session.run("SELECT COUNT(*) FROM people SPEND EPSILON 1 DELTA 0.5 USING GAUSSIAN")
