"""diffprivlib: one function for each aggregate. Its means and variances take the number of rows for public."""

import numpy as np
from diffprivlib import mechanisms, tools
from serve import repeated, serve

PUBLIC = "neighbours have the same number of rows, which is public"


def bounds(task):
    return task["low"], task["high"]


def count(task):
    marks = [int(x > task["above"]) for x in task["columns"]["x"]]
    return {"": repeated(task, lambda: int(tools.count_nonzero(marks, epsilon=task["epsilon"])))}


def total(task):
    x = np.array(task["columns"]["x"])
    return {"": repeated(task, lambda: int(tools.sum(x, epsilon=task["epsilon"], bounds=bounds(task), dtype=int)))}


def mean(task):
    x = np.array(task["columns"]["x"])

    def draw():
        return float(tools.mean(x, epsilon=task["epsilon"], bounds=bounds(task)))

    return {"apart": {"mean": [PUBLIC, repeated(task, draw)]}}


def variance(task):
    x = np.array(task["columns"]["x"])

    def draw():
        return float(tools.var(x, epsilon=task["epsilon"], bounds=bounds(task)))

    return {"apart": {"var": [PUBLIC, repeated(task, draw)]}}


def histogram(task):
    groups = task["groups"]
    spread = {"bins": groups, "range": (-0.5, groups - 0.5)}
    return repeated(task, lambda: tools.histogram(task["columns"]["g"], epsilon=task["epsilon"], **spread)[0].tolist())


def top(task):
    return {"histogram, sorted": [sorted(range(len(n)), key=n.__getitem__)[-task["k"] :] for n in histogram(task)]}


def quantile(task):
    x = np.array(task["columns"][task["of"]])

    def draw():
        return float(tools.quantile(x, task["q"], epsilon=task["epsilon"], bounds=bounds(task)))

    return {"exponential": repeated(task, draw)}


def unbounded(task):
    """The 95% quantile for half of ε, and the sum of what it clamps for the other; no truncation at a public n."""
    x, half = np.array(task["columns"]["x"]), task["epsilon"] / 2

    def draw():
        high = max(1, int(tools.quantile(x, 0.95, epsilon=half, bounds=bounds(task))))
        return mechanisms.Geometric(epsilon=half, sensitivity=high).randomise(int(np.minimum(x, high).sum()))

    return {"95% quantile": repeated(task, draw)}


OPERATIONS = {"count": count, "sum": total, "mean": mean, "variance": variance, "top": top, "quantile": quantile}
OPERATIONS |= {"groups": lambda task: {"histogram": histogram(task)}, "unbounded": unbounded}

if __name__ == "__main__":
    serve("diffprivlib", OPERATIONS)
