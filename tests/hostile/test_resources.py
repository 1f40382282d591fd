"""One unit's rows must not show by the time or the memory that a query takes: what they can become is bounded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from math import prod

import pyarrow as pa
import pytest

import privql
from privql.check.env import Env
from privql.diagnostics import Diagnostic, PrivQLError
from privql.diagnostics import Source as Text
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.frozen import inside
from privql.kernel.features import Tally
from privql.kernel.sums import Sums
from privql.kernel.terms import Join, KeepRows, Lookup, Mark, Public, Relation
from privql.pipeline.check import check_text
from privql.plan import fanout, held
from privql.policy.build import build_catalog

DECLARED, UNITS, HOSTILE = 20, 500, 50_000
POLICY = f"""
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (pid INT UNIT patient KEY, age INT BETWEEN 0 AND 120);
CREATE PRIVATE TABLE visits (
  vid INT KEY, pid INT UNIT patient, minutes INT BETWEEN 0 AND 600
) AT MOST {DECLARED} ROWS PER UNIT;
CREATE PRIVATE TABLE calls (pid INT UNIT patient, day INT, seconds INT BETWEEN 0 AND 600);
CREATE PRIVATE TABLE beats (pid INT UNIT patient, at INT) AT MOST 5000 ROWS PER UNIT;
CREATE BUDGET research FOR UNIT patient EPSILON 9;
"""
ENV = Env(build_catalog(Text(POLICY, "policy"))[0])


def checked(query: str) -> Sums | Diagnostic:
    (check, _), *_ = check_text(Text(f"{query} SPEND EPSILON 1", "query"), ENV)
    if check.plan is None:
        return check.diagnostics[0]
    (block,) = check.plan.blocks
    assert block.measured is not None
    return block.measured.term


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
    told = checked("SELECT COUNT(*) FROM calls a JOIN calls b USING (pid)")
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
        ("SELECT pid, MEDIAN(minutes) OVER (PARTITION BY pid) AS x FROM visits", held.SHARED),
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


def test_a_query_that_writes_itself_out_is_refused_before_it_is_priced() -> None:
    each = (
        ", LATERAL (SELECT v.vid AS m FROM visits v WHERE v.pid = p.pid AND v.vid >= x{}.m ORDER BY v.vid LIMIT 1) x{}"
    )
    first = "SELECT COUNT(*) FROM patients p, LATERAL (SELECT 0 AS m) x0"
    few = checked(first + "".join(each.format(at, at + 1) for at in range(3)))
    start = time.perf_counter()
    many = checked(first + "".join(each.format(at, at + 1) for at in range(12)))
    assert isinstance(few, Sums) and isinstance(many, Diagnostic) and many.code == "PQL0104"
    assert time.perf_counter() - start < 1


DOUBLED = "a{0} AS (SELECT x.* FROM a{1} x JOIN a{1} y USING (pid))"
NARROWED = "a{0} AS (SELECT * FROM a{1} WHERE age > {0})"


@pytest.mark.parametrize(("each", "few", "many"), [(DOUBLED, 4, 30), (NARROWED, 40, 2000)])
def test_names_are_counted_as_what_they_stand_for(each: str, few: int, many: int) -> None:
    """A name that is read twice by each of thirty would be written a billion times; no walk is too deep."""

    def told(count: int) -> object:
        steps = "".join(f", {each.format(at + 1, at)}" for at in range(count))
        return checked(f"WITH a0 AS (SELECT * FROM patients){steps} SELECT COUNT(*) FROM a{count}")

    assert isinstance(told(few), Sums)
    start = time.process_time()
    refused = told(many)
    assert isinstance(refused, Diagnostic) and refused.code == "PQL0104", refused
    assert time.process_time() - start < 10


def test_released_rows_are_named_as_often_as_anybody_likes() -> None:
    steps = "".join(f", a{at + 1} AS (SELECT x.n FROM a{at} x CROSS JOIN a{at} y)" for at in range(30))
    found = checked(f"WITH a0 AS (SELECT COUNT(*) AS n FROM patients){steps} SELECT n FROM a30")
    assert isinstance(found, Sums)


def named(many: int) -> str:
    """Each of so many names stands for the one before it, and a condition."""
    steps = "".join(f", a{at + 1} AS (SELECT * FROM a{at} WHERE age > {at})" for at in range(many))
    return f"WITH a0 AS (SELECT * FROM patients){steps} SELECT COUNT(*) FROM a{many}"


@pytest.mark.parametrize(
    ("kept", "beyond", "code", "said"),
    [
        (named(40), named(100), "PQL0104", "more than 150 levels"),
        (
            "SELECT COUNT(*) FROM patients, generate_series(1, 10000) AS g(i)",
            "SELECT COUNT(*) FROM patients, generate_series(1, 10001) AS g(i)",
            "PQL0308",
            "more than 10000 rows",
        ),
        (
            "SELECT APPROX_QUANTILES(age, 999) FROM patients",
            "SELECT APPROX_QUANTILES(age, 1000) FROM patients",
            "PQL0302",
            "from 1 to 999",
        ),
    ],
    ids=["names", "series", "quantiles"],
)
def test_how_much_may_be_written_out_is_bounded(kept: str, beyond: str, code: str, said: str) -> None:
    assert not isinstance(checked(kept), Diagnostic), checked(kept)
    refused = checked(beyond)
    assert isinstance(refused, Diagnostic) and refused.code == code, refused
    assert said in f"{refused.message} {refused.why}", refused


TOO_MUCH = {
    "a million values": "SELECT COUNT(*) FROM patients WHERE age IN (" + ",".join(map(str, range(10**6))) + ")",
    "ten megabytes": f"SELECT COUNT(*) FROM patients WHERE CAST(age AS TEXT) = '{'x' * 10**7}'",
    "a million keys": "SELECT age, COUNT(*) FROM patients GROUP BY age KEYS (" + ",".join(["1"] * 10**6) + ")",
    "a hundred thousand levels": "SELECT COUNT(*) FROM patients WHERE " + "(" * 10**5 + "age = 1" + ")" * 10**5,
    "a deep CASE": "SELECT COUNT(*) FROM patients WHERE " + "CASE WHEN age = 1 THEN " * 300 + "TRUE" + " END" * 300,
    "a text that is bound": "SELECT COUNT(*) FROM patients WHERE CAST(age AS TEXT) = $long",
}


@pytest.mark.parametrize("text", TOO_MUCH.values(), ids=list(TOO_MUCH))
def test_what_is_too_much_is_refused_in_the_same_words_before_a_row_is_read(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DuckDBEngine, "__init__", None)  # planted: whoever opens one fails
    start, told = time.process_time(), set()
    for pids in ([1, 2], [1, 2, 3]):
        frames = {"patients": pa.table({"pid": pids, "age": [50] * len(pids)})}
        with privql.connect(policy=POLICY, frames=frames, analyst="mallory") as session:
            with pytest.raises(PrivQLError, match=r"PQL010[34]") as refused:
                session.run(f"{text} SPEND EPSILON 1", long="x" * 10**7)
            told.add((str(refused.value), str(session.budget())))
    assert len(told) == 1
    assert time.process_time() - start < 10


def test_a_list_of_many_rows_is_no_deep_tree() -> None:
    rows = ", ".join(f"({at}, {at % 120})" for at in range(5000))
    assert isinstance(checked(f"SELECT COUNT(*) FROM patients WHERE (pid % 5000, age) IN ({rows})"), Sums | Diagnostic)


def test_a_limit_beyond_all_numbers_is_refused_for_nothing() -> None:
    for most in (10**12 + 1, 2**63, 10**30):
        found = checked(f"SELECT COUNT(*) FROM visits AT MOST {most} ROWS PER UNIT")
        assert isinstance(found, Diagnostic) and found.code == "PQL0308", found
