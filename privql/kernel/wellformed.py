"""What a term must be before a rule speaks of it: it reads what is there, and what is clamped fits its sum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from privql.kernel.features import (
    FACTOR_LIMIT,
    STEP_LIMIT,
    Bits,
    Different,
    Extreme,
    Feature,
    Frame,
    Mode,
    Moment,
    Neighbour,
    Nth,
    Order,
    Over,
    Quantile,
    Rank,
    Splice,
    Steps,
    Tally,
    Total,
    WindowCall,
)
from privql.kernel.proved import Unproved
from privql.kernel.scalars import INT, TEXT, Scalar, fields
from privql.kernel.sums import Balance, Contribution, Hats, Powers
from privql.kernel.terms import Public

Columns = frozenset[str]


def reads(value: Scalar | None, columns: Columns) -> None:
    """A row function may read the columns of its row and nothing else."""
    if value is not None and not fields(value) <= columns:
        raise Unproved("a row function reads a column that its relation does not have")


def feature(made: Feature | Contribution, columns: Columns) -> None:
    reads(made.where, columns)
    match made:
        case Total(steps=steps) | Balance(steps=steps):
            _stepped(steps, columns)
        case Extreme(value=value) | Different(value=value) | Mode(value=value):
            reads(value, columns)
        case Bits(value=value):
            reads(value, columns)
            if value.type != INT:
                raise Unproved("only an INT has bits")
        case Quantile(value=value, share=share):
            reads(value, columns)
            if not 0 <= share <= 1:
                raise Unproved("a share lies between 0 and 1")
        case Splice(value=value, order=order):
            reads(value, columns)
            ordered(order, columns)
            if value.type != TEXT:
                raise Unproved("only texts are put one after the other")
        case Moment(factors=factors):
            if not 1 <= len(factors) <= 2:
                raise Unproved("a moment has one factor or two")
            most = STEP_LIMIT if len(factors) == 1 else FACTOR_LIMIT
            for steps in factors:
                _stepped(steps, columns)
                if steps.high - steps.low > most:
                    raise Unproved("one factor has at most 2^62 steps, and each of two 2^40")
        case Powers(factors=powers):
            if not 1 <= len(powers) <= 2 or not all(1 <= degree <= 2 for _, degree in powers):
                raise Unproved("powers have one factor or two, of degree 1 or 2")
            for steps, _ in powers:
                _stepped(steps, columns)
            if made.whole > STEP_LIMIT:
                raise Unproved("the cells of a row hold at most 2^62")
        case Hats(steps=steps, far=far):
            _stepped(steps, columns)
            if steps.low != 0 != steps.high or far < 2 or far & (far - 1):
                raise Unproved("knots are on one side of 0, and the last of two or more is a power of two")
        case Tally():
            pass
        case _:
            assert_never(made)


def _stepped(steps: Steps, columns: Columns) -> None:
    reads(steps.value, columns)
    if steps.grid <= 0 or not -STEP_LIMIT <= steps.low <= steps.high <= STEP_LIMIT:
        raise Unproved("steps must be clamped within ±2^62")


def call(made: WindowCall, columns: Columns) -> None:
    match made:
        case Rank():
            pass
        case Neighbour(value=value, default=default):
            reads(value, columns)
            reads(default, columns)
        case Over(feature=over, frame=frame):
            feature(over, columns)
            _framed(frame)
        case Nth(value=value, place=place, frame=frame):
            reads(value, columns)
            _framed(frame)
            if place < 1 and place != -1:
                raise Unproved("places of a frame are counted from 1; -1 is the last")
        case _:
            assert_never(made)


def _framed(frame: Frame | None) -> None:
    edges = () if frame is None else (frame.start, frame.end)
    if any(abs(edge) > STEP_LIMIT for edge in edges if edge is not None):
        raise Unproved("a frame's edges are within ±2^62")


def ordered(order: tuple[Order, ...], columns: Columns) -> None:
    for each in order:
        reads(each.value, columns)


def named(names: Iterable[str]) -> Columns:
    listed = tuple(names)
    if len(set(listed)) != len(listed):
        raise Unproved("two columns of one name")
    return frozenset(listed)


def named_by(public: Public) -> Columns:
    return named(name for name, _ in public.columns)
