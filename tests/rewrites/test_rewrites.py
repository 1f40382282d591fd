"""A question in other words has the same answers without noise, and costs as much: its spelling is worth nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from privql.audit.reference.values import Tables
from privql.check.env import Env
from privql.diagnostics import Source
from privql.finish.table import Table
from privql.kernel.scalars import Value
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from privql.session import Session
from privql.syntax import ast, parse_statement, unparse
from tests import generate_ast
from tests.assurance import assured, length
from tests.check.clinic import clinic
from tests.check.test_any_query import FUNCTIONS, NAMES, Public
from tests.rewrites import rewriting
from tests.rewrites.rewriting import WAYS, Way
from tests.soundness import queries as typed
from tests.soundness import world
from tests.soundness.exactly import Exactly, comparable, public_engine
from tests.soundness.related import PUBLIC, environment, honest
from tests.soundness.related_queries import Queries

PARTS, EACH = range(length(2, 1000)), length(30, 100)
MANY = 1_000_000
RELATED, ALONE = environment(3, change_one=False, epsilon=10**6), world.environment()
CONFIDENCE = Fraction(95, 100)
# where nothing bounds how many rows meet, more to meet means that fewer of each do: less noise for fewer rows
BOUNDED = [way for way in WAYS if way.name != "nothing is added"]


def checked(text: str, env: Env) -> StatementCheck:
    return next(iter(check_text(Source(text), env)))[0]


def noise(check: StatementCheck) -> list[Fraction]:
    """How far off each number may be: at a given ε, that is the price."""
    assert check.plan is not None
    found = [plan.halfwidth(at, CONFIDENCE) for plan in check.plan.blocks for at in range(len(plan.block.aggregates))]
    return sorted(one for one in found if one is not None)


def moved(check: StatementCheck) -> list[tuple[Fraction, int, int]]:
    """In which steps each is measured, and how many of them one unit can make."""
    assert check.plan is not None
    found = [one for plan in check.plan.blocks for one in plan.measurements]
    return sorted((one.grid, one.sensitivity.l1, one.sensitivity.l2_squared) for one in found)


def as_far(one: StatementCheck, other: StatementCheck) -> bool:
    """In the same steps, as many of them."""
    before, after = moved(one), moved(other)
    return before == after or [grid for grid, *_ in before] != [grid for grid, *_ in after]


def apart(way: Way, one: StatementCheck, other: StatementCheck) -> str | None:
    """How the price of the same in other words is another."""
    if not other.ok:
        return f"refused: {[d.message for d in other.diagnostics]}" if way.exact else None
    assert one.plan is not None and other.plan is not None
    costs, before, after = (one.plan.cost, other.plan.cost), noise(one), noise(other)
    if way.exact:
        same = costs[0] == costs[1] and before == after and as_far(one, other)
        return None if same else f"{costs[1]}, noise {_said(after)} instead of {costs[0]}, {_said(before)}"
    lower = costs[1].epsilon < costs[0].epsilon or costs[1].delta < costs[0].delta
    return f"{costs[1]}, which is less than {costs[0]}" if lower else None


def _said(noises: Sequence[Fraction]) -> str:
    return " ".join(f"{float(one):g}" for one in noises)


def same_rows(one: Table, other: Table) -> bool:
    def rows(table: Table) -> Counter[tuple[object, ...]]:
        return Counter(tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in table.rows)

    return rows(one) == rows(other)


def rewritten(text: str, choice: random.Random, ways: Sequence[Way] = WAYS) -> Iterator[tuple[Way, str]]:
    statement = parse_statement(text)
    assert isinstance(statement, ast.Query)
    for one in choice.sample(list(ways), min(len(ways), 4)):
        made = one.rewrite(statement, choice)
        if made is not None:
            yield one, unparse(made)


@pytest.fixture(scope="module")
def exactly() -> Iterator[tuple[Exactly, Exactly]]:
    posts = public_engine(RELATED.catalog, PUBLIC), public_engine(ALONE.catalog, {})
    yield Exactly(posts[0]), Exactly(posts[1])
    for post in posts:
        post.close()


def rows_alone(choice: random.Random) -> Tables:
    """As many rows of a unit as may be: none is cut off."""
    found: dict[str, list[Mapping[str, Value]]] = {}
    for kind in world.KINDS.values():
        found[kind.table] = [
            {**world.random_row(choice), **({"id": f"u{at // kind.rows_per_unit}"} if kind.has_id else {})}
            for at in range(6)
        ]
    return found


def disagreement(
    text: str, env: Env, choice: random.Random, exact: Exactly, tally: Counter[str], ways: Sequence[Way] = ()
) -> str | None:
    """Of a query and some of the same in other words."""
    check = checked(text, env)
    if not check.ok or check.plan is None or not check.plan.blocks:
        return None
    tables = honest(choice) if env is RELATED else rows_alone(choice)
    answer = exact.answer(check, tables) if comparable(check) else None
    for one, other_text in rewritten(text, choice, ways or (WAYS if env is ALONE else BOUNDED)):
        tally["tried"] += 1
        other = checked(other_text, env)
        where = f"{one.name}\n{text}\n{other_text}"
        if (found := apart(one, check, other)) is not None:
            return f"{found}\n{where}"
        if not other.ok:
            tally["refused"] += 1
        elif answer is not None and comparable(other):
            tally["answered"] += 1
            again = exact.answer(other, tables)
            if not same_rows(answer, again) and (one.exact or len(again.rows) == len(answer.rows)):
                return f"{answer.rows}\n{again.rows}\n{where}\n{tables}"
    return None


@pytest.mark.parametrize("seed", PARTS)
def test_the_same_in_other_words_is_the_same(seed: int, exactly: tuple[Exactly, Exactly]) -> None:
    choice, related, alone = random.Random(seed), Queries(seed, settled=True), typed.Queries(seed)
    with assured("rewrites") as tally:
        for at in range(EACH):
            if at % 2:
                text, env, exact = f"{related.query().sql} AT MOST {MANY} ROWS PER UNIT", RELATED, exactly[0]
            else:
                text, env, exact = alone.query(), ALONE, exactly[1]
            found = disagreement(text, env, choice, exact, tally)
            assert found is None, found


MENDED = [  # pairs that once had another price
    (
        "SELECT SUM(s.minutes) FROM stays s, patients p WHERE s.minutes BETWEEN 0 AND 1 AND s.pid = p.pid",
        "SELECT SUM(s.minutes) FROM stays s JOIN patients p ON s.minutes BETWEEN 0 AND 1 AND s.pid = p.pid",
    ),
    (
        "SELECT w.ward, COUNT(*) FROM patients p JOIN wards w ON p.age = w.floor GROUP BY 1",
        "SELECT w.ward, COUNT(*) FROM patients p JOIN (SELECT ward, floor FROM wards) w ON p.age = w.floor GROUP BY 1",
    ),
    (
        "SELECT SUM(c.code * 2) FROM visits v JOIN codes c ON v.ward = c.label",
        "SELECT SUM(CLAMP(c.code * 2, -1000000, 1000000)) FROM visits v JOIN codes c ON v.ward = c.label",
    ),
    (
        "SELECT SUM(CASE WHEN age < 2 THEN age ELSE 1 END) FROM adults",
        "SELECT SUM(CLAMP(CASE WHEN age < 2 THEN age ELSE 1 END, -1000000, 1000000)) FROM adults",
    ),
    (
        "SELECT SUM(FLOOR(age) + 2.5) FROM adults",
        "SELECT SUM(CLAMP(FLOOR(age) + 2.5, -1000000, 1000000)) FROM adults",
    ),
    (
        "SELECT SUM(age) FILTER (WHERE age < age) FROM adults",
        "SELECT SUM(age) FILTER (WHERE age > age) FROM adults",
    ),
    (
        "SELECT SUM(minutes) FROM visits WHERE minutes < 1 OR pid IS NULL",
        "SELECT SUM(minutes) FROM visits WHERE pid IS NULL OR minutes < 1",
    ),
    (
        "SELECT SUM(t.place) FROM (SELECT p.pid, RANK() OVER (PARTITION BY p.pid ORDER BY w.floor) AS place"
        " FROM patients AS p JOIN wards AS w ON p.ward = w.ward) AS t",
        "SELECT SUM(t.place) FROM (SELECT p.pid, RANK() OVER (PARTITION BY p.pid ORDER BY w.floor) AS place"
        " FROM patients AS p JOIN (SELECT * FROM wards) AS w ON p.ward = w.ward) AS t",
    ),
    (
        "SELECT SUM(t.place) FROM (SELECT p.pid, RANK() OVER (PARTITION BY p.pid ORDER BY w.floor) AS place"
        " FROM patients AS p JOIN wards AS w ON p.ward = w.ward) AS t",
        "WITH wards AS (SELECT * FROM wards) SELECT SUM(t.place) FROM (SELECT p.pid, RANK() OVER"
        " (PARTITION BY p.pid ORDER BY w.floor) AS place FROM patients AS p JOIN wards AS w ON p.ward = w.ward) AS t",
    ),
]


@pytest.mark.parametrize(("text", "other"), MENDED)
def test_what_was_found_stays_mended(text: str, other: str) -> None:
    limit = " AT MOST 10 ROWS PER UNIT SPEND EPSILON 1"
    one, same = checked(text + limit, RELATED), checked(other + limit, RELATED)
    assert one.ok and moved(one) == moved(same)
    assert apart(Way("mended", lambda query, _: query), one, same) is None


# ---------------------------------------------------------------- where no row is private


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened


@pytest.mark.parametrize("seed", PARTS)
def test_over_public_rows_too(seed: int, session: Session) -> None:
    choice, queries = random.Random(seed), Public(seed + 500)
    with assured("rewrites") as tally:
        for _ in range(EACH):
            text = queries.query()
            if "LIMIT" in text or " OVER " in text or not session.check(text).ok:
                continue
            answer = session.run(text)
            for one, other in rewritten(text, choice):
                tally["tried"] += 1
                check = session.check(other)
                assert check.ok or not one.exact, f"{one.name}\n{text}\n{other}\n{check}"
                if check.ok:
                    tally["answered"] += 1
                    assert same_rows(answer, session.run(other)), f"{one.name}\n{text}\n{other}"


@pytest.mark.parametrize("seed", PARTS)
def test_nonsense_stays_nonsense(seed: int, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees whose names mean little: nearly all are refused, and the same in other words is, too."""
    monkeypatch.setattr(generate_ast, "NAMES", NAMES)
    monkeypatch.setattr(generate_ast, "FUNCTIONS", FUNCTIONS)
    choice = random.Random(seed)
    with assured("rewrites") as tally:
        for at in range(EACH):
            text = unparse(generate_ast.Trees(seed * EACH + at).query(choice.choice((1, 2))))
            before = session.check(text)
            for one, other in rewritten(text, choice, [one for one in WAYS if one.exact]):
                tally["tried"] += 1
                after = session.check(other)
                assert before.ok == after.ok, f"{one.name}\n{text}\n{other}\n{before}\n{after}"


def _loses_rows(query: ast.Query, choice: random.Random) -> ast.Query | None:
    return rewriting.each(query, ast.TableRef, lambda table: _never(table) if not table.dummy else None)


def _never(table: ast.TableRef) -> ast.Derived:
    return ast.Derived(rewriting.all_of(table.path, ast.Boolean(False)), table.alias or table.path[-1], table.columns)


def _costs_less(query: ast.Query, choice: random.Random) -> ast.Query | None:
    privacy = query.privacy or ast.Privacy()
    return replace(query, privacy=replace(privacy, rows=ast.Number("1"), epsilon=ast.Number("1")))


@pytest.mark.parametrize("fault", [_loses_rows, _costs_less])
def test_planted_a_rewriting_that_is_none_is_seen(
    fault: Callable[[ast.Query, random.Random], ast.Query | None],
    exactly: tuple[Exactly, Exactly],
) -> None:
    wrong = [Way("wrong", fault)]
    choice, queries, tally = random.Random(1), Queries(1, settled=True), Counter[str]()
    texts = [f"{queries.query().sql} AT MOST {MANY} ROWS PER UNIT" for _ in range(30)]
    assert any(disagreement(text, RELATED, choice, exactly[0], tally, wrong) for text in texts)
