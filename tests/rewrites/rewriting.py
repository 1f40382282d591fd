"""The same question in other words: no way to rewrite a query changes what it asks or, if `exact`, its price.

Where less can be learnt from the other words - of `x OR FALSE` less than of x - it costs no less.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from privql.frozen import rebuilt, rebuilt_inside
from privql.syntax import ast

Rewritten = ast.Query | None  # None: there is nothing here to be rewritten this way
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>", "AND": "AND", "OR": "OR"}
_TURNED = {"LEFT": "RIGHT", "RIGHT": "LEFT", "INNER": "INNER", "FULL": "FULL"}
_TRUE, _FALSE = ast.Boolean(True), ast.Boolean(False)


@dataclass(frozen=True)
class Way:
    name: str
    rewrite: Callable[[ast.Query, random.Random], Rewritten]
    exact: bool = True  # its price is the same; else it is no lower


WAYS: list[Way] = []


def way(exact: bool = True) -> Callable[[Any], Any]:
    def kept(rewrite: Callable[[ast.Query, random.Random], Rewritten]) -> Callable[..., Rewritten]:
        WAYS.append(Way(rewrite.__name__.replace("_", " ").strip(), rewrite, exact))
        return rewrite

    return kept


def each(tree: Any, kind: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with all nodes of a kind changed for which there is a change, the inner ones first; None if there is
    none. Equal nodes are changed alike: a key of a group may stand in the list, too. What KEYS says is left alone."""
    changed = False

    def visit(node: Any) -> Any:
        nonlocal changed
        if isinstance(node, ast.GroupKey):
            return replace(node, expr=rebuilt(node.expr, visit))
        made = rebuilt_inside(node, visit)
        if isinstance(made, kind):
            new = change(made)
            if new is not None:
                changed = True
                return new
        return made

    made = rebuilt(tree, visit)
    return made if changed else None


def some(choice: random.Random, names: Iterable[str]) -> set[str]:
    return {name for name in sorted(names) if choice.random() < 0.6}


def tables_of(query: ast.Query) -> set[str]:
    return {table.path[-1].lower() for table in all_nodes(query, ast.TableRef) if not table.dummy}


def all_of(path: tuple[str, ...], where: ast.Expr | None = None) -> ast.Query:
    return ast.Query(ast.Select((ast.SelectItem(ast.Star()),), relations=(ast.TableRef(path),), where=where))


def all_nodes(tree: Any, *kinds: Any) -> list[Any]:
    found: list[Any] = []
    each(tree, kinds, found.append)
    return found


def names_of(query: ast.Query) -> set[str]:
    """Of queries that WITH names."""
    return {cte.name.lower() for cte in all_nodes(query, ast.Cte)}


def holds(tree: Any, *kinds: Any) -> bool:
    return bool(all_nodes(tree, *kinds))


# ---------------------------------------------------------------- where rows come from


@way()
def a_table_is_a_query(query: ast.Query, choice: random.Random) -> Rewritten:
    chosen = some(choice, tables_of(query))

    def nested(table: ast.TableRef) -> Any:
        if table.dummy or table.path[-1].lower() not in chosen:
            return None
        return ast.Derived(all_of(table.path), table.alias or table.path[-1], table.columns)

    return each(query, ast.TableRef, nested)


@way()
def a_table_has_another_name(query: ast.Query, choice: random.Random) -> Rewritten:
    own = names_of(query)
    used = {}

    def renamed(table: ast.TableRef) -> Any:
        name = table.path[-1]
        if table.dummy or len(table.path) > 1 or name.lower() in own:
            return None
        used[name] = f"other_{name}"
        return replace(table, path=(used[name],), alias=table.alias or name)

    made = each(query, ast.TableRef, renamed)
    if made is None:
        return None
    before = tuple(ast.Cte(new, (), all_of((old,))) for old, new in used.items())
    return replace(made, ctes=(*before, *made.ctes)) if not made.recursive else None


@way()
def a_name_hides_the_table(query: ast.Query, choice: random.Random) -> Rewritten:
    own, used = names_of(query), set[str]()

    def noted(table: ast.TableRef) -> None:
        if not table.dummy and len(table.path) == 1 and table.path[0].lower() not in own:
            used.add(table.path[0].lower())

    each(query, ast.TableRef, noted)
    hidden = tuple(ast.Cte(name, (), all_of((name,))) for name in sorted(used))
    return replace(query, ctes=(*hidden, *query.ctes)) if hidden and not query.recursive else None


@way()
def aliases_are_others(query: ast.Query, choice: random.Random) -> Rewritten:
    """Of the outermost FROM, where nothing else says the old name."""
    body = query.body
    if not isinstance(body, ast.Select) or len(body.relations) != 1:
        return None
    (table,) = body.relations
    if not isinstance(table, ast.TableRef) or holds(
        body, ast.Derived, ast.Scalar, ast.Exists, ast.InQuery, ast.Quantified
    ):
        return None
    old = (table.alias or table.path[-1]).lower()

    def requalified(column: ast.Column) -> Any:
        return (
            replace(column, path=("z9", column.path[1])) if column.path[0].lower() == old and column.path[1:] else None
        )

    made = each(body, ast.Column, requalified) or body
    return replace(query, body=replace(made, relations=(replace(table, alias="z9"),)))


@way()
def joins_are_turned(query: ast.Query, choice: random.Random) -> Rewritten:
    if any(isinstance(item.expr, ast.Star) for item in all_nodes(query, ast.SelectItem)):
        return None  # its columns would come in another order

    def turned(join: ast.Join) -> Any:
        if join.kind not in _TURNED or join.on is None:
            return None
        if isinstance(join.right, ast.Join) or getattr(join.right, "lateral", False):
            return None
        if isinstance(join.left, ast.Join):
            return None
        return replace(join, kind=_TURNED[join.kind], left=join.right, right=join.left)

    return each(query, ast.Join, turned)


@way()
def a_join_is_a_condition(query: ast.Query, choice: random.Random) -> Rewritten:
    def commas(select: ast.Select) -> Any:
        match select.relations:
            case (ast.Join(kind="INNER", left=left, right=right, on=on, using=(), natural=False),) if on is not None:
                where = on if select.where is None else ast.Binary("AND", on, select.where)
                return replace(select, relations=(left, right), where=where)
            case _:
                return None

    return each(query, ast.Select, commas)


@way(exact=False)
def nothing_is_added(query: ast.Query, choice: random.Random) -> Rewritten:
    chosen = some(choice, tables_of(query))

    def doubled(table: ast.TableRef) -> Any:
        if table.dummy or table.path[-1].lower() not in chosen:
            return None
        both = ast.SetOperation("UNION", True, all_of(table.path).body, all_of(table.path, _FALSE).body)
        return ast.Derived(ast.Query(both), table.alias or table.path[-1], table.columns)

    return each(query, ast.TableRef, doubled)


# ---------------------------------------------------------------- which rows


@way()
def conditions_say_more(query: ast.Query, choice: random.Random) -> Rewritten:
    kind = choice.randrange(3)  # the same everywhere: a group's key may stand in the list, too

    def said(select: ast.Select) -> Any:
        where = select.where
        if where is None:
            return replace(select, where=_TRUE) if select.relations else None
        if kind == 2 and not holds(where, ast.Query):
            return replace(select, where=ast.Binary("AND", where, where))
        return replace(select, where=ast.Binary("AND", *((where, _TRUE) if kind else (_TRUE, where))))

    return each(query, ast.Select, said)


@way(exact=False)
def conditions_have_no_other_case(query: ast.Query, choice: random.Random) -> Rewritten:
    doubled = choice.random() < 0.5

    def said(select: ast.Select) -> Any:
        where = select.where
        if where is None:
            return None
        longer = ast.Unary("NOT", ast.Unary("NOT", where)) if doubled else ast.Binary("OR", where, _FALSE)
        return replace(select, where=longer)

    return each(query, ast.Select, said)


@way()
def conditions_are_split(query: ast.Query, choice: random.Random) -> Rewritten:
    def split(select: Any) -> Any:
        match select:
            case ast.Select(relations=(ast.TableRef(dummy=False) as table,), where=ast.Binary("AND", first, second)):
                if holds(first, ast.Query):
                    return select
                name = table.alias or table.path[-1]
                inner = replace(all_of(table.path).body, relations=(table,), where=first)
                return replace(select, relations=(ast.Derived(ast.Query(inner), name),), where=second)
            case _:
                return select

    # not of queries inside expressions, where the first condition may tie them to the row around
    ctes = tuple(replace(cte, query=replace(cte.query, body=split(cte.query.body))) for cte in query.ctes)
    made = replace(query, body=split(query.body), ctes=ctes)
    return None if made == query else made


@way()
def operands_are_turned(query: ast.Query, choice: random.Random) -> Rewritten:
    chosen = some(choice, _FLIPPED)

    def turned(binary: ast.Binary) -> Any:
        return ast.Binary(_FLIPPED[binary.op], binary.right, binary.left) if binary.op in chosen else None

    return each(query, ast.Binary, turned)


@way()
def ranges_and_lists_are_comparisons(query: ast.Query, choice: random.Random) -> Rewritten:
    def spelled(node: Any) -> Any:
        match node:
            case ast.Between(x, low, high, False, False) if not holds(x, ast.Query):
                return ast.Binary("AND", ast.Binary(">=", x, low), ast.Binary("<=", x, high))
            case ast.InList(x, items, False) if not holds(x, ast.Query, ast.Row):
                made: ast.Expr = ast.Binary("=", x, items[0])
                for item in items[1:]:
                    made = ast.Binary("OR", made, ast.Binary("=", x, item))
                return made
            case _:
                return None

    return each(query, (ast.Between, ast.InList), spelled)


# ---------------------------------------------------------------- what is measured of them


def _numbers(query: ast.Query, change: Callable[[ast.Expr], ast.Expr]) -> Rewritten:
    """Of the outermost query's sums and means the arguments."""
    if not isinstance(query.body, ast.Select) or not query.body.relations:
        return None

    def changed(call: ast.Call) -> Any:
        if call.name.upper() not in ("SUM", "AVG") or call.over is not None or call.distinct or len(call.args) != 1:
            return None
        if call.privacy is not None and call.privacy.bounds_auto:
            return None
        return replace(call, args=(change(call.args[0]),))

    made = each(query.body.items, ast.Call, changed)
    return None if made is None else replace(query, body=replace(query.body, items=made))


@way()
def clamps_that_do_nothing(query: ast.Query, choice: random.Random) -> Rewritten:
    far = ast.Number("1000000")
    return _numbers(query, lambda x: ast.Call("CLAMP", (x, ast.Unary("-", far), far)))


@way(exact=False)
def values_go_a_longer_way(query: ast.Query, choice: random.Random) -> Rewritten:
    def longer(x: ast.Expr) -> ast.Expr:
        return choice.choice(
            (
                ast.Binary("+", x, ast.Number("0")),
                ast.Binary("*", ast.Number("1"), x),
                ast.Unary("-", ast.Unary("-", x)),
                ast.Case(None, ((_TRUE, x),), None),
                ast.Call("COALESCE", (x, ast.Null())),
                ast.Call("NULLIF", (x, ast.Null())),
                ast.Call("GREATEST", (x, x)),
            )
        )

    return _numbers(query, longer)


# ---------------------------------------------------------------- around the whole


def _named(query: ast.Query) -> ast.Query | None:
    """Each of its columns has a name of its own."""
    if not isinstance(query.body, ast.Select) or query.limit is not None or query.order or query.offset is not None:
        return None
    if any(isinstance(item.expr, ast.Star) for item in query.body.items):
        return None
    items = tuple(replace(item, alias=f"c{at}") for at, item in enumerate(query.body.items))
    return replace(query, body=replace(query.body, items=items))


def _everything(name: str) -> ast.Select:
    return ast.Select((ast.SelectItem(ast.Star()),), relations=(ast.TableRef((name,)),))


@way()
def the_whole_is_in_from(query: ast.Query, choice: random.Random) -> Rewritten:
    made = _named(query)
    if made is None:
        return None
    inner = replace(made, privacy=None)
    body = replace(_everything("q"), relations=(ast.Derived(inner, "q"),))
    return ast.Query(body, privacy=made.privacy)


@way()
def the_whole_is_named(query: ast.Query, choice: random.Random) -> Rewritten:
    made = _named(query)
    if made is None or made.recursive:
        return None
    inner = replace(made, privacy=None, ctes=())
    return ast.Query(_everything("q9"), (*made.ctes, ast.Cte("q9", (), inner)), privacy=made.privacy)
