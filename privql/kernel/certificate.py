"""The certificate of an answer: how what was measured was proved, and what that costs (docs/proofs/certificates.md).

It has one text, and ends with its own digest. What is charged, and what the owner's and the analyst's texts are, is for
those to say who keep them; a text is committed to by SHA-256(salt ‖ name ‖ text), so that who has it can see that it is
the one, and who has not learns nothing of it but by guessing all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from privql.frozen import frozen
from privql.kernel.derivation import Derivation
from privql.kernel.events import Events, Losing, cost_of, events
from privql.kernel.released import add_loss
from privql.kernel.terms import Unit

VERSION = 1
_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


@frozen
class Charged:
    """What a budget paid for a unit."""

    unit: str
    budget: str
    events: Events


@frozen
class Sealed:
    """Beside what was proved: whose answer it is."""

    release: str
    charged: tuple[Charged, ...]
    commitments: Mapping[str, Any]


def certificate(measured: Sequence[Losing], sealed: Sealed) -> str:
    derivation = Derivation()
    lost: dict[Unit, Events] = {}
    for one in measured:
        add_loss(one, derivation)
        lost[one.unit] = lost.get(one.unit, ()) + events(one)
    units = sorted(lost, key=lambda unit: unit.name)
    told: dict[str, Any] = {
        "certificate": VERSION,
        "release": sealed.release,
        "steps": derivation.steps,
        "costs": [_cost(unit, lost[unit], line) for unit in units for line in sealed.charged if line.unit == unit.name],
        "commitments": sealed.commitments,
    }
    return _json(told | {"digest": sha256(_json(told).encode()).hexdigest()})


def _cost(unit: Unit, met: Events, paid: Charged) -> dict[str, Any]:
    cost, events = cost_of(met), paid_for(paid.events)
    told = {"epsilon": str(cost.epsilon), "delta": str(cost.delta), "budget": paid.budget, "paid": events}
    return {"unit": [unit.name, unit.change_one], **told}


def paid_for(met: Events) -> list[list[str]]:
    """Each event by its kind, its ε and its δ."""
    return [[event.kind, str(event.cost.epsilon), str(event.cost.delta)] for event in met]


def commitments(salt: bytes, policy_version: int, texts: Mapping[str, str]) -> dict[str, Any]:
    """Of the policy, the query, its inputs and its answer."""
    made = {name: sha256(salt + name.encode() + b"\0" + text.encode()).hexdigest() for name, text in texts.items()}
    return {"salt": salt.hex(), "policy_version": policy_version, **made}
