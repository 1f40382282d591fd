"""What is forgotten is gone from the file, stays charged, and the chain verifies."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privql.ledger import Ledger, LedgerError, PlanRequest
from privql.ledger.errors import Forgotten, NameTaken
from tests.ledger.asking import ask, behind, budget, ledger, met, permit

SECRETS = "the secret query", "the secret parameter", "the secret measurement", "the secret answer", "the secret draw"


def answered(made: Ledger, **more: Any) -> str:
    query, parameters, measurements, answer, noisy = (text * 50 for text in SECRETS)
    granted = permit(made, ask(query, parameters=parameters, measurements=measurements, **more))
    made.draw(granted, 0, {"patient": met()}, noisy.encode())
    return made.release(granted, answer.encode()).release_id


def found_in(folder: Path) -> set[str]:
    """Which of the secrets stand in any file."""
    texts = [path.read_bytes() for path in folder.iterdir()]
    return {secret for secret in SECRETS for text in texts if secret.encode() in text}


def test_what_is_forgotten_is_gone_from_the_file_and_stays_charged(tmp_path: Path) -> None:
    with ledger(path=tmp_path / "l") as made:
        connection = made._store._connection
        assert connection is not None
        connection.execute("PRAGMA secure_delete = OFF")  # as most builds of SQLite have it
        assert answered(made, name="mine") == "r1"
        permit(made, ask("another"))
        before = made.anchor()
        spent = made.spent("patient"), made.history()[0].charges, made.budget_report()
        assert found_in(tmp_path) == set(SECRETS)
        assert made.forget("r1", by="olga") == ("r1",)
        assert found_in(tmp_path) == set()  # and in no free page, and no log
        assert made.verify([before]) == ()
        first, second = made.history()
        assert (first.state, first.query, first.parameters, first.measurements) == ("forgotten", "", "", "")
        assert (first.analyst, first.names, first.released_at is None) == ("alice", ("mine",), False)
        assert (made.spent("patient"), first.charges, made.budget_report()) == spent
        assert (second.state, second.query) == ("reserved", "another")
        assert made.forget("r1") == ()
    with behind(tmp_path / "l") as db:
        assert db.execute("SELECT identity, answer FROM charge WHERE id = 1").fetchall() == [(b"", None)]
        assert db.execute("SELECT what, forgotten_by FROM forgotten").fetchall() == [("r1", "olga")]


def test_a_forgotten_answer_is_nobodys_and_says_so() -> None:
    made = ledger()
    answered(made, name="mine")
    made.forget("r1")
    for ask_for in (lambda: made.get_release("alice", "r1"), lambda: made.release_named("alice", "MINE")):
        with pytest.raises(Forgotten, match=r"`r1` was forgotten on \d{4}-\d\d-\d\d: its query and its answer are"):
            ask_for()
    assert made.release_names("alice") == ()
    assert made.releases("alice") == ()
    with pytest.raises(NameTaken, match=r"you had a release named `mine` \(r1\), which was forgotten"):
        answered(made, name="mine")
    assert answered(made) == "r2"  # the same query is another charge
    assert made.spent("patient").epsilon == Fraction(2, 10)
    assert made.verify() == ()


def test_those_who_may_not_see_a_release_do_not_learn_that_it_was_forgotten() -> None:
    made = Ledger.create(":memory:")
    made.apply_policy("", [budget()], [], ["patients"])
    made.keep("alice", "hers", "SELECT 1", b"1")
    made.forget("r1")
    assert made.get_release("bob", "r1") is None


def test_a_charge_that_waits_for_its_answer_can_be_forgotten() -> None:
    made = ledger()
    granted = permit(made, ask("a", charges=(("patient", met("1/20") * 2),)))
    made.draw(granted, 0, {"patient": met("1/20")}, b"0")
    made.forget("r1")
    for go_on in (
        lambda: made.drawn(granted),
        lambda: made.draw(granted, 0, {"patient": met()}, b"0"),
        lambda: made.draw(granted, 1, {"patient": met()}, b"1"),
        lambda: made.release(granted, b"x"),
    ):
        with pytest.raises(Forgotten):
            go_on()
    assert permit(made, ask("a")).release_id == "r2"
    assert made.verify() == ()


def test_a_plan_is_forgotten_with_one_of_its_queries() -> None:
    made = ledger(budget(1, delta="1e-6"))
    request = PlanRequest("alice", ("a", "b"), 1, ((("patient", met()),),) * 2, ("patients",), delta=Fraction(0))
    (plan,) = made.prepay([request])
    permit(made, ask("a"), plan, 0)
    assert made.prepay([request]) == (plan,)
    assert made.forget("r1") == ("r1", "plan 1")
    assert made.verify() == ()
    assert made.prepay([request]) != (plan,)
    assert made.forget(analyst="ALICE") == ("plan 2",)
    assert made.verify() == ()


def test_who_and_since_when() -> None:
    made = ledger()
    for query, analyst in enumerate(("alice", "bob", "alice", "bob")):
        made.release(permit(made, ask(query, analyst=analyst)), b"x")
    store = made._store
    with store.transaction() as db:
        for number, day in enumerate(("2025-01-01", "2025-12-31", "2026-01-01", "2026-06-01"), 1):
            db.execute("UPDATE charge SET reserved_at = ? WHERE id = ?", (f"{day}T00:00:00+00:00", number))
    assert made.forget(analyst="bob", before="2026-01-01") == ("r2",)
    assert made.forget(before="2026-01-01T01:00:00+01:00") == ("r1",)
    assert made.forget(before="2026-01-01T00:00:01") == ("r3",)
    assert made.forget(analyst="Bob") == ("r4",)
    with pytest.raises(LedgerError, match="say what to forget"):
        made.forget()
    with pytest.raises(LedgerError, match="no date"):
        made.forget(before="yesterday")
    for nobody in ("r9", "x", ""):
        with pytest.raises(LedgerError, match=r"there is no release .* written as `r7`"):
            made.forget(nobody)


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE charge SET query = 'back' WHERE id = 1",
        "UPDATE charge SET state = 'released', answer = x'11' WHERE id = 1",
        "UPDATE charge SET state = 'reserved', identity = x'11' WHERE id = 1",
        "UPDATE draw SET noisy = x'11'",
        "UPDATE entry SET salt = x'11' WHERE kind = 'draw'",
        "DELETE FROM forgotten",
        "UPDATE charge SET state = 'forgotten', answer = NULL, query = '', parameters = '', measurements = '',"
        " identity = x'' WHERE id = 2",
        "UPDATE entry SET salt = NULL",
    ],
)
def test_nothing_comes_back_and_nothing_goes_unsaid(tmp_path: Path, tamper: str) -> None:
    with ledger(path=tmp_path / "l") as made:
        answered(made)
        made.release(permit(made, ask("b")), b"x")
        made.forget("r1")
        assert made.verify() == ()
    with behind(tmp_path / "l") as db:
        db.execute(tamper)
    with Ledger.open(tmp_path / "l") as made:
        assert made.verify()


def test_who_reads_meanwhile_is_waited_for(tmp_path: Path) -> None:
    with ledger(path=tmp_path / "l") as made:
        answered(made)
    reader = sqlite3.connect(tmp_path / "l", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM charge").fetchall()
    with Ledger.open(tmp_path / "l", patience=0.1) as made:
        with pytest.raises(LedgerError, match="may stand in the file yet"):
            made.forget("r1")
        reader.execute("COMMIT")
        reader.close()
        assert made.forget("r1") == ()  # it was forgotten; now the file is swept
    assert found_in(tmp_path) == set()
