"""A ledger in PostgreSQL is the same ledger: what is true of the file is true of it, from many processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from privql import apply, connect
from privql.kernel.filters import DEFAULT
from privql.ledger import GrantRow, Ledger, LedgerError, NoLedger, OverBudget, PartsAsked, Permit, PlanRequest, Replay
from privql.ledger.postgres import laid_out
from tests.assurance import SOAK, assured
from tests.ledger.asking import ask, budget, ledger, met
from tests.ledger.servers import fresh

ROOT = Path(__file__).parents[2]


@pytest.fixture
def address() -> str:
    return fresh()


def behind(address: str, statement: str) -> None:
    with psycopg.connect(address, autocommit=True) as server:
        server.execute("SET search_path = privql")
        server.execute(statement)


def test_a_charge_its_answer_and_its_replay(address: str) -> None:
    with ledger(budget(1, delta="1e-6"), path=address) as made:
        granted = made.reserve(ask("a", "0.1", name="first"))
        assert isinstance(granted, Permit)
        assert made.draw(granted, 0, {"patient": met("0.1")}, b"noisy") == b"noisy"
        assert made.draw(granted, 0, {"patient": met("0.1")}, b"other") == b"noisy"
        assert made.release(granted, b"answer").answer == b"answer"
    with Ledger.open(address) as made:
        assert made.reserve(ask("a", "0.1")) == Replay("r1", b"answer")
        found = made.release_named("alice", "first")
        assert found is not None and found.answer == b"answer"
        assert made.spent("patient").epsilon == Fraction(1, 10)
        assert made.verify() == ()


def test_exactly_the_budget_and_the_limits(address: str) -> None:
    grants = GrantRow("research", "alice", Fraction(1, 2)), GrantRow("research", "bob")
    with ledger(budget(1), grants=grants, path=address) as made:
        for query in range(5):
            made.reserve(ask(query, "0.1"))
        with pytest.raises(OverBudget) as over:
            made.reserve(ask("more", "0.1"))
        assert over.value.reason == "grant"
        made.reserve(ask("his", "0.5", analyst="bob"))
        with pytest.raises(OverBudget):
            made.reserve(ask("his, too", "1e-17", analyst="bob"))
        assert made.verify() == ()


def test_each_part_has_the_budget_for_itself(address: str) -> None:
    def part(*values: str) -> tuple[tuple[str, PartsAsked], ...]:
        return (("patient", PartsAsked("visits", "region", values, ("visits",))),)

    with ledger(budget(1), path=address) as made:
        for query, region in enumerate(("north", "south", "east")):
            made.reserve(ask(query, "0.9", parts=part(region)))
        made.reserve(ask("all", "0.1"))
        with pytest.raises(OverBudget):
            made.reserve(ask("more", "0.1", parts=part("west", "north")))
        made.reserve(ask("west", "0.9", parts=part("west")))
        assert made.spent("patient").epsilon == 1 and made.verify() == ()
        behind(address, 'UPDATE part_total SET loss = \'["1/2","0","0","0",0,null,0]\' WHERE budget = \'\'')
        assert any("what parts have of the total" in each for each in made.verify())


def test_a_plan_is_one_charge(address: str) -> None:
    with ledger(budget(3, delta="1e-6", shares=DEFAULT), path=address) as made:
        texts = tuple(map(str, range(40)))
        plan = PlanRequest("alice", texts, 1, ((("patient", met()),),) * 40, ("patients",))
        (prepaid,) = made.prepay([plan])
        assert made.prepay([plan]) == (prepaid,)
        for slot, text in enumerate(texts):
            assert isinstance(made.reserve(ask(text), prepaid, slot), Permit)
        assert made.spent("patient").epsilon < 4
        assert made.verify() == ()


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        ("UPDATE charge SET query = 'other' WHERE id = 1", "r1"),
        ("DELETE FROM total", "total of unit"),
        ("UPDATE budget SET epsilon = '1/100'", "could not afford"),
    ],
)
def test_what_was_tampered_with_is_found(address: str, tamper: str, said: str) -> None:
    with ledger(path=address) as made:
        made.reserve(ask("a"))
        assert made.verify() == ()
        behind(address, tamper)
    with Ledger.open(address) as made:
        assert any(said in line for line in made.verify()), made.verify()


def test_an_anchor_and_a_forgotten_charge(address: str) -> None:
    with ledger(path=address) as made:
        granted = made.reserve(ask("a"))
        assert isinstance(granted, Permit)
        made.release(granted, b"answer")
        anchor = made.anchor()
        made.forget(granted.release_id)
        assert made.verify([anchor]) == ()
        behind(address, "DELETE FROM entry WHERE position = 1")
        assert made.verify([anchor]) != ()


def test_whoever_may_write_may_ask_and_cannot_say_that_it_is_forgotten(address: str) -> None:
    """The rights that the page of the ledger names are enough to ask; what was erased leaves the tables by their
    owner's hand alone."""
    role = f"privql_{uuid4().hex}"
    theirs = psycopg.conninfo.make_conninfo(address, user=role)
    parts = psycopg.conninfo.conninfo_to_dict(theirs)
    theirs = (
        f"postgresql://{role}@/{parts['dbname']}?host={quote(parts['host'], safe='')}&port={parts.get('port', 5432)}"
    )
    with ledger(path=address) as made:
        behind(address, f"CREATE ROLE {role} LOGIN")
        try:
            behind(address, f"GRANT USAGE ON SCHEMA privql TO {role}")
            behind(address, f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA privql TO {role}")
            with Ledger.open(theirs) as asking:
                granted = asking.reserve(ask("a"))
                assert isinstance(granted, Permit)
                asking.release(granted, b"answer")
                with pytest.raises(LedgerError, match="forget it again as their owner"):
                    asking.forget(granted.release_id)
            assert made.forget(granted.release_id) == () and made.verify() == ()
        finally:
            behind(address, f"DROP OWNED BY {role}; DROP ROLE {role}")


def storm(program: str, *args: object) -> str:
    command = [sys.executable, "-m", f"tests.ledger.{program}", *map(str, args)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=None if SOAK else 120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("usual", ["read committed", "repeatable read"])
def test_processes_spend_exactly_the_budget(address: str, usual: str) -> None:
    """Whatever isolation the server's owner made the usual one."""
    database = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
    behind(address, f"ALTER DATABASE \"{database}\" SET default_transaction_isolation = '{usual}'")
    processes, attempts = (64, 10_000) if SOAK else (8, 20)
    with assured("ledger-storm-server") as tally:
        tally["tried"] += processes * attempts
        storm("storm", "hammer", address, processes, attempts)
        with Ledger.open(address) as made:
            assert made.spent("patient").epsilon == 1
            assert (len(made.history()), {entry.state for entry in made.history()}) == (97, {"released"})
            assert made.verify() == ()


def test_killed_at_any_moment(address: str) -> None:
    seen = json.loads(storm("deaths", "serve", address, 1000 if SOAK else 12))
    assert seen["deaths"] > seen["gave"] > 1


def test_a_server_that_ends_the_connection_loses_nothing(address: str) -> None:
    with ledger(path=address) as made:
        granted = made.reserve(ask("a"))
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        behind(address, f"{end} AND pid <> pg_backend_pid()")
        with pytest.raises(LedgerError, match="nothing has been released"):
            made.reserve(ask("b"))
        again = made.reserve(ask("a"))
        assert isinstance(granted, Permit) and isinstance(again, Permit) and again.release_id == granted.release_id
        made.reserve(ask("b"))
        assert made.spent("patient").epsilon == Fraction(2, 10)


def test_whoever_waits_too_long_is_told_that_it_is_locked_and_goes_on_later(address: str) -> None:
    ledger(path=address).close()
    with Ledger.open(address, patience=0.3) as waits, psycopg.connect(address) as other:
        waits.reserve(ask("a"))
        other.execute("SET search_path = privql")
        other.execute("LOCK TABLE layout, entry, charge IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(LedgerError, match="is locked by another process; nothing has been released"):
            waits.reserve(ask("b"))
        other.rollback()
        waits.reserve(ask("b"))
        assert waits.spent("patient").epsilon == Fraction(2, 10)


def test_only_its_owner_makes_one(address: str) -> None:
    with pytest.raises(NoLedger, match="its owner makes one"):
        Ledger.open(address)
    with pytest.raises(LedgerError, match=r"~/\.pgpass"):
        Ledger.create("postgresql://ada:secret@localhost/ledger")
    with pytest.raises(LedgerError, match="cannot be reached"):
        Ledger.create("postgresql://ada@127.0.0.1:1/ledger", patience=1)


def test_a_newer_one_is_left_alone(address: str) -> None:
    ledger(path=address).close()
    behind(address, "UPDATE layout SET version = 999")
    with pytest.raises(LedgerError, match="newer PrivQL"):
        Ledger.open(address)


def test_every_table_and_every_reference_is_there(address: str) -> None:
    made = laid_out()
    assert not any(" REFERENCES " in each for each in made if each.startswith("CREATE"))
    assert "ALTER TABLE charge ADD FOREIGN KEY (plan) REFERENCES plan" in made
    assert "ALTER TABLE charge_line ADD FOREIGN KEY (charge) REFERENCES charge" in made


POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (patient_id INT UNIT patient KEY, age INT BETWEEN 0 AND 110);
CREATE BUDGET research FOR UNIT patient EPSILON 3 DELTA 1e-6;
"""


def test_a_policy_a_session_and_an_answer(address: str) -> None:
    import pandas as pd

    frames: dict[str, Any] = {"patients": pd.DataFrame({"patient_id": range(100), "age": [40] * 100})}
    assert apply(POLICY, address, frames).version == 1
    assert apply(POLICY, address, frames).version == 1
    for _ in range(2):
        with connect(address, analyst="ada", frames=frames) as session:
            answer = session.run("SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.5")
    assert answer.cost.epsilon == 0
    with connect(address, analyst="ada", frames=frames) as session:
        assert "2.5" in str(session.budget())
