"""How often intervals enclose the exact number, and how wide they are: releases simulated from exact cells.

    python benchmarks/coverage.py [--releases N] [--case NAME] [--confidence P]

Each case is one column of an answer. Its exact cells are given, the noise is that of the samplers, and all else is what
an analyst's answer goes through: finishing, the SQL above, the interval of a law or of replicates. One answer with a
group for each release stands for many. `covered`: of the releases that have a number (`given`), those whose interval
encloses the exact one. `width`: the mean width of an interval, in parts of that between the equal tails of the answer's
own distribution, which nobody knows who has one answer. An interval without end has none; their share is `open`.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from privql.check.relations import (
    Aggregate,
    AggregateCall,
    Attribute,
    Block,
    CheckedQuery,
    Compute,
    Grouped,
    GroupingKey,
    Label,
    Measured,
    Rel,
    Rows,
    SortKey,
    WindowCall,
    Windowed,
)
from privql.diagnostics import NOWHERE
from privql.domains import Domain, interval
from privql.finish.cells import finish_block
from privql.finish.kept import Made, NoisyBlock
from privql.finish.origins import row_id, thread
from privql.finish.present import MeasuredBlock, present, threaded_ids
from privql.finish.recipe import Recipe
from privql.finish.result import Release
from privql.kernel.cost import Cost
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.noises import Noise
from privql.kernel.scalars import FLOAT, INT, Apply, Const, Field, Scalar, Value, ValueType
from privql.kernel.sums import Balance, Powers
from privql.kernel.terms import Unit
from privql.noise.gaussian import rounded_gaussian
from privql.noise.laplace import discrete_laplace
from privql.pipeline.errors import Errors
from privql.plan.bounds import DEGREES
from privql.post.run import PostProcessor

HIGH = 100
Data = NDArray[np.int64]
Above = Callable[[Rel, Sequence[Field]], tuple[Rel, Scalar]]  # over the groups, whose columns are the aggregates'


@dataclass(frozen=True)
class Case:
    name: str
    functions: tuple[str, ...]
    rows: int
    epsilon: Fraction
    above: Above | None = None
    shape: str = "even"  # of the values: all over their range, near one end, all the same, y = x
    noise: Noise = "laplace"
    regular: bool = True  # far from the ends of what the number may be: then the interval is as wide as its law

    def __str__(self) -> str:
        return f"{self.name} of {self.rows} {self.shape} rows at ε = {float(self.epsilon):g}" + (
            ", Gaussian" if self.noise == "gaussian" else ""
        )


def values(case: Case) -> tuple[Data, Data]:
    draws = np.random.default_rng(case.rows)
    x, other = draws.integers(0, HIGH + 1, case.rows), draws.integers(0, HIGH + 1, case.rows)
    match case.shape:
        case "same":
            return np.full(case.rows, 30), other
        case "ends":
            return np.arange(case.rows) % 2 * HIGH, other
        case "narrow":
            return 40 + x // 10, other
        case "y = x":
            return x, x
        case "y ~ x":
            return x, (2 * x + other) // 3
        case _:
            return x, other


_STEPS = Steps(Const(0, INT), Fraction(1), 0, HIGH)


def recipe(function: str, cell: int, epsilon: Fraction, noise: Noise) -> Recipe:
    """With the noise that one row of one unit asks for; a Gaussian one of the same deviation."""
    share = Fraction(1414, 1000) if noise == "gaussian" else Fraction(1)
    match function:
        case "count":
            return Recipe(Tally(), cell, share / epsilon, INT, noise=noise)
        case "sum":
            return Recipe(Total(_STEPS), cell, share * HIGH / epsilon, INT, noise=noise)
        case "avg":
            return Recipe(Balance(_STEPS), cell, share * HIGH / epsilon, FLOAT, noise=noise)
        case _:
            powers = Powers(tuple((_STEPS, degree) for degree in DEGREES[function]))
            return Recipe(powers, cell, share * powers.whole / epsilon, FLOAT, noise=noise)


def exact_cells(made: Recipe, x: Data, y: Data) -> list[int]:
    match made.contribution:
        case Tally():
            return [len(x)]
        case Total():
            return [int(x.sum())]
        case Balance():
            return [int(x.sum()), int((HIGH - x).sum())]
        case Powers(factors=factors):
            terms = [_terms(value, degree) for value, (_, degree) in zip((x, y), factors, strict=False)]
            if len(terms) == 1:
                return [int(term.sum()) for term in terms[0]]
            return [int((one * other).sum()) for one in terms[0] for other in terms[1]]
        case _:
            raise AssertionError(made)


def _terms(x: Data, degree: int) -> list[Data]:
    return [math.comb(degree, i) * x**i * (HIGH - x) ** (degree - i) for i in range(degree + 1)]


@dataclass
class Simulated:
    """Answers of `releases` groups with the same exact cells."""

    case: Case
    releases: int

    def __post_init__(self) -> None:
        whole = interval(0, HIGH, False, Fraction(1))
        self.recipes: list[Recipe] = []
        aggregates = []
        for at, function in enumerate(self.case.functions):
            cell = sum(one.width for one in self.recipes)
            self.recipes.append(recipe(function, cell, self.case.epsilon / len(self.case.functions), self.case.noise))
            type = self.recipes[-1].type
            others = ((Const(0, INT), whole),) if len(DEGREES.get(function, ())) == 2 else ()
            one = Aggregate(f"a{at}", function, None, whole, INT, None, type, function, NOWHERE, others=others)
            aggregates.append(one)
        number = GroupingKey("k", Const(0, INT), INT, tuple(range(self.releases)), "k", NOWHERE)
        self.block = Block(0, Rows((), ((),)), (), Unit("u"), (number,), tuple(aggregates), NOWHERE)
        self.fields = [Field(one.id, made.type) for one, made in zip(aggregates, self.recipes, strict=True)]
        leaf = Measured(0, (("k", INT), *((one.name, one.type) for one in self.fields)))
        rel, term = (leaf, self.fields[0]) if self.case.above is None else self.case.above(leaf, self.fields)
        self.query = CheckedQuery(
            Compute(rel, (("out", term),)),
            (Attribute("out", "out", term.type, Domain(), Label.RELEASED),),
            (self.block,),
            (),
            (),
        )
        self.exact = [cell for made in self.recipes for cell in exact_cells(made, *values(self.case))]
        self.post = PostProcessor({}, {})

    def release(self, cells: Sequence[tuple[int, ...]], name: str) -> Release:
        groups = tuple((number,) for number in range(self.releases))
        table = finish_block(self.block, self.recipes, cells, groups)
        ids = threaded_ids(self.query, [self.recipes])
        answer = self.post.run(thread(self.query, ids), [table], None, None, [(row_id(id), INT) for id in ids])
        made = present(self.query, [MeasuredBlock(self.recipes, cells)], answer, cost=Cost())
        kept = Made(name, self.query, (NoisyBlock(self.block, tuple(self.recipes), tuple(cells), groups),), {})
        return Release(made.columns, made.rows, spreads=Errors(kept, made.rows, made.columns, self.post, {}, {}))

    def truth(self) -> list[float | None]:
        made = self.release([tuple(self.exact)] * self.releases, "exact")
        return [None if row[0] is None else float(row[0]) for row in made.rows]

    def noisy(self) -> list[tuple[int, ...]]:
        columns = []
        for made in self.recipes:
            for _ in range(made.width):
                draw = rounded_gaussian if made.noise == "gaussian" else discrete_laplace
                columns.append([int(each) for each in draw(made.scale, self.releases)])
        return [tuple(a + b for a, b in zip(self.exact, each, strict=True)) for each in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Figures:
    answers: int
    given: int
    covered: int
    open: int
    width: float

    @property
    def coverage(self) -> float:
        return self.covered / max(self.given, 1)


def _number(end: Value, beyond: float) -> float:
    if end is None:
        return beyond
    assert isinstance(end, int | float | Fraction)
    return float(end)


def judged(case: Case, releases: int, confidence: Fraction = Fraction(95, 100), batch: int = 500) -> Figures:
    given = covered = endless = answers = 0
    widths: list[float] = []
    found: list[float] = []
    for number in range(0, releases, batch):
        simulated = Simulated(case, min(batch, releases - number))
        release = simulated.release(simulated.noisy(), f"{case} {number} {time.time_ns()}")
        ends = release.ends(0, confidence)
        for value, pair, truth in zip((row[0] for row in release.rows), ends, simulated.truth(), strict=True):
            if truth is None:
                continue
            answers += 1
            if value is None or pair is None:
                continue
            given += 1
            low, high = _number(pair[0], -math.inf), _number(pair[1], math.inf)
            covered += low <= truth <= high
            found.append(float(value))
            if math.isfinite(high - low):
                widths.append(high - low)
            else:
                endless += 1
        simulated.post.close()
    tail = float((1 - confidence) / 2)
    law = float(np.subtract(*np.quantile(found, [1 - tail, tail]))) if found else math.nan
    return Figures(answers, given, covered, endless, float(np.mean(widths)) / law if widths and law else math.nan)


# ---------------------------------------------------------------- the cases


def _ratio(rel: Rel, fields: Sequence[Field]) -> tuple[Rel, Scalar]:
    one, other = (Apply("cast", (each,), FLOAT) for each in fields)
    return rel, Apply("div", (one, other), FLOAT)


def _log(rel: Rel, fields: Sequence[Field]) -> tuple[Rel, Scalar]:
    return rel, Apply("ln", (Apply("cast", (fields[0],), FLOAT),), FLOAT)


def _root(rel: Rel, fields: Sequence[Field]) -> tuple[Rel, Scalar]:
    return rel, Apply("sqrt", (fields[0],), FLOAT)


def _step(rel: Rel, fields: Sequence[Field]) -> tuple[Rel, Scalar]:
    key = SortKey(Field("k", INT), False, False)
    before = WindowCall(AggregateCall("lag", (fields[0],), INT), (), (key,))
    return Windowed(rel, (("before", before),)), Apply("sub", (fields[0], Field("before", INT)), INT)


def _away(rel: Rel, fields: Sequence[Field]) -> tuple[Rel, Scalar]:
    moved, step = _step(rel, fields)
    return moved, Apply("abs", (step,), INT)


def _of_ten(function: str, type: ValueType) -> Above:
    def above(rel: Rel, fields: Sequence[Field]) -> tuple[Rel, Scalar]:
        tens = Apply("int_div", (Field("k", INT), Const(10, INT)), INT)
        call = AggregateCall(function, (fields[0],), type)
        return Grouped(rel, (("tens", tens),), (("all", call),), ((0,),)), Field("all", type)

    return above


def cases() -> Iterator[Case]:
    one, tenth = Fraction(1), Fraction(1, 10)
    for rows, epsilon in ((5, one), (1000, tenth)):
        yield Case("COUNT", ("count",), rows, epsilon)
        yield Case("SUM", ("sum",), rows, epsilon)
    for rows, epsilon, shape in ((5, one, "even"), (40, one, "even"), (1000, one, "ends"), (1000, tenth, "even")):
        yield Case("AVG", ("avg",), rows, epsilon, shape=shape, regular=rows > 100)
    for rows, epsilon in ((5, one), (40, one), (1000, one), (4000, tenth)):
        wide = rows > 100
        for shape in ("even", "same", "ends", "narrow"):
            yield Case(
                "VAR_POP", ("var_pop",), rows, epsilon, shape=shape, regular=wide and shape in ("even", "narrow")
            )
        yield Case("VAR_SAMP", ("var_samp",), rows, epsilon, regular=wide)
        yield Case("STDDEV_POP", ("var_pop",), rows, epsilon, _root, regular=wide)
        yield Case("STDDEV_POP", ("var_pop",), rows, epsilon, _root, "same", regular=False)
        yield Case("COVAR_POP", ("covar_pop",), rows, epsilon, shape="y ~ x", regular=wide)
        yield Case("COVAR_SAMP", ("covar_samp",), rows, epsilon, shape="even", regular=wide)
        for shape in ("even", "y ~ x", "y = x"):
            yield Case("CORR", ("corr",), rows, epsilon, shape=shape, regular=rows > 100 and shape != "y = x")
        yield Case("REGR_SLOPE", ("regr_slope",), rows, epsilon, shape="y ~ x", regular=wide)
        yield Case("REGR_INTERCEPT", ("regr_intercept",), rows, epsilon, shape="y ~ x", regular=wide)
    for rows, epsilon in ((3, one), (40, one), (1000, tenth)):
        yield Case("SUM / COUNT", ("sum", "count"), rows, epsilon, _ratio, regular=rows > 100)
        yield Case("LN(COUNT)", ("count",), rows, epsilon, _log, regular=rows > 30)
        yield Case("n - LAG(n)", ("count",), rows, epsilon, _step)
        yield Case("ABS(n - LAG(n))", ("count",), rows, epsilon, _away, regular=False)
        yield Case("SUM of 10 counts", ("count",), rows, epsilon, _of_ten("sum", INT))
        yield Case("MAX of 10 counts", ("count",), rows, epsilon, _of_ten("max", INT), regular=False)
    for name in ("COUNT", "VAR_POP", "CORR"):
        function = name.lower()
        yield Case(name, (function,), 1000, one, shape="even", noise="gaussian")
    yield Case("SUM / COUNT", ("sum", "count"), 1000, one, _ratio, noise="gaussian")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--case", default="")
    parser.add_argument("--confidence", type=Fraction, default=Fraction(95, 100))
    asked = parser.parse_args()
    print(f"{'':52} covered   given    open   width")
    for case in cases():
        if asked.case in str(case):
            made = judged(case, asked.releases, asked.confidence)
            share = made.given / max(made.answers, 1)
            told = f"{made.coverage:8.2%} {share:7.1%} {made.open / max(made.given, 1):7.1%} {made.width:7.2f}"
            print(f"{case!s:52}{told}", flush=True)


if __name__ == "__main__":
    main()
