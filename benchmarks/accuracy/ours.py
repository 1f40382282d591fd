"""PrivQL's answers: the whole of it, from the text of a query to a frame of noisy numbers.

Each run names the table otherwise, so that the ledger takes it for a question of its own and draws anew.
"""

import tempfile
from functools import lru_cache
from pathlib import Path

import pandas as pd

import privql
from benchmarks.accuracy import data
from benchmarks.accuracy.tasks import Frame, Task


def opened(table: str) -> privql.Session:
    """On the invented rows, with a budget for all runs."""
    frame = pd.DataFrame(getattr(data, table)())
    if "town" in frame:
        frame["town"] = frame["town"].astype(str)
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder, "policy.pql")
        policy.write_text(data.POLICY, encoding="utf-8")
        return privql.connect(policy=policy, analyst="analyst", frames={table: frame})


def text(task: Task, query: str, run: int) -> str:
    named = query.replace(f"FROM {task.table}", f"FROM {task.table} AS run{run}", 1)
    return f"{named} SPEND EPSILON {task.epsilon}" + (f" DELTA {task.delta:f}" if task.delta else "")


def refused(task: Task) -> str | None:
    """What PrivQL has against a query; nothing, where it can be asked."""
    with opened(task.table) as session:
        found = session.check(text(task, task.query, 0)).diagnostics
    problems = [f"{one.code}: {one.message}" for one in found if one.severity == "error"]
    return problems[0] if problems else None


@lru_cache(maxsize=1)
def drawn(table: str, texts: tuple[str, ...]) -> list[Frame]:
    frames = []
    with opened(table) as session:
        for one in texts:
            release = session.run(one)
            if not release.cost.epsilon:
                raise AssertionError("an answer was read again, not drawn")
            frames.append(list(release.to_pandas().itertuples(index=False, name=None)))
    return frames


def answers(task: Task, query: str, runs: int) -> list[object]:
    frames = drawn(task.table, tuple(text(task, query, run) for run in range(runs)))
    return [task.read(frame) for frame in frames]
