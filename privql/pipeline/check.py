"""From text to a priced plan, a statement at a time; no private row is read.

`env` is threaded through a file: a line checks against the settings and the releases that earlier lines promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

from privql.check.env import Cart, Defaults, Env, ReleaseColumn, ReleaseSchema
from privql.check.named import counted
from privql.check.operations import not_yet
from privql.check.query import checked
from privql.check.relations import CheckedQuery
from privql.check.scope import unknown_name
from privql.check.typed import Context
from privql.diagnostics import PrivQLError, Source, Span, refuse
from privql.names import fold
from privql.pipeline.parameters import named_in
from privql.pipeline.report import StatementCheck
from privql.plan.amounts import known
from privql.plan.fanout import most_alike
from privql.plan.planning import plan
from privql.syntax import ast, opening, parse_file, quote, unparse

SHOWN = ("TABLES", "BUDGET", "RELEASES")


def check_text(source: Source, env: Env) -> Iterator[tuple[StatementCheck, Env]]:
    """Each statement's check, and the environment after it. What a failed statement would define is poisoned."""
    parsed, broken = parse_file(source)
    found = [(item.span, item.statement, None) for item in parsed] + [(d.span, None, d) for d in broken]
    words = opening(source) if broken else lambda _: []
    for span, statement, problem in sorted(found, key=lambda item: item[0]):
        if statement is None:
            assert problem is not None
            yield StatementCheck(source, span, "invalid", None, (problem.in_source(source),), env), env
            env = _unread(words(span), span, env)
            continue
        one, env = check_statement(statement, span, source, env)
        yield one, env


def check_statement(statement: ast.Statement, span: Span, source: Source, env: Env) -> tuple[StatementCheck, Env]:
    context = Context(env, source)
    kind = _kind(statement)
    try:
        made, after = _statement(statement, StatementCheck(source, span, kind, statement, (), env), context)
    except PrivQLError as error:
        diagnostics = tuple(d.in_source(source) for d in error.diagnostics)
        failed = StatementCheck(source, span, kind, statement, diagnostics, env, silent=not diagnostics)
        name = statement.name if isinstance(statement, ast.CreateRelease) else getattr(statement, "new", None)
        return failed, _poisoned(name, span, env, isinstance(statement, ast.Begin))
    notes = tuple(note.in_source(source) for note in context.notes)
    return replace(
        made, diagnostics=notes, params=named_in(statement) if "$" in source.text else (), after=after
    ), after


def _unread(words: list[str], span: Span, env: Env) -> Env:
    """After a statement that has no tree: what it meant to begin or to make is seen by how it starts."""
    match [fold(word) for word in words], words:
        case ["begin", *_], _:
            return _poisoned(None, span, env, begins=True)
        case ["create", "release", _], [*_, name]:
            return _poisoned(name.strip('"').replace('""', '"'), span, env)
        case _:
            return env


def _poisoned(name: str | None, span: Span, env: Env, begins: bool = False) -> Env:
    """What a failed statement would have made or begun is there, so that its absence is not told of as well."""
    if begins and env.cart is None:
        return replace(env, cart=Cart(span, None, env))
    return env if name is None else env.promising(ReleaseSchema(name, (), poisoned=True))


def _statement(statement: ast.Statement, made: StatementCheck, context: Context) -> tuple[StatementCheck, Env]:
    env = context.env
    match statement:
        case ast.Query():
            return _query(statement, made, context), env
        case ast.CreateRelease():
            return _create_release(statement, made, context)
        case ast.Explain(statement=None):
            _open(env, "EXPLAIN alone shows what is between BEGIN and COMMIT", statement.span, "write EXPLAIN SELECT …")
            return made, env
        case ast.Explain(statement=inner):
            assert inner is not None
            if isinstance(inner, ast.CreateRelease):
                return _released(inner, made, context), env
            if isinstance(inner, ast.Refine):
                return _refined(inner, made, context), env
            return _query(inner, made, context), env
        case ast.Show(what=what):
            if what.upper() not in SHOWN:
                raise unknown_name("PQL0209", "list", what, statement.span, SHOWN, lambda near: f"SHOW {near}")
            return made, env
        case ast.Describe(path=path):
            _described(path, statement.span, env)
            return made, env
        case ast.SetOption():
            return made, _set(statement, env)
        case ast.Begin():
            return made, _begun(statement, env)
        case ast.Commit():
            _open(env, "there is nothing to COMMIT", statement.span, "begin a plan of several queries with BEGIN")
            return made, replace(env, cart=None)
        case ast.Rollback():
            return made, _open(env, "there is nothing to ROLLBACK", statement.span, "leave it out").before
        case ast.Refine():
            made = _refined(statement, made, context)
            return (made, env) if statement.new is None else _named(statement.new, statement.span, made, env)
        case ast.Drop():
            raise not_yet(f"DROP {statement.kind}", statement.span, "leave it: what is released stays so")
        case _:
            raise refuse(
                "PQL0413",
                f"{_kind(statement).upper()} is the owner's",
                statement.span,
                why="a policy decides what an analyst may see, so an analyst cannot change it",
                help="the owner writes it into the policy and runs `privql policy apply`",
            )


def _query(node: ast.Query, made: StatementCheck, context: Context) -> StatementCheck:
    query = checked(node, context)
    if query.told:
        from privql.pipeline.told import proved  # brings numpy along

        proved(query)
    program = plan(query, context.clauses, context.manners, context.env)
    return replace(made, query=query, plan=program, attributes=context.attributes)


def _create_release(statement: ast.CreateRelease, made: StatementCheck, context: Context) -> tuple[StatementCheck, Env]:
    _check_name(statement.name, statement.span, context.env)
    made = _released(statement, made, context)
    assert made.query is not None
    columns = made.query.columns
    if statement.columns and len(statement.columns) != len(columns):
        raise refuse(
            "PQL0303",
            f"{len(statement.columns)} names for {counted(len(columns), 'column')}",
            statement.span,
            help="name each column once",
        )
    if statement.columns:
        columns = tuple(replace(column, name=name) for column, name in zip(columns, statement.columns, strict=True))
        made = replace(made, query=replace(made.query, columns=columns))
    return _promised(statement.name, statement.span, made, context.env)


def _check_name(name: str, span: Span, env: Env) -> None:
    if env.catalog.table(name) or env.catalog.view(name):
        raise refuse("PQL0208", f"`{name}` is a table's name", span, help="give the release another name")
    if fold(name) in env.promised:
        raise refuse("PQL0208", f"two releases named `{name}`", span, help="give one another name")


def _named(name: str, span: Span, made: StatementCheck, env: Env) -> tuple[StatementCheck, Env]:
    _check_name(name, span, env)
    return _promised(name, span, made, env)


def _promised(name: str, span: Span, made: StatementCheck, env: Env) -> tuple[StatementCheck, Env]:
    """The release that it will be, for the lines below."""
    assert made.query is not None
    promised = tuple(ReleaseColumn(c.name, c.type, c.domain) for c in made.query.columns)
    alike = partial(_alike, made.query, env)
    schema = ReleaseSchema(name, promised, alike, made=made)
    if made.again is not None:
        from privql.pipeline import runs

        runs.check_columns(promised, span)
        schema = runs.promised(made.again, promised, alike)
    return replace(made, name=name), env.promising(schema)


def _refined(statement: ast.Refine, made: StatementCheck, context: Context) -> StatementCheck:
    from privql.pipeline.refining import refined  # most texts have none

    return refined(statement, made, context)


def _released(statement: ast.CreateRelease, made: StatementCheck, context: Context) -> StatementCheck:
    clause = statement.query.privacy
    if clause is None or clause.schedule is None:
        return _query(statement.query, made, context)
    from privql.pipeline.runs import made_again

    query, program, runs = made_again(statement, context)
    return replace(made, query=query, plan=program, attributes=context.attributes, again=runs)


def _alike(query: CheckedQuery, env: Env, names: frozenset[str]) -> int | None:
    """Of an answer that does not exist yet."""
    ids = frozenset(column.id for column in query.columns if column.name in names)
    return most_alike(query.rel, ids, query, env)


def _described(path: tuple[str, ...], span: Span, env: Env) -> None:
    name, catalog = ".".join(path), env.catalog
    if catalog.table(name) is None and catalog.view(name) is None and env.release(name) is None:
        names = [*(t.name for t in catalog.tables), *(v.name for v in catalog.views)]
        raise unknown_name("PQL0201", "table", name, span, names, lambda near: f"DESCRIBE {quote(near)}")
    release = env.release(name)
    if release is not None and release.gone:
        raise refuse("PQL0201", release.gone, span, help="`SHOW RELEASES` names those that are there")


def _begun(statement: ast.Begin, env: Env) -> Env:
    if env.cart is not None:
        raise refuse(
            "PQL0508",
            "BEGIN stands inside BEGIN",
            statement.span,
            why="one plan is charged as a whole, so there is none within it",
            help="COMMIT or ROLLBACK first",
        )
    delta = None if statement.delta is None else known(statement.delta, env.params, "delta")
    if delta is not None and not 0 <= delta < 1:
        raise refuse("PQL0503", "delta lies between 0 and 1", statement.span, help="write BEGIN DELTA 1e-8")
    return replace(env, cart=Cart(statement.span, delta, env))


def _open(env: Env, what: str, span: Span, help: str) -> Cart:
    if env.cart is None:
        raise refuse("PQL0508", what, span, why="no BEGIN is open here", help=help)
    return env.cart


def _set(statement: ast.SetOption, env: Env) -> Env:
    match fold(statement.name):
        case "epsilon":
            epsilon: Fraction = known(statement.value, env.params, "epsilon")
            if epsilon <= 0:
                raise refuse("PQL0503", "epsilon must be positive", statement.span, help="write SET epsilon = 0.1")
            return replace(env, settings=replace(env.settings, epsilon=epsilon))
        case "budget":
            value = statement.value
            name = (
                value.path[-1]
                if isinstance(value, ast.Column)
                else value.value
                if isinstance(value, ast.String)
                else ""
            )
            budgets = [budget.name for budget in env.catalog.budgets]
            if fold(name) not in {fold(b) for b in budgets}:
                raise unknown_name("PQL0209", "budget", name, statement.value.span, budgets)
            given = Defaults(env.default_epsilon, env.default_delta) if env.defaults is None else env.defaults(name)
            if not given.granted:
                help = "`SHOW BUDGET` lists yours; ask the owner for `GRANT … TO …`"
                raise refuse("PQL0505", f"budget `{name}` is not open to you", statement.value.span, help=help)
            return replace(
                env,
                settings=replace(env.settings, budget=name),
                default_epsilon=given.epsilon,
                default_delta=given.delta,
            )
        case _:
            raise unknown_name(
                "PQL0209",
                "setting",
                statement.name,
                statement.span,
                ["epsilon", "budget"],
                lambda near: unparse(replace(statement, name=near)),
            )


def _kind(statement: ast.Statement) -> str:
    match statement:
        case ast.Query():
            return "select"
        case ast.SetOption():
            return "set"
        case _:
            words = "".join(" " + c.lower() if c.isupper() else c for c in type(statement).__name__)
            return words.strip()
