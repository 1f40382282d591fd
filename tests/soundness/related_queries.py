"""Random SQL over related tables: joins, subqueries, features, windows, set operations, named queries, and all that
may be measured of them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soundness.related_groups import Grouping, Groups
from tests.soundness.related_text import TABLES, Query, Rows, Text, either, read

SPREADS = ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV")
PAIRS = ("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT")


class Queries(Grouping):
    def query(self) -> Query:
        self.aliases, self.named = 0, []
        ctes: list[str] = []
        for _ in range(self.pick.choice((0, 0, 1, 1, 2))):
            made = self.release() if self.chance(0.35) else self.rows(2)
            name = f"w{len(ctes) + 1}"
            ctes.append(f"{name} AS ({made.sql})")
            self.named.append(Rows(name, made.columns, made.public))
        body, groups = self.measured()
        text = (f"WITH {', '.join(ctes)} " if ctes else "") + body
        return Query(read(text, plain=False), read(text, plain=True), len(groups.items), groups.looking)

    def measured(self) -> tuple[str, Groups]:
        text, scope = self.from_where(3)
        groups = self.groups(scope)
        distinct = False  # in groups that are looked for, which DISTINCT shares with nothing else
        if groups.looking and not groups.rolled_up and self.chance(0.2):
            aggregates, distinct = [self.distinct(scope)], True
        else:
            aggregates = [self.aggregate(scope, groups) for _ in range(self.pick.choice((1, 1, 2)))]
        out = f"SELECT {', '.join([*groups.items, *aggregates])} {text}{groups.by}"
        having = [self.having(scope)] if self.chance(0.2) and not distinct else []
        ours = f" HAVING {having[0]}" if having else ""
        plain = " AND ".join([*having, *filter(None, [groups.only])])
        return out + either(ours, f" HAVING {plain}" if plain else ""), groups

    def aggregate(self, scope: Sequence[Text], groups: Groups) -> str:
        if not groups.looking and not groups.rolled_up and self.chance(0.15):
            return self.distinct(scope)
        x = self.pick.choice(scope).sql
        numbers = [f"SUM({self.bounded(scope)})", f"SUM({self.number(scope)})", f"AVG({self.bounded(scope)})"]
        numbers.append(self.automatic(scope, ("SUM",) if groups.rolled_up else ("SUM", "SUM", "AVG")))
        if not groups.rolled_up:
            numbers += [self.spread(scope)]
        made = self.pick.choice(("COUNT(*)", "COUNT(*)", f"COUNT({x})", *numbers))
        return made + self.filtered(scope)

    def distinct(self, scope: Sequence[Text]) -> str:
        units = [c.sql for c in scope if c.kind == "unit"] or ["1"]
        text, whole = self.value(scope, "text"), f"CLAMP({self.value(scope, 'int')}, -2, 2)"
        values = (f"COUNT(DISTINCT {self.pick.choice(units)})", f"COUNT(DISTINCT {text})", f"COUNT(DISTINCT {whole})")
        numbers = (f"SUM(DISTINCT {whole})", f"AVG(DISTINCT {whole})", f"VAR_POP(DISTINCT {whole})")
        return self.pick.choice((*values, *numbers)) + self.filtered(scope)

    def spread(self, scope: Sequence[Text]) -> str:
        x, y = self.bounded(scope), self.bounded(scope)
        alone, pair = self.pick.choice(SPREADS), self.pick.choice(PAIRS)
        return self.pick.choice((f"{alone}({x})", f"{pair}({x}, {y})"))

    def automatic(self, scope: Sequence[Text], functions: Sequence[str]) -> str:
        wide = [c.sql for c in scope if c.kind == "wide"] or [self.number(scope)]
        x = self.pick.choice((*wide, *wide, f"GREATEST({wide[0]}, 0)", self.number(scope)))
        return f"{self.pick.choice(functions)}({x}{either(' BOUNDS AUTO', '')})"

    def filtered(self, scope: Sequence[Text]) -> str:
        return f" FILTER (WHERE {self.simple(scope)})" if self.chance(0.2) else ""

    def having(self, scope: Sequence[Text]) -> str:
        """Of an aggregate that need not be shown."""
        x = self.pick.choice(("COUNT(*)", f"COUNT({self.pick.choice(scope).sql})", f"SUM({self.bounded(scope)})"))
        return f"COALESCE({x}{self.filtered(scope)}, 0) {self.comparison()} {self.pick.choice((0, 1, 2))}"

    def release(self) -> Rows:
        """An answer that is read again. All groups of listed keys are released; of SQL's, those that somebody is in."""
        value = self.pick.choice(("COUNT(*)", "COUNT(*)", "COALESCE(SUM({0}), 0)"))
        table = self.pick.choice(("patients", "visits", "visits", "tests"))
        number = {"patients": "age", "visits": "minutes", "tests": "level"}[table]
        alias = self.alias()
        key = "kind" if table == "tests" else "ward"
        keys = (key, "job")  # WHERE says nothing of them: all of the one are released, and those found of the other
        scope = [Text(f"{alias}.{name}", kind) for name, kind in TABLES[table] if name not in keys]
        where = f" WHERE {self.condition(scope, 1)}" if self.chance(0.5) else ""
        made, source = value.format(f"{alias}.{number}"), f"FROM {table} {alias}{where}"
        if self.chance(0.25):
            return Rows(f"SELECT {made} AS n {source}", (("n", "int"),), public=True)
        if table == "patients" and self.chance(0.4):  # found groups are those that somebody is in
            found = f"SELECT {alias}.job AS g, {made} AS n {source} GROUP BY 1"
            return Rows(found, (("g", "name"), ("n", "int")), public=True)
        members = ("'a'", "'b'") if table == "tests" else ("'a'", "'b'", "'c'", "NULL")
        stated = ""
        if self.chance(0.2):
            members = ("'b'", "'nowhere'")
            stated = f" KEYS ({', '.join(members)})"
        text = f"SELECT {alias}.{key} AS g, {made} AS n {source} GROUP BY 1"
        groups = ", ".join(f"({member})" for member in members)
        every = f"(VALUES {groups}) k(g) LEFT JOIN ({text}) i ON i.g IS NOT DISTINCT FROM k.g"
        plain = f"SELECT k.g, COALESCE(i.n, 0) AS n FROM {every}"
        return Rows(either(text + stated, plain), (("g", "text"), ("n", "int")), public=True)
