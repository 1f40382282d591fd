"""BEGIN … COMMIT: nothing is spent before COMMIT, and nothing but the plan then."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from privql.diagnostics import PrivQLError
from privql.finish.result import Release
from privql.kernel.cost import Cost
from privql.session import Session
from tests.check.clinic import clinic
from tests.pipeline.test_texts_as_plans import MANY, TWO, charged, codes, sound, spent

COUNT = "SELECT COUNT(*) AS n FROM patients WHERE age > {} SPEND EPSILON {}"


@pytest.fixture
def session() -> Iterator[Session]:
    with clinic(TWO) as opened:
        yield opened


def refused(session: Session, text: str) -> PrivQLError:
    with pytest.raises(PrivQLError) as caught:
        session.run(text)
    return caught.value


def cells(release: Release) -> list[str]:
    return [str(value) for row in release.rows for value in row]


def test_nothing_is_spent_before_commit_and_then_what_was_said(session: Session) -> None:
    said = charged(MANY, session)["research"]
    session.run("BEGIN")
    for line in MANY.split(";\n"):
        told = session.run(line)
        assert told.release_id is None and spent(session)["research"] == Cost()
    assert "ε = 3 of research (patient), charged as one plan: ε = 2.7842" in cells(told)[-1]
    made = session.run("COMMIT")
    assert len(made.answers) == 30 and all(answer.release_id for answer in made.answers)
    assert spent(session)["research"] == said and sound(session)
    assert [row[2] for row in made.rows] == [answer.release_id for answer in made.answers]


def test_the_cart_is_shown_and_what_is_free_answers_at_once(session: Session) -> None:
    session.run(COUNT.format(1, "0.5"))
    session.run("BEGIN")
    session.run(COUNT.format(1, "0.5"))
    session.run(COUNT.format(2, "0.25"))
    session.run("CREATE RELEASE made AS " + COUNT.format(3, "0.25"))
    session.run("SELECT n + 1 AS m FROM made")
    assert [row[1] for row in session.run("DESCRIBE made").rows] == ["INT"]
    assert ("research", "patient") in {row[:2] for row in session.run("SHOW BUDGET").rows}
    assert "total: ε = 0.1" in cells(session.run("EXPLAIN SELECT COUNT(*) FROM patients SPEND EPSILON 0.1"))
    cart = session.run("EXPLAIN")
    assert [row[2] for row in cart.rows] == [
        "free (replay)",
        "ε = 0.25",
        "ε = 0.25",
        "free (post-processing)",
        "ε = 0.5 of research (patient), 19 left",
    ]
    assert spent(session)["research"] == Cost(Fraction(1, 2)) and session.in_cart == 4
    one, two, made, more = session.run("COMMIT").answers
    assert more.rows[0][0] == made.rows[0][0] + 1 and one.cost == Cost() and two.cost == Cost(Fraction(1, 4))
    assert spent(session)["research"] == Cost(Fraction(1)) and session.in_cart == 0


def test_rollback_forgets_and_gives_settings_back(session: Session) -> None:
    session.run("SET epsilon = 0.3")
    session.run("BEGIN")
    session.run("SET epsilon = 0.7")
    session.run("SET budget = thesis")
    assert "ε = 0.7 of thesis" in cells(session.run("SELECT COUNT(*) FROM patients"))[-1]
    session.run("CREATE RELEASE made AS " + COUNT.format(3, "0.25"))
    assert cells(session.run("ROLLBACK")) == ["forgotten: nothing was charged"]
    assert set(spent(session).values()) == {Cost()} and codes(refused(session, "SELECT n FROM made")) == ["PQL0201"]
    check = session.check("SELECT COUNT(*) FROM patients")
    assert check.cost.epsilon == Fraction(3, 10) and check.budget is None


def test_an_error_leaves_the_cart_as_it_was_and_says_so(session: Session) -> None:
    session.run("SET budget = thesis")  # 12, and no δ: what adds up
    session.run("BEGIN")
    session.run(COUNT.format(1, "0.5"))
    for text, code in (
        ("SELECT nothing FROM patients", "PQL0202"),
        ("CREATE RELEASE broken AS SELECT age FROM patients", "PQL0401"),
        ("SELECT n FROM broken", "PQL0201"),
        (COUNT.format(2, "11.6"), "PQL0502"),
        ("BEGIN", "PQL0508"),
    ):
        problem = refused(session, text)
        assert codes(problem) == [code]
        assert problem.diagnostics[0].help.endswith("the cart is as it was, with 1 query"), text
    session.run(COUNT.format(2, "11.5"))
    assert len(session.run("COMMIT").answers) == 2 and spent(session)["thesis"] == Cost(Fraction(12))


@pytest.mark.parametrize("text", ["COMMIT", "ROLLBACK", "EXPLAIN"])
def test_what_needs_a_cart(session: Session, text: str) -> None:
    assert codes(refused(session, text)) == ["PQL0508"]


def test_a_text_that_ends_inside_begin_is_refused_whole(session: Session) -> None:
    text = f"{COUNT.format(1, '0.1')}; BEGIN; {COUNT.format(2, '0.1')}"
    with pytest.raises(PrivQLError) as caught:
        session.run_text(text)
    assert codes(caught.value) == ["PQL0508"] and session.in_cart == 0
    assert set(spent(session).values()) == {Cost()}
    session.run("BEGIN")  # that of the session goes on
    assert list(session.run_text(COUNT.format(3, "0.1"))) == [] and session.in_cart == 1
    assert len(list(session.run_text(f"{COUNT.format(4, '0.1')}; COMMIT"))) == 2


def test_delta_says_how_much_the_plan_may_take(session: Session) -> None:
    usual, less = (
        session.check_text(f"{begin}; {MANY}; COMMIT").costs[0].charged for begin in ("BEGIN", "BEGIN DELTA 2e-7")
    )
    assert usual is not None and less is not None
    assert less.epsilon < usual.epsilon and usual.delta < less.delta <= Fraction(2, 10**7)
    assert session.check_text(f"BEGIN DELTA 0; {MANY}; COMMIT").costs[0].charged is None
    checked = session.check_text(f"SET budget = thesis; BEGIN DELTA 1e-9; {MANY}; COMMIT")
    assert [d.code for d in checked.over] == ["PQL0502"] and "BEGIN without DELTA" in checked.over[0].help
    bad = session.check_text("BEGIN DELTA 2; COMMIT").diagnostics
    assert [d.code for d in bad] == ["PQL0503"]


def test_a_commit_that_breaks_off_goes_on_where_it_was(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    import privql.pipeline.run as flow

    session.run("BEGIN")
    for line in MANY.split(";\n"):
        session.run(line)
    honest, left = flow.release, iter(range(3))

    def interrupted(*given: object) -> object:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return honest(*given)

    with monkeypatch.context() as patch:
        patch.setattr(flow, "release", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.run("COMMIT")
    once = spent(session)["research"]
    assert once.epsilon and session.in_cart == 30
    assert len(session.run("COMMIT").answers) == 30 and spent(session)["research"] == once and sound(session)


def test_what_a_commit_that_broke_off_has_charged_is_not_said_to_be_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    import privql.pipeline.run as flow

    def failing(*_: object) -> object:
        raise RuntimeError

    for line in ("BEGIN", *MANY.split(";\n")):
        session.run(line)
    with monkeypatch.context() as patch:
        patch.setattr(flow, "release", failing)
        with pytest.raises(PrivQLError, match="PQL0601"):
            session.run("COMMIT")
    assert spent(session)["research"].epsilon
    assert cells(session.run("ROLLBACK")) == ["forgotten: what COMMIT charged stays charged"]


def test_planted_a_cart_that_spends_before_commit_is_noticed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    import privql.pipeline.till as till

    honest = till.Till._carried_out

    def eager(self: till.Till, one: till.StatementCheck) -> Iterator[Release]:
        yield from honest(self, one)
        self._cart = self._prepaid(self._cart)

    monkeypatch.setattr(till, "committed", till.together)
    monkeypatch.setattr(till.Till, "_carried_out", eager)
    with pytest.raises(AssertionError):
        test_nothing_is_spent_before_commit_and_then_what_was_said(session)


def test_what_is_forgotten_while_a_cart_is_open_is_told_as_ever(session: Session) -> None:
    made = session.run("CREATE RELEASE r AS SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.1")
    session.run("BEGIN")
    session._ledger.forget(made.release_id)
    for text in ("SELECT n FROM r", "EXPLAIN SELECT n FROM r", "DESCRIBE r"):
        (said,) = refused(session, text).diagnostics
        assert said.code == "PQL0201" and "was forgotten" in said.message, text
    (said,) = refused(session, "CREATE RELEASE r AS SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.2").diagnostics
    assert said.code == "PQL0208" and "was forgotten" in said.message


def test_a_line_of_a_cart_that_reads_what_was_forgotten_says_so_and_nothing_is_paid(session: Session) -> None:
    made = session.run("CREATE RELEASE r AS SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.1")
    counts = [COUNT.format(age, "0.1") for age in (40, 50)]
    for text in ("BEGIN", "SELECT n FROM r", *counts):
        session.run(text)
    session._ledger.forget(made.release_id)
    before = spent(session)
    for _ in range(2):
        assert "was forgotten" in str(refused(session, "COMMIT")) and spent(session) == before
    for text in ("ROLLBACK", "BEGIN", *counts):
        session.run(text)
    assert len(session.run("COMMIT").answers) == 2 and spent(session) != before


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BEGIN DELTA 2; {}; COMMIT", ["PQL0503"]),
        ("BEGIN DELTA; {}; COMMIT", ["PQL0101"]),
        ("SELECT 1; begin DELTA 2; {}; EXPLAIN; ROLLBACK", ["PQL0503"]),
        ("BEGIN DELTA 2; {}", ["PQL0503"]),
        ("BEGIN DELTA 2; COMMIT; {}; COMMIT", ["PQL0503", "PQL0508"]),
        ("SELEC 1; {}; COMMIT", ["PQL0101", "PQL0508"]),
        ("BEGIN; BEGIN DELTA 2; {}; COMMIT", ["PQL0508"]),
        ("CREATE RELEASE a AS SELEC 1; SELECT * FROM a; SELECT * FROM b; {}", ["PQL0101", "PQL0201"]),
        ('CREATE RELEASE "a""b" AS SELEC 1; SELECT * FROM "a""b"; {}', ["PQL0101"]),
        ("CREATE RELEASE a AS SELECT 'x; SELECT * FROM a;", ["PQL0102"]),
    ],
)
def test_what_follows_from_a_statement_that_failed_is_not_told_again(
    session: Session, text: str, found: list[str]
) -> None:
    told = session.check_text(text.format(COUNT.format(1, "0.1"))).diagnostics
    assert [one.code for one in told] == found
    with pytest.raises(PrivQLError):
        session.run_text(text.format(COUNT.format(1, "0.1")))
    assert session.check("COMMIT").diagnostics[0].code == "PQL0508", "it began nothing"
