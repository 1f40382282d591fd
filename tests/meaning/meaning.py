"""All that a query is taken for, as texts: what is said of it, what is proved, and what each engine would be asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from random import Random

from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.interface import EngineError, Term
from privql.engines.postgres.dialect import POSTGRESQL
from privql.engines.spark.dialect import SPARK
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Spelled, name
from privql.engines.sql.references import read_along
from privql.engines.sql.relations import Names, Rows
from privql.engines.sql.statements import rehearsed
from privql.engines.sql.stored import Table, read_table
from privql.kernel.derivation import Derivation
from privql.kernel.events import Losing, cost_of, events
from privql.kernel.measure import Together
from privql.kernel.released import add_loss
from privql.kernel.scalars import ValueType
from privql.kernel.terms import Scan
from privql.pipeline.report import StatementCheck
from privql.plan.program import Plan

_FRESH = re.compile(r"\b([a-z])\d+(?!\w*\()")
DIALECTS: Mapping[str, Dialect] = {"duckdb": DUCKDB, "postgresql": POSTGRESQL, "spark": SPARK}


def of_check(check: StatementCheck) -> dict[str, str]:
    """Of a statement that was checked, accepted or refused."""
    out = {"said": json.dumps(check.to_json(), indent=1, sort_keys=True, ensure_ascii=False)}
    if check.ok and check.query is not None:
        out["computed"] = numbered(repr(check.query))
    if check.ok and check.plan is not None:
        met = measured(check.plan, Random(0))
        out["proved"] = "\n".join(proofs(met))
        out |= asked([term for one in met for term in _terms(one)])
    return out


def numbered(text: str) -> str:
    """Fresh names by the order in which they are met: how many were made on the way means nothing."""
    names: dict[str, str] = {}
    return _FRESH.sub(lambda found: f"{found[1]}{names.setdefault(found[0], str(len(names)))}", text)


def measured(plan: Plan, choice: Random) -> tuple[Losing, ...]:
    """As a run would, whatever it found."""
    out: list[Losing] = []
    for block in plan.blocks:
        out += block.looked_for
        if block.searches:
            block = block.within([choice.randrange(len(search.intervals)) for search in block.searches])
        unlisted = len(block.lowered.unlisted)
        out += block.all_over([(None,) * unlisted] if unlisted else None)
    return tuple(out)


def asked(terms: list[Term]) -> dict[str, str]:
    """The statements in each dialect."""
    return {spoken: numbered("\n".join(_statements(terms, dialect))) for spoken, dialect in DIALECTS.items()}


def proofs(met: tuple[Losing, ...]) -> Iterator[str]:
    derivation = Derivation()
    for one in met:
        add_loss(one, derivation)
    yield from (json.dumps(step, sort_keys=True) for step in derivation.steps)
    yield from (f"{one.unit.name}: {cost_of(events(one))}" for one in met)


def _terms(one: Losing) -> tuple[Term, ...]:
    return tuple(part.term for part in one.of) if isinstance(one, Together) else (one.term,)


def _statements(terms: list[Term], dialect: Dialect) -> Iterator[str]:
    def read(scan: Scan, names: Names) -> Rows:
        return read_along(scan, lambda one, names: _stored(one, names, dialect), names)

    for term in terms:
        try:
            yield from (statement.sql for statement in rehearsed(term, read, dialect))
        except EngineError as error:
            yield str(error)


def _stored(scan: Scan, names: Names, dialect: Dialect) -> Rows:
    """Where each column is stored as what it was declared to be."""
    types: dict[str, ValueType] = dict(scan.columns)
    if scan.unit_column is not None:
        types |= dict([scan.unit_column])

    def column(own: str, _: str) -> Spelled:
        return Spelled(name(own), types[own], loose=types[own].kind == "FLOAT")

    return read_table(scan, Table(name(scan.table), dict.fromkeys(types, "as declared")), names, dialect, column)
