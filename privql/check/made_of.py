"""Aggregates that are made of others, and those that of private rows nothing can be made of.

COUNT_IF is a count of the rows that pass, and what SQL calls REGR_COUNT and so on are counts, means and variances of
the rows where both arguments are there. What one row alone decides - whether any is TRUE, which text is among them -
is refused: no noise hides that row.
"""

from __future__ import annotations

from dataclasses import replace

from privql.check.arguments import renamed
from privql.check.operations import not_yet
from privql.diagnostics import Fix, PrivQLError, refuse
from privql.functions.aggregate.public import PAIRED
from privql.syntax import ast, unparse

_ANY = frozenset({"bool_or", "logical_or"})
_ALL = frozenset({"bool_and", "every", "logical_and"})
_BITS = frozenset({"bit_and", "bit_or", "bit_xor"})
_TEXTS = frozenset({"string_agg", "listagg", "group_concat"})


def counted_if(node: ast.Call) -> ast.Call:
    """COUNT_IF(c) as COUNT(*) FILTER (WHERE c)."""
    if len(node.args) != 1 or isinstance(node.args[0], ast.Star):
        raise refuse("PQL0303", f"`{node.name.upper()}` takes one argument", node.span, help="write COUNT_IF(x > 5)")
    if node.distinct:
        raise not_yet(f"DISTINCT in `{node.name.upper()}`", node.span, "leave out DISTINCT: a condition is TRUE or not")
    where = _both(node.filter, node.args[0])
    return replace(node, name="COUNT", args=(ast.Star(span=node.span),), filter=where)


def of_pairs(node: ast.Call) -> ast.Expr:
    """Of rows where neither of two numbers is NULL: how many, means, sums of squared distances from these, and R²."""
    name = node.name.upper()
    assert name.lower() in PAIRED
    if len(node.args) != 2:
        raise refuse("PQL0303", f"`{name}` takes two arguments", node.span, help=f"write {name}(y, x)")
    if node.distinct:
        raise not_yet(
            f"`{name}` of DISTINCT pairs", node.span, "leave out DISTINCT, or ask for CORR and COVAR_POP of them"
        )
    y, x = node.args

    def made(name: str, *args: ast.Expr, filter: ast.Expr | None = node.filter) -> ast.Call:
        return replace(node, name=name, args=args, filter=filter)

    def there(*values: ast.Expr) -> ast.Expr | None:
        filter = node.filter
        for value in values:
            filter = _both(filter, ast.Is(value, "NULL", True, span=value.span))
        return filter

    count = made("COUNT", ast.Star(span=node.span), filter=there(y, x))
    match name:
        case "REGR_COUNT":
            return count
        case "REGR_AVGX":
            return made("AVG", x, filter=there(y))
        case "REGR_AVGY":
            return made("AVG", y, filter=there(x))
        case _:
            pass
    if node.privacy is not None:
        raise not_yet(f"a clause of its own in `{name}`", node.privacy.span, "put the clause at the end of the query")
    match name:
        case "REGR_R2":
            return ast.Binary("*", made("CORR", y, x), made("CORR", y, x), span=node.span)
        case "REGR_SXX":
            spread = made("VAR_POP", x, filter=there(y))
        case "REGR_SYY":
            spread = made("VAR_POP", y, filter=there(x))
        case _:
            spread = made("COVAR_POP", y, x)
    return ast.Binary("*", count, spread, span=node.span)


def one_decides(node: ast.Call) -> PrivQLError | None:
    """Why an aggregate of private rows never can be shown, and what can be."""
    name, written = node.name.lower(), [unparse(arg) for arg in node.args]
    if name in _ANY | _ALL and len(node.args) == 1:
        test = node.args[0] if name in _ANY else ast.Unary("NOT", node.args[0], span=node.span)
        counted = unparse(replace(node, name="COUNT", args=(ast.Star(),), filter=_both(node.filter, test)))
        fix = f"{counted} {'>' if name in _ANY else '<='} 5"
        why = "one row decides it, so it would show that row"
        return _shown(node, why, f"ask of more than a few, `{fix}`", fix)
    if name in _BITS:
        return _shown(node, "one row decides each bit", "count rows where a bit is set, `COUNT_IF(x & 4 <> 0)`")
    if name == "any_value" and len(written) == 1:
        fix = renamed(node, "MODE")
        return _shown(node, "the value is one row's own", f"take the most frequent, `{fix}`", fix)
    if name in _TEXTS:
        first = written[0] if written else "x"
        return _shown(node, "it would show every row's text", f"group by it and count, `GROUP BY {first}`")
    return None


def _shown(node: ast.Call, why: str, help: str, fix: str = "") -> PrivQLError:
    fixes = (Fix(node.span, fix),) if fix else ()
    message = f"`{node.name.upper()}` of private rows would show single ones"
    return refuse("PQL0401", message, node.span, why=why, help=help, fixes=fixes)


def _both(one: ast.Expr | None, other: ast.Expr) -> ast.Expr:
    return other if one is None else ast.Binary("AND", one, other, span=other.span)
