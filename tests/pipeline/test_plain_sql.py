"""With next to no noise, a private answer is the plain SQL's on the same rows: DuckDB's own, on values as declared."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import privql
from privql.demo import write_example
from privql.session import Session

QUERIES = [
    "SELECT COUNT(*) FROM patients",
    "SELECT COUNT(*), COUNT(smoker), AVG(age), SUM(cost) FROM patients WHERE age BETWEEN 30 AND 60",
    "SELECT sex, COUNT(*), AVG(cost), SUM(cost) FROM patients GROUP BY sex",
    "SELECT EXTRACT(MONTH FROM admitted), COUNT(*), AVG(age) FILTER (WHERE smoker) FROM patients GROUP BY 1",
    "SELECT region, SUM(CASE WHEN age > 50 THEN cost ELSE 0 END), COUNT(smoker) FROM patients GROUP BY region",
    "SELECT CASE WHEN age < 40 THEN 'a' WHEN age < 65 THEN 'b' ELSE 'c' END, COUNT(*) FROM patients GROUP BY 1",
    "SELECT ward, AVG(score), COUNT(*), SUM(score * 2 - 1) FROM ward_checks GROUP BY ward",
    "SELECT DATE_TRUNC('month', admitted), SUM(age * 2 - 1) FROM patients"
    " WHERE admitted >= DATE '2024-06-01' AND sex LIKE 'F%' GROUP BY 1",
    "SELECT sex, AVG(cost) - AVG(age) FROM patients WHERE cost > 100.5 GROUP BY sex",
    "SELECT COUNT(*) FROM patients AS p"
    " WHERE cost > ANY (SELECT q.age * 20 FROM patients AS q WHERE q.patient_id = p.patient_id)",
    "SELECT COUNT(*) FROM patients WHERE FLOOR(cost / 100) IN (SELECT v FROM (VALUES (2.0), (5.0), (9.0)) AS t(v))",
    "SELECT smoker, ROUND(SUM(COALESCE(cost, 0)) / COUNT(*), 2) FROM patients GROUP BY smoker",
]


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    folder: Path = tmp_path_factory.mktemp("hospital")
    write_example(folder)
    policy = (folder / "policy.pql").read_text()
    amounts = r"EPSILON [\d.]+( DEFAULT EPSILON [\d.]+)?( MAX EPSILON [\d.]+ PER QUERY)?"
    policy = re.sub(r"LIMIT EPSILON [\d.]+ EACH", "", re.sub(amounts, "EPSILON 1000000", policy))
    (folder / "policy.pql").write_text(policy)
    declared = re.search(r"cost\s+DECIMAL\(10,2\) BETWEEN 0 AND (\d+)", policy)
    assert declared is not None
    plain = duckdb.connect()
    clamped = f"CAST(CASE WHEN cost > {declared[1]} THEN {declared[1]} ELSE cost END AS DECIMAL(10,2)) AS cost"
    plain.execute(f"CREATE VIEW patients AS SELECT * REPLACE ({clamped}) FROM '{folder}/patients.parquet'")
    plain.execute(f"CREATE VIEW ward_checks AS SELECT * FROM '{folder}/ward_checks.parquet'")
    with privql.connect(policy=folder / "policy.pql", analyst="alice") as session:
        yield session, plain
    plain.close()


def plainly(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        value = value.date()
    return (value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_is_the_plain_one(query: str, sides: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    session, plain = sides
    keyed = "GROUP BY" in query
    wanted = {plainly(row[0]) if keyed else None: row for row in plain.execute(query).fetchall()}
    answered = {row[0] if keyed else None: row for row in session.run(f"{query} SPEND EPSILON 90000").rows}
    assert wanted.keys() <= answered.keys()
    for key, row in wanted.items():
        for got, exact in zip(answered[key][keyed:], row[keyed:], strict=True):
            if exact is None:
                assert got is None
            else:
                exact = Fraction(exact) if isinstance(exact, Decimal | int) else Fraction(float(exact))
                assert abs(Fraction(got) - exact) <= max(abs(exact), 1) / 1000
    for key, row in answered.items():
        if key not in wanted:  # a group that nobody is in
            assert all(got is None or abs(got) < 1 for got in row[keyed:])
