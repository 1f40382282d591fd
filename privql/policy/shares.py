"""How a budget's δ is split: among finding groups and the three ways in which what was spent may add up."""

from __future__ import annotations

from fractions import Fraction

from privql.diagnostics import Span
from privql.kernel.cost import amount_text
from privql.kernel.filters import DEFAULT, Shares
from privql.policy.amounts import share_amount
from privql.policy.findings import Findings, listing
from privql.syntax import ast

NAMES = ("KEYS", "PLAIN", "RENYI", "GAUSSIAN")  # the parts of `Shares`, in their order


def read_shares(create: ast.CreateBudget, delta: Fraction, found: Findings) -> Shares:
    """What is named has its share; the others have the rest of δ in equal parts."""
    if not create.shares:
        return DEFAULT
    said: dict[str, Fraction] = {}
    for name, written in create.shares:
        share = found.reading(share_amount, written)
        if name not in NAMES or name in said:
            what = f"name `{name}` twice" if name in said else f"name `{name}`, which is no part of δ"
            _refuse(create, what, written.span, f"the parts are {listing(NAMES)}", found)
            return DEFAULT
        if share is None:
            return DEFAULT
        said[name] = share
    total, rest = sum(said.values(), Fraction(0)), [name for name in NAMES if name not in said]
    at = create.shares[0][1].span.to(create.shares[-1][1].span)
    if total > 1 or (total < 1 and not rest):
        _refuse(create, f"add up to {amount_text(total)}", at, "let them add up to 1, or leave one out", found)
        return DEFAULT
    if not delta:
        _refuse(create, "split a δ that it has not", at, "write `DELTA 1e-6`, or leave `SHARES` out", found)
    return Shares(*(said[name] if name in said else (1 - total) / len(rest) for name in NAMES))


def spelled(shares: Shares) -> str:
    """As SHARES says it."""
    parts = zip(NAMES, (shares.keys, shares.plain, shares.renyi, shares.gauss), strict=True)
    return ", ".join(f"{name} {amount_text(share)}" for name, share in parts)


def _refuse(create: ast.CreateBudget, what: str, span: Span, help: str, found: Findings) -> None:
    found.error("PQL0727", f"the shares of `{create.name}` {what}", span, help=help)
