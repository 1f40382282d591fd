"""What is computed of each row, and aggregates over that: each expression once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import assert_never

from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.duckdb.expressions import huge, literal
from privql.engines.duckdb.ordering import written
from privql.engines.duckdb.relations import Clamp, Column, Layer, Names, Rows, column, one_zero
from privql.engines.duckdb.steps import Measure, measured
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.scalars import ScalarEmitter
from privql.frozen import frozen
from privql.functions.scalar.text import LONGEST
from privql.kernel.features import (
    STEP_LIMIT,
    Bits,
    Different,
    Extreme,
    Feature,
    Mode,
    Moment,
    Order,
    Quantile,
    Splice,
    Steps,
    Tally,
    Total,
)
from privql.kernel.scalars import INT, TEXT, Field, Scalar, decimal, fields
from privql.kernel.sums import Powers

HALF = 2**62


@frozen
class Summed:
    """A sum up to 2^125: high * HALF + low, in the result columns `<column>_high` and `<column>_low`.

    Where `rows` is given, each NULL among them has been summed as `null_as`.
    """

    column: str
    null_as: int = 0
    rows: str = ""
    present: str = ""


@dataclass(slots=True)
class Aggregates:
    below: Rows
    names: Names
    values: dict[str, str] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)  # over the values
    aggregates: dict[str, str] = field(default_factory=dict)
    scales: dict[str, int] = field(default_factory=dict)  # of the sums among them
    emitter: ScalarEmitter = field(init=False)

    def __post_init__(self) -> None:
        self.emitter = ScalarEmitter(self.below.field, DUCKDB)

    def leaf(self, spelled: Spelled) -> Spelled:
        if spelled.leaf:
            return spelled
        return replace(spelled, sql=self.values.setdefault(spelled.sql, self.names.new("x")), leaf=True)

    def value(self, term: Scalar) -> Spelled:
        return self.leaf(self.emitter.settled(term))

    def known(self, term: Scalar) -> Spelled:
        """A value by which rows are grouped or put in order."""
        return self.leaf(one_zero(self.emitter.settled(term)))

    def where(self, condition: Scalar | None) -> str:
        return "" if condition is None else f" FILTER (WHERE {self.value(condition)})"

    def measure(self, steps: Steps, grouped: bool = False) -> Measure:
        return measured(self.leaf(_summand(steps, self.below, self.emitter)), steps, grouped)

    def count(self, what: str, of: str) -> str:
        """`of`: which rows, as what follows an aggregate says it."""
        return self.add(f"count({what}){of}")

    def sum(self, measure: Measure, of: str) -> Summed:
        x = self.measures.setdefault(measure.sql, self.names.new("s"))
        name = self.add(f"sum({x}){of}")
        self.scales[name] = measure.scale
        if measure.null_as == 0:
            return Summed(name)
        return Summed(name, measure.null_as, self.count("*", of), self.count(measure.counted, of))

    def powers(self, made: Powers) -> tuple[str, tuple[Summed, ...]]:
        """How many rows have all factors; and over these the sums of the products of their powers, up to the degree of
        each, all but the first, which counts them."""
        offsets = [self._offset(steps, short=True) for steps, _ in made.factors]
        if len(offsets) == 1:  # where a test of each row would take as long as the sums
            of, counted = self.where(made.where), offsets[0]
        else:
            tests = [f"{offset} IS NOT NULL" for offset in offsets]
            tests += [str(self.value(made.where))] if made.where is not None else []
            of, counted = f" FILTER (WHERE {' AND '.join(tests)})", "*"
        sums = []
        for powers in islice(product(*(range(degree + 1) for _, degree in made.factors)), 1, None):
            factors = [offset for offset, power in zip(offsets, powers, strict=True) for _ in range(power)]
            name = self.add(f"sum({' * '.join(factors)}){of}")
            self.scales[name] = 0
            sums.append(Summed(name))
        return self.count(counted, of), tuple(sums)

    def present(self, measure: Measure, of: str) -> str:
        """How many have steps."""
        return self.count(measure.counted or self.measures.setdefault(measure.sql, self.names.new("s")), of)

    def add(self, aggregate: str) -> str:
        return self.aggregates.setdefault(aggregate, self.names.new("a"))

    def rows(self) -> Rows:
        """With all that is computed of each."""
        added = ({name: sql for sql, name in layer.items()} for layer in (self.values, self.measures))
        return self.below.with_layers(*map(Layer, added))

    # ---- features: exact values of a group

    def feature(self, feature: Feature, over: str = "") -> tuple[str, Column]:
        """An expression over the aggregates, and the column that it makes."""
        of = self.where(feature.where) + over
        made = self.names.new("c")
        match feature:
            case Tally():
                return self.count("*", of), column(made, INT, 0)
            case Total(steps=steps):
                summed = self.sum(self.measure(steps, grouped=True), of)
                low, high = huge(-STEP_LIMIT), huge(STEP_LIMIT)
                exact = whole(summed.column, self.scales[summed.column])
                clamped = f"CASE WHEN {exact} > {high} THEN {high} WHEN {exact} < {low} THEN {low} ELSE {exact} END"
                return f"CAST({clamped} AS BIGINT)", column(made, INT, -STEP_LIMIT, STEP_LIMIT)
            case Extreme(value=value, greatest=greatest):
                function = "max" if greatest else "min"
                return self.add(f"{function}({self.known(value)}){of}"), column(made, value.type)
            case Different(value=value):
                return self.count(f"DISTINCT {self.known(value)}", of), column(made, INT, 0)
            case Quantile(value=value, share=share, at=at):
                listed = self.listed(value, feature.where, over)
                return f"list_sort({listed})[{place(f'len({listed})', share, at)}]", column(made, value.type)
            case Mode(value=value):
                listed = self.listed(value, feature.where, over)
                return f"list_aggregate(list_sort({listed}), 'mode')", column(made, value.type)
            case Bits(op=op, value=value):
                return self.add(f"bit_{op.lower()}({self.value(value)}){of}"), column(made, INT)
            case Splice(value=value, separator=separator, order=order):
                found = self.value(value)
                by = [written(self.known(each.value), each) for each in (*order, Order(value)) if fields(each.value)]
                sorted_by = f" ORDER BY {', '.join(by)}" if by else ""
                joined = self.add(f"string_agg({found}, {literal(separator, TEXT)}{sorted_by}){of}")
                return f"CASE WHEN length({joined}) <= {LONGEST} THEN {joined} END", column(made, TEXT)
            case Moment(factors=factors):
                product = " * ".join(self._offset(steps) for steps in factors)
                return f"CAST({self.add(f'sum({product}){of}')} AS DECIMAL(38,0))", column(made, decimal(38, 0))
            case _:
                assert_never(feature)

    def listed(self, value: Scalar, where: Scalar | None, over: str) -> str:
        """All values that are not NULL."""
        found = self.known(value)
        test = f"{found} IS NOT NULL"
        if where is not None:
            test += f" AND {self.value(where)}"
        return self.add(f"list({found}) FILTER (WHERE {test}){over}")

    def _offset(self, steps: Steps, short: bool = False) -> str:
        """How many steps a row lies above their lower bound, in 128 bits; `short`: in 64."""
        measure = self.measure(steps, grouped=True)
        name = self.measures.setdefault(measure.sql, self.names.new("s"))
        if short:
            units = f"CAST({whole(name, measure.scale)} AS BIGINT)" if measure.scale else name
            return f"({units} - {literal(steps.low, INT)})"
        return f"({whole(name, measure.scale)} - {huge(steps.low)})"


def place(n: str, share: float, at: str) -> str:
    """Which of n values in order, from 1."""
    if at == "LEAST":
        double = f"CAST({n} AS DOUBLE)"
        return f"greatest(1, {n} - CAST(floor({double} - {double} * DOUBLE '{share!r}') AS BIGINT))"
    rounded = "floor" if at == "BELOW" else "ceil"
    return f"1 + CAST({rounded}(CAST({n} - 1 AS DOUBLE) * DOUBLE '{share!r}') AS BIGINT)"


def _summand(steps: Steps, below: Rows, emitter: ScalarEmitter) -> Spelled:
    """The value of the steps, or the column below it that they clamp anyway."""
    if isinstance(steps.value, Field):
        of = below.columns[steps.value.name]
        ends = steps.low * steps.grid, steps.high * steps.grid
        if isinstance(of.made, Clamp) and of.made.low <= ends[0] and ends[1] <= of.made.high:
            return of.made.column
    return emitter.spelled(steps.value)


def whole(name: str, scale: int) -> str:
    """A sum as an integer of 128 bits, NULL of nothing."""
    if not scale:
        return huge(name)
    rest = huge(f"({name} - trunc({name})) * DECIMAL({scale + 1},0) '{10**scale}'")
    return f"({huge(f'trunc({name})')} * {huge(10**scale)} + {rest})"
