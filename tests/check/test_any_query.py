"""Whatever can be written is checked without a fault, and whatever passes over public tables runs.

Random trees of the language are mostly nonsense; random queries that know the tables mostly pass. Of these, every value
of an answer must lie in the domain that the check names for its column.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from privql.session import Session
from privql.syntax import unparse
from tests import generate_ast
from tests.assurance import assured, length
from tests.generate_ast import Trees

PARTS = range(length(2, 40))
NAMES = ["code", "name", "population", "area", "founded", "open", "id", "height", "staff", "checked", "Long Name",
         "age", "sex", "cost", "r", "s", "regions", "stations", "patients", "tall"]  # fmt: skip
FUNCTIONS = ["count", "SUM", "avg", "lag", "max", "min", "coalesce", "UPPER", "ABS", "row_number", "rank", "round",
             "length", "median", "nullif", "if", "clamp", "first_value", "string_agg", "date_trunc", "grouping", "sqrt",
             "extract", "random", "ntile", "quantile"]  # fmt: skip


@pytest.mark.parametrize("seed", PARTS)
def test_no_text_is_a_fault(seed: int, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault would be raised as itself: refusals are diagnostics of the check."""
    with assured("any-query") as tally:
        tally["tried"] += 300
        monkeypatch.setattr(generate_ast, "NAMES", NAMES)
        monkeypatch.setattr(generate_ast, "FUNCTIONS", FUNCTIONS)
        monkeypatch.setattr(generate_ast, "TYPES", ["INT", "TEXT", "DATE", "TIMESTAMP", "DOUBLE", "DECIMAL", "BOOL"])
        for at in range(300):
            trees = Trees(seed * 300 + at)
            text = unparse(trees.query(trees.random.choice((1, 2, 3))) if at % 4 else trees.statement(2))
            check = session.check_text(text)
            assert check.ok or all(d.code in d.to_json()["code"] and d.message for d in check.diagnostics), text
            check.to_json()
            str(check)


READS_AROUND = [  # a public row, from a query of private rows
    "SELECT COUNT(*) FROM visits v GROUP BY r.code",
    "SELECT COUNT(*) FROM visits v GROUP BY v.ward = r.code",
    "SELECT COUNT(DISTINCT minutes + r.population) FROM visits v",
    "SELECT SUM(minutes) FILTER (WHERE ward = r.code) FROM visits v",
    "SELECT MEDIAN(CLAMP(minutes + r.population, 0, 9)) FROM visits v",
    "SELECT COUNT(*) FROM visits v WHERE v.minutes > r.population",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stations s WHERE s.id = v.minutes AND s.code = r.code)",
    "SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id AND v.ward = r.code",
    "SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id AND v.ward = r.code",
    "SELECT COUNT(*) FROM visits v LEFT JOIN stations s ON s.id = v.minutes AND s.code = r.code",
    "SELECT COUNT(*) FROM (SELECT ward = r.code AS here FROM visits v) AS x WHERE here",
    "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits v GROUP BY patient_id HAVING COUNT(*) > r.population) AS x",
    "SELECT COUNT(n) FROM (SELECT patient_id, MAX(minutes + r.population) AS n FROM visits v GROUP BY ALL) AS x",
    "SELECT SUM(n) FROM (SELECT RANK() OVER (PARTITION BY patient_id ORDER BY r.code) AS n FROM visits v) AS x",
    "SELECT SUM(n) FROM (SELECT RANK() OVER (PARTITION BY patient_id, r.code) AS n FROM visits v) AS x",
    "SELECT COUNT(*) FROM (SELECT * FROM visits v ORDER BY minutes + r.population LIMIT 2 PER UNIT) AS x",
    "SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, ward = r.code FROM visits v) AS x",
    "SELECT COUNT(*) FROM (SELECT ward FROM visits v UNION ALL SELECT r.code FROM visits v) AS x",
]


@pytest.mark.parametrize("query", READS_AROUND)
def test_what_is_measured_reads_no_row_around_it(query: str, session: Session) -> None:
    for text in (f"SELECT ({query}) FROM regions r", f"SELECT * FROM regions r, LATERAL ({query}) AS y"):
        assert [found.code for found in session.check(f"{text} SPEND EPSILON 1").diagnostics] == ["PQL0408"], text


class Public:
    """Random queries over the clinic's public tables that should nearly all pass."""

    NUMBERS = ("id", "staff", "height", "population", "area", "7", "0", "2.5", "1e1", "NULL")
    TEXTS = ("code", "name", '"Long Name"', "'N'", "'st'", "NULL")
    FROM = (
        "regions r CROSS JOIN stations s",
        "regions r {} JOIN stations s ON r.code = s.code",
        "regions r {} JOIN stations s ON r.population > s.staff * 30 AND s.id < 6",
        "(SELECT * FROM regions WHERE population > 80) AS r {} JOIN stations s ON r.code = s.code",
        "(SELECT * FROM regions UNION ALL SELECT 'N', '', 1, 2.5, NULL, TRUE) AS r {} JOIN stations s ON TRUE",
        "regions r, LATERAL (SELECT * FROM stations t WHERE t.code = r.code) AS s",
    )

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)

    def number(self, depth: int = 2) -> str:
        pick = self.choice
        if depth == 0 or pick.random() < 0.3:
            return pick.choice(self.NUMBERS)
        x, y = self.number(depth - 1), self.number(depth - 1)
        return pick.choice(
            (
                f"({x} {pick.choice('+-*/%')} {y})",
                f"CASE WHEN {self.condition(depth - 1)} THEN {x} ELSE {y} END",
                f"COALESCE({x}, {y})",
                f"NULLIF({x}, {y})",
                f"ABS({x})",
                f"GREATEST({x}, {y})",
                f"CLAMP({x}, 0, 9)",
                f"LENGTH({self.text()})",
                "EXTRACT(MONTH FROM founded)",
                "EXTRACT(HOUR FROM checked)",
                "(CAST(checked AS DATE) - founded)",
                f"(SELECT MAX(q.id) FROM stations q WHERE q.id < {self.choice.choice(('s.id', '4', 'r.population'))})",
            )
        )

    def text(self) -> str:
        pick = self.choice
        x = pick.choice(self.TEXTS)
        return pick.choice((x, f"UPPER({x})", f"({x} || 'a')", f"COALESCE({x}, 'q')", f"LEFT({x}, 2)"))

    def condition(self, depth: int = 2) -> str:
        pick = self.choice
        if depth > 0 and pick.random() < 0.4:
            x, y = self.condition(depth - 1), self.condition(depth - 1)
            return pick.choice((f"({x} AND {y})", f"({x} OR {y})", f"(NOT {x})", f"({x} IS NOT TRUE)"))
        number = self.number(0)
        return pick.choice(
            (
                f"{number} {pick.choice(('<', '<=', '=', '<>', '>=', '>'))} {self.number(0)}",
                f"{number} BETWEEN 1 AND 5",
                f"{number} IN (1, 2.5, NULL)",
                f"{number} IS NULL",
                f"{self.text()} LIKE '%o%'",
                f"{self.text()} = {self.text()}",
                "open",
                "founded > '1940-01-01'",
                "code IN (SELECT q.code FROM stations q WHERE q.staff > 2)",
                "EXISTS (SELECT 1 FROM stations q WHERE q.code = r.code AND q.id <> s.id)",
                "population > ALL (SELECT q.staff FROM stations q)",
            )
        )

    def value(self) -> str:
        return self.number() if self.choice.random() < 0.7 else self.text()

    def aggregate(self) -> str:
        pick = self.choice
        made = pick.choice(
            (
                "COUNT(*)",
                f"COUNT({self.text()})",
                f"{pick.choice(('SUM', 'AVG', 'MIN', 'MAX', 'MEDIAN'))}({self.number(1)})",
                f"COUNT(DISTINCT {self.number(0)})",
                f"MAX({self.text()})",
            )
        )
        return made if pick.random() < 0.8 else f"{made} FILTER (WHERE {self.condition(1)})"

    def window(self, of: str) -> str:
        pick = self.choice
        call = pick.choice(("RANK()", "ROW_NUMBER()", f"LAG({of})", f"MAX({of})", "COUNT(*)", f"FIRST_VALUE({of})"))
        part = f"PARTITION BY {of} " if pick.random() < 0.3 else ""
        frame = " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW" if call.startswith("MAX") and pick.random() < 0.5 else ""
        return f"{call} OVER ({part}ORDER BY {of} DESC{frame})"

    def query(self) -> str:
        pick = self.choice
        source = pick.choice(self.FROM).format(pick.choice(("", "LEFT", "RIGHT", "FULL")))
        tail = f" FROM {source}" + (f" WHERE {self.condition()}" if pick.random() < 0.6 else "")
        if pick.random() < 0.5:
            keys = [self.value() for _ in range(pick.choice((0, 1, 2)))]
            items = [*keys, self.aggregate(), *([self.window("COUNT(*)")] if pick.random() < 0.3 else [])]
            # a number alone would be a position
            by = ", ".join(str(at) if key in self.NUMBERS else f"({key})" for at, key in enumerate(keys, 1))
            if keys:
                tail += pick.choice((f" GROUP BY {by}", " GROUP BY ALL", f" GROUP BY ROLLUP ({by})",
                                     f" GROUP BY CUBE ({by})"))  # fmt: skip
            if pick.random() < 0.3:
                tail += f" HAVING {self.aggregate()} IS NOT NULL"
        else:
            items = [self.value() for _ in range(pick.choice((1, 2, 3)))]
            items += [self.window(self.number(0))] if pick.random() < 0.4 else []
        if pick.random() < 0.3:
            tail += f" ORDER BY {pick.randint(1, len(items))} LIMIT 4"
        distinct = "DISTINCT " if pick.random() < 0.2 else ""
        listed = ", ".join(f"{item} AS v{at}" for at, item in enumerate(items))
        text = f"SELECT {distinct}{listed}{tail}"
        for plain, owner in (("code", "r"), ("id", "s")):  # both tables have a code
            text = text.replace(f" {plain} ", f" {owner}.{plain} ").replace(f"({plain})", f"({owner}.{plain})")
            text = text.replace(f"({plain},", f"({owner}.{plain},").replace(f"({plain} ", f"({owner}.{plain} ")
        return text


@pytest.mark.parametrize("seed", PARTS)
def test_what_passes_runs_and_says_of_its_columns_what_is_so(seed: int, session: Session) -> None:
    with assured("any-query") as tally:
        tally["tried"] += 60
        queries, refused = Public(seed), Counter[str]()
        for _ in range(60):
            text = queries.query()
            check = session.check(text)
            if not check.ok:
                refused.update(d.code for d in check.diagnostics)
                assert {d.code for d in check.diagnostics} <= {"PQL0203", "PQL0301", "PQL0306", "PQL0302"}, str(check)
                continue
            answer = session.run(text)
            for row in answer.rows:
                for column, value in zip(check.columns, row, strict=True):
                    assert value in column.attribute.domain, (text, column.name, column.domain, value)
            again = session.run(f"WITH q AS ({text}) SELECT * FROM (SELECT * FROM q) AS q")
            assert Counter(again.rows) == Counter(answer.rows), text
        assert refused.total() < 30, refused
