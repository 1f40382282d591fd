"""OpenDP: measurements of its framework, at the least noise that it proves; its Polars queries where it has them."""

import opendp.prelude as dp
import polars as pl
from serve import repeated, serve

dp.enable_features("contrib", "honest-but-curious")
ROWS = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()


def least(build, epsilon):
    """The measurement whose scale is the least that ε allows."""
    return dp.binary_search_chain(build, d_in=1, d_out=epsilon)


def counting(epsilon):
    return least(lambda scale: ROWS >> dp.t.then_count() >> dp.m.then_laplace(scale), epsilon)


def summing(low, high, epsilon):
    clamped = ROWS >> dp.t.then_clamp((low, high)) >> dp.t.then_sum()
    return least(lambda scale: clamped >> dp.m.then_laplace(scale), epsilon)


def choosing(candidates, q, epsilon):
    scored = ROWS >> dp.t.then_quantile_score_candidates(list(candidates), q)
    return least(lambda scale: scored >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True), epsilon)


def asked(task, columns, query, unit=None, delta=None):
    """A query of its Polars interface, made once and drawn as often as wanted."""
    frame = pl.LazyFrame(columns)
    loss = dp.loss_of(epsilon=task["epsilon"], **({"delta": delta} if delta else {}))
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=unit or dp.unit_of(contributions=1),
        privacy_loss=loss,
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=10**6)],
    )
    measure = query(context.query()).resolve()
    return lambda: measure(frame).collect()


def count(task):
    measure = counting(task["epsilon"])
    return {"": repeated(task, lambda: measure([x for x in task["columns"]["x"] if x > task["above"]]))}


def total(task):
    measure = summing(task["low"], task["high"], task["epsilon"])
    return {"": repeated(task, lambda: measure(task["columns"]["x"]))}


def mean(task):
    x = pl.col("x").fill_null(0).dp.mean((task["low"], task["high"]))
    draw = asked(task, {"x": task["columns"]["x"]}, lambda query: query.select(x))
    return {"Polars": repeated(task, lambda: draw().item())}


def together(task):
    x, bounds = pl.col("x").fill_null(0), (task["low"], task["high"])
    three = dp.len(), x.dp.sum(bounds).alias("sum"), x.dp.mean(bounds).alias("mean")
    draw = asked(task, {"x": task["columns"]["x"]}, lambda query: query.select(*three))
    return {"Polars": repeated(task, lambda: list(draw().row(0)))}


def histogram(task):
    counted = ROWS >> dp.t.then_count_by_categories(list(range(task["groups"])), null_category=False)
    measure = least(lambda scale: counted >> dp.m.then_laplace(scale), task["epsilon"])
    return repeated(task, lambda: measure(task["columns"]["g"]))


def top(task):
    return {"histogram, sorted": [sorted(range(len(n)), key=n.__getitem__)[-task["k"] :] for n in histogram(task)]}


def units(task):
    unit = dp.unit_of(contributions=1, identifier="id")
    draw = asked(task, task["columns"], lambda query: query.truncate_per_group(1).select(dp.len()), unit)
    return {"Polars, one row kept": repeated(task, lambda: draw().item())}


def quantile(task):
    candidates = range(task["low"], task["high"] + 1)
    measure, x = choosing(candidates, task["q"], task["epsilon"]), task["columns"][task["of"]]
    return {"exponential": repeated(task, lambda: candidates[measure(x)])}


def unbounded(task):
    """The 95% quantile among powers of two for half of ε, and the sum of what it clamps for the other."""
    highs = [2**power for power in range(task["high"].bit_length() + 1)]
    half, x = task["epsilon"] / 2, task["columns"]["x"]
    bound = choosing(highs, 0.95, half)
    sums = {}

    def draw():
        high = highs[bound(x)]
        if high not in sums:
            sums[high] = summing(0, high, half)
        return sums[high](x)

    return {"95% quantile": repeated(task, draw)}


def keys(task):
    columns = {"town": [str(town) for town in task["columns"]["town"]]}

    def counted(query):
        return query.group_by("town").agg(dp.len())

    draw = asked(task, columns, counted, delta=task["delta"])
    return {"Polars, threshold": repeated(task, lambda: dict(draw().iter_rows()))}


OPERATIONS = {"count": count, "sum": total, "mean": mean, "together": together, "top": top, "units": units}
OPERATIONS |= {"groups": lambda task: {"": histogram(task)}, "quantile": quantile, "unbounded": unbounded}
OPERATIONS |= {"keys": keys, "counted": keys}

if __name__ == "__main__":
    serve("opendp", OPERATIONS)
