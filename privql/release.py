"""From a permit and a proof to noisy integers: the only place where exact sums and noise meet.

Trusted. The permit says what was charged; what the kernel proved the measurements to cost must fit in it, unit by
unit. The exact sums live in this function alone and are never shown, stored or logged.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privql.engines.interface import Engine
from privql.kernel.measure import Measured
from privql.kernel.terms import cells
from privql.ledger import Permit
from privql.noise.laplace import discrete_laplace


class Unpaid(Exception):
    """A measurement that its permit does not cover: a fault of the plan, never of the data."""


def release(permit: Permit, measured: Sequence[Measured], engine: Engine) -> list[list[list[int]]]:
    """For each measurement and each of its groups, the noisy cells."""
    if type(permit) is not Permit:
        raise Unpaid("a measurement needs a permit")
    _covered(permit, measured)
    return [_noisy(one, engine) for one in measured]


def _covered(permit: Permit, measured: Sequence[Measured]) -> None:
    paid: dict[str, Fraction] = {}
    for line in permit.charges:
        paid[line.unit] = paid.get(line.unit, Fraction(0)) + line.cost.epsilon
    for one in measured:
        if type(one) is not Measured:
            raise Unpaid("only what the kernel proved can be measured")
        paid[one.unit.name] = paid.get(one.unit.name, Fraction(0)) - one.cost.epsilon
    if any(left < 0 for left in paid.values()):
        raise Unpaid("the measurements cost more than was charged")


def _noisy(measured: Measured, engine: Engine) -> list[list[int]]:
    term = measured.term
    exact = engine.run(term, secrets.token_bytes(16))
    columns: list[Any] = []
    at = 0
    for part in measured.parts:
        width = cells(part.contribution)
        noise = discrete_laplace(part.scale, term.groups * width)
        columns.append(
            np.asarray(exact, dtype=object)[:, at : at + width] + noise.astype(object).reshape(term.groups, width)
        )
        at += width
    return [list(row) for row in np.concatenate(columns, axis=1)]
