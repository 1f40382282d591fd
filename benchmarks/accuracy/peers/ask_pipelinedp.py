"""PipelineDP: the combiners that its engine runs. Rows are aggregated once, and noise is drawn as often as wanted."""

import pipeline_dp as dp
from pipeline_dp import aggregate_params, combiners, partition_selection
from serve import repeated, serve

M = dp.Metrics


def measured(task, metrics, units, *, delta=0, selecting=False, **more):
    """What the engine makes of units' values in one partition, ready to be drawn."""
    accountant = dp.NaiveBudgetAccountant(task["epsilon"], delta)
    selection = accountant.request_budget(aggregate_params.MechanismType.GENERIC) if selecting else None
    bounds = {"min_value": task["low"], "max_value": task["high"]} if "low" in task else {}
    params = dp.AggregateParams(
        metrics=metrics,
        noise_kind=dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        **bounds,
        **more,
    )
    combiner = combiners.create_compound_combiner(params, accountant)
    accountant.compute_budgets()
    aggregated = [combiner.create_accumulator(values) for values in units]
    whole = aggregated[0]
    for one in aggregated[1:]:
        whole = combiner.merge_accumulators(whole, one)
    return combiner, whole, selection


def drawn(task, metrics, units, names):
    combiner, whole, _ = measured(task, metrics, units)

    def draw():
        found = combiner.compute_metrics(whole)
        return [float(getattr(found, name)) for name in names]

    return repeated(task, draw)


def each(task):
    return [[x] for x in task["columns"]["x"]]


def count(task):
    return {"": drawn(task, [M.COUNT], [[x] for x in task["columns"]["x"] if x > task["above"]], ["count"])}


def histogram(task):
    g = task["columns"]["g"]
    columns = [drawn(task, [M.COUNT], [[1]] * g.count(group), ["count"]) for group in range(task["groups"])]
    return [[n for (n,) in row] for row in zip(*columns, strict=True)]


def top(task):
    return {"counts, sorted": [sorted(range(len(n)), key=n.__getitem__)[-task["k"] :] for n in histogram(task)]}


def units(task):
    return {"": drawn(task, [M.PRIVACY_ID_COUNT], [[1]] * len(set(task["columns"]["id"])), ["privacy_id_count"])}


def quantile(task):
    x, percent = task["columns"][task["of"]], round(100 * task["q"])
    return {"tree": drawn(task, [M.PERCENTILE(percent)], [[value] for value in x], [f"percentile_{percent}"])}


def sizes(task):
    town = task["columns"]["town"]
    return {size: town.count(size) for size in sorted(set(town))}


def selecting(epsilon, delta):
    geometric = dp.PartitionSelectionStrategy.TRUNCATED_GEOMETRIC
    return partition_selection.create_partition_selection_strategy(geometric, epsilon, delta, 1)


def keys(task):
    """Its selection of partitions, for all of ε."""
    chosen, towns = selecting(task["epsilon"], task["delta"]), sizes(task)

    def draw():
        return {str(town): None for town, n in towns.items() if chosen.should_keep(n)}

    return {"truncated geometric": repeated(task, draw)}


def counted(task):
    """Half for the selection and half for the counts, or all for counts that are then held to a threshold."""
    towns = {size: [[1]] * n for size, n in sizes(task).items()}

    def halves(values):
        combiner, whole, budget = measured(task, [M.PRIVACY_ID_COUNT], values, delta=task["delta"], selecting=True)
        return combiner, whole, selecting(budget.eps, budget.delta), len(values)

    def once(values):
        more = {"delta": task["delta"], "post_aggregation_thresholding": True}
        return measured(task, [M.PRIVACY_ID_COUNT], values, **more)[:2]

    split = {size: halves(values) for size, values in towns.items()}
    held = {size: once(values) for size, values in towns.items()}

    def draw_split():
        kept = {size: one for size, one in split.items() if one[2].should_keep(one[3])}
        return {str(size): one[0].compute_metrics(one[1]).privacy_id_count for size, one in kept.items()}

    def draw_held():
        found = {size: one.compute_metrics(whole).privacy_id_count for size, (one, whole) in held.items()}
        return {str(size): n for size, n in found.items() if n is not None}

    return {"half and half": repeated(task, draw_split), "threshold": repeated(task, draw_held)}


OPERATIONS = {
    "count": count,
    "sum": lambda task: {"": drawn(task, [M.SUM], each(task), ["sum"])},
    "mean": lambda task: {"": drawn(task, [M.MEAN], each(task), ["mean"])},
    "variance": lambda task: {"": drawn(task, [M.VARIANCE], each(task), ["variance"])},
    "together": lambda task: {"": drawn(task, [M.COUNT, M.SUM, M.MEAN], each(task), ["count", "sum", "mean"])},
    "groups": lambda task: {"": histogram(task)},
    "top": top,
    "units": units,
    "quantile": quantile,
    "keys": keys,
    "counted": counted,
}

if __name__ == "__main__":
    serve("pipeline-dp", OPERATIONS)
