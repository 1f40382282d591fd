"""Before a query is charged: that it can be run is known as far as that shows without a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from privql.check.relations import CheckedQuery, PublicScan, ReleasedScan
from privql.engines.interface import EngineError, Querying, scans
from privql.engines.opening import Engines
from privql.finish.result import Release
from privql.finish.table import Table
from privql.kernel.scalars import TEXT
from privql.pipeline.desk import Desk, dummies_of
from privql.pipeline.padding import padded
from privql.pipeline.report import StatementCheck
from privql.pipeline.request import leaves, read_by, roots
from privql.pipeline.steps import derived
from privql.plan.program import Plan

if TYPE_CHECKING:
    from privql.pipeline.told import Looked
    from privql.post.run import PostProcessor


def tables_of(plan: Plan) -> tuple[str, ...]:
    tables = tuple(dict.fromkeys(table for block in plan.blocks for table in block.block.tables))
    divided = [one.partition.input for one in plan.parts_by_unit.values()]
    return tables + tuple(table for scan in divided for table in scan.tables if table not in tables)


def ready(check: StatementCheck, desk: Desk, tables: Sequence[str]) -> Querying:
    """The engine, once it is known that the query can be run: what cannot is refused before it is charged."""
    assert check.query is not None and check.plan is not None
    shortest = desk.shortest()
    with padded(None if shortest is None or desk.places.held(tables) else shortest):
        engine = desk.places.engine(tables)
    plans = check.plan.blocks
    wanted = [one for block in plans for one in block.measurable]
    engine.preflight(scan for one in wanted for scan in scans(one.term.input))
    for one in wanted:
        engine.rehearse(one.term)
    released, dummies = _inputs(check, desk)
    post = desk.places.post()
    for block in plans:
        for _, rel, columns in block.publics:
            post.rehearse(derived(check.query, rel, columns), released, dummies)
    _handed_over(check, engine, post, released)
    query, given = resolved(check.query, lambda *_: ())
    post.rehearse(query, released, dummies, given)
    return engine


def _inputs(check: StatementCheck, desk: Desk) -> tuple[dict[str, Table], dict[str, Table]]:
    """Answers that earlier lines have yet to give have no rows."""
    assert check.query is not None
    released = {}
    for name in read_by(check.query):
        schema = check.env.release(name)
        try:
            released[name] = Release.from_bytes(desk.released(name).answer).table
        except KeyError:
            assert schema is not None
            released[name] = Table(tuple((column.name, column.type) for column in schema.columns), ())
    return released, dummies_of(check.query, desk)


def _handed_over(check: StatementCheck, engine: Querying, post: PostProcessor, released: Mapping[str, Table]) -> None:
    """The public rows that private ones meet may still have to be measured: so of all that they are made of, each text
    is held against the engine that will be given them. Of texts that it takes, nothing makes one that it would not."""
    assert check.query is not None and check.plan is not None
    meeting = [one for block in check.plan.blocks if block.publics for one in block.measurable]
    picky = [engine.picky(one.term) for one in meeting] if isinstance(engine, Engines) else []
    for one in {id(each): each for each in picky if each is not None}.values():
        texts: list[Iterable[object]] = [check.env.params.values()]
        for leaf in leaves(roots(check.query)):
            match leaf:
                case PublicScan(dummy=False, columns=columns):
                    of_text = tuple((id, type) for id, _, type in columns if type == TEXT)
                    texts += post.run(derived(check.query, leaf, of_text)).rows if of_text else []
                case ReleasedScan(release=release):
                    texts += released[release].rows
                case _:
                    pass
        if not all(one.takes(text) for row in texts for text in row if isinstance(text, str)):
            raise EngineError("unheld")


def resolved(query: CheckedQuery, look: Looked) -> tuple[CheckedQuery, tuple[Table, ...]]:
    """With what `ERROR`, `LOW` and `HIGH` say, if the query has any of them."""
    if not query.told:
        return query, ()
    from privql.pipeline.told import resolved  # and the computing of errors: few queries ask for it, all would wait

    return resolved(query, look)
