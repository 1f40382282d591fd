"""Values that tell one plan from another: the ends of a domain, what is beyond, and what a query compares with."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privql.domains import Domain
from privql.frozen import inside as records
from privql.kernel.scalars import Apply, Const, Value, ValueType
from privql.kernel.sums import Key, Listed

_EDGE = 2**63
_FEW = 6  # of a list, or of what a query compares with
_INSIDE = 24  # drawn from between two bounds
_DAY = 86_400_000_000
_USUAL: Mapping[str, tuple[int, int]] = {  # where a declaration says no bounds
    "INT": (0, 100),
    "FLOAT": (0, 100),
    "DECIMAL": (0, 100),
    "DATE": (19_000, 20_700),
    "TIMESTAMP": (19_000 * _DAY, 20_700 * _DAY),
}
_WORDS = ("", "amber", "Amber", " amber", "é", "e\u0301")

Known = Mapping[str, Sequence[Value]]  # by the kind of type: what a query compares with


def inside(
    type: ValueType, domain: Domain, known: Known, likely: Sequence[Value], choice: random.Random
) -> Iterator[Value]:
    """Some that are meant, drawn, and some beside what a query compares with: where it asks for none that it names."""
    compared = known.get(type.kind, ())
    if type.kind == "TEXT":
        yield from (one.replace("%", "amber").replace("_", "a") for one in compared if isinstance(one, str))
    if domain.values or type.kind not in _USUAL:
        yield from (choice.choice(likely) for _ in range(_INSIDE))
        return
    least, greatest = map(Fraction, _USUAL[type.kind])
    low, high = domain.low if domain.low is not None else least, domain.high if domain.high is not None else greatest
    if domain.low is None or domain.high is None:
        low, high = min(low, high), max(low, high)
    grid = domain.grid or (high - low) / 1000 or Fraction(1)
    drawn = [low + choice.randrange(int((high - low) / grid) + 1) * grid for _ in range(_INSIDE)]
    near = [Fraction(one) + by for one in compared if isinstance(one, (int, float, Fraction)) for by in (-grid, grid)]
    as_value: Callable[[Fraction], Value] = {"FLOAT": float, "DECIMAL": Fraction}.get(type.kind, int)
    yield from (as_value(one) for one in (*drawn, *near) if type.kind not in ("INT", "DATE") or abs(one) < _EDGE)


def pool(type: ValueType, domain: Domain, known: Known, listed: Sequence[Value] | None) -> Iterable[Value]:
    """What a column may hold that tells one plan from another: its ends, what is beyond, nothing at all."""
    values: list[Value] = []
    members = listed if listed is not None else domain.values
    if members:
        values += _spread(members)
    low, high = domain.low, domain.high
    grid = domain.grid or Fraction(1)
    numbers = [end for end in (low, high) if end is not None]
    if low is not None and high is not None:
        numbers.append((low + high) / 2 // grid * grid)
    numbers += [end + by for end in (low, high) if end is not None for by in (-grid, grid)]
    compared = [Fraction(v) for v in known.get(type.kind, ()) if isinstance(v, (int, float, Fraction))]
    match type.kind:
        case "BOOL":
            values += [True, False]
        case "TEXT":
            values += [*(v for v in known.get("TEXT", ()) if v is not None), *_WORDS]
        case "INT":
            whole = [*numbers, *compared, *(c + by for c in compared for by in (-1, 1)), Fraction(0), Fraction(1)]
            values += [*(int(n) for n in whole if -_EDGE <= n < _EDGE), -_EDGE, _EDGE - 1]
        case "FLOAT":
            near = [*(float(n) for n in (*numbers, *compared)), 0.0, 1.0]
            values += [*near, -0.0, 0.5, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf]
        case "DECIMAL":
            step, most = Fraction(1, 10**type.scale), Fraction(10**type.precision - 1, 10**type.scale)
            exact = [*numbers, *compared, Fraction(0), Fraction(1), step, most, -most]
            values += [min(max(n // step * step, -most), most) for n in exact]
        case "DATE":
            values += _moments([*numbers, *compared], 1, 19_780)
        case "TIMESTAMP":
            values += _moments([*numbers, *compared], 86_400_000_000, 19_780 * 86_400_000_000)
        case _:
            pass
    yield from {repr(value): value for value in (*values, None)}.values()


def _moments(numbers: Sequence[Fraction], day: int, some: int) -> list[Value]:
    """Within the calendar, on days around those that count."""
    near = [int(n) + by for n in numbers for by in (0, -day, day)]
    return [n for n in (*near, some, some + 31 * day, 0) if -700_000 * day < n < 2_900_000 * day]


def _spread(values: Sequence[Value]) -> list[Value]:
    """The ends of a list, and some between."""
    if len(values) <= _FEW:
        return list(values)
    return [values[at * (len(values) - 1) // (_FEW - 1)] for at in range(_FEW)]


def compared(terms: Iterable[Any], publics: Iterable[tuple[ValueType, Sequence[Value]]] = ()) -> Known:
    """The constants of terms, the groups that they list, and what public rows hold: by kind of type, some of each."""
    found: dict[str, dict[Value, None]] = {}

    def note(type: ValueType, values: Sequence[Value]) -> None:
        found.setdefault(type.kind, {}).update(dict.fromkeys(v for v in _spread(values) if v is not None))

    todo: list[Any] = list(terms)
    while todo:
        node = todo.pop()
        match node:
            case Const(value=value, type=type):
                note(type, [value])
            case Apply(op="in", args=(value, *members)) if all(isinstance(one, Const) for one in members):
                note(value.type, [one.value for one in members if isinstance(one, Const)])
                todo.append(value)
                continue
            case Key(value=value, members=members):
                note(value.type, members)
            case Listed(values=values, members=members):
                for at, value in enumerate(values):
                    note(value.type, [member[at] for member in members])
            case _:
                pass
        todo.extend(records(node))
    for type, some in publics:
        note(type, some)
    return {kind: tuple(values)[: 4 * _FEW] for kind, values in found.items()}
