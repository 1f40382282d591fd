"""From a checked query and the clauses that pay for it to its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from privql.check.env import Env
from privql.check.relations import Aggregate, Block, CheckedQuery
from privql.diagnostics import PrivQLError, Span, refuse
from privql.kernel.features import Tally
from privql.kernel.noises import Noise
from privql.plan import automatic
from privql.plan.amounts import ZERO, Amount
from privql.plan.automatic import Search, search_of
from privql.plan.bounding import Limits
from privql.plan.bounds import contribution
from privql.plan.levels import Marginal, finest, marginals
from privql.plan.lower import Lowered, lower
from privql.plan.noises import Asked, asked_for, better, cheaper, in_part, parts, promised, sums, without_delta
from privql.plan.picks import choosing, measured_of
from privql.plan.program import BlockPlan, Measurement, Plan, by_its_rank, proved
from privql.plan.reach import wanted
from privql.plan.selection import Clauses, Selection, counts_units, looks, most_of, selection_of, stated_deltas
from privql.plan.sharing import shared
from privql.plan.spend import Shares, Wanted, asked_within, deviation, split
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
    return Plan(tuple(draft.planned() for draft in drafts))


def _drafts(
    query: CheckedQuery, clauses: Clauses, manners: Clauses, env: Env, asked: Mapping[int, Asked]
) -> list[_Draft]:
    limits = _limits((*clauses, *manners), env)
    noisy = [index for index, one in asked.items() if one != "laplace"]
    deltas = stated_deltas((*manners, *clauses), query, noisy, env)
    drafts = [_draft(block, limits.get(block.index, Limits()), env, query) for block in query.blocks]
    for draft in drafts:
        draft.asked = asked.get(draft.block.index, "laplace")
        if draft.asked != "laplace":
            draft.delta = deltas.get(draft.block.index, Fraction(0))
    for clause, indices in clauses:
        for covered in _payers(clause, [drafts[index] for index in indices]):
            _pay(clause, covered, deltas, env)
    return drafts


@dataclass
class _Draft:
    """A block on its way to a plan: what is wanted of it, then what each part of that is paid."""

    block: Block
    limits: Limits
    lowered: Lowered
    wanted: list[Wanted]
    spent: list[Amount] = field(default_factory=list)  # on each that is wanted
    searches: list[Search] = field(default_factory=list)
    selection: Selection | None = None
    finder: _Draft | None = None  # whose search for groups counts what is in them
    counts: tuple[Aggregate, ...] = ()  # of this block, that are read off it
    marginals: tuple[Marginal, ...] = ()  # where it has several grouping sets
    asked: Asked = "laplace"
    delta: Fraction = Fraction(0)  # for its noise, where that may take one
    noise: Noise = "laplace"
    sigmas: tuple[Fraction, ...] = ()  # where errors are promised: the greatest that Gaussian noise may have

    def carrying(self, noise: Noise) -> list[Wanted]:
        made = [replace(one, noise=noise) for one in self.wanted]
        return promised(made, self.sigmas, self.delta) if noise == "gaussian" and self.sigmas and self.delta else made

    def count(self, finder: _Draft) -> None:
        """What the search for its groups says is not measured again."""
        if not counts_units(self.block, self.lowered, finder.block):
            return
        pairs = list(zip(self.wanted, self.lowered.contributions, strict=True))
        said = [of == Tally() and one.aggregate.privacy is None for one, of in pairs]
        self.finder = finder
        self.counts = tuple(one.aggregate for (one, _), here in zip(pairs, said, strict=True) if here)
        left = [pair for pair, here in zip(pairs, said, strict=True) if not here]
        self.wanted = [one for one, _ in left]
        self.lowered = replace(self.lowered, contributions=tuple(of for _, of in left))

    def pay(self, amounts: Sequence[Amount]) -> None:
        """Bounds that nobody stated are looked for first, with a part of what their aggregate may spend."""
        for at, (one, epsilon) in enumerate(zip(self.wanted, amounts, strict=True)):
            looking = ZERO
            if automatic.automatic(one.aggregate):
                looking = epsilon.times(automatic.SHARE)
                self.searches.append(search_of(self.block, one.aggregate, at, self.lowered, looking))
            self.spent.append(epsilon - looking)

    def planned(self) -> BlockPlan:
        open_ = {search.at for search in self.searches}

        def measurement(at: int, one: Wanted, epsilon: Amount) -> Measurement:
            assert self.lowered.rows is not None
            shape = (one.contribution, one.sensitivity, one.grid)
            block, rows = self.block, self.lowered.rows
            made = Measurement(one.aggregate, block.index, block.unit, rows, *shape, epsilon, at in open_, one.also)
            return by_its_rank(made, self.lowered)

        paid = zip(self.wanted, self.spent, strict=True)
        made = tuple(measurement(at, one, epsilon) for at, (one, epsilon) in enumerate(paid))
        if self.noise == "gaussian":
            bought = zip(made, parts(self.spent, self.delta), strict=True)
            made = tuple(replace(one, noise="gaussian", delta=d, mu_squared=square) for one, (d, square) in bought)
        marginals = self.marginals or finest(self.block)
        made = tuple(replace(one, split=len(marginals) > 1) for one in made)
        measured, beside = proved(self.block, self.lowered, made, marginals)
        numbers = self.finder.selection if self.finder is not None and self.counts else None
        shape = self.block, self.lowered, made, measured, self.selection, tuple(self.searches)
        return BlockPlan(*shape, numbers=numbers, marginals=marginals, beside=beside)


def _draft(block: Block, limits: Limits, env: Env, query: CheckedQuery) -> _Draft:
    measured, also = measured_of(block)
    contributions = tuple(contribution(automatic.within(aggregate)) for aggregate in measured)
    lowered = lower(block, contributions, limits, env, query)
    made = zip(measured, contributions, lowered.contributions, strict=True)
    return _Draft(block, limits, lowered, [choosing(wanted(*one, block, lowered), lowered, also) for one in made])


def _payers(clause: ast.Privacy | None, drafts: list[_Draft]) -> list[list[_Draft]]:
    """A stated total covers all of its blocks; defaults are each unit's own."""
    if clause is not None and (clause.epsilon is not None or clause.within is not None):
        return [drafts] if drafts else []
    units: dict[str, list[_Draft]] = {}
    for draft in drafts:
        units.setdefault(draft.block.unit.name, []).append(draft)
    return list(units.values())


def _pay(clause: ast.Privacy | None, drafts: Sequence[_Draft], deltas: Mapping[int, Fraction], env: Env) -> None:
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
        costs = asked_within(clause, env.params, env.confidence)
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
        amounts, each = split(clause, covered, default, env.params, env.confidence, first.span, shares)
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


def _carried(draft: _Draft, noise: Noise | None) -> Noise:
    return noise if noise is not None and draft.asked == "auto" and draft.delta else draft.noise


def _choose(
    clause: ast.Privacy | None,
    drafts: Sequence[_Draft],
    splitting: Callable[[Noise | None], tuple[list[list[Amount]], Amount]],
    env: Env,
) -> None:
    """The noise of each block: as is said, or as it errs less, or costs less where an error is promised."""
    for draft in drafts:
        draft.noise = "gaussian" if draft.asked == "gaussian" and draft.wanted else "laplace"
        if draft.asked == "laplace":
            continue
        sigmas = [deviation(one, clause, env.params, env.confidence) for one in draft.wanted]
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
