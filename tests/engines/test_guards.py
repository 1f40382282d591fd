"""PostgreSQL raises where it cannot compute; without one of the guards the conformance kit must notice."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from privql.conformance.rows import Row
from privql.engines.postgres import documents, floats, numbers, ordered, powers, reading, regular, texts, times
from privql.engines.postgres.expressions import double
from privql.functions.scalar import evaluate_term
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar
from tests.engines import postgres, test_patterns, test_scalars
from tests.engines.hosts import Host, refused
from tests.engines.test_scalars import CALLS, ROWS, term_of, wrong
from tests.ledger.servers import available

pytestmark = pytest.mark.skipif(not available(), reason="no PostgreSQL server")


def seen(check: Callable[[], bool]) -> bool:
    """Whether a check finds something wrong, be it that the server refuses the statement."""
    import psycopg

    try:
        return check()
    except psycopg.Error:
        return True


def _by_the_kit(op: str) -> bool:
    terms: list[Scalar] = [term_of(call) for call in CALLS if call.resolved.op == op]
    with postgres.connect() as connection:
        return bool(wrong(postgres, connection, [t for t in terms if not refused(postgres, t)], ROWS, Random(op)))


def _fails(test: Callable[[Host], None]) -> bool:
    try:
        test(postgres)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize(
    ("module", "name", "fault", "by"),
    [
        (floats, "nearest_whole", lambda x: f"round({x})", "round"),
        (floats, "nearest_whole", lambda x: f"floor({x} + 0.5)", "cast"),
        (floats, "_scaled", lambda call, x, sign, constant: f"({x} {sign} {double(constant)})", "degrees"),
        (floats, "_product", lambda call, a, b: f"{a} * {b}", "mul"),
        (floats, "_quotient", lambda a, b: f"{a} / {b}", "div"),
        (powers, "_LEAST_EXPONENT", -800.0, "exp"),
        (powers, "_LAST_EXPONENT", 800.0, "exp"),
        (powers, "_LAST_EXPONENT", 700.0, test_scalars.test_powers_are_told_from_none_up_to_both_ends),
        (powers, "_LEAST_EXPONENT", -745.2, test_scalars.test_powers_are_told_from_none_up_to_both_ends),
        (numbers, "inside", lambda x: "TRUE", "mul"),
        (numbers, "fits", lambda call, sql, made: sql, "mul"),
        (texts, "near", lambda position, least: f"({position})::integer", "left"),
        (texts, "_FAR", 50, "right"),
        (times, "_later", lambda t, micros: f"{t} + {times.interval(micros)}", "add"),
        (times, "_SPAN", 2**62, "add"),
        (reading, "_FLOAT_IN_RANGE", reading._FLOAT, "cast"),
        (reading, "_FEW", 10**6, test_scalars.test_texts_are_the_nearest_float_up_to_both_ends_of_its_range),
        (reading, "_TELLING", 20, test_scalars.test_texts_are_the_nearest_float_up_to_both_ends_of_its_range),
        (ordered, "_told_apart", lambda one, other: True, test_patterns.test_three_searches_agree),
        (
            regular,
            "_remembered",
            lambda found, places, before=0: f"({found})[{before + 1}]",
            test_patterns.test_three_searches_agree,
        ),
        (documents, "_IN_ORDER", "TRUE", "json_valid"),
        (documents, "_SIGN", documents._SIGN.replace("[dD][0-7]", "[dD][0-9a-f]"), "json_valid"),
    ],
)
def test_a_planted_fault_is_seen(
    module: object, name: str, fault: object, by: str | Callable[[Host], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, fault)
    assert seen(lambda: _by_the_kit(by) if isinstance(by, str) else _fails(by))


def _differs(op: str, rows: list[Row]) -> Callable[[], bool]:
    term = Apply(op, (Field("a", FLOAT), Field("b", FLOAT)), FLOAT)

    def differs() -> bool:
        with postgres.connect() as connection:
            postgres.load(connection, "t", (("a", FLOAT), ("b", FLOAT)), rows)
            return postgres.evaluated(connection, "t", [term]) != [(evaluate_term(term, row),) for row in rows]

    return differs


def test_a_sum_beyond_all_floats_is_told_from_the_greatest(monkeypatch: pytest.MonkeyPatch) -> None:
    differs = _differs("add", [{"a": 1.7e308, "b": 1.7e308}, {"a": -1.7e308, "b": -1.7e308}, {"a": 1.7e308, "b": 1.0}])
    assert not differs()
    monkeypatch.setattr(floats, "plus", lambda call, a, b, sign="+": f"({a} {sign} {b})")
    assert seen(differs)


def test_half_of_the_least_float_is_told_from_a_little_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that differ only in what rounding takes from them: one in 2^50 of those that small."""
    near = [(1.0 + 2.0**-52, 1.0 - 2.0**-53), (1.0, 1.0), (1.0 + 2.0**-30, 1.0 - 2.0**-30), (1.5, 1.0 - 2.0**-53)]
    rows: list[Row] = [{"a": a * 2.0**-500, "b": b * s * 2.0**-575} for a, b in near for s in (1, -1)]
    told = Apply("mul", (Field("a", FLOAT), Field("b", FLOAT)), FLOAT)
    assert {evaluate_term(told, row) == 0 for row in rows} == {True, False}
    differs = _differs("mul", rows)
    assert not differs()
    for answer in ("TRUE", "FALSE"):
        monkeypatch.setattr(floats, "_above_half", lambda call, left, right, answer=answer: answer)
        assert seen(differs)


def test_what_no_text_there_holds_is_refused() -> None:
    zero = Apply("eq", (Field("x", TEXT), Const("a\x00", TEXT)), BOOL)
    half = Apply("eq", (Field("x", TEXT), Const("\ud800", TEXT)), BOOL)
    plain = Apply("eq", (Field("x", TEXT), Const("a\x01\ue000", TEXT)), BOOL)
    assert [refused(postgres, term) for term in (zero, half, plain)] == [True, True, False]


@pytest.mark.parametrize(
    ("pattern", "group", "no"),
    [
        ("((a)|b)*", 2, True), ("((a)|b)*", 1, False), ("((a)?b)+", 2, True), ("((a)|b){1,2}c", 2, False),
        ("(a)|(b)", 2, False), ("(.{0,300}x){0,3}y", 0, True), (".*?x.{0,40}(y)", 1, False),
    ],
)  # fmt: skip
def test_a_group_that_a_turn_may_pass_over_is_refused(pattern: str, group: int, no: bool) -> None:
    """The server forgets at each turn what an earlier one found."""
    args = (Field("x", TEXT), Const(pattern, TEXT), Const(group, INT))
    assert refused(postgres, Apply("regexp_extract", args, TEXT)) == no
