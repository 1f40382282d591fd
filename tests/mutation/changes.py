"""The small faults that could be made in a module: each is one change of its syntax tree.

They are what a rule of the checker or the kernel can lose by one slip: a clamp, a factor, a guard, a word about NULL, a
case. Left alone are messages, annotations and decorators, which decide nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

MODULE = "<module>"
_MESSAGES = frozenset({"refuse", "not_yet", "Unproved", "assert_never", "warn"})
_SYMMETRIC = frozenset({"isinstance", "_least", "_most", "_plus", "_times", "min", "max", "gcd", "lcm"})
_EITHER = {"min": "max", "max": "min", "_least": "_most", "_most": "_least", "any": "all", "all": "any"}
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_PARTED = (ast.Mult, ast.BitOr, ast.BitAnd)  # of a product or a union, one side
_TURNED: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}

Replacement = ast.AST | None  # None: left out


@dataclass(frozen=True)
class Change:
    path: str
    function: str
    line: int
    kind: str
    before: str
    after: str
    node: int  # of the nodes that `_places` counts
    option: int

    @property
    def key(self) -> str:
        return f"{self.path}:{self.function}:{self.kind}:{self.before} -> {self.after}:{self.node}"

    def tree(self, source: str) -> ast.Module:
        tree = ast.parse(source)
        place = list(_places(tree))[self.node]
        new = list(_options(place.node))[self.option][1]
        _put(place, new)
        return ast.fix_missing_locations(tree)


@dataclass
class _Place:
    """A node, and where it hangs."""

    node: ast.AST
    parent: ast.AST
    name: str
    at: int | None
    function: str


def changes(root: Path, path: str) -> list[Change]:
    found = []
    for number, place in enumerate(_places(ast.parse((root / path).read_text("utf-8")))):
        for option, (kind, new) in enumerate(_options(place.node)):
            before, after = _shown(place.node), "" if new is None else _shown(new)
            line = getattr(place.node, "lineno", getattr(place.parent, "lineno", 0))
            found.append(Change(path, place.function, line, kind, before, after, number, option))
    return found


def _shown(node: ast.AST) -> str:
    match node:
        case ast.If() | ast.match_case():
            head = ast.unparse(node.test if isinstance(node, ast.If) else node.pattern)
            return f"{'if' if isinstance(node, ast.If) else 'case'} {head}: {ast.unparse(node.body[0])[:60]}"
        case ast.comprehension():
            return ast.unparse(node).strip()
        case _:
            return ast.unparse(node)[:160]


def _places(tree: ast.Module) -> Iterator[_Place]:
    """Every node whose change could matter, and the outermost function around it."""
    yield from _within(tree, MODULE, "")


def _within(parent: ast.AST, function: str, prefix: str) -> Iterator[_Place]:
    for name, value in ast.iter_fields(parent):
        if name in ("annotation", "returns", "decorator_list", "pattern", "type_comment", "bases"):
            continue
        if name == "keywords" and _called(parent) == "zip":  # `strict` asserts, and decides no more than `assert`
            continue
        for at, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(node, ast.AST) or _decides_nothing(node):
                continue
            inside, before = function, prefix
            if isinstance(node, ast.FunctionDef) and function == MODULE:
                inside = prefix + node.name
            elif isinstance(node, ast.ClassDef):
                before = f"{prefix}{node.name}."
            yield _Place(node, parent, name, at, inside)
            yield from _within(node, inside, before)


def _decides_nothing(node: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.Call(func=ast.Name(id=name)) if name in _MESSAGES:
            return True
        case ast.Call(func=ast.Name(id="field")):
            return True
        case ast.Assign(value=ast.BinOp(op=ast.BitOr()) | ast.Subscript()):  # a name for a type
            return all(isinstance(target, ast.Name) and target.id[:1].isupper() for target in node.targets)
        case _:
            return False


def _options(node: ast.AST) -> Iterator[tuple[str, Replacement]]:
    match node:
        case ast.Call(func=ast.Name(id=name) as called, args=args) if name in _EITHER:
            new = deepcopy(node)
            new.func = ast.copy_location(ast.Name(_EITHER[name], ast.Load()), called)
            yield "the other end", new
            if name not in ("any", "all") and len(args) > 1:
                for arg in args:
                    yield "no clamp", arg
        case ast.Call(args=[one, other]) if _called(node) not in _SYMMETRIC and ast.dump(one) != ast.dump(other):
            new = deepcopy(node)
            new.args.reverse()
            yield "arguments swapped", new
        case ast.BinOp(op=op, left=left, right=right):
            if isinstance(op, _PARTED):
                yield "one side", left
                yield "one side", right
            elif type(op) in _TURNED:
                yield "sign", ast.BinOp(left, _TURNED[type(op)](), right)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for at, each in enumerate(ops):
                turned = [*ops[:at], _COMPARED[type(each)](), *ops[at + 1 :]]
                yield "comparison", ast.Compare(left, turned, comparators)
        case ast.BoolOp(op=op, values=values):
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for at in range(len(values)):
                rest = values[:at] + values[at + 1 :]
                yield "one condition less", rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "no not" if isinstance(node.op, ast.Not) else "sign", operand
        case ast.IfExp(body=body, orelse=orelse):
            yield "one branch", body
            yield "one branch", orelse
        case ast.If(body=body, orelse=orelse):
            if isinstance(body[-1], ast.Raise):
                yield "no guard", ast.If(ast.Constant(False), body, orelse)
            else:
                yield "never", ast.If(ast.Constant(False), body, orelse)
                if orelse:
                    yield "always", ast.If(ast.Constant(True), body, orelse)
        case ast.comprehension(ifs=[_, *_]):
            yield "no filter", ast.comprehension(node.target, node.iter, [], node.is_async)
        case ast.Constant(value=bool(value)):
            yield "truth", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "one more", ast.Constant(value + 1)
            yield "one less", ast.Constant(value - 1)
        case ast.keyword(arg="nullable", value=value) if not isinstance(value, ast.Constant):
            yield "nullable", ast.keyword("nullable", ast.UnaryOp(ast.Not(), value))
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "left out", ast.Pass()
        case ast.match_case(pattern=pattern) if not isinstance(pattern, ast.MatchAs) or pattern.pattern is not None:
            yield "no such case", ast.match_case(pattern, ast.Constant(False), node.body)
            if node.guard is not None:
                yield "no guard", ast.match_case(pattern, None, node.body)


def _called(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
        case _:
            return ""


def _put(place: _Place, new: Replacement) -> None:
    if place.at is None:
        setattr(place.parent, place.name, new)
    else:
        getattr(place.parent, place.name)[place.at] = new
