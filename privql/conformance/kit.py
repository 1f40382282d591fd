"""The kit: scalar operations one by one, then random terms of all primitives, each beside what it means in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from random import Random
from typing import Protocol

from privql.audit import reference
from privql.audit.reference.ranks import ranked
from privql.audit.reference.relations import counted
from privql.conformance.pools import Call, calls
from privql.conformance.report import Counted, Report
from privql.conformance.rows import Row, column
from privql.conformance.terms import COLUMNS, Terms, hostile_rows
from privql.conformance.trees import Rows, Trees, tables
from privql.engines.interface import Columns, Engine, EngineError, Stored, Term
from privql.frozen import frozen, inside
from privql.functions.scalar import evaluate
from privql.kernel.features import Total
from privql.kernel.ranks import FARTHEST, Rank, Ranks
from privql.kernel.scalars import INT, Apply, Const, Field, Scalar, Value, ValueType
from privql.kernel.sums import Balance, Hats, Keys, Sums
from privql.kernel.terms import Project, Public, Relation, Scan, Unit

SALT = b"\x00salt\xff"
_AT = "row number"
_TOGETHER = 20  # terms in one statement
_MOST = 4000  # rows, that the reference takes a while for
_WILD = (float("nan"), float("inf"), float("-inf"))

Data = Mapping[str, list[reference.Row]]


Holds = Callable[[Value, ValueType], bool]


class Opening(Protocol):
    """What an engine's module offers as `of_values`: an engine for which these are the tables. Nothing is
    written into a database. With `holds` a module says which values its columns
    cannot have at all."""

    def __call__(self, stored: Stored) -> Engine: ...


@frozen
class Extent:
    """How much is tried: rows and signatures of each scalar operation, how many of these share a table, and random
    terms in so many databases each."""

    rows: int
    signatures: int
    sharing: int
    databases: int
    terms: int


FULL, QUICK = Extent(120, 10**6, 8, 24, 25), Extent(16, 2, 10**6, 2, 5)


@frozen
class Given:
    columns: Columns
    rows: tuple[tuple[Value, ...], ...]


def conformance(
    opening: Opening,
    extent: Extent = FULL,
    seed: int = 0,
    holds: Holds | None = None,
) -> Report:
    found = Counted()
    kept = _Kept(opening, holds or (lambda value, of: True))
    by_operation: dict[str, list[Call]] = {}
    for call in calls():
        by_operation.setdefault(call.resolved.op, []).append(call)
    operations = sorted(by_operation)
    for at in range(0, len(operations), extent.sharing):
        together = operations[at : at + extent.sharing]
        random = Random(f"{seed} {together}")
        some = {op: random.sample(by_operation[op], min(len(by_operation[op]), extent.signatures)) for op in together}
        _operations({op: [_term(call) for call in of] for op, of in some.items()}, extent.rows, random, kept, found)
    for database in range(extent.databases):
        _terms(Random(f"{seed} terms {database}"), extent.terms, kept, found)
        _trees(Random(f"{seed} trees {database}"), extent.terms, kept, found)
    return found.report()


class _Kept:
    """Opens engines over rows that these can hold."""

    def __init__(self, opening: Opening, holds: Holds) -> None:
        self._opening, self._holds = opening, holds

    def rows(self, columns: Columns, rows: list[Row]) -> list[Row]:
        """What an engine cannot have in a column is NULL there, for the reference, too."""
        return [{c: row[c] if self._holds(row[c], type) else None for c, type in columns} for row in rows]

    def values(self, columns: Columns, rows: tuple[tuple[Value, ...], ...]) -> tuple[tuple[Value, ...], ...]:
        """The same of public rows."""
        types = [type for _, type in columns]
        return tuple(
            tuple(value if self._holds(value, type) else None for value, type in zip(row, types, strict=True))
            for row in rows
        )

    @contextmanager
    def opened(self, given: Mapping[str, tuple[Columns, list[Row]]], random: Random) -> Iterator[Engine]:
        """In an order of its own; some of the NULLs of FLOAT columns are NaN or infinite."""
        stored: dict[str, tuple[Columns, list[Row]]] = {}
        for table, (columns, rows) in given.items():
            floats = {c for c, type in columns if type.kind == "FLOAT"}
            shuffled = [
                {c: random.choice((None, *_WILD)) if c in floats and v is None else v for c, v in row.items()}
                for row in random.sample(rows, len(rows))
            ]
            stored[table] = columns, shuffled
        engine = self._opening(stored)
        try:
            yield engine
        finally:
            engine.close()


# ---------------------------------------------------------------- scalar operations


def _term(call: Call) -> Apply:
    resolved = call.resolved
    args: list[Scalar] = []
    for place, type in enumerate(resolved.arg_types):
        args.append(Const(call.fixed[place], type) if place in call.fixed else Field(f"{type}/{place}", type))
    return Apply(resolved.op, tuple(args), resolved.result)


def _operations(tried: dict[str, list[Apply]], count: int, random: Random, kept: _Kept, found: Counted) -> None:
    """On one table, whose columns are of each type as many as an operation takes."""
    read = {a.name: a.type for terms in tried.values() for t in terms for a in t.args if isinstance(a, Field)}
    columns: Columns = ((_AT, INT), *read.items())
    values = {c: column(t, count, random) for c, t in columns[1:]}
    rows = kept.rows(columns, [{_AT: at, **{c: values[c][at] for c in values}} for at in range(count)])
    with kept.opened({"table": (columns, rows)}, random) as engine:
        terms = [term for of in tried.values() for term in of]
        for at in range(0, len(terms), _TOGETHER):
            _together(terms[at : at + _TOGETHER], rows, engine, found)


def _together(terms: list[Apply], rows: list[Row], engine: Engine, found: Counted) -> None:
    """In one statement; where that fails, each term in one of its own."""
    read = {a.name: a.type for t in terms for a in t.args if isinstance(a, Field)}
    asked = _asked(terms, Scan("table", Unit("unit"), None, False, ((_AT, INT), *read.items())))
    answers: dict[Value, tuple[Value, ...]] | None = None
    try:
        engine.rehearse(asked)
        # as groups that have one row each, rows come out as exact values
        answers = {group[0]: group[1:] for group, alike in engine.groups(asked, SALT) if alike == 1}
    except EngineError as error:
        if len(terms) == 1 and error.kind == "unsupported":
            found.case(terms[0].op, len(rows))
            found.refused(terms[0].op, len(rows))
            return
    if answers is not None and set(answers) == {row[_AT] for row in rows}:
        for row in rows:
            for term, got in zip(terms, answers[row[_AT]], strict=True):
                _compared(term, row, got, found)
    elif len(terms) == 1:
        found.case(terms[0].op, len(rows))
        found.wrong(terms[0].op, f"the engine {'fails' if answers is None else 'loses rows'}: {_short(terms[0])}")
    else:
        for term in terms:
            _together([term], rows, engine, found)


def _asked(terms: list[Apply], scan: Scan) -> Keys:
    named: list[tuple[str, Scalar]] = [(_AT, Field(_AT, INT))]
    named += [(f"t{at}", term) for at, term in enumerate(terms)]
    return Keys(Project(scan, tuple(named)), tuple((name, term.type) for name, term in named))


def _compared(term: Apply, row: Row, got: Value, found: Counted) -> None:
    given = tuple(a.value if isinstance(a, Const) else row[a.name] for a in term.args if isinstance(a, Const | Field))
    wanted = evaluate(term.op, tuple(a.type for a in term.args), term.type, given)
    found.case(term.op)
    if got != wanted or (got is None) != (wanted is None) or isinstance(got, bool) != isinstance(wanted, bool):
        types = ", ".join(str(a.type) for a in term.args)
        found.wrong(term.op, f"({types}) of {_short(given)} is {_short(got)}, and means {_short(wanted)}")


def _short(value: object) -> str:
    text = str(value) if isinstance(value, Fraction) else repr(value)
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


# ---------------------------------------------------------------- primitives


def _terms(random: Random, many: int, kept: _Kept, found: Counted) -> None:
    table = kept.rows(COLUMNS, hostile_rows(random, 60))
    terms = Terms(random)
    data: Data = {"table": [*table]}
    with kept.opened({"table": (COLUMNS, table)}, random) as engine:
        for _ in range(many):
            sums = terms.sums(table)
            _sums(sums, engine, data, {}, found)
            columns = [*reference.types(sums.input).items()]
            _keys(Keys(sums.input, tuple(random.sample(columns, min(len(columns), 3)))), engine, data, found)
            if (ranks := _ranks(sums, random)) is not None:
                _near(ranks, engine, data, found)


def _keys(keys: Keys, engine: Engine, data: Data, found: Counted) -> None:
    _tried(keys, lambda: (engine.groups(keys, SALT), counted(keys, data, SALT)), found)


def _near(ranks: Ranks, engine: Engine, data: Data, found: Counted) -> None:
    _tried(ranks, lambda: (engine.ranks(ranks, SALT), ranked(ranks, data, SALT)), found)


def _ranks(sums: Sums, random: Random) -> Ranks | None:
    """The values near some ranks, of what one of the contributions adds up."""
    of = [one for one in sums.contributions if isinstance(one, (Total, Balance, Hats))]
    if not of or not sums.groups:
        return None
    shares = sorted(random.sample((Fraction(1, 2), Fraction(0), Fraction(1), Fraction(1, 3)), random.choice((1, 2))))
    ranks = tuple(Rank(share, random.choice((0, 0, 1, -7))) for share in shares)
    return Ranks(sums.input, sums.keys, of[0].steps, of[0].where, ranks, random.choice((1, 40, FARTHEST)))


def _trees(random: Random, many: int, kept: _Kept, found: Counted) -> None:
    stored = {name: kept.rows(COLUMNS, rows) for name, rows in tables(random, 24).items()}
    data: Data = {name: [*rows] for name, rows in stored.items()}
    with kept.opened({name: (COLUMNS, rows) for name, rows in stored.items()}, random) as engine:
        for _ in range(many):
            trees = Trees(random, random.choice((None, "u", "u", "v")))
            relation = trees.once(trees.tree(random.choice((1, 1, 2, 2, 3))))
            for public in _publics(relation):
                trees.publics[public.name] = kept.values(public.columns, trees.publics[public.name])
            rows = reference.rows(relation, data, SALT, trees.publics)
            if len(rows) <= _MOST:
                _sums(trees.sums_of(relation, [dict(row) for _, row in rows]), engine, data, trees.publics, found)


def _publics(relation: Relation) -> list[Public]:
    found: list[Public] = []
    todo: list[object] = [relation]
    while todo:
        node = todo.pop()
        found += [node] if isinstance(node, Public) else []
        todo.extend(inside(node))
    return found


def _sums(sums: Sums, engine: Engine, data: Data, publics: Rows, found: Counted) -> None:
    given = {name: Given((), rows) for name, rows in publics.items()}

    _tried(sums, lambda: (engine.run(sums, SALT, given).tolist(), reference.run(sums, data, SALT, publics)), found)


def _tried(term: Term, both: Callable[[], tuple[object, object]], found: Counted) -> None:
    """Counted for each primitive that the term is made of."""
    of = [type(term).__name__, *_primitives(term)]
    for primitive in of:
        found.case(primitive)
    try:
        got, wanted = both()
    except EngineError as error:
        for primitive in of:
            if error.kind == "unsupported":
                found.refused(primitive)
            else:
                found.wrong(primitive, f"the engine fails: {error}")
        return
    if got != wanted:
        for primitive in of:
            found.wrong(primitive, f"{got} instead of {wanted}")


def _primitives(term: Term) -> list[str]:
    """Of relations, features and contributions, not of scalars: those were tried one by one."""
    names: dict[str, None] = {}
    todo: list[object] = [*inside(term)]
    while todo:
        node = todo.pop()
        if not isinstance(node, Apply | Const | Field):
            names[type(node).__name__] = None
            todo.extend(inside(node))
    return sorted(set(names) - {"Unit", "ValueType", "Key", "Listed", "Steps", "Order", "Link", "Rank"})
