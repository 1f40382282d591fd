"""Parameters that a text needs and was not given, and those that it was given and does not need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from privql.diagnostics import NOWHERE, Diagnostic, refuse
from privql.frozen import inside
from privql.pipeline.report import StatementCheck
from privql.policy.findings import nearest
from privql.syntax import ast


def plain(value: object) -> object:
    """What a number or a text is, of whatever class: members of enumerations that are called alike may differ, and by
    what it says of itself a question is known again."""
    match value:
        case bool():
            return value
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case str():
            return str.__str__(value)
        case Decimal():
            return Decimal(value)
        case _:
            return value


def named_in(statement: ast.Statement, amounts: bool = True) -> tuple[str, ...]:
    """Every parameter that a statement names, in the order of the text; without `amounts`, of expressions only."""
    return tuple(dict.fromkeys(param.name for param in _parameters(statement, amounts)))


def _parameters(statement: ast.Statement, amounts: bool = True) -> list[ast.Param]:
    found: list[ast.Param] = []
    todo: list[object] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Param):
            found.append(node)
        elif amounts or not isinstance(node, ast.Privacy):
            todo.extend(inside(node))
    return sorted(found, key=lambda param: param.span)


def bound(check: StatementCheck) -> None:
    """A statement runs with all of its parameters bound."""
    assert check.statement is not None
    for param in _parameters(check.statement):
        if param.name not in check.env.params:
            raise refuse(
                "PQL0304",
                f"parameter `${param.name}` has no value",
                param.span,
                why="a query runs with all of its parameters bound",
                help=f"bind it: `--param {param.name}=…`, or `params={{'{param.name}': …}}`",
            ).in_source(check.source)


def unused(given: Mapping[str, object], checks: Sequence[StatementCheck]) -> list[Diagnostic]:
    """A slip of the keyboard, once every statement could be read."""
    if any(check.statement is None or not check.ok for check in checks):
        return []
    known = [name for check in checks for name in check.params]
    out = []
    for name in given:
        if name not in known:
            near = nearest(name, known)
            help = f"did you mean `${near}`?" if near else "leave it out"
            out.append(Diagnostic("PQL0304", f"no query uses `${name}`", NOWHERE, help=help))
    return out
