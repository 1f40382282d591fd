"""The second layer: with the noise held still, neighbours differ in nothing.

A whole text is checked, charged and answered on one database, by a scratch session, and then on its neighbour by
another, whose ledger takes what was drawn on the first. All that an analyst sees must then be the same: the plan, the
price, the charge, errors, columns, rows, the certificate apart from salts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from privql.audit.faults import Fault
from privql.audit.reference.values import Tables
from privql.audit.scratch import Scratch
from privql.diagnostics import PrivQLError, Source
from privql.finish.result import Release
from privql.frozen import frozen
from privql.policy.catalog import Catalog

SALTED = frozenset({"commitments", "answer", "digest"})  # of a certificate: what has a salt, or commits to what has
Seen = dict[str, Any]  # by what it is called


@frozen
class Asked:
    """Who asks what, under which policy."""

    policy: Source
    catalog: Catalog
    base: Path
    analyst: str
    source: Source
    params: Mapping[str, object]

    def scratch(self, tables: Tables, fault: Fault, draws: list[bytes] | None = None) -> Scratch:
        return Scratch(self.policy, self.catalog, self.base, self.analyst, tables, fault.engine, draws)


@frozen
class Replay:
    pairs: int
    answered: int  # of these, where there was an answer at all
    differ: tuple[str, ...]  # what is not the same


def replay(asked: Asked, pairs: Sequence[tuple[Tables, Tables]], fault: Fault, tick: Callable[[float], None]) -> Replay:
    differ: dict[str, None] = {}
    answered = 0
    for at, (one, other) in enumerate(pairs):
        draws: list[bytes] = []
        here, there = (observed(asked, tables, fault, draws) for tables in (one, other))
        answered += not here["the error"]
        differ.update(dict.fromkeys(different(here, there)))
        tick((at + 1) / len(pairs))
    return Replay(len(pairs), answered, tuple(differ))


def different(here: Seen, there: Seen) -> Iterable[str]:
    return (what for what in here if here[what] != there.get(what))


def observed(asked: Asked, tables: Tables, fault: Fault, draws: list[bytes]) -> Seen:
    """All that can be seen of it."""
    answers: list[Release] = []
    error = ""
    with asked.scratch(tables, fault, draws) as scratch:
        checked = scratch.till.check(asked.source, asked.params)
        try:
            answers += scratch.till.run_each(checked.statements, partial=False)
        except PrivQLError as refused:
            error = str(refused)
        return {
            "the error": error,
            "the plan": [one.plan for one in checked.statements],
            "the price": [checked.to_json(), str(checked)],
            "the number of answers": len(answers),
            "the number of rows": [len(answer.rows) for answer in answers],
            "the columns": [[(c.name, c.type, c.domain, c.label, c.law) for c in one.columns] for one in answers],
            "the rows": [repr(answer.rows) for answer in answers],
            "the cost": [answer.cost for answer in answers],
            "the certificate": list(map(proved, answers)),
            "the name of the answer": [answer.release_id for answer in answers],
            "the budget": str(scratch.till.budget()),
            "the ledger": [len(scratch.ledger.history()), str(scratch.ledger.losses())],
        }


def proved(answer: Release) -> object:
    """The certificate, apart from salts and from what commits to them."""
    proof = json.loads(answer.proof or "{}")
    certificate = {**answer.certificate, "proof": None}
    return certificate, {name: said for name, said in proof.items() if name not in SALTED}
