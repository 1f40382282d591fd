"""Groups that nobody listed: they are looked for first, privately, and that takes a part of ε and a δ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from privql.check.env import Env
from privql.check.relations import Aggregate, Block, CheckedQuery, Compute, Distinct, GroupingKey
from privql.check.typed import Clause
from privql.diagnostics import Span, refuse
from privql.domains import number_text
from privql.frozen import frozen
from privql.kernel import rules, selection
from privql.kernel.cost import check_chargeable
from privql.kernel.scalars import Field
from privql.kernel.selection import LEAST_DELTA, LEAST_EPSILON, Keep, Selected
from privql.kernel.tails import halfwidth
from privql.kernel.terms import Filter, Gather, KeepRows, Project, Relation, Unit
from privql.plan.amounts import Amount, known
from privql.plan.bounding import Limits
from privql.plan.lower import Lowered
from privql.syntax import ast, quote

Clauses = Sequence[Clause]


@frozen
class Selection:
    """The search for one block's groups. `most`: how many of them one unit counts in.

    `counts`: aggregates, of this block and of those that take its groups, that are how many units a group has: they
    come out of the search itself, for all that it spends.
    """

    block: int
    keys: tuple[GroupingKey, ...]
    unit: Unit
    most: int
    epsilon: Amount
    delta: Fraction
    selected: Selected | None  # None while ε has a parameter without a value
    counts: tuple[Aggregate, ...] = ()

    @property
    def text(self) -> str:
        return f"groups of {', '.join(key.name for key in self.keys)}"

    @property
    def span(self) -> Span:
        return self.keys[0].span.to(self.keys[-1].span)

    @property
    def moved(self) -> int:
        return selection.moved(self.unit, self.most)

    def halfwidth(self, confidence: Fraction) -> Fraction | None:
        """How far off the number of a group may be that is large enough to be found for certain: a little less."""
        return Fraction(halfwidth(self.moved / self.epsilon.constant, confidence)) if self.epsilon.known else None


def selection_of(
    block: Block,
    lowered: Lowered,
    limits: Limits,
    epsilon: Amount,
    delta: Fraction,
    counts: tuple[Aggregate, ...],
) -> Selection:
    keys = unlisted(block)
    among = rules.gather(lowered.owned, lowered.unlisted, ()).rows
    most = min((most for most in (among, lowered.rows, limits.groups) if most is not None), default=None)
    if most is None:
        raise refuse(
            "PQL0407",
            f"one {block.unit.name} may be in any number of groups",
            keys[0].span,
            why="each of them takes its part of what is spent to look for groups",
            help="end the query with `AT MOST 3 GROUPS PER UNIT`, or state them with KEYS",
        )
    made = None
    if epsilon.known:
        moved = selection.moved(block.unit, most)
        if not Keep(epsilon.constant / moved, delta / moved).sensible:
            raise refuse(
                "PQL0503",
                "too little is spent to look for groups",
                keys[0].span,
                why=f"one {block.unit.name} may be in {most} groups, and each of them takes its part: "
                f"at least ε = {number_text(LEAST_EPSILON)} and δ = {float(LEAST_DELTA):.0e}",
                help="spend more, bound the groups with `AT MOST 3 GROUPS PER UNIT`, or state them with KEYS",
            )
        priced = (epsilon.constant, delta)
        made = selection.truncated_geometric(lowered.owned, lowered.unlisted, most, *priced, counted=bool(counts))
    return Selection(block.index, keys, block.unit, most, epsilon, delta, made, counts)


def counts_units(block: Block, lowered: Lowered, finder: Block) -> bool:
    """Whether COUNT(*) of a block is how many units each group has that is looked for by `finder`, itself perhaps."""
    if block.sets or unlisted(block) != block.keys:
        return False
    if block is not finder:  # COUNT(DISTINCT unit) of the same rows
        rel = block.rel
        return isinstance(rel, Distinct) and isinstance(rel.input, Compute) and rel.input.input == finder.rel
    named = {value.name for _, value in lowered.unlisted if isinstance(value, Field)}
    one_each = _gathered(lowered.owned.term) and any(columns <= named for columns in lowered.owned.unique)
    return lowered.owned.owned and (lowered.owned.rows == 1 or one_each)


def _gathered(term: Relation) -> bool:
    """Rows that are a unit's groups, or some of them: such differ in NULLs, too."""
    while isinstance(term, Filter | Project | KeepRows):
        term = term.input
    return isinstance(term, Gather)


def looks(block: Block) -> bool:
    """Whether its groups must be found, and no other block finds them."""
    return block.groups_of is None and bool(unlisted(block))


def unlisted(block: Block) -> tuple[GroupingKey, ...]:
    return tuple(key for key in block.keys if key.members is None)


def stated_deltas(clauses: Clauses, query: CheckedQuery, noisy: Collection[int], env: Env) -> Mapping[int, Fraction]:
    """The δ of each block that must look for its groups, or whose noise takes one (`noisy`): its part of the innermost
    DELTA, or of its unit's default. A block that does both has as much for either."""
    looking = {block.index: block for block in query.blocks if looks(block) or block.index in noisy}
    times = {index: looks(block) + (index in noisy) for index, block in looking.items()}
    out: dict[int, Fraction] = {}
    for clause, indices in clauses:
        if clause is None or clause.delta is None:
            continue
        paid = [index for index in indices if index in looking and index not in out]
        delta = _stated(clause.delta, env)  # where nothing needs it, none is spent
        out |= {index: delta / sum(times[each] for each in paid) for index in paid}
    for _, indices in clauses:
        rest = [looking[index] for index in indices if index in looking and index not in out]
        for block in rest:
            alike = sum(times[other.index] for other in rest if other.unit == block.unit)
            out[block.index] = env.default_delta.get(block.unit.name, Fraction(0)) / alike
    for index, block in looking.items():
        if not out.get(index) and looks(block):
            raise _unknown(unlisted(block)[0])
    return out


def _stated(written: ast.Expr, env: Env) -> Fraction:
    delta = known(written, env.params, "δ")
    problem = "δ must be below 1" if delta >= 1 else ""
    try:
        check_chargeable(delta)
    except ValueError as found:
        problem = str(found)
    if problem:
        raise refuse("PQL0503", problem, written.span, help="write a number such as 1e-7")
    return delta


def _unknown(key: GroupingKey) -> Exception:
    written = quote(key.name) if key.name.isidentifier() else key.name
    return refuse(
        "PQL0403",
        f"the groups of `{key.name}` are not known",
        key.span,
        label=key.unknown,
        why="a group that appears because one person is in it would show that person",
        help=f"state them: `GROUP BY {written} KEYS (…)`, or spend a δ to find them: `DELTA 1e-7` after EPSILON",
    )


_MOST = 10**12  # rows of one unit


def most_of(node: ast.Expr, what: str, span: Span, env: Env) -> int:
    """A number of rows or groups is no amount of budget: it may be far larger."""
    if isinstance(node, ast.Number) and node.text.isdigit():
        number = Fraction(int(node.text))
    else:
        number = known(node, env.params, "AT MOST")
    if number.denominator != 1 or not 1 <= number <= _MOST:
        raise refuse(
            "PQL0308",
            f"AT MOST needs a whole number of {what.lower()}, from 1 to {_MOST}",
            span,
            help=f"write AT MOST 20 {what} PER UNIT",
        )
    return int(number)
