"""What an open session still believes of files and of a policy that have changed since it looked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import privql.pipeline.policies as policies
from privql.diagnostics import PrivQLError
from privql.ledger import Ledger
from privql.policy.catalog import Catalog
from privql.session import Session, apply, connect

COUNT = "SELECT COUNT(*) AS n FROM v SPEND EPSILON {}"


def policy(folder: Path, limit: str, key: str = "") -> None:
    text = f"""CREATE UNIT person;
    CREATE PRIVATE TABLE v (person INT UNIT person {key}, visit INT) {limit} FROM 'v.csv';
    CREATE BUDGET b FOR UNIT person EPSILON 1000;"""
    (folder / "p.sql").write_text(text)
    apply(folder / "p.sql", folder / "l.db")


def visits(folder: Path, columns: Sequence[str], people: int) -> None:
    rows: list[dict[str, Any]] = [{"person": at % people, "visit": 5000 + at} for at in range(1000)]
    lines = [",".join(columns), *(",".join(str(row[column]) for column in columns) for row in rows)]
    (folder / "v.csv").write_text("\n".join(lines) + "\n")


def count(session: Session, epsilon: int) -> int:
    return int(session.run(COUNT.format(epsilon)).rows[0][0])


def test_columns_of_a_text_file_are_those_of_the_file_that_is_read(tmp_path: Path) -> None:
    """Its columns are read by place: after an export in another order, `visit` must not be taken for the unit."""
    visits(tmp_path, ["person", "visit"], people=5)
    policy(tmp_path, "AT MOST 1 ROWS PER UNIT")
    with connect(tmp_path / "l.db", analyst="mallory") as session:
        assert count(session, 100) < 10
        visits(tmp_path, ["visit", "person"], people=5)
        apply(tmp_path / "p.sql", tmp_path / "l.db")
        assert count(session, 101) < 10


def test_a_key_is_verified_in_the_column_that_is_the_unit_now(tmp_path: Path) -> None:
    visits(tmp_path, ["person", "visit"], people=1000)
    policy(tmp_path, "", key="KEY")
    with connect(tmp_path / "l.db", analyst="mallory") as session:
        count(session, 100)
        visits(tmp_path, ["visit", "person"], people=5)
        with pytest.raises(PrivQLError, match="PQL0603"):
            count(session, 101)


def test_a_policy_applied_while_a_session_opens_is_not_passed_off_as_the_one_it_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits(tmp_path, ["person", "visit"], people=5)
    policy(tmp_path, "AT MOST 100 ROWS PER UNIT")
    read = policies.catalog_from_ledger

    def overtaken(ledger: Ledger) -> tuple[Catalog, Any, Path]:
        found = read(ledger)
        policy(tmp_path, "AT MOST 1 ROWS PER UNIT")
        return found

    monkeypatch.setattr(policies, "catalog_from_ledger", overtaken)
    with connect(tmp_path / "l.db", analyst="mallory") as session, pytest.raises(PrivQLError, match="PQL0510"):
        count(session, 100)


@pytest.mark.parametrize("broken", ['7,"unclosed\n', '"7,5\n', '7,"a"b"\n'])
def test_a_line_that_takes_others_with_it_is_refused_before_a_charge(tmp_path: Path, broken: str) -> None:
    """One row with a stray quote makes all rows behind it part of its text: no bound on a unit holds then."""
    lines = [f"{at},{at}\n" for at in range(1000)]
    (tmp_path / "v.csv").write_text("person,visit\n" + "".join([*lines[:10], broken, *lines[10:]]))
    with pytest.raises(PrivQLError):
        policy(tmp_path, "AT MOST 1 ROWS PER UNIT")
