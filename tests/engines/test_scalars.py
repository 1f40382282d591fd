"""Every scalar operation, in every signature, means on DuckDB what its Python says, over hostile values."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from privql.conformance.pools import Call, calls, hostile, in_type, some_value
from privql.conformance.rows import Columns, Row, column
from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.scalars import ScalarEmitter
from privql.functions.scalar import evaluate, evaluate_term, resolve
from privql.kernel.scalars import DATE, INT, TIMESTAMP, Apply, Const, Field, Scalar, Value, ValueType, decimal
from tests.engines.values import connect, evaluated, load

CALLS = calls()
OPS = sorted({call.resolved.op for call in CALLS})
ROWS = 120


def _term(call: Call) -> Apply:
    resolved = call.resolved
    args: list[Scalar] = []
    for place, type in enumerate(resolved.arg_types):
        args.append(Const(call.fixed[place], type) if place in call.fixed else Field(f"{type}/{place}", type))
    return Apply(resolved.op, tuple(args), resolved.result)


@pytest.mark.parametrize("op", OPS)
def test_an_operation_means_what_its_python_says(op: str) -> None:
    random = Random(f"{op}")
    terms = [_term(call) for call in CALLS if call.resolved.op == op]
    columns: Columns = tuple({a.name: a.type for t in terms for a in t.args if isinstance(a, Field)}.items())
    columns = columns or (("none", terms[0].type),)
    values = {c: column(t, ROWS, random) for c, t in columns}
    rows: list[Row] = [{c: values[c][i] for c, _ in columns} for i in range(ROWS)]
    with connect() as connection:
        load(connection, "t", columns, rows)
        wrong = []
        for at in range(0, len(terms), 20):
            some = terms[at : at + 20]
            for row, found in zip(rows, evaluated(connection, "t", some), strict=True):
                for term, got in zip(some, found, strict=True):
                    given = tuple(
                        a.value if isinstance(a, Const) else row[a.name] for a in term.args if not isinstance(a, Apply)
                    )
                    types = tuple(a.type for a in term.args)
                    wanted = evaluate(term.op, types, term.type, given)
                    if got != wanted:
                        wrong.append((str([str(t) for t in types]), given, wanted, got))
    assert not wrong, (len(wrong), [str(w)[:400] for w in wrong[:: max(1, len(wrong) // 8)]])


def test_an_operation_is_of_exactly_the_type_that_is_claimed() -> None:
    """Rules count on it that values which differ are compared as what they are said to be."""

    def physical(type: ValueType) -> str:
        return {"INT": "BIGINT", "FLOAT": "DOUBLE", "BOOL": "BOOLEAN", "TEXT": "VARCHAR"}.get(type.kind, str(type))

    terms = [_term(call) for call in CALLS]
    places = {field: f"c{at}" for at, field in enumerate({a for t in terms for a in t.args if isinstance(a, Field)})}
    emitter = ScalarEmitter(lambda field: Spelled(places[field], field.type, leaf=True), DUCKDB)
    columns = ", ".join(f"CAST(NULL AS {physical(field.type)}) AS {name}" for field, name in places.items())
    with connect() as connection:
        for at in range(0, len(terms), 100):
            some = terms[at : at + 100]
            listed = ", ".join(f"typeof({emitter.sql(term)})" for term in some)
            found = connection.execute(f"SELECT {listed} FROM (SELECT {columns})").fetchone()
            assert list(found or ()) == [physical(term.type) for term in some]


WIDTHS = (
    decimal(38, 0),
    decimal(38, 10),
    decimal(38, 38),
    decimal(20, 20),
    decimal(1, 0),
    decimal(18, 9),
    decimal(37, 1),
)


def _representable(value: Value, type: ValueType) -> bool:
    return value is None or in_type(value, type)


@pytest.mark.parametrize("left", WIDTHS, ids=str)
def test_decimals_of_every_width_add_and_multiply_alike(left: ValueType) -> None:
    random = Random(str(left))
    with connect() as connection:
        for right in WIDTHS:
            columns: Columns = (("a", left), ("b", right))
            pairs = [(a, b) for a in (None, *hostile(left)) for b in (None, *hostile(right))]
            pairs += [(some_value(left, random), some_value(right, random)) for _ in range(40)]
            rows: list[Row] = [
                {"a": a, "b": b} for a, b in pairs if _representable(a, left) and _representable(b, right)
            ]
            load(connection, "t", columns, rows)
            terms: list[Scalar] = []
            for op in ("add", "sub", "mul", "mod", "lt"):
                resolved = resolve(op, (left, right), (None, None))
                if resolved is not None:
                    sides = zip((Field("a", left), Field("b", right)), resolved.arg_types, strict=True)
                    args = tuple(f if f.type == t else Apply("cast", (f,), t) for f, t in sides)
                    terms.append(Apply(resolved.op, args, resolved.result))
            for row, found in zip(rows, evaluated(connection, "t", terms), strict=True):
                assert found == tuple(evaluate_term(term, row) for term in terms), (row, right)


def test_dates_are_made_of_the_same_numbers() -> None:
    """Every month's end and the numbers beside it; every number of a clock's hands at its ends."""
    parts: dict[str, tuple[Value, ...]] = {
        "y": (0, 1, 1900, 2000, 2023, 2024, 9999, 10_000), "m": (0, 1, 2, 4, 12, 13), "d": (0, 1, 28, 29, 30, 31, 32),
        "h": (-1, 0, 23, 24), "n": (-1, 0, 59, 60), "s": (Fraction(-1, 10**6), Fraction(0), Fraction(59), Fraction(60)),
    }  # fmt: skip
    second = decimal(8, 6)
    columns: Columns = tuple((c, second if c == "s" else INT) for c in parts)
    some: Row = {"y": 2024, "m": 2, "d": 29, "h": 5, "n": 6, "s": Fraction(7)}
    rows: list[Row] = [dict(some, y=y, m=m, d=d) for y in parts["y"] for m in parts["m"] for d in parts["d"]]
    rows += [dict(some, h=h, n=n, s=s) for h in parts["h"] for n in parts["n"] for s in parts["s"]]
    fields = tuple(Field(c, t) for c, t in columns)
    terms: list[Scalar] = [Apply("make_date", fields[:3], DATE), Apply("make_timestamp", fields, TIMESTAMP)]
    with connect() as connection:
        load(connection, "t", columns, rows)
        found = evaluated(connection, "t", terms)
    assert found == [tuple(evaluate_term(term, row) for term in terms) for row in rows]
    assert sum(None not in made for made in found) > 100
