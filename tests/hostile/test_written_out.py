"""What a short text stands for, and what a long one holds, is bounded before it is priced or a row is read."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import privql
from privql.diagnostics import Diagnostic, PrivQLError
from privql.engines.duckdb import DuckDBEngine
from privql.kernel.sums import Sums
from privql.plan import lower
from tests.hostile.asked import POLICY, checked


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


def test_what_is_of_few_relations_may_be_written_at_greater_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only of a unit's own rows, as they are: where each meets public ones, all is computed for each of these."""
    monkeypatch.setattr(lower, "PARTS", 600)
    among = f"day IN ({', '.join(str(3 * at) for at in range(400))})"  # 800 parts
    nested = ["{}calls{}".format("(SELECT * FROM " * many, " WHERE day > 0)" * many) for many in (0, 3, 4)]
    for rel, fits in zip((*nested, "calls, generate_series(1, 2) AS g(i)"), (True, True, False, False), strict=True):
        told = checked(f"SELECT COUNT(*) FROM {rel} WHERE {among} AT MOST 3 ROWS PER UNIT")
        assert isinstance(told, Sums) if fits else isinstance(told, Diagnostic) and told.code == "PQL0104", rel


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
