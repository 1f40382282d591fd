"""Whole statements out of any lines, and what is shown for them."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privql.diagnostics import NOWHERE, refuse
from privql.kernel.cost import Cost
from privql.surfaces.repl import repl, split, whole

PIECES = ["SELECT 1", "SELECT ';'", 'SELECT ";"', "SELECT 'it''s;' -- c;\n", "/* ; /* ; */ ; */ SELECT 2", "SELECT\n3"]


class Answered:
    """What a statement was answered with: itself."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cost = Cost()
        self.answers: tuple[Answered, ...] = ()

    def __str__(self) -> str:
        return f"answer to {self.text.strip()}"


class FakeSession:
    in_cart = 0

    def __init__(self) -> None:
        self.asked: list[str] = []

    def check(self, text: str, params: object) -> Answered:
        return Answered(text)

    def run(self, text: str, params: object) -> Answered:
        self.asked.append(text.strip())
        if "wrong" in text:
            raise refuse("PQL0201", "no table is named `wrong`", NOWHERE)
        if "fault" in text:
            raise RuntimeError("patient p0")
        if "stop" in text:
            raise KeyboardInterrupt
        return Answered(text)


def piped(monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> tuple[FakeSession, Any]:
    session: Any = FakeSession()
    raw = text.encode() if isinstance(text, str) else text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
    return session, lambda: repl(session, {}, "table")


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5), st.sampled_from([";", " ;", ";\n", ";\n\n-- note\n"]))
def test_statements_are_cut_where_they_end(pieces: list[str], end: str) -> None:
    text = end.join(pieces) + end
    finished, begun = split(text)
    assert len(finished) == len(pieces)
    assert begun == ""
    assert whole(text)
    assert split(text.rstrip().removesuffix("-- note").rstrip().rstrip(";"))[1] != ""


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT ';", "SELECT 1 /* ;", 'SELECT "a;', "SELECT 1; SELECT"])
def test_what_is_begun_waits_for_its_end(text: str) -> None:
    assert not whole(text)


@pytest.mark.parametrize("text", ["", "  \n", "\\q", " \\?", "SELECT #;", ";", "-- note\n"])
def test_what_needs_no_more_lines_is_handed_over(text: str) -> None:
    assert whole(text)


def test_a_pipe_is_answered_statement_by_statement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session, ask = piped(monkeypatch, "SELECT\n 1; SELECT ';'\n;\n\\?\n-- note\nSELECT 3")
    assert ask() == 0
    assert session.asked == ["SELECT\n 1;", "SELECT ';'\n;", "SELECT 3"]
    printed = capsys.readouterr()
    assert printed.out.count("answer to") == 3
    assert "EXPLAIN SELECT" in printed.out
    assert printed.err == ""


def test_a_cart_is_told_answered_and_not_forgotten_in_silence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.check.clinic import clinic

    def ask(text: str, format: str = "table") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
        with clinic() as session:
            code = repl(session, {}, format)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    one, two = (f"SELECT COUNT(*) FROM patients WHERE age > {at} SPEND EPSILON 0.5;" for at in (20, 30))
    code, out, err = ask(f"BEGIN; {one} {two} EXPLAIN; COMMIT;")
    assert (code, err) == (0, "") and out.count("(ε = 0.5, release r") == 2 and "cost ε" not in out
    assert "ε = 1 of research (patient), 999 left" in out and "research: ε = 999 left, or 1998 more like" in out
    code, out, err = ask(f"BEGIN; {one} COMMIT;", "json")
    assert code == 0 and '"release_id": "r1"' in out.splitlines()[-1]
    code, out, err = ask(f"BEGIN; {one}")
    assert code == 1 and "nothing of it was charged" in err


def test_an_error_does_not_end_the_talk_and_is_told_at_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session, ask = piped(monkeypatch, "SELECT * FROM wrong;\nSELECT 2;\n\\q\nSELECT 3;")
    assert ask() == 1
    assert session.asked == ["SELECT * FROM wrong;", "SELECT 2;"]
    assert "PQL0201" in capsys.readouterr().err


def test_a_fault_of_our_own_tells_nothing_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session, ask = piped(monkeypatch, "SELECT fault;\nSELECT 2;")
    assert ask() == 1
    assert session.asked == ["SELECT fault;", "SELECT 2;"]
    told = capsys.readouterr().err
    assert "PQL0901" in told
    assert "p0" not in told


def test_an_interrupted_pipe_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    session, ask = piped(monkeypatch, "SELECT stop;\nSELECT 2;")
    with pytest.raises(KeyboardInterrupt):
        ask()
    assert session.asked == ["SELECT stop;"]


def test_history_is_the_users_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    from privql.surfaces.terminal import _history

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert isinstance(_history(), FileHistory)
    assert (tmp_path / "privql" / "history").stat().st_mode & 0o077 == 0
    (tmp_path / "occupied").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "occupied"))
    assert isinstance(_history(), InMemoryHistory)


def test_completion_offers_names_before_words() -> None:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from privql.surfaces.terminal import _Words

    session: Any = type("Named", (), {"names": lambda self: ["patients", "Groups"]})()
    offered = [each.text for each in _Words(session).get_completions(Document("SELECT gro"), CompleteEvent())]
    assert offered[:2] == ["Groups", "group"]


def test_a_terminal_reads_lines_until_a_statement_is_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from privql.surfaces.terminal import Terminal

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session: Any = type("Named", (), {"names": lambda self: []})()
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        terminal = Terminal(session, whole)
        keys.send_text("SELECT 1\rFROM t;\r")
        assert terminal.line() == "SELECT 1\nFROM t;\n"
        keys.send_text("SELECT forgotten\x03")
        with pytest.raises(KeyboardInterrupt):
            terminal.line()
        keys.send_text("\\q\r")
        assert terminal.line() == "\\q\n"
        keys.send_text("\x04")
        with pytest.raises(EOFError):
            terminal.line()
