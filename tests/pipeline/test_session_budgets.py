"""What a session may spend: defaults, grants, limits, and what it is told is left."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from privql.pipeline.figures import left_text, rough
from privql.session import Session
from tests.check.clinic import POLICY, clinic
from tests.ledger.asking import ask
from tests.pipeline.small import SMALL, left, refused


@pytest.fixture
def session() -> Iterator[Session]:
    with clinic(SMALL) as opened:
        yield opened


def test_default_and_greatest_epsilon(session: Session) -> None:
    assert session.check("SELECT COUNT(*) FROM patients").cost.epsilon == Fraction(1, 10)
    assert [d.code for d in session.check("SELECT COUNT(*) FROM patients SPEND EPSILON 1.1").diagnostics] == ["PQL0504"]
    assert refused(session, "SELECT COUNT(*) FROM patients SPEND EPSILON 1.1") == ["PQL0504"]
    within = session.check("SELECT COUNT(*) AS n FROM patients WITHIN 0.1").diagnostics[0]
    told = session.check("SELECT COUNT(*) AS n FROM patients SPEND EPSILON 1").columns[0].halfwidth95
    assert told is not None and f"in place of it SPEND EPSILON 1, which gives `n` ± {rough(told)} at 95%" in within.help
    inside = "SELECT COUNT(*) + (SELECT COUNT(*) FROM patients SPEND EPSILON 3) AS n FROM patients SPEND EPSILON 2"
    assert "and less where a clause inside of it" in session.check(inside).diagnostics[0].help
    runs = "CREATE RELEASE often AS SELECT COUNT(*) AS n FROM patients EVERY DAY FOR 2 RUNS SPEND EPSILON 3"
    (often,) = session.check(runs).diagnostics
    assert (
        often.code == "PQL0504" and often.why == "each run of this one costs ε = 1.5" and "EPSILON 1" not in often.help
    )
    session.run("SET epsilon = 0.2")
    assert session.check("SELECT COUNT(*) FROM patients").cost.epsilon == Fraction(1, 5)
    assert session.check("SELECT COUNT(*), COUNT(*) FILTER (WHERE smoker) FROM patients").cost.epsilon == Fraction(1, 5)
    two = session.check_text("SET epsilon = 0.3; SELECT COUNT(*) FROM patients; SET epsilon = 1/3;\nSELECT 1")
    assert two.total.epsilon == Fraction(3, 10)
    assert session.check("SELECT COUNT(*) FROM patients").cost.epsilon == Fraction(1, 5), "a check sets nothing"
    assert session.check("SELECT COUNT(*) FROM members").cost.epsilon == Fraction(1, 5)


def test_grants_bound_each_analyst_and_the_budget_all_of_them() -> None:
    with clinic(SMALL, "mallory") as stranger:
        for spend in ("SPEND EPSILON 0.1", "WITHIN 5", "", "SPEND DELTA 1e-9", "AT MOST 1 ROW PER UNIT"):
            assert refused(stranger, f"SELECT COUNT(*) FROM patients {spend}") == ["PQL0505"]
        assert list(stranger.run("SELECT COUNT(*) FROM regions").rows) == [(5,)]
        assert str(stranger.budget()) == "no budget is open to you: ask in the name that was granted one, `--as NAME`"
    with clinic(SMALL, "bob") as bob:
        bob.run("SELECT COUNT(*) FROM patients SPEND EPSILON 1")
        assert left(bob) == Fraction(1, 2)
        assert refused(bob, "SELECT COUNT(*) FROM patients SPEND EPSILON 0.6") == ["PQL0502"]
        bob.run("SELECT COUNT(*) FROM patients SPEND EPSILON 0.5")
        assert refused(bob, "SELECT COUNT(*) FROM patients SPEND EPSILON 1e-9") == ["PQL0502"]


def test_a_budget_is_chosen() -> None:
    policy = SMALL + "CREATE BUDGET extra FOR UNIT patient EPSILON 5 DEFAULT EPSILON 0.7; GRANT extra TO alice;"
    with clinic(policy) as session:
        session.run("SET budget = extra")
        assert session.check("SELECT COUNT(*) FROM patients").cost.epsilon == Fraction(7, 10)
        session.run("SELECT COUNT(*) FROM patients SPEND EPSILON 2")
        spent = {one.budget.name: str(one.spent.epsilon) for one in session.budget().budgets}
        assert spent == {"research": "0", "extra": "2", "club": "0"}
    with clinic(policy, "bob") as session:  # who would pay from another, and be refused by the ledger
        assert refused(session, "SET budget = extra") == ["PQL0505"]
        assert session.check("SET budget = research").ok


def test_budget_report(session: Session) -> None:
    session.run("SELECT COUNT(*) FROM patients SPEND EPSILON 1/3")
    report = session.budget()
    assert report.to_json()["budgets"][1] == {
        "budget": "research",
        "unit": "patient",
        "epsilon": "2",
        "spent": "1/3",
        "limit": "3/2",
        "spent_by_you": "1/3",
        "left": "7/6",
        "bound_by": "limit",
        "more_like_your_last": 3,
        "max_per_query": "1",
        "default": "1/10",
        "delta": "0",
        "delta_spent": "0",
        "delta_limit": "0",
        "delta_spent_by_you": "0",
        "delta_left": "0",
        "delta_left_for_noise": "0",
        "default_delta": None,
    }
    facts = [
        ("left to you", "ε = 7/6, by your limit"),
        ("more like your last query", "3"),
        ("your limit", "ε = 1.5"),
        ("spent by you", "ε = 1/3"),
        ("the budget", "ε = 2"),
        ("spent by everyone", "ε = 1/3"),
        ("most for one query", "ε = 1"),
        ("a query that does not say", "ε = 0.1"),
    ]
    assert [row[2:] for row in session.run("SHOW BUDGET").rows if row[0] == "research"] == facts
    _, told = str(report).split("\nresearch (patient)\n")
    assert told == "\n".join(f"  {what}: {amount}" for what, amount in facts)


def test_whose_limit_binds() -> None:
    """Spent and left add up to the limit of whoever asks, and it is said when others have spent what it would allow."""
    limited = POLICY.replace("patient EPSILON 1000", "patient EPSILON 3 DELTA 1e-6").replace(
        "GRANT research TO alice", "GRANT research TO alice, bob LIMIT EPSILON 2 DELTA 4e-7 EACH"
    )
    with clinic(limited) as alice:
        alice.run("SELECT COUNT(*) FROM patients SPEND EPSILON 0.5")
        told = next(one for one in alice.budget().to_json()["budgets"] if one["budget"] == "research")
        assert (told["limit"], told["delta_limit"], told["bound_by"]) == ("2", "1/2500000", "limit")
        assert Fraction(told["left"]) == Fraction(told["limit"]) - Fraction(told["spent_by_you"])
        assert "left to you: ε = 1.5, by your limit" in str(alice.budget())
        assert "your limit: ε = 2, δ = 0.0000004" in str(alice.budget())
        alice._till._ledger.reserve(ask("SELECT 2", "1.9", analyst="bob"))
        told = next(one for one in alice.budget().to_json()["budgets"] if one["budget"] == "research")
        assert (told["left"], told["bound_by"]) == ("3/5", "budget")
        assert "left to you: ε = 0.6, by the budget" in str(alice.budget())


def test_what_is_left_is_told_in_few_digits_and_never_more_than_there_is() -> None:
    with clinic() as session:
        for spend in ("1/3", "0.123456789012345678", "1/625", "7/1875"):
            session.run(f"SELECT COUNT(*) FROM patients SPEND EPSILON {spend}")
        exact = left(session)
        (told,) = (
            Fraction(str(amount).removeprefix("ε = "))
            for name, _, what, amount in session.run("SHOW BUDGET").rows
            if (name, what) == ("research", "left to you")
        )
        assert exact - Fraction(1, 10**6) < told < exact
        assert "999.537" in str(session.budget()) and "/" not in str(session.budget())
        assert str(exact) in [one["left"] for one in session.budget().to_json()["budgets"]]
    for amount, text in (
        (Fraction(7, 6), "7/6"),
        (Fraction(1, 10**9), "0.000000001"),
        (Fraction(10**7, 3), "3333333.333333"),
    ):
        assert left_text(amount) == text
    assert left_text(Fraction(1, 3 * 10**12)) == "0.0000000000003333"
