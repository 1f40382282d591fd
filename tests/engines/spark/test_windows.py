"""Windows on Spark that reach far: it counts places in 31 bits, the language in 63."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privql.audit import reference
from privql.kernel.features import Frame, Neighbour, Order, Over, Tally
from privql.kernel.scalars import INT, Const, Field
from privql.kernel.sums import Key, Sums
from privql.kernel.terms import Scan, Unit, Window, WindowCall
from tests.engines.small import SALT
from tests.engines.spark.local import engine

ROWS = [{"u": at % 2, "x": at // 4, "y": at} for at in range(24)]
FAR = (-(2**62), -(2**31), -(2**30), 2**31 - 1, 2**41, 2**62)
FRAMES = [Frame(by, 1, end) for by in ("ROWS", "GROUPS") for end in FAR if end > 0]
FRAMES += [Frame(by, start, 0) for by in ("ROWS", "GROUPS") for start in FAR if start < 0]
FRAMES += [Frame("ROWS", 2**41, 2**42), Frame("GROUPS", -(2**42), -(2**41))]


def agree(call: WindowCall, spark: Any, folder: Path) -> None:
    scan = Scan("t", Unit("person"), ("u", INT), False, (("x", INT), ("y", INT)))
    window = Window(scan, (), (Order(Field("x", INT)),), (("c", call),))
    sums = Sums(window, (Key(Field("c", INT), (*range(25), None)),), (Tally(),))
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "t.parquet")
    with engine(spark, {"t": folder / "t.parquet"}) as opened:
        assert opened.run(sums, SALT).tolist() == reference.run(sums, {"t": ROWS}, SALT)


@pytest.mark.parametrize("frame", FRAMES, ids=str)
def test_a_frame_may_reach_beyond_all_rows(frame: Frame, spark: Any, tmp_path: Path) -> None:
    agree(Over(Tally(), frame), spark, tmp_path)


@pytest.mark.parametrize("before", [far for far in FAR if abs(far) >= 2**31] + [3])
def test_there_is_no_neighbour_so_far_away(before: int, spark: Any, tmp_path: Path) -> None:
    agree(Neighbour(Field("y", INT), before, Const(7, INT)), spark, tmp_path)
