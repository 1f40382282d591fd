"""What somebody whose budget does not suffice may do: the same question may be answered under another price, other
answers may be of the same rows, and the owner may give more. Query, policy and ledger decide what is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from privql.diagnostics import PrivQLError
from privql.frozen import rebuilt, rebuilt_inside
from privql.kernel.cost import Cost
from privql.ledger import Entry, Ledger, LedgerError, Reason
from privql.names import fold
from privql.pipeline.figures import moment
from privql.pipeline.report import StatementCheck
from privql.syntax import ast, parse_query, unparse
from privql.syntax.unparse_queries import privacy

_MOST = 100  # answers that are looked at, and
_TOLD = 3  # that are named
_PRICE: dict[str, Any] = {
    **dict.fromkeys(("epsilon", "delta", "within", "confidence", "max_epsilon", "given")),
    "within_percent": False,
}


Part = Literal["EPSILON", "DELTA"]  # of a budget


def lacking(asked: Cost, left: Cost) -> Part:
    """What there is too little of, where there is of something."""
    return "DELTA" if asked.epsilon <= left.epsilon else "EPSILON"


def instead(ledger: Ledger, analyst: str, check: StatementCheck, budget: str, short: Reason, lacks: Part) -> str:
    said = [*_answered(ledger, analyst, check), *_later(ledger, analyst, budget)]
    each = " DELTA …" if lacks == "DELTA" else ""
    if short == "grant":
        said.append(f"ask the owner for a higher limit: `GRANT {budget} TO {analyst} LIMIT EPSILON …{each} EACH`")
    else:
        said.append(f"ask the owner for more: `ALTER BUDGET {budget} ADD {lacks} … REASON '…'`")
    return "; or ".join(said)


def _answered(ledger: Ledger, analyst: str, check: StatementCheck) -> Iterator[str]:
    if check.request is None:
        return
    try:
        version = ledger.data_version(check.request.tables)
        entries = ledger.releases(analyst)
        now, before = check.request.policy_version, {one.policy_version for one in entries}
        alike = {one for one in before if ledger.means_the_same(one, now)}
    except LedgerError:
        return
    tables = set(json.loads(version))
    over_them = [one for one in entries if one.charges and tables & json.loads(one.data_version).keys()][-_MOST:]
    asked = _question(check.request.query), check.request.parameters, version
    for one in reversed(over_them):
        same = (_question(one.query), one.parameters, one.data_version) == asked
        if same and one.policy_version in alike:
            yield f"ask it as you did before, {_clause(one)}: that is answered ({one.release_id}) and costs nothing"
            break
    names = [name for one in over_them for name in one.names]
    if names:
        told = ", ".join(f"`{name}`" for name in names[-_TOLD:])
        yield f"use {told}{' …' if len(names) > _TOLD else ''}, which you have: reading answers costs nothing"


def _later(ledger: Ledger, analyst: str, budget: str) -> Iterator[str]:
    try:
        states = ledger.budget_report(analyst)
    except LedgerError:
        return
    for one in states:
        if fold(one.budget.name) == fold(budget) and one.window.until is not None:
            yield f"wait until {moment(one.window.until)}, when `{one.budget.name}` renews"


def _question(text: str) -> str:
    """The query without what says what it may cost."""
    query = _query(text)
    return text if query is None else unparse(rebuilt(query, _unpriced))


def _query(text: str) -> ast.Query | None:
    try:
        return parse_query(text)
    except PrivQLError:  # a release with columns of its own names, or a text that was forgotten
        return None


def _unpriced(node: Any) -> Any:
    if not isinstance(node, ast.Query | ast.Call) or node.privacy is None:
        return None
    kept = replace(node.privacy, **_PRICE)
    clause = None if kept == replace(ast.Privacy(), span=kept.span) else kept
    return rebuilt_inside(replace(node, privacy=clause), _unpriced)


def _clause(one: Entry) -> str:
    query = _query(one.query)
    if query is not None and query.privacy is not None:
        return f"`{privacy(query.privacy)}`"
    return "for " + " and ".join(str(line.cost) for line in one.charges)
