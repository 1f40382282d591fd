"""From a checked statement to its answer: reserve, measure, add noise, finish, store, hand out - in that order.

Nothing is shown that the ledger has not stored. A failure after the reservation leaves the charge standing; asking
the same again resumes it. Whatever goes wrong then, in an engine or here, becomes one constant diagnostic: what it says
of itself may quote data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privql.check.relations import CheckedQuery, PublicScan, ReleasedScan, Told
from privql.diagnostics import PrivQLError
from privql.engines.interface import EngineError, Querying, scans
from privql.engines.opening import Engines
from privql.finish.kept import MOST_CELLS, Made, NoisyBlock, numbers, slim, slim_block
from privql.finish.origins import row_id, thread
from privql.finish.present import MeasuredBlock, present, threaded_ids
from privql.finish.result import Column, Release, computed
from privql.finish.table import Table
from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.events import Losing
from privql.kernel.scalars import INT, TEXT, ValueType
from privql.ledger import Ledger, LedgerError, Permit, Replay, Request, StoredRelease
from privql.pipeline.certificate import certificate
from privql.pipeline.padding import padded
from privql.pipeline.parameters import bound
from privql.pipeline.places import Places
from privql.pipeline.refusals import engine_failed, ledger_refused
from privql.pipeline.report import StatementCheck
from privql.pipeline.request import kept_text, leaves, read_by, request_for, roots
from privql.pipeline.sealing import sealed
from privql.pipeline.steps import Answered, Merge, Program, derived
from privql.plan.program import Plan
from privql.release import Unpaid, release

if TYPE_CHECKING:
    from privql.pipeline.told import Looked, Rows
    from privql.post.run import PostProcessor


@frozen
class Desk:
    """All that an answer is made with, opened only when it is needed."""

    ledger: Ledger
    analyst: str
    policy_version: int
    places: Places
    released: Callable[[str], StoredRelease]  # by name
    dummy: bool = False
    shortest: Callable[[], Fraction | None] = lambda: None  # that any reading of rows may show as: PAD TIME

    def release_id(self, name: str) -> str:
        return self.released(name).release_id


def run(check: StatementCheck, desk: Desk) -> Release:
    """The answer of an accepted query or CREATE RELEASE."""
    assert check.ok and check.query is not None and check.plan is not None
    bound(check)
    try:
        if not check.plan.blocks:
            return _free(check, desk)
        try:
            return _paid(check, desk)
        finally:
            desk.places.let_go()
    except LedgerError as problem:
        raise ledger_refused(problem, check, desk.ledger, desk.analyst) from None
    except EngineError as problem:
        raise engine_failed(problem, check.span).in_source(check.source) from None


def _free(check: StatementCheck, desk: Desk) -> Release:
    """Public and released rows only: nothing is charged. A named answer is kept, so that it can be built upon."""
    assert check.query is not None
    answer = replace(_told(check.query, (), (), desk, ""), dummy=_invented(check.query, desk))
    if check.name is None:
        return _with_errors(answer, desk)
    stored = desk.ledger.keep(desk.analyst, check.name, kept_text(check, desk.release_id), answer.to_bytes())
    return _with_errors(replace(Release.from_bytes(stored.answer), release_id=stored.release_id), desk)


def _paid(check: StatementCheck, desk: Desk) -> Release:
    assert check.query is not None and check.plan is not None
    tables = _tables(check.plan)
    answered = check.spared in ("replay", "same as before")  # no row is read for it: not even to verify keys
    engine = None if answered else _ready(check, desk, tables)
    merge = _merging(check, desk)
    request = request_for(check, desk.analyst, desk.policy_version, desk.release_id, desk.places.stated)
    granted = desk.ledger.reserve(request, *(check.slot or ()))
    if isinstance(granted, Replay):
        return _with_errors(_replayed(granted), desk)
    try:
        with padded(desk.shortest()):  # until nobody sees that there is an answer, or that there is none
            engine = engine or _ready(check, desk, tables)
            made = _measured(check, request, granted, desk, engine, tables, merge)
        # Another process may have answered the same charge first: then its answer is the answer.
        return _with_errors(Release.from_bytes(desk.ledger.release(granted, made).answer), desk)
    except (LedgerError, PrivQLError, Unpaid):
        raise
    except EngineError as problem:
        if problem.kind != "failed":
            raise
        words = desk.places.trouble() or "the files changed while the query ran"
    except Exception as problem:  # a fault of our own, say, is none that may look otherwise
        desk.places.owner_log(problem)
        words = desk.places.trouble()
    # outside the handlers: what the analyst gets leads to no trace of the cause
    incident = desk.ledger.incident(granted.release_id, desk.analyst, words)
    raise engine_failed(EngineError("failed"), check.span, incident).in_source(check.source)


def _tables(plan: Plan) -> tuple[str, ...]:
    tables = tuple(dict.fromkeys(table for block in plan.blocks for table in block.block.tables))
    divided = [one.partition.input for one in plan.parts_by_unit.values()]
    return tables + tuple(link.table for scan in divided for link in scan.via if link.table not in tables)


def _ready(check: StatementCheck, desk: Desk, tables: Sequence[str]) -> Querying:
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
    released, dummies = inputs(check.query, desk)
    post = desk.places.post()
    for block in plans:
        for _, rel, columns in block.publics:
            post.rehearse(derived(check.query, rel, columns), released, dummies)
    _handed_over(check, engine, post, released)
    query, given = _resolved(check.query, lambda *_: ())
    post.rehearse(query, released, dummies, given)
    return engine


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


def _merging(check: StatementCheck, desk: Desk) -> Merge:
    """With the earlier answers that a refined one is merged with; nothing for most."""
    if check.refines is None:
        return lambda _, rows: rows
    from privql.pipeline.merging import merging

    return merging(check, desk.ledger, desk.analyst, desk.release_id)


def _measured(
    check: StatementCheck,
    request: Request,
    granted: Permit,
    desk: Desk,
    engine: Querying,
    tables: Sequence[str],
    merge: Merge,
) -> bytes:
    """The answer that a permit allows, to be stored."""
    assert check.query is not None and check.plan is not None
    proved: list[Losing] = []

    def unmoved() -> bool:
        return desk.places.unmoved(tables)

    def measure(step: int, wanted: Sequence[Losing], publics: Mapping[str, Table]) -> list[list[tuple[Any, ...]]]:
        proved.extend(wanted)
        return release(granted, step, wanted, engine, desk.ledger, unmoved, publics, desk.places.owner_log)

    program = Program(
        check.query, check.plan.blocks, measure, lambda query, blocks: _answer(query, blocks, desk), merge
    )
    answered = program.run()
    noisy = tuple(
        NoisyBlock(slim_block(one.plan.block), one.recipes, tuple(one.cells), tuple(one.groups), one.levels)
        for one in answered
    )
    made = replace(
        _told(check.query, answered, noisy, desk, granted.release_id),
        cost=check.plan.cost,
        release_id=granted.release_id,
        certificate=certificate(Plan(tuple(one.plan for one in answered))),
        dummy=desk.dummy,
    )
    if not desk.dummy:
        proof = sealed(proved, granted, request, made, desk.ledger)
        made = replace(made, certificate={**made.certificate, "proof": proof})
    if check.name is None and not any(map(computed, made.columns)):
        made = replace(made, made=None)  # each of its numbers knows its own error
    return made.to_bytes()


def _told(
    query: CheckedQuery, answered: Sequence[Answered], noisy: tuple[NoisyBlock, ...], desk: Desk, name: str
) -> Release:
    """The answer, with the errors of its numbers; and with those that it is asked to tell."""

    def answer(query: CheckedQuery, given: Sequence[Table]) -> Release:
        ids = threaded_ids(query, [one.recipes for one in answered])
        tables = [*(one.table for one in answered), *given]
        made = present(
            query,
            [MeasuredBlock(one.recipes, one.cells) for one in answered],
            _answer(thread(query, ids), tables, desk, [(row_id(id), INT) for id in ids]),
            cost=Cost(),
            earlier=_earlier(query, desk),
        )
        named = _named(query, desk)
        if numbers(noisy) > MOST_CELLS or not (noisy or named):
            return made
        return replace(made, made=Made(name, slim(query), noisy, named, tuple(given)))

    def look(query: CheckedQuery, asked: Sequence[Told], given: Sequence[Table]) -> Rows:
        from privql.pipeline.told import values  # has been loaded by who asks

        return values(_with_errors(answer(query, given), desk), asked)

    return answer(*_resolved(query, look))


def _resolved(query: CheckedQuery, look: Looked) -> tuple[CheckedQuery, tuple[Table, ...]]:
    """With what `ERROR`, `LOW` and `HIGH` say, if the query has any of them."""
    if not query.told:
        return query, ()
    from privql.pipeline.told import resolved  # and the computing of errors: few queries ask for it, all would wait

    return resolved(query, look)


def _replayed(found: Replay) -> Release:
    return replace(Release.from_bytes(found.answer), cost=Cost())


def _answer(
    query: CheckedQuery, blocks: Sequence[Table], desk: Desk, extra: Sequence[tuple[str, ValueType]] = ()
) -> Table:
    """The SQL above the blocks, over what is released, public or invented."""
    released, dummies = inputs(query, desk)
    return desk.places.post().run(query, blocks, released, dummies, extra)


def inputs(query: CheckedQuery, desk: Desk) -> tuple[dict[str, Table], dict[str, Table]]:
    """The named answers and the invented rows that a query reads."""
    released = {name: release.table for name, release in _releases(query, desk).items()}
    return released, _dummies(query, desk)


def _dummies(query: CheckedQuery, desk: Desk) -> dict[str, Table]:
    found = (leaf for leaf in leaves(roots(query)) if isinstance(leaf, PublicScan) and leaf.dummy)
    return {leaf.table: desk.places.dummy(leaf.table) for leaf in found}


def _releases(query: CheckedQuery, desk: Desk) -> dict[str, Release]:
    return {name: Release.from_bytes(desk.released(name).answer) for name in read_by(query)}


def _named(query: CheckedQuery, desk: Desk) -> dict[str, str]:
    """Which answers stand behind the names that a query reads."""
    return {name: desk.release_id(name) for name in read_by(query)}


def _with_errors(release: Release, desk: Desk) -> Release:
    """Able to tell the errors of what was computed; they are computed when they are asked for."""
    if release.made is None:
        return release
    from privql.pipeline.errors import Errors  # a number that was measured knows its own error: most never need this

    releases: dict[str, Release] = {}
    for name, id in release.made.releases.items():
        stored = desk.released(name)
        if stored.release_id != id:
            return release
        releases[name] = _with_errors(Release.from_bytes(stored.answer), desk)
    dummies = _dummies(release.made.query, desk)
    return replace(release, spreads=Errors(release.made, release.rows, desk.places.post(), releases, dummies))


def _earlier(query: CheckedQuery, desk: Desk) -> dict[str, Sequence[Column]]:
    """The columns of the named answers that a query reads: those that were measured know their error."""
    return {name: release.columns for name, release in _releases(query, desk).items()}


def _invented(query: CheckedQuery, desk: Desk) -> bool:
    return desk.dummy or any(isinstance(leaf, PublicScan) and leaf.dummy for leaf in leaves(roots(query)))
