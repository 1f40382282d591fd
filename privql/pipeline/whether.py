"""Where a joined table only says which rows count: EXISTS in place of the join, so that none counts more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from privql.frozen import rebuilt
from privql.names import fold
from privql.pipeline.report import StatementCheck
from privql.syntax import ast, unparse


def only_whether(query: ast.Query, check: StatementCheck) -> Iterator[tuple[str, ast.Query]]:
    """A table that is joined and not read, save in conditions: whether it has such a row needs no more rows.

    Where something else reads it, the rewritten query names columns that are not there, and is refused.
    """
    select = query.body
    if not isinstance(select, ast.Select) or query.ctes:  # a name in FROM is then perhaps no table's
        return
    sides, tests = _sides(select)
    if sides is None or len(sides) != 2:
        return
    for kept, met in (sides, sides[::-1]):
        ours, theirs = _columns(kept, check), _columns(met, check)
        if ours is None or theirs is None:
            continue
        reads = _reader(met, theirs - ours)
        own = [test for test in tests if reads(test)]
        rest = [test for test in tests if not reads(test)]
        other = replace(select, relations=(kept,), where=None)
        if not own:
            continue
        inner = ast.Select((ast.SelectItem(ast.Number("1")),), relations=(met,), where=_all(own))
        exists = ast.Exists(ast.Query(inner))
        where = _all([*rest, exists])
        what = f"`WHERE {unparse(exists)}` in place of the join, if each row of {kept.path[-1]} is to count once"
        yield what, replace(query, body=replace(other, where=where))


def _sides(select: ast.Select) -> tuple[tuple[ast.TableRef, ...] | None, list[ast.Expr]]:
    """The tables of FROM, and all that is asked of their rows."""
    tables: list[ast.TableRef] = []
    tests: list[ast.Expr] = []
    for relation in select.relations:
        match relation:
            case ast.TableRef():
                tables.append(relation)
            case ast.Join(kind="INNER" | "CROSS", left=ast.TableRef() as left, right=ast.TableRef() as right) if (
                not relation.natural
            ):
                tables += [left, right]
                tests += _parts(relation.on)
                for name in relation.using:
                    one, other = (ast.Column((_called(side), name)) for side in (left, right))
                    tests.append(ast.Binary("=", one, other))
            case _:
                return None, []
    return tuple(tables), [*tests, *_parts(select.where)]


def _called(table: ast.TableRef) -> str:
    return table.alias or table.path[-1]


def _columns(table: ast.TableRef, check: StatementCheck) -> frozenset[str] | None:
    known = check.env.catalog.table(".".join(table.path))
    if known is None or table.columns or table.dummy:
        return None
    return frozenset(fold(column.name) for column in known.columns)


def _reader(table: ast.TableRef, own: frozenset[str]) -> Callable[[Any], bool]:
    """Whether something names a column of the table. `own`: those names that no other table has."""
    called = fold(_called(table))

    def reads(node: Any) -> bool:
        found = []

        def see(part: Any) -> Any:
            match part:
                case ast.Column(path=(name,)):
                    found.append(fold(name) in own)
                case ast.Column(path=path):
                    found.append(fold(path[-2]) == called)
                case ast.Query():
                    found.append(True)  # what it reads is not looked into
                case _:
                    pass
            return None

        rebuilt(node, see)
        return any(found)

    return reads


def _parts(node: ast.Expr | None) -> list[ast.Expr]:
    match node:
        case None:
            return []
        case ast.Binary(op="AND", left=left, right=right):
            return [*_parts(left), *_parts(right)]
        case _:
            return [node]


def _all(tests: list[ast.Expr]) -> ast.Expr | None:
    made: ast.Expr | None = None
    for test in tests:
        made = test if made is None else ast.Binary("AND", made, test)
    return made
