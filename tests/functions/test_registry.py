"""Every function is declared in full, found by name, and does what its example says."""

from __future__ import annotations

import pytest

from privql.conformance.pools import calls
from privql.domains import finite, grid_of
from privql.functions.scalar import (
    ScalarFunction,
    all_functions,
    by_sql_name,
    constant_args,
    evaluate,
    evaluate_term,
    infer,
    resolve,
    resolve_cast,
    signatures,
)
from privql.functions.scalar.text import GROWING, LONGEST
from privql.kernel.scalars import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    TEXT,
    TIMESTAMP,
    Apply,
    Const,
    Field,
    Scalar,
    decimal,
)  # fmt: skip

PRICE = decimal(10, 2)
ids = [f.op for f in all_functions()]


@pytest.mark.parametrize("declared", all_functions(), ids=ids)
def test_an_example_holds_as_value_as_term_and_as_domain(declared: ScalarFunction) -> None:
    shown = declared.example
    types = tuple(arg.type for arg in shown.args)
    resolved = resolve(declared.op, types, tuple(arg.value for arg in shown.args)) or resolve_cast(types[0], INT)
    assert resolved is not None
    args: list[Scalar] = []
    for arg, wanted in zip(shown.args, resolved.arg_types, strict=True):
        args.append(arg if arg.type == wanted else Apply("cast", (arg,), wanted))
    values = tuple(evaluate_term(arg, {}) for arg in args)
    assert evaluate(resolved.op, resolved.arg_types, resolved.result, values) == shown.gives
    assert evaluate_term(Apply(resolved.op, tuple(args), resolved.result), {}) == shown.gives
    domains = tuple(finite([v], v is None, grid_of(t)) for v, t in zip(values, resolved.arg_types, strict=True))
    inferred = infer(resolved.op, resolved.arg_types, resolved.result, domains)
    assert inferred.values == (() if shown.gives is None else (shown.gives,))
    assert inferred.nullable == (shown.gives is None)


@pytest.mark.parametrize("declared", all_functions(), ids=ids)
def test_a_declaration_is_complete(declared: ScalarFunction) -> None:
    assert declared.doc.endswith(".") and declared.example.sql and declared.signatures
    assert signatures(declared.op) == "; ".join(declared.signatures)
    assert bool(declared.sql_names) == (declared.kind == "function")
    for name in declared.sql_names:
        assert by_sql_name(name) == by_sql_name(name.lower()) == declared.op
        assert name.isascii() and name == name.upper()
    assert all(place >= 0 for place in constant_args(declared.op))


def test_names_are_unique_and_every_function_resolves() -> None:
    names = [name for f in all_functions() for name in f.sql_names]
    assert len(names) == len(set(names)) and len(ids) == len(set(ids))
    assert by_sql_name("no_such_function") is None
    reached = {call.resolved.op for call in calls()}
    assert reached == {*ids} - {"if", "date_add", "date_sub", "regexp_substr"}  # which resolve to others


def test_what_resolves_is_taken_as_resolved() -> None:
    """Casting to the types asked for changes nothing more: a second resolution asks for none."""
    for call in calls():
        resolved = call.resolved
        if resolved.op == "cast":
            continue
        known = tuple(call.fixed.get(place) for place in range(len(resolved.arg_types)))
        assert resolve(resolved.op, resolved.arg_types, known) == resolved, call


@pytest.mark.parametrize(
    ("op", "types"),
    [
        ("add", (TEXT, INT)), ("add", (BOOL, INT)), ("add", (INT,)), ("add", (DATE, DATE)), ("add", (DATE, FLOAT)),
        ("sub", (INT, DATE)), ("sub", (TIMESTAMP, TIMESTAMP)), ("sub", (TIMESTAMP, INT)), ("add", (INTERVAL, INTERVAL)),
        ("sub", (INTERVAL, DATE)), ("mul", (DATE, INT)), ("int_div", (FLOAT, INT)), ("int_div", (PRICE, INT)),
        ("mod", (FLOAT, INT)), ("eq", (INT, TEXT)), ("eq", (BOOL, INT)), ("eq", (DATE, TEXT)),
        ("lt", (INTERVAL, INTERVAL)),
        ("is_true", (INT,)), ("and", (BOOL, INT)), ("not", (INT,)), ("case", (INT, INT, INT)), ("case", (BOOL, INT)),
        ("case", (BOOL, INT, TEXT)), ("coalesce", (INT, TEXT)), ("lower", (INT,)), ("concat", (TEXT, INT)),
        ("concat", (TEXT,)), ("substring", (TEXT, FLOAT)), ("sqrt", (TEXT,)), ("clamp", (TEXT, TEXT, TEXT)),
        ("extract", (TEXT, TEXT)), ("date_trunc", (TEXT, INT)), ("greatest", ()), ("in", (INT,)), ("like", (TEXT, INT)),
        ("cast", (INT,)), ("is_null", (INTERVAL,)),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(op: str, types: tuple[object, ...]) -> None:
    assert resolve(op, types) is None


@pytest.mark.parametrize(
    ("op", "types", "constants"),
    [
        ("clamp", (INT, INT, INT), (None, 5, 1)),
        ("round", (FLOAT, INT), (None, None)),
        ("round", (FLOAT, INT), (None, 23)),
        ("round", (FLOAT, FLOAT), (None, 1.0)),
        ("like", (TEXT, TEXT), (None, "abc\\")),
        ("like", (TEXT, TEXT, TEXT), (None, "abc", "ab")),
        ("like", (TEXT, TEXT, TEXT), (None, "abc", "")),
        ("ilike", (TEXT, TEXT, TEXT), (None, "abc", "A")),
        ("extract", (TEXT, DATE), ("HOUR", None)),
        ("extract", (TEXT, TIMESTAMP), ("TIMEZONE", None)),
        ("extract", (TEXT, TIMESTAMP), (None, None)),
        ("date_trunc", (TEXT, DATE), ("HOUR", None)),
        ("date_trunc", (TEXT, TIMESTAMP), ("DOW", None)),
        ("add", (DATE, INTERVAL), (None, (10**6, 0, 0))),
        ("sub", (DATE, INTERVAL), (None, (0, 0, 10**18))),
        ("trim", (TEXT, TEXT), (None, None)),
    ],
)
def test_a_constant_out_of_place_is_refused(op: str, types: tuple[object, ...], constants: tuple[object, ...]) -> None:
    assert resolve(op, types, constants) is None


def test_a_bare_null_takes_its_type_from_the_others() -> None:
    for op, types, wanted in (
        ("add", (INT, NULL), (INT, INT)),
        ("add", (NULL, DATE), (INT, DATE)),
        ("eq", (NULL, DATE), (DATE, DATE)),
        ("eq", (NULL, NULL), (TEXT, TEXT)),
        ("coalesce", (NULL, PRICE), (PRICE, PRICE)),
        ("case", (NULL, NULL, FLOAT), (BOOL, FLOAT, FLOAT)),
        ("and", (NULL, BOOL), (BOOL, BOOL)),
        ("neg", (NULL,), (INT,)),
        ("lower", (NULL,), (TEXT,)),
        ("ln", (NULL,), (FLOAT,)),
    ):
        resolved = resolve(op, types)
        assert resolved is not None and resolved.arg_types == wanted, op


def test_common_types_hold_all() -> None:
    for types, wanted in (
        ((INT, FLOAT), FLOAT),
        ((INT, PRICE), decimal(21, 2)),
        ((PRICE, decimal(5, 4)), decimal(12, 4)),
        ((decimal(38, 2), decimal(10, 4)), decimal(38, 4)),
        ((DATE, TIMESTAMP), TIMESTAMP),
    ):
        resolved = resolve("coalesce", types)
        assert resolved is not None and resolved.result == wanted, types


def test_division_of_integers_is_whole_and_if_is_case() -> None:
    whole, choice = resolve("div", (INT, INT)), resolve("if", (BOOL, INT, INT))
    assert whole is not None and whole.op == "int_div"
    assert choice is not None and choice.op == "case"


def test_terms_of_any_depth_are_evaluated() -> None:
    term: Scalar = Field("x", INT)
    for _ in range(50_000):
        term = Apply("add", (term, Const(1, INT)), INT)
    assert evaluate_term(term, {"x": 5}) == 50_005
    assert evaluate_term(term, {"x": None}) is None


def test_what_makes_longer_texts_is_known() -> None:
    """How much of them one private row may make is bounded by how many it has."""
    limited = {
        each.op for each in all_functions() if f"more than {LONGEST}" in each.doc or f"above {LONGEST}" in each.doc
    }
    assert limited == GROWING
