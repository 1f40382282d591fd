"""Trees back to text: canonical SQL on one line, such that `parse(unparse(tree)) == tree` for every tree that was read.

Words are upper case, names keep their spelling and are quoted only where they must be, aliases take AS, and
parentheses stand only where the reading would change without them.
"""

from __future__ import annotations

from privql.syntax import ast
from privql.syntax.names import plain, quote
from privql.syntax.unparse_expressions import amount, expression, expressions, string, type_name
from privql.syntax.unparse_queries import every, names, privacy, query


def unparse(node: ast.Statement | ast.Expr) -> str:
    """A statement, a query or an expression as one line of text."""
    match node:
        case ast.Query():
            return query(node)
        case ast.CreateRelease(name, columns, body):
            return f"CREATE RELEASE {quote(name)}{names(columns)} AS {query(body)}"
        case ast.Refine(name, asked, new):
            return f"REFINE {quote(name)} TO {privacy(asked)}" + (f" AS {quote(new)}" if new is not None else "")
        case ast.CreateView(name, columns, body):
            return f"CREATE VIEW {quote(name)}{names(columns)} AS {query(body)}"
        case ast.Explain(explained):
            return "EXPLAIN" + (f" {unparse(explained)}" if explained else "")
        case ast.Show(what):
            return f"SHOW {quote(what)}"
        case ast.Describe(path):
            return f"DESCRIBE {'.'.join(map(quote, path))}"
        case ast.SetOption(name, value):
            return f"SET {quote(name)} = {expression(value)}"
        case ast.Drop(kind, name):
            return f"DROP {kind} {quote(name)}"
        case ast.Begin(delta):
            return "BEGIN" + (f" DELTA {amount(delta)}" if delta else "")
        case ast.Commit():
            return "COMMIT"
        case ast.Rollback():
            return "ROLLBACK"
        case ast.CreateUnit(name, change_one):
            return f"CREATE UNIT {plain(name)}" + (" NEIGHBOURS CHANGE ONE" if change_one else "")
        case ast.CreateTable():
            return _table(node)
        case ast.CreateBudget():
            return _budget(node)
        case ast.AlterBudget(budget, epsilon, delta, reason):
            added = (f" EPSILON {amount(epsilon)}" if epsilon else "") + (f" DELTA {amount(delta)}" if delta else "")
            return f"ALTER BUDGET {quote(budget)} ADD{added} REASON {string(reason)}"
        case ast.Grant(budget, analysts, epsilon, delta):
            said = f"GRANT {quote(budget)} TO {', '.join(map(quote, analysts))}"
            if epsilon is not None:
                said += f" LIMIT EPSILON {amount(epsilon)}{f' DELTA {amount(delta)}' if delta else ''} EACH"
            return said
        case ast.Refresh(table, version):
            return f"REFRESH {quote(table)} AS {string(version)}"
        case ast.PadTime(count, period):
            return f"PAD TIME TO {count.text} {period}{'' if count.text == '1' else 'S'}"
        case _:
            return expression(node)


def _table(node: ast.CreateTable) -> str:
    elements = [_column(column) for column in node.columns]
    elements += [f"KEY{names(columns)}" for columns in node.keys]
    said = f"CREATE {'PRIVATE' if node.private else 'PUBLIC'} TABLE {quote(node.name)} ({', '.join(elements)})"
    if unit := node.unit:
        name = f"{plain(unit.unit)}" if unit.unit else ""
        said += f" UNIT ROW{f' AS {name}' if name else ''}" if unit.row else f" UNIT {name}"
        if unit.via:
            said += f" VIA {quote(unit.via[0])}" if len(unit.via) == 1 else f" VIA{names(unit.via)}"
    if node.parts_by:
        said += f" PARTS BY {quote(node.parts_by)}"
    if node.at_most:
        said += f" {privacy(node.at_most)}"
    if node.sources:
        said += f" FROM {', '.join(map(string, node.sources))}"
    if node.connection:
        said += f" FROM {'.'.join(map(quote, node.connection))}"
    return said


def _column(node: ast.ColumnDefinition) -> str:
    said = [quote(node.name), type_name(node.type)]
    if node.unit:
        said.append(f"UNIT {plain(node.unit)}" + (f" AS {plain(node.unit_alias)}" if node.unit_alias else ""))
    said += ["KEY"] if node.key else []
    if node.low and node.high:
        said.append(f"BETWEEN {expression(node.low)} AND {expression(node.high)}")
    match node.values:
        case None:
            pass
        case ast.Query():
            said.append(f"IN ({query(node.values)})")
        case values:
            said.append(f"IN ({expressions(values)})")
    said += [f"GRID {expression(node.grid)}"] if node.grid else []
    said += ["NOT NULL"] if node.not_null else []
    if to := node.references:
        said.append(f"REFERENCES {quote(to.table)}" + (f"({quote(to.column)})" if to.column else ""))
    said += ["HIDDEN"] if node.hidden else []
    said += ["VISIBLE"] if node.visible else []
    return " ".join(said)


def _budget(node: ast.CreateBudget) -> str:
    said = f"CREATE BUDGET {quote(node.name)} FOR UNIT {plain(node.unit)} EPSILON {amount(node.epsilon)}"
    said += f" DELTA {amount(node.delta)}" if node.delta else ""
    said += f" DEFAULT EPSILON {amount(node.default_epsilon)}" if node.default_epsilon else ""
    said += f" DEFAULT DELTA {amount(node.default_delta)}" if node.default_delta else ""
    said += f" MAX EPSILON {amount(node.max_epsilon)} PER QUERY" if node.max_epsilon else ""
    if node.shares:
        said += f" SHARES ({', '.join(f'{quote(name)} {amount(share)}' for name, share in node.shares)})"
    return said + (f" {every(node.every)}" if node.every else "")
