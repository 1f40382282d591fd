"""What somebody is told whose budget does not suffice, and how many more queries there are."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from privql.diagnostics import PrivQLError
from privql.ledger import Ledger, LedgerError
from privql.pipeline.apply import apply_policy
from privql.session import Session, connect, policy_diff
from tests.check.clinic import POLICY, clinic

SMALL = POLICY.replace("EPSILON 1000", "EPSILON 2 DEFAULT EPSILON 0.1")
QUESTION = "SELECT COUNT(*) AS n FROM patients WHERE age > 40 AT MOST 1 ROW PER UNIT SPEND EPSILON {}"


@pytest.fixture
def session() -> Iterator[Session]:
    with clinic(SMALL) as opened:
        yield opened


def helps(session: Session, text: str) -> set[str]:
    """What the check says, and what running it does: the same advice."""
    (said,) = session.check(text).diagnostics
    with pytest.raises(PrivQLError) as caught:
        session.run(text)
    assert said.code == caught.value.diagnostics[0].code == "PQL0502"
    return {said.help.split("; or ", 1)[1], caught.value.diagnostics[0].help.split("; ", 1)[1]}


OWNER = "ask the owner for more: `ALTER BUDGET research ADD EPSILON … REASON '…'`"


def test_nothing_to_use_instead(session: Session) -> None:
    session.run("SELECT COUNT(*) FROM members SPEND EPSILON 1.5")
    assert helps(session, QUESTION.format("2.1")) == {OWNER}


def test_the_same_question_was_answered_for_another_price(session: Session) -> None:
    session.run(QUESTION.format("0.5"))
    session.run(QUESTION.replace("40", "41").format("0.6"))
    clause = "`AT MOST 1 ROW PER UNIT SPEND EPSILON 0.5`"
    before = f"ask it as you did before, {clause}: that is answered (r1) and costs nothing"
    assert helps(session, QUESTION.format("1.8")) == {f"{before}; or {OWNER}"}
    assert session.check(QUESTION.format("0.5")).free == "replay"
    within = QUESTION.split(" SPEND")[0].replace(" AT MOST 1 ROW PER UNIT", "") + " WITHIN 1"
    assert helps(session, within) == {OWNER}, "without AT MOST it is another question"
    assert helps(session, QUESTION.split(" SPEND")[0] + " WITHIN 1") == {f"{before}; or {OWNER}"}


def test_what_was_answered_under_other_declarations_is_not_said_to_cost_nothing(tmp_path: Path) -> None:
    """Whoever asks as before would pay for it: the policy means something else now, in whatever table."""
    policy, ledger = tmp_path / "policy.pql", tmp_path / "ledger.db"
    pd.DataFrame({"id": ["a"], "age": [1]}).to_parquet(tmp_path / "p.parquet")
    text = (
        "CREATE UNIT u; CREATE PRIVATE TABLE p (id TEXT UNIT u KEY, age INT BETWEEN 0 AND {}) FROM 'p.parquet';"
        "CREATE BUDGET b FOR UNIT u EPSILON 1;"
    )
    asked, told = "SELECT COUNT(*) FROM p SPEND EPSILON {}", []
    for version, most in enumerate((120, 120, 130), start=1):
        policy.write_text(text.format(most) + (" GRANT b TO eve;" if version > 1 else ""))
        diff = str(policy_diff(policy, ledger)) if version > 1 else ""
        assert ("asked again, it is charged again" in diff) == (most == 130)
        assert apply_policy(policy, ledger).version == version
        with connect(ledger, analyst="eve") as session:
            if version == 1:
                session.run(asked.format("0.5"))
            (said,) = session.check(asked.format("0.9")).diagnostics
            told.append("ask it as you did before" in said.help)
            assert (session.check(asked.format("0.5")).free == "replay") == told[-1]
    assert told == [True, True, False]
    policy.write_text(text.format(120))
    assert "charged again" not in str(policy_diff(policy, ledger)), "it means again what it did when that was answered"
    Ledger.create(tmp_path / "empty.db").close()
    assert "the first policy" in str(policy_diff(policy, tmp_path / "empty.db"))


def test_a_ledger_that_is_busy_takes_away_the_advice_and_not_the_refusal(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> bool:
        raise LedgerError("is locked by another process")

    session.run(QUESTION.format("0.5"))
    monkeypatch.setattr(Ledger, "means_the_same", busy)
    assert helps(session, QUESTION.format("1.8")) == {OWNER}


def test_of_what_there_is_too_little_is_what_the_owner_is_asked_for() -> None:
    asked = "SELECT weight, COUNT(*) FROM patients GROUP BY weight AT MOST 1 ROW PER UNIT SPEND EPSILON 1 DELTA 1e-3"
    with clinic(POLICY.replace("EPSILON 1000", "EPSILON 9 DELTA 1e-6")) as session:
        (said,) = session.check(asked).diagnostics
        assert "ADD DELTA …" in said.help and "ADD EPSILON" not in said.help
        assert said.why.startswith("it costs δ = 0.001; left")
        with pytest.raises(PrivQLError, match="ADD DELTA …"):
            session.run(asked)
    with clinic(POLICY.replace("EPSILON 1000", "EPSILON 9")) as session:
        (said,) = session.check(asked).diagnostics
        assert "spend no δ: " in said.help and "DELTA 1e-9" not in said.help


def test_what_cannot_be_paid_for_takes_nothing_away(session: Session) -> None:
    (cost,) = session.check_text(QUESTION.format("2.5")).costs
    assert not cost.fits and cost.left_after == 2


def test_a_price_within_an_aggregate_is_one_too(session: Session) -> None:
    session.run("SELECT COUNT(* SPEND 0.5), AVG(age SPEND 0.5) FROM patients")
    (told,) = helps(session, "SELECT COUNT(*), AVG(age) FROM patients SPEND EPSILON 1.9")
    assert told == f"ask it as you did before, for ε = 1: that is answered (r1) and costs nothing; or {OWNER}"


def test_names_over_the_same_tables(session: Session) -> None:
    for at in range(4):
        session.run(
            f"CREATE RELEASE older_{at} AS SELECT COUNT(*) AS n FROM patients WHERE age > {at} SPEND EPSILON 0.1"
        )
    session.run("CREATE RELEASE stays AS SELECT AVG(minutes) AS m FROM visits SPEND EPSILON 0.1")
    session.run("CREATE RELEASE old AS SELECT COUNT(*) AS n FROM members SPEND EPSILON 0.1")
    names = "use `older_1`, `older_2`, `older_3` …, which you have: reading answers costs nothing"
    assert helps(session, QUESTION.format("1.9")) == {f"{names}; or {OWNER}"}
    (told,) = helps(session, "SELECT SUM(minutes) FROM visits SPEND EPSILON 1.9")
    assert told.startswith("use `stays`, which you have")


def test_a_limit_of_ones_own() -> None:
    with clinic(SMALL.replace("GRANT research TO alice", "GRANT research TO alice LIMIT EPSILON 1 EACH")) as session:
        assert helps(session, QUESTION.format("1.5")) == {
            "ask the owner for a higher limit: `GRANT research TO alice LIMIT EPSILON … EACH`"
        }


def test_what_is_left_in_queries_like_the_last(session: Session) -> None:
    assert session.budget().line().endswith("research: ε = 2 left")
    session.run(QUESTION.format("0.3"))
    research = next(one for one in session.budget().to_json()["budgets"] if one["budget"] == "research")
    assert (research["left"], research["more_like_your_last"]) == ("17/10", 5)
    assert session.budget().line().endswith("research: ε = 1.7 left, or 5 more like your last query")
    told = [row[2:] for row in session.run("SHOW BUDGET").rows if row[0] == "research"]
    assert ("left to you", "ε = 1.7") in told and ("more like your last query", "5") in told
    for at in range(5):
        session.run(QUESTION.replace("40", str(at)).format("0.3"))
    assert session.budget().line().endswith("0 more like your last query")
    with pytest.raises(PrivQLError):
        session.run(QUESTION.replace("40", "9").format("0.3"))
    assert next(one for one in session.budget().budgets if one.budget.name == "research").left.epsilon == Fraction(1, 5)
