"""Variances share with means, counts and sums, and what is of two arguments with its like; never for a worse answer."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from privql.session import Session, connect

POLICY = """CREATE UNIT u;
CREATE PRIVATE TABLE t (
  id INT UNIT u KEY, x INT BETWEEN 10 AND 90 NOT NULL, y INT BETWEEN 0 AND 50, f FLOAT BETWEEN -3 AND 3,
  d DECIMAL(20, 4) BETWEEN 0 AND 10000000, g INT BETWEEN 0 AND 1 NOT NULL);
CREATE BUDGET b FOR UNIT u EPSILON 1e6 DELTA 0.1;"""


def rows(count: int = 1000) -> pd.DataFrame:
    random = np.random.default_rng(3)
    x = random.integers(10, 91, count)
    missing = random.random(count) < 0.2
    y = pd.Series(x // 4 + random.integers(0, 20, count), dtype="Int64").mask(missing)
    return pd.DataFrame({"id": range(count), "x": x, "y": y, "f": np.clip(random.normal(0, 1, count), -3, 3),
                         "d": [f"{value:.4f}" for value in random.uniform(0, 1e7, count)], "g": x % 2})  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with connect(policy=POLICY, frames={"t": rows()}, analyst="ada") as opened:
        yield opened


SHARED = [
    ("VAR_POP(x) AS v, AVG(x) AS m, COUNT(*) AS n, SUM(x) AS s, COUNT(x) AS k", 1),
    ("VAR_POP(x), VAR_SAMP(x), STDDEV(x)", 1),
    ("VARIANCE(f), AVG(f), SUM(f), COUNT(f)", 1),
    ("VARIANCE(y), AVG(y), COUNT(*)", 2),  # not of all rows
    ("VARIANCE(d), AVG(d), SUM(d)", 2),  # whose steps are coarser
    ("VARIANCE(x), AVG(y)", 2),
    ("VARIANCE(x), AVG(x) FILTER (WHERE y > 3)", 2),
    ("VARIANCE(x), AVG(x SHARE 2)", 2),
    ("COVAR_POP(x, y), COVAR_SAMP(x, y), CORR(x, y), REGR_SLOPE(x, y), REGR_INTERCEPT(x, y)", 1),
    ("COVAR_POP(x, y), REGR_SLOPE(x, y)", 1),
    ("COVAR_POP(x, y), CORR(y, x)", 2),
    ("CORR(x, y), COUNT(y), COUNT(*)", 3),  # which rows count says neither
]


@pytest.mark.parametrize(("listed", "measured"), SHARED)
def test_what_is_one_measurement(listed: str, measured: int, session: Session) -> None:
    check = session.check(f"SELECT {listed} FROM t SPEND EPSILON 1")
    assert check.ok and len(check.measurements) == measured
    told = session.explain(f"SELECT {listed} FROM t SPEND EPSILON 1")
    assert told.count("comes from this measurement") == sum(len(one.also) for one in check.measurements)


@pytest.mark.parametrize("listed", [listed for listed, _ in SHARED])
def test_what_is_read_off_is_what_each_would_be(listed: str, session: Session) -> None:
    """With next to no noise, to the last digit that it has: grouped, too."""
    (together,) = session.run(f"SELECT {listed} FROM t SPEND EPSILON 9000").rows
    parts = listed.replace("), ", ")| ").replace("AS v, ", "| ").replace("AS m, ", "| ").replace("AS n, ", "| ")
    parts = parts.replace("AS s, ", "| ").replace("AS k", "").replace("| |", "|")
    alone = [part.strip() for part in parts.split("|") if part.strip()]
    for value, text in zip(together, alone, strict=True):
        ((exact,),) = session.run(f"SELECT {text} FROM t SPEND EPSILON 9000").rows
        assert float(value) == pytest.approx(float(exact), rel=1e-2, abs=0.02), text


def test_a_sum_and_a_count_are_whole_and_groups_are_their_own(session: Session) -> None:
    frame = rows()
    found = session.run("SELECT g, VAR_POP(x), COUNT(*), SUM(x), AVG(x) FROM t GROUP BY g SPEND EPSILON 9000").rows
    for group, variance, count, total, mean in found:
        x = frame.x[frame.g == group]
        assert (count, abs(total - int(x.sum())) <= 2) == (len(x), True)
        assert variance == pytest.approx(x.var(ddof=0), rel=1e-4) and mean == pytest.approx(x.mean(), rel=1e-4)


@pytest.mark.parametrize(
    ("listed", "apart"),
    [
        ("VAR_POP(x), AVG(x), COUNT(*), SUM(x)", "VAR_POP(x SHARE 1), AVG(x), COUNT(*), SUM(x)"),
        ("COVAR_POP(x, y), CORR(x, y)", "COVAR_POP(x, y SHARE 1), CORR(x, y)"),
    ],
)
def test_together_is_no_worse_than_apart(listed: str, apart: str, session: Session) -> None:
    """By the answers: errors relative to what the aggregate can be at most, squared and summed up."""
    scales = [1600, 80, 1, 90] if "AVG" in listed else [1000, 1]
    errors = []
    ((*truth,),) = session.run(f"SELECT {listed} FROM t SPEND EPSILON 90000").rows
    for query in (listed, apart):
        squares = []
        for run in range(60):
            ((*noisy,),) = session.run(f"SELECT {query} FROM t SPEND EPSILON {2 + run / 1000}").rows
            large = [1000, 1000, 1, 1]  # a mean of n rows is n times as exact
            squares.append(
                sum(
                    ((float(a) - float(b)) * times / scale) ** 2
                    for a, b, scale, times in zip(noisy, truth, scales, large, strict=False)
                )
            )
        errors.append(math.fsum(squares))
    assert errors[0] < errors[1]
