"""No operation tells a FLOAT zero from the one below zero, so it is no matter which of two rows is kept."""

from __future__ import annotations

from random import Random

import pytest

from privql.conformance.pools import Call, calls, some_value
from privql.functions.scalar import evaluate, resolve_cast
from privql.kernel.scalars import FLOAT, TEXT, Value

OF_FLOATS = [call for call in calls() if FLOAT in call.resolved.arg_types]


@pytest.mark.parametrize("call", OF_FLOATS, ids=str)
def test_zeros_of_both_signs_are_one(call: Call) -> None:
    random, types = Random(str(call)), call.resolved.arg_types
    for _ in range(30):
        for at in [place for place, type in enumerate(types) if type == FLOAT and place not in call.fixed]:
            given = [call.fixed.get(place, some_value(type, random)) for place, type in enumerate(types)]
            found: list[Value] = []
            for zero in (0.0, -0.0):
                given[at] = zero
                found.append(evaluate(call.resolved.op, types, call.resolved.result, tuple(given)))
            assert found[0] == found[1], given


def test_a_float_is_not_written_as_text() -> None:
    assert resolve_cast(FLOAT, TEXT) is None
