"""Random windows within a unit, and the first rows of each unit."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soundness.related_inside import Inside
from tests.soundness.related_text import Text, either

FRAMES = (
    " RANGE UNBOUNDED PRECEDING",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    " ROWS 1 PRECEDING",
    " ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
    " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
)


class Windows(Inside):
    def order(self, scope: Sequence[Text]) -> str:
        """Settled, by all columns: only rows that are equal in every one of them are left to choose among."""
        columns = [_placing(c) for c in scope if c.kind != "unit"] or ["1 + 1"]
        self.pick.shuffle(columns)
        wanted = columns if self.settled else columns[: self.pick.choice((1, 1, 2))]
        return ", ".join(c + self.pick.choice(("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST")) for c in wanted)

    def window(self, scope: Sequence[Text], unit: Text, kind: str) -> str:
        """A value of the kind that depends on a unit's other rows."""
        shapes = {"int": ("rank", "beside", "nth", "feature", "feature"), "text": ("beside", "nth", "feature")}
        shape = self.pick.choice(shapes[kind])
        part = f"PARTITION BY {unit.sql}"
        if self.chance(0.3):
            part += f", {self.pick.choice(scope).sql}"
        order = self.order(scope)
        match shape:
            case "rank":
                place = self.pick.choice(("ROW_NUMBER()", "RANK()", "RANK()", "DENSE_RANK()", "NTILE(2)"))
                return f"{place} OVER ({part} ORDER BY {order})"
            case "beside":
                x = self.of_columns(scope, kind)
                default = self.of_columns(scope, kind) if self.chance(0.3) else {"int": "7", "text": "'b'"}[kind]
                arguments = self.pick.choice((x, f"{x}, 1", f"{x}, 2", f"{x}, 1, {default}", f"{x}, 0, {default}"))
                return f"{self.pick.choice(('LAG', 'LEAD'))}({arguments}) OVER ({part} ORDER BY {order})"
            case "nth":
                x = self.of_columns(scope, kind)
                place = self.pick.choice((f"FIRST_VALUE({x})", f"LAST_VALUE({x})", f"NTH_VALUE({x}, 2)"))
                return f"{place} OVER ({part} ORDER BY {order}{self.pick.choice(('', *FRAMES))})"
            case _:
                return f"{self._over_rows(scope, kind)} OVER ({part}{self._frame(order)})"

    def of_columns(self, scope: Sequence[Text], kind: str) -> str:
        found = [c.sql for c in scope if c.kind == kind]
        value = {"int": "1", "text": "'a'"}[kind]
        return self.pick.choice([*found, *found, f"CASE WHEN {self.simple(scope)} THEN {(found or [value])[0]} END"])

    def _over_rows(self, scope: Sequence[Text], kind: str) -> str:
        x = self.of_columns(scope, kind)
        made = self.pick.choice(("MIN", "MAX")) + f"({x})"
        if kind == "int":
            made = self.pick.choice(("COUNT(*)", f"COUNT({self.pick.choice(scope).sql})", f"SUM({x})", made))
        return made + (f" FILTER (WHERE {self.simple(scope)})" if self.chance(0.2) else "")

    def _frame(self, order: str) -> str:
        """The whole partition, all up to the present row, or those around it."""
        ordered = f" ORDER BY {order}"
        return self.pick.choice(("", ordered, ordered, *(ordered + frame for frame in FRAMES)))

    def first_rows(self, scope: Sequence[Text], unit: Text) -> str:
        """The end of a query that keeps some of each unit's rows."""
        order, number = self.order(scope), self.pick.choice((1, 1, 2))
        if self.chance(0.3):
            return f" QUALIFY {self.window(scope, unit, 'int')} {self.comparison()} {number}"
        if self.settled and unit.kind != "unit":
            return ""
        among = f"ROW_NUMBER() OVER (PARTITION BY {unit.sql} ORDER BY {order})"
        return either(f" ORDER BY {order} LIMIT {number} PER UNIT", f" QUALIFY {among} <= {number}")


def _placing(column: Text) -> str:
    """A unit is nothing to order by: all that may differ among the rows of one is whether it is there."""
    return f"({column.sql} IS NULL)" if column.kind == "lost unit" else column.sql
