"""From a checked statement to its answer: reserve, measure, add noise, finish, store, hand out - in that order.

Nothing is shown that the ledger has not stored. A failure after the reservation leaves the charge standing; asking
the same again resumes it. Whatever goes wrong then, in an engine or here, becomes one constant diagnostic: what it says
of itself may quote data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from privql.check.relations import CheckedQuery, Told
from privql.diagnostics import PrivQLError
from privql.engines.interface import EngineError, Querying
from privql.finish.kept import MOST_CELLS, Made, NoisyBlock, numbers, slim, slim_block
from privql.finish.origins import row_id, thread
from privql.finish.present import MeasuredBlock, present, threaded_ids
from privql.finish.result import Column, Release, computed
from privql.finish.table import Table
from privql.kernel.cost import Cost
from privql.kernel.events import Losing
from privql.kernel.scalars import INT, ValueType
from privql.ledger import LedgerError, Permit, Replay, Request
from privql.pipeline.certificate import certificate
from privql.pipeline.desk import Desk, dummies_of, inputs, invented, named_by, releases_of
from privql.pipeline.padding import padded
from privql.pipeline.parameters import bound
from privql.pipeline.ready import ready, resolved, tables_of
from privql.pipeline.refusals import engine_failed, ledger_refused
from privql.pipeline.report import StatementCheck
from privql.pipeline.request import kept_text, request_for
from privql.pipeline.sealing import sealed
from privql.pipeline.steps import Answered, Merge, Program
from privql.plan.program import Plan
from privql.release import Unpaid, release

if TYPE_CHECKING:
    from privql.pipeline.told import Rows


def run(check: StatementCheck, desk: Desk) -> Release:
    """The answer of an accepted query or CREATE RELEASE."""
    assert check.ok and check.query is not None and check.plan is not None
    bound(check)
    try:
        return _paid(check, desk) if check.plan.blocks else _free(check, desk)
    except (LedgerError, EngineError) as problem:
        refused = _refused(problem, check, desk)
    finally:
        desk.places.let_go()
    raise refused  # outside of the handlers: what the analyst gets leads to no trace of the cause


def tried(checks: Iterable[StatementCheck], desk: Desk) -> None:
    """What is charged as one: that all of it can be run is known before."""
    seen: set[str] = set()
    for check in checks:
        assert check.plan is not None
        tables = [table for table in tables_of(check.plan) if table not in seen]
        seen.update(tables)
        try:
            ready(check, desk, tables)
            continue
        except (LedgerError, EngineError) as problem:
            refused = _refused(problem, check, desk)
        finally:
            desk.places.let_go()
        raise refused


def _refused(problem: LedgerError | EngineError, check: StatementCheck, desk: Desk) -> PrivQLError:
    if isinstance(problem, LedgerError):
        return ledger_refused(problem, check, desk.ledger, desk.analyst)
    return engine_failed(problem, check.span, charged=check.slot is not None).in_source(check.source)


def _free(check: StatementCheck, desk: Desk) -> Release:
    """Public and released rows only: nothing is charged. A named answer is kept, so that it can be built upon."""
    assert check.query is not None
    answer = replace(_told(check.query, (), (), desk, ""), dummy=invented(check.query, desk))
    if check.name is None:
        return _with_errors(answer, desk)
    stored = desk.ledger.keep(desk.analyst, check.name, kept_text(check, desk.release_id), answer.to_bytes())
    return _with_errors(replace(Release.from_bytes(stored.answer), release_id=stored.release_id), desk)


def _paid(check: StatementCheck, desk: Desk) -> Release:
    assert check.query is not None and check.plan is not None
    tables = tables_of(check.plan)
    answered = check.spared in ("replay", "same as before")  # no row is read for it: not even to verify keys
    engine = None if answered else ready(check, desk, tables)
    merge = _merging(check, desk)
    request = request_for(check, desk.analyst, desk.policy_version, desk.release_id, desk.places.stated)
    granted = desk.ledger.reserve(request, *(check.slot or ()))
    if isinstance(granted, Replay):
        return _with_errors(_replayed(granted), desk)
    known = EngineError("failed")
    try:
        with padded(desk.shortest()):  # until nobody sees that there is an answer, or that there is none
            engine = engine or ready(check, desk, tables)
            made = _measured(check, request, granted, desk, engine, tables, merge)
        # Another process may have answered the same charge first: then its answer is the answer.
        return _with_errors(Release.from_bytes(desk.ledger.release(granted, made).answer), desk)
    except (LedgerError, PrivQLError, Unpaid):
        raise
    except EngineError as problem:
        known = problem
        words = desk.places.trouble() or "the files changed while the query ran"
    except Exception as problem:  # a fault of our own, say, is none that may look otherwise
        desk.places.owner_log(problem)
        words = desk.places.trouble()
    incident = desk.ledger.failed(granted, words) if known.kind == "failed" else None
    raise engine_failed(known, check.span, incident, charged=True).in_source(check.source)


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
        named = named_by(query, desk)
        if numbers(noisy) > MOST_CELLS or not (noisy or named):
            return made
        return replace(made, made=Made(name, slim(query), noisy, named, tuple(given)))

    def look(query: CheckedQuery, asked: Sequence[Told], given: Sequence[Table]) -> Rows:
        from privql.pipeline.told import values  # has been loaded by who asks

        return values(_with_errors(answer(query, given), desk), asked)

    return answer(*resolved(query, look))


def _replayed(found: Replay) -> Release:
    return replace(Release.from_bytes(found.answer), cost=Cost())


def _answer(
    query: CheckedQuery, blocks: Sequence[Table], desk: Desk, extra: Sequence[tuple[str, ValueType]] = ()
) -> Table:
    """The SQL above the blocks, over what is released, public or invented."""
    released, dummies = inputs(query, desk)
    return desk.places.post().run(query, blocks, released, dummies, extra)


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
    dummies = dummies_of(release.made.query, desk)
    spreads = Errors(release.made, release.rows, release.columns, desk.places.post(), releases, dummies)
    return replace(release, spreads=spreads)


def _earlier(query: CheckedQuery, desk: Desk) -> dict[str, Sequence[Column]]:
    """The columns of the named answers that a query reads: those that were measured know their error."""
    return {name: release.columns for name, release in releases_of(query, desk).items()}
