"""An analyst's session: text and parameters in, releases out. What a server, a shell or a notebook holds."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from privql.diagnostics import NOWHERE, PrivQLError, Source, Span, refuse
from privql.engines.connections import Connections
from privql.ledger import Ledger, LedgerError
from privql.pipeline.budget_report import BudgetReport
from privql.pipeline.named import NamedReleases
from privql.pipeline.parameters import bound
from privql.pipeline.places import NO_CONNECTIONS, Places
from privql.pipeline.report import FileCheck, StatementCheck
from privql.pipeline.till import Till
from privql.policy.catalog import Catalog

if TYPE_CHECKING:
    from privql.finish.result import Release
    from privql.pipeline.apply import AppliedPolicy
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
        connections: Connections | None = None,
    ) -> None:
        self._ledger, self._catalog = ledger, catalog
        self._places = Places(
            catalog, base, frames, dummy, ledger, lambda: NamedReleases(ledger, analyst), connections or NO_CONNECTIONS
        )
        self._till = Till(ledger, catalog, analyst, version, self._places, dummy)
        self._closed = False

    # ---- checking: no private row is read

    def check(self, text: str, params: Params = None, **named: object) -> StatementCheck:
        """One statement, proved and priced."""
        one = self._open.check_one(Source(text), {**(params or {}), **named})
        if not one.ok:
            return one
        return replace(one, diagnostics=(*one.diagnostics, *self._open.over(one)))

    def check_text(self, text: str, *, name: str = "<query>", params: Params = None) -> FileCheck:
        """Every statement of a text, each against what the ones before it promise."""
        return self._open.check(Source(text, name), params or {})

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
        return "\n\n".join(explain(one) for one in checked.statements if one.query is not None)

    # ---- running

    def run(self, text: str, params: Params = None, **named: object) -> Release:
        """One statement, answered. What it costs is charged before any row is read.

        Between BEGIN and COMMIT a query is put in the cart: what comes back says what that would be charged. COMMIT
        charges it as one plan; its `answers` are those of the queries.
        """
        one = self._open.check_one(Source(text), {**(params or {}), **named})
        return self._open.run(one)

    def run_text(
        self, text: str, *, name: str = "<query>", params: Params = None, partial: bool = False
    ) -> Iterator[Release]:
        """The statements of a text, one after the other. The whole text is charged first, as one plan, and a text that
        the budget cannot carry is refused before its first statement runs; `partial`: each is charged by itself.

        What stands between BEGIN and COMMIT is answered at COMMIT. A text that broke off, run again, is not charged
        again."""
        checked = self.check_text(text, name=name, params=params)
        unpaid = [d for d in checked.over if d.code not in _UNPAID] if partial else checked.over
        if any(not one.ok for one in checked.statements) or unpaid:
            raise PrivQLError([d for d in checked.diagnostics if d.severity == "error"])
        for one in checked.statements:
            bound(one)
        return self._open.run_each(checked.statements, partial)

    def run_file(
        self, path: str | os.PathLike[str], params: Params = None, *, partial: bool = False
    ) -> Iterator[Release]:
        return self.run_text(_read(path), name=os.fspath(path), params=params, partial=partial)

    # ---- what is left

    def budget(self) -> BudgetReport:
        return self._open.budget()

    @property
    def in_cart(self) -> int:
        """How many queries wait for COMMIT."""
        return self._open.in_cart

    def names(self) -> tuple[str, ...]:
        """Every table, view, column and release that a query may name."""
        tables = self._catalog.tables
        columns = [column.name for table in tables for column in table.columns if not column.hidden]
        views = [view.name for view in self._catalog.views]
        return tuple(dict.fromkeys([*(t.name for t in tables), *views, *self._open.named().names, *columns]))

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    def close(self) -> None:
        """What it has released stays. It answers no more."""
        self._places.close()
        self._ledger.close()
        self._closed = True

    @property
    def _open(self) -> Till:
        """A ledger in a file would open again by itself: whoever left has left."""
        if self._closed:
            raise refuse("PQL0511", "this session is closed", NOWHERE, help="open another one with `privql.connect(…)`")
        return self._till

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
    connections: Mapping[str, object] | str | os.PathLike[str] | None = None,
) -> Session:
    """A session on the policy that a ledger holds; or, with `policy`, on a scratch ledger that ends with it.

    `connections`: where those that the policy names lead - addresses, or a session of Spark - or the path of a file
    that says so; without it `connections.toml` beside the policy does.

    `data="dummy"` answers from rows invented from the policy alone, on a scratch ledger: nothing is spent.
    """
    from privql.pipeline.places import scratch
    from privql.pipeline.policies import catalog_from_ledger, leads

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
    return Session(opened, catalog, base, who, frames or {}, data == "dummy", version, leads(connections, base))


def apply(
    policy: str | os.PathLike[str],
    ledger: str | os.PathLike[str],
    frames: Mapping[str, object] | None = None,
    *,
    reason: str = "",
    by: str | None = None,
    connections: Mapping[str, object] | str | os.PathLike[str] | None = None,
) -> AppliedPolicy:
    """The owner's: verify a policy on the data and put it in force in a ledger, which this creates if need be.

    What protects less than before needs a `reason`; the ledger keeps it, and who applied the policy.
    """
    from privql.pipeline.apply import apply_policy

    who = by if by is not None else getpass.getuser()
    return apply_policy(os.fspath(policy), os.fspath(ledger), frames, reason=reason, by=who, connections=connections)


def policy_diff(policy: str | os.PathLike[str], ledger: str | os.PathLike[str]) -> PolicyDiff:
    """The owner's: what a policy would change for the loss, against all that a ledger had in force."""
    from privql.pipeline import versions

    return versions.policy_diff(os.fspath(policy), os.fspath(ledger))


def policy_history(ledger: str | os.PathLike[str]) -> PolicyHistory:
    """The owner's and the auditor's: every version of the policy, and what it changed."""
    from privql.pipeline import versions

    return versions.policy_history(os.fspath(ledger))
