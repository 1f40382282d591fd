"""Whatever is written or handed in beside it: it is taken or refused, at once, and never is it a fault of ours."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from types import FrameType

import pytest

from privql.check.env import Env
from privql.diagnostics import Diagnostic, PrivQLError, Source
from privql.pipeline import check as room
from privql.policy.build import build_catalog
from privql.session import Session
from privql.syntax import parse_statement, unparse
from tests.assurance import assured, length
from tests.check.clinic import clinic
from tests.fuzz.pieces import PARAMS, POLICY, VALUES
from tests.fuzz.texts import Texts

SECONDS = 2  # of the processor's time
QUERIES, POLICIES, HANDED = range(length(4, 1000)), range(length(2, 180)), range(length(2, 80))
EACH = length(250, 8000)


@contextmanager
def promptly(text: str) -> Iterator[None]:
    """A timer of this process' own time: others may take theirs."""

    def hangs(_: int, frame: FrameType | None) -> None:
        raise AssertionError(f"takes longer than {SECONDS} s: {text!r}")

    before = signal.signal(signal.SIGVTALRM, hangs)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def telling(text: str) -> Iterator[None]:
    try:
        with promptly(text):
            yield
    except Exception as fault:
        fault.add_note(f"the text is {text!r}")
        raise


def environment() -> Env:
    catalog, found = build_catalog(Source(POLICY.read_text(encoding="utf-8"), "policy"))
    assert not [d for d in found if d.severity == "error"]
    units = [unit.name for unit in catalog.units]
    return Env(
        catalog,
        {"e": "0.1", "p": 2, "q": "a"},
        default_epsilon=dict.fromkeys(units, Fraction(1, 10)),
        default_delta=dict.fromkeys(units, Fraction(1, 10**6)),
    )


def whole(diagnostics: Sequence[Diagnostic], text: str) -> None:
    """Each can be shown to people and to programs, and is about a place in the text."""
    for each in diagnostics:
        assert str(each) and each.to_json()["code"] == each.code
        assert 0 <= each.span.start <= each.span.end <= len(text) + 1  # behind its end something is missing
        for said in (each.message, each.why, each.help, each.label):
            assert "ast." not in said and "Traceback" not in said and " object at 0x" not in said


@pytest.mark.parametrize("seed", QUERIES)
def test_no_query_is_a_fault(seed: int) -> None:
    texts, env = Texts(seed), environment()
    with assured("texts") as tally:
        for _ in range(EACH):
            text = texts.query()
            tally["tried"] += 1
            with telling(text):
                for one, _ in room.check_text(Source(text), env):
                    whole(one.diagnostics, text)
                    tally["read"] += one.statement is not None
                    tally["accepted"] += one.ok
                    if one.statement is not None:
                        assert parse_statement(unparse(one.statement)) == one.statement
                    str(one)


@pytest.mark.parametrize("seed", POLICIES)
def test_no_policy_is_a_fault(seed: int) -> None:
    texts = Texts(1_000_000 + seed)
    with assured("texts") as tally:
        for _ in range(EACH):
            text = texts.policy()
            tally["tried"] += 1
            with telling(text):
                _, found = build_catalog(Source(text, "policy"))
                whole(found, text)
                tally["accepted"] += not any(each.severity == "error" for each in found)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened


ASKED = (
    "SELECT COUNT(*) AS n FROM patients WHERE age > $p SPEND EPSILON $e",
    "SELECT SUM(cost * $p) FROM patients WHERE sex = $q SPEND EPSILON $e",
    "SELECT AVG(CLAMP(income, $p, $q)) FROM patients SPEND EPSILON 0.1 DELTA $e",
    "SELECT QUANTILE(cost, $p) FROM patients WITHIN $e CONFIDENCE $q",
    "SELECT region, COUNT(*) FROM patients GROUP BY region KEYS ($p, $q) SPEND EPSILON $e",
    "SELECT * FROM stations WHERE name LIKE $p LIMIT $q",
    "SELECT $p, $q || $e",
    "SELECT COUNT(*) FROM patients WHERE town IN ($p, $q) AND admitted > $e",
    "SELECT ward, SUM(minutes) FROM visits GROUP BY ward AT MOST $p ROWS PER UNIT SPEND EPSILON $e",
    "BEGIN DELTA $e",
    "SET epsilon = $e",
)


@pytest.mark.wrong_types
@pytest.mark.parametrize("seed", HANDED)
def test_no_value_is_a_fault(seed: int, session: Session) -> None:
    choice, texts = random.Random(seed), Texts(2_000_000 + seed)
    with assured("texts") as tally:
        for _ in range(EACH):
            text = choice.choice(ASKED) if choice.random() < 0.8 else texts.query()
            given = {name[1:]: choice.choice(VALUES) for name in PARAMS if choice.random() < 0.8}
            tally["tried"] += 1
            with telling(f"{text} with {list(given)}"):
                try:
                    found = session.check_text(text, params=given)
                except PrivQLError as refusal:
                    whole(refusal.diagnostics, text)
                    continue
                whole(found.diagnostics, text)
                tally["accepted"] += found.ok
                str(found)
                found.to_json()


def test_planted_a_fault_and_a_hang_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    env, honest = environment(), room.plan

    def faulty(*given: object, **named: object) -> object:
        if seen["faulty"]:
            raise KeyError("a")
        while seen["hanging"]:
            pass
        return honest(*given, **named)

    seen = {"faulty": True, "hanging": False}
    monkeypatch.setattr(room, "plan", faulty)
    text = "SELECT COUNT(*) FROM patients"
    with pytest.raises(KeyError), telling(text):
        list(room.check_text(Source(text), env))
    seen = {"faulty": False, "hanging": True}
    with pytest.raises(AssertionError, match="takes longer"), telling(text):
        list(room.check_text(Source(text), env))
