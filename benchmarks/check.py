"""What checking costs, warm: a ten-line query, and files of 10 to 1,000 statements. No data is read.

python benchmarks/check.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

from privql.session import connect

POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120, sex TEXT IN ('F', 'M', 'X'),
  region TEXT IN ('N', 'S', 'E', 'W'), smoker BOOL, cost DECIMAL(10,2) BETWEEN 0 AND 20000,
  admitted DATE BETWEEN DATE '2024-01-01' AND DATE '2025-12-31'
);
CREATE BUDGET research FOR UNIT patient EPSILON 100000;
"""
QUERY = """SELECT region, COUNT(*) AS n, AVG(cost) AS mean_cost,
  SUM(CASE WHEN smoker THEN cost ELSE 0 END) AS of_smokers,
  COUNT(*) FILTER (WHERE age > 65) AS old
FROM patients
WHERE age BETWEEN 40 AND 64 AND sex IN ('F', 'M')
  AND admitted >= DATE '2024-06-01' AND smoker IS NOT NULL
GROUP BY region
HAVING n > 10
ORDER BY n DESC LIMIT 3
SPEND EPSILON 0.5"""


def least(work: Callable[[], object], repeats: int) -> float:
    """Milliseconds of the quickest run: what other work on the machine disturbs least."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


def main() -> None:
    with connect(policy=POLICY, analyst="alice") as session:
        assert session.check(QUERY).ok
        once = least(lambda: session.check(QUERY), 200)
        print(f"a ten-line query     {once:8.2f} ms   (at most 2)")
        for count in (10, 100, 1000):
            text = ";\n".join(QUERY.replace("0.5", f"0.{1000 + n}") for n in range(count))
            whole = least(lambda text=text: session.check_text(text), 3)  # type: ignore[misc]
            print(f"{count:5} statements     {whole:8.1f} ms   {whole / count:.2f} each")


if __name__ == "__main__":
    main()
