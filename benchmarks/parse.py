"""How fast text becomes a tree: loading the table, a ten-line query, and a file of a thousand statements."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from privql.diagnostics import Source
from privql.syntax import parse_file, parse_statement, unparse
from privql.syntax.automaton import automaton
from privql.syntax.lexer import lex

QUERY = """\
SELECT region, COUNT(*) AS n, AVG(cost) AS mean_cost, SUM(CASE WHEN smoker THEN 1 ELSE 0 END) AS smokers
FROM patients AS p
JOIN visits AS v ON v.patient_id = p.patient_id
WHERE age BETWEEN 40 AND 64 AND region IN ('north', 'south', 'west')
  AND cost * 1.2 + 5 > 100 -- with tax
GROUP BY region
HAVING COUNT(*) > 10
ORDER BY n DESC, region
LIMIT 10
SPEND EPSILON 0.5 AT MOST 3 ROWS PER UNIT"""


def best(work: Callable[[], object], runs: int = 200) -> float:
    """Milliseconds of the fastest run."""
    fastest = float("inf")
    for _ in range(runs):
        began = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - began)
    return fastest * 1e3


def main() -> None:
    tree = parse_statement(QUERY)
    print(f"load the table               {best(automaton.__wrapped__, 50):8.2f} ms")
    print(f"read a ten-line query        {best(lambda: lex(QUERY)):8.2f} ms  {len(lex(QUERY).tokens.kinds)} tokens")
    print(f"parse a ten-line query       {best(lambda: parse_statement(QUERY)):8.2f} ms")
    print(f"write a ten-line query       {best(lambda: unparse(tree)):8.2f} ms")
    for count in (10, 100, 1_000):
        source = Source(f"{QUERY};\n" * count)
        took = best(lambda source=source: parse_file(source), 3)  # type: ignore[misc]
        print(f"parse {count:5} statements       {took:8.2f} ms  {took / count:.3f} ms each")
    python = best(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 10)
    loaded = best(lambda: subprocess.run([sys.executable, "-c", "import privql.syntax"], check=True), 10)
    print(f"import privql.syntax         {loaded - python:8.2f} ms  more than bare Python")


if __name__ == "__main__":
    main()
