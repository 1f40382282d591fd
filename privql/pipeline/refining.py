"""`REFINE r TO WITHIN a`: how a release was measured, from what the ledger keeps of it, and what is still to be.

Its query is checked again, as it was asked then; it is the same one if the ledger's identity of it says so: text,
inputs, policy, data, measurements and prices. Then its plan says which noise each of its numbers has. A release that a
line above has yet to make is known by that line. A refined release is refined like any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from privql.check.env import Env, Settings
from privql.check.scope import unknown_name
from privql.check.typed import Context
from privql.diagnostics import PrivQLError, Source, Span, refuse
from privql.frozen import frozen, inside
from privql.kernel.events import cost_of
from privql.ledger import Entry, Ledger, LedgerError
from privql.names import fold
from privql.pipeline.report import Refines, StatementCheck
from privql.pipeline.steps import reads
from privql.plan import refining
from privql.syntax import ast, parse_statement, quote

Released = Callable[[str], str]


def refined(statement: ast.Refine, made: StatementCheck, context: Context) -> StatementCheck:
    """Planned and priced; no private row is read."""
    env, span = context.env, statement.span
    name, id, measured = _measured(statement, env)
    assert measured.query is not None and measured.plan is not None
    first, clause = _first(measured), statement.privacy
    for block in measured.plan.blocks:
        refining.check(block, statement.name, span)
        if any(reads(rel, measured.query) for _, rel, _ in block.publics):
            why = "one of its measurements reads the answer of another, and would read another answer"
            help = "name what is read first as a release of its own, and ask anew"
            raise refused(statement.name, span, why, help)
    assert first.plan is not None
    deltas = {
        block.block.index: sum((one.delta for one in block.measurements), Fraction(0)) for block in first.plan.blocks
    }
    shape = measured.plan, deltas, clause, env.params
    plan = refining.refined(*shape, statement.name)
    refines = Refines(name, id, measured, refining.anew(*shape))
    return replace(made, query=measured.query, plan=plan, attributes=measured.attributes, refines=refines)


def refused(name: str, span: Span, why: str, help: str) -> PrivQLError:
    return refuse("PQL0513", f"`{name}` cannot be made more accurate", span, why=why, help=help)


def _first(measured: StatementCheck) -> StatementCheck:
    """The query that the first of several answers was of."""
    while measured.refines is not None:
        measured = measured.refines.measured
    return measured


def _measured(statement: ast.Refine, env: Env) -> tuple[str, str | None, StatementCheck]:
    """The name it goes by, its number if it has one, and how it was measured or will be."""
    name, span = statement.name, statement.span
    if fold(name) not in env.promised:
        if env.earlier is None:
            raise unknown_name("PQL0201", "release", name, span, ())
        found: tuple[str, StatementCheck] = env.earlier(name, span, env)
        return name, *found
    schema = env.release(name)
    assert schema is not None
    if schema.poisoned:
        raise PrivQLError([])
    if not isinstance(schema.made, StatementCheck):
        raise _again(name, span)
    if schema.made.plan is None or not schema.made.plan.blocks:
        raise _free(name, span)
    if not schema.made.epsilon.known and schema.made.spared is None:
        raise refused(name, span, "what it spends depends on a parameter without a value", "bind it")
    return name, None, schema.made


def _free(name: str, span: Span) -> PrivQLError:
    why = "it was made of public and released rows alone, and has no noise of its own"
    return refused(name, span, why, "refine what it reads, and ask it again")


def _again(name: str, span: Span) -> PrivQLError:
    why = "it is made again and again, each time of what the data is then"
    return refused(name, span, why, "ask the query by itself, with the accuracy that is wanted")


# ---------------------------------------------------------------- what the ledger knows


@frozen
class Earlier:
    """Releases that were answered, as they were asked."""

    ledger: Ledger
    analyst: str
    version: int
    release_id: Released
    by_id: bool = False

    def __call__(self, name: str, span: Span, env: Env) -> tuple[str, StatementCheck]:
        schema = None if self.by_id else env.release(name)
        if schema is not None and schema.growing:
            raise _again(name, span)
        try:
            entry = self.ledger.earlier(self.analyst, name, self.by_id)
            if entry is None:
                known = [schema.name for each in env.releases if (schema := env.release(each)) is not None]
                raise unknown_name("PQL0201", "release", name, span, known, lambda near: f"REFINE {quote(near)}")
            if not entry.charges:
                raise _free(name, span)
            for spending in _spendings(entry, env):
                if (found := self._asked(entry, spending)) is not None:
                    return entry.release_id, found
        except LedgerError as problem:
            raise refused(name, span, str(problem), "ask anew, with the accuracy that is wanted") from None
        why = "how it was asked, and with what noise, cannot be told from the ledger"
        raise refused(name, span, why, "ask anew, with the accuracy that is wanted")

    def _asked(self, entry: Entry, env: Env) -> StatementCheck | None:
        """The query that it is the answer of, checked again; None if that is another one now."""
        from privql.pipeline.check import check_statement
        from privql.pipeline.request import request_for

        earlier, source = replace(self, by_id=True), Source(entry.query, entry.release_id)
        for statement in _statements(entry.query):
            asked = replace(env, params=_params(entry, statement), earlier=earlier)
            check, _ = check_statement(statement, statement.span, source, asked)
            if not check.ok or not check.runs or not check.epsilon.known:
                continue
            check = replace(check, name=None)
            try:
                request = request_for(check, self.analyst, self.version, self.release_id)
            except KeyError:  # it reads a release that is not this analyst's
                continue
            if self.ledger.is_same(request, entry.release_id):
                return check
        return None


def _spendings(entry: Entry, env: Env) -> Iterator[Env]:
    """What a query without an amount of its own may have spent: what it was charged, or what is usual now."""
    env = replace(env, promised=frozenset(), cart=None)
    costs = {line.unit: cost_of(line.events) for line in entry.charges}
    epsilons = {unit: cost.epsilon for unit, cost in costs.items()}
    deltas = {**env.default_delta, **{unit: cost.delta for unit, cost in costs.items() if cost.delta}}
    settings = Settings(None, env.settings.budget)
    yield replace(env, settings=settings, default_epsilon={**env.default_epsilon, **epsilons}, default_delta=deltas)
    yield env


def _statements(text: str) -> Iterator[ast.Statement]:
    """A query, or what is kept of a `CREATE RELEASE` that names its columns: `(a, b) SELECT …`."""
    ends = [at for at, sign in enumerate(text) if sign == ")"] if text.startswith("(") else []
    for read in (text, *(f'CREATE RELEASE " " {text[: end + 1]} AS {text[end + 1 :]}' for end in ends)):
        try:
            yield parse_statement(read)
        except PrivQLError:
            continue


def _params(entry: Entry, statement: ast.Statement) -> Mapping[str, object]:
    """Values as the ledger keeps them; of amounts only what they come to, which is what a query spends as a rule."""
    found: dict[str, object] = {}
    total = [cost_of(line.events) for line in entry.charges]
    for clause in _clauses(statement):
        for node, spent in (
            (clause.epsilon, sum((cost.epsilon for cost in total), Fraction(0))),
            (clause.delta, sum((cost.delta for cost in total), Fraction(0))),
        ):
            if isinstance(node, ast.Param):
                found[node.name] = spent
    kept = json.loads(entry.parameters).get("parameters", {})
    return found | {name: _value(*text.split(" ", 1)) for name, text in kept.items()}


def _clauses(statement: ast.Statement) -> Iterator[ast.Privacy]:
    todo: list[object] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Privacy):
            yield node
        todo.extend(inside(node))


_KINDS: Mapping[str, Callable[[str], object]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": "True".__eq__,
    "Fraction": Fraction,
    "Decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}


def _value(kind: str, text: str = "") -> object:
    try:
        return _KINDS[kind](text) if kind in _KINDS else None
    except (ValueError, ArithmeticError):
        return None
