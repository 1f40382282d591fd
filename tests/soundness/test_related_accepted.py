"""Most of the random SQL over related tables can be asked, whatever it is made of: else soaks test refusals."""

from __future__ import annotations

import random
import re
from collections import Counter

from privql.diagnostics import Source
from privql.pipeline.check import check_text
from tests.soundness.related_queries import Queries
from tests.soundness.test_related import ENVS, limited

QUERIES = 150
CONSTRUCTS = {
    "rank": r"(ROW_NUMBER|RANK|NTILE)\([0-9]?\) OVER",
    "neighbour": r"\b(LAG|LEAD|FIRST_VALUE|LAST_VALUE|NTH_VALUE)\(",
    "frame": r"(ROWS|RANGE|GROUPS) (BETWEEN|1|UNBOUNDED)",
    "aggregate as a window": r"(COUNT|SUM|MIN|MAX)\([^()]*\)( FILTER \([^()]*\))? OVER",
    "QUALIFY": "QUALIFY",
    "LIMIT PER UNIT": "LIMIT [0-9] PER UNIT",
    "CUBE, ROLLUP, GROUPING SETS": "CUBE|ROLLUP|GROUPING SETS",
    "DISTINCT aggregate": r"(COUNT|SUM|AVG)\(DISTINCT",
    "KEYS": r"KEYS \(",
    "unlisted groups": "job|fee",  # those that ask for them, and some more
    "BOUNDS AUTO": "BOUNDS AUTO",
    "HAVING": "HAVING",
    "FILTER": "FILTER",
    "set operation": "UNION|INTERSECT|EXCEPT",
    "query inside an expression": r"(EXISTS|IN|ANY|ALL|[-<>=+(,]) ?\(SELECT",
    "WITH": "^WITH",
    "view": "adults|per_patient|stays|tested",
    "outer join": "(LEFT|RIGHT|FULL) JOIN",
    "AT MOST ROWS": "AT MOST [0-9] ROWS",
    "AT MOST GROUPS": "GROUPS PER UNIT$",
}


def test_most_queries_of_each_kind_are_accepted() -> None:
    choice, queries = random.Random(23), Queries(23)
    asked, accepted = Counter[str](), Counter[str]()
    for _ in range(QUERIES):
        env, _ = choice.choice(ENVS)
        query = queries.query()
        text = limited(query, choice)
        there = {"all", *(name for name, written in CONSTRUCTS.items() if re.search(written, text))}
        asked.update(there)
        check, _ = next(iter(check_text(Source(text), env)))
        if check.ok:
            accepted.update(there)
    for name, number in sorted(asked.items(), key=lambda one: -one[1]):
        print(f"{name}: {accepted[name]} of {number}")
        assert accepted[name] > number / 2, name
    assert asked.keys() == {*CONSTRUCTS, "all"} and min(asked.values()) > 2
