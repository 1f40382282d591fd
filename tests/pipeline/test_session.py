"""A session, end to end over frames: what is checked, charged, answered, answered again, and refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import privql
from privql.diagnostics import PrivQLError, Span
from privql.session import Session
from tests.check.clinic import FRAMES, clinic
from tests.pipeline.small import SMALL, codes, left, refused


@pytest.fixture
def session() -> Iterator[Session]:
    with clinic(SMALL) as opened:
        yield opened


def test_checking_costs_nothing_and_running_costs_what_was_checked(session: Session) -> None:
    before = left(session)
    check = session.check("SELECT COUNT(*) AS n, AVG(age) FROM patients SPEND EPSILON 1/3")
    assert check.ok and check.cost.epsilon == Fraction(1, 3) and left(session) == before
    answer = session.run("SELECT COUNT(*) AS n, AVG(age) FROM patients SPEND EPSILON 1/3")
    assert answer.cost.epsilon == Fraction(1, 3) and left(session) == before - Fraction(1, 3)
    assert [column.name for column in answer.columns] == ["n", "avg"] and len(answer.rows) == 1
    assert answer.release_id and answer.certificate["measurements"][0]["epsilon"] == "1/6"


def test_the_same_question_again_is_free_and_has_the_same_answer(session: Session) -> None:
    text = "SELECT sex, COUNT(*) FROM patients GROUP BY sex SPEND EPSILON 0.5"
    first, spent = session.run(text), left(session)
    for again in (text, text.lower(), f"{text}  -- once more", text.replace("0.5", "  0.5 ")):
        check = session.check(again)
        assert check.free == "replay" and not check.epsilon and check.cost.epsilon == 0, again
        answer = session.run(again)
        assert answer.rows == first.rows and answer.cost.epsilon == 0 and answer.release_id == first.release_id
    assert left(session) == spent
    assert session.check(text.replace("0.5", "0.25")).free is None


def test_other_columns_are_another_question(session: Session) -> None:
    asked = "AS SELECT COUNT(*), COUNT(*) FILTER (WHERE sex = 'F') FROM patients SPEND EPSILON 0.1"
    for name, columns in (("one", '"a, b", c'), ("two", 'a, "b, c"')):
        session.run(f"CREATE RELEASE {name} ({columns}) {asked}")
    assert [column.name for column in session.run("SELECT * FROM two").columns] == ["a", "b, c"]


def test_what_nothing_reads_is_not_paid_for(session: Session) -> None:
    unread = (
        "WITH a AS (SELECT COUNT(*) AS n FROM patients), b AS (SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex)"
    )
    answer = session.run(f"{unread} SELECT sex, n, (SELECT MAX(n) FROM b) AS m FROM b SPEND EPSILON 0.5")
    assert [row[0] for row in answer.rows] == ["F", "M", "X", None]
    assert {row[2] for row in answer.rows} == {max(row[1] for row in answer.rows)}
    assert len(answer.certificate["measurements"]) == 1
    assert session.run(f"{unread} SELECT 1").cost.epsilon == 0 and left(session) == 1


def test_parameters_by_mapping_and_by_name(session: Session) -> None:
    text = "SELECT COUNT(*) FROM patients WHERE age > $least SPEND EPSILON $e"
    assert session.check(text).params == ("least", "e") and str(session.check(text).cost) == "ε = $e"
    assert session.check(text, {"least": 30}).params == ("least", "e")
    assert session.check(text, {"e": "1/7"}, least=30).cost.epsilon == Fraction(1, 7)
    one = session.run(text, {"least": 30, "e": 0.5})
    assert session.run(text, least=30, e="0.5").rows == one.rows
    assert session.check(text, least=31, e=0.5).free is None
    assert refused(session, text, e=0.1) == ["PQL0304"] and refused(session, text) == ["PQL0304"]
    with pytest.raises(PrivQLError) as caught:
        session.run(text, least=1)
    assert caught.value.diagnostics[0].span == Span(text.index("$e"), len(text))
    assert refused(session, text, least=[1], e=0.1) == ["PQL0304"]
    assert refused(session, text, least=1, e=-1) == ["PQL0503"]
    assert left(session) == 1


def test_a_file_is_priced_whole_and_refused_before_its_first_statement(session: Session, tmp_path: Path) -> None:
    report = tmp_path / "report.pql"
    parts = [f"SELECT COUNT(*) FROM patients WHERE age > {at} SPEND EPSILON 0.6;" for at in (10, 20, 30)]
    report.write_text("\n".join(parts), encoding="utf-8")
    check = session.check_file(report)
    assert not check.ok and [d.code for d in check.diagnostics] == ["PQL0502"] and check.total.epsilon == Fraction(9, 5)
    assert check.over[0].to_json()["line"] == 3 and not check.costs[0].fits
    with pytest.raises(PrivQLError, match="PQL0502"):
        session.run_file(report)
    assert left(session) == Fraction(3, 2)
    answers = session.run_file(report, partial=True)
    assert len([next(answers), next(answers)]) == 2
    with pytest.raises(PrivQLError, match="PQL0502"):
        next(answers)
    assert left(session) == Fraction(3, 10)
    report.write_text("\n".join(parts[:2]), encoding="utf-8")
    assert session.check_file(report).ok and session.check_file(report).total.epsilon == 0


def test_releases_are_kept_read_and_built_upon(session: Session) -> None:
    text = """
      CREATE RELEASE by_sex AS SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex SPEND EPSILON 0.5;
      CREATE RELEASE shares (who, part) AS SELECT sex, n / SUM(n) OVER () FROM by_sex;
      SELECT s.who, r.name FROM shares s CROSS JOIN regions r ORDER BY 1, 2;
    """
    check = session.check_text(text)
    assert check.ok and [one.free for one in check.statements] == [None, "post-processing", "post-processing"]
    first, second, third = session.run_text(text)
    assert [column.name for column in second.columns] == ["who", "part"] and len(third.rows) == 20
    assert first.rows == session.run("SELECT * FROM BY_SEX").rows
    assert {row[0] for row in session.run("SHOW RELEASES").rows} == {"by_sex", "shares"}
    assert [row[:2] for row in session.run("DESCRIBE by_sex").rows] == [("sex", "TEXT"), ("n", "INT")]
    assert left(session) == 1
    again = session.run(
        "CREATE RELEASE by_sex AS SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex SPEND EPSILON 0.5"
    )
    assert again.rows == first.rows and left(session) == 1
    assert len(refused(session, "CREATE RELEASE by_sex AS SELECT COUNT(*) AS n FROM patients SPEND EPSILON 0.5")) == 1
    assert refused(session, "SELECT n FROM by_age") == ["PQL0201"]
    assert refused(session, "CREATE RELEASE adults AS SELECT 1") == ["PQL0208"]


def test_a_number_that_passes_through_keeps_its_error(session: Session) -> None:
    def measured(text: str) -> list[bool]:
        return [column.law is not None for column in session.run(text).columns]

    made = session.run(
        "CREATE RELEASE r AS SELECT sex, COUNT(*) AS n, AVG(age) AS m FROM patients GROUP BY sex SPEND EPSILON 0.2"
    )
    again = session.run("SELECT n, m, n + 1, sex FROM r WHERE sex <> 'X' ORDER BY n")
    assert [column.law for column in again.columns] == [made.columns[1].law, None, None, None]
    assert [name for name in again.interval().columns if name[:2] in ("n_", "m_")] == [
        "n_low",
        "n_high",
        "m_low",
        "m_high",
    ]
    assert len(again.interval().columns) == 6  # that of n + 1 is computed, as is that of a mean of another answer
    session.run("CREATE RELEASE again AS SELECT n AS k FROM r LIMIT 1")
    assert measured("SELECT k FROM again") == [True]
    both = "SELECT COUNT(*) AS n FROM patients WHERE {} UNION ALL SELECT COUNT(*) FROM patients WHERE NOT {} SPEND {}"
    assert measured(both.format("smoker", "smoker", "EPSILON 0.2")) == [True]
    assert measured("SELECT n FROM r UNION ALL SELECT n FROM r") == [True]
    assert measured("SELECT n FROM r UNION SELECT n FROM r") == [False]
    assert measured("SELECT n FROM r UNION ALL SELECT 1") == [False]
    other = "SELECT n FROM r UNION ALL (SELECT COUNT(*) FROM patients WHERE age > 9 SPEND EPSILON 0.3)"
    assert measured(other) == [False]  # their noise differs
    assert measured("SELECT m FROM r UNION ALL SELECT m FROM r") == [False]


def test_groups_are_those_of_a_release_that_is_there(session: Session) -> None:
    """Its rows were handed out, so they are as known as a public table's; a promise of the same text is not."""
    few = "SELECT sex AS g, COUNT(*) AS n FROM patients GROUP BY 1 KEYS ('F', 'Y') SPEND EPSILON 0.2"
    made = f"CREATE RELEASE few AS {few}"
    use = (
        "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex KEYS (SELECT g FROM few WHERE n > -1e6) SPEND EPSILON 0.2"
    )
    checked = session.check_text(f"{made}; {use}")
    assert [d.code for d in checked.diagnostics] == ["PQL0308"] and left(session) == Fraction(3, 2)
    assert "an earlier line" in checked.diagnostics[0].why
    session.run(made)
    assert session.check_text(f"{made}; {use}").ok
    assert [row[0] for row in session.run(use).rows] == ["F", "Y"] and session.check(use).free == "replay"
    assert refused(session, use.replace("SELECT g", "SELECT n")) == ["PQL0301"]
    assert refused(session, use.replace("few", "nobody")) == ["PQL0201"]


def test_a_name_that_is_taken_is_told_before_anything_is_spent(session: Session) -> None:
    taken = "CREATE RELEASE by_sex AS SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex SPEND EPSILON 0.2"
    session.run(taken)
    assert session.check(taken).ok  # the same release
    left = session.budget()
    text = f"SELECT COUNT(*) FROM patients SPEND EPSILON 0.1; {taken.replace('0.2', '0.3')}"
    checked = session.check_text(text)
    assert [found.code for one in checked.statements for found in one.diagnostics] == ["PQL0208"]
    with pytest.raises(PrivQLError, match="another release named `by_sex`"):
        session.run_text(text)
    assert str(session.budget()) == str(left)


def test_what_a_failed_statement_would_define_is_poisoned_and_its_dependants_are_silent(session: Session) -> None:
    text = """
      CREATE RELEASE a AS SELECT SUM(income) AS x FROM patients SPEND EPSILON 0.1;
      CREATE RELEASE b AS SELECT x + 1 AS y FROM a;
      SELECT y FROM b;
      SELECT nothing FROM patients;
      SELECT COUNT(*) FROM patients SPEND EPSILON 0.1
    """
    check = session.check_text(text)
    assert [d.code for d in check.diagnostics] == ["PQL0402", "PQL0202"]
    assert [one.ok for one in check.statements] == [False, False, False, False, True]
    assert [one.silent for one in check.statements] == [False, True, True, False, False]
    with pytest.raises(PrivQLError) as caught:
        session.run_text(text)
    assert codes(caught.value) == ["PQL0402", "PQL0202"] and left(session) == Fraction(3, 2)


def test_several_errors_of_a_text_at_once(session: Session) -> None:
    text = "SELEC 1;\nSELECT nam FROM regions;\nSELECT 'a;\n"
    assert [d.code for d in session.check_text(text, name="q.pql").diagnostics] == ["PQL0101", "PQL0202", "PQL0102"]
    assert [d.to_json()["line"] for d in session.check_text(text).diagnostics] == [1, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE UNIT u",
        "CREATE PRIVATE TABLE t (a INT)",
        "CREATE PUBLIC TABLE t (a INT)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE BUDGET b FOR UNIT patient EPSILON 5",
        "GRANT research TO alice",
        "REFRESH patients AS '2'",
    ],
)
def test_the_owners_statements_are_refused(text: str, session: Session) -> None:
    assert refused(session, text) == ["PQL0413"]
    assert [d.code for d in session.check_text(f"{text}; SELECT 1").diagnostics] == ["PQL0413"]


def test_show_describe_and_explain_spend_nothing(session: Session) -> None:
    assert ("patients", "private, of patient") in session.run("SHOW TABLES").rows
    assert ("regions", "public") in session.run("show tables").rows
    assert ("research", "patient", "left to you", "ε = 1.5, by your limit") in session.run("SHOW BUDGET").rows
    described = {row[0]: row[1:] for row in session.run("DESCRIBE patients").rows}
    assert described["patient_id"] == ("TEXT", "any, not NULL", "names a patient, key")
    assert described["admitted"] == ("DATE", "[2024-01-01, 2025-12-31] or NULL", "")
    assert described["seen"][1] == "[2024-01-01 00:00:00, 2024-01-02 00:00:00] or NULL"
    assert described["note"][2] == "hidden"
    query = "SELECT admitted, SUM(weight) FROM patients GROUP BY admitted SPEND EPSILON 1/3"
    lines = [row[0] for row in session.run(f"EXPLAIN {query}").rows]
    assert lines == session.explain(query).splitlines()
    assert "  group by admitted: 732 groups, 2024-01-01, 2024-01-02, 2024-01-03, 2024-01-04, …, NULL" in lines
    assert "    ε = 1/3: discrete Laplace noise, scale 900, ± 2697 at 95%" in lines and "total: ε = 1/3" in lines
    assert session.check(f"EXPLAIN {query}").cost.epsilon == 0 and left(session) == Fraction(3, 2)


def test_a_halfwidth_is_short_for_people_and_exact_for_programs(session: Session) -> None:
    check = session.check("SELECT SUM(weight) AS w, COUNT(*) AS n, SUM(cost) AS c FROM patients SPEND EPSILON 1")
    said = str(check).splitlines()
    assert said == [
        "line 1: select, ε = 1",
        "  w: FLOAT Released ± 2697 (95%)",
        "  n: INT Released ± 9 (95%)",
        "  c: DECIMAL(38,2) Released ± 179708 (95%)",
    ]
    exact = [Fraction(column["halfwidth95"]) for column in check.to_json()["columns"]]
    assert 2696 < exact[0] <= 2697 and exact[1] == 9 and 179707 < exact[2] <= 179708
    small = session.check("SELECT SUM(weight / 1e6) FROM patients SPEND EPSILON 1")
    assert str(small).endswith("± 0.0008988 (95%)")


def test_dummy_rows_cost_nothing_and_say_so(session: Session) -> None:
    invented = session.run("SELECT * FROM DUMMY patients LIMIT 5")
    assert invented.dummy and len(invented.rows) == 5 and invented.cost.epsilon == 0
    assert "note" not in {column.name for column in invented.columns}
    assert left(session) == Fraction(3, 2)
    with privql.connect(policy=SMALL, frames=FRAMES, analyst="alice", data="dummy") as dummy:
        answer = dummy.run("SELECT sex, COUNT(*) FROM patients GROUP BY sex SPEND EPSILON 1")
        assert answer.dummy and answer.to_json()["dummy"] is True and len(answer.rows) == 4


def test_a_session_that_is_closed_answers_and_charges_no_more() -> None:
    with clinic() as session:
        before = session.run("SELECT COUNT(*) FROM patients SPEND EPSILON 0.1")
        session.close()
        asked = "SELECT COUNT(*) FROM patients SPEND EPSILON 0.2"
        ways: list[Callable[[], object]] = [
            lambda: session.run(asked),
            lambda: session.check(asked),
            lambda: session.explain(asked),
            lambda: list(session.run_text(asked)),
            session.budget,
            session.names,
        ]
        for way in ways:
            with pytest.raises(PrivQLError, match="this session is closed"):
                way()
    assert before.rows, "what was released stays"


def test_a_parameter_that_no_query_uses_is_a_slip(session: Session) -> None:
    asked = "SELECT COUNT(*) FROM patients WHERE age > $age SPEND EPSILON 0.1"
    before = left(session)
    with pytest.raises(PrivQLError, match=r"no query uses `\$aeg`.*\n.*did you mean `\$age`"):
        session.run(asked, age=3, aeg=4)
    assert not session.check(asked, {"age": 3, "zz": 1}).ok and session.check(asked, age=3).ok
    noted = session.check("SELECT COUNT(*) FROM patients WHERE age > 200 SPEND EPSILON 0.1", {"zz": 1})
    assert [d.severity for d in noted.diagnostics] == ["note", "error"], "although no row passes the condition"
    assert left(session) == before


def test_one_statement_is_one_statement(session: Session) -> None:
    assert refused(session, "") == ["PQL0113"] and refused(session, "SELECT 1; SELECT 2") == ["PQL0113"]
    assert refused(session, "SELEC 1") == ["PQL0101"]


def test_a_frame_that_is_not_what_is_declared_is_corrected_by_who_gives_it() -> None:
    ages, twice = FRAMES["patients"].drop(columns=["age"]), FRAMES["patients"].iloc[[0, 0]]
    for frame, code in ((ages, "PQL0602"), (twice, "PQL0603")):
        frames = {**FRAMES, "patients": frame}
        with (
            privql.connect(policy=SMALL, frames=frames, analyst="alice") as opened,
            pytest.raises(PrivQLError) as caught,
        ):
            opened.run("SELECT COUNT(*) FROM patients SPEND EPSILON 0.1")
        (found,) = caught.value.diagnostics
        assert found.code == code and "frame" in found.help and "policy apply" not in found.help
