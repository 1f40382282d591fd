"""The rows that a block measures, step by step: what each step does, and how many rows a unit has after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap

from privql.check.conditions import conjuncts
from privql.check.env import Env
from privql.check.keys import AROUND
from privql.check.named import private
from privql.check.relations import (
    Aggregate,
    Around,
    Attribute,
    Block,
    CheckedQuery,
    Combined,
    Compute,
    Distinct,
    Each,
    Gathered,
    Joined,
    Once,
    PrivateScan,
    Rel,
    Sorted,
    Where,
    WindowCall,
    Windowed,
)
from privql.frozen import frozen
from privql.kernel.scalars import Apply, Const, Field, Scalar, fields
from privql.pipeline.wording import Words
from privql.plan.lower import rows_within

WIDE = 100
_TEXT = 48  # columns for the steps, where remarks stand beside them


@frozen
class Step:
    text: str
    rows: str = ""
    remark: str = ""
    depth: int = 0


def folded(text: str, indent: int) -> list[str]:
    """As many lines as it takes, those after the first a little further in."""
    return wrap(
        text,
        WIDE,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 4),
        break_on_hyphens=False,
    )


def laid_out(steps: list[Step], indent: int) -> list[str]:
    """The steps, their rows in a column of their own, and what is to be said of these."""
    across = min(max((len(step.text) + 2 * step.depth for step in steps), default=0), _TEXT)
    wide = max((len(step.rows) for step in steps), default=0)
    out = []
    for step in steps:
        inset = indent + 2 * step.depth
        first, *more = wrap(step.text, across - 2 * step.depth, subsequent_indent="    ", break_on_hyphens=False)
        beside = indent + across + 2 + wide
        lines = [" " * inset + first.ljust(across - 2 * step.depth) + "  " + step.rows.rjust(wide)]
        lines += [" " * inset + line for line in more]
        said = wrap(step.remark, WIDE - beside - 2, break_on_hyphens=False)
        for at, remark in enumerate(said):
            if at == len(lines):
                lines.append("")
            lines[at] = lines[at].ljust(beside) + "  " + remark
        out += [line.rstrip() for line in lines]
    return out


class Tree:
    def __init__(self, block: Block, env: Env, query: CheckedQuery, attributes: Mapping[str, Attribute]) -> None:
        self._block, self._env = block, env
        self._rows = rows_within(block, env, query)
        self._words = Words(query, attributes)

    def steps(self) -> list[Step]:
        return list(self._steps(self._block.rel, 0))

    def _of(self, rel: Rel) -> int | None:
        return self._rows.get(id(rel))

    def _counted(self, rel: Rel) -> str:
        return counted(self._of(rel))

    def _steps(self, rel: Rel, depth: int) -> Iterator[Step]:
        words = self._words
        match rel:
            case PrivateScan(table=name):
                yield Step(f"read {name}", self._counted(rel), self._owned(rel), depth)
                table, unit = self._env.catalog.table(name), self._block.unit.name
                if table is not None and table.parts_by is not None and not table.one_row_per_unit:
                    kept = f"keep the {table.parts_by} of most of a {unit}'s rows"
                    yield Step(kept, self._counted(rel), "", depth)
            case Where(input=Windowed(input=input, calls=((rank, call),)), condition=condition) if kept := self._first(
                rank, call, condition
            ):
                yield from self._steps(input, depth)
                yield Step(kept, self._counted(rel), "", depth)
            case Where(input=input, condition=Const(value=True)):
                yield from self._steps(input, depth)
            case Where(input=input, condition=condition):
                yield from self._steps(input, depth)
                first, *others = conjuncts(condition)
                yield Step(f"where {words.term(first, 2)}", "" if others else self._counted(rel), "", depth)
                for at, test in enumerate(others):
                    last = at == len(others) - 1
                    yield Step(f"  and {words.term(test, 2)}", self._counted(rel) if last else "", "", depth)
            case Compute(input=input, columns=columns):
                yield from self._steps(input, depth)
                for id, value in columns:
                    if not isinstance(value, Field):
                        yield Step(f"compute {words.name(id)} = {words.term(value)}", "", self._within(id), depth)
            case Joined():
                yield from self._joined(rel, depth)
            case Gathered(input=input, keys=keys, features=features):
                yield from self._steps(input, depth)
                by = " and ".join(words.term(value) for _, value in keys) or self._block.unit.name
                yield Step(f"one row per {by.replace(AROUND, 'row around')}", self._counted(rel), "", depth)
                for one in features:
                    yield Step(f"with {one.text}", "", self._within(one.id), depth + 1)
            case Windowed(input=input, calls=calls):
                yield from self._steps(input, depth)
                for _, call in calls:
                    yield Step(f"with {words.window(call)}", self._counted(rel), "", depth)
            case Distinct(input=input):
                yield from self._steps(input, depth)
                yield Step(f"different rows of each {self._block.unit.name}", self._counted(rel), "", depth)
            case Once(input=input):
                yield from self._steps(input, depth)
                yield Step("different rows, whoever has them", "", "", depth)
            case Combined(op=op, all=all, left=left, right=right):
                yield from self._steps(left, depth + 1)
                yield Step(f"{op.lower()}{' all' if all else ''}", "", "", depth)
                yield from self._steps(right, depth + 1)
                yield Step("together", self._counted(rel), "", depth)
            case Around():
                yield Step("the rows around", self._counted(rel), "", depth)
            case Each(input=input):
                yield from self._steps(input, depth)
            case Sorted(input=input, limit=limit):
                yield from self._steps(input, depth)
                yield Step(f"the first {limit} of each {self._block.unit.name}", self._counted(rel), "", depth)
            case _:
                yield Step(f"public rows of {words.sources(rel)}", "", "", depth)

    def _first(self, rank: str, call: WindowCall, condition: Scalar) -> str:
        """LIMIT and OFFSET of a correlated query: a rank without a name that lies beyond one number, up to another."""
        match conjuncts(condition):
            case _ if self._words.named(rank):
                return ""
            case [Apply(op="gt", args=(Field(name=low), Const(value=int(after))))] if low == rank:
                kept = f"all but the first {after}"
            case [
                Apply(op="gt", args=(Field(name=low), Const(value=int(after)))),
                Apply(op="le", args=(Field(name=high), Const(value=int(up_to)))),
            ] if low == high == rank:
                kept = f"the rows {after + 1} to {up_to}" if after else f"the first {up_to}"
            case _:
                return ""
        by = f" by {self._words.order(call)}" if call.order else ""
        return f"{kept} for each row around{by}"

    def _owned(self, rel: PrivateScan) -> str:
        table, unit = self._env.catalog.table(rel.table), self._block.unit.name
        most = self._of(rel)
        if most is None:
            return f"nothing says how many rows of {rel.table} a {unit} has"
        if most == 1 or table is None:
            return ""
        return f"x {most}: {rel.table} may have {most} rows per {unit}"

    def _joined(self, rel: Joined, depth: int) -> Iterator[Step]:
        kept, met = (rel.left, rel.right) if private(rel.left) else (rel.right, rel.left)
        yield from self._steps(kept, depth)
        kind = "" if rel.kind in ("INNER", "CROSS") else f"{rel.kind.lower()} "
        tests = [self._tied(test) for test in conjuncts(rel.on)]
        on = f" on {' and '.join(tests)}" if tests else ""
        before, after = self._of(kept), self._of(rel)
        beside = self._words.sources(met)
        remark = ""
        if after is None and before is not None:
            remark = f"x ∞: no KEY says how many rows of {beside} are alike in what they are joined on"
            if private(met):
                remark = f"x ∞: nothing says how many rows of {beside} one row meets"
        elif after is not None and before is not None and after > before:
            times = f"x {after // before}" if after % before == 0 else f"{before} to {after}"
            # beside one row, a correlated query leaves fewer of them than it reads
            many = after // before if before == 1 else self._of(met)
            most = f"up to {counted(many)}" if private(met) else f"one row may meet {after // before}"
            remark = f"{times}: {most} of {beside}"
        if private(met):
            yield Step(f"{kind}join{on}", self._counted(rel), remark, depth)
            yield from self._steps(met, depth + 1)
        else:
            yield Step(f"{kind}join public {beside}{on}", self._counted(rel), remark, depth)

    def _tied(self, test: Scalar) -> str:
        """Columns that share a name are tied by it."""
        said = self._words.term(test, 2)
        match test:
            case Apply(op="eq", args=(Field(name=one), Field(name=other))):
                name = self._words.name(one)
                return name if name == self._words.name(other) else said
            case _:
                return said

    def _within(self, id: str) -> str:
        known = self._words.attributes.get(id)
        return f"in {known.domain.describe(known.type)}" if known is not None else ""


def counted(rows: int | None) -> str:
    return "∞ rows" if rows is None else "1 row" if rows == 1 else f"{rows} rows"


def features_of(rel: Rel, term: Scalar) -> list[Aggregate]:
    """The aggregates of one unit's rows that a value is computed from."""
    made: dict[str, Aggregate] = {}
    computed: dict[str, Scalar] = {}
    todo: list[object] = [rel]
    while todo:
        node = todo.pop()
        match node:
            case Gathered(features=features):
                made |= {one.id: one for one in features}
            case Compute(columns=columns):
                computed |= dict(columns)
            case _:
                pass
        todo.extend(getattr(node, side) for side in ("input", "left", "right") if hasattr(node, side))
    names, found = list(fields(term)), list[Aggregate]()
    while names:
        name = names.pop()
        if name in made:
            found.append(made[name])
        elif name in computed:
            names.extend(fields(computed[name]))
    return found
