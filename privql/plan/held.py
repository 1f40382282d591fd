"""What the engine holds of one unit's rows at once, for a quantile, a mode or a text of many: bounded beforehand.

Whatever goes row by row takes time for each. But these hold all values, and beside each row of a window those of its
frame: one unit with enough of them would show by the memory that it takes, and where there is too little of it, by a
query that fails. So what all of a query's groups, or windows, hold together has a bound in bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable

from privql.kernel.features import Feature, Frame, Mode, Over, Quantile, Splice, WindowCall
from privql.kernel.scalars import Scalar
from privql.kernel.stable import Stable
from privql.plan.lengths import CHARACTER, VALUE, text_bytes
from privql.plan.meetings import cut

BYTES = 2**27  # of a unit
VALUES, TEXTS = 1_000_000, 10_000  # rows, however few bytes they come to
FRAMED = 3_000  # rows whose frames differ: 4,500,000 values at most
_HELD = (Quantile, Mode, Splice)


def of_groups(below: Stable, features: Iterable[Feature]) -> Stable:
    held = [feature for feature in features if isinstance(feature, _HELD)]
    if not held:
        return below
    most = TEXTS if any(isinstance(one, Splice) or one.value.type.kind == "TEXT" for one in held) else VALUES
    lists = {_listed(one): _width(one) for one in held}
    return cut(below, min(most, max(1, BYTES // sum(lists.values()))))


def of_windows(below: Stable, windows: Iterable[Iterable[WindowCall]]) -> Stable:
    """The calls of each window; what two of them hold is held twice, even if it is the same."""
    held = [
        (window, call.feature, call.frame)
        for window, calls in enumerate(windows)
        for call in calls
        if isinstance(call, Over) and isinstance(call.feature, _HELD)
    ]
    if not held:
        return below
    # where the frame is the same they are held once, but carried along by each row; and the most frequent is looked
    # for by each
    framed = any(frame is not None or isinstance(feature, Mode) for _, feature, frame in held)
    lists = {(window, _listed(of), frame): (_width(of), _rows(frame)) for window, of, frame in held}
    return cut(below, _beside(FRAMED if framed else VALUES, lists.values()))


def _beside(most: int, held: Collection[tuple[int, int | None]]) -> int:
    """As many rows, of `most`, as have no more beside them than may be held; at least one."""

    def beside(rows: int) -> int:
        return rows * sum(width * min(rows, frame or rows) for width, frame in held)

    return max(1, bisect_right(range(1, most + 1), BYTES, key=beside))


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
        return _bytes(feature.value) + CHARACTER * len(feature.separator) + put_in_order
    return _bytes(feature.value)


def _bytes(value: Scalar) -> int:
    match value.type.kind:
        case "TEXT":
            return text_bytes(value, {})
        case "DECIMAL":
            return 2 * VALUE
        case _:
            return VALUE
