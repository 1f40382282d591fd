"""What an answer needs: what nothing reads, of a WITH never named, is neither measured nor paid for nor kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from privql.check.relations import Block, CheckedQuery, Measured, Shared
from privql.check.typed import Context
from privql.frozen import inside, rebuilt
from privql.kernel.scalars import Apply, Const, Field, fields


def needed(query: CheckedQuery, context: Context) -> CheckedQuery:
    """The query without what it does not read, and the context's clauses without its blocks."""
    if len(query.blocks) == 1 and not (query.shared or query.subqueries):
        return query
    shared, subqueries = dict(query.shared), dict(query.subqueries)
    named: set[str] = set()
    blocks: set[int] = set()
    todo: list[Any] = [query.rel]
    while todo:
        match todo.pop():
            case Field() | Apply() as term:
                asked = (fields(term) & subqueries.keys()) - named
                named |= asked
                todo.extend(subqueries[name] for name in asked)
            case Measured(block=block):
                if block not in blocks:
                    blocks.add(block)
                    todo.append(query.blocks[block])
            case Shared(name=name):
                if name not in named:
                    named.add(name)
                    todo.append(shared[name])
            case node:
                todo.extend(inside(node))
    numbers = {old: new for new, old in enumerate(sorted(blocks))}
    for clauses in (context.clauses, context.manners):
        clauses[:] = [(clause, tuple(numbers[at] for at in paid if at in numbers)) for clause, paid in clauses]
    return CheckedQuery(
        _numbered(query.rel, numbers),
        query.columns,
        tuple(_block(_numbered(query.blocks[old], numbers), numbers) for old in numbers),
        tuple((name, _numbered(rel, numbers)) for name, rel in query.shared if name in named),
        tuple((name, _numbered(one, numbers)) for name, one in query.subqueries if name in named),
        query.told,
    )


def _block(block: Block, numbers: Mapping[int, int]) -> Block:
    finds = block.groups_of
    return replace(block, index=numbers[block.index], groups_of=None if finds is None else numbers[finds])


def _numbered(node: Any, numbers: dict[int, int]) -> Any:
    def change(record: Any) -> Any:
        if isinstance(record, Measured):
            return replace(record, block=numbers[record.block])
        return record if isinstance(record, Field | Const | Apply) else None

    return rebuilt(node, change)
