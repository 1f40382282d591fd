"""The table a person reads."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from privql.finish.text import MOST_ROWS, text_table


def test_numbers_stand_under_each_other_with_their_error_and_the_confidence_once() -> None:
    rows = [["N", 412, 1234.5678], ["S", -3, None], [None, 9, 0.25]]
    halfwidths = [[None, 8.2, 20.13], [None, 8.2, None], [None, 8.2, 19.0]]
    assert text_table(["region", "n", "mean"], rows, halfwidths).splitlines() == [
        "region |       n |      mean",
        "-------+---------+----------",
        "N      | 412 ± 9 | 1235 ± 21",
        "S      |  -3 ± 9 | NULL",
        "NULL   |   9 ± 9 |    0 ± 19",
        "(± at 95%)",
    ]


VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.integers(),
    st.decimals(places=2, allow_nan=False, allow_infinity=False),
)


@given(VALUES, st.floats(1e-6, 1e9))
def test_the_printed_error_never_promises_more_than_the_true_one(value: object, halfwidth: float) -> None:
    line = text_table(["x"], [[value]], [[halfwidth]]).splitlines()[2]
    printed = line.partition("±")[2].strip()
    assert float(printed) >= halfwidth * (1 - 1e-6)


def test_text_from_a_domain_cannot_drive_the_terminal() -> None:
    shown = text_table(["a\nb"], [["\x1b[2J\nrow\u202e"]])
    assert len(shown.splitlines()) == 3
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_what_carries_no_noise_shows_none() -> None:
    assert text_table(["k", "v"], [[True, Decimal("1.50")]]).splitlines()[2] == "true | 1.50"
    assert "∞" in text_table(["v"], [[1]], [[math.inf]])


def test_a_long_table_says_what_it_leaves_out() -> None:
    assert f"({3} more rows are not shown)" in text_table(["v"], [[at] for at in range(MOST_ROWS + 3)])
