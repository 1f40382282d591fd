"""What the engine holds of one unit's rows at once, for a quantile, a mode or a text of many: bounded beforehand.

Whatever goes row by row takes time for each. But these hold all values, and beside each row of a window those of its
frame: one unit with enough of them would show by the memory that it takes, and where there is too little of it, by a
query that fails. So what all of a query's groups, or windows, hold together has a bound in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from privql.functions.scalar.text import LONGEST
from privql.kernel import rules
from privql.kernel.features import Feature, Frame, Mode, Over, Quantile, Splice, WindowCall
from privql.kernel.scalars import Apply, Const, Scalar
from privql.kernel.stable import Stable

BYTES = 2**27  # of a unit
VALUES = 1_000_000
FRAMED = 3_000  # rows whose frames differ: 4,500,000 values at most
_HELD = (Quantile, Mode, Splice)
_VALUE, _CHARACTER = 8, 4  # bytes; a DECIMAL has two values', a text its characters' beside its own


def of_groups(below: Stable, features: Iterable[Feature]) -> Stable:
    held = {_listed(feature): _width(feature) for feature in features if isinstance(feature, _HELD)}
    return _cut(below, min(VALUES, max(1, BYTES // sum(held.values())))) if held else below


def of_windows(below: Stable, calls: Iterable[WindowCall]) -> Stable:
    held = [(call.feature, call.frame) for call in calls if isinstance(call, Over) and isinstance(call.feature, _HELD)]
    if not held:
        return below
    # where the frame is the same they are held once, but carried along by each row; and the most frequent is looked
    # for by each
    framed = any(frame is not None or isinstance(feature, Mode) for feature, frame in held)
    lists = {(_listed(of), frame): (_width(of), _rows(frame)) for of, frame in held}
    return _cut(below, _beside(FRAMED if framed else VALUES, [*lists.values()]))


def _beside(most: int, held: Sequence[tuple[int, int | None]]) -> int:
    """So many rows, if what they have beside them comes to no more."""

    def fits(rows: int) -> bool:
        return rows * sum(width * min(rows, frame or rows) for width, frame in held) <= BYTES

    least = 1
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle) else (least, middle - 1)
    return least


def _rows(frame: Frame | None) -> int | None:
    if frame is None or frame.by != "ROWS" or frame.start is None or frame.end is None:
        return None
    return max(frame.end - frame.start + 1, 1)


def _listed(feature: Quantile | Mode | Splice) -> object:
    """What is held for it: the same values once, for however many places among them are wanted."""
    return feature if isinstance(feature, Splice) else (feature.value, feature.where)


def _width(feature: Quantile | Mode | Splice) -> int:
    if isinstance(feature, Splice):
        put_in_order = sum(_bytes(order.value) for order in feature.order)
        return _bytes(feature.value) + _CHARACTER * len(feature.separator) + put_in_order
    return _bytes(feature.value)


def _bytes(value: Scalar) -> int:
    match value.type.kind:
        case "TEXT":
            return 2 * _VALUE + _CHARACTER * _characters(value)
        case "DECIMAL":
            return 2 * _VALUE
        case _:
            return _VALUE


def _characters(text: Scalar) -> int:
    """How many it has at most, being no longer than texts that are made may be."""
    match text:
        case Apply(op="left", args=(whole, _)):
            return _characters(whole)
        case Const(value=str() as written):
            return len(written)
        case Apply(op="cast", args=(number,)) if number.type.kind != "TEXT":
            return 64  # more than any number, date or time is written with
        case _:
            return LONGEST


def _cut(below: Stable, most: int) -> Stable:
    return below if below.rows is not None and below.rows <= most else rules.keep_rows(below, most)
