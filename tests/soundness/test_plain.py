"""Random SQL over related private tables means what SQL means: without noise, its answers are a plain engine's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from privql.audit.reference.values import Tables
from privql.diagnostics import Source
from privql.pipeline.check import check_text
from privql.pipeline.report import StatementCheck
from tests.assurance import assured, length
from tests.soundness.exactly import Exactly, comparable, public_engine
from tests.soundness.plain import Plain, apart
from tests.soundness.related import PUBLIC, environment, honest, policy
from tests.soundness.related_queries import Queries
from tests.soundness.related_text import Query, read

PARTS, EACH = range(length(1, 1000)), 100
MANY = 1_000_000  # rows of a unit: none is cut off
DECLARED = 3  # visits of a unit: as many as honest ones have, so that cutting to them before they meet takes none away
ENV = environment(DECLARED, change_one=False, epsilon=10**6)
FOUND = Path(__file__).parent / "found.sql"  # queries that once had another answer: one a line, with `keys |` before it


@pytest.fixture(scope="module")
def plain() -> Iterator[Plain]:
    with plain_engine() as engine:
        yield engine


def plain_engine() -> Plain:
    return Plain(ENV.catalog, policy(DECLARED, change_one=False), PUBLIC)


@pytest.fixture(scope="module")
def exactly() -> Iterator[Exactly]:
    post = public_engine(ENV.catalog, PUBLIC)
    yield Exactly(post)
    post.close()


def checked(query: Query) -> StatementCheck:
    one, _ = next(iter(check_text(Source(f"{query.sql} AT MOST {MANY} ROWS PER UNIT"), ENV)))
    return one


def differs(query: Query, check: StatementCheck, plain: Plain, tables: Tables, exactly: Exactly) -> str | None:
    wanted = plain.rows(query.plain)
    found = apart(exactly.answer(check, tables), wanted, query.keys) if wanted is not None else None
    return None if found is None else f"{found}\n{query.sql}\n{tables}"


@pytest.mark.parametrize("seed", PARTS)
def test_an_answer_without_noise_is_that_of_plain_sql(seed: int, plain: Plain, exactly: Exactly) -> None:
    choice, queries = random.Random(seed + 11), Queries(seed + 11, settled=True)
    with assured("plain") as tally:
        while tally["tried"] < EACH:
            query = queries.query()
            check = checked(query)
            if not check.ok:
                tally["refused"] += 1
                continue
            if not comparable(check):
                tally["drawn or rounded"] += 1
                continue
            tally["tried"] += 1
            for _ in range(2):
                tables = honest(choice)
                plain.hold(tables)
                assert (found := differs(query, check, plain, tables, exactly)) is None, found
        assert tally["refused"] < EACH  # most of what SQL says over these tables can be asked
        assert tally["drawn or rounded"] < EACH / 4


@pytest.fixture(scope="module")
def databases() -> Iterator[list[tuple[Plain, Tables]]]:
    choice = random.Random(7)
    with ExitStack() as opened:
        held = []
        for _ in range(15):
            engine, tables = opened.enter_context(plain_engine()), honest(choice)
            engine.hold(tables)
            held.append((engine, tables))
        yield held


@pytest.mark.parametrize("line", FOUND.read_text(encoding="utf-8").splitlines())
def test_what_was_found_stays_mended(line: str, databases: list[tuple[Plain, Tables]], exactly: Exactly) -> None:
    keys, text = line.split("|", 1)
    query = Query(read(text, plain=False), read(text, plain=True), int(keys))
    check = checked(query)
    assert check.ok and comparable(check), check.diagnostics
    for held in databases:
        assert (found := differs(query, check, *held, exactly)) is None, found


SOME = "SELECT v.pid, p.pid AS other FROM visits v {} JOIN patients p ON p.pid = v.pid AND p.age = v.minutes"
EITHER = "SELECT pid, {}.pid AS other FROM visits v FULL JOIN patients p USING (pid)"


@pytest.mark.parametrize(
    "rows",
    [
        SOME.format("INNER"),
        SOME.format("LEFT"),
        SOME.format("RIGHT").replace("v.pid, p.pid", "p.pid, v.pid"),
        f"{SOME.format('LEFT')} UNION ALL SELECT pid, pid FROM visits",
        f"SELECT pid, pid AS other FROM visits UNION ALL {SOME.format('LEFT')}",
        f"{EITHER.format('v')} UNION ALL SELECT pid, pid FROM patients",
        f"{EITHER.format('p')} UNION ALL SELECT pid, pid FROM visits",
        "SELECT pid, ward AS other FROM visits",
        "SELECT pid, ward AS other FROM visits GROUP BY pid, ward",
    ],
)
def test_rows_of_a_unit_that_name_it_and_do_not_are_told_apart(
    rows: str, databases: list[tuple[Plain, Tables]], exactly: Exactly
) -> None:
    """What has the same value in all rows of a unit splits none of its groups; a column that a join fills may not."""
    text = f"SELECT COUNT(*) FROM (SELECT DISTINCT pid, other FROM ({rows}) AS r) AS t"
    check = checked(query := Query(text, text, 0))
    assert check.ok and comparable(check), check.diagnostics
    for held in databases:
        assert (found := differs(query, check, *held, exactly)) is None, found
