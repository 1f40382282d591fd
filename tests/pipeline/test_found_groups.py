"""GROUP BY what nobody listed: the groups are found first, in a step of its own, and then measured."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from privql.diagnostics import PrivQLError
from privql.kernel.found import units_within
from privql.session import Session, connect
from tests.pipeline.cooks_and_nurses import COUNT, POLICY, asked, people, spent, visits


@pytest.fixture
def session() -> Iterator[Session]:
    with asked() as opened:
        yield opened


def test_the_groups_that_many_are_in_are_found_and_counted(session: Session) -> None:
    answer = session.run(f"{COUNT} SPEND EPSILON 90 DELTA 1e-9")
    assert answer.rows == (("cook", 300), ("nurse", 300), (None, 300))
    assert (answer.cost.epsilon, answer.cost.delta) == (Fraction(90), Fraction(1, 10**9))
    assert spent(session) == (Fraction(90), Fraction(1, 10**9))
    assert not session.run(f"{COUNT} SPEND EPSILON 90 DELTA 1e-9").cost


def test_count_sum_and_mean_of_the_groups_that_are_found_are_one_measurement(session: Session) -> None:
    listed = "COUNT(age) AS n, SUM(age) AS s, AVG(age) AS m, COUNT(*) AS all_rows"
    query = f"SELECT job, {listed} FROM people GROUP BY job ORDER BY m SPEND EPSILON 240 DELTA 1e-9"
    searched, measured = session.check(query).to_json()["measurements"]  # all rows' count comes from the search
    assert (searched["also"], len(measured["also"])) == (["COUNT(*)"], 2)
    rows = {row[0]: row[1:] for row in session.run(query).rows}
    for at, job in enumerate(("cook", "nurse", None)):
        count, total, mean, everyone = rows[job]
        ages = [number % 100 for number in range(at, 900, 3)]
        assert (count, everyone) == (300, 300)
        assert abs(total - sum(ages)) < 100 and mean == pytest.approx(sum(ages) / 300, abs=0.5)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("LENGTH(job)", [4, 5, None]),
        ("born", [10957, 10958]),
        ("paid", [Fraction(1, 2), Fraction(3, 2)]),
        ("weight", [0.0, 70.5]),
        ("seen", [1704067200000001, 1704067201000001]),
        ("UPPER(job)", ["COOK", "NURSE", None]),
        ("CASE WHEN well THEN job END", ["cook", "nurse", None]),
    ],
)
def test_a_group_of_any_type_is_found(session: Session, key: str, values: list[Any]) -> None:
    answer = session.run(f"SELECT {key} AS k, COUNT(*) AS n FROM people GROUP BY k SPEND EPSILON 90 DELTA 1e-9")
    assert [repr(row[0]) for row in answer.rows] == list(map(repr, values))
    assert abs(sum(row[1] for row in answer.rows) - 900) < 9


def test_known_keys_beside_those_that_are_found(session: Session) -> None:
    """Only what is not known is looked for; each of it then has all groups of what is."""
    answer = session.run(
        "SELECT sex, job, well, COUNT(*) AS n FROM people WHERE age < 50 OR job = 'cook'"
        " GROUP BY sex, job, well SPEND EPSILON 200 DELTA 1e-9"
    )
    keys = [row[:3] for row in answer.rows]
    assert keys == [(sex, job, well) for sex in "fm" for job in ("cook", "nurse", None) for well in (False, True, None)]
    assert [row[3] for row in answer.rows if row[1] == "cook"] == [0, 150, 0, 150, 0, 0]


def test_an_empty_answer_has_the_same_form(session: Session) -> None:
    answer = session.run("SELECT job, COUNT(*) AS n FROM people WHERE age > 100 GROUP BY job SPEND EPSILON 9")
    assert answer.rows == () and [column.name for column in answer.columns] == ["job", "n"]
    assert list(answer.to_pandas().columns) == ["job", "n"]


def test_a_unit_counts_once_in_a_group_and_in_as_many_groups_as_it_has_rows(session: Session) -> None:
    query = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward{} SPEND EPSILON 400 DELTA 1e-6"
    (found, _) = session.check(query.format("")).to_json()["measurements"]
    assert (found["groups_per_unit"], found["l1"], found["mechanism"]) == ("4", "4", "truncated_geometric")
    assert {row[0] for row in session.run(query.format("")).rows} == set("abcde")
    fewer = session.check(query.format(" AT MOST 2 GROUPS PER UNIT")).to_json()["measurements"][0]
    assert (fewer["groups_per_unit"], fewer["even"] <= found["even"]) == ("2", True)


# ---------------------------------------------------------------- what it costs


@pytest.mark.parametrize(
    ("budget", "clause", "delta"),
    [
        ("DELTA 1e-4", "SPEND EPSILON 1", Fraction(1, 10**6)),
        ("DELTA 1e-4 DEFAULT DELTA 1e-5", "SPEND EPSILON 1", Fraction(1, 10**5)),
        ("DELTA 1e-4 DEFAULT DELTA 1e-5", "SPEND EPSILON 1 DELTA 1e-9", Fraction(1, 10**9)),
        ("DELTA 1e-4", "WITHIN 10", Fraction(1, 10**6)),
        ("DELTA 1e-4 DEFAULT EPSILON 2", "SPEND DELTA 1e-7", Fraction(1, 10**7)),
    ],
)
def test_where_delta_comes_from(budget: str, clause: str, delta: Fraction) -> None:
    policy = POLICY.replace("DELTA 0.01", budget)
    with connect(policy=policy, frames={"people": people(), "visits": visits()}) as opened:
        check = opened.check(f"{COUNT} {clause}")
        epsilon = check.cost.epsilon
        assert isinstance(epsilon, Fraction) and check.cost.delta == delta
        looked, *counted = check.to_json()["measurements"]
        epsilons = [Fraction(one["epsilon"]) for one in (looked, *counted)]
        assert len(counted) == ("WITHIN" in clause)  # an error is promised for what is measured
        assert epsilons == [epsilon / len(epsilons)] * len(epsilons)
        assert [one["delta"] for one in (looked, *counted)] == [str(delta), "0"][: len(epsilons)]
        assert opened.run(f"{COUNT} {clause}").cost.delta == delta


@pytest.mark.parametrize("query", [f"{COUNT} SPEND EPSILON 1 DELTA 0", f"{COUNT} SPEND EPSILON 1"])
def test_without_delta_groups_are_not_looked_for(query: str) -> None:
    policy = POLICY.replace(" DELTA 0.01", "" if "DELTA" not in query else " DELTA 0.01")
    with (
        connect(policy=policy, frames={"people": people(), "visits": visits()}) as opened,
        pytest.raises(PrivQLError, match="PQL0403"),
    ):
        opened.run(query)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (f"{COUNT} SPEND EPSILON 1 DELTA 1", "PQL0503"),
        (f"{COUNT} SPEND EPSILON 1 DELTA 1e-40", "PQL0503"),
        (f"{COUNT} SPEND EPSILON 0.0001 DELTA 1e-7", "PQL0503"),
        (f"{COUNT} SPEND EPSILON 1 DELTA 0.02", "PQL0502"),
        ("SELECT job, COUNT(* SPEND 0.5) AS n FROM people GROUP BY job", "PQL0501"),
        ("SELECT note, COUNT(*) FROM people GROUP BY note SPEND EPSILON 1", "PQL0406"),
        ("SELECT id, COUNT(*) FROM people GROUP BY id SPEND EPSILON 1", "PQL04"),
    ],
)
def test_what_is_refused_before_anything_is_spent(session: Session, query: str, code: str) -> None:
    with pytest.raises(PrivQLError, match=code):
        session.run(query)
    assert spent(session) == (Fraction(0), Fraction(0))


def test_a_delta_that_nothing_needs_is_left(session: Session) -> None:
    session.run("SELECT sex, COUNT(*) FROM people GROUP BY sex SPEND EPSILON 1 DELTA 1e-7")
    assert spent(session) == (Fraction(1), Fraction(0))


def test_delta_runs_out(session: Session) -> None:
    """A quarter of it finds groups."""
    session.run(f"{COUNT} SPEND EPSILON 1 DELTA 0.0015")
    with pytest.raises(PrivQLError, match=r"PQL0502[^$]*δ = 0\.001"):
        session.run(f"{COUNT} SPEND EPSILON 2 DELTA 0.0015")
    assert spent(session) == (Fraction(1), Fraction(15, 10000))
    over = session.check_text(f"{COUNT} SPEND EPSILON 2 DELTA 0.0007; {COUNT} SPEND EPSILON 3 DELTA 0.0007")
    assert [d.code for d in over.diagnostics] == ["PQL0502"]
    assert "δ = 0.0014" in str(over.diagnostics[0])


def test_the_budget_report_says_what_delta_is_left(session: Session) -> None:
    session.run(f"{COUNT} SPEND EPSILON 1 DELTA 0.0015")
    assert "left to you of δ: 0.001 to find groups, 0.0025 for noise and plans" in str(session.budget())


def test_explain_and_the_certificate_tell_of_the_search(session: Session) -> None:
    told = session.explain(f"{COUNT} SPEND EPSILON 2 DELTA 1e-6")
    assert "they are looked for" in told and "truncated geometric" in told and "total: ε = 2, δ = 0.000001" in told
    assert "COUNT(*) comes from this search: ± 1 at 95% of a large group" in told
    assert told.endswith("state the groups that you know, `job KEYS (…)`: no δ")
    (found,) = session.run(f"{COUNT} SPEND EPSILON 2 DELTA 1e-6").certificate["measurements"]
    assert (found["mechanism"], found["release"]) == ("truncated_geometric", "groups_and_counts")
    assert (found["also"], found["scale"], found["reach"]) == (["COUNT(*)"], "1/2", 7)
    told = session.explain("SELECT job, SUM(age) FROM people GROUP BY job SPEND EPSILON 2 DELTA 1e-6")
    assert "state the groups that you know, `job KEYS (…)`: no δ, SUM(age) ± 150 instead of 300" in told


@pytest.mark.parametrize(
    ("query", "also"),
    [
        (COUNT, ["COUNT(*)"]),
        ("SELECT job, COUNT(*), SUM(age) FROM people GROUP BY job", ["COUNT(*)"]),
        (
            "SELECT job, COUNT(*) AS n, COUNT(DISTINCT id) AS m FROM people GROUP BY job",
            ["COUNT(*)", "COUNT(DISTINCT id)"],
        ),
        ("SELECT ward, COUNT(DISTINCT id) AS n, SUM(minutes) FROM visits GROUP BY ward", ["COUNT(DISTINCT id)"]),
        ("SELECT ward, COUNT(*) FROM (SELECT id, ward FROM visits GROUP BY id, ward) AS x GROUP BY ward", ["COUNT(*)"]),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward AT MOST 1 ROWS PER UNIT", ["COUNT(*)"]),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", []),  # rows, not units
        ("SELECT job, COUNT(*), COUNT(born) FROM people GROUP BY job", ["COUNT(*)"]),
        ("SELECT job, COUNT(* SPEND 0.5), SUM(age) FROM people GROUP BY job", []),
        ("SELECT job, sex, COUNT(*) FROM people GROUP BY job, sex", []),  # some groups are listed
        ("SELECT job, COUNT(*) FILTER (WHERE well) FROM people GROUP BY job", []),
        ("SELECT job, COUNT(DISTINCT born) FROM people GROUP BY job", []),
    ],
)
def test_what_is_how_many_units_a_group_has_comes_from_the_search(
    query: str, also: list[str], session: Session
) -> None:
    check = session.check(f"{query} SPEND EPSILON 400 DELTA 1e-9")
    told = check.to_json()["measurements"]
    assert told[0].get("also", []) == also
    assert sum((Fraction(one["epsilon"]) for one in told), Fraction(0)) == 400
    answer = session.run(f"{query} SPEND EPSILON 400 DELTA 1e-9")
    if "COUNT(*)" in also and "FROM people" in query:
        assert [row[0] for row in answer.rows] == ["cook", "nurse", None]
        assert all(abs(row[1] - 300) < 20 for row in answer.rows)


def test_what_was_found_is_in_the_rows_of_its_group(session: Session) -> None:
    """Also where blocks and keys stand in another order than the groups were found in."""
    query = (
        "SELECT COUNT(DISTINCT id) AS n, MEDIAN(age) AS m, LENGTH(job) AS l, SUM(age) AS s, job, COUNT(*) AS k"
        " FROM people WHERE job <> 'nurse' OR age < 50 GROUP BY job, l SPEND EPSILON 900 DELTA 1e-9"
    )
    assert {row[4]: (row[0], row[2], row[5]) for row in session.run(query).rows} == {
        "cook": (300, 4, 300),
        "nurse": (150, 5, 150),
        None: (150, None, 150),
    }


def test_the_interval_of_a_number_that_was_found_knows_that_it_was(session: Session) -> None:
    answer = session.run(f"{COUNT} SPEND EPSILON 0.1 DELTA 1e-6")
    for row, half, (_, interval) in zip(
        answer.rows, answer.to_json()["halfwidth95"], answer.interval(0.95).iterrows(), strict=True
    ):
        low, high = units_within(row[1], 109, Fraction(10), Fraction(95, 100))
        assert (interval["n_low"], interval["n_high"]) == (low, high) and low <= row[1] <= high
        assert half[1] == max(row[1] - low, high - row[1])


def test_a_price_with_a_parameter(session: Session) -> None:
    check = session.check(f"{COUNT} SPEND EPSILON $e DELTA 1e-6")
    assert check.ok and str(check.cost.epsilon) == "$e"
    assert session.run(f"{COUNT} SPEND EPSILON $e DELTA 1e-6", e=90).rows[0] == ("cook", 300)


def test_different_values_of_groups_that_are_found(session: Session) -> None:
    """Whose values they are is forgotten before they are counted, and not before the groups are found."""
    query = "SELECT job, COUNT(DISTINCT born) AS n FROM people GROUP BY job SPEND EPSILON 200 DELTA 1e-6"
    assert session.run(query).rows == (("cook", 2), ("nurse", 2), (None, 2))


def test_rollups_of_groups_that_are_found(session: Session) -> None:
    answer = session.run(
        "SELECT job, COUNT(*) AS n FROM people WHERE job IS NOT NULL GROUP BY ROLLUP (job) SPEND EPSILON 200 DELTA 1e-9"
    )
    assert answer.rows == (("cook", 300), ("nurse", 300), (None, 600))


def test_where_no_group_is_found_it_is_said_how_large_one_had_to_be() -> None:
    few = people(9)
    with connect(policy=POLICY, frames={"people": few, "visits": visits()}, analyst="ada") as opened:
        for asked in ("SELECT job, COUNT(*) FROM people", "SELECT job, SUM(age) FROM people"):
            found = opened.run(f"{asked} GROUP BY job SPEND EPSILON 0.5 DELTA 1e-9")
            (even,) = [one["even"] for one in found.certificate["measurements"] if one.get("even")]
            assert not found.rows and f"one of {even} units (person) is found half of the time" in str(found)
    with connect(policy=POLICY, frames={"people": people(), "visits": visits()}, analyst="ada") as opened:
        assert "half of the time" not in str(opened.run(f"{asked} GROUP BY job SPEND EPSILON 1 DELTA 1e-6"))
