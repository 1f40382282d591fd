"""What texts are put together of: words that the clinic's policy knows, texts of the documentation, and what hurts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache

from privql.syntax.names import KEYWORDS
from tests.docs.markdown import DOCS, ROOT

NAMES = (
    "patients", "visits", "calls", "members", "regions", "stations", "adults", "tall", "p", "v", "patient_id", "age",
    "sex", "region", "smoker", "cost", "weight", "income", "town", "admitted", "seen", "note", "visit_id", "ward",
    "minutes", "code", "name", "population", "area", "founded", "open", "id", "height", "staff", "checked", "top",
    "patient", "member", "research", "club", "alice", "x", "n", "daily", "COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN",
    "QUANTILE", "MODE", "TOP", "HISTOGRAM", "VARIANCE", "CORR", "STRING_AGG", "ROUND", "ABS", "LENGTH", "UPPER", "LAG",
    "ROW_NUMBER", "RANK", "CLAMP", "DATE_TRUNC", "SUBSTRING", "REGEXP_REPLACE", "JSON_VALUE", "SQRT", "LN", "ERROR",
    "LOW", "HIGH", "GENERATE_SERIES", "UNNEST", "INT", "TEXT", "DECIMAL", "FLOAT", "BOOL", "größe", "_", "名前",
)  # fmt: skip
NUMBERS = (
    "0", "1", "2", "7", "0.1", "0.5", "1e-6", "1e300", "1e-400", "9223372036854775807", "9223372036854775808", "1e40",
    "170141183460469231731687303715884105728", "007", ".5", "3.", "1_000", "0.30000000000000004",
)  # fmt: skip
STRINGS = (
    "''", "'a'", "'F'", "'2024-02-29'", "'it''s'", "'1'", "'-1e5'", "'%_'", "'(a|b)*c+?'", "'[a-'", "'{\"a\":1}'",
    "'$.a[0]'", "'12:00'", "'\\'", "'day'", "'NaN'", "'\u202e'", "'\U0001f600'", "'\0'",
)  # fmt: skip
PARAMS = ("$e", "$p", "$q", "$1")
SIGNS = ("(", ")", "[", "]", ",", ".", ";", "*", "+", "-", "/", "//", "%", "^", "||", "=", "<", ">=", "<>", "::", "=>",
         "->", "->>", "~", "!~*", "&", "<<", "$", "'", '"', "--", "/*", "*/", "\\", "?", "@", "{")  # fmt: skip
ODD = (
    "\0",
    "\ud800",
    "\udfff",
    "\u202e",
    "\ufeff",
    "\u2028",
    "é",
    "e\u0301",
    "½",
    "²",
    "İ",
    "ſ",
    "ß",
    "\x0b",
    "\x85",
    "\r",
    "\t",
    " ",
    "\U0010ffff",
    "0" * 300,
    "a" * 300,
    "(" * 60,
    "NOT " * 60,
    "- " * 60,
    "1e",
    "1.",
    "WITHIN GROUP (",
)
ALIKE = (
    ("+", "-", "*", "/", "//", "%", "^"), ("=", "<", ">=", "<>", "<=", ">"), ("AND", "OR"), ("LEFT", "RIGHT", "FULL"),
    ("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "MODE", "STDDEV", "COUNT_IF", "ANY_VALUE"), ("EPSILON", "DELTA"),
    ("UNION", "EXCEPT", "INTERSECT"), ("ROWS", "GROUPS", "RANGE"), ("INT", "FLOAT", "DECIMAL", "TEXT", "DATE", "BOOL"),
    ("YEAR", "MONTH", "DAY", "HOUR"), ("TRUE", "FALSE", "NULL"), ("ASC", "DESC"), ("LAPLACE", "GAUSSIAN"),
    NUMBERS, STRINGS, NAMES,
)  # fmt: skip
WORDS = (*sorted(KEYWORDS), *NAMES, *NUMBERS, *STRINGS, *PARAMS, *SIGNS)
POLICY = DOCS / "example" / "policy.pql"
_FENCED = re.compile(r"^```(pql|policy)\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|--[^\n]*|.", re.DOTALL)


class Ward(str, Enum):  # noqa: UP042 - so that it says of itself what it is not
    A = "a"


class Worse(float):
    def __repr__(self) -> str:
        raise ValueError("no")

    __str__ = __repr__


VALUES: Sequence[object] = (
    0, 1, -1, 2**63, -(2**63), 2**200, 10**400, 0.0, -0.0, 0.1, 1e300, 5e-324, float("nan"), float("inf"), True, False,
    None, "", "a", "0.1", "1/3", "1e5", "-1", "F", "2024-02-29", "\0", "\ud800", "a" * 1000, "'; DROP", b"a",
    Decimal("0.1"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("1e-400"), Decimal("1E+999999"),
    Fraction(1, 3), Ward.A, Worse(1.5), 1j, [], [1, 2], (1,), {"a": 1}, {1}, object(), int, range(3), Ellipsis,
)  # fmt: skip


@cache
def _alike() -> dict[str, tuple[str, ...]]:
    return {word.upper(): some for some in reversed(ALIKE) for word in some}


def alike(word: str) -> tuple[str, ...]:
    """Words that may stand where this one does, as far as that is seen by itself."""
    if word.upper() in _alike():
        return _alike()[word.upper()]
    return NUMBERS if word[:1].isdigit() else STRINGS if word[:1] == "'" else (word,)


def words(text: str) -> list[str]:
    return _WORD.findall(text)


@cache
def corpus() -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """The words of each query, and of each policy, that the documentation and the tests show."""
    queries, policies = [], [POLICY.read_text(encoding="utf-8")]
    pages = [*sorted(DOCS.rglob("*.md")), ROOT / "tests/policy/contradictions.md", ROOT / "README.md"]
    for page in pages:
        for language, body in _FENCED.findall(page.read_text(encoding="utf-8")):
            (queries if language == "pql" else policies).append(body)
    queries += (ROOT / "tests/queries/shapes.pql").read_text(encoding="utf-8").split("\n\n")
    split = [one for text in queries for one in text.split(";") if one.strip()]
    return tuple(tuple(words(one)) for one in split), tuple(tuple(words(one)) for one in policies)
