"""An analyst's session: text and parameters in, releases out. What a server, a shell or a notebook holds."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from privql.check.env import Env, Settings
from privql.diagnostics import PrivQLError, Source, Span, refuse
from privql.ledger import Ledger, LedgerError, NameTaken, StoredRelease
from privql.pipeline.check import check_statement, check_text
from privql.pipeline.named import NamedReleases
from privql.pipeline.parameters import bound, unused
from privql.pipeline.places import Places
from privql.pipeline.purse import BudgetReport, Purse
from privql.pipeline.report import FileCheck, StatementCheck
from privql.policy.catalog import Catalog
from privql.syntax import ast

if TYPE_CHECKING:
    from privql.finish.result import Release
    from privql.pipeline.apply import AppliedPolicy
    from privql.pipeline.run import Desk
    from privql.pipeline.versions import PolicyDiff, PolicyHistory

Params = Mapping[str, object] | None
_UNPAID = frozenset({"PQL0502", "PQL0504", "PQL0505"})  # what a text run in part may meet


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
        version: int,
    ) -> None:
        self._ledger, self._catalog, self._analyst, self._dummy = ledger, catalog, analyst, dummy
        self._places = Places(catalog, base, frames, dummy, ledger, self._named)
        self._version = version
        self._settings = Settings()

    # ---- checking: no private row is read

    def check(self, text: str, params: Params = None, **named: object) -> StatementCheck:
        """One statement, proved and priced."""
        one = self._one(text, {**(params or {}), **named})
        if not one.ok:
            return one
        over = self._purse().price((one,))[1]
        return replace(one, diagnostics=(*one.diagnostics, *over))

    def check_text(self, text: str, *, name: str = "<query>", params: Params = None) -> FileCheck:
        """Every statement of a text, each against what the ones before it promise."""
        source = Source(text, name)
        checks = tuple(self._looked_up(one) for one, _ in check_text(source, self._env(params or {})))
        costs, over = self._purse().price(checks)
        return FileCheck(source, checks, costs, (*unused(params or {}, checks), *over))

    def check_file(self, path: str | os.PathLike[str], params: Params = None) -> FileCheck:
        return self.check_text(_read(path), name=os.fspath(path), params=params)

    def explain(self, text: str, params: Params = None, **named: object) -> str:
        """How each statement of a text is measured, what it costs and why."""
        return self.explain_text(text, params={**(params or {}), **named})

    def explain_text(self, text: str, *, name: str = "<query>", params: Params = None) -> str:
        from privql.pipeline.explain import explain

        checked = self.check_text(text, name=name, params=params)
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
        unpaid = [d for d in checked.over if d.code not in _UNPAID] if partial else checked.over
        if any(not one.ok for one in checked.statements) or unpaid:
            raise PrivQLError([d for d in checked.diagnostics if d.severity == "error"])
        for one in checked.statements:
            bound(one)
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
        return BudgetReport(self._ledger.budget_report(self._analyst))

    def names(self) -> tuple[str, ...]:
        """Every table, view, column and release that a query may name."""
        tables = self._catalog.tables
        columns = [column.name for table in tables for column in table.columns if not column.hidden]
        views = [view.name for view in self._catalog.views]
        return tuple(dict.fromkeys([*(t.name for t in tables), *views, *self._named().names, *columns]))

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    def close(self) -> None:
        self._places.close()
        self._ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- inside

    def _env(self, params: Mapping[str, object]) -> Env:
        purse = self._purse()
        defaults = {unit.name: purse.default_epsilon(unit.name) for unit in self._catalog.units}
        return Env(
            self._catalog,
            dict(params),
            self._named(),
            self._settings,
            self._places,
            {unit: epsilon for unit, epsilon in defaults.items() if epsilon is not None},
            {unit.name: purse.default_delta(unit.name) for unit in self._catalog.units},
            {unit.name: self._analyst for unit in self._catalog.units if not purse.usable(unit.name)},
        )

    def _purse(self) -> Purse:
        return Purse(self._ledger, self._analyst, self._settings.budget)

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
        raise refuse("PQL0113", what, span, help="give one, or use run_text for several").in_source(source)

    def _looked_up(self, check: StatementCheck) -> StatementCheck:
        """Whether the ledger has this answer already: then it costs nothing."""
        if not check.ok or not check.runs or not check.epsilon.known:
            return check
        if any(name not in check.env.params for name in check.params):
            return check
        from privql.pipeline.request import name_taken, request_for

        try:
            request = request_for(check, self._analyst, self._version, lambda name: self._stored(name).release_id)
            found = self._ledger.find(request)
        except NameTaken as taken:
            return replace(check, diagnostics=(*check.diagnostics, name_taken(taken, check)))
        except (LedgerError, KeyError):  # KeyError: it reads a release that an earlier line has yet to make
            return check
        return replace(check, replay=found is not None)

    def _answer(self, check: StatementCheck) -> Release:
        if isinstance(check.statement, ast.Query | ast.CreateRelease):
            from privql.pipeline.run import run

            return run(check, self._desk())
        from privql.pipeline.describe import told

        if isinstance(check.statement, ast.SetOption):
            self._settings = check.settings
        return told(check, self._catalog, self.budget(), self._named().names)

    def _named(self) -> NamedReleases:
        return NamedReleases(self._ledger, self._analyst)

    def _desk(self) -> Desk:
        from privql.pipeline.run import Desk

        return Desk(self._ledger, self._analyst, self._version, self._places, self._stored, self._dummy)

    def _stored(self, name: str) -> StoredRelease:
        return self._named().stored(name)


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
            "PQL0511", f"cannot read `{os.fspath(path)}`: {reason}", Span(0, 0), help="give a file of queries"
        ) from None


def connect(
    ledger: str | os.PathLike[str] | None = None,
    *,
    policy: str | os.PathLike[str] | None = None,
    analyst: str | None = None,
    frames: Mapping[str, object] | None = None,
    data: Literal["dummy"] | None = None,
) -> Session:
    """A session on the policy that a ledger holds; or, with `policy`, on a scratch ledger that ends with it.

    `data="dummy"` answers from rows invented from the policy alone, on a scratch ledger: nothing is spent.
    """
    from privql.pipeline.places import scratch
    from privql.pipeline.policies import catalog_from_ledger

    who = analyst if analyst is not None else getpass.getuser()
    if data not in (None, "dummy"):
        raise refuse("PQL0511", 'data is "dummy" or left out', Span(0, 0), help='write connect(…, data="dummy")')
    if policy is not None:
        if ledger is not None and os.fspath(ledger) != ":memory:":
            raise refuse(
                "PQL0511",
                "a policy is put into a ledger by its owner",
                Span(0, 0),
                help="run `privql policy apply POLICY --ledger LEDGER`, then connect to the ledger alone",
            )
        opened, catalog, base, version = scratch(policy)
    else:
        try:
            opened = Ledger.open(ledger if ledger is not None else "ledger.db")
            catalog, source, base, version = catalog_from_ledger(opened)
        except LedgerError as problem:
            raise refuse("PQL0510", str(problem), Span(0, 0)) from None
        if data == "dummy":
            opened.close()
            opened, catalog, base, version = scratch(source, base)
    return Session(opened, catalog, base, who, frames or {}, data == "dummy", version)


def apply(
    policy: str | os.PathLike[str],
    ledger: str | os.PathLike[str],
    frames: Mapping[str, object] | None = None,
    *,
    reason: str = "",
    by: str | None = None,
) -> AppliedPolicy:
    """The owner's: verify a policy on the data and put it in force in a ledger, which this creates if need be.

    What protects less than before needs a `reason`; the ledger keeps it, and who applied the policy.
    """
    from privql.pipeline.apply import apply_policy

    who = by if by is not None else getpass.getuser()
    return apply_policy(os.fspath(policy), os.fspath(ledger), frames, reason=reason, by=who)


def policy_diff(policy: str | os.PathLike[str], ledger: str | os.PathLike[str]) -> PolicyDiff:
    """The owner's: what a policy would change for the loss, against all that a ledger had in force."""
    from privql.pipeline import versions

    return versions.policy_diff(os.fspath(policy), os.fspath(ledger))


def policy_history(ledger: str | os.PathLike[str]) -> PolicyHistory:
    """The owner's and the auditor's: every version of the policy, and what it changed."""
    from privql.pipeline import versions

    return versions.policy_history(os.fspath(ledger))
