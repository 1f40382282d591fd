"""What only a rule can make, in the manner of an LCF prover: who holds one holds its proof.

A rule shows `RULE` each time, for what is made from nothing and for what `dataclasses.replace` makes of another. Rules
are functions of this room; `tests/kernel` sees to it that no other has it.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

RULE = object()


class Unproved(Exception):
    """A term for which there is no rule. Never the fault of the data: it says that a plan is wrong."""


def proved(given: object, claim: type[Proved]) -> None:
    """What a rule is given is what another rule made, and nothing that only looks like it."""
    if type(given) is not claim:
        raise Unproved(f"this is no {claim.__name__} that a rule has made")


@dataclass(frozen=True, slots=True)
class Proved:
    """With its proof: `why` is the rule that made it, and what that was given (`derivation` writes all of it down)."""

    by: InitVar[object] = field(kw_only=True)
    why: tuple[str, tuple[Proved, ...]] = field(kw_only=True, compare=False, repr=False)

    def __post_init__(self, by: object) -> None:
        if by is not RULE:
            raise Unproved("what is proved is made by a rule, not by hand")
