"""Random SQL over related tables: joins, subqueries, features, set operations and named queries of every kind.

A query is text twice: as PrivQL has it and for a plain engine. They differ in releases that are read again, alone:
PrivQL releases all groups of listed keys, SQL those that somebody is in.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "patients": (("pid", "unit"), ("age", "int"), ("sex", "text"), ("ward", "text"), ("smoker", "bool")),
    "visits": (("vid", "vid"), ("pid", "unit"), ("ward", "text"), ("minutes", "int"), ("urgent", "bool")),
    "tests": (("vid", "vid"), ("level", "int"), ("kind", "text")),
    "adults": (("pid", "unit"), ("age", "int"), ("sex", "text"), ("ward", "text"), ("smoker", "bool")),
    "per_patient": (("pid", "unit"), ("n", "int"), ("total", "int")),
    "stays": (("pid", "unit"), ("age", "int"), ("vid", "lost"), ("minutes", "int"), ("ward", "text")),
    "tested": (("pid", "unit"), ("vid", "vid"), ("level", "int"), ("kind", "text")),
}
PUBLIC = {
    "wards": (("ward", "text"), ("floor", "int"), ("open", "bool")),
    "codes": (("code", "int"), ("label", "text")),
}
LOCATING = ("unit", "vid")


@dataclass(frozen=True)
class Text:
    """A column in sight: how it is written, and what it is."""

    sql: str
    kind: str


@dataclass(frozen=True)
class Rows:
    """A query or a table, to be named in FROM."""

    sql: str
    columns: tuple[tuple[str, str], ...]
    public: bool = False

    def kinds(self) -> set[str]:
        return {kind for _, kind in self.columns}


@dataclass(frozen=True)
class Query:
    sql: str
    plain: str
    keys: int


class Queries:
    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.aliases = 0
        self.named: list[Rows] = []  # WITH, so far

    def chance(self, p: float) -> bool:
        return self.pick.random() < p

    def alias(self) -> str:
        self.aliases += 1
        return f"t{self.aliases}"

    # ---------------------------------------------------------------- whole queries

    def query(self) -> Query:
        self.aliases, self.named = 0, []
        ctes: list[tuple[str, str, str]] = []
        for _ in range(self.pick.choice((0, 0, 1, 1, 2))):
            name = f"w{len(ctes) + 1}"
            if self.chance(0.35):
                made, text, plain = self.release()
            else:
                made = self.rows(2)
                text = plain = made.sql
            ctes.append((name, text, plain))
            self.named.append(Rows(name, made.columns, made.public))
        body, keys = self.measured()
        both = [
            (f"WITH {', '.join(f'{cte[0]} AS ({cte[at]})' for cte in ctes)} " if ctes else "") + body for at in (1, 2)
        ]
        return Query(both[0], both[1], keys)

    def measured(self) -> tuple[str, int]:
        text, scope = self.from_where(3)
        keys = [self.key(scope) for _ in range(self.pick.choice((0, 0, 1, 1, 2)))]
        aggregates = [self.aggregate(scope) for _ in range(self.pick.choice((1, 1, 2)))]
        out = f"SELECT {', '.join([*keys, *aggregates])} {text}"
        if keys:
            out += f" GROUP BY {', '.join(str(at + 1) for at in range(len(keys)))}"
        return out, len(keys)

    def aggregate(self, scope: Sequence[Text]) -> str:
        x = self.pick.choice(scope).sql
        made = self.pick.choice(
            (
                "COUNT(*)",
                "COUNT(*)",
                f"COUNT({x})",
                f"SUM({self.bounded(scope)})",
                f"SUM({self.number(scope)})",
                f"AVG({self.bounded(scope)})",
            )
        )
        return made + (f" FILTER (WHERE {self.simple(scope)})" if self.chance(0.2) else "")

    def key(self, scope: Sequence[Text]) -> str:
        texts = [c.sql for c in scope if c.kind in ("text", "bool")]
        choices = [f"CASE WHEN {self.simple(scope)} THEN 'p' WHEN {self.simple(scope)} THEN 'q' END"]
        choices += [f"({self.simple(scope)})", f"CLAMP({self.number(scope)}, 0, 2)", *texts, *texts]
        return self.pick.choice(choices)

    def release(self) -> tuple[Rows, str, str]:
        """An answer that is read again: its rows, and its text for both."""
        value = self.pick.choice(("COUNT(*)", "COUNT(*)", "COALESCE(SUM({0}), 0)"))
        table = self.pick.choice(("patients", "visits", "visits", "tests"))
        number = {"patients": "age", "visits": "minutes", "tests": "level"}[table]
        alias = self.alias()
        key = "kind" if table == "tests" else "ward"  # WHERE says nothing of it: then all of its groups are released
        scope = [Text(f"{alias}.{name}", kind) for name, kind in TABLES[table] if name != key]
        where = f" WHERE {self.condition(scope, 1)}" if self.chance(0.5) else ""
        if self.chance(0.25):
            text = f"SELECT {value.format(f'{alias}.{number}')} AS n FROM {table} {alias}{where}"
            return Rows("", (("n", "int"),), public=True), text, text
        members = ("'a'", "'b'") if table == "tests" else ("'a'", "'b'", "'c'", "NULL")
        text = f"SELECT {alias}.{key} AS g, {value.format(f'{alias}.{number}')} AS n FROM {table} {alias}{where} GROUP BY 1"
        groups = ", ".join(f"({member})" for member in members)
        plain = f"SELECT k.g, COALESCE(i.n, 0) AS n FROM (VALUES {groups}) k(g) LEFT JOIN ({text}) i ON i.g IS NOT DISTINCT FROM k.g"
        return Rows("", (("g", "text"), ("n", "int")), public=True), text, plain

    # ---------------------------------------------------------------- private rows

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
        kinds = wanted[1:] if wanted else [self.pick.choice(("int", "text", "bool", "vid")) for _ in range(2)]
        items, columns = [unit.sql], [("k", unit.kind)]
        for at, kind in enumerate(kinds):
            items.append(self.value(scope, kind))
            found = next((c.kind for c in scope if c.sql == items[-1]), kind)
            columns.append((f"x{at}", found if found != "vid" or kind == "vid" else kind))
        select = ", ".join(f"{item} AS {name}" for item, (name, _) in zip(items, columns, strict=True))
        return Rows(f"SELECT {'DISTINCT ' if shape == 'distinct' else ''}{select} {text}", tuple(columns))

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
        select = ", ".join(f"{item} AS {name}" for item, (name, _) in zip(items, columns, strict=True))
        having = ""
        if self.chance(0.3):
            having = f" HAVING {self.feature(scope, 'int')} {self.comparison()} {self.pick.choice((0, 1, 2))}"
        return Rows(f"SELECT {select} {text} GROUP BY {', '.join(dict.fromkeys(keys))}{having}", tuple(columns))

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
        op = self.pick.choice(("UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
        kind = left.columns[0][1] if left.columns[0][1] == right.columns[0][1] else "lost"
        return Rows(f"{left.sql} {op} {right.sql}", (("k", kind), *left.columns[1:]))

    # ---------------------------------------------------------------- FROM and WHERE

    def source(self, depth: int) -> tuple[str, Rows]:
        private = [rows for rows in self.named if not rows.public]
        if private and self.chance(0.5):
            found = self.pick.choice(private)
            return found.sql, found
        if depth > 0 and self.chance(0.25):
            found = self.rows(depth - 1)
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
        pairs = [(a, b) for a in scope for b in new if a.kind == b.kind and a.kind in ("int", "text")]
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

    # ---------------------------------------------------------------- values and conditions

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
            case _:
                return f"{column.sql} IS {self.pick.choice(('', 'NOT '))}NULL"

    def condition(self, scope: Sequence[Text], depth: int) -> str:
        if depth > 0 and self.chance(0.3):
            x, y = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return self.pick.choice((f"({x} AND {y})", f"({x} OR {y})", f"NOT ({x})", f"({x}) IS NOT TRUE"))
        return self.asked(scope) if depth > 0 and self.chance(0.55) else self.simple(scope)

    # ---------------------------------------------------------------- queries inside expressions

    def inner(self, scope: Sequence[Text]) -> tuple[str, list[Text], list[str]]:
        """FROM of a query inside, its columns, and what ties it to the row around: private rows, public ones, a release."""
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
                    return f"FROM {written} AS {alias}", new, [tie]
        name, columns = self.public()
        new = [Text(f"{alias}.{column}", kind) for column, kind in columns]
        ties = []
        pairs = [(a, b) for a in new for b in scope if a.kind == b.kind and a.kind in ("int", "text")]
        if pairs and self.chance(0.6):
            a, b = self.pick.choice(pairs)
            ties.append(f"{a.sql} = {b.sql}")
        return f"FROM {name} AS {alias}", new, ties

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
        text, new, ties = self.inner(scope)
        if shape == "exists":
            return f"{no}EXISTS (SELECT {self.pick.choice(('1', '*', new[0].sql))} {text}{self.where(ties, scope, new, True)})"
        kind = self.pick.choice([k for k in ("int", "text") if any(c.kind == k for c in new)] or ["int"])
        operand, own = self.value(scope, kind), self.value(new, kind)
        if shape == "any":
            quantifier = f"{self.comparison()} {self.pick.choice(('ANY', 'ALL'))}"
            return f"{operand} {quantifier} (SELECT {own} {text}{self.where(ties, scope, new, True)})"
        return f"{operand} {no}IN (SELECT {own} {text}{self.where(ties, scope, new, True)})"

    def scalar(self, scope: Sequence[Text]) -> str:
        if self.chance(0.15):
            return self.released_here(scope)
        text, new, ties = self.inner(scope)
        numbers = [c.sql for c in new if c.kind == "int"] or ["1"]
        x = self.pick.choice(numbers)
        value = self.pick.choice(
            (
                "COUNT(*)",
                "COUNT(*) + 1",
                f"COUNT({x})",
                f"SUM({x})",
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


def lost(column: Text) -> Text:
    """On the side of an outer join that NULLs may fill, it locates nothing any more."""
    return Text(column.sql, "lost") if column.kind in LOCATING else column
