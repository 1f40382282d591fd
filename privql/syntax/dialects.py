"""Words of other dialects of SQL, and what they are called here."""

from __future__ import annotations

import re

from privql.diagnostics import Diagnostic, Fix, Span
from privql.syntax.place import Place

_CHANGES = "the data are never changed or moved from here: the owner declares tables, and analysts ask queries"
_STATEMENTS = dict.fromkeys(
    (
        "INSERT", "UPDATE", "DELETE", "ALTER", "TRUNCATE", "COPY", "ATTACH", "DETACH", "PRAGMA", "MERGE", "USE", "CALL",
        "LOAD", "INSTALL", "VACUUM", "IMPORT", "EXPORT", "EXECUTE", "PREPARE", "DECLARE", "LOCK",
    ),
    _CHANGES,
) | {
    "FROM": "a query begins with `SELECT`: write `SELECT * FROM …`",
    "ANALYZE": "write `EXPLAIN` and a query",
    "REVOKE": "write `GRANT` with another limit; every grant stays in the ledger's history",
    "START": "write `BEGIN`",
    "END": "write `COMMIT`",
    "ABORT": "write `ROLLBACK`",
}  # fmt: skip

# What follows CREATE or DROP, that does not.
_KINDS = {
    "OR": "nothing is replaced in place: apply a new policy, or drop the view or release first",
    "TABLE": "say whether its rows are private: `CREATE PRIVATE TABLE …` or `CREATE PUBLIC TABLE …`",
    "TEMP": "write `WITH name AS (SELECT …)`",
    "TEMPORARY": "write `WITH name AS (SELECT …)`",
    "MATERIALIZED": "write `CREATE VIEW`, or `CREATE RELEASE` for an answer that is kept",
    "FUNCTION": "there are no functions of one's own; write `CREATE VIEW`",
    "INDEX": "the engine keeps its own indexes",
    "USER": "analysts are named by `GRANT budget TO name`",
    "ROLE": "analysts are named by `GRANT budget TO name`",
}

_UNCHANGED = "leave it out: a query changes nothing"
_SAMPLED = "rows cannot be sampled across units; filter by a column"
_WORDS = {
    "TOP": "write `LIMIT n` at the end",
    "TABLESAMPLE": _SAMPLED,
    "MINUS": "write `EXCEPT`",
    "REGEXP": "write `x ~ 'pattern'`",
    "RLIKE": "write `x ~ 'pattern'`",
    "GLOB": "write `x LIKE 'pattern%'`",
    "ELSEIF": "write another `WHEN … THEN …`",
    "ELSIF": "write another `WHEN … THEN …`",
    "DIV": "write `//`",
    "MOD": "write `%` or `mod(a, b)`",
    "XOR": "write `a <> b`",
    "COLLATE": "text compares by code point; there are no collations",
    "PIVOT": "write `SUM(x) FILTER (WHERE k = 'a')`, one for each column",
    "UNPIVOT": "write a `UNION ALL` of one `SELECT` for each column",
    "SEMI": "write `WHERE k IN (SELECT …)`",
    "ANTI": "write `WHERE k NOT IN (SELECT …)`",
    "TIES": "write `ONLY`; ties are broken by ORDER BY",
    "ANALYZE": "leave it out: `EXPLAIN` reads no data",
    "ANALYSE": "leave it out: `EXPLAIN` reads no data",
    "TRANSACTION": "leave it out: `BEGIN`, `COMMIT` and `ROLLBACK` stand alone",
    "WORK": "leave it out: `BEGIN`, `COMMIT` and `ROLLBACK` stand alone",
    "ZONE": "times are UTC; leave the time zone out",
    "PRIMARY": "write `KEY`",
    "UNIQUE": "write `KEY`",
    "FOREIGN": "write `REFERENCES table(column)` after the column's type",
    "CONSTRAINT": "write it after the column's type: `KEY`, `NOT NULL`, `BETWEEN 0 AND 9`, `REFERENCES t(c)`",
    "CHECK": "write the domain after the column's type: `BETWEEN 0 AND 9` or `IN ('a', 'b')`",
    "COMMENT": "a comment starts with `--`",
    "IF": "leave `IF …` out; a condition in a query is `CASE WHEN … THEN … ELSE … END`",
    "LATERAL": "`LATERAL` stands before a query in parentheses, in FROM",
    "APPLY": "write `CROSS JOIN LATERAL (SELECT …)`, or `LEFT JOIN LATERAL (SELECT …) ON TRUE`",
    "INTO": "write `CREATE RELEASE name AS SELECT …` for an answer that is kept",
}
# What takes several words.
_PHRASES = {
    ("AT", "TIME", "ZONE"): "times are UTC; leave the time zone out",
    ("FOR", "UPDATE"): _UNCHANGED,
    ("FOR", "SHARE"): _UNCHANGED,
    ("GRANT", "SELECT"): "what is granted is a budget: write `GRANT research TO alice;`",
    ("ORDER", "BY", "ALL"): "name what to sort by, or its place in SELECT: `ORDER BY 1, 2`",
    ("PRIVACY", "UNIT"): "write `UNIT` and the unit's name: `id TEXT UNIT person`",
    ("USING", "SAMPLE"): _SAMPLED,
    ("WITH", "CUBE"): "write `GROUP BY CUBE (a, b)`",
    ("WITH", "EPSILON"): "write `SPEND EPSILON 1` at the end",
    ("WITH", "ROLLUP"): "write `GROUP BY ROLLUP (a, b)`",
}
# GoogleSQL's words after `SELECT WITH`.
_MANNERS = {
    "ANONYMIZATION": "write `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)`, and COUNT, SUM and AVG without "
    "ANON_",
    "AGGREGATION_THRESHOLD": "write `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)`: a threshold hides "
    "nobody from who asks twice",
}
# What is written in the parentheses of a name that is no function here.
_CALLED = {
    "SAFE_CAST": "write `TRY_CAST(x AS INT)`",
    "STRUCT": "there are no structs: name each value in SELECT",
    **{f"ANON_{name}": f"write `{name}(CLAMP(x, 0, 9))`" for name in ("COUNT", "SUM", "AVG")},
}
_DRIVERS = re.compile(r"%s\b|%\(\w+\)s\b")  # how Python's drivers write parameters
_PREFIXES = ("E", "N", "B", "X", "R", "U", "RB", "BR")


def foreign_word(place: Place) -> Diagnostic | None:
    """The error, if the word at it, or the one before it, is another dialect's."""
    index = place.index
    word, before = place.word_at(index), place.word_at(index - 1)
    if index == 0 and word in _STATEMENTS:
        return _refused(place, index, f"`{word}` begins no statement here", _STATEMENTS[word])
    if index == 1 and before in ("CREATE", "DROP") and word in _KINDS:
        advice = "write `DROP VIEW` or `DROP RELEASE`" if before == "DROP" else _KINDS[word]
        return _refused(place, index, f"there is no `{before} {word}`", advice)
    google = _google(place)
    if google is not None:
        return google
    for at in (index, index - 1, index - 2):
        if place.kind_at(at) == "EXCEPT" and place.kind_at(at - 1) == "STAR":
            fixes = [Fix(place.spans[at], "EXCLUDE")] if place.reads(at, 1, ["EXCLUDE"]) else []
            return _refused(place, at, "columns are left out by `EXCLUDE`", "write `* EXCLUDE (a, b)`", *fixes)
    for at in (index - 1, index - 2):
        if place.kind_at(at) == "IS" and place.reads(at, 1, []):
            fix = place.without(at)
            return _refused(place, at, f"unexpected `{word}` after `IS`", "leave `IS` out", fix)
    for at in (index - 1, index - 2):
        if place.kind_at(at) == "PARTITION" and place.kind_at(at - 1) == "OVER":
            return _refused(place, at, "a window stands in parentheses", "write `OVER (PARTITION BY …)`")
    if word in ("FROM", "IN") and before in ("COLUMNS", "FIELDS") and place.word_at(index - 2) == "SHOW":
        return _refused(place, index - 1, f"there is no `SHOW {before}`", "write `DESCRIBE` and the table's name")
    if place.kind == "PERCENT" and _DRIVERS.match(place.text, place.span.start):
        return _refused(place, index, "a parameter has a name", "write `$name`, and give its value by name")
    if word == "ON" and before == "DISTINCT":
        return _refused(place, index, "there is no `DISTINCT ON`", "write `GROUP BY`, or `LIMIT 1 PER UNIT`")
    if place.kind == "STRING" and before in _PREFIXES and place.spans[index - 1].end == place.span.start:
        advice = "leave it out: there are no escapes, and a quote inside is written twice, `''`"
        fix = Fix(place.spans[index - 1], "")
        return _refused(place, index - 1, f"a string has no prefix `{before}`", advice, fix)
    for words, advice in _PHRASES.items():
        for at in range(index - len(words), index - len(words) + 3):
            if words == tuple(place.word_at(at + each) for each in range(len(words))):
                return _refused(place, at, f"there is no `{' '.join(words)}`", advice)
    if place.kind == "COMMA" and place.kind_at(index - 2) == "LIMIT":
        return _first_of(place)
    inside = _opened(place)
    if inside is not None and place.word_at(inside) in ("PIVOT", "UNPIVOT"):
        return _refused(place, inside, f"there is no {place.shown(inside)}", _WORDS[place.word_at(inside)])
    for at in (index, index - 1, index - 2) if place.kind_at(index - 1) == "LPAR" else (index, index - 1):
        found = place.word_at(at)
        if found in _WORDS and place.kind_at(at) in ("IDENT", "LATERAL"):
            return _refused(place, at, f"{place.shown(at)} has another name here", _WORDS[found])
    return None


def _first_of(place: Place) -> Diagnostic:
    """`LIMIT 20, 10`: the rows left out come first."""
    index, instead, fixes = place.index, "10 OFFSET 20", []
    if place.kind_at(index + 1) == "NUMBER" and place.reads(index - 1, 3, ["NUMBER", "OFFSET", "NUMBER"]):
        skipped, kept = place.spans[index - 1], place.spans[index + 1]
        instead = f"{place.text[kept.start : kept.end]} OFFSET {place.text[skipped.start : skipped.end]}"
        fixes.append(Fix(Span(skipped.start, kept.end), instead))
    return _refused(place, index, "`LIMIT` takes one number", f"write `LIMIT {instead}`", *fixes)


def _google(place: Place) -> Diagnostic | None:
    index = place.index
    word, before = place.word_at(index), place.word_at(index - 1)
    if before == "WITH" and word in _MANNERS:
        return _refused(place, index, f"there is no `SELECT WITH {word}`", _MANNERS[word])
    if before == "DIFFERENTIAL_PRIVACY" and place.word_at(index - 2) == "WITH":
        advice = "write `WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)`"
        return _refused(place, index - 1, "its options are missing", advice)
    if word == "AS" and place.word_at(index + 1) in ("STRUCT", "VALUE"):
        advice = f"leave `AS {place.word_at(index + 1)}` out: an answer is rows of columns"
        return _refused(place, index, "rows are no values here", advice)
    if word == "UNNEST" and before == "IN":
        return _refused(place, index, "`IN` takes its values as they are", "write `IN ('a', 'b')`")
    if place.kind_at(index - 2) == "DOT" and place.word_at(index - 3) == "SAFE":
        advice = "leave `SAFE.` out: where a function has no value it gives NULL"
        return _refused(place, index - 3, "every function is safe", advice)
    at = _opened(place)
    if at is not None and place.word_at(at) in _CALLED:
        name = place.word_at(at)
        fixes = [Fix(place.spans[at], "TRY_CAST")] if name == "SAFE_CAST" else []
        return _refused(place, at, f"no function named `{name}`", _CALLED[name], *fixes)
    return None


def _opened(place: Place) -> int | None:
    """What stands before the parenthesis that is still open where the statement went wrong."""
    depth = 0
    for at in range(place.index - 1, 0, -1):
        depth += {"RPAR": 1, "LPAR": -1}.get(place.kind_at(at), 0)
        if depth < 0:
            return at - 1
    return None


def _refused(place: Place, at: int, message: str, advice: str, *fixes: Fix) -> Diagnostic:
    return Diagnostic("PQL0112", message, place.spans[at], help=advice, fixes=fixes)
