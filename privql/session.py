"""An analyst's session: text and parameters in, releases out. What a server, a shell or a notebook holds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from privql.check.env import Env, ReleaseColumn, ReleaseSchema, Settings
from privql.diagnostics import Diagnostic, PrivQLError, Source, Span, refuse
from privql.kernel.cost import amount_text
from privql.kernel.scalars import Value
from privql.ledger import Ledger, LedgerError
from privql.pipeline.check import check_statement, check_text
from privql.pipeline.report import BudgetCost, FileCheck, Price, StatementCheck, price
from privql.plan.amounts import ZERO, Amount
from privql.policy.catalog import Catalog, fold
from privql.syntax import ast

if TYPE_CHECKING:
    from privql.finish.result import Release
    from privql.finish.table import Table
    from privql.pipeline.run import Desk
    from privql.post.run import PostProcessor

Params = Mapping[str, object] | None


class Session:
    """Made by `privql.connect`. Not shared between threads; open one in each."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        base: Path,
        analyst: str,
        frames: Mapping[str, object],
        dummy: bool,
        verified: bool,
    ) -> None:
        self._ledger, self._catalog, self._base, self._analyst = ledger, catalog, base, analyst
        self._frames, self._dummy, self._verified = frames, dummy, verified
        self._version = ledger.policy().version
        self._settings = Settings()
        self._engine: Any = None
        self._post: PostProcessor | None = None

    # ---- checking: no private row is read

    def check(self, text: str, params: Params = None, **named: object) -> StatementCheck:
        """One statement, proved and priced."""
        one = self._one(text, {**(params or {}), **named})
        if not one.ok:
            return one
        over = self._affordable((one,))[1]
        return replace(one, diagnostics=(*one.diagnostics, *over))

    def check_text(self, text: str, *, name: str = "<query>", params: Params = None) -> FileCheck:
        """Every statement of a text, each against what the ones before it promise."""
        source = Source(text, name)
        checks = tuple(self._looked_up(one) for one, _ in check_text(source, self._env(params or {})))
        costs, over = self._affordable(checks)
        return FileCheck(source, checks, costs, over)

    def check_file(self, path: str | os.PathLike[str], params: Params = None) -> FileCheck:
        return self.check_text(_read(path), name=os.fspath(path), params=params)

    def explain(self, text: str, params: Params = None, **named: object) -> str:
        """How each statement of a text is measured, what it costs and why."""
        from privql.pipeline.explain import explain

        checked = self.check_text(text, params={**(params or {}), **named})
        if not checked.ok:
            raise PrivQLError(checked.diagnostics)
        return "\n\n".join(explain(one) for one in checked.statements)

    # ---- running

    def run(self, text: str, params: Params = None, **named: object) -> Release:
        """One statement, answered. What it costs is charged before any row is read."""
        one = self._one(text, {**(params or {}), **named})
        return self._answer(_accepted(one))

    def run_text(
        self, text: str, *, name: str = "<query>", params: Params = None, partial: bool = False
    ) -> Iterator[Release]:
        """The statements of a text, one after the other. The whole text is priced first; unless `partial`, a text that
        the budget cannot carry is refused before its first statement runs."""
        checked = self.check_text(text, name=name, params=params)
        if any(not one.ok for one in checked.statements) or (checked.over and not partial):
            raise PrivQLError([d for d in checked.diagnostics if d.severity == "error"])
        return self._run_each(checked, params or {})

    def run_file(
        self, path: str | os.PathLike[str], params: Params = None, *, partial: bool = False
    ) -> Iterator[Release]:
        return self.run_text(_read(path), name=os.fspath(path), params=params, partial=partial)

    def _run_each(self, checked: FileCheck, params: Mapping[str, object]) -> Iterator[Release]:
        for one in checked.statements:
            assert one.statement is not None
            now, _ = check_statement(one.statement, one.span, checked.source, self._env(params))
            yield self._answer(_accepted(now))

    # ---- what is left

    def budget(self) -> BudgetReport:
        return BudgetReport(tuple(_line(state) for state in self._ledger.budget_report(self._analyst)))

    def names(self) -> tuple[str, ...]:
        """Every table, view, column and release that a query may name."""
        tables = self._catalog.tables
        columns = [column.name for table in tables for column in table.columns if not column.hidden]
        views = [view.name for view in self._catalog.views]
        return tuple(dict.fromkeys([*(t.name for t in tables), *views, *self._releases(), *columns]))

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    def close(self) -> None:
        for part in (self._engine, self._post):
            if part is not None:
                part.close()
        self._engine = self._post = None
        self._ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- inside

    def _env(self, params: Mapping[str, object]) -> Env:
        defaults: dict[str, Fraction] = {}
        for unit in self._catalog.units:
            for state in self._usable(unit.name)[:1]:
                if state.budget.default_epsilon is not None:
                    defaults[unit.name] = state.budget.default_epsilon
        return Env(
            self._catalog,
            dict(params),
            _Releases(self._ledger, self._analyst, self._releases()),
            self._settings,
            _Public(self),
            defaults,
        )

    def _one(self, text: str, params: Mapping[str, object]) -> StatementCheck:
        source = Source(text)
        checks = [one for one, _ in check_text(source, self._env(params))]
        if len(checks) == 1:
            return self._looked_up(checks[0])
        broken = [d for one in checks for d in one.diagnostics]
        if broken:
            raise PrivQLError(broken)
        what = "there is no statement here" if not checks else f"there are {len(checks)} statements here"
        span = checks[1].span if checks else Span(0, 0)
        raise refuse("PQL0107", what, span, help="give one, or use run_text for several").in_source(source)

    def _looked_up(self, check: StatementCheck) -> StatementCheck:
        """Whether the ledger has this answer already: then it costs nothing."""
        if not check.ok or not check.runs or not check.epsilon.known:
            return check
        if any(name not in check.env.params for name in check.params):
            return check
        from privql.pipeline.request import request_for

        try:
            found = self._ledger.find(request_for(check, self._analyst, self._version))
        except LedgerError:
            return check
        return replace(check, replay=found is not None)

    def _answer(self, check: StatementCheck) -> Release:
        from privql.pipeline.describe import told

        match check.statement:
            case ast.Query() | ast.CreateRelease():
                from privql.pipeline.run import run

                return run(check, self._desk())
            case ast.SetOption():
                self._settings = check.settings
                return told(check, self._catalog, self.budget(), self._releases())
            case _:
                return told(check, self._catalog, self.budget(), self._releases())

    def _affordable(self, checks: Sequence[StatementCheck]) -> tuple[tuple[BudgetCost, ...], tuple[Diagnostic, ...]]:
        """What the text takes from each budget, and the first statement that a budget cannot carry."""
        totals: dict[str, Amount] = {}
        over: list[Diagnostic] = []
        broken: set[str] = set()
        for check in checks:
            for unit, epsilon in check.by_unit.items():
                totals[unit] = totals.get(unit, ZERO) + epsilon
                if unit in broken or not totals[unit].known or not check.ok:
                    continue
                problem = self._unpayable(unit, epsilon.constant, totals[unit].constant, check)
                if problem is not None:
                    broken.add(unit)
                    over.append(problem.in_source(check.source))
        costs = []
        for unit, total in totals.items():
            state = self._paying(unit, total)
            after = None if state is None else Amount(state.left.epsilon) - total
            left: Fraction | Amount | None = after
            if after is not None and after.known:
                left = after.constant
            fits = (
                unit not in broken and state is not None and (after is None or not after.known or after.constant >= 0)
            )
            costs.append(BudgetCost(state.budget.name if state else None, unit, price(total), fits, left))
        return tuple(costs), tuple(over)

    def _usable(self, unit: str) -> list[Any]:
        """The budgets that could pay for a unit; only the chosen one, where SET budget chose."""
        states = self._ledger.budgets_for(self._analyst, unit)
        chosen = self._settings.budget
        mine = [s for s in states if chosen is not None and fold(s.budget.name) == fold(chosen)]
        return mine or states

    def _paying(self, unit: str, total: Amount) -> Any:
        states = self._usable(unit)
        able = [s for s in states if not total.known or s.left.epsilon >= total.constant]
        return next(iter(able or states), None)

    def _unpayable(self, unit: str, epsilon: Fraction, total: Fraction, check: StatementCheck) -> Diagnostic | None:
        states = self._usable(unit)
        if not states:
            return Diagnostic(
                "PQL0505",
                f"no budget for {unit} is open to `{self._analyst}`",
                check.span,
                help="ask the owner: `CREATE BUDGET … FOR UNIT …`, `GRANT … TO …`",
            )
        state = self._paying(unit, Amount(total))
        cap = state.budget.max_epsilon
        if cap is not None and epsilon > cap:
            return Diagnostic(
                "PQL0504",
                f"one query may spend at most ε = {amount_text(cap)} of `{state.budget.name}`",
                check.span,
                why=f"this one costs ε = {amount_text(epsilon)}",
                help=f"write SPEND EPSILON {amount_text(cap)}, or split the query",
            )
        if total > state.left.epsilon:
            return Diagnostic(
                "PQL0502",
                f"`{state.budget.name}` cannot pay for this",
                check.span,
                why=f"it costs ε = {amount_text(epsilon)}, together with what comes before it ε = {amount_text(total)}, "
                f"and ε = {amount_text(state.left.epsilon)} is left"
                if total != epsilon
                else f"it costs ε = {amount_text(epsilon)}, and ε = {amount_text(state.left.epsilon)} is left",
                help="spend less, use answers released before (`SHOW RELEASES`), or ask the owner for more budget",
            )
        return None

    def _releases(self) -> dict[str, str]:
        """Named releases of this analyst: folded name to name."""
        out: dict[str, str] = {}
        for name in self._ledger.release_names(self._analyst):
            out[fold(name)] = name
        return out

    def _desk(self) -> Desk:
        from privql.pipeline.run import Desk

        return Desk(
            self._ledger,
            self._analyst,
            self._version,
            self._private_engine,
            self._post_processor,
            self._released,
            self._dummy,
        )

    def _released(self, name: str) -> Table:
        return _Releases(self._ledger, self._analyst, self._releases()).release(fold(name)).table

    def _private_engine(self, tables: Sequence[str]) -> Any:
        from privql.pipeline.places import private_engine

        if self._engine is None:
            self._engine = private_engine(self._catalog, self._base, self._frames, self._dummy, self._verified)
        return self._engine

    def _post_processor(self) -> PostProcessor:
        if self._post is None:
            from privql.pipeline.places import post_processor

            self._post = post_processor(self._catalog, self._base, self._frames)
        return self._post


@dataclass(frozen=True, slots=True)
class BudgetLine:
    budget: str
    unit: str
    spent: Fraction
    own: Fraction
    left: Fraction
    total: Fraction
    max_epsilon: Fraction | None
    default_epsilon: Fraction | None


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """Spent and left, a line a budget."""

    budgets: tuple[BudgetLine, ...]

    def line(self) -> str:
        return "; ".join(f"{one.budget}: ε = {amount_text(one.left)} left" for one in self.budgets)

    def __str__(self) -> str:
        if not self.budgets:
            return "no budget is open to you"
        return "\n".join(
            f"{one.budget} ({one.unit}): ε = {amount_text(one.left)} left of {amount_text(one.total)}, "
            f"{amount_text(one.spent)} spent, {amount_text(one.own)} by you"
            for one in self.budgets
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "budgets": [
                {
                    "budget": one.budget,
                    "unit": one.unit,
                    "epsilon": str(one.total),
                    "spent": str(one.spent),
                    "spent_by_you": str(one.own),
                    "left": str(one.left),
                    "max_per_query": str(one.max_epsilon) if one.max_epsilon is not None else None,
                    "default": str(one.default_epsilon) if one.default_epsilon is not None else None,
                }
                for one in self.budgets
            ]
        }


def _line(state: Any) -> BudgetLine:
    budget = state.budget
    return BudgetLine(
        budget.name,
        budget.unit,
        state.spent.epsilon,
        state.own.epsilon,
        state.left.epsilon,
        budget.epsilon,
        budget.max_epsilon,
        budget.default_epsilon,
    )


class _Releases(Mapping[str, ReleaseSchema]):
    """The analyst's named releases, read from the ledger when a query names one."""

    def __init__(self, ledger: Ledger, analyst: str, names: Mapping[str, str]) -> None:
        self._ledger, self._analyst, self._names = ledger, analyst, names

    def release(self, name: str) -> Release:
        from privql.finish.result import Release

        stored = self._ledger.release_named(self._analyst, self._names[name])
        if stored is None:
            raise KeyError(name)
        return Release.from_bytes(stored.answer)

    def __getitem__(self, name: str) -> ReleaseSchema:
        release = self.release(name)
        return ReleaseSchema(self._names[name], tuple(ReleaseColumn(c.name, c.type, c.domain) for c in release.columns))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, slots=True)
class _Public:
    """Domains that public tables declare."""

    session: Session

    def column(self, table: str, column: str) -> tuple[Value, ...] | None:
        from privql.pipeline.places import public_values

        return public_values(self.session._post_processor(), table, column)

    def query(self, query: ast.Query) -> tuple[Value, ...] | None:
        from privql.pipeline.places import query_values

        return query_values(self.session._post_processor(), query, self.session.catalog)


def _accepted(check: StatementCheck) -> StatementCheck:
    if not check.ok:
        raise PrivQLError([d for d in check.diagnostics if d.severity == "error"])
    return check


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise refuse(
            "PQL0108", f"cannot read `{os.fspath(path)}`: {reason}", Span(0, 0), help="give a file of queries"
        ) from None


Data = Literal["dummy"] | None
__all__ = ["BudgetReport", "FileCheck", "Price", "Session", "StatementCheck"]
