"""The same rows, stored otherwise: in another order, as other types, in other files, with other groups of rows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from privql.conformance.rows import Row
from privql.conformance.terms import COLUMNS, hostile_rows
from privql.engines.interface import Source
from privql.kernel.scalars import Value, ValueType

VECTOR = 2048  # rows that the engine takes at once
_DAYS = (-719162, 2932896)  # of the years 1 to 9999, which every format can write
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_WIDEST = 40  # characters of a text, so that 300,000 of them are few megabytes
_UNITS = 1500


def world(random: Random, mild: bool) -> list[Row]:
    """Some hundred rows. `mild`: of numbers that narrower types hold exactly, too."""
    rows = hostile_rows(random, 400)
    for row in rows:
        row["u"] = random.choice((None, *range(1, _UNITS)))
        for name, type in COLUMNS:
            row[name] = _storable(row[name], type, mild)
    return rows


def _storable(value: Value, type: ValueType, mild: bool) -> Value:
    match value:
        case str():
            return value if 0 < len(value) <= _WIDEST and "\x00" not in value else None
        case bool() | None:
            return value
        case int() if type.kind in ("DATE", "TIMESTAMP"):
            day = value if type.kind == "DATE" else value // 86_400_000_000
            return value if _DAYS[0] <= day <= _DAYS[1] else None
        case int():
            return value % 40_000 - 20_000 if mild else value
        case float() if mild:
            narrow = np.float32(value) if abs(value) < 1e38 else np.float32(1 / 3)
            return float(narrow)
    return value


# ---------------------------------------------------------------- what a column may be stored as


def _texts(values: list[Value], type: ValueType) -> pa.Array:
    return pa.array([_text(value, type) for value in values], pa.string())


def _text(value: Any, type: ValueType) -> str | None:
    if value is None:
        return None
    match type.kind:
        case "DATE":
            return datetime.date.fromordinal(_EPOCH + value).isoformat()
        case "TIMESTAMP":
            moment = datetime.datetime.fromordinal(_EPOCH + value // 86_400_000_000)
            return (moment + datetime.timedelta(microseconds=value % 86_400_000_000)).isoformat(" ")
        case "DECIMAL":
            return format(_decimal(value, type), "f")
        case "BOOL":
            return "true" if value else "false"
        case "FLOAT":
            return repr(value)
        case _:
            return str(value)


def _decimal(value: Fraction, type: ValueType) -> Decimal:
    scaled = value * 10**type.scale
    assert scaled.denominator == 1
    return Decimal(f"{scaled.numerator}E-{type.scale}")  # exact, whatever its context's precision


def stored(values: list[Value], type: ValueType, random: Random) -> pa.Array:
    """As one of the types that hold all of them."""
    ways: list[Callable[[], pa.Array]] = [lambda: _texts(values, type)]
    there: list[Any] = [value for value in values if value is not None]
    match type.kind:
        case "INT":
            ways = [lambda: pa.array(values, pa.int64()), *ways, lambda: pa.array(_decimals(values), pa.decimal128(19))]
            for bits, narrow in ((32, pa.int32()), (16, pa.int16())):
                if all(-(2 ** (bits - 1)) <= value < 2 ** (bits - 1) for value in there):
                    ways.append(lambda narrow=narrow: pa.array(values, narrow))
            if all(abs(value) <= 2**53 for value in there):
                ways.append(lambda: pa.array([None if v is None else float(v) for v in values], pa.float64()))
        case "FLOAT":
            wild = random.choice((None, math.nan, math.inf, -math.inf))  # all of them are NULL
            known = [wild if value is None else value for value in values]
            ways.append(lambda: pa.array(known, pa.float64()))
            if all(abs(value) < 1e38 and float(np.float32(value)) == value for value in there):
                ways.append(lambda: pa.array(known, pa.float32()))
        case "DECIMAL":
            written = [None if value is None else _decimal(value, type) for value in values]
            for precision in {type.precision, 38}:
                ways.append(lambda p=precision: pa.array(written, pa.decimal128(p, type.scale)))
        case "BOOL":
            ways.append(lambda: pa.array(values, pa.bool_()))
        case "TEXT":
            ways += [lambda: _texts(values, type).dictionary_encode(), lambda: pa.array(values, pa.large_string())]
        case "DATE":
            ways.append(lambda: pa.array(values, pa.int32()).view(pa.date32()))
        case "TIMESTAMP":
            ways.append(lambda: pa.array(values, pa.int64()).view(pa.timestamp("us")))
    return random.choice(ways)()


def _decimals(values: list[Value]) -> list[Decimal | None]:
    return [None if value is None else Decimal(value) for value in values]


# ---------------------------------------------------------------- where its rows are


def plain(rows: list[Row], which: np.ndarray, folder: Path) -> Source:
    """As one file, as anybody would write it first."""
    return arranged(rows, which, folder / "plain", None)


def arranged(rows: list[Row], which: np.ndarray, folder: Path, random: Random | None) -> Source:
    """`which` of `rows` each row is; where there is a `random`, in another order, as other types, in other files."""
    folder.mkdir(exist_ok=True)
    how = random.choice(("parquet",) * 5 + ("frame",) * 2 + ("csv",)) if random else "parquet"
    columns = {}
    for name, type in COLUMNS:
        values = [row[name] for row in rows]
        columns[name] = _texts(values, type) if how == "csv" else stored(values, type, random or Random(1))
    order = np.random.default_rng(random.getrandbits(64)).permutation(which) if random else which
    table = pa.table(columns).take(pa.array(order))
    if random is None:
        pq.write_table(table, folder / "0.parquet")
        return Source((str(folder / "0.parquet"),))
    if how == "frame":
        return Source(frame=table)
    cuts = sorted(random.sample(range(1, len(order)), random.choice((0, 0, 1, 3))))
    for at, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(order)], strict=True)):
        part = table.slice(begin, end - begin)
        if how == "csv":
            pa.csv.write_csv(part, folder / f"{at}.csv")
            continue
        text = [name for name, type in COLUMNS if type.kind == "TEXT"]
        pq.write_table(
            part,
            folder / f"{at}.parquet",
            row_group_size=random.choice(
                (100, VECTOR - 1, VECTOR, 3000, 2**20) if len(order) < 10**5 else (5000, 2**17)
            ),
            use_dictionary=random.choice((True, False, text)),
            compression=random.choice(("none", "snappy")),
        )
    return Source((str(folder / f"*.{how}"),))
