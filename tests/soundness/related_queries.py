"""Random SQL over related tables: joins, subqueries, features, set operations and named queries of every kind.

A query is text twice: as PrivQL has it and for a plain engine. They differ in releases that are read again, alone:
PrivQL releases all groups of listed keys, SQL those that somebody is in.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.soundness.related_rows import PrivateRows
from tests.soundness.related_text import TABLES, Query, Rows, Text


class Queries(PrivateRows):
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
        made = value.format(f"{alias}.{number}")
        text = f"SELECT {alias}.{key} AS g, {made} AS n FROM {table} {alias}{where} GROUP BY 1"
        groups = ", ".join(f"({member})" for member in members)
        every = f"(VALUES {groups}) k(g) LEFT JOIN ({text}) i ON i.g IS NOT DISTINCT FROM k.g"
        plain = f"SELECT k.g, COALESCE(i.n, 0) AS n FROM {every}"
        return Rows("", (("g", "text"), ("n", "int")), public=True), text, plain
