"""A certificate held against the papers that it is about: the policy, and the ledger's entry of its release.

That its costs follow from its scans is for `kernel.verify` to say; whether these are what the owner declared, here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privql.diagnostics import Source
from privql.finish.result import Release
from privql.frozen import frozen
from privql.kernel.certificate import commitments, paid_for
from privql.kernel.derivation import Derivation
from privql.kernel.events import cost_of
from privql.kernel.rules import scan
from privql.kernel.verify import Refused, verified, written
from privql.names import fold
from privql.pipeline.policies import owners_text
from privql.pipeline.versions import opened
from privql.plan.declared import scan_of
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog

Json = dict[str, Any]


@frozen
class Attested:
    """What was found wrong, if anything; else what each unit pays, and by which papers."""

    wrong: str | None
    costs: tuple[tuple[str, str, str], ...] = ()  # unit, ε, δ
    papers: tuple[str, ...] = ()
    forgotten: tuple[tuple[str, str, str], ...] = ()  # what the ledger charged, of which it forgot all else

    def __str__(self) -> str:
        if self.wrong is not None:
            return f"refused: {self.wrong}"
        out = [f"proved: to {unit} it costs {_cost(*cost)}" for unit, *cost in self.costs]
        if self.forgotten:
            charged = "; ".join(f"to {unit} {_cost(*cost)}" for unit, *cost in self.forgotten)
            out += [
                "the ledger forgot its query, its answer and the certificate of that: this was not compared with them,",
                f"and may be the certificate of another query that was charged the same, {charged}",
            ]
        known = {"the policy", "the ledger", "what the ledger charged"} & set(self.papers)
        believed = "" if known else "; what the owner declared is believed: give --policy or --ledger"
        return "\n".join([*out, f"held against {' and '.join(('itself', *self.papers))}{believed}"])

    def to_json(self) -> Json:
        costs = [{"unit": unit, "epsilon": epsilon, "delta": delta} for unit, epsilon, delta in self.costs]
        found = {"ok": self.wrong is None, "wrong": self.wrong, "costs": costs, "papers": list(self.papers)}
        return found | {"compared": not self.forgotten}


def attested(text: str, policy: str | None = None, ledger: str | Path | None = None) -> Attested:
    """`policy`: the text that was applied. Whatever is handed in, it is refused in one line or holds."""
    papers, forgotten = [], tuple[tuple[str, str, str], ...]()
    try:
        told = verified(text)
        if policy is not None:
            papers.append("the policy")
            _of_policy(told, policy)
        if ledger is not None:
            forgotten = _of_ledger(told, ledger)
            papers.append("what the ledger charged" if forgotten else "the ledger")
    except Refused as why:
        return Attested(str(why))
    costs = ((line["unit"][0], line["epsilon"], line["delta"]) for line in told["costs"])
    return Attested(None, tuple(costs), tuple(papers), forgotten)


def _of_policy(told: Json, text: str) -> None:
    _committed(told, {"policy": text})
    catalog, found = build_catalog(Source(text, "policy"))
    if any(one.severity == "error" for one in found):
        raise Refused("this policy is none that could be applied")
    for name in _undeclared(told, catalog):
        raise Refused(f"the policy declares `{_shown(name)}` otherwise")


def _of_ledger(told: Json, path: str | Path) -> tuple[tuple[str, str, str], ...]:
    """What was charged, where the ledger has forgotten what else the certificate says: of its answer the chain keeps a
    hash, without the salt. Then whoever was charged must be told of, and what was paid is all that is compared."""
    with opened(path) as ledger:
        entry = ledger.entry(told["release"])
        known = entry if entry is not None and entry.state == "released" else None
        kept = None if known is None else ledger.get_release(known.analyst, known.release_id)
        records = {record.version: record for record in ledger.policy_history()}
    if entry is None:
        raise Refused(f"the ledger has no release {_shown(told['release'])}")
    if entry.state == "reserved":
        raise Refused("the ledger charged it, and has no answer of it")
    if told["commitments"]["policy_version"] != entry.policy_version:
        raise Refused("the ledger knows the release under another version of the policy")
    _of_policy(told, owners_text(records[entry.policy_version]))
    paid = {(fold(line.unit), fold(line.budget), json.dumps(paid_for(line.events))) for line in entry.charges}
    said = {(fold(line["unit"][0]), fold(line["budget"]), json.dumps(line["paid"])) for line in told["costs"]}
    if not said <= paid:
        raise Refused("the ledger charged something else for it")
    if entry.state == "forgotten":
        if said != paid:
            raise Refused("the ledger charged units that the certificate leaves out")
        costs = ((line.unit, cost_of(line.events)) for line in entry.charges)
        return tuple((unit, str(cost.epsilon), str(cost.delta)) for unit, cost in costs)
    _committed(told, {"query": entry.query, "inputs": entry.parameters})
    if kept is None or Release.from_bytes(kept.answer).proof != written(told):
        raise Refused("the ledger's answer carries another certificate")
    return ()


def _cost(epsilon: str, delta: str) -> str:
    return f"ε = {epsilon}" + (f", δ = {delta}" if delta != "0" else "")


def _committed(told: Json, texts: dict[str, str]) -> None:
    kept = told["commitments"]
    for name, said in commitments(bytes.fromhex(kept["salt"]), kept["policy_version"], texts).items():
        if kept[name] != said:
            raise Refused(f"its {name} is another one")


def _undeclared(told: Json, catalog: Catalog) -> Iterator[str]:
    """The tables of which a certificate says something that their owner did not."""
    for step in told["steps"]:
        if step["rule"] != "scan":
            continue
        says, table = step["says"], catalog.table(step["says"]["table"])
        names = {name for _, name, *_ in says["columns"]}
        if table is None or table.unit is None or not names <= {column.name for column in table.columns}:
            yield says["table"]
            continue
        own = Derivation()
        own.add(scan(scan_of(table, names, catalog)))
        if _plain(own.steps[0]["says"]) != _plain(says):
            yield says["table"]


def _shown(name: str) -> str:
    """A name that anybody may have written, as a terminal shows it and obeys it in nothing."""
    return name[:60] if name.isprintable() else ascii(name[:60])


def _plain(says: Json) -> Json:
    """Without the numbers of columns, which differ from one derivation to another."""
    return says | {"columns": [column[1:] for column in says["columns"]]}
