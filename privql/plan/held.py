"""What the engine holds of one unit's rows at once, for a quantile, a mode or a text of many: bounded beforehand.

Whatever goes row by row takes time for each. But these hold all values, and over a frame that moves they do so for each
row again: one unit with enough rows would show by the memory that it takes. Where the
frame is the same, they are held once, but carried along by each row; and the most frequent is looked for by each.
"""

from __future__ import annotations

from collections.abc import Iterable

from privql.kernel import rules
from privql.kernel.features import Feature, Mode, Over, Quantile, Splice, WindowCall
from privql.kernel.stable import Stable

VALUES = 1_000_000  # of a unit
TEXTS = 10_000
FRAMED = 3_000  # rows whose frames differ: 4,500,000 values at most
SHARED = 10_000  # rows that all have the same values beside them
_HELD = (Quantile, Mode, Splice)


def of_groups(below: Stable, features: Iterable[Feature]) -> Stable:
    kinds = {_text(feature) for feature in features if isinstance(feature, _HELD)}
    return _cut(below, TEXTS if True in kinds else VALUES) if kinds else below


def of_windows(below: Stable, calls: Iterable[WindowCall]) -> Stable:
    held = [(call.feature, call.frame) for call in calls if isinstance(call, Over) and isinstance(call.feature, _HELD)]
    if any(frame is not None or isinstance(feature, Mode) for feature, frame in held):
        return _cut(below, FRAMED)
    return _cut(below, SHARED) if held else below


def _text(feature: Quantile | Mode | Splice) -> bool:
    return isinstance(feature, Splice) or feature.value.type.kind == "TEXT"


def _cut(below: Stable, most: int) -> Stable:
    return below if below.rows is not None and below.rows <= most else rules.keep_rows(below, most)
