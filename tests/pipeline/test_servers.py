"""A server that answers, loses its connection, refuses, fails while it works or has its rows changed: what is said, and
what is charged. It is a second DuckDB behind an address of its own, which fails when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.engines import opening
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError, Source
from privql.ledger import Ledger

SECRET = "row of ana, 44 years"
POLICY = """\
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120) FROM clinic.public.patients;
CREATE PUBLIC TABLE wards (code TEXT KEY) FROM clinic.wards;
CREATE BUDGET research FOR UNIT patient EPSILON 10000;
"""


class Server:
    """What is behind `fake://`: rows that may change under whoever reads them."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, ...], pd.DataFrame] = {
            ("public", "patients"): pd.DataFrame({"patient_id": ["ana", "ben", "eva"], "age": [44, 30, 20]}),
            ("wards",): pd.DataFrame({"code": ["B", "A", "A\nB"]}),
        }
        self.opened = self.verified = 0
        self.refuses: BaseException | None = None
        self.lost = self.dies = False

    def open(
        self, address: object, tables: Mapping[str, tuple[str, ...]], owner_log: Callable[[BaseException], None]
    ) -> Engine:
        self.opened += 1
        if self.refuses is not None:
            raise self.refuses
        return Engine(self, tables, owner_log)


class Engine:
    def __init__(
        self, server: Server, tables: Mapping[str, tuple[str, ...]], owner_log: Callable[[BaseException], None]
    ) -> None:
        self.server, self.tables, self.owner_log = server, tables, owner_log

    def preflight(self, scans: Any) -> None:
        if self.server.lost:
            self.server.lost = False  # the next connection is a good one
            raise EngineError("unreachable", "patients")
        self.now().preflight(scans)

    def unique(self, *given: Any) -> bool:
        self.server.verified += 1
        return self.now().unique(*given)

    def run(self, *given: Any) -> Any:
        if self.server.dies:
            self.owner_log(RuntimeError(f"server closed the connection while it read: {SECRET}"))
            raise EngineError("failed")
        return self.now().run(*given)

    def now(self) -> DuckDBEngine:
        missing = [table for table, path in self.tables.items() if path not in self.server.rows]
        there = {
            table: Source(frame=self.server.rows[path]) for table, path in self.tables.items() if table not in missing
        }
        return DuckDBEngine(there)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now(), name)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    known = {**opening._KINDS, "fake": opening.Kind("fake")}
    monkeypatch.setattr(opening, "_KINDS", known)
    real = opening.import_module
    chosen = SimpleNamespace(open=made.open)
    monkeypatch.setattr(opening, "import_module", lambda name: chosen if name == "fake" else real(name))
    return made


@pytest.fixture
def ledger(server: Server, tmp_path: Path) -> Path:
    (tmp_path / "policy.pql").write_text(POLICY)
    (tmp_path / "connections.toml").write_text('clinic = "fake://olga:s3cret@db.example.org/clinic"\n')
    (tmp_path / "connections.toml").chmod(0o600)
    privql.apply(tmp_path / "policy.pql", tmp_path / "ledger.db")
    return tmp_path / "ledger.db"


def ask(ledger: Path, *queries: str) -> list[Any]:
    found: list[Any] = []
    with privql.connect(ledger, analyst="alice") as session:
        for query in queries:
            try:
                found.append([tuple(row) for row in session.run(query).rows])
            except PrivQLError as problem:
                refused = problem
            else:
                continue
            assert not leading_to(refused)
            (said,) = refused.diagnostics
            found.append((said.code, said.message))
    return found


def leading_to(problem: BaseException | None) -> set[str]:
    """What of the server can be read off an error and all that it came from."""
    told = ""
    while problem is not None:
        told += f"{problem} {problem.args}"
        problem = problem.__cause__ or problem.__context__
    return {each for each in (SECRET, "s3cret", "db.example.org") if each in told}


def charged(ledger: Path) -> list[tuple[str, int]]:
    with Ledger.open(ledger) as found:
        return [(each.state, each.resumes) for each in found.history()]


COUNT = "SELECT COUNT(*) FROM patients SPEND EPSILON 100"
AGE = "SELECT SUM(age) FROM patients SPEND EPSILON 1000"


def test_it_answers_and_its_public_rows_are_exact(ledger: Path) -> None:
    assert ask(ledger, COUNT, "SELECT code FROM wards ORDER BY code") == [[(3,)], [("A",), ("A\nB",), ("B",)]]


def test_keys_are_verified_before_each_charge(ledger: Path, server: Server) -> None:
    before = server.verified
    assert ask(ledger, COUNT, AGE) == [[(3,)], [(94,)]]
    assert server.verified == before + 2
    twins = pd.concat([server.rows["public", "patients"]] * 2)
    with privql.connect(ledger, analyst="alice") as session:
        session.run("SELECT COUNT(*) FROM patients WHERE age > 1 SPEND EPSILON 100")
        server.rows["public", "patients"] = twins
        with pytest.raises(PrivQLError) as raised:
            session.run("SELECT COUNT(*) FROM patients WHERE age > 2 SPEND EPSILON 100")
    assert raised.value.diagnostics[0].code == "PQL0603"
    assert charged(ledger) == [("released", 0)] * 3


def test_a_connection_that_was_lost_is_made_again(ledger: Path, server: Server) -> None:
    with privql.connect(ledger, analyst="alice") as session:
        session.run(COUNT)
        opened, server.lost = server.opened, True
        assert session.run(AGE).rows[0][0] == 94
        assert server.opened == opened + 1


@pytest.mark.parametrize(
    "refuses",
    [
        RuntimeError("password authentication failed for olga:s3cret at db.example.org"),
        EngineError("unreadable source", "patients"),
        opening.ConnectionProblem("it needs the package s3cret", "install it"),
    ],
)
def test_one_that_refuses_costs_nothing_and_says_one_thing(ledger: Path, server: Server, refuses: Exception) -> None:
    server.refuses = refuses
    told = ("PQL0602", "the database with the data of table `patients` cannot be reached")
    assert ask(ledger, COUNT, AGE) == [told, told]
    assert charged(ledger) == []
    server.refuses = None
    assert ask(ledger, COUNT) == [[(3,)]]


def test_one_that_dies_at_work_keeps_the_charge_and_takes_it_up(ledger: Path, server: Server) -> None:
    server.dies = True
    (failed,) = ask(ledger, COUNT)
    assert failed == ("PQL0601", "the engine could not finish this query")
    assert charged(ledger) == [("reserved", 0)]
    with Ledger.open(ledger) as found:
        (incident,) = found.incidents()
        assert SECRET in incident.words, "the owner alone reads it"
    server.dies = False
    assert ask(ledger, COUNT) == [[(3,)]]
    assert charged(ledger) == [("released", 1)], "nothing was charged twice"


def test_a_table_that_vanished(ledger: Path, server: Server) -> None:
    del server.rows["public", "patients"]
    assert ask(ledger, COUNT) == [("PQL0602", "the data of table `patients` is not there")]
    assert charged(ledger) == []


def test_the_owner_reads_the_servers_words_without_its_password(server: Server, ledger: Path) -> None:
    server.refuses = RuntimeError(
        "fake://olga:s3cret@db.example.org/clinic: password authentication failed\nHINT: s3cret"
    )
    with pytest.raises(PrivQLError) as raised:
        privql.apply(ledger.parent / "policy.pql", ledger.parent / "other.db")
    problems = raised.value.diagnostics
    assert {each.code for each in problems} == {"PQL0750"} and len(problems) == 2
    assert all("fake://olga:…@db.example.org/clinic: password authentication failed" in each.why for each in problems)
    assert "s3cret" not in str(raised.value)
