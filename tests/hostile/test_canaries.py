"""Rows that can be recognised: whatever an analyst sees beside noisy numbers holds nothing of them, and is the same
without them.

PRIVQL_SOAK=1 python -m pytest tests/hostile/test_canaries.py
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from privql.audit.replay import proved
from privql.diagnostics import PrivQLError
from privql.engines.duckdb import DuckDBEngine, spelling
from privql.kernel.scalars import Value
from privql.ledger import Ledger
from privql.pipeline import explain as explaining
from privql.pipeline.places import Places
from privql.session import Session
from tests.assurance import assured, length
from tests.hostile.clinic import session, table
from tests.soundness.neighbours import Bag
from tests.soundness.test_neighbours import accepted
from tests.soundness.world import HOSTILE, KINDS, Kind, Row, random_row

PARTS, EACH, ROWS = range(length(1, 80)), length(4, 13), 1000
FAILURES = length(2, 3)  # of each part, for which two sessions are opened anew

# A day far outside of the declared ones, and digits that no number of a policy or a price has.
CANARIES: dict[str, tuple[Value, ...]] = {
    "a": (71303172, -71303172),
    "b": (71303173,),
    "c": (Fraction(713031749, 10),),
    "f": (7130317.5, -7.130317e-5),
    "s": ("Kanarie s", "kanarie' OR s = 'x"),
    "k": (),
    "d": (-36083,),  # 1871-03-18
    "z": (71303176, -7130317600000000000),
    "w": (7.130317e200, 71303177.25),
    "t": ("Kanarie", "71303178", "1871-03-18", "kanarie%_\\", "Kanarie\n\x1b[31m"),
}
_RECOGNISED = re.compile(r"kanarie|7\.?1\.?3\.?0\.?3\.?1\.?7|1871-03-1|1871, 3, 1|-?36083", re.IGNORECASE)

Seen = dict[str, object]
Captured = Callable[[], str]


def canary(choice: random.Random) -> Row:
    """A row of which each column is as likely a hostile value as one that can be recognised."""
    row = random_row(choice)
    for name in HOSTILE:
        if CANARIES[name] and choice.random() < 0.5:
            row[name] = choice.choice(CANARIES[name])
    return row


def frames(choice: random.Random, rows: int) -> dict[str, object]:
    """Three tame units in every table, and so many rows of others."""
    tame = {"a": 1, "b": 2, "c": Fraction(1), "f": 0.5, "s": "x", "k": True, "d": 19_781, "z": 3, "w": 0.25, "t": "3"}
    return {name: _named([(tame,)] * 3 + _bags(choice, rows, kind), kind) for name, kind in KINDS.items()}


def _bags(choice: random.Random, rows: int, kind: Kind) -> list[Bag]:
    bags: list[Bag] = []
    while rows > 0:
        many = 1 if kind.rows_per_unit == 1 else min(rows, choice.choice((1, 2, kind.rows_per_unit + 3)))
        bags.append(tuple(canary(choice) for _ in range(many)))
        rows -= many
    return bags


def _named(units: list[Bag], kind: Kind) -> pa.Table:
    made = table(units, kind)
    names = [name and f"Kanarie {name}" for name in made["id"].to_pylist()]
    return made.set_column(0, "id", pa.array(names, pa.string()))


def seen(opened: Session, query: str, captured: Captured) -> Seen:
    """All that an analyst sees of a query, but the noisy numbers themselves."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        captured()
        checked = opened.check_text(query)
        found: Seen = {"check": f"{checked} {checked.to_json()}", "explain": opened.explain(query)}
        try:
            answer = opened.run(query)
        except PrivQLError as problem:
            found |= {"error": _said(problem), "codes": [each.code for each in problem.diagnostics]}
        else:
            plan = checked.statements[0].plan
            grouped = len(plan.blocks[0].block.keys) if plan is not None and plan.blocks else 0
            keys = [at for at, column in enumerate(answer.columns[:grouped]) if column.law is None]
            found |= {
                "columns": [(c.name, c.type, c.domain, c.label, c.law) for c in answer.columns],
                "keys": [[row[at] for at in keys] for row in answer.rows],
                "price": answer.cost,
                "certificate": proved(answer),
                "name": answer.release_id,
            }
        found["budget"] = str(opened.budget())
        for what in ("RELEASES", "TABLES", "BUDGET"):
            told = opened.run(f"SHOW {what}")
            timeless = [at for at, column in enumerate(told.columns) if column.type.kind != "TIMESTAMP"]
            found[f"show {what}"] = [[row[at] for at in timeless] for row in told.rows]
        found["printed"] = captured()
    found["warnings"] = [str(each.message) for each in warned]
    return found


def _said(problem: BaseException) -> str:
    """With all that a traceback leads to."""
    said = ""
    at: BaseException | None = problem
    while at is not None:
        said += f"{at!s} {at!r} {at.__dict__}\n"
        at = at.__cause__ or at.__context__
    return said


def leak(without: Seen, beside: Seen) -> str | None:
    for what in {**beside, **without}:
        if _RECOGNISED.search(repr(beside.get(what))):
            return f"{what} tells of a row: {beside.get(what)!r}"
        if without.get(what) != beside.get(what):
            return f"{what} is {beside.get(what)!r}, and without the rows {without.get(what)!r}"
    return None


def random_queries(seed: int, count: int) -> list[str]:
    return [check.source.text for check in accepted(seed, count)]


def told(seed: int, queries: Sequence[str], captured: Captured) -> str | None:
    """What is first seen of rows, if anything is."""
    choice = random.Random(seed)
    rows = frames(choice, ROWS)
    with session(frames(choice, 0)) as without, session(rows) as beside:
        for query in queries:
            one, other = (seen(opened, query, captured) for opened in (without, beside))
            found = leak(one, other)
            if found or "error" in other:
                return f"{query}: {found or other['error']}"
    return None


# ---------------------------------------------------------------- failures: of the engine, in its own words


def _quoting(sql: str) -> Callable[[DuckDBEngine], None]:
    def fail(engine: DuckDBEngine) -> None:
        for known in engine._tables.values():
            engine._connection.execute(sql.format(known.relation)).fetchall()

    return fail


def _raising(kind: type[Exception]) -> Callable[[DuckDBEngine], None]:
    def fail(engine: DuckDBEngine) -> None:
        for known in engine._tables.values():
            raise kind(str(engine._connection.execute(f"SELECT * FROM {known.relation}").fetchall()))

    return fail


WAYS = (
    _quoting("SELECT error(CAST(r AS VARCHAR)) FROM {} AS r WHERE id IS NOT NULL ORDER BY length(id) DESC"),
    _quoting("SELECT CAST(id AS INT) FROM {}"),
    *map(_raising, (ValueError, MemoryError, OSError, RuntimeError, OverflowError, LookupError)),
)


def failed(seed: int, query: str, captured: Captured, patch: pytest.MonkeyPatch) -> str | None:
    """What is seen of rows where the engine fails after the charge, and its own words quote them."""
    choice = random.Random(seed)
    way, quoted = choice.choice(WAYS), []

    def failing(engine: DuckDBEngine, *_: object) -> object:
        try:
            way(engine)
        except Exception as problem:
            quoted.append(str(problem))
            raise
        raise AssertionError("nothing failed")

    both = []
    with patch.context() as within:
        within.setattr(DuckDBEngine, "_ask", failing)
        for rows in (0, 50):
            with session(frames(choice, rows)) as opened:
                both.append(seen(opened, query, captured))
                spent = [budget.spent.epsilon for budget in opened.budget().budgets]
            if both[-1].get("codes") != ["PQL0601"] or sum(spent) != 1:
                return f"{query}: after the charge of {spent} {both[-1].get('codes')}"
    assert _RECOGNISED.search(quoted[-1]), "the engine said nothing of a row"
    return leak(*both)


@pytest.fixture
def captured(capfd: pytest.CaptureFixture[str]) -> Captured:
    return lambda: "".join(capfd.readouterr())


@pytest.mark.parametrize("seed", PARTS)
def test_nothing_that_is_seen_tells_of_a_row(seed: int, captured: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    with assured("channels") as tally:
        found = told(seed, random_queries(seed, EACH), captured)
        assert found is None, found
        tally["tried"] += EACH * ROWS
        tally["queries"] += EACH
        for at, query in enumerate(random_queries(-1 - seed, FAILURES)):
            found = failed(100 * seed + at, query, captured, monkeypatch)
            assert found is None, found
            tally["failures"] += 1


# ---------------------------------------------------------------- planted faults, each of which must be seen


def _over_rows(tell: Callable[[str], object]) -> Callable[[DuckDBEngine], None]:
    def fault(engine: DuckDBEngine) -> None:
        for known in engine._tables.values():
            (found,) = engine._connection.execute(
                f"SELECT max(t) FILTER (WHERE t ILIKE 'kanarie%'), count(*) FROM {known.relation}"
            ).fetchall()
            tell(str(found))

    return fault


def _refuse(words: str) -> None:
    if "anarie" in words:
        raise ValueError(words)


TOLD = {
    "printed": _over_rows(print),
    "on stderr": _over_rows(lambda words: print(words, file=sys.stderr)),
    "a warning": _over_rows(warnings.warn),
    "how many there are": _over_rows(lambda words: print(words.rpartition(",")[2])),
    "a failure that some rows cause": _over_rows(_refuse),
}


@pytest.mark.parametrize("what", TOLD)
def test_a_planted_word_is_heard(what: str, captured: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = DuckDBEngine._ask

    def telling(engine: DuckDBEngine, *given: Any) -> object:
        TOLD[what](engine)
        return ask(engine, *given)

    monkeypatch.setattr(DuckDBEngine, "_ask", telling)
    assert told(0, random_queries(0, 1), captured) is not None


def test_a_function_that_fails_on_some_rows_is_seen(captured: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT COUNT(*) FROM people WHERE z * z > 5 SPEND EPSILON 1"
    assert told(0, [query], captured) is None
    monkeypatch.setitem(spelling.SPELLINGS, "mul", lambda call: f"({call.args[0]} * {call.args[1]})")  # which overflows
    found = told(0, [query], captured)
    assert found is not None and "PQL0601" in found, found


def test_an_error_that_quotes_a_value_is_seen(captured: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    (query,) = random_queries(0, 1)
    assert failed(0, query, captured, monkeypatch) is None
    monkeypatch.setattr(Ledger, "failed", lambda ledger, permit, words: words)
    monkeypatch.setattr(Places, "trouble", lambda places: "row: Kanarie u7")
    found = failed(0, query, captured, monkeypatch)
    assert found is not None and "error tells of a row" in found, found


def test_an_explanation_that_follows_from_rows_is_seen(captured: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    explain = explaining.explain
    read: list[int] = []
    ask = DuckDBEngine._ask

    def asking(engine: DuckDBEngine, *given: Any) -> object:
        _over_rows(lambda words: read.append(len(words)))(engine)
        return ask(engine, *given)

    monkeypatch.setattr(DuckDBEngine, "_ask", asking)
    monkeypatch.setattr(explaining, "explain", lambda check: explain(check) + f"\nrows: {read[-1:]}")
    found = told(0, random_queries(0, 2), captured)
    assert found is not None and "explain is" in found, found
