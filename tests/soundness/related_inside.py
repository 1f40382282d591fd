"""Random queries inside expressions: public, released, or private and tied to the unit of the row around."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tests.soundness.related_text import LOCATED, LOCATING, TABLES, Rows, Text
from tests.soundness.related_values import Values


class Inside(Values):
    def condition(self, scope: Sequence[Text], depth: int) -> str:
        if depth > 0 and self.chance(0.3):
            x, y = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return self.pick.choice((f"({x} AND {y})", f"({x} OR {y})", f"NOT ({x})", f"({x}) IS NOT TRUE"))
        return self.asked(scope) if depth > 0 and self.chance(0.55) else self.simple(scope)

    def asked(self, scope: Sequence[Text]) -> str:
        no = "NOT " if self.chance(0.4) else ""
        shape = self.pick.choice(("exists", "exists", "in", "in", "any", "scalar", "scalar", "unit"))
        units = [c for c in scope if c.kind in LOCATING]
        if shape == "unit" and units:
            around = self.pick.choice(units)
            for _ in range(8):
                written, found = self.source(1)
                alias = self.alias()
                own = [name for name, kind in found.columns if kind == around.kind]
                if own:
                    new = [Text(f"{alias}.{name}", kind) for name, kind in found.columns]
                    test = f" WHERE {self.condition(new, 1)}" if self.chance(0.6) else ""
                    return f"{around.sql} {no}IN (SELECT {alias}.{own[0]} FROM {written} AS {alias}{test})"
        if shape == "scalar":
            return f"{self.number(scope)} {self.comparison()} {self.scalar(scope)}"
        text, new, ties, _ = self.inner(scope)
        if shape == "exists":
            items = self.pick.choice(("1", "*", new[0].sql))
            return f"{no}EXISTS (SELECT {items} {text}{self.where(ties, scope, new, True)})"
        kind = self.pick.choice([k for k in ("int", "text") if any(c.kind == k for c in new)] or ["int"])
        operand, value = self.value(scope, kind), self.value(new, kind)
        if shape == "any":
            quantifier = f"{self.comparison()} {self.pick.choice(('ANY', 'ALL'))}"
            return f"{operand} {quantifier} (SELECT {value} {text}{self.where(ties, scope, new, True)})"
        return f"{operand} {no}IN (SELECT {value} {text}{self.where(ties, scope, new, True)})"

    def inner(self, scope: Sequence[Text]) -> tuple[str, list[Text], list[str], bool]:
        """FROM of a query inside, its columns, and what ties it to the row around: private, public or released rows;
        and whether no release can come of it, in which the sum of nothing is 0."""
        located = [c for c in scope if c.kind in LOCATING]
        alias = self.alias()
        if located and self.chance(0.6):
            around = self.pick.choice(located)
            for _ in range(8):
                written, found = self.source(0)
                own = [name for name, kind in found.columns if kind == around.kind]
                if own:
                    new = [Text(f"{alias}.{name}", kind) for name, kind in found.columns]
                    tie = f"{alias}.{own[0]} = {around.sql}"
                    if self.chance(0.25):
                        tie = f"{around.sql} = {alias}.{own[0]}"
                    if self.chance(0.04):
                        return f"FROM {written} AS {alias}", new, [], False
                    named = {own[0], around.sql.split(".")[-1]} <= LOCATED
                    inside = "." not in around.sql  # the name is that of a column there
                    return f"FROM {written} AS {alias}", new, [tie], named and not inside
        name, columns = self.public()
        new = [Text(f"{alias}.{column}", kind) for column, kind in columns]
        ties = []
        pairs = [(a, b) for a in new for b in scope if a.kind == b.kind and a.kind in ("int", "text")]
        if pairs and self.chance(0.6):
            a, b = self.pick.choice(pairs)
            ties.append(f"{a.sql} = {b.sql}")
        return f"FROM {name} AS {alias}", new, ties, True

    def where(self, ties: Sequence[str], scope: Sequence[Text], new: Sequence[Text], free: bool) -> str:
        tests = list(ties)
        if self.chance(0.5):
            tests.append(self.condition(new, 1) if self.chance(0.2) else self.simple(new))
        if free and self.chance(0.25):
            tests.append(self.simple([*scope, *new]))
        if free and self.chance(0.2):
            pairs = [(a, b) for a in new for b in scope if a.kind == b.kind and a.kind in ("int", "text")]
            if pairs:
                a, b = self.pick.choice(pairs)
                tests.append(f"{a.sql} {self.comparison()} {b.sql}")
        self.pick.shuffle(tests)
        return f" WHERE {' AND '.join(tests)}" if tests else ""

    def scalar(self, scope: Sequence[Text]) -> str:
        if self.chance(0.15):
            return self.released_here(scope)
        text, new, ties, exact = self.inner(scope)
        numbers = [c.sql for c in new if c.kind == "int"] or ["1"]
        x = self.pick.choice(numbers)
        value = self.pick.choice(
            (
                "COUNT(*)",
                "COUNT(*) + 1",
                f"COUNT({x})",
                f"SUM({x})" if exact else f"COALESCE(SUM({x}), 0)",
                f"MIN({x})",
                f"MAX({x})",
                f"COALESCE(MAX({x}), -1)",
            )
        )
        return f"(SELECT {value} {text}{self.where(ties, scope, new, False)})"

    def released_here(self, scope: Sequence[Text]) -> str:
        """A release where a value stands: of everybody, or of everybody in the same group."""
        alias, table = self.alias(), self.pick.choice(("patients", "visits"))
        new = [Text(f"{alias}.{name}", kind) for name, kind in TABLES[table]]
        texts = [c.sql for c in scope if c.kind == "text"]
        number = "age" if table == "patients" else "minutes"
        value = self.pick.choice(("COUNT(*)", f"AVG({alias}.{number})", f"COALESCE(SUM({alias}.{number}), 0)"))
        tests = [self.simple(new)] if self.chance(0.4) else []
        if texts and self.chance(0.6):
            tests.append(f"{alias}.ward = {self.pick.choice(texts)}")
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return f"(SELECT {value} FROM {table} AS {alias}{where})"

    @abstractmethod
    def source(self, depth: int) -> tuple[str, Rows]: ...

    @abstractmethod
    def public(self) -> tuple[str, tuple[tuple[str, str], ...]]: ...
