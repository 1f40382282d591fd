"""What is asked, as the ledger weighs it, and when two queries are the same one."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping

from privql.frozen import frozen
from privql.kernel.cost import check_chargeable
from privql.kernel.events import Events, cost_of, written
from privql.kernel.parallel import InParts
from privql.ledger import parts
from privql.ledger.errors import LedgerError
from privql.ledger.policies import Policy, data_version
from privql.ledger.records import Request
from privql.names import fold


@frozen
class Asked:
    """A request as the ledger weighs it."""

    request: Request
    analyst: str  # folded
    events: dict[str, Events]  # by folded unit
    data_version: str
    identity: bytes
    where: dict[str, InParts]  # by folded unit, the parts that are charged


def asked(db: sqlite3.Connection, policy: Policy, request: Request) -> Asked:
    events = by_unit(request.charges)
    if not request.analyst:
        raise LedgerError("a charge needs an analyst's name")
    version = data_version(db, policy, request.tables)
    query = request.query, request.parameters, policy.origin, version, request.measurements
    where = parts.by_unit(db, policy, request.policy_version, request.parts)
    return Asked(request, fold(request.analyst), events, version, identity(*query, events), where)


def by_unit(charges: Iterable[tuple[str, Events]]) -> dict[str, Events]:
    """What each unit meets, by folded name; refused where it cannot be summed exactly."""
    events: dict[str, Events] = {}
    for unit, met in charges:
        events[fold(unit)] = events.get(fold(unit), ()) + met
    try:
        for met in events.values():
            cost = cost_of(met)
            check_chargeable(cost.epsilon)
            check_chargeable(cost.delta)
    except ValueError as problem:
        raise LedgerError(f"the cost of the query cannot be charged exactly: {problem}") from None
    if not events:
        raise LedgerError("a query that charges no unit needs no permit")
    return events


def identity(
    query: str, parameters: str, policy_version: int, data_version: str, measurements: str, events: Mapping[str, Events]
) -> bytes:
    """Two queries are the same one when all of this agrees. Who asks and who pays is not part of it."""
    prices = sorted((unit, written(met)) for unit, met in events.items())
    meant = query, parameters, policy_version, data_version, measurements, prices
    return hashlib.sha256(json.dumps(meant).encode()).digest()
