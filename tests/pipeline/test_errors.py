"""The errors of computed numbers: replicates are the answer on other cells, row by row; ERROR, LOW, HIGH tell them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.finish.kept import Made
from privql.finish.resampling import FAR, Spread, bounds_of, cells_without_noise, generator, replicates
from privql.finish.result import Release
from privql.kernel.scalars import FLOAT, INT
from privql.pipeline.errors import Errors, _finished, _scales
from privql.session import Session

POLICY = """
CREATE UNIT person;
CREATE PRIVATE TABLE people (
  id TEXT UNIT person KEY, age INT BETWEEN 0 AND 100 NOT NULL, pay DECIMAL(9, 2) BETWEEN 0 AND 100 NOT NULL,
  area TEXT IN ('N', 'S', 'W') NOT NULL, year INT BETWEEN 1 AND 6 NOT NULL
);
CREATE PUBLIC TABLE areas (area TEXT, size INT) FROM 'areas.csv';
CREATE BUDGET b FOR UNIT person EPSILON 10000;
GRANT b TO ann;
"""
USUAL = Fraction(95, 100)
BY_YEAR = "SELECT year, area, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY year, area SPEND EPSILON 2"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    home: Path = tmp_path_factory.mktemp("errors")
    (home / "areas.csv").write_text("area,size\nN,3\nS,5\nE,1\n")
    (home / "policy.pql").write_text(POLICY)
    draw = np.random.default_rng(5)
    people = pd.DataFrame(
        {
            "id": [f"p{at}" for at in range(600)],
            "age": draw.integers(0, 101, 600),
            "pay": [f"{cents / 100:.2f}" for cents in draw.integers(0, 10_001, 600)],
            "area": draw.choice(["N", "S", "W"], 600),
            "year": draw.integers(1, 7, 600),
        }
    )
    with privql.connect(
        policy=str(home / "policy.pql"), ledger=":memory:", analyst="ann", frames={"people": people}
    ) as opened:
        opened.run(f"CREATE RELEASE r AS {BY_YEAR}")
        opened.run("CREATE RELEASE of_year AS SELECT year, SUM(n) AS n, MAX(n) AS most FROM r GROUP BY year")
        yield opened


def errors(release: Release) -> Errors:
    assert isinstance(release.spreads, Errors)
    return release.spreads


# Nothing noisy chooses a row of these, so a replicate is what the query itself says of other cells.
PLAIN = (
    "SELECT 1.0 * s / n AS m, n - 3 AS d, LN(n) AS l, year FROM x ORDER BY year, area",
    "SELECT year, SUM(n) AS n, AVG(s) AS s, VAR_POP(n) AS v, COUNT(n) AS c FROM x GROUP BY CUBE (year)",
    "SELECT year, n - LAG(n) OVER (PARTITION BY area ORDER BY year) AS d, "
    "SUM(n) OVER (ORDER BY year, area ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS near FROM x",
    "SELECT a.n + b.n AS both FROM x AS a JOIN x AS b ON a.year = b.year + 1 AND a.area = b.area",
    "SELECT n + size AS z, areas.area FROM areas LEFT JOIN (SELECT * FROM x WHERE year = 2) AS y USING (area)",
    "SELECT y.n + 1 AS n, size + 1 AS c FROM areas FULL JOIN (SELECT * FROM x WHERE year = 2) AS y USING (area)",
    "SELECT year, n * 100.0 / (SELECT SUM(n) FROM x) AS share FROM x WHERE area <> 'S'",
    "SELECT area, (SELECT SUM(n) FROM x WHERE x.area = areas.area) * 2 AS n FROM areas",
    "SELECT year, t FROM x, LATERAL (SELECT SUM(z.n) AS t FROM x AS z WHERE z.year <= x.year) AS u WHERE area = 'N'",
    "SELECT n AS k FROM x UNION ALL SELECT size FROM areas UNION ALL SELECT s + n FROM x WHERE year = 1",
    "SELECT n * 2 AS n FROM x ORDER BY year DESC, area LIMIT 4 OFFSET 2",
    "SELECT CASE WHEN year > 3 THEN n ELSE -s END AS c, COALESCE(n, 0) + s AS o FROM x",
)


@pytest.mark.parametrize("query", PLAIN)
def test_a_replicate_is_the_answer_on_other_cells(session: Session, query: str) -> None:
    release = session.run(f"WITH x AS ({BY_YEAR}) {query}")
    found, count = errors(release), 7
    (noisy,) = found.made.blocks
    spreads = found.of(count)
    assert spreads
    drawn = cells_without_noise(noisy.recipes, noisy.cells, _scales(noisy), count, generator(found.made.name, 0, count))
    for number, cells in enumerate(drawn):
        again = found.post.run(found.made.query, [_finished(noisy, cells)])
        assert len(again.rows) == len(release.rows)
        for at, spread in spreads.items():
            expected = [math.nan if row[at] is None else float(row[at]) for row in again.rows]
            assert np.allclose(spread.values[:, number], expected, rtol=1e-12, equal_nan=True)
    told = {at for at, column in enumerate(release.columns) if column.name not in ("year", "area", "c")}
    assert spreads.keys() == told | ({0} if query.startswith("SELECT CASE") else set())


def test_what_is_chosen_by_noisy_numbers_stays_chosen(session: Session) -> None:
    everything = session.run("SELECT year, area, n + 0 AS k FROM r ORDER BY year, area")
    by_key = {row[:2]: errors(everything).of(199)[2].values[at] for at, row in enumerate(everything.rows)}
    for query in (
        "SELECT year, area, n + 0 AS k FROM r WHERE n > 30 ORDER BY n DESC, s LIMIT 5",
        "SELECT year, area, n + 0 AS k FROM r QUALIFY ROW_NUMBER() OVER (PARTITION BY year ORDER BY n) = 1",
        "SELECT a.year, a.area, a.n + 0 AS k FROM r AS a JOIN r AS b ON a.n > b.n AND b.area = 'N' AND b.year = a.year",
        "SELECT DISTINCT year, area, n + 0 AS k FROM r WHERE s >= ALL (SELECT s FROM r AS q WHERE q.year = r.year)",
    ):
        release = session.run(query)
        assert release.rows
        spread = errors(release).of(199)[2]
        for row, values in zip(release.rows, spread.values, strict=True):
            assert np.array_equal(values, by_key[row[:2]])


def test_an_answer_has_one_error_however_often_and_wherever_it_is_asked_for(session: Session) -> None:
    text = "SELECT 1.0 * SUM(s) / SUM(n) AS m, SUM(n) AS n FROM r"
    first, second = session.run(text), session.run(text)
    assert first.interval(0.9).equals(second.interval(0.9)) and first.interval(0.9).equals(first.interval(0.9))
    release = session.run(f"WITH x AS ({BY_YEAR}) SELECT SUM(n) AS n FROM x")
    stored = Release.from_bytes(release.to_bytes())
    assert stored.made == release.made and stored.interval().empty
    again = session.run(f"WITH x AS ({BY_YEAR}) SELECT SUM(n) AS n FROM x")
    assert not again.cost.epsilon and again.interval().equals(release.interval())
    (row,) = release.to_json()["halfwidth95"]
    low, high = release.interval(0.95).iloc[0]
    assert row[0] == max(release.rows[0][0] - low, high - release.rows[0][0])
    assert f"{release.rows[0][0]} ± {row[0]}" in str(release)


def test_what_was_made_of_the_same_cells_moves_with_them(session: Session) -> None:
    text = "SELECT SUM(r.n) - {}(y.n) AS nothing, SUM(r.n) AS n FROM r JOIN of_year AS y USING (year) GROUP BY year"
    spreads = errors(session.run(text.format("MIN"))).of(199)
    assert 0 not in spreads  # of a least value there is only a bound, and it might cancel
    assert np.abs(errors(session.run(text.format("AVG"))).of(199)[0].values).max() < 1e-9


def test_of_some_numbers_nothing_is_told(session: Session) -> None:
    for query in (
        "SELECT COUNT(DISTINCT n) AS a, STRING_AGG(n::TEXT, ',') AS b FROM r",
        "SELECT RANK() OVER (ORDER BY n) AS a FROM r",
        "SELECT most - n AS a FROM of_year",
        "SELECT n AS a FROM r INTERSECT SELECT n FROM r",
        "WITH RECURSIVE w AS (SELECT SUM(n) AS a FROM r UNION ALL SELECT a - 1000 FROM w WHERE a > 0) SELECT a FROM w",
        "SELECT MEDIAN(age) + 1 AS a FROM people SPEND EPSILON 1",
        "SELECT year + 1 AS a FROM r",
    ):
        assert list(session.run(query).interval().columns) == []


@pytest.mark.parametrize(("of", "columns"), [("LENGTH(area)", set()), ("LENGTH(area) + n", {2})])
def test_noise_is_drawn_where_it_gets_to(
    session: Session, monkeypatch: pytest.MonkeyPatch, of: str, columns: set[int]
) -> None:
    """No law tells the error of a length of a group's name: it has none."""
    release = session.run(f"WITH x AS ({BY_YEAR}) SELECT area, n, {of} AS l FROM x")
    drawn: list[int] = []

    def counted(name: str, at: int, count: int) -> np.random.Generator:
        drawn.append(count)
        return generator(name, at, count)

    monkeypatch.setattr("privql.pipeline.errors.generator", counted)
    assert release.computed_spreads(USUAL).keys() == columns
    assert any(drawn) == bool(columns)


def test_older_answers_are_read_and_their_laws_used(session: Session) -> None:
    release = session.run("CREATE RELEASE late AS SELECT year, COUNT(*) AS n FROM people GROUP BY year SPEND EPSILON 1")
    before = json.loads(release.to_bytes())
    del before["made"]
    before["form"] = 1
    for column in before["columns"]:
        column["law"] = column["law"] and column["law"][:5]
    old = Release.from_bytes(json.dumps(before).encode())
    assert (old.rows, old.made, old.columns[1].law) == (release.rows, None, release.columns[1].law)
    asked = errors(session.run("SELECT SUM(n) AS n FROM late"))
    spread = Errors(asked.made, asked.rows, asked.columns, asked.post, {"late": old}, {}).of(1999)[0]
    assert np.std(spread.values) == pytest.approx(math.sqrt(12), rel=0.2)  # six cells of discrete Laplace noise, t = 1
    broken = {**json.loads(release.to_bytes()), "made": {"name": "?", "query": {"Unheard": {}}, "blocks": []}}
    assert Release.from_bytes(json.dumps(broken).encode()).made is None


def test_a_row_that_does_not_come_out_again_has_no_error(session: Session) -> None:
    release = session.run("SELECT year, n + 1 AS k FROM r WHERE area = 'N' ORDER BY year")
    found = errors(release)
    other = (release.rows[0], (2, 10**6), *release.rows[2:])
    ends = replace(release, rows=other, spreads=replace_rows(found, other)).ends(1, USUAL)
    assert ends[1] is None and None not in (ends[0], *ends[2:])
    fewer = replace_rows(found, release.rows[1:])
    assert fewer.of(199) == {}


def replace_rows(found: Errors, rows: tuple[tuple[object, ...], ...]) -> Errors:
    made: Made = found.made
    return Errors(made, rows, found.columns, found.post, found.releases, found.dummies)


def test_replicates_that_say_nothing_count_on_both_sides() -> None:
    values = np.arange(1.0, 200.0)[None, :]
    for unknown, expected in ((0, (5.0, 195.0)), (2, (3.0, 195.0)), (4, (1.0, 195.0)), (5, (-math.inf, math.inf))):
        row = values.copy()
        row[0, 199 - unknown :] = math.nan
        low, high = expected if unknown in (0, 5) else (expected[0], 195.0)
        assert bounds_of(Spread(row, True), [100.0], FLOAT, USUAL) == [(low, high)]
    assert bounds_of(Spread(np.full((1, 199), math.nan), True), [1.0], FLOAT, USUAL) == [None]
    assert bounds_of(Spread(values, True), [None], FLOAT, USUAL) == [None]
    far = np.where(values < 20, -FAR, values)
    assert bounds_of(Spread(far, True), [100], INT, USUAL) == [(-math.inf, 195)]
    assert bounds_of(Spread(values, False), [20.0], FLOAT, USUAL) == [(-155.0, 195.0)]


def test_there_are_as_many_replicates_as_a_confidence_needs() -> None:
    for confidence in ("0.5", "0.9", "0.95", "0.99", "0.999"):
        tail = (1 - Fraction(confidence)) / 2
        for numbers in (1, 100, 20_000):
            ranks = (replicates(numbers, Fraction(confidence)) + 1) * tail
            assert ranks >= 3 or confidence == "0.999"
            assert math.floor(ranks) >= 1
    assert replicates(1, USUAL) == 1999 and replicates(20_000, USUAL) == 119


# ---------------------------------------------------------------- ERROR, LOW, HIGH


def test_they_are_the_interval_in_sql(session: Session) -> None:
    release = session.run(
        "SELECT area, COUNT(*) AS n, LOW(COUNT(*), 0.9) AS l, HIGH(COUNT(*), 0.9) AS h, ERROR(COUNT(*)) AS e, "
        "LOW(AVG(age), 0.9) AS al, LOW(LN(COUNT(*)), 0.9) AS ll FROM people GROUP BY area SPEND EPSILON 1"
    )
    frame, at95 = release.interval(0.9), release.interval()
    names = [column.name for column in release.columns]
    rows = [dict(zip(names, row, strict=True)) for row in release.rows]
    assert list(frame["n_low"]) == [row["l"] for row in rows] and list(frame["n_high"]) == [row["h"] for row in rows]
    assert [row["n"] - row["e"] for row in rows] == list(at95["n_low"])
    assert list(frame.columns) == ["n_low", "n_high"]  # an end has no error of its own
    for row in rows:
        assert 0 < row["al"] < 100 and row["ll"] == pytest.approx(math.log(row["l"]), abs=0.02)


def test_an_open_end_is_null_and_the_answer_that_has_it_is_kept(session: Session) -> None:
    """Of five answers most: one may by chance have a divisor that is surely positive."""
    open_ = 0
    for at in range(5):
        query = (
            "SELECT LOW(x, 0.99) AS l, HIGH(x, 0.99) AS h, ERROR(x, 0.99) AS e, x FROM (SELECT CAST(SUM(age) AS FLOAT)"
            f" / COUNT(*) AS x FROM people WHERE age > 100 AND {at} = {at}) AS s SPEND EPSILON 0.01"
        )
        release = session.run(query)
        assert session.run(query).rows == release.rows
        open_ += release.rows[0][:3] == (None, None, None) and release.rows[0][3] is not None
    assert open_ >= 3


def test_they_stand_wherever_a_number_does(session: Session) -> None:
    ends = {row[:2]: row[2:] for row in session.run("SELECT year, area, n, LOW(n) AS l, ERROR(s) AS e FROM r").rows}
    chosen = session.run("SELECT year, area FROM r WHERE LOW(n) > 25 ORDER BY LOW(n) DESC, year, area").rows
    expected = sorted((key for key, (_, low, _) in ends.items() if low > 25), key=lambda key: (-ends[key][1], *key))
    assert list(chosen) == expected
    (total,) = session.run("SELECT SUM(LOW(n)) FROM r").rows
    assert total[0] == sum(low for _, low, _ in ends.values())
    inside = session.run("SELECT area, (SELECT MAX(LOW(n)) FROM r AS q WHERE q.area = a.area) AS m FROM areas AS a")
    assert dict(inside.rows)["N"] == max(low for (_, area), (_, low, _) in ends.items() if area == "N")
    having = session.run(
        "SELECT year, COUNT(*) AS n FROM people GROUP BY year HAVING LOW(COUNT(*)) > 0 SPEND EPSILON 1"
    )
    assert all(low > 0 for low in having.interval()["n_low"])
    computed = session.run("SELECT 1.0 * s / n AS m, LOW(1.0 * s / n) AS l, HIGH(1.0 * s / n) AS h FROM r")
    frame = computed.interval()
    assert list(frame["m_low"]) == [row[1] for row in computed.rows]
    assert list(frame["m_high"]) == [row[2] for row in computed.rows]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT ERROR(MEDIAN(age)) FROM people SPEND EPSILON 1", "PQL0309"),
        ("SELECT ERROR(age) FROM people SPEND EPSILON 1", "PQL0309"),
        ("SELECT LOW(size) FROM areas", "PQL0309"),
        ("SELECT LOW(COUNT(*)) FROM r", "PQL0309"),
        ("SELECT ERROR(LOW(n)) FROM r", "PQL0309"),
        ("SELECT ERROR(COUNT(DISTINCT n)) FROM r", "PQL0309"),
        (
            "SELECT COUNT(*) FROM people AS p JOIN r USING (year, area) WHERE p.age < LOW(r.n) SPEND EPSILON 1",
            "PQL0309",
        ),
        ("SELECT (SELECT LOW(r.n) FROM r AS q LIMIT 1) FROM r", "PQL0309"),
        ("SELECT LOW(n, 1) FROM r", "PQL0302"),
        ("SELECT LOW(n, n) FROM r", "PQL0308"),
        ("SELECT LOW(n, 0.9, 1) FROM r", "PQL0303"),
        ("SELECT LOW(area) FROM r", "PQL0301"),
        ("SELECT LOW(DISTINCT n) FROM r", "PQL0305"),
        ("SELECT year, LOW(n) FROM r GROUP BY year", "PQL0306"),
    ],
)
def test_what_cannot_be_told_is_refused_before_anything_is_spent(session: Session, query: str, code: str) -> None:
    with pytest.raises(PrivQLError) as refused:
        session.run(query)
    assert [one.code for one in refused.value.diagnostics] == [code]


@pytest.mark.parametrize("noise", ["LAPLACE", "GAUSSIAN"])
def test_of_an_answer_of_too_many_cells_its_own_law_is_drawn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: str
) -> None:
    (tmp_path / "areas.csv").write_text("area,size\n")
    (tmp_path / "policy.pql").write_text(POLICY.replace("EPSILON 10000", "EPSILON 10 DELTA 0.1"))
    people = pd.DataFrame({"id": ["p1"], "age": [1], "pay": ["1.00"], "area": ["N"], "year": [1]})
    with privql.connect(
        policy=str(tmp_path / "policy.pql"), ledger=":memory:", analyst="ann", frames={"people": people}
    ) as opened:
        monkeypatch.setattr("privql.pipeline.run.MOST_CELLS", 0)
        opened.run(f"CREATE RELEASE r AS SELECT COUNT(*) AS n FROM people SPEND EPSILON 0.01 DELTA 1e-6 USING {noise}")
        monkeypatch.undo()
        ends = opened.run("SELECT n, 2 * n AS twice FROM r").interval(0.95)
    own = ends["n_high"][0] - ends["n_low"][0]
    assert ends["twice_high"][0] - ends["twice_low"][0] == pytest.approx(2 * own, rel=0.15)
