"""From a checked query and the clauses that pay for it to its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from privql.check.env import Env
from privql.check.relations import CheckedQuery
from privql.diagnostics import PrivQLError, Span, refuse
from privql.kernel.noises import Noise
from privql.plan.amounts import Amount
from privql.plan.bounding import Limits
from privql.plan.drafts import Draft, drafted
from privql.plan.levels import marginals
from privql.plan.noises import Asked, asked_for, better, cheaper, in_part, sums, without_delta
from privql.plan.picks import choice_without_delta, takes_delta
from privql.plan.program import Plan
from privql.plan.selection import Clauses, looks, most_of, selection_of, stated_deltas
from privql.plan.sharing import shared
from privql.plan.spend import Shares, asked_within, deviation, split
from privql.syntax import ast


def plan(query: CheckedQuery, clauses: Clauses, manners: Clauses, env: Env) -> Plan:
    """`clauses` pay for their blocks; `manners` say no more than how theirs are measured."""
    wished = asked_for((*manners, *clauses))
    asked = {block.index: wished[block.index][0] for block in query.blocks if block.index in wished and sums(block)}
    for index, (one, span) in wished.items():
        if one == "gaussian" and not asked.keys() & {other for other, (_, at) in wished.items() if at == span}:
            raise refuse(
                "PQL0408",
                "USING GAUSSIAN has nothing to add noise to",
                query.blocks[index].aggregates[0].span if query.blocks[index].aggregates else span,
                why="what is chosen or drawn has no noise added to it",
                help="leave USING GAUSSIAN out",
            )
    drafts = _drafts(query, clauses, manners, env, asked)
    if "auto" in asked.values():  # of a δ that a block turns out not to need, others have more
        drafts = _drafts(query, clauses, manners, env, {draft.block.index: draft.noise for draft in drafts})
    for draft in drafts:
        if asked.get(draft.block.index) == "gaussian" and not draft.delta:
            raise without_delta(wished[draft.block.index][1])
        if takes_delta(draft.block) and not draft.delta:
            raise choice_without_delta(draft.block)
    return Plan(tuple(draft.planned() for draft in drafts))


def _drafts(
    query: CheckedQuery, clauses: Clauses, manners: Clauses, env: Env, asked: Mapping[int, Asked]
) -> list[Draft]:
    limits = _limits((*clauses, *manners), env)
    choices = {block.index for block in query.blocks if takes_delta(block)}
    noisy = {index for index, one in asked.items() if one != "laplace"} | choices
    deltas = stated_deltas((*manners, *clauses), query, noisy, env)
    drafts = [drafted(block, limits.get(block.index, Limits()), env, query) for block in query.blocks]
    for draft in drafts:
        draft.asked = asked.get(draft.block.index, "laplace")
        if draft.block.index in noisy:
            draft.delta = deltas.get(draft.block.index, Fraction(0))
    for clause, indices in clauses:
        for covered in _payers(clause, [drafts[index] for index in indices]):
            _pay(clause, covered, deltas, env)
    return drafts


def _payers(clause: ast.Privacy | None, drafts: list[Draft]) -> list[list[Draft]]:
    """A stated total covers all of its blocks; defaults are each unit's own."""
    if clause is not None and (clause.epsilon is not None or clause.within is not None):
        return [drafts] if drafts else []
    units: dict[str, list[Draft]] = {}
    for draft in drafts:
        units.setdefault(draft.block.unit.name, []).append(draft)
    return list(units.values())


def _pay(clause: ast.Privacy | None, drafts: Sequence[Draft], deltas: Mapping[int, Fraction], env: Env) -> None:
    first = drafts[0].block
    for draft in drafts:
        if draft.asked == "gaussian":
            draft.wanted = draft.carrying("gaussian")
    if clause is None or clause.within is None:
        finders = {draft.block.index: draft for draft in drafts if looks(draft.block)}
        for draft in drafts:
            first_of = draft.block.index if draft.block.groups_of is None else draft.block.groups_of
            if first_of in finders and draft.asked != "gaussian":
                draft.count(finders[first_of])
            draft.lowered, draft.wanted = shared(draft.block, draft.lowered, draft.wanted)
            if draft.asked != "auto":
                draft.marginals = marginals(draft.block, draft.lowered, draft.wanted)
    else:
        costs = asked_within(clause, env.params)
        for draft in drafts:
            draft.lowered, draft.wanted = shared(draft.block, draft.lowered, draft.wanted, costs)
    default = env.settings.epsilon or env.default_epsilon.get(first.unit.name)
    if (
        default is None
        and first.unit.name in env.closed
        and (clause is None or clause.epsilon is clause.within is None)
    ):
        raise no_budget(first.unit.name, env.closed[first.unit.name], first.span)
    looking = [draft for draft in drafts if looks(draft.block)]
    shares = Shares(sum(bool(draft.wanted) for draft in drafts), len(looking))

    def splitting(noise: Noise | None) -> tuple[list[list[Amount]], Amount]:
        """What each block pays for each that is wanted of it, and each search for groups; with that noise, where it may
        be, else with what was chosen."""
        covered = [one for draft in drafts for one in draft.carrying(_carried(draft, noise))]
        amounts, each = split(clause, covered, default, env.params, first.span, shares)
        rest = iter(amounts)
        return [[next(rest) for _ in draft.wanted] for draft in drafts], each

    _choose(clause, drafts, splitting, env)
    paid, each = splitting(None)
    for draft, amounts in zip(drafts, paid, strict=True):
        draft.pay(amounts)
    for draft in looking:
        delta = deltas[draft.block.index]
        counts = tuple(one for other in drafts if other.finder is draft for one in other.counts)
        draft.selection = selection_of(draft.block, draft.lowered, draft.limits, each, delta, counts)


def _carried(draft: Draft, noise: Noise | None) -> Noise:
    return noise if noise is not None and draft.asked == "auto" and draft.delta else draft.noise


def _choose(
    clause: ast.Privacy | None,
    drafts: Sequence[Draft],
    splitting: Callable[[Noise | None], tuple[list[list[Amount]], Amount]],
    env: Env,
) -> None:
    """The noise of each block: as is said, or as it errs less, or costs less where an error is promised."""
    for draft in drafts:
        draft.noise = "gaussian" if draft.asked == "gaussian" and draft.wanted else "laplace"
        if draft.asked == "laplace":
            continue
        sigmas = [deviation(one, clause, env.params) for one in draft.wanted]
        draft.sigmas = tuple(sigma for sigma in sigmas if sigma is not None)
        if 0 < len(draft.sigmas) < len(sigmas):
            if draft.asked == "gaussian":
                said = [one.aggregate.privacy for one in draft.wanted] + [clause]
                raise in_part(next(one for one in said if one is not None and one.within is not None))
            draft.delta = Fraction(0)
    open_ = [draft for draft in drafts if draft.asked == "auto" and draft.delta and draft.wanted]
    if open_:
        (laplace, _), (gaussian, _) = splitting("laplace"), splitting("gaussian")
        for draft, one, other in zip(drafts, laplace, gaussian, strict=True):
            if draft in open_:
                draft.noise = cheaper(one, other) if draft.sigmas else better(draft.wanted, one, other, draft.delta)


def no_budget(unit: str, analyst: str, span: Span) -> PrivQLError:
    return refuse(
        "PQL0505",
        f"no budget for {unit} is open to `{analyst}`",
        span,
        why="this is the name you ask in",
        help="ask in the name that was granted one, `--as NAME`, or ask the owner for `GRANT … TO …`",
    )


def _limits(clauses: Clauses, env: Env) -> dict[int, Limits]:
    """The least that any clause around a block says."""
    out: dict[int, Limits] = {}
    for clause, indices in clauses:
        if clause is None:
            continue
        for index in indices:
            known = out.get(index, Limits())
            rows = _least(clause.rows, known.rows, "ROWS", clause.span, env)
            out[index] = Limits(rows, _least(clause.groups, known.groups, "GROUPS", clause.span, env))
    return out


def _least(node: ast.Expr | None, known: int | None, what: str, span: Span, env: Env) -> int | None:
    if node is None:
        return known
    most = most_of(node, what, span, env)
    return most if known is None else min(most, known)
