"""Why the ledger refuses: each error is one sentence that depends on query, policy and ledger, never on the data."""

from __future__ import annotations

from typing import Literal, assert_never

from privql.kernel.cost import Cost

Reason = Literal["budget", "grant", "max per query", "no grant", "no budget"]


class LedgerError(Exception):
    """The ledger cannot do what was asked. Nothing was released by the call that raised it."""


class NoLedger(LedgerError):
    """There is none at this address yet."""


class StalePolicy(LedgerError):
    """The query was checked against another version of the policy than the one in force."""


class NameTaken(LedgerError):
    """The analyst has another release of that name."""

    def __init__(self, name: str, release: str, forgotten: bool = False) -> None:
        if forgotten:
            super().__init__(f"you had a release named `{name}` ({release}), which was forgotten: a name never moves")
        else:
            super().__init__(f"you have another release named `{name}` ({release}): a release never changes")


class TooManyResumes(LedgerError):
    """A charge was reserved, resumed as often as allowed, and still has no answer."""

    def __init__(self, releases: tuple[str, ...], what: str) -> None:
        self.releases = releases
        super().__init__(what)


class WaitsForOwner(TooManyResumes):
    """The analyst has such charges on the same tables: the owner looks at them first."""


class Forgotten(LedgerError):
    """The release was forgotten: its query and its answer are erased."""

    def __init__(self, release: str, at: str) -> None:
        super().__init__(
            f"`{release}` was forgotten on {at[:10]}: its query and its answer are erased, what it cost stays charged"
        )


class NoMoreRuns(LedgerError):
    """A standing release has ended, or may not go on."""


class NotRefined(LedgerError):
    """A release that another measurement cannot be merged with, or not any more."""


class OverBudget(LedgerError):
    """The query cannot be paid for. `left` is what this analyst could still spend from `budget` on `unit`."""

    def __init__(self, budget: str | None, unit: str, left: Cost, asked: Cost, reason: Reason) -> None:
        self.budget, self.unit, self.left, self.asked, self.reason = budget, unit, left, asked, reason
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        asks = f"the query asks for {self.asked} of unit `{self.unit}`"
        left = f"{self.left}, δ = 0" if self.asked.delta and not self.left.delta else f"{self.left}"
        match self.reason:
            case "budget":
                return f"{asks}, and budget `{self.budget}` has {left} left"
            case "grant":
                return f"{asks}, and your share of budget `{self.budget}` has {left} left"
            case "max per query":
                return f"{asks}, more than budget `{self.budget}` allows one query"
            case "no grant":
                return f"{asks}, and no budget for it that you may use was granted to you"
            case "no budget":
                return f"{asks}, and the policy has no budget for that unit"
            case _:
                assert_never(self.reason)
