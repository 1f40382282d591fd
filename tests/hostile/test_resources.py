"""One unit's rows must not show by the time or the memory that a query takes: what they can become is bounded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from math import prod

import pyarrow as pa
import pytest

from privql.diagnostics import Diagnostic
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.frozen import inside
from privql.kernel.features import Tally
from privql.kernel.sums import Sums
from privql.kernel.terms import Join, KeepRows, Lookup, Mark, Public, Relation
from privql.plan import fanout, held
from tests.hostile.asked import DECLARED, checked

UNITS, HOSTILE = 500, 50_000


def engine(hostile: int) -> DuckDBEngine:
    """Of the declared rows, and a unit that has so many more."""
    pid = [*list(range(UNITS)) * DECLARED, *[7] * hostile]
    number = list(range(len(pid)))
    visits = pa.table({"vid": number, "pid": pid, "minutes": [each % 600 for each in number]})
    calls = pa.table({"pid": pid, "day": [each % 999 for each in number], "seconds": [each % 600 for each in number]})
    patients = pa.table({"pid": list(range(UNITS)), "age": [50] * UNITS})
    tables = {"visits": visits, "calls": calls, "patients": patients}
    return DuckDBEngine({name: Source(frame=frame) for name, frame in tables.items()}, threads=2)


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[DuckDBEngine, DuckDBEngine]]:
    with engine(0) as honest, engine(HOSTILE) as hostile:
        yield honest, hostile


def meetings(term: object) -> list[Join | Mark]:
    found = [term] if isinstance(term, Join | Mark) else []
    return found + [one for each in inside(term) for one in meetings(each)]


def rows(engine: DuckDBEngine, relation: Relation) -> int:
    return int(engine.run(Sums(relation, (), (Tally(),)), b"salt")[0, 0])


SHAPES = [
    ("visits a JOIN visits b USING (pid)", ""),
    ("visits a JOIN visits b ON a.pid = b.pid AND a.minutes < b.minutes", "AT MOST 3 ROWS PER UNIT"),
    ("visits a JOIN visits b ON a.pid = b.pid AND a.minutes = b.minutes JOIN visits c ON c.pid = b.pid", ""),
    ("visits a LEFT JOIN visits b ON a.pid = b.pid AND a.vid + b.vid = -1", ""),
    ("visits a FULL JOIN visits b ON a.pid = b.pid AND a.vid < b.vid", ""),
    ("patients p JOIN visits a USING (pid) JOIN visits b USING (pid)", ""),
    ("visits a WHERE EXISTS (SELECT 1 FROM visits b WHERE a.pid = b.pid AND a.vid + b.vid = -1)", ""),
    ("visits a WHERE a.minutes > ALL (SELECT b.minutes FROM visits b WHERE a.pid = b.pid)", ""),
    ("visits a WHERE a.vid NOT IN (SELECT b.vid FROM visits b WHERE a.pid = b.pid AND b.minutes < a.minutes)", ""),
    ("(SELECT a.pid, COUNT(*) AS n FROM visits a JOIN visits b USING (pid) GROUP BY a.pid) AS x", ""),
    ("visits a JOIN calls c ON a.pid = c.pid AND a.minutes > c.seconds", "AT MOST 3 ROWS PER UNIT"),
    ("calls a JOIN calls b ON a.pid = b.pid AND a.day < b.day", "AT MOST 3 ROWS PER UNIT"),
]


@pytest.mark.parametrize(("rel", "most"), SHAPES)
def test_rows_of_a_unit_that_meet_each_other_are_as_few_as_declared(
    rel: str, most: str, engines: tuple[DuckDBEngine, DuckDBEngine]
) -> None:
    """What a unit of 50,000 rows makes anywhere in the query is what one of 20 may, or of 1,000 undeclared ones."""
    term = checked(f"SELECT COUNT(*) FROM {rel} {most}")
    assert isinstance(term, Sums)
    each = fanout.UNDECLARED if "calls" in rel else DECLARED
    times = []
    for at, one in enumerate(engines):
        start = time.perf_counter()
        one.run(term, b"salt")
        times.append(time.perf_counter() - start)
        for met in meetings(term.input):
            among = met.right if isinstance(met, Join) else met.among
            assert not isinstance(among, Public)
            if isinstance(met, Mark) and met.where is None:
                continue
            sides = [rows(engines[at], side) for side in (met.left if isinstance(met, Join) else met.input, among)]
            assert max(sides) <= UNITS * DECLARED**2 + each
            if isinstance(met, Join):
                assert rows(engines[at], met) <= UNITS * DECLARED**3 + each**2
    assert times[1] < 10 * times[0] + 2, times  # 2.5 · 10^9 pairs would take far longer


def test_what_is_linear_is_not_cut() -> None:
    """A join on a KEY, a window, or a test by values alone makes no more rows than there are."""
    for rel in (
        "patients p JOIN visits a USING (pid)",
        "visits a JOIN visits b USING (vid, pid)",
        "visits a WHERE minutes NOT IN (SELECT seconds FROM calls b WHERE a.pid = b.pid)",
        "visits WHERE pid IN (SELECT pid FROM calls)",
        "calls a WHERE EXISTS (SELECT 1 FROM calls b WHERE a.pid = b.pid AND a.day = b.day)",
        "(SELECT pid, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY day) AS n FROM calls) AS x",
    ):
        term = checked(f"SELECT COUNT(*) FROM {rel} AT MOST 5 ROWS PER UNIT")
        assert isinstance(term, Sums) and str(term).count("KeepRows") == 0, rel


def test_declared_rows_that_could_become_too_many_are_refused() -> None:
    for rel in (
        "beats a JOIN beats b USING (pid)",
        "beats a WHERE EXISTS (SELECT 1 FROM beats b WHERE a.pid = b.pid AND b.at > a.at)",
        "visits a JOIN visits b USING (pid) JOIN visits c USING (pid) JOIN beats d USING (pid)",
    ):
        told = checked(f"SELECT COUNT(*) FROM {rel} AT MOST 5 ROWS PER UNIT")
        assert isinstance(told, Diagnostic) and told.code == "PQL0407" and "could become" in told.message, rel
    few = "(SELECT * FROM beats LIMIT 100 PER UNIT)"
    assert isinstance(checked(f"SELECT COUNT(*) FROM {few} a JOIN {few} b USING (pid) AT MOST 5 ROWS PER UNIT"), Sums)


def test_a_bound_on_work_is_no_number_to_make_noise_for() -> None:
    for grouped in ("", "GROUP BY a.seconds > 9 AT MOST 2 GROUPS PER UNIT"):
        told = checked(f"SELECT COUNT(*) FROM calls a JOIN calls b USING (pid) {grouped}")
        assert isinstance(told, Diagnostic) and "any number of rows" in told.message


def test_sides_keep_all_that_is_declared() -> None:
    numbers = [None, 1, 3, 1_000, 3_162, 10_000, 10**6, 10**7, 10**9]
    for left, right in product(numbers, numbers):
        made = fanout.sides(left, right)
        if made is None:
            assert (left or 1) * (right or 1) > fanout.MOST_MADE
        else:
            assert made[0] * made[1] <= fanout.MOST_MADE and min(made) >= 1
            assert left in (None, made[0]) and right in (None, made[1])
            assert left is not None or made[0] <= fanout.UNDECLARED
            assert right is not None or made[1] <= fanout.UNDECLARED


def test_many_public_rows_meet_as_few_of_a_unit_as_are_declared() -> None:
    many = ", ".join(f"generate_series(1, {size}) AS g{size}(i)" for size in (40, 100))
    term = checked(f"SELECT COUNT(*) FROM visits, {many}")
    assert isinstance(term, Sums)
    lookups = [one for one in walked(term.input) if isinstance(one, Lookup)]
    assert lookups and "KeepRows" in str(lookups[-1].input)


def test_one_private_row_meets_no_more_public_ones_than_may_be() -> None:
    """Of several generators together."""
    for sizes, refused in (((1000, 100), False), ((1000, 101), True), ((50, 50, 50), True)):
        many = ", ".join(f"generate_series(1, {size}) AS g{at}(i)" for at, size in enumerate(sizes))
        found = checked(f"SELECT COUNT(*) FROM patients, {many}")
        assert isinstance(found, Diagnostic) == refused, (sizes, found)
        if isinstance(found, Diagnostic):
            assert found.code == "PQL0407" and f"could meet {prod(sizes)} public rows" in found.message


def walked(term: object) -> list[object]:
    return [term, *(one for each in inside(term) for one in walked(each))]


# ---- what is held of one unit at once

TEXTS = "patients p CROSS JOIN generate_series(1, 100) AS g CROSS JOIN generate_series(1, 500) AS h"
WIDE = "REPEAT(CAST(p.age AS TEXT), 9000)"


@pytest.mark.parametrize(
    "made",
    [
        f"(SELECT p.pid, STRING_AGG({WIDE}, ',') AS x FROM {TEXTS} GROUP BY p.pid) AS t WHERE LENGTH(x) > 5",
        f"(SELECT p.pid, MODE({WIDE} || CAST(g AS TEXT)) AS x FROM {TEXTS} GROUP BY p.pid) AS t WHERE LENGTH(x) > 5",
        f"(SELECT LAG({WIDE}) OVER (PARTITION BY p.pid ORDER BY g) AS x FROM {TEXTS}) AS t WHERE LENGTH(x) > 5",
        f"{TEXTS} WHERE LENGTH({WIDE}) > 5",
        f"(SELECT p.pid, MAX('{'y' * 5000}' || '') AS x FROM {TEXTS} GROUP BY p.pid) AS t WHERE LENGTH(x) > 5",
        f"(SELECT p.pid, '{'y' * 5000}' AS x FROM {TEXTS}) AS t WHERE LENGTH(x) > 5",
    ],
)
def test_wide_texts_of_many_rows_made_of_one_are_refused(made: str) -> None:
    found = checked(f"SELECT COUNT(*) FROM {made}")
    assert isinstance(found, Diagnostic) and found.code == "PQL0407" and "texts" in found.message, found


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ("SELECT pid, MEDIAN(minutes) OVER (PARTITION BY pid ORDER BY vid) AS x FROM visits", held.FRAMED),
        (
            "SELECT pid, MODE(minutes) OVER (PARTITION BY pid ORDER BY vid ROWS 9 PRECEDING) AS x FROM visits",
            held.FRAMED,
        ),
        ("SELECT pid, MEDIAN(minutes) AS x FROM visits GROUP BY pid", held.VALUES),
        ("SELECT pid, MEDIAN(minutes) OVER (PARTITION BY pid) AS x FROM visits", 4096),
        ("SELECT pid, MODE(minutes) OVER (PARTITION BY pid) AS x FROM visits", held.FRAMED),
        ("SELECT pid, LENGTH(MODE(CAST(minutes AS TEXT))) AS x FROM visits GROUP BY pid", held.TEXTS),
        ("SELECT pid, LENGTH(STRING_AGG('x', ',' ORDER BY vid)) AS x FROM visits GROUP BY pid", held.TEXTS),
    ],
)
def test_what_is_held_of_a_unit_is_bounded(asked: str, most: int, engines: tuple[DuckDBEngine, DuckDBEngine]) -> None:
    term = checked(f"SELECT COUNT(*) FROM ({asked}) AS t WHERE x > 5 AT MOST 3 ROWS PER UNIT")
    assert isinstance(term, Sums)
    assert most in [kept.limit for kept in keeping(term)]
    times = []
    for one in engines:
        start = time.perf_counter()
        one.run(term, b"salt")
        times.append(time.perf_counter() - start)
    assert times[1] < 10 * times[0] + 5, times  # each row's own sort of 50,000 values would take minutes


def test_sums_over_frames_hold_nothing() -> None:
    query = "SELECT COUNT(*) FROM (SELECT SUM(minutes) OVER (PARTITION BY pid ORDER BY vid) AS x FROM visits) AS t"
    term = checked(f"{query} WHERE x > 5 AT MOST 3 ROWS PER UNIT")
    assert isinstance(term, Sums) and keeping(term) == []  # a unit's total is clamped


def keeping(term: object) -> list[KeepRows]:
    found = [term] if isinstance(term, KeepRows) else []
    return found + [one for each in inside(term) for one in keeping(each)]
