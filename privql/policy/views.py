"""The tables that a query names, and the order in which views may be opened."""

from __future__ import annotations

from collections.abc import Mapping

from privql.frozen import inside
from privql.names import fold
from privql.policy.catalog import Table, View
from privql.policy.findings import Findings
from privql.syntax import ast


def tables_named(query: ast.Query) -> list[ast.TableRef]:
    """Every table reference of a query, in reading order, without those to its own WITH queries."""
    found: list[ast.TableRef] = []
    todo: list[tuple[object, frozenset[str]]] = [(query, frozenset())]
    while todo:
        node, hidden = todo.pop()
        match node:
            case ast.TableRef(path=path):
                if len(path) > 1 or fold(path[0]) not in hidden:
                    found.append(node)
            case ast.Query(ctes=ctes, recursive=recursive):
                within = []
                names = frozenset(fold(cte.name) for cte in ctes) if recursive else frozenset()
                for cte in ctes:
                    within.append((cte.query, hidden | names))
                    names |= {fold(cte.name)}
                rest = [part for part in inside(node) if not isinstance(part, ast.Cte)]
                todo.extend(reversed([*within, *((part, hidden | names) for part in rest)]))
            case _:
                todo.extend((part, hidden) for part in reversed(list(inside(node))))
    return found


def check_views(views: Mapping[str, View], tables: Mapping[str, Table], found: Findings) -> None:
    """Every table that a view names exists, and no view needs itself. Both mappings by folded name."""
    known: dict[str, Table | View] = {**tables, **views}
    needs: dict[str, list[str]] = {}
    for name, view in views.items():
        needs[name] = []
        for reference in tables_named(view.query):
            if known_table(reference, known, found):
                needs[name].append(fold(reference.path[0]))
    reported: set[str] = set()
    for name, view in views.items():
        circle = _circle(name, needs)
        if circle and not reported & set(circle):
            reported |= set(circle)
            found.error(
                "PQL0715",
                f"the view `{view.name}` needs itself",
                found.name(view.span, view.name),
                why=" → ".join(f"`{views[each].name}`" for each in circle),
                help="let one of these views read a table instead",
            )


def known_table(reference: ast.TableRef, known: Mapping[str, Table | View], found: Findings) -> bool:
    if len(reference.path) == 1 and fold(reference.path[0]) in known:
        return True
    names = [each.name for each in known.values()]
    *schema, name = reference.path
    message = f"no table or view is named `{'.'.join(reference.path)}`"
    found.unknown("PQL0725", message, found.name(reference.span, name), name, names, fix=not schema)
    return False


def check_value_query(query: ast.Query, tables: Mapping[str, Table], found: Findings) -> None:
    """IN (SELECT …) lists a domain, which everyone may read: it may name public tables only."""
    for reference in tables_named(query):
        table = tables.get(fold(reference.path[0])) if len(reference.path) == 1 else None
        if table is None:
            known_table(reference, {name: each for name, each in tables.items() if not each.private}, found)
        elif table.private:
            found.error(
                "PQL0725",
                f"a list of values cannot come from the private table `{table.name}`",
                reference.span,
                why="everyone may read which values a column can have",
                help="select from a public table, or list the values",
            )


def _circle(start: str, needs: Mapping[str, list[str]]) -> list[str]:
    """A path of views from one to itself, [] if there is none."""
    todo = [[start]]
    seen: set[str] = set()
    while todo:
        path = todo.pop()
        for next_one in needs.get(path[-1], []):
            if next_one == start:
                return [*path, start]
            if next_one not in seen:
                seen.add(next_one)
                todo.append([*path, next_one])
    return []
