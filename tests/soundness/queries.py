"""Random queries that should be accepted: text, so that the whole way from there is under test."""

from __future__ import annotations

import random

from tests.soundness.world import KINDS

NUMBERS = ("a", "b", "c", "f")
KEYS = (
    "s",
    "k",
    "b",
    "a / 2",
    "a % 3",
    "EXTRACT(MONTH FROM d)",
    "EXTRACT(DAY FROM d)",
    "DATE_TRUNC('month', d)",
    "DATE_DIFF('week', DATE '2024-02-28', d)",
    "LAST_DAY(d)",
    "CASE WHEN a > 3 THEN 'high' WHEN k THEN 'low' END",
    "UPPER(s)",
    "LENGTH(s)",
    "a > b",
    "COALESCE(s, 'none')",
    "d",
    "s || '!'",
    "CLAMP(z, 0, 3)",
    "NULLIF(b, 2)",
)
SPREADS = ("VAR_POP", "VARIANCE", "STDDEV_POP", "STDDEV")
PAIRS = ("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT")


class Queries:
    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)

    def query(self) -> str:
        pick = self.choice
        source = pick.choice([*KINDS, "grown", "doubled"])
        if pick.random() < 0.15:
            source = f"(SELECT a + 1 AS a, b, c * 2 AS c, f, s, k, d, z, w, t FROM {pick.choice(list(KINDS))}) AS sub"
        keys = pick.sample(KEYS, pick.choice((0, 0, 1, 1, 2)))
        aggregates = [self.aggregate() for _ in range(pick.choice((1, 1, 2)))]
        text = f"SELECT {', '.join([*keys, *aggregates])} FROM {source}"
        if pick.random() < 0.6:
            text += f" WHERE {self.condition(2)}"
        if keys:
            text += f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}"
        return f"{text} SPEND EPSILON 1"

    def aggregate(self) -> str:
        pick = self.choice
        function = pick.choice(("COUNT", "SUM", "SUM", "AVG", pick.choice((*SPREADS, *PAIRS))))
        argument = self.number(2)
        if function in PAIRS:
            argument = f"{pick.choice(NUMBERS)}, {argument}"
        if function == "COUNT":
            argument = pick.choice(("*", "s", "z", "t", argument))
        made = f"{function}({argument})"
        if pick.random() < 0.1:
            made = f"HISTOGRAM({self.number(1)}, {pick.choice((2, 3, '[-1, 0, 2.5, 9]', '[0, 1]'))})"
        if pick.random() < 0.3:
            made += f" FILTER (WHERE {self.condition(1)})"
        return made

    def number(self, depth: int) -> str:
        pick = self.choice
        if depth == 0 or pick.random() < 0.35:
            return pick.choice(NUMBERS)
        x, y = self.number(depth - 1), self.number(depth - 1)
        return pick.choice(
            (
                f"({x} + {pick.choice((1, 2.5, y))})",
                f"({x} - {y})",
                f"({x} * {pick.choice((2, -3, y))})",
                f"(-{x})",
                f"ABS({x})",
                f"CASE WHEN {self.condition(1)} THEN {x} ELSE {y} END",
                f"CASE WHEN {self.condition(1)} THEN {x} END",
                f"CLAMP({pick.choice(('z', 'w', x))}, {pick.choice((-2, 0))}, {pick.choice((1, 4))})",
                f"COALESCE({x}, {pick.choice((0, 1, 2))})",
                f"ROUND({x})",
                f"FLOOR({x})",
                f"CEIL({x})",
                f"NULLIF({x}, 0)",
                f"GREATEST({x}, {y})",
                f"LEAST({x}, 1)",
                f"CLAMP(1 / NULLIF({x}, 0), -1, 1)",
                f"CLAMP(LN({x}), 0, 2)",
                f"CLAMP(EXP({x}), 0, 9)",
                f"SQRT(ABS({x}))",
                f"CLAMP(CAST(t AS INT), 0, {pick.choice((3, 9))})",
                f"CAST({x} AS {pick.choice(('INT', 'FLOAT', 'DECIMAL(6,2)'))})",
                "EXTRACT(DAY FROM d)",
                "LENGTH(s)",
                f"CLAMP(({x}) // (a - 5), -3, 3)",
            )
        )

    def condition(self, depth: int) -> str:
        pick = self.choice
        if depth > 0 and pick.random() < 0.35:
            x, y = self.condition(depth - 1), self.condition(depth - 1)
            return pick.choice((f"({x} AND {y})", f"({x} OR {y})", f"NOT ({x})"))
        number = pick.choice(NUMBERS)
        return pick.choice(
            (
                f"{number} {pick.choice(('<', '<=', '>', '>=', '<>'))} {pick.choice((0, 1, 2.5))}",
                f"{number} {pick.choice(('<=', '>=', '='))} {pick.choice([n for n in 'ab' if n != number])}",
                f"{number} BETWEEN {pick.choice((0, -1))} AND {pick.choice((2, 4))}",
                f"{number} IN (0, 1, 3)",
                f"{number} IS {pick.choice(('', 'NOT '))}NULL",
                "s = 'x'",
                "s IN ('x', 'q')",
                "s LIKE 'x%'",
                "t NOT LIKE 'x_%'",
                "k",
                "k IS NOT TRUE",
                "d >= DATE '2024-02-29'",
                f"d {pick.choice(('<', '>='))} DATE '2024-02-29' + 5 * INTERVAL '1 hour'",
                "1 / (a - 5) > 2 IS NOT TRUE",
                "ABS(-9223372036854775807 + a - 6) > 3 IS NOT FALSE",
                "z + 9223372036854775807 > 0",
                "CAST(t AS INT) >= -3 IS NOT FALSE",
                "w * w > 0.5 IS NOT FALSE",
                "LN(z) < 1 IS NOT FALSE",
                "z IS DISTINCT FROM a",
            )
        )
