"""On a terminal what takes long says so; to who asks it says nothing that follows from rows."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.kernel.features import Tally
from privql.kernel.scalars import INT
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Scan, Unit
from privql.surfaces import cli, doctor, owner, progress, repl
from privql.surfaces.progress import line, watched
from tests.surfaces.conftest import Command


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.02)
    monkeypatch.setattr(progress, "AGAIN", 0.01)


def test_a_line_appears_and_is_gone() -> None:
    terminal, looked = Terminal(), threading.Event()
    done = iter([0.25, 0.5])

    def part() -> float | None:
        found = next(done, None)
        if found is None:
            looked.set()
        return found

    with watched("verifying visits", part, terminal):
        assert looked.wait(30)
    written = terminal.getvalue().split("\r\x1b[K")
    assert written[0] == "" and written[-1] == ""
    assert written[1].startswith("verifying visits  [######··················]  25%, 0 s, ")
    assert "% a second" in written[1] and "50%" in written[2]


def test_what_is_quick_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 30)
    terminal = Terminal()
    with watched("running", None, terminal):
        pass
    assert terminal.getvalue() == ""


def test_elsewhere_than_on_a_terminal_it_says_nothing() -> None:
    stream = io.StringIO()
    with watched("running", lambda: pytest.fail("asked"), stream):
        threading.Event().wait(0.1)
    assert stream.getvalue() == ""


def test_the_line_of_who_asks_is_the_time_alone() -> None:
    assert line("running", None, 12.4) == "running  12 s"


def test_only_the_owner_is_told_how_far_it_is(applied: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, bool]] = []

    @contextmanager
    def seen(what: str, progress: object, stream: object = None) -> Iterator[None]:
        told.append((what, progress is not None))
        yield

    for room in (cli, repl, owner, doctor):
        monkeypatch.setattr(room, "watched", seen)
    monkeypatch.setattr(doctor, "quickly", lambda address: (1, ""))
    query = "SELECT COUNT(*) FROM patients SPEND EPSILON 0.1;"
    assert applied("run", "--as", "alice", "-c", query).code == 0
    assert applied("repl", "--as", "alice", stdin=query).code == 0
    assert {what for what, _ in told} == {"running"} and not any(part for _, part in told)
    told.clear()
    assert applied("policy", "apply", "policy.pql").code == 0
    assert applied("doctor", "--policy", "policy.pql").code == 0
    assert {what for what, part in told if part} == {"verifying patients", "reading patients"}
    assert [what for what, part in told if not part] == ["trying the engine of files"]


def test_duckdb_says_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n\n" + "".join(f"{at}\n" for at in range(400_000)))
    scan = Scan("t", Unit("row"), None, False, (("n", INT),))
    with DuckDBEngine({"t": Source((str(path),))}, threads=1) as engine:
        assert engine.progress() is None
        seen: list[float | None] = []
        stop = threading.Event()

        def look() -> Iterator[None]:
            while not stop.wait(0.001):
                seen.append(engine.progress())
            yield

        teller = threading.Thread(target=lambda: list(look()))
        teller.start()
        for _ in range(20):
            assert engine.run(Sums(scan, (), (Tally(),)), b"").tolist() == [[400_000]]
            engine.groups(Keys(scan, (("n", INT),)), b"")
            if any(seen):
                break
        stop.set()
        teller.join()
    assert any(part is not None and 0 < part <= 1 for part in seen)
