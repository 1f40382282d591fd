"""Random private rows: joins, features of units, windows, different rows and set operations."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soundness.related_text import LOCATING, PUBLIC, TABLES, UNKNOWN, Rows, Text, lost
from tests.soundness.related_windows import Windows


class PrivateRows(Windows):
    def rows(self, depth: int, wanted: Sequence[str] = ()) -> Rows:
        """A query of private rows that tells the unit; `wanted`: the kinds of its columns."""
        if depth > 0 and not wanted and self.chance(0.2):
            return self.combined(depth)
        text, scope = self.from_where(depth)
        located = [c for c in scope if c.kind == "unit"] or [c for c in scope if c.kind == "vid"]
        if not located:
            return self.rows(depth, wanted)
        unit = self.pick.choice(located)
        shape = self.pick.choice(("plain", "plain", "distinct", "group", "group"))
        if shape == "group":
            return self.features(text, scope, unit, wanted)
        there = sorted({c.kind for c in scope if c.kind in UNKNOWN})
        kinds = wanted[1:] if wanted else [self.pick.choice(("int", "text", "bool", "vid", *there)) for _ in range(2)]
        items, columns = [unit.sql], [("k", unit.kind)]
        for at, kind in enumerate(kinds):
            ranked = kind in ("int", "text") and self.chance(0.35)
            items.append(self.window(scope, unit, kind) if ranked else self.value(scope, kind))
            found = next((c.kind for c in scope if c.sql == items[-1]), kind)
            columns.append((f"x{at}", found if found != "vid" or kind == "vid" else kind))
        select = ", ".join(f"{item} AS {name}" for item, (name, _) in zip(items, columns, strict=True))
        if shape == "distinct":
            return Rows(f"SELECT DISTINCT {select} {text}", tuple(columns))
        apart = any(" OVER " in item for item in items)  # equal rows may differ in these
        first = not wanted and self.chance(0.2) and not (self.settled and apart)
        tail = self.first_rows(scope, unit) if first else ""
        return Rows(f"SELECT {select} {text}{tail}", tuple(columns))

    def features(self, text: str, scope: Sequence[Text], unit: Text, wanted: Sequence[str]) -> Rows:
        kinds = wanted[1:] if wanted else [self.pick.choice(("int", "int", "text", "bool")) for _ in range(2)]
        keys, items, columns = [unit.sql], [unit.sql], [("k", unit.kind)]
        for at, kind in enumerate(kinds):
            if kind == "vid" or self.chance(0.25):
                keys.append(self.value(scope, kind))
                items.append(keys[-1])
            else:
                items.append(self.feature(scope, kind))
            columns.append((f"x{at}", kind if kind != "vid" else "lost"))
        having = ""
        if self.chance(0.3):
            having = f" HAVING {self.feature(scope, 'int')} {self.comparison()} {self.pick.choice((0, 1, 2))}"
        keys = list(dict.fromkeys(keys))
        if len(keys) > 1 and not wanted:
            grouped = [Text(item, kind) for item, (_, kind) in zip(items, columns, strict=True) if "SELECT" not in item]
            if self.chance(0.2):
                items.append(self.window(grouped, unit, "int"))
                columns.append(("place", "int"))
            having += self.first_rows(grouped, unit) if self.chance(0.3) else ""
        select = ", ".join(f"{item} AS {name}" for item, (name, _) in zip(items, columns, strict=True))
        return Rows(f"SELECT {select} {text} GROUP BY {', '.join(keys)}{having}", tuple(columns))

    def feature(self, scope: Sequence[Text], kind: str) -> str:
        x = self.number(scope)
        match kind:
            case "bool":
                made = f"{self.pick.choice(('BOOL_AND', 'BOOL_OR'))}({self.simple(scope)})"
            case "text":
                made = f"{self.pick.choice(('MIN', 'MAX'))}({self.value(scope, 'text')})"
            case _:
                any_ = self.pick.choice(scope).sql
                made = self.pick.choice(
                    (
                        "COUNT(*)",
                        "COUNT(*)",
                        f"COUNT({any_})",
                        f"COUNT(DISTINCT {self.value(scope, 'text')})",
                        f"SUM({x})",
                        f"MIN({x})",
                        f"MAX({x})",
                    )
                )
        return made + (f" FILTER (WHERE {self.simple(scope)})" if self.chance(0.2) else "")

    def combined(self, depth: int) -> Rows:
        kinds = ["unit", *(self.pick.choice(("int", "text", "bool")) for _ in range(self.pick.choice((1, 1, 2))))]
        left = self.rows(depth - 1, kinds)
        right = self.rows(depth - 1, kinds)
        while self.chance(0.8) and right.columns[0][1] != left.columns[0][1]:  # a name beside a number is refused
            right = self.rows(depth - 1, kinds)
        op = self.pick.choice(("UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
        kind = left.columns[0][1] if left.columns[0][1] == right.columns[0][1] else "lost"
        return Rows(f"{left.sql} {op} {right.sql}", (("k", kind), *left.columns[1:]))

    def anybodys(self, depth: int) -> Rows:
        """Rows of several kinds one after the other, that tell no unit."""
        sides = []
        for _ in range(2):
            text, scope = self.from_where(depth)
            sides.append(f"SELECT {self.value(scope, 'text')} AS x0, {self.value(scope, 'int')} AS x1 {text}")
        return Rows(" UNION ALL ".join(sides), (("x0", "text"), ("x1", "int")))

    def source(self, depth: int) -> tuple[str, Rows]:
        private = [rows for rows in self.named if not rows.public]
        if private and self.chance(0.5):
            found = self.pick.choice(private)
            return found.sql, found
        if depth > 0 and self.chance(0.25):
            found = self.rows(depth - 1)
            return f"({found.sql})", found
        if depth > 0 and self.chance(0.06):
            found = self.anybodys(depth - 1)
            return f"({found.sql})", found
        name = self.pick.choice(("patients", "visits", "visits", "tests", *TABLES))
        return name, Rows(name, TABLES[name])

    def from_where(self, depth: int) -> tuple[str, list[Text]]:
        text, first = self.source(depth)
        alias = self.alias()
        scope = [Text(f"{alias}.{name}", kind) for name, kind in first.columns]
        names = [name for name, _ in first.columns]
        text, tests, alone, listed = f"{text} AS {alias}", list[str](), True, False
        for _ in range(self.pick.choice((0, 0, 1, 1, 2)) if depth > 0 else 0):
            if self.chance(0.35):
                text, new, more = self.beside_public(text, scope, alone, listed)
            else:
                text, new, more = self.beside(text, scope, names, depth - 1, alone, listed)
            scope += new
            tests += more
            alone, listed = alone and not new, listed or bool(more)  # after a comma, ON sees the last table alone
        if self.chance(0.6):
            tests.append(self.condition(scope, 2 if depth > 1 else 1))
        self.pick.shuffle(tests)
        where = f" WHERE {' AND '.join(f'({test})' for test in tests)}" if tests else ""
        return f"FROM {text}{where}", scope

    def beside(
        self, text: str, scope: list[Text], names: list[str], depth: int, alone: bool, listed: bool
    ) -> tuple[str, list[Text], list[str]]:
        """Other rows of the same unit."""
        for _ in range(8):
            written, found = self.source(depth)
            alias = self.alias()
            new = [Text(f"{alias}.{name}", kind) for name, kind in found.columns]
            pairs = [(a, b) for a in scope for b in new if a.kind == b.kind and a.kind in LOCATING]
            if pairs:
                break
        else:
            return text, [], []
        one, other = self.pick.choice(pairs)
        same = f"{one.sql} = {other.sql}" if self.chance(0.7) else f"{other.sql} = {one.sql}"
        same_name = one.sql.split(".")[-1] == other.sql.split(".")[-1] and names.count(one.sql.split(".")[-1]) == 1
        if self.chance(0.04):  # not of one unit, for all that is said: it must be refused
            same = "TRUE"
        shape = self.pick.choice(
            ("comma", "INNER", "INNER", "LEFT", "LEFT", "RIGHT", "FULL", "USING", "USING", "NATURAL")
        )
        if shape == "comma" or listed:
            return f"{text}, {written} AS {alias}", new, [same]
        if shape == "USING" and same_name and alone:
            kind = self.pick.choice(("", "LEFT ", "FULL ", "RIGHT "))
            column = one.sql.split(".")[-1]
            if kind == "FULL ":
                scope[:] = [lost(c) for c in scope]
                new = [lost(c) for c in new]
            elif kind:
                scope[:], new = (scope, [lost(c) for c in new]) if kind == "LEFT " else ([lost(c) for c in scope], new)
            return f"{text} {kind}JOIN {written} AS {alias} USING ({column})", [*new, Text(column, one.kind)], []
        if shape == "NATURAL" and same_name and alone:
            return f"{text} NATURAL JOIN {written} AS {alias}", new, []
        on = same
        if self.chance(0.4):
            more = self.condition([*scope, *new], 1 if self.chance(0.3) else 0)
            on = f"{same} AND {more}" if self.chance(0.5) else f"{more} AND {same}"
        if shape not in ("LEFT", "RIGHT", "FULL"):
            return f"{text} JOIN {written} AS {alias} ON {on}", new, []
        if shape in ("RIGHT", "FULL"):
            scope[:] = [lost(c) for c in scope]
        if shape in ("LEFT", "FULL"):
            new = [lost(c) for c in new]
        return f"{text} {shape} JOIN {written} AS {alias} ON {on}", new, []

    def public(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        released = [rows for rows in self.named if rows.public]
        if released and self.chance(0.6):
            found = self.pick.choice(released)
            return found.sql, found.columns
        name = self.pick.choice(("wards", "codes"))
        return name, PUBLIC[name]

    def beside_public(
        self, text: str, scope: list[Text], alone: bool, listed: bool
    ) -> tuple[str, list[Text], list[str]]:
        name, columns = self.public()
        alias = self.alias()
        new = [Text(f"{alias}.{column}", kind) for column, kind in columns]
        pairs = [(a, b) for a in scope for b in new if a.kind == b.kind and a.kind in ("int", "text", "name")]
        on = " AND ".join(f"{a.sql} = {b.sql}" for a, b in [self.pick.choice(pairs)]) if pairs else "TRUE"
        if self.chance(0.3):
            on += f" AND {self.condition([*scope, *new], 0)}"
        match self.pick.choice(("comma", "INNER", "LEFT", "LEFT", "CROSS", "RIGHT")):
            case shape if shape == "comma" or listed:
                return f"{text}, {name} AS {alias}", new, [on]
            case "RIGHT" if alone:
                return f"{name} AS {alias} RIGHT JOIN {text} ON {on}", new, []
            case "LEFT":
                return f"{text} LEFT JOIN {name} AS {alias} ON {on}", new, []
            case "CROSS" if self.chance(0.3):
                return f"{text} CROSS JOIN {name} AS {alias}", new, []
            case _:
                return f"{text} JOIN {name} AS {alias} ON {on}", new, []
