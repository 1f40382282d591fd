"""The certificate that an answer carries: what was measured and charged, and of which texts and which rows it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from secrets import token_bytes

from privql.finish.result import Release
from privql.kernel.certificate import Charged, Sealed, certificate, commitments
from privql.kernel.events import Losing
from privql.ledger import Ledger, Permit, Request
from privql.pipeline.policies import owners_text


def sealed(measured: Sequence[Losing], permit: Permit, request: Request, answer: Release, ledger: Ledger) -> str:
    """Where a search found no groups, no unit but its own met anything."""
    records = {record.version: record for record in ledger.policy_history()}
    texts = {
        "policy": owners_text(records[request.policy_version]),
        "query": request.query,
        "inputs": request.parameters,
        "answer": told_of(answer),
    }
    told = commitments(token_bytes(32), request.policy_version, texts)
    met = {one.unit.name for one in measured}
    charged = tuple(Charged(line.unit, line.budget, line.events) for line in permit.charges if line.unit in met)
    return certificate(measured, Sealed(permit.release_id, charged, told))


def told_of(answer: Release) -> str:
    """Its columns and rows, as JSON has them."""
    return json.dumps(answer.told(), sort_keys=True, separators=(",", ":"))
