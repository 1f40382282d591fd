"""Faults to be planted, so that an audit is seen to find them: each is real, and is put in where something is handed
to what is audited - what samples, what computes, what is claimed. Nothing of the house knows of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from privql.audit.claims import Claim
from privql.audit.exact import Through, terms_of
from privql.check.conditions import also, present
from privql.engines.interface import NO_PUBLICS, Computing, EngineError, Publics
from privql.frozen import frozen, inside, rebuilt
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.picks import Way
from privql.kernel.places import Runs
from privql.kernel.ranks import Ranks
from privql.kernel.scalars import Apply
from privql.kernel.selection import Count, Keep, Selected
from privql.kernel.sums import Balance, Contribution, Keys, Sums, cells
from privql.kernel.terms import KeepRows, UnitPart
from privql.release import EXACT, Samplers, Wanted

_T = TypeVar("_T")
LESS = Fraction(4, 5)
_FAR = 2**45


@frozen
class Fault:
    name: str
    says: str
    samplers: Samplers = EXACT
    claims: Callable[[Sequence[Claim]], tuple[Claim, ...]] = tuple
    lies: Callable[[Computing], Computing] | None = None  # puts an engine into one that does not keep to the term
    where: Callable[[Sequence[Wanted]], bool] = lambda wanted: True  # whether there is anything for it to spoil

    def engine(self, engine: Computing) -> Computing:
        """The same engine, or one that does what this fault says."""
        return engine if self.lies is None else self.lies(engine)

    def meaning(self, reference: Computing) -> Computing:
        """What the term means that is then run."""
        return self.engine(reference) if self.lies is not _Failing else reference


class LessNoise(Samplers):
    """`part` of what should be drawn."""

    def __init__(self, part: Fraction) -> None:
        self.part = part

    def laplace(self, scale: Fraction, size: int) -> Any:
        return super().laplace(scale * self.part, size)

    def gaussian(self, sigma: Fraction, size: int) -> Any:
        return super().gaussian(sigma * self.part, size)

    def exponential(self, runs: Runs, exponent: Fraction) -> int:
        return super().exponential(runs, exponent / self.part)

    def minimum(self, scores: Sequence[int], scale: Fraction) -> int:
        return super().minimum(scores, scale * self.part)

    def picked(self, counts: Sequence[int], picks: int, way: Way, exponent: Fraction) -> list[int]:
        return super().picked(counts, picks, way, exponent / self.part)

    def kept(self, units: Sequence[int], law: Keep) -> Sequence[bool]:
        return super().kept(units, replace(law, epsilon=law.epsilon / self.part))

    def counted(self, units: Sequence[int], law: Count) -> Sequence[int | None]:
        found = super().counted(units, replace(law, epsilon=law.epsilon / self.part))
        return [None if number is None or number <= law.reach else number for number in found]


class MoreThanThere(Samplers):
    """Groups are kept as if more units were in them."""

    def kept(self, units: Sequence[int], law: Keep) -> Sequence[bool]:
        return super().kept([number + law.even for number in units], law)

    def counted(self, units: Sequence[int], law: Count) -> Sequence[int | None]:
        return super().counted([number + law.reach for number in units], law)


class _Rewritten(Through, ABC):
    """It computes another term than it was asked for."""

    @abstractmethod
    def _instead(self, node: Any) -> Any:
        """What stands in the place of a record of the term; None: the same."""

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Any:
        return self._engine.run(rebuilt(sums, self._instead), salt, publics)

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> Any:
        return self._engine.ranks(rebuilt(ranks, self._instead), salt, publics)

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> Any:
        return self._engine.groups(rebuilt(keys, self._instead), salt, publics)


class _WithoutLimit(_Rewritten):
    """A unit's rows all count, however many they are."""

    def _instead(self, node: Any) -> Any:
        return rebuilt(node.input, self._instead) if isinstance(node, KeepRows) else None


class _WithoutParts(_Rewritten):
    """Rows count in whatever part they are, not in that of their unit."""

    def _instead(self, node: Any) -> Any:
        return node.input if isinstance(node, UnitPart) else None


class _WithoutClamp(Through):
    """Bounds are not enforced, neither those of a declaration nor those of a sum: Σ(s - low) of any s there is."""

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Any:
        asked = replace(
            sums,
            input=rebuilt(sums.input, _unclamped),
            contributions=tuple(each for one in sums.contributions for each in _wide(one)),
        )
        found = np.array(self._engine.run(asked, salt, publics), dtype=object)
        columns, at = [], 0
        for one in sums.contributions:
            width = cells(one)
            here = found[:, at : at + width]
            if isinstance(one, Balance):
                total, many = here[:, 0], here[:, 1]
                here = np.stack([total - one.steps.low * many, one.steps.high * many - total], axis=1)
            columns.append(here)
            at += width
        return np.concatenate(columns, axis=1)


def _wide(one: Contribution) -> tuple[Contribution, ...]:
    match one:
        case Total(steps=steps):
            return (replace(one, steps=_endless(steps)),)
        case Balance(steps=steps, where=where):
            return Total(_endless(steps), where), Tally(also(where, present(steps.value)))
        case _:
            return (one,)


def _endless(steps: Steps) -> Steps:
    return replace(steps, value=rebuilt(steps.value, _unclamped), low=-_FAR, high=_FAR)


def _unclamped(node: Any) -> Any:
    match node:
        case Apply(op="clamp", args=(value, *_), type=type) if value.type == type:
            return rebuilt(value, _unclamped)
        case _:
            return None


class _Failing(Through):
    """It cannot bear an odd number: of the cells together, of units or of values."""

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Any:
        found = self._engine.run(sums, salt, publics)
        return _even(found, int(found.sum()))

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> Any:
        found = self._engine.ranks(ranks, salt, publics)
        return _even(found, sum(number for number, _ in found))

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> Any:
        found = self._engine.groups(keys, salt, publics)
        return _even(found, sum(number for _, number in found))


def _even(found: Any, numbers: int) -> Any:
    if numbers % 2:
        raise EngineError("failed")
    return found


def _has(kind: type) -> Callable[[Sequence[Wanted]], bool]:
    return lambda wanted: any(True for term in terms_of(wanted) for _ in found_in(kind, term))


def _summing(wanted: Sequence[Wanted]) -> bool:
    sums = [term for term in terms_of(wanted) if isinstance(term, Sums)]
    return any(isinstance(each, (Total, Balance)) for one in sums for each in one.contributions)


def found_in(kind: type[_T], node: Any) -> Iterator[_T]:
    """All records of a kind in a term."""
    if isinstance(node, kind):
        yield node
    for part in inside(node):
        yield from found_in(kind, part)


FAULTS = {
    fault.name: fault
    for fault in (
        Fault("noise", "four fifths of the noise", LessNoise(LESS)),
        Fault(
            "sensitivity",
            "half of each Δ claimed, and noise for no more",
            LessNoise(Fraction(1, 2)),
            lambda claims: tuple(claim.halved for claim in claims),
        ),
        Fault("clamp", "values beyond their bounds are summed as they are", lies=_WithoutClamp, where=_summing),
        Fault(
            "rows",
            "all rows of a unit count, however many may",
            lies=_WithoutLimit,
            where=_has(KeepRows),
        ),
        Fault(
            "parts", "rows count in their own part, and not in their unit's", lies=_WithoutParts, where=_has(UnitPart)
        ),
        Fault(
            "groups",
            "groups of one unit are shown",
            MoreThanThere(),
            where=lambda wanted: any(isinstance(one, Selected) for one in wanted),
        ),
        Fault("failure", "the engine fails on some rows", lies=_Failing),
    )
}
NO_FAULT = Fault("", "")
