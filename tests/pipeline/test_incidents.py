"""What fails after it was charged: one constant error for who asked, the engine's own words for the owner."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from privql.diagnostics import PrivQLError
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError
from privql.ledger import Ledger
from privql.session import Session
from privql.surfaces.cli import main
from tests.pipeline.test_texts_as_plans import clinic, codes, ledger, opened, spent

__all__ = ["ledger"]  # a fixture

COUNT = "SELECT COUNT(*) FROM patients SPEND EPSILON 0.5"
WORDS = "row 17 says: Mrs. S3cret\nhas a hobby"


def failing(monkeypatch: pytest.MonkeyPatch, cause: BaseException) -> None:
    def ask(self: DuckDBEngine, *given: object) -> object:
        raise cause

    monkeypatch.setattr(DuckDBEngine, "_ask", ask)


def failure(session: Session, text: str = COUNT) -> PrivQLError:
    with pytest.raises(PrivQLError) as caught:
        session.run(text)
    return caught.value


def test_the_words_are_the_owners(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Path(f"{ledger}.incidents")
    with opened(ledger) as session, monkeypatch.context() as patch:
        failing(patch, MemoryError(WORDS))
        problem = failure(session)
        assert codes(problem) == ["PQL0601"] and spent(session)["research"].epsilon
        seen: BaseException | None = problem
        while seen is not None:  # nor does a traceback lead to them
            assert "S3cret" not in f"{seen!s}{seen!r}{seen.__dict__}"
            seen = seen.__cause__ or seen.__context__
    with Ledger.open(ledger) as owner:
        (found,) = owner.incidents()
        assert WORDS in found.words and (found.release_id, found.analyst) == ("r1", "alice")
        assert f"incident {found.number}" in problem.diagnostics[0].help
        assert "S3cret" not in "".join(map(str, owner.history()))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    with log.open("a") as file:
        file.write('{"number": "cut o')
    assert main(["ledger", "incidents", "--ledger", str(ledger)]) == 0
    assert found.number in capsys.readouterr().out
    with opened(ledger) as session:
        session.run(COUNT)
        assert spent(session)["research"].epsilon * 2 == 1


def test_the_error_is_the_same_whatever_failed(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = set()
    for number, cause in enumerate((MemoryError("a"), ValueError("b"), OSError("c"))):
        with opened(ledger) as session, monkeypatch.context() as patch:
            failing(patch, cause)
            text = str(failure(session, COUNT.replace("0.5", f"0.{number + 1}")))
            said = text.replace(session._till._ledger.incidents()[-1].number, "").replace(f"0.{number + 1}", "")
            told.add(said)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("room", "name", "cause"),
    [
        ("privql.release", "discrete_laplace", ValueError(WORDS)),  # exact sums are in hand
        ("privql.release", "discrete_laplace", RecursionError(WORDS)),
        ("privql.release", "discrete_laplace", EngineError("missing column", WORDS, WORDS)),
        ("privql.pipeline.places.Places", "unmoved", FileNotFoundError(2, WORDS)),
        ("privql.pipeline.run", "sealed", AssertionError(WORDS)),
        ("privql.pipeline.run", "present", MemoryError(WORDS)),
    ],
)
def test_a_fault_of_our_own_is_an_incident_too(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, room: str, name: str, cause: Exception
) -> None:
    def fault(*given: object, **named: object) -> object:
        raise cause

    with opened(ledger) as session, monkeypatch.context() as patch:
        failing(patch, MemoryError("the engine's"))
        engines = failure(session, COUNT)
    with Ledger.open(ledger) as owner:
        (known,) = owner.incidents()
    with opened(ledger) as session:
        with monkeypatch.context() as patch:
            patch.setattr(f"{room}.{name}", fault)
            problem = failure(session)
        with Ledger.open(ledger) as owner:
            found = owner.incidents()[-1]
        assert str(problem).replace(found.number, "") == str(engines).replace(known.number, "")
        assert WORDS.splitlines()[0] in found.words or isinstance(cause, EngineError)
        seen: BaseException | None = problem
        while seen is not None:
            assert "S3cret" not in f"{seen!s}{seen!r}{seen.__dict__}"
            seen = seen.__cause__ or seen.__context__
        before = spent(session)
        session.run(COUNT)
        assert spent(session) == before


def test_who_interrupts_is_told_so(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(ledger) as session, monkeypatch.context() as patch:
        failing(patch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            session.run(COUNT)
    with Ledger.open(ledger) as owner:
        assert owner.incidents() == ()


def test_a_link_in_its_place_is_not_followed(ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.symlink(tmp_path / "elsewhere", f"{ledger}.incidents")
    with opened(ledger) as session, monkeypatch.context() as patch:
        failing(patch, MemoryError(WORDS))
        assert failure(session).diagnostics[0].help.startswith("ask the owner; ")
    assert not (tmp_path / "elsewhere").exists()


def test_a_scratch_session_says_so_without_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    with clinic() as session, monkeypatch.context() as patch:
        failing(patch, MemoryError(WORDS))
        assert failure(session).diagnostics[0].help.startswith("ask the owner; ")


def test_after_its_fourth_start_the_analyst_waits_for_the_owner(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(ledger) as session:
        with monkeypatch.context() as patch:
            failing(patch, MemoryError(WORDS))
            assert [codes(failure(session)) for _ in range(5)] == [["PQL0601"]] * 4 + [["PQL0509"]]
        for text in (COUNT, COUNT.replace("0.5", "0.25"), "SELECT AVG(age) FROM patients"):
            problem = failure(session, text)
            assert codes(problem) == ["PQL0509"] and "r1" in problem.diagnostics[0].message
            assert "`privql ledger allow r1`" in problem.diagnostics[0].help
        with pytest.raises(PrivQLError, match="PQL0509"):
            list(session.run_text(f"{COUNT.replace('0.5', '0.1')}; SELECT AVG(age) FROM patients"))
        assert session.run("SELECT COUNT(*) FROM visits SPEND EPSILON 0.1").release_id == "r2", "another table"
        before = spent(session)
        assert main(["ledger", "allow", "r1", "--ledger", str(ledger)]) == 0
        session.run(COUNT)
        assert spent(session) == before
        session.run(COUNT.replace("0.5", "0.25"))
    capsys.readouterr()
    assert main(["ledger", "allow", "r1", "--ledger", str(ledger)]) == 1


def test_who_asks_another_question_each_time_waits_as_soon(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a question failed is a bit of whatever rows its conditions name, and hardly costs anything."""
    asked = [f"SELECT COUNT(*) FROM patients WHERE age = {age} SPEND EPSILON 0.0001" for age in range(30, 36)]
    with opened(ledger) as session:
        with monkeypatch.context() as patch:
            failing(patch, MemoryError(WORDS))
            assert [codes(failure(session, text)) for text in asked] == [["PQL0601"]] * 4 + [["PQL0509"]] * 2
        problem = failure(session, asked[5])
        assert codes(problem) == ["PQL0509"] and "r1, r2, r3, r4 were started 4 times" in str(problem)
        assert "`privql ledger allow r1 r2 r3 r4`" in problem.diagnostics[0].help
        assert main(["ledger", "allow", "r1", "r2", "--ledger", str(ledger)]) == 0
        session.run(asked[0])
        session.run(asked[5])
