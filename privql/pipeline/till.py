"""Where an analyst's statements are checked, priced, charged and answered, one text at a time.

A text that is submitted whole is charged before its first answer, as one plan (`carts.py`). Between BEGIN and COMMIT
statements go into a cart: nothing is charged or run. What is charged and not answered, because of a crash, is taken up
again by the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from privql.check.env import Env, Settings
from privql.diagnostics import Diagnostic, PrivQLError, Source, Span, refuse
from privql.ledger import Ledger, LedgerError, PlanRequest, StoredRelease, run_name
from privql.names import fold
from privql.pipeline.bills import priced
from privql.pipeline.budget_report import BudgetReport
from privql.pipeline.carts import committed, ended, requested, together, unended
from privql.pipeline.check import check_text
from privql.pipeline.lookup import Lookup
from privql.pipeline.named import NamedReleases
from privql.pipeline.parameters import plain, unused
from privql.pipeline.places import Places
from privql.pipeline.price import BudgetCost
from privql.pipeline.purse import Purse
from privql.pipeline.report import FileCheck, StatementCheck
from privql.policy.catalog import Catalog
from privql.syntax import ast

if TYPE_CHECKING:
    from privql.finish.result import Release
    from privql.pipeline.desk import Desk

Params = Mapping[str, object]
Priced = tuple[tuple[BudgetCost, ...], tuple[Diagnostic, ...]]


class Till:
    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        analyst: str,
        version: int,
        places: Places,
        dummy: bool,
    ) -> None:
        self._ledger, self._catalog, self._analyst, self._version = ledger, catalog, analyst, version
        self._places, self._dummy = places, dummy
        self._lookup = Lookup(ledger, analyst, version, places.stated)
        self._settings = Settings()
        self._cart: tuple[StatementCheck, ...] = ()
        self._within: Env | None = None  # what the next statement of an open cart is checked against

    # ---- checking: no private row is read

    def check(self, source: Source, params: Params) -> FileCheck:
        """Every statement of a text, each against what the ones before it promise."""
        found = tuple(self._lookup(one) for one, _ in check_text(source, self._env(params)))
        statements = self._paid_for(ended((*self._cart, *found)))
        costs, over = self._priced(statements)
        checks = statements[len(self._cart) :]
        return FileCheck(source, checks, costs, (*unused(params, checks), *unended(checks), *over))

    def check_one(self, source: Source, params: Params) -> StatementCheck:
        checks = [one for one, _ in check_text(source, self._env(params))]
        if len(checks) == 1:
            one = self._lookup(checks[0])
            return replace(one, diagnostics=(*one.diagnostics, *unused(params, [one])))
        broken = [d for one in checks for d in one.diagnostics]
        if broken:
            raise PrivQLError(broken)
        what = "there is no statement here" if not checks else f"there are {len(checks)} statements here"
        span = checks[1].span if checks else Span(0, 0)
        raise refuse("PQL0113", what, span, help="give one, or use run_text for several").in_source(source)

    def over(self, one: StatementCheck) -> tuple[Diagnostic, ...]:
        """What of it, and of the cart that it goes into, the budget cannot carry."""
        return self._priced(ended((*self._cart, one)))[1]

    @property
    def in_cart(self) -> int:
        return len(self._cart)

    def cart(self) -> tuple[tuple[StatementCheck, ...], tuple[BudgetCost, ...]]:
        """What is in the cart, and what it would be charged."""
        statements = self._paid_for(ended(self._cart))
        return statements, self._priced(statements)[0]

    # ---- running

    def run(self, one: StatementCheck) -> Release:
        """One statement: its answer; or, where none comes yet, what is in the cart."""
        from privql.pipeline.describe import committed_answers, in_cart

        wrong = [d for d in one.diagnostics if d.severity == "error"]
        puts = one.env.cart is not None and one.query is not None and not isinstance(one.statement, ast.Explain)
        if wrong or not one.ok or (puts and (wrong := [*self.over(one)])):
            raise PrivQLError(self._told_of_cart(wrong))
        charged = any(waiting.slot is not None for waiting in self._cart)
        answers = tuple(self._carried_out(one))
        if isinstance(one.statement, ast.Commit):
            return committed_answers(answers)
        return answers[0] if answers else in_cart(one, *self.cart(), charged)

    def _told_of_cart(self, wrong: Sequence[Diagnostic]) -> list[Diagnostic]:
        if self._within is None:
            return list(wrong)
        many = len(self._cart)
        left = f"the cart is as it was, with {many} {'query' if many == 1 else 'queries'}"
        return [replace(d, help=f"{d.help}; {left}" if d.help else left) for d in wrong]

    def run_each(self, checks: Sequence[StatementCheck], partial: bool) -> Iterator[Release]:
        """The statements of a checked text, one after the other; `partial`: each charged by itself, at its turn."""
        before = self._cart, self._within, self._settings
        try:
            if not partial:
                placed = self._prepaid((*self._cart, *checks))
                self._cart, checks = placed[: len(self._cart)], placed[len(self._cart) :]
            for one in checks:
                yield from self._carried_out(one)
        except BaseException:
            self._cart, self._within, self._settings = before  # so that the same text again means the same
            raise

    def _carried_out(self, one: StatementCheck) -> Iterator[Release]:
        match one.statement:
            case ast.Begin():
                self._cart, self._within = (), one.after
            case ast.Commit():
                self._cart = self._prepaid((*self._cart, one))[:-1]
                for waiting in self._cart:
                    yield self._answer(waiting)
                self._leave(one)
            case ast.Rollback():
                self._leave(one)
            case ast.Query() | ast.CreateRelease() | ast.Refine() if one.env.cart is not None:
                self._cart, self._within = (*self._cart, one), one.after
            case ast.Query() | ast.CreateRelease() | ast.Refine():
                yield self._answer(one)
            case ast.SetOption():
                assert one.after is not None
                self._settings, self._within = one.after.settings, one.after if one.after.cart is not None else None
                yield self._told(one)
            case _:
                yield self._told(one)

    def _leave(self, one: StatementCheck) -> None:
        assert one.after is not None
        self._cart, self._within, self._settings = (), None, one.after.settings

    def _prepaid(self, checks: Sequence[StatementCheck]) -> tuple[StatementCheck, ...]:
        """The same statements, with their slots in what was charged for several of them together."""
        statements = ended(checks)
        plans = [one for one in committed(statements) if any(check.slot is None for check in one.checks)]
        asked = [(one, request) for one in plans if (request := requested(one, self._analyst, self._version))]
        if sum(len(one.checks) for one in plans) < 2 or not asked:
            return statements
        if not all(self._found(request) for _, request in asked):
            answers = ast.Query | ast.CreateRelease | ast.Refine
            self._tried(one for one in statements if isinstance(one.statement, answers) and one.spared is None)
        try:
            prepaid = self._ledger.prepay([request for _, request in asked])
        except LedgerError as problem:
            raise self._refused(problem, asked[0][0].checks[0]) from None
        slots = {
            id(check): (paid, number)
            for (one, _), paid in zip(asked, prepaid, strict=True)
            for number, check in enumerate(one.checks)
        }
        return tuple(replace(one, slot=slots.get(id(one), one.slot)) for one in statements)

    # ---- inside

    def _env(self, params: Params) -> Env:
        bound = {name: plain(value) for name, value in params.items()}
        if self._within is not None:
            return replace(self._within, params=bound)
        purse, units = self._purse(self._settings.budget), [unit.name for unit in self._catalog.units]
        given, named = purse.defaults(units), self.named()
        return Env(
            self._catalog,
            bound,
            named,
            self._settings,
            self._places,
            given.epsilon,
            given.delta,
            {unit: self._analyst for unit in units if not purse.usable(unit)},
            standing={fold(one.name): one.epsilon for one in named.standing},
            defaults=lambda budget: self._purse(budget).defaults(units),
            earlier=self._earlier,
        )

    def _earlier(self, name: str, span: Span, env: Env) -> tuple[str, StatementCheck]:
        from privql.pipeline.refining import Earlier  # most texts have no REFINE

        return Earlier(self._ledger, self._analyst, self._version, self._lookup.release_id)(name, span, env)

    def _purse(self, chosen: str | None) -> Purse:
        return Purse(self._ledger, self._analyst, chosen)

    def _priced(self, statements: Sequence[StatementCheck]) -> Priced:
        return priced(self._ledger, self._analyst, together(statements))

    def _refused(self, problem: LedgerError, check: StatementCheck) -> PrivQLError:
        from privql.pipeline.refusals import ledger_refused  # most are not

        return ledger_refused(problem, check, self._ledger, self._analyst)

    def _paid_for(self, statements: tuple[StatementCheck, ...]) -> tuple[StatementCheck, ...]:
        """A plan that was charged and broke off costs nothing when it is taken up again."""
        plans = [one for one in together(statements) if not one.again]
        if sum(len(one.checks) for one in plans) < 2:
            return statements
        paid: set[int] = set()
        for one in plans:
            request = requested(one, self._analyst, self._version)
            if request is not None and self._found(request):
                paid |= {id(check) for check in one.paying}
        return tuple(replace(one, spared="paid for") if id(one) in paid else one for one in statements)

    def _found(self, request: PlanRequest) -> bool:
        try:
            return self._ledger.find_plan(request) is not None
        except LedgerError:
            return False  # running it will say why

    def _told(self, check: StatementCheck) -> Release:
        from privql.pipeline.describe import told

        named = self.named()
        return told(check, self._catalog, self.budget(), named.names, self.cart, named.standing)

    def budget(self) -> BudgetReport:
        states = self._ledger.budget_report(self._analyst)
        return BudgetReport(
            states, {one.budget.name: self._ledger.last(self._analyst, one.budget.name) for one in states}
        )

    def named(self) -> NamedReleases:
        return NamedReleases(self._ledger, self._analyst)

    def _answer(self, check: StatementCheck) -> Release:
        from privql.pipeline.run import run

        if check.again is not None and check.slot is None:
            check = self._stood(check)
        return run(check, self._desk())

    def _tried(self, checks: Iterable[StatementCheck]) -> None:
        from privql.pipeline.run import tried

        tried(checks, self._desk())

    def _desk(self) -> Desk:
        from privql.pipeline.desk import Desk

        desk = self._ledger, self._analyst, self._version, self._places, self._stored, self._dummy
        return Desk(*desk, self._shortest)

    def _shortest(self) -> Fraction | None:
        """That time may show as, by the policy in force: not by what was when this session began."""
        if self._dummy:
            return None
        record = self._ledger.policy()
        if record.version == self._version:
            return self._catalog.padded
        from privql.pipeline.policies import read_record  # few sessions outlive a policy

        return read_record(record)[0].padded

    def _stood(self, check: StatementCheck) -> StatementCheck:
        """All runs are charged before the first of them."""
        from privql.pipeline.request import values

        assert check.again is not None and check.request is not None
        again = check.again
        self._tried([check])
        try:
            request = again.request(check.request, values(check))
            found = self._ledger.stand(again.name, request, again.hours, again.each)
        except LedgerError as problem:
            raise self._refused(problem, check) from None
        assert found.next is not None
        return replace(check, name=run_name(again.name, found.next), slot=(found.paid, found.next - 1))

    def _stored(self, name: str) -> StoredRelease:
        return self.named().stored(name)
