"""Random groups: listed, stated, found or rolled up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.soundness.related_rows import PrivateRows
from tests.soundness.related_text import UNKNOWN, Text, either

STATED = {
    "text": ("'a', 'c'", "'b', NULL"),
    "bool": ("TRUE, NULL",),
    "int": ("0, 1", "1, 9, NULL"),
    "name": ("'king', 'nobody'",),
    "wide": ("5, 0, NULL",),
}
NAMED = ("SELECT ward FROM wards", "SELECT label FROM codes")


@dataclass(frozen=True)
class Groups:
    """Of a query: its items, its GROUP BY, and what a plain engine must have in HAVING to leave out other groups."""

    items: tuple[str, ...] = ()
    by: str = ""
    only: str = ""
    looking: bool = False
    rolled_up: bool = False


class Grouping(PrivateRows):
    def groups(self, scope: Sequence[Text]) -> Groups:
        number = self.pick.choice((0, 0, 1, 1, 1, 2, 2))
        if number == 0:
            return Groups()
        if self.chance(0.2):
            keys = [self.listed(scope, plain=True) for _ in range(number)]
            unknown = [c for c in scope if c.kind in UNKNOWN]
            looking = bool(unknown) and self.chance(0.3)
            return self.rolled_up([*keys[1:], self.found(self.pick.choice(unknown))] if looking else keys, looking)
        items, by, only, looking = list[str](), list[str](), list[str](), False
        for at in range(1, number + 1):
            columns = [c for c in scope if c.kind in STATED and c.sql not in items]
            unknown = [c for c in scope if c.kind in UNKNOWN]
            if columns and self.chance(0.2):
                item, said, member = self.stated(self.pick.choice(columns))
                only.append(member)
                by.append(f"{at}{either(said, '')}")
            elif unknown and self.chance(0.4):
                item, looking = self.found(self.pick.choice(unknown)), True
                by.append(str(at))
            else:
                item = self.listed(scope)
                by.append(str(at))
            items.append(item)
        return Groups(tuple(items), f" GROUP BY {', '.join(by)}", " AND ".join(only), looking)

    def listed(self, scope: Sequence[Text], plain: bool = False) -> str:
        """All of its values are known."""
        texts = [c.sql for c in scope if c.kind in ("text", "bool")]
        choices = [f"CASE WHEN {self.simple(scope)} THEN 'p' WHEN {self.simple(scope)} THEN 'q' END"]
        if not plain:
            choices += [f"({self.simple(scope)})", f"CLAMP({self.number(scope)}, 0, 2)"]
        return self.pick.choice([*choices, *texts, *texts])

    def stated(self, column: Text) -> tuple[str, str, str]:
        """The key, its KEYS, and what they say of a group."""
        if column.kind == "text" and self.chance(0.3):
            members = self.pick.choice(NAMED)
            return column.sql, f" KEYS ({members})", f"{column.sql} IN ({members})"
        members = self.pick.choice(STATED[column.kind])
        null = f" OR {column.sql} IS NULL" if "NULL" in members else ""
        return column.sql, f" KEYS ({members})", f"({column.sql} IN ({members.removesuffix(', NULL')}){null})"

    def found(self, column: Text) -> str:
        more = [f"{column.sql} || '!'"] if column.kind == "name" else [f"{column.sql} + 1", f"-{column.sql}"]
        return self.pick.choice([column.sql, column.sql, *more])

    def rolled_up(self, keys: Sequence[str], looking: bool) -> Groups:
        different = tuple(dict.fromkeys(keys))
        all_of_them = ", ".join(different)
        sets = [f"CUBE ({all_of_them})", f"ROLLUP ({all_of_them})", f"GROUPING SETS (({all_of_them}), ())"]
        if len(different) == 2:
            one, other = different
            sets += [f"{one}, CUBE ({other})", f"GROUPING SETS (({one}), ({other}))"]
            sets += [f"GROUPING SETS (CUBE ({one}), {other})"]
        which = tuple(f"GROUPING({key})" for key in different)  # else NULL may be a value of the key, or all of them
        return Groups((*different, *which), f" GROUP BY {self.pick.choice(sets)}", "", looking, rolled_up=True)
