"""Steps under one charge - finding groups, measuring them, reading another block's answer - and runs that die."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import privql.release as room
from privql.diagnostics import PrivQLError
from privql.ledger import Ledger
from privql.pipeline import run as flow
from privql.plan import beside
from privql.session import Session, apply, connect
from tests.pipeline.cooks_and_nurses import COUNT, POLICY, asked, people, spent, visits
from tests.pipeline.killed import Killed, killed_at


@pytest.fixture
def session() -> Iterator[Session]:
    with asked() as opened:
        yield opened


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    people().to_parquet(tmp_path / "people.parquet")
    visits().to_parquet(tmp_path / "visits.parquet")
    text = POLICY.replace("HIDDEN);", "HIDDEN) FROM 'people.parquet';")
    (tmp_path / "p.sql").write_text(text.replace("ROWS PER UNIT;", "ROWS PER UNIT FROM 'visits.parquet';"))
    apply(tmp_path / "p.sql", tmp_path / "l.db")
    return tmp_path / "l.db"


QUERY = "SELECT job, SUM(age) AS s FROM people GROUP BY job SPEND EPSILON 1 DELTA 1e-6"


def test_numbers_that_were_found_stay_found(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step finds the groups and counts them: killed after it, the same numbers come out, and nothing is drawn."""
    with connect(ledger, analyst="ada") as opened, monkeypatch.context() as patched:
        patched.setattr(flow, "present", _killed)
        with pytest.raises(Killed):
            opened.run(f"{COUNT} SPEND EPSILON 1 DELTA 1e-6")
    with monkeypatch.context() as patched:
        patched.setattr(room, "counted", lambda units, law: [None] * len(units))
        with connect(ledger, analyst="ada") as opened:
            assert [row[0] for row in opened.run(f"{COUNT} SPEND EPSILON 1 DELTA 1e-6").rows] == ["cook", "nurse", None]


def _killed(*given: Any, **named: Any) -> Any:
    raise Killed


def test_a_run_that_dies_between_its_steps_goes_on_where_it_was(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert killed_at(QUERY, "_noisy", ledger, monkeypatch) == ["_selected"]
    with Ledger.open(ledger) as opened:
        (entry,) = opened.history()
        assert entry.state == "reserved" and opened.spent("person").delta == Fraction(1, 10**6)
    assert killed_at(QUERY, "_noisy", ledger, monkeypatch) == []
    assert killed_at(QUERY, "", ledger, monkeypatch) == ["_noisy"]
    with connect(ledger, analyst="ada") as opened:
        assert not opened.run(QUERY).cost  # the answer is there, and costs nothing
        assert spent(opened) == (Fraction(1), Fraction(1, 10**6))
    with Ledger.open(ledger) as opened:
        assert opened.verify() == ()


def test_groups_that_were_found_stay_found(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second attempt would find others: it does not look."""
    killed_at(QUERY, "_noisy", ledger, monkeypatch)
    monkeypatch.setattr(room, "kept", lambda units, keep: [False] * len(units))
    with connect(ledger, analyst="ada") as opened:
        assert [row[0] for row in opened.run(QUERY).rows] == ["cook", "nurse", None]


def test_what_a_step_would_spend_beyond_the_charge_is_not_measured(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that takes the same step again and again, each within the charge, is stopped by the sum of them."""
    measured: list[int] = []
    honest = flow.release

    def twice(permit: Any, step: int, wanted: Any, *given: Any) -> Any:
        measured.append(step)
        honest(permit, 2 * step, wanted, *given)
        return honest(permit, 2 * step + 1, wanted, *given)

    monkeypatch.setattr(flow, "release", twice)
    with pytest.raises(room.Unpaid):
        session.run(QUERY)
    assert measured == [0]


# ---------------------------------------------------------------- a block that reads another's answer


def test_private_rows_beside_an_answer_of_the_same_statement(session: Session) -> None:
    answer = session.run(
        "WITH wards AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward SPEND EPSILON 400 DELTA 1e-6)"
        " SELECT COUNT(*) AS rows_there FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.n > 1 SPEND EPSILON 300"
    )
    ((counted,),) = answer.rows
    assert 700 <= counted <= 900  # 200 persons with four rows each
    assert spent(session) == (Fraction(700), Fraction(1, 10**6))


def test_a_release_that_private_rows_are_joined_with_is_the_analysts_own(ledger: Path) -> None:
    """Two analysts, each with a release `j`: the same text is another query for each of them, and another charge."""
    jobs = "SELECT job, COUNT(*) AS n FROM people {}GROUP BY job KEYS ('cook', 'king') SPEND EPSILON 90"
    read = "SELECT COUNT(*) AS m FROM people p JOIN j ON p.job = j.job WHERE j.n > 100 SPEND EPSILON 90"
    found = []
    for analyst, where in (("ada", ""), ("bob", "WHERE age > 100 ")):
        with connect(ledger, analyst=analyst) as opened:
            opened.run(f"CREATE RELEASE j AS {jobs.format(where)}")
            found.append(opened.run(read))
    assert [one.rows for one in found] == [((300,),), ((0,),)]
    assert all(one.cost.epsilon == 90 for one in found)


def test_a_block_that_reads_another_goes_on_from_what_was_kept(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after each step in turn: find wards, count them, count the visits there. Each is drawn once in all."""
    query = (
        "WITH wards AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward SPEND EPSILON 400 DELTA 1e-6)"
        " SELECT COUNT(*) AS m FROM visits v JOIN wards w ON v.ward = w.ward SPEND EPSILON 300"
    )
    draws: list[str] = []
    most = [0]
    honest = {name: getattr(room, name) for name in ("_selected", "_noisy")}

    def drawn(name: str, *given: Any) -> object:
        if len(draws) == most[0]:
            raise Killed
        draws.append(name)
        return honest[name](*given)

    for name in honest:
        monkeypatch.setattr(room, name, partial(drawn, name))
    for most[0] in (1, 2):
        with connect(ledger, analyst="ada") as opened, pytest.raises(Killed):
            opened.run(query)
    most[0] = 9
    with connect(ledger, analyst="ada") as opened:
        assert 700 <= opened.run(query).rows[0][0] <= 900
        assert spent(opened) == (Fraction(700), Fraction(1, 10**6))
    assert draws == ["_selected", "_noisy", "_noisy"]
    with Ledger.open(ledger) as made:
        assert made.verify() == ()


MANY = "(SELECT job, sex, COUNT(*) AS n FROM people GROUP BY job, sex SPEND EPSILON 90 DELTA 1e-9) AS g"


def test_found_groups_that_a_row_meets_are_as_few_as_may_be(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows beforehand how many there will be: so many take part, and no more."""
    count = (
        f"SELECT COUNT(*) AS m FROM people AS p JOIN {MANY} ON p.sex = g.sex AT MOST 9 ROWS PER UNIT SPEND EPSILON 90"
    )
    assert session.run(count).rows == ((901 * 3,),)  # cooks, nurses and those without a job
    twice = f"SELECT COUNT(*) AS m FROM people AS p, {MANY}, (SELECT * FROM {MANY}) AS h AT MOST 9 ROWS PER UNIT"
    with pytest.raises(PrivQLError, match="could meet 100000000 public rows"):
        session.run(f"{twice} SPEND EPSILON 1")
    with pytest.raises(PrivQLError, match="any number of rows"):
        session.run(count.replace("AT MOST 9 ROWS PER UNIT", ""))
    monkeypatch.setattr(beside, "FOUND", 2)
    assert session.run(count.replace("AS m", "AS few")).rows == ((901 * 2,),)
