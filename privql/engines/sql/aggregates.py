"""What is computed of each row, and aggregates over that: each expression once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice, product
from math import prod
from typing import assert_never

from privql.engines.sql.dialect import Dialect, Of
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.measure import Measure
from privql.engines.sql.ordering import written
from privql.engines.sql.relations import Clamp, Column, Layer, Names, Rows, column, one_zero
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
from privql.kernel.scalars import FLOAT, INT, TEXT, Field, Scalar, decimal, fields
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
    places: dict[str, str] = field(default_factory=dict)  # of rows among others, over all that
    aggregates: dict[str, str] = field(default_factory=dict)
    scales: dict[str, int] = field(default_factory=dict)  # of the sums among them
    marks: dict[str, int] = field(default_factory=dict)  # of those that tell how many values are none
    counts: dict[tuple[str, str], str] = field(default_factory=dict)  # of all values, less those that a sum tells
    emitter: ScalarEmitter = field(init=False)
    dialect: Dialect = field(init=False)

    def __post_init__(self) -> None:
        self.emitter, self.dialect = self.below.emitter, self.below.dialect

    def leaf(self, spelled: Spelled) -> Spelled:
        if spelled.leaf:
            return spelled
        return replace(spelled, sql=self.values.setdefault(spelled.sql, self.names.new("x")), leaf=True)

    def value(self, term: Scalar) -> Spelled:
        return self.leaf(self.emitter.settled(term))

    def known(self, term: Scalar) -> Spelled:
        """A value by which rows are grouped or put in order."""
        return self.leaf(one_zero(self.emitter.settled(term), self.dialect))

    def where(self, condition: Scalar | None) -> str:
        return "" if condition is None else str(self.value(condition))

    def measure(self, steps: Steps, grouped: bool = False) -> Measure:
        return self.dialect.measured(self.leaf(_summand(steps, self.below, self.emitter)), steps, grouped)

    def count(self, what: str, of: Of) -> str:
        return self.add(self.dialect.aggregate("count", what, of))

    def sum(self, measure: Measure, of: Of) -> Summed:
        x = self.measures.setdefault(measure.sql, self.names.new("s"))
        name = self.add(self.dialect.summed(x, measure.reach, of))
        self.scales[name] = measure.scale
        if measure.mark:
            self.marks[name] = measure.mark
        if measure.null_as == 0:
            return Summed(name)
        return Summed(name, measure.null_as, self.count("*", of), self.count(measure.counted, of))

    def powers(self, made: Powers) -> tuple[str, tuple[Summed, ...]]:
        """How many rows have all factors; and over these the sums of the products of their powers, up to the degree of
        each, all but the first, which counts them."""
        offsets = [self._offset(steps, short=True) for steps, _ in made.factors]
        if len(offsets) == 1:  # where a test of each row would take as long as the sums
            of, counted = Of(self.where(made.where)), offsets[0]
        else:
            tests = [f"{offset} IS NOT NULL" for offset in offsets]
            tests += [str(self.value(made.where))] if made.where is not None else []
            of, counted = Of(" AND ".join(tests)), "*"
        sums = []
        for powers in islice(product(*(range(degree + 1) for _, degree in made.factors)), 1, None):
            factors = [offset for offset, power in zip(offsets, powers, strict=True) for _ in range(power)]
            reach = prod((steps.high - steps.low) ** n for (steps, _), n in zip(made.factors, powers, strict=True))
            name = self.add(self.dialect.summed(" * ".join(factors), reach, of))
            self.scales[name] = 0
            sums.append(Summed(name))
        return self.count(counted, of), tuple(sums)

    def present(self, measure: Measure, of: Of) -> str:
        """How many have steps."""
        if measure.mark:
            all_ = self.count(measure.counted, of)
            return self.counts.setdefault((all_, self.sum(measure, of).column), self.names.new("a"))
        return self.count(measure.counted or self.measures.setdefault(measure.sql, self.names.new("s")), of)

    def marked(self, sum: str) -> str:
        """How many values that are none a sum tells."""
        mark = self.marks[sum]
        dividend = f"(coalesce({sum}, 0) * 2 + {self.dialect.wide(mark)})"
        return self.dialect.quotient(dividend, self.dialect.wide(2 * mark))

    def add(self, aggregate: str) -> str:
        return self.aggregates.setdefault(aggregate, self.names.new("a"))

    def placed(self, window: str) -> str:
        """A row's place, as a window function tells it."""
        return self.places.setdefault(window, self.names.new("r"))

    def rows(self, beside: Layer | None = None) -> Rows:
        """With all that is computed of each, and what is computed `beside`; and then the places."""
        values, measures, places = (
            Layer({name: sql for sql, name in layer.items()}) for layer in (self.values, self.measures, self.places)
        )
        return self.below.with_layers(values, measures, *([] if beside is None else [beside]), places)

    # ---- features: exact values of a group

    def feature(self, feature: Feature, over: str = "") -> tuple[str, Column]:
        """An expression over the aggregates, and the column that it makes."""
        of = Of(self.where(feature.where), over)
        dialect = self.dialect
        made = self.names.new("c")
        match feature:
            case Tally():
                return self.count("*", of), column(made, INT, 0)
            case Total(steps=steps):
                summed = self.sum(self.measure(steps, grouped=True), of)
                low, high = dialect.wide(-STEP_LIMIT), dialect.wide(STEP_LIMIT)
                exact = dialect.whole(summed.column, self.scales[summed.column])
                clamped = f"CASE WHEN {exact} > {high} THEN {high} WHEN {exact} < {low} THEN {low} ELSE {exact} END"
                return f"CAST({clamped} AS BIGINT)", column(made, INT, -STEP_LIMIT, STEP_LIMIT)
            case Extreme(value=value, greatest=greatest):
                return self.add(dialect.extreme(self.known(value), greatest, of)), column(made, value.type)
            case Different(value=value):
                direct = dialect.different(self.known(value), of)
                sql = dialect.different_in(self.listed(value, of)) if direct is None else self.add(direct)
                return sql, column(made, INT, 0)
            case Quantile(value=value, share=share, at=at):
                listed = self.listed(value, of)
                found = dialect.quantile(listed, value.type, lambda n: place(n, share, at, dialect))
                return found, column(made, value.type)
            case Mode(value=value):
                return dialect.mode(self.listed(value, of), value.type), column(made, value.type)
            case Bits(op=op, value=value):
                sql = dialect.aggregate(f"bit_{op.lower()}", str(self.value(value)), of)
                return self.add(sql), column(made, INT)
            case Splice(value=value, separator=separator, order=order):
                joined = self._spliced(value, dialect.literal(separator, TEXT), order, of)
                return f"CASE WHEN length({joined}) <= {LONGEST} THEN {joined} END", column(made, TEXT)
            case Moment(factors=factors):
                product = " * ".join(self._offset(steps) for steps in factors)
                summed_up = self.add(dialect.summed(product, None, of))
                return f"CAST({summed_up} AS {dialect.type_name(decimal(38, 0))})", column(made, decimal(38, 0))
            case _:
                assert_never(feature)

    def listed(self, value: Scalar, of: Of) -> str:
        """All values that are not NULL."""
        return self.list_of(self.known(value), self.known(value), of)

    def list_of(self, value: Spelled, present: Spelled, of: Of) -> str:
        """Values of the rows where another is not NULL."""
        test = f"{present} IS NOT NULL" + (f" AND {of.where}" if of.where else "")
        return self.add(self.dialect.listed(value, Of(test, of.over)))

    def _spliced(self, value: Scalar, separator: Spelled, order: tuple[Order, ...], of: Of) -> str:
        found, sorted_by = self.value(value), (*order, Order(value))
        by = [written(self.known(each.value), each, self.dialect) for each in sorted_by if fields(each.value)]
        direct = self.dialect.splice(found, separator, by, of)
        if direct is not None:
            return self.add(direct)
        ordered = f"PARTITION BY {self.below.owner} ORDER BY {', '.join(by) or 'TRUE'}"
        place = Spelled(self.placed(f"row_number() OVER ({ordered})"), INT, leaf=True)
        return self.dialect.spliced(self.list_of(place, found, of), self.list_of(found, found, of), separator)

    def _offset(self, steps: Steps, short: bool = False) -> str:
        """How many steps a row lies above their lower bound, in 128 bits; `short`: in 64."""
        measure = self.measure(steps, grouped=True)
        name = self.measures.setdefault(measure.sql, self.names.new("s"))
        if short:
            units = f"CAST({self.dialect.whole(name, measure.scale)} AS BIGINT)" if measure.scale else name
            return f"({units} - {self.dialect.literal(steps.low, INT)})"
        return f"({self.dialect.whole(name, measure.scale)} - {self.dialect.wide(steps.low)})"


def place(n: str, share: float, at: str, dialect: Dialect) -> str:
    """Which of n values in order, from 1."""
    type, of_one = dialect.type_name(FLOAT), dialect.literal(share, FLOAT)
    if at == "LEAST":
        double = f"CAST({n} AS {type})"
        return f"greatest(1, {n} - CAST(floor({double} - {double} * {of_one}) AS BIGINT))"
    rounded = "floor" if at == "BELOW" else "ceil"
    return f"1 + CAST({rounded}(CAST({n} - 1 AS {type}) * {of_one}) AS BIGINT)"


def _summand(steps: Steps, below: Rows, emitter: ScalarEmitter) -> Spelled:
    """The value of the steps, or the column below it that they clamp anyway."""
    if isinstance(steps.value, Field):
        of = below.columns[steps.value.name]
        ends = steps.low * steps.grid, steps.high * steps.grid
        if isinstance(of.made, Clamp) and of.made.low <= ends[0] and ends[1] <= of.made.high:
            return of.made.column
    return emitter.spelled(steps.value)
