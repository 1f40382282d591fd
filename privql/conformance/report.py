"""What came of it: for each operation how many cases, how many the engine refused, and how many it got wrong."""

from __future__ import annotations

from typing import Any

from privql.frozen import frozen

_LONGEST = 300  # characters of what was found wrong


@frozen
class Outcome:
    """`example`: the first difference. All values are invented."""

    operation: str
    cases: int = 0
    refused: int = 0
    differences: int = 0
    example: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "operation": self.operation,
            "cases": self.cases,
            "refused": self.refused,
            "differences": self.differences,
            "example": self.example,
        }


@frozen
class Report:
    outcomes: tuple[Outcome, ...]

    @property
    def ok(self) -> bool:
        return not self.differences

    @property
    def cases(self) -> int:
        return sum(each.cases for each in self.outcomes)

    @property
    def differences(self) -> int:
        return sum(each.differences for each in self.outcomes)

    def __str__(self) -> str:
        width = max(len("operation"), *(len(each.operation) for each in self.outcomes))
        out = [f"{'operation':<{width}}  {'cases':>7}  {'refused':>7}  {'differences':>11}"]
        for each in self.outcomes:
            out.append(f"{each.operation:<{width}}  {each.cases:>7}  {each.refused:>7}  {each.differences:>11}")
        out += [f"{each.operation}: {each.example}" for each in self.outcomes if each.example]
        told = "none" if self.ok else str(self.differences)
        return "\n".join([*out, f"{self.cases} cases, differences: {told}"])

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "cases": self.cases, "operations": [each.to_json() for each in self.outcomes]}


class Counted:
    """Outcomes while they are counted, in the order in which operations were first met."""

    def __init__(self) -> None:
        self._found: dict[str, list[Any]] = {}

    def case(self, operation: str, cases: int = 1) -> None:
        self._of(operation)[0] += cases

    def refused(self, operation: str, cases: int = 1) -> None:
        self._of(operation)[1] += cases

    def wrong(self, operation: str, example: str) -> None:
        found = self._of(operation)
        found[2] += 1
        found[3] = found[3] or (example if len(example) <= _LONGEST else f"{example[:_LONGEST]}…")

    def report(self) -> Report:
        return Report(tuple(Outcome(operation, *found) for operation, found in self._found.items()))

    def _of(self, operation: str) -> list[Any]:
        return self._found.setdefault(operation, [0, 0, 0, ""])
