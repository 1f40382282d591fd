"""Features of a value that is written out: it is the same in every row, and puts none before another."""

from __future__ import annotations

import pytest

from privql.kernel.features import Mode, Quantile
from privql.kernel.scalars import BOOL, INT, TEXT, Apply, Const, Field
from privql.kernel.terms import Filter, Gather
from tests.engines.test_related import asked, scan


@pytest.mark.parametrize(
    "feature", [Mode(Const("a", TEXT)), Mode(Const(True, BOOL)), Quantile(Const(True, BOOL), 0.5, "BELOW")]
)
def test_of_a_constant_there_is_a_mode_and_a_quantile(feature: Mode | Quantile) -> None:
    value = feature.value
    found = Filter(
        Gather(scan(("x", INT)), (("k", Field("x", INT)),), (("c", feature),)),
        Apply("eq", (Field("c", value.type), value), BOOL),
    )
    assert asked({"u": [1, 1, 2], "x": [3, 3, 4]}, found) == [2]
