"""Random values and conditions of columns in sight."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence

from tests.soundness.related_text import Rows, Text


class Values(ABC):
    def __init__(self, seed: int, settled: bool = False) -> None:
        """`settled`: no query has several answers, such as one that depends on which of two equal rows is first."""
        self.pick = random.Random(seed)
        self.settled = settled
        self.aliases = 0
        self.named: list[Rows] = []  # WITH, so far

    def chance(self, p: float) -> bool:
        return self.pick.random() < p

    def alias(self) -> str:
        self.aliases += 1
        return f"t{self.aliases}"

    def value(self, scope: Sequence[Text], kind: str) -> str:
        found = [c.sql for c in scope if c.kind == kind]
        if found and self.chance(0.7):
            return self.pick.choice(found)
        match kind:
            case "int" | "lost":
                return self.number(scope)
            case "text":
                return f"CASE WHEN {self.simple(scope)} THEN 'a' WHEN {self.simple(scope)} THEN 'b' END"
            case "bool":
                return f"({self.simple(scope)})"
            case _:
                return self.pick.choice(found) if found else self.number(scope)

    def number(self, scope: Sequence[Text]) -> str:
        numbers = [c.sql for c in scope if c.kind == "int"] or ["1"]
        x, y = self.pick.choice(numbers), self.pick.choice(numbers)
        if self.chance(0.5):
            return x
        if self.chance(0.25):
            return self.scalar(scope)
        return self.pick.choice(
            (
                f"({x} + {y})",
                f"({x} - 1)",
                f"({x} * 2)",
                f"COALESCE({x}, 1)",
                f"CASE WHEN {self.simple(scope)} THEN {x} ELSE {y} END",
                f"CASE WHEN {self.simple(scope)} THEN 1 ELSE 0 END",
            )
        )

    def bounded(self, scope: Sequence[Text]) -> str:
        return f"CLAMP({self.number(scope)}, {self.pick.choice((-2, 0))}, {self.pick.choice((2, 20))})"

    def comparison(self) -> str:
        return self.pick.choice(("<", "<=", ">", ">=", "=", "<>"))

    def simple(self, scope: Sequence[Text]) -> str:
        column = self.pick.choice(scope)
        others = [c.sql for c in scope if c.kind == column.kind]
        match column.kind:
            case "int":
                right = self.pick.choice(others) if self.chance(0.3) else str(self.pick.choice((0, 1, 1, 2)))
                return self.pick.choice(
                    (
                        f"{column.sql} {self.comparison()} {right}",
                        f"{column.sql} {self.comparison()} {right}",
                        f"{column.sql} IN (0, 2)",
                        f"{column.sql} BETWEEN 0 AND 1",
                        f"{column.sql} IS NULL",
                    )
                )
            case "text":
                right = self.pick.choice(others) if self.chance(0.3) else "'a'"
                return self.pick.choice(
                    (
                        f"{column.sql} = {right}",
                        f"{column.sql} <> {right}",
                        f"{column.sql} IS NOT NULL",
                        f"{column.sql} IN ('b', 'c')",
                    )
                )
            case "bool":
                return self.pick.choice((column.sql, f"NOT {column.sql}", f"{column.sql} IS NOT TRUE"))
            case "name":
                return self.pick.choice((f"{column.sql} = 'king'", f"{column.sql} <> 'king'", f"{column.sql} IS NULL"))
            case "wide":
                return self.pick.choice((f"{column.sql} {self.comparison()} 5", f"{column.sql} IS NOT NULL"))
            case _:
                return f"{column.sql} IS {self.pick.choice(('', 'NOT '))}NULL"

    @abstractmethod
    def scalar(self, scope: Sequence[Text]) -> str: ...
