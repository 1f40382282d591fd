"""NaN and the infinities are NULL, so that a key which holds one is none: another NULL is refused there, too."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import privql
from privql.diagnostics import PrivQLError

POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE doses (patient INT UNIT patient, dose FLOAT, KEY (patient, dose)) AT MOST 5 ROWS PER UNIT;
CREATE BUDGET research FOR UNIT patient EPSILON 100;
"""
COUNT = "SELECT COUNT(*) FROM doses SPEND EPSILON 50"


def counted(*doses: float | None) -> None:
    rows = pa.table({"patient": [1] * len(doses), "dose": pa.array(doses, pa.float64())})
    with privql.connect(policy=POLICY, frames={"doses": rows}, analyst="mallory") as session:
        session.run(COUNT)


@pytest.mark.parametrize("dose", [math.nan, math.inf, -math.inf, None])
def test_what_is_no_number_breaks_a_key_as_any_null_does(dose: float | None) -> None:
    counted(1.0, 2.0)
    with pytest.raises(PrivQLError, match="PQL0603"):
        counted(1.0, dose)
