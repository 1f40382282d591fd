"""A query as the ledger knows it: its canonical text, parameters, measurements and tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from privql.check.env import USUAL
from privql.check.relations import CheckedQuery, PublicScan, Rel, ReleasedScan
from privql.frozen import rebuilt, rebuilt_inside
from privql.kernel.cost import amount_text
from privql.ledger import PartsAsked, Request
from privql.pipeline.certificate import certificate, values_of
from privql.pipeline.parameters import named_in
from privql.pipeline.report import Refines, StatementCheck
from privql.plan.amounts import known
from privql.syntax import ast, unparse
from privql.syntax.names import quote

Released = Callable[[str], str]  # from a named release to its identifier
Stated = Callable[[Sequence[str]], bool]  # whether the data of tables is that of which the owner has stated a version

MOST_PARTS = 64  # that one query is charged in; one that reads more is charged to all


def request_for(
    check: StatementCheck, analyst: str, policy_version: int, released: Released, stated: Stated = lambda tables: False
) -> Request:
    """The query as the ledger knows it: the same text, inputs, measurements and versions are the same query."""
    assert check.plan is not None
    return Request(
        analyst=analyst,
        query=canonical(check, released),
        parameters=inputs(check, released),
        policy_version=policy_version,
        charges=tuple(check.plan.events_by_unit.items()),
        measurements=json.dumps(certificate(check.plan)),
        tables=tuple(dict.fromkeys(_tables(check))),
        name=check.name,
        budget=check.budget,
        refines=None if check.refines is None else refines(check.refines, released),
        parts=_parts(check, stated),
    )


def _parts(check: StatementCheck, stated: Stated) -> tuple[tuple[str, PartsAsked], ...]:
    """The parts that are charged: those of data that is what the owner has stated, for in other data a unit may be in
    another part. The runs of a release that is made again read data that will be."""
    if check.plan is None or check.again is not None:
        return ()
    out = []
    for unit, one in check.plan.parts_by_unit.items():
        scan, values = one.partition.input, values_of(one)
        most = 1 if scan.unit.change_one else MOST_PARTS  # a unit that is changed may be in two of them
        if len(values) <= most and stated(scan.tables):
            out.append(
                (unit, PartsAsked(scan.table, one.partition.column, tuple(values), scan.tables, scan.unit.change_one))
            )
    return tuple(out)


def kept_text(check: StatementCheck, released: Released) -> str:
    """By what a named answer that cost nothing is known."""
    return f"{canonical(check, released)} {inputs(check, released)}"


def refines(one: Refines, released: Released) -> str:
    """Which release it makes more accurate."""
    return one.id or released(one.name)


def canonical(check: StatementCheck, released: Released) -> str:
    """The query's text, in one spelling of blanks, keywords and functions."""
    node = rebuilt(check.statement, _spelled)
    if isinstance(node, ast.Refine):
        assert check.refines is not None
        said = node.privacy
        sure = said.confidence or ast.Number(str(100 * USUAL))
        goal = (_exactly(said.within, check), _exactly(sure, check), _exactly(said.given, check))
        said = ast.Privacy(within=goal[0], confidence=goal[1], given=goal[2])
        return unparse(replace(node, name=refines(check.refines, released), privacy=said, new=None))
    if isinstance(node, ast.CreateRelease):
        columns = f"({', '.join(map(quote, node.columns))}) " if node.columns else ""
        return columns + unparse(node.query)
    assert node is not None
    return unparse(node)


def _exactly(node: ast.Expr | None, check: StatementCheck) -> ast.Expr | None:
    """However it was written, and whatever a parameter is: by what a release is refined to it is known again."""
    if node is None:
        return None
    over, _, under = amount_text(known(node, check.env.params, "WITHIN")).partition("/")
    return ast.Binary("/", ast.Number(over), ast.Number(under)) if under else ast.Number(over)


def _spelled(node: Any) -> Any:
    """The same tree, functions in capitals: their names compare without case, and no answer shows them otherwise."""
    if not isinstance(node, ast.Call):
        return None
    spelled, name = rebuilt_inside(node, _spelled), node.name.upper()
    return spelled if name == node.name else replace(spelled, name=name)


def inputs(check: StatementCheck, released: Released) -> str:
    """What the text names and does not say: the values of its parameters, and which releases its names mean.

    Two analysts may each have a release `r`; a query that reads `r` is another query for each of them.
    """
    assert check.query is not None
    return json.dumps(
        {
            "parameters": _values(check),
            "releases": {name: released(name) for name in read_by(check.query)},
            "groups": [[_digest(key.members) for key in block.keys] for block in check.query.blocks],
            **_run(check),
            **({} if check.refines is None else {"refines": refines(check.refines, released)}),
        }
    )


def _run(check: StatementCheck) -> dict[str, object]:
    """Each run of a release that is made again is a query of its own."""
    if check.again is None or check.slot is None:
        return {}
    paid, number = check.slot
    return {"run": [paid.plan, number + 1]}


def read_by(query: CheckedQuery) -> list[str]:
    """The releases that it reads, by their names."""
    return sorted({leaf.release for leaf in leaves(roots(query)) if isinstance(leaf, ReleasedScan)})


def values(check: StatementCheck) -> str:
    """Those of its parameters."""
    return json.dumps(_values(check))


def _values(check: StatementCheck) -> dict[str, str]:
    assert check.statement is not None
    named = named_in(check.statement, amounts=False) if check.params else ()  # what is spent stands in the measurements
    return {name: _written(check.env.params.get(name)) for name in sorted(named)}


def _digest(members: tuple[object, ...] | None) -> str:
    """Which groups there are may come from a public table, whose rows the text does not say."""
    return sha256(repr(members).encode()).hexdigest()


def _written(value: object) -> str:
    return f"{type(value).__name__} {value}"


def _tables(check: StatementCheck) -> list[str]:
    """Every table whose data the answer depends on, named releases apart: those never change."""
    assert check.query is not None and check.plan is not None
    out = [table for block in check.plan.blocks for table in block.block.tables]
    return out + [leaf.table for leaf in leaves(roots(check.query)) if isinstance(leaf, PublicScan) and not leaf.dummy]


def roots(query: CheckedQuery) -> list[Rel]:
    """The trees of a query: its own, those that are computed once, those of subqueries and what its blocks read."""
    blocks = (block.rel for block in query.blocks)
    return [query.rel, *(rel for _, rel in query.shared), *(s.rel for _, s in query.subqueries), *blocks]


def leaves(trees: Sequence[Rel]) -> list[Rel]:
    out: list[Rel] = []
    todo = list(trees)
    while todo:
        rel = todo.pop()
        inputs = [getattr(rel, side) for side in ("input", "left", "right") if hasattr(rel, side)]
        todo.extend(inputs)
        if not inputs:
            out.append(rel)
    return out
