"""What may stand in a call beside its arguments: nothing is taken and then left out of account."""

from __future__ import annotations

import pytest

from privql.session import Session

CLAUSES = {  # by its name: the call, of its arguments and of the first of them
    "DISTINCT": "(DISTINCT {0})",
    "ORDER BY": "({0} ORDER BY {1})",
    "LIMIT": "({0} LIMIT 1)",
    "NULLS": "({0} IGNORE NULLS)",
    "SHARE": "({0} SHARE 2)",
    "WITHIN GROUP": "({0}) WITHIN GROUP (ORDER BY {1})",
    "FILTER": "({0}) FILTER (WHERE {1} IS NOT NULL)",
}
PUBLIC, PAID = "SELECT {} FROM regions", "SELECT {} FROM patients SPEND EPSILON 1"
OF_A_UNIT = "SELECT COUNT(x) FROM (SELECT {} AS x FROM visits GROUP BY patient_id) AS v SPEND EPSILON 1"
OF_ITS_ROWS = "SELECT COUNT(x) FROM (SELECT {} AS x FROM visits) AS v SPEND EPSILON 1"
OWN = " OVER (PARTITION BY patient_id ORDER BY minutes)"

TAKEN = [  # a function, its arguments, what follows them, where it stands, and what it takes
    ("ABS", "population", "", PUBLIC, []),
    ("COALESCE", "population, 1", "", PUBLIC, []),
    ("ERROR", "COUNT(*)", "", PAID, []),
    ("LOW", "COUNT(*), 0.9", "", PAID, []),
    ("LAG", "population", " OVER (ORDER BY name)", PUBLIC, ["NULLS"]),
    ("SUM", "population", " OVER (ORDER BY name)", PUBLIC, ["NULLS", "FILTER"]),
    ("LAG", "minutes", OWN, OF_ITS_ROWS, []),
    ("FIRST_VALUE", "minutes", OWN, OF_ITS_ROWS, ["NULLS"]),
    ("SUM", "minutes", OWN, OF_ITS_ROWS, ["FILTER"]),
    ("SUM", "population", "", PUBLIC, ["DISTINCT", "ORDER BY", "FILTER"]),
    ("STRING_AGG", "name, ','", "", PUBLIC, ["DISTINCT", "ORDER BY", "FILTER"]),
    ("MODE", "name", "", PUBLIC, ["DISTINCT", "ORDER BY", "FILTER"]),
    ("SUM", "minutes", "", OF_A_UNIT, ["DISTINCT", "FILTER"]),
    ("COUNT", "minutes", "", OF_A_UNIT, ["DISTINCT", "FILTER"]),
    ("SUM", "age", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("COUNT", "age", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("AVG", "age", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("MAX", "age", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("MEDIAN", "age", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("QUANTILE", "age, 0.5", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("MODE", "sex", "", PAID, ["SHARE", "FILTER"]),
    ("HISTOGRAM", "age, 3", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("VARIANCE", "age", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("CORR", "age, cost", "", PAID, ["DISTINCT", "SHARE", "FILTER"]),
    ("REGR_COUNT", "age, cost", "", PAID, ["SHARE", "FILTER"]),
]


@pytest.mark.parametrize(("name", "args", "then", "query", "taken"), TAKEN)
def test_a_call_takes_these_clauses_and_no_others(
    name: str, args: str, then: str, query: str, taken: list[str], session: Session
) -> None:
    assert session.check(query.format(f"{name}({args}){then}")).ok
    found = []
    for clause, written in CLAUSES.items():
        check = session.check(query.format(name + written.format(args, args.split(",")[0]) + then))
        assert {d.code for d in check.diagnostics} <= {"PQL0301", "PQL0303", "PQL0305", "PQL0408", "PQL0409"}, clause
        found += [clause] * check.ok
    assert found == taken
