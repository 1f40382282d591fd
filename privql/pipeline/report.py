"""What a check says: per statement and per file, for people and as JSON. Rationals are text, `∞` where unbounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from privql.check.env import Env
from privql.check.relations import Attribute, CheckedQuery
from privql.diagnostics import Diagnostic, Source, Span, span_json
from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.events import Events
from privql.names import fold
from privql.pipeline.certificate import measurements_json
from privql.pipeline.columns import OutputColumn, columns_of
from privql.pipeline.figures import rough
from privql.pipeline.padding import lengths
from privql.pipeline.price import BudgetCost, Price, price
from privql.plan.amounts import ZERO, Amount
from privql.plan.measurements import Measurement
from privql.plan.program import Plan
from privql.syntax import ast

if TYPE_CHECKING:
    from privql.ledger import Prepaid, Request
    from privql.pipeline.runs import Runs

Spared = Literal["replay", "same as before", "paid for", "rolled back"]  # answered, asked above, by a plan, or not run


@frozen
class Refines:
    """A release that is made more accurate. `id`: None where a line above has yet to make it. `anew`: what asking
    for as much from the start would cost."""

    name: str
    id: str | None
    measured: StatementCheck
    anew: Cost


@frozen
class StatementCheck:
    """One statement: accepted and priced, or rejected with reasons."""

    source: Source
    span: Span
    kind: str
    statement: ast.Statement | None
    diagnostics: tuple[Diagnostic, ...]
    env: Env
    query: CheckedQuery | None = None
    plan: Plan | None = None
    params: tuple[str, ...] = ()
    name: str | None = None  # CREATE RELEASE name
    spared: Spared | None = None  # why running it spends nothing, though it measures
    request: Request | None = field(default=None, repr=False)  # as the ledger knows it, whatever names it reads
    slot: tuple[Prepaid, int] | None = None  # of a plan, that was paid for it
    refines: Refines | None = None  # and with which answer its own is merged
    again: Runs | None = None  # how often it is made, and at which price: its plan is that of one run
    after: Env | None = field(default=None, repr=False)  # what the next statement is checked against
    silent: bool = False  # it depends on a statement that failed, and that said why
    attributes: Mapping[str, Attribute] = field(default_factory=dict, repr=False)  # what is known of its columns, by id

    @property
    def ok(self) -> bool:
        return not self.silent and all(d.severity != "error" for d in self.diagnostics)

    @property
    def runs(self) -> bool:
        """Whether running it would measure something: EXPLAIN does not."""
        return self.plan is not None and bool(self.plan.blocks) and not isinstance(self.statement, ast.Explain)

    @property
    def budget(self) -> str | None:
        """That SET chose, if it pays for anything here: it is of one unit."""
        name = self.env.settings.budget
        if name is None or self.plan is None:
            return None
        of = {fold(budget.unit) for budget in self.env.catalog.budgets if fold(budget.name) == fold(name)}
        return name if of & {fold(unit) for unit in self.plan.by_unit} else None

    @property
    def replay(self) -> bool:
        """The ledger has this answer already."""
        return self.spared == "replay"

    @property
    def _spends(self) -> bool:
        return self.runs and self.spared is None

    @property
    def free(self) -> str | None:
        if self.query is None or self._spends:
            return None
        return self.spared or "post-processing"

    @property
    def times(self) -> int:
        """How many queries it is charged as."""
        return 1 if self.again is None else self.again.count

    @property
    def epsilon(self) -> Amount:
        """What running it will spend."""
        return sum(self.by_unit.values(), ZERO)

    @property
    def by_unit(self) -> dict[str, Amount]:
        if self.plan is None or not self._spends:
            return {}
        if self.again is not None:
            return {unit: Amount(cost.epsilon) for unit, cost in self.again.losses.items()}
        return self.plan.by_unit

    @property
    def delta_by_unit(self) -> dict[str, Fraction]:
        if self.plan is None or not self._spends:
            return {}
        if self.again is not None:
            return {unit: cost.delta for unit, cost in self.again.losses.items()}
        return self.plan.delta_by_unit

    @property
    def events_by_unit(self) -> dict[str, Events]:
        """What each unit meets by it, or by one run of it, once all parameters have values: what is charged."""
        if self.request is not None:
            return dict(self.request.charges)
        return {} if self.plan is None else self.plan.events_by_unit

    @property
    def delta(self) -> Fraction:
        return sum(self.delta_by_unit.values(), Fraction(0))

    @property
    def cost(self) -> Price:
        return price(self.epsilon, self.delta)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return self.plan.measurements if self.plan is not None else ()

    @property
    def groups(self) -> int | None:
        """How many groups the answer is made of, where one block is measured and its groups are listed."""
        if self.plan is None or len(self.plan.blocks) != 1:
            return None
        block = self.plan.blocks[0].block
        listed = [key.members for key in block.keys]
        sizes = [len(members) for members in listed if members is not None]
        if len(sizes) < len(listed):
            return None
        return sum(math.prod(sizes[at] for at in keys) for keys in block.sets or (range(len(sizes)),))

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return () if self.query is None else columns_of(self.query, self.plan)

    @property
    def line(self) -> int:
        return self.source.position(self.span.start)[0]

    def __str__(self) -> str:
        if not self.ok:
            return "\n\n".join(str(d) for d in self.diagnostics)
        cost = f"free ({self.free})" if self.free else str(self.cost) if self.runs else "free"
        again = f" ({self.again.words})" if self.again is not None else ""
        groups = f", {self.groups} groups" if self.runs and (self.groups or 0) > 1 else ""
        out = [f"line {self.line}: {self.kind}, {cost}{again}{groups}"]
        for column in self.columns:
            error = f" ± {rough(column.halfwidth95)} (95%)" if column.halfwidth95 is not None else ""
            beyond = f", NULL where it is too large for {column.type}" if column.beyond else ""
            out.append(f"  {column.name}: {column.type} {column.label}{error}{beyond}")
        return "\n".join([*out, *(str(d) for d in self.diagnostics)])

    def to_json(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "kind": self.kind,
            "ok": self.ok,
            "span": span_json(self.source, self.span),
            "free": self.free,
            "groups": self.groups,
            "cost": self.cost.to_json(),
            **({} if self.again is None else {"again": self.again.to_json()}),
            "columns": [c.to_json() for c in self.columns],
            "measurements": measurements_json(self.plan, self.source) if self.plan is not None else [],
        }


@frozen
class FileCheck:
    """A text of any number of statements, priced as a whole."""

    source: Source
    statements: tuple[StatementCheck, ...]
    costs: tuple[BudgetCost, ...] = ()
    over: tuple[Diagnostic, ...] = ()  # what the budget cannot carry

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return (*(d for one in self.statements for d in one.diagnostics), *self.over)

    @property
    def ok(self) -> bool:
        return all(one.ok for one in self.statements) and not self.over

    @property
    def params(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.statements for name in one.params))

    @property
    def total(self) -> Price:
        epsilon = sum((one.epsilon for one in self.statements), ZERO)
        return price(epsilon, sum((one.delta for one in self.statements), Fraction(0)))

    @property
    def padded(self) -> Fraction | None:
        """The shortest time that anything here takes that reads rows, where the owner asks for it."""
        return next((one.env.catalog.padded for one in self.statements if one.runs and one.spared is None), None)

    @property
    def cost(self) -> Price:
        return self.total

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.statements[-1].columns if self.statements else ()

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(m for one in self.statements for m in one.measurements)

    def __str__(self) -> str:
        out = [str(one) for one in self.statements if one.ok]
        out += [f"total: {cost}" for cost in self.costs]
        if not self.costs and self.ok:
            out.append("total: free")
        if self.padded is not None:
            out.append(f"time: an answer that is measured takes {lengths(self.padded)}")
        return "\n".join(out)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "ok": self.ok,
            "file": self.source.name,
            "params": list(self.params),
            "total": self.total.to_json(),
            "costs": [cost.to_json() for cost in self.costs],
            **({} if self.padded is None else {"padded_seconds": str(self.padded)}),
            "statements": [one.to_json() for one in self.statements],
            "diagnostics": [d.to_json() for d in self.diagnostics],
        }
