"""The same text is the same question only if what it names is the same, too."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import privql
from privql.session import Session

POLICY = """
CREATE UNIT person;
CREATE PUBLIC TABLE regions (code TEXT KEY) FROM 'regions.csv';
CREATE PRIVATE TABLE people (id INT UNIT person KEY, x INT BETWEEN 0 AND 9, region TEXT REFERENCES regions(code))
  FROM 'people.csv';
CREATE BUDGET research FOR UNIT person EPSILON 100;
"""


def applied(folder: Path) -> Path:
    (folder / "policy.pql").write_text(POLICY)
    (folder / "regions.csv").write_text("code\nN\nS\n")
    (folder / "people.csv").write_text("id,x,region\n1,1,N\n2,2,S\n3,3,W\n")
    privql.apply(folder / "policy.pql", ledger=folder / "ledger.db")
    return folder / "ledger.db"


def spent(session: Session) -> int:
    return int(session.budget().budgets[0].spent.epsilon)


def test_a_release_of_the_same_name_is_each_analysts_own(tmp_path: Path) -> None:
    ledger = applied(tmp_path)
    query = "SELECT (SELECT n FROM r) - COUNT(*) + COUNT(*) AS mine FROM people SPEND EPSILON 1"
    answers = {}
    for name, value in (("alice", 111), ("bob", 222)):
        with privql.connect(ledger, analyst=name) as session:
            session.run(f"CREATE RELEASE r AS SELECT {value} AS n")
            answers[name] = session.run(query).rows
            assert session.run(query).cost.epsilon == 0
    assert answers == {"alice": ((111,),), "bob": ((222,),)}


def test_groups_that_a_public_table_gained_are_another_question(tmp_path: Path) -> None:
    ledger = applied(tmp_path)
    query = "SELECT region, COUNT(*) AS n FROM people WHERE region IS NOT NULL GROUP BY region SPEND EPSILON 1"
    with privql.connect(ledger, analyst="alice") as session:
        assert [row[0] for row in session.run(query).rows] == ["N", "S"] and spent(session) == 1
        (tmp_path / "regions.csv").write_text("code\nN\nS\nW\n")
        privql.apply(tmp_path / "policy.pql", ledger=ledger)
        assert session.check(query).groups == 3  # read again, since the file changed
        assert [row[0] for row in session.run(query).rows] == ["N", "S", "W"] and spent(session) == 2


def test_what_is_given_for_a_table_is_a_frame() -> None:
    text = POLICY.replace(" FROM 'regions.csv'", "").replace("\n  FROM 'people.csv'", "")
    for given in ([1, 2], {"id": [1]}, "people.csv"):
        with pytest.raises(privql.PrivQLError) as refused:
            privql.connect(policy=text, frames={"people": given}, analyst="alice")
        assert [d.code for d in refused.value.diagnostics] == ["PQL0744"]
    privql.connect(policy=text, frames={"people": pd.DataFrame({"id": [1]})}, analyst="alice").close()
