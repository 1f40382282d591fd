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
from privql.kernel.events import Events, Losing, cost_of, events, written

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
    """Beside what was proved: whose answer it is. All of it is unknown of a query that was only checked."""

    release: str | None = None
    charged: tuple[Charged, ...] | None = None
    commitments: Mapping[str, Any] | None = None
    answer: str | None = None


CHECKED = Sealed()


def certificate(measured: Sequence[Losing], sealed: Sealed = CHECKED) -> str:
    derivation = Derivation()
    places = [derivation.add(one) for one in measured]
    units = [unit["name"] for unit in derivation.units]
    lost: dict[int, Events] = {}
    for one in measured:
        unit = units.index(one.unit.name)
        lost[unit] = lost.get(unit, ()) + events(one)
    told: dict[str, Any] = {
        "certificate": VERSION,
        "release": sealed.release,
        "units": derivation.units,
        "steps": derivation.steps,
        "measured": places,
        "costs": [_cost(unit, met) for unit, met in sorted(lost.items())],
        "charged": None if sealed.charged is None else [_charged(line, units) for line in sealed.charged],
        "commitments": sealed.commitments,
        "answer": sealed.answer,
    }
    return _json(told | {"digest": sha256(_json(told).encode()).hexdigest()})


def _cost(unit: int, met: Events) -> dict[str, Any]:
    cost = cost_of(met)
    return {"unit": unit, "epsilon": str(cost.epsilon), "delta": str(cost.delta), "events": json.loads(written(met))}


def _charged(line: Charged, units: Sequence[str]) -> dict[str, Any]:
    return {"unit": units.index(line.unit), "budget": line.budget, "events": json.loads(written(line.events))}


def commitments(salt: bytes, policy_version: int, texts: Mapping[str, str]) -> dict[str, Any]:
    """Of the policy, the query and its inputs."""
    made = {name: sha256(salt + name.encode() + b"\0" + text.encode()).hexdigest() for name, text in texts.items()}
    return {"salt": salt.hex(), "policy_version": policy_version, **made}
