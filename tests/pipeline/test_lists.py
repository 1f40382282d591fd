"""Answers that are several rows, from text to answer: quantiles at several shares, and histograms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from fractions import Fraction

import pytest

from privql.diagnostics import PrivQLError
from privql.session import Session, connect
from tests.pipeline.test_ranks import COUNT, DATA, POLICY


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with connect(policy=POLICY, frames=DATA, analyst="ada") as opened:
        yield opened


def names(session: Session, text: str) -> list[str]:
    return [column.name for column in session.run(text).columns]


def test_each_share_is_a_row_and_the_other_columns_are_repeated(session: Session) -> None:
    answer = session.run(
        "SELECT sex, QUANTILE(weight, [0.25, 0.5, 0.75]) AS q, COUNT(*) AS n FROM people GROUP BY sex SPEND EPSILON 8"
    )
    assert [row[0] for row in answer.rows] == ["f"] * 3 + ["m"] * 3
    for sex, middle in (("f", 60), ("m", 80)):
        rows = [row for row in answer.rows if row[0] == sex]
        assert len({row[2] for row in rows}) == 1
        for (_, q, _), wanted in zip(rows, (-3.37, 0, 3.37), strict=True):
            assert abs(q - middle - wanted) < 1


def test_the_rows_are_in_the_order_of_the_shares(session: Session) -> None:
    ((most,), (least,), (again,)) = session.run(
        "SELECT QUANTILE(age, [0.9, 0.1, 0.9]) FROM people SPEND EPSILON 4"
    ).rows
    assert least < 20 < 80 < most == again
    first, last = session.run(
        "SELECT PERCENTILE_DISC([0.1, 0.9]) WITHIN GROUP (ORDER BY age DESC) AS x FROM people SPEND EPSILON 4"
    ).rows
    assert first[0] > 80 > 20 > last[0] and type(first[0]) is int
    for _ in range(5):  # however little is spent
        found = [
            x for (x,) in session.run("SELECT QUANTILE(age, [0.2, 0.4, 0.6, 0.8]) AS x FROM people SPEND 0.001").rows
        ]
        assert found == sorted(found)


def test_a_cut_between_two_rows_is_found_however_large_epsilon_is() -> None:
    """Half of an odd number of rows is no place: no cut is without a loss, and they are told apart all the same."""
    people = DATA["people"].iloc[:101]
    with connect(policy=POLICY, frames={**DATA, "people": people}, analyst="ada") as session:
        for epsilon in (100, 1000, 3000):
            query = f"SELECT QUANTILE(weight, [0.1, 0.5, 0.9]) AS q FROM people SPEND EPSILON {epsilon}"
            places = [(people["weight"] <= q).sum() for (q,) in session.run(query).rows]
            assert all(abs(at - wanted) <= 2 for at, wanted in zip(places, (10, 50, 91), strict=True)), places


def test_quantiles_of_parts_begin_and_end_near_the_ends(session: Session) -> None:
    asked = (f"SELECT APPROX_QUANTILES(age, 4) AS x FROM people WHERE {at} = {at} SPEND EPSILON 4" for at in range(5))
    draws = [[x for (x,) in session.run(text).rows] for text in asked]
    assert all(type(x) is int for found in draws for x in found)
    wanted = [(0, 4), (21, 29), (46, 54), (71, 79), (95, 100)]
    for drawn, (low, high) in zip(zip(*draws, strict=True), wanted, strict=True):
        assert low <= sorted(drawn)[2] <= high  # one draw of a hundred may well lie beyond
    days = [x for (x,) in session.run("SELECT APPROX_QUANTILES(born, 2) AS x FROM people SPEND EPSILON 4").rows]
    assert all(isinstance(x, int | date) for x in days) and days == sorted(days) and len(days) == 3


def test_of_groups_that_were_found_and_of_different_values(session: Session) -> None:
    answer = session.run(
        "SELECT job, QUANTILE(weight, [0.1, 0.5]) AS q FROM people GROUP BY job SPEND EPSILON 8 DELTA 1e-5"
    )
    assert [row[0] for row in answer.rows] == ["cook", "cook", "nurse", "nurse"]
    assert abs(answer.rows[1][1] - 60) < 1 and abs(answer.rows[3][1] - 80) < 1
    answer = session.run("SELECT job, HISTOGRAM(age, 2) AS h FROM people GROUP BY job SPEND EPSILON 8 DELTA 1e-5")
    assert [row[:3] for row in answer.rows] == [(job, low, low + 60) for job in ("cook", "nurse") for low in (0, 60)]
    assert [abs(row[3] - wanted) < 30 for row, wanted in zip(answer.rows, (1200, 800) * 2, strict=True)] == [True] * 4
    ((a,), (b,)) = session.run("SELECT QUANTILE(DISTINCT age % 10, [0.2, 0.9]) AS x FROM people SPEND EPSILON 50").rows
    assert 0 <= a <= 4 < b <= 9


def test_bins_of_equal_width_and_bins_between_edges(session: Session) -> None:
    answer = session.run("SELECT HISTOGRAM(age, 4) FROM people SPEND EPSILON 4")
    assert [column.name for column in answer.columns] == ["low", "high", "n"]
    assert [row[:2] for row in answer.rows] == [(0, 30), (30, 60), (60, 90), (90, 120)]
    wanted = [sum(low <= at % 100 < low + 30 for at in range(COUNT)) for low in (0, 30, 60, 90)]
    assert all(abs(row[2] - n) < 30 for row, n in zip(answer.rows, wanted, strict=True))
    assert "n_low" in answer.interval(0.95)
    # the last bin has its upper edge, what is outside is in none
    answer = session.run("SELECT HISTOGRAM(age, [10, 20.5, 99]) AS h FROM people SPEND EPSILON 4")
    assert [column.name for column in answer.columns] == ["h_low", "h_high", "h_n"]
    assert [row[:2] for row in answer.rows] == [(10, Fraction(41, 2)), (Fraction(41, 2), 99)]
    wanted = [sum(10 <= at % 100 < 20.5 for at in range(COUNT)), sum(20.5 <= at % 100 <= 99 for at in range(COUNT))]
    assert all(abs(row[2] - n) < 30 for row, n in zip(answer.rows, wanted, strict=True))
    ((low, high, _), *_) = session.run("SELECT HISTOGRAM(age, 7) AS h FROM people SPEND EPSILON 4").rows
    assert (low, high) == (0.0, 120 / 7)
    rows = session.run(
        "SELECT HISTOGRAM(born, [DATE '1960-01-01', DATE '1965-06-23', DATE '1970-12-31']) FROM people SPEND EPSILON 4"
    ).rows
    assert [abs(row[2] - 2000) < 30 for row in rows] == [True, True]


def test_all_bins_have_the_price_of_one(session: Session) -> None:
    before = session.budget().budgets[0].spent.epsilon
    answer = session.run("SELECT HISTOGRAM(weight, 300) AS h FROM people SPEND EPSILON 0.3")
    assert session.budget().budgets[0].spent.epsilon - before == Fraction(3, 10) and len(answer.rows) == 300
    (one,) = answer.certificate["measurements"]
    assert (one["l1"], one["scale"], one["epsilon"]) == ("1", "10/3", "3/10")
    (one,) = session.run("SELECT HISTOGRAM(minutes, 3) AS h FROM visits SPEND EPSILON 1").certificate["measurements"]
    assert one["l1"] == "4" and one["rows_per_unit"] == "4"
    changed = POLICY.replace("CREATE UNIT person", "CREATE UNIT person NEIGHBOURS CHANGE ONE")
    with connect(policy=changed, frames=DATA, analyst="ada") as other:
        (one,) = other.run("SELECT HISTOGRAM(age, 3) AS h FROM people SPEND EPSILON 1").certificate["measurements"]
        assert one["l1"] == "2"  # it leaves one bin, and comes to another


def test_so_do_counts_by_width_bucket(session: Session) -> None:
    answer = session.run(
        "SELECT WIDTH_BUCKET(age, 0, 120, 4) AS bucket, COUNT(*) AS n FROM people WHERE age IS NOT NULL"
        " GROUP BY bucket SPEND EPSILON 1"
    )
    (one,) = answer.certificate["measurements"]
    assert one["l1"] == "1" and one["epsilon"] == "1" and len(answer.rows) >= 4


def test_missing_values_are_in_no_bin(session: Session) -> None:
    of = "SELECT HISTOGRAM(CASE WHEN age < 50 THEN age END, {}) AS h FROM people SPEND EPSILON 4"
    for bins in ("2", "[0, 60, 120]"):
        (_, _, low), (_, _, high) = session.run(of.format(bins)).rows
        assert low < 2100 and abs(high) < 2100 and abs(low + high - 2000) < 40


def test_one_value_has_bins_like_any(session: Session) -> None:
    rows = session.run("SELECT HISTOGRAM(CLAMP(age, 3, 3), 2) AS h FROM people SPEND EPSILON 4").rows
    assert [row[:2] for row in rows] == [(3.0, 3.5), (3.5, 4.0)] and rows[0][2] > 3900 and abs(rows[1][2]) < 100


def test_order_limit_distinct_and_windows(session: Session) -> None:
    rows = session.run(
        "SELECT sex, HISTOGRAM(age, 3) AS h, ROW_NUMBER() OVER (ORDER BY sex DESC) AS at FROM people GROUP BY sex"
        " ORDER BY h_low DESC, sex DESC LIMIT 3 OFFSET 1 SPEND EPSILON 4"
    ).rows
    assert [(sex, low, at) for sex, low, _, _, at in rows] == [("f", 80, 2), ("m", 40, 1), ("f", 40, 2)]
    rows = session.run(
        "SELECT DISTINCT HISTOGRAM(age, 2) AS h FROM people GROUP BY sex ORDER BY 1 SPEND EPSILON 4"
    ).rows
    assert [row[0] for row in rows] in ([0, 0, 60, 60], [0, 60, 60], [0, 0, 60], [0, 60])
    rows = session.run(
        "SELECT sex, QUANTILE(age, [0.1, 0.9]) AS q FROM people GROUP BY sex HAVING COUNT(*) > 100 SPEND EPSILON 4"
    ).rows
    assert len(rows) == 4


def test_several_of_as_many_rows_stand_side_by_side(session: Session) -> None:
    answer = session.run(
        "SELECT HISTOGRAM(age, 3) AS a, QUANTILE(age, [0.1, 0.5, 0.9]) AS q, HISTOGRAM(weight, 3) AS w, AVG(age) AS m"
        " FROM people SPEND EPSILON 20"
    )
    assert [c.name for c in answer.columns] == ["a_low", "a_high", "a_n", "q", "w_low", "w_high", "w_n", "m"]
    assert [row[0] for row in answer.rows] == [0, 40, 80] and [row[4] for row in answer.rows] == [0, 100, 200]
    assert len({row[7] for row in answer.rows}) == 1


def test_constants_say_what_the_rows_are_of(session: Session) -> None:
    answer = session.run(
        "SELECT sex, UNNEST([0.1, 0.5, 1]) AS share, UNNEST(['a', 'b', 'c']) AS l, QUANTILE(age, [0.1, 0.5, 1]) AS q"
        " FROM people GROUP BY sex SPEND EPSILON 2"
    )
    assert [row[1] for row in answer.rows] == [Fraction(1, 10), Fraction(1, 2), 1] * 2
    assert [row[2] for row in answer.rows] == ["a", "b", "c"] * 2
    assert session.run("SELECT UNNEST([1, 2]) AS x, COUNT(*) AS n FROM (VALUES (1)) AS t").rows == ((1, 1), (2, 1))


def test_the_same_twice_is_measured_once(session: Session) -> None:
    answer = session.run(
        "SELECT HISTOGRAM(age, 3) AS a, HISTOGRAM(age, 3) AS b, QUANTILE(age, [0.1, 0.2, 0.3]) AS c,"
        " QUANTILE(age, [0.1, 0.2, 0.3]) AS d FROM people SPEND EPSILON 1"
    )
    assert len(answer.certificate["measurements"]) == 2
    assert all(row[2] == row[5] and row[6] == row[7] for row in answer.rows)


def test_it_can_be_built_upon(session: Session) -> None:
    ((n, high),) = session.run(
        "SELECT SUM(h_n) AS n, MAX(h_high) AS m FROM (SELECT HISTOGRAM(age, 4) AS h FROM people) AS x SPEND EPSILON 4"
    ).rows
    assert abs(n - COUNT) < 60 and high == 120
    ((apart,),) = session.run(
        "WITH q AS (SELECT QUANTILE(age, [0.25, 0.75]) AS x FROM people) SELECT MAX(x) - MIN(x) FROM q SPEND EPSILON 4"
    ).rows
    assert 40 < apart < 60
    session.run("CREATE RELEASE bins AS SELECT sex, HISTOGRAM(age, 2) AS h FROM people GROUP BY sex SPEND EPSILON 1")
    rows = session.run("SELECT sex, h_n FROM bins WHERE h_low = 60").rows
    assert [row[0] for row in rows] == ["f", "m"]
    again = session.run("SELECT QUANTILE(age, [0.25, 0.75]) AS x FROM people SPEND EPSILON 0.123")
    assert session.run("SELECT QUANTILE(age, [0.25, 0.75]) AS x FROM people SPEND EPSILON 0.123").rows == again.rows


def test_of_rows_that_anybody_may_know_they_are_exact(session: Session) -> None:
    source = "(VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'b'), (10, 'b'), (NULL, 'b')) AS t (x, g)"
    assert session.run(f"SELECT g, HISTOGRAM(x, [1, 3, 5]) AS h FROM {source} GROUP BY g ORDER BY g").rows == (
        ("a", 1, 3, 2),
        ("a", 3, 5, 1),
        ("b", 1, 3, 0),
        ("b", 3, 5, 1),
    )
    assert session.run(f"SELECT HISTOGRAM(x, 3) FROM {source}").rows == ((1, 4, 3), (4, 7, 1), (7, 10, 1))
    assert session.run(f"SELECT QUANTILE(x, [0.5, 0]) AS q FROM {source}").rows == ((3.0,), (1.0,))
    assert session.run(f"SELECT APPROX_QUANTILES(x, 2) AS q FROM {source}").rows == ((1,), (3,), (10,))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT 1 + QUANTILE(age, [0.5]) FROM people", "stands by itself in a SELECT list"),
        ("SELECT sex FROM people GROUP BY sex ORDER BY HISTOGRAM(age, 3)", "stands by itself in a SELECT list"),
        ("SELECT COUNT(*) FROM people HAVING HISTOGRAM(age, 3) > 1", "stands by itself in a SELECT list"),
        ("SELECT HISTOGRAM(age, 3) AS h FROM people HAVING h_n > 1", "cannot stand in HAVING"),
        ("SELECT HISTOGRAM(age, 3) AS h FROM people ORDER BY RANK() OVER (ORDER BY h_n)", "cannot stand in a window"),
        ("SELECT HISTOGRAM(age, 3), HISTOGRAM(age, 4) FROM people", "3 rows and 4 rows beside each other"),
        ("SELECT HISTOGRAM(age, 3) FROM people GROUP BY ROLLUP (sex)", "ROLLUP"),
        ("SELECT QUANTILE(age, [0.1, 0.2]) FROM people GROUP BY ROLLUP (sex)", "ROLLUP"),
        ("SELECT AVG(n) FROM (SELECT id, HISTOGRAM(minutes, 4) AS h, COUNT(*) AS n FROM visits GROUP BY id) v", "unit"),
        ("SELECT 1 WHERE 3 IN (SELECT QUANTILE(age, [0.1, 0.2]) FROM people)", "in a query inside an expression"),
        ("SELECT HISTOGRAM(job, 4) FROM people", "needs a number"),
        ("SELECT HISTOGRAM(job, ['a', 'b']) FROM people", "needs a number or a day"),
        ("SELECT HISTOGRAM(age, [3, 3]) FROM people", "edges of bins go up"),
        ("SELECT HISTOGRAM(age, [3, age]) FROM people", "must be constant"),
        ("SELECT HISTOGRAM(age, [3]) FROM people", "between two edges"),
        ("SELECT HISTOGRAM(age, 1000) FROM people", "a number from 1 to 999"),
        (
            "SELECT HISTOGRAM(CLAMP(age + 9007199254740992::FLOAT, 9007199254740992, 9007199254740994), 2) FROM people",
            "cannot be told apart",
        ),
        ("SELECT HISTOGRAM(age, 3 BOUNDS AUTO) FROM people", "needs no bounds"),
        ("SELECT QUANTILE(age, []) FROM people", "an answer of 0 rows"),
        ("SELECT QUANTILE(age, [0.1, 2]) FROM people", "between 0 and 1"),
        ("SELECT QUANTILE(age, [0.1, 0.2] WITHIN 3) FROM people", "WITHIN cannot be promised"),
        ("SELECT UNNEST([1, 2]), QUANTILE(age, [0.1]) FROM people", "2 rows and 1 rows"),
        ("SELECT UNNEST([1, age]), QUANTILE(age, [0.1, 0.2]) FROM people", "a list of constants"),
        ("SELECT APPROX_QUANTILES(age) FROM people", "a value and a number"),
    ],
)
def test_what_else_is_refused(text: str, said: str, session: Session) -> None:
    with pytest.raises(PrivQLError, match=said):
        session.run(f"{text} SPEND EPSILON 1" if "WITHIN" not in text else text)


def test_explained_and_certified(session: Session) -> None:
    told = session.explain(
        "SELECT QUANTILE(age, [0.25, 0.5, 0.75]), APPROX_QUANTILES(age, 2) FROM people SPEND EPSILON 1"
    )
    assert "QUANTILE(age, [0.25, 0.5, 0.75]): 3 drawn by their ranks, Δ = 0.5 ranks" in told
    assert "APPROX_QUANTILES(age, 2): 3 drawn by their ranks, least and greatest" in told
    told = session.explain("SELECT sex, HISTOGRAM(age, 4) FROM people GROUP BY sex SPEND EPSILON 1")
    assert "group by bin of HISTOGRAM(age, 4): 4 groups" in told and "HISTOGRAM(age, 4): Δ = 1" in told
    (one,) = session.run("SELECT QUANTILE(minutes, [0.25, 0.5]) FROM visits SPEND EPSILON 2").certificate[
        "measurements"
    ]
    assert one["mechanism"] == "exponential" and one["release"] == "values_by_rank" and one["epsilon"] == "2"
    quarter, half = one["draws"]
    assert (quarter["share"], half["share"]) == ("1/4", "1/2")
    # the median first: 4 rows move it by 2 places, and what is below it has a quarter of all for its half
    assert (half["l1"], half["scale"], quarter["l1"], quarter["scale"]) == ("2", "4", "2", "4")


@pytest.mark.parametrize("bins", ["1", "2", "5", "[7, 20]", "[0, 15, 16, 90]"])
@pytest.mark.parametrize("paid", ["people SPEND EPSILON 9", "DUMMY people"])
def test_an_edge_is_known_to_be_one_of_those_that_there_are(session: Session, bins: str, paid: str) -> None:
    text = f"SELECT HISTOGRAM(age, {bins}) AS h FROM {paid}"
    query = session.check(text).query
    assert query is not None
    for column, found in zip(query.columns[:2], zip(*session.run(text).rows, strict=True), strict=False):
        assert column.domain.values == found, column.name


@pytest.mark.parametrize("bins", [1, 2])
def test_bins_are_as_narrow_as_numbers_are_apart(bins: int, session: Session) -> None:
    low, high = 2**53, 2**53 + 2 * bins  # as doubles, every other whole number
    text = f"SELECT HISTOGRAM(CLAMP(age + {low}::FLOAT, {low}, {high}), {bins}) AS h FROM DUMMY people"
    assert [row[:2] for row in session.run(text).rows] == [(edge, edge + 2) for edge in range(low, high, 2)]
