"""What is asked, of everybody: the operation, the rows, the total, how an answer is judged and what must be reached.

A query that this version refuses has its row all the same, so that it is measured as soon as it can be.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.accuracy import data
from benchmarks.accuracy.scores import Score, half_kept, missed, rank_error, rmse, rmse_of_group

Frame = list[tuple[Any, ...]]
BEST = (("", 1.0),)
X = {"low": 0, "high": data.HIGH}


@dataclass(frozen=True)
class Task:
    name: str
    operation: str
    epsilon: str
    query: str  # of PrivQL, without what it spends
    score: Score
    goals: tuple[tuple[str, float], ...] = BEST  # at most so much of the best way that has this in its name
    table: str = "people"
    reads: tuple[str, ...] = ("x",)  # the columns, beside the unit's
    delta: float = 0
    read: Callable[[Frame], Any] = lambda rows: list(rows[0])
    more: dict[str, Any] = field(default_factory=dict)  # what else peers are told
    by_hand: tuple[tuple[str, str], ...] = ()  # the same numbers from PrivQL, asked in another way

    @property
    def title(self) -> str:
        return f"{self.name}, ε = {self.epsilon}" + (f", δ = {self.delta:g}" if self.delta else "")

    def told(self, runs: int) -> dict[str, Any]:
        """What a peer hears."""
        columns: data.Columns = getattr(data, self.table)()
        read = {name: values for name, values in columns.items() if name in ("id", *self.reads)}
        total = {"epsilon": float(self.epsilon), "delta": self.delta}
        return {"operation": self.operation, "runs": runs, "columns": read, **total, **self.more}


def tasks() -> list[Task]:
    made = []
    for epsilon in ("0.1", "1"):
        made += [*sums(epsilon), *counts(epsilon), *moments(epsilon), *ranks(epsilon), unbounded(epsilon)]
    return [*made, together("0.3"), *keys("0.1", 1e-6)]


def sums(epsilon: str) -> list[Task]:
    x = np.array(data.people()["x"])
    count, mean = "SELECT COUNT(*) AS n FROM people WHERE x > 50", "SELECT AVG(x) AS m FROM people"
    return [
        Task("COUNT", "count", epsilon, count, rmse([int((x > 50).sum())]), more={**X, "above": 50}),
        Task("SUM", "sum", epsilon, "SELECT SUM(x) AS s FROM people", rmse([int(x.sum())]), more=X),
        Task("AVG", "mean", epsilon, mean, rmse([x.mean()]), (("", 0.75),), more=X),
    ]


def counts(epsilon: str) -> list[Task]:
    groups = Counter(data.people()["g"])
    told = {"reads": ("g",), "more": {"groups": data.GROUPS, "k": 10}}
    of_each = "SELECT g, COUNT(*) AS n FROM people GROUP BY g ORDER BY g"
    largest = "SELECT g, COUNT(*) AS n FROM people GROUP BY g ORDER BY n DESC LIMIT 10"
    units = rmse([len(set(data.visits()["id"]))])
    rows = {"table": "visits", "reads": (), "more": {"rows": data.ROWS}}
    return [
        Task(
            "COUNT of 20 groups",
            "groups",
            epsilon,
            of_each,
            rmse([groups[key] for key in range(data.GROUPS)]),
            read=lambda rows: [n for _, n in rows],
            **told,
        ),
        Task(
            "TOP 10 of 20 groups, rows missed",
            "top",
            epsilon,
            largest,
            missed(groups, 10),
            read=lambda rows: [key for key, _ in rows],
            **told,
        ),
        Task("COUNT(DISTINCT unit)", "units", epsilon, "SELECT COUNT(DISTINCT id) AS n FROM visits", units, **rows),
    ]


def moments(epsilon: str) -> list[Task]:
    x, y = (np.array(data.people()[name]) for name in "xy")
    means = "SELECT AVG(x * x) - AVG(x) * AVG(x) AS v FROM people"
    three = "SELECT AVG(x * y) - AVG(x) * AVG(y) AS c FROM people"
    return [
        Task(
            "VARIANCE",
            "variance",
            epsilon,
            "SELECT VAR_POP(x) AS v FROM people",
            rmse([x.var()]),
            (("", 0.3),),
            more=X,
            by_hand=(("two means", means),),
        ),
        Task(
            "COVAR",
            "covariance",
            epsilon,
            "SELECT COVAR_POP(x, y) AS c FROM people",
            rmse([((x - x.mean()) * (y - y.mean())).mean()]),
            (("", 0.55),),
            reads=("x", "y"),
            more=X,
            by_hand=(("three means", three),),
        ),
    ]


def ranks(epsilon: str) -> list[Task]:
    calls = [("MEDIAN", "MEDIAN(cost)", 0.5), ("QUANTILE 0.9", "QUANTILE(cost, 0.9)", 0.9)]
    return [
        Task(
            f"{name}, in ranks",
            "quantile",
            epsilon,
            f"SELECT {call} AS q FROM people",
            rank_error(data.people()["cost"], q),
            (("tree", 0.2), ("exponential", 1.0)),
            reads=("cost",),
            more={"of": "cost", "low": 0, "high": data.COST, "q": q},
        )
        for name, call, q in calls
    ]


def unbounded(epsilon: str) -> Task:
    return Task(
        "SUM, bounds unknown",
        "unbounded",
        epsilon,
        "SELECT SUM(x BOUNDS AUTO) AS s FROM earners",
        rmse([sum(data.earners()["x"])]),
        (("95% quantile", 0.25), ("", 0.25)),
        "earners",
        more={"low": 0, "high": data.WIDE},
    )


def together(epsilon: str) -> Task:
    x, third = np.array(data.people()["x"]), float(epsilon) / 3
    evenly = f"COUNT(* SPEND {third:g}) AS n, SUM(x SPEND {third:g}) AS s, AVG(x SPEND {third:g}) AS m"
    return Task(
        "COUNT, SUM, AVG at once, relative",
        "together",
        epsilon,
        "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM people",
        rmse([x.size, int(x.sum()), x.mean()], relative=True),
        (("evenly", 0.6), ("", 1.0)),
        more=X,
        by_hand=(("evenly", f"SELECT {evenly} FROM people"),),
    )


def keys(epsilon: str, delta: float) -> list[Task]:
    counted = "SELECT town, COUNT(*) AS n FROM members GROUP BY town"
    lower = (("threshold", 1 / 1.15), ("", 1.0))
    members = {"table": "members", "reads": ("town",), "delta": delta}
    return [
        Task(
            "size of a group found half of the time",
            "keys",
            epsilon,
            "SELECT town FROM members GROUP BY town",
            half_kept(data.SIZES),
            lower,
            read=lambda rows: {town: None for (town,) in rows},
            **members,
        ),
        Task("the same, with counts", "counted", epsilon, counted, half_kept(data.SIZES), lower, read=dict, **members),
        Task("COUNT of a group found", "counted", epsilon, counted, rmse_of_group(1000), read=dict, **members),
    ]
