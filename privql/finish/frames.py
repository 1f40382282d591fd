"""A release as pandas frames: its values, and the intervals around those that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from privql.finish.writing import to_decimal
from privql.kernel.scalars import Value, ValueType

if TYPE_CHECKING:
    from privql.finish.result import Release

    Series = pd.Series[Any]
else:
    Series = pd.Series

Moments = npt.NDArray[np.datetime64]
_NOT_A_TIME = np.iinfo(np.int64).min


def frame(release: Release) -> pd.DataFrame:
    columns = [(column.name, column.type) for column in release.columns]
    made = _frame(columns, [[row[at] for row in release.rows] for at in range(len(columns))], len(release.rows))
    if release.dummy:
        made.attrs["dummy"] = True
    return made


def interval_frame(release: Release, confidence: Fraction) -> pd.DataFrame:
    columns: list[tuple[str, ValueType]] = []
    values: list[list[Value]] = []
    spreads = release.computed_spreads(confidence)
    for at, column in enumerate(release.columns):
        if column.law is None and at not in spreads:
            continue
        columns += [(f"{column.name}_low", column.type), (f"{column.name}_high", column.type)]
        found = release.ends(at, confidence)
        pairs = [(None, None) if pair is None else pair for pair in found]
        values += [[low for low, _ in pairs], [high for _, high in pairs]]
    return _frame(columns, values, len(release.rows))


def _frame(columns: Sequence[tuple[str, ValueType]], values: Sequence[Sequence[Value]], rows: int) -> pd.DataFrame:
    """By position, since two columns may have one name."""
    series = {at: _series(values[at], type) for at, (_, type) in enumerate(columns)}
    made = pd.DataFrame(series, index=pd.RangeIndex(rows))
    made.columns = pd.Index([name for name, _ in columns], dtype=object)
    return made


def _series(values: Sequence[Any], type: ValueType) -> Series:
    match type.kind:
        case "INT" if all(v is None or -(1 << 63) <= v < 1 << 63 for v in values):
            return pd.Series(pd.array(list(values), dtype="Int64"))
        case "FLOAT":
            return pd.Series(np.array([np.nan if v is None else v for v in values], dtype=np.float64))
        case "BOOL":
            return pd.Series(pd.array(list(values), dtype="boolean"))
        case "DECIMAL":
            scaled = [to_decimal(v, type.scale) if isinstance(v, Fraction) else v for v in values]
            return pd.Series(scaled, dtype=object)
        case "DATE":
            return pd.Series(_moments(values, "D").astype("datetime64[s]"))
        case "TIMESTAMP":
            return pd.Series(_moments(values, "us"))
        case "TEXT":
            return pd.Series(list(values), dtype=None if any(v is not None for v in values) else object)
        case _:
            return pd.Series(list(values), dtype=object)


def _moments(values: Iterable[Value], unit: str) -> Moments:
    counts = [_NOT_A_TIME if value is None else value for value in values]
    return np.array(counts, dtype=np.int64).view(f"datetime64[{unit}]")
