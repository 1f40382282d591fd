"""Clauses that stand where they cannot: out of order, twice, or outside an aggregate's parentheses."""

from __future__ import annotations

from privql.diagnostics import Diagnostic
from privql.syntax.place import Place

_ORDER = "`SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT … SPEND …`"
_RANKS = {
    "FROM": 1, "WHERE": 2, "GROUP": 3, "HAVING": 4, "WINDOW": 5, "QUALIFY": 6, "ORDER": 7,
    "LIMIT": 8, "OFFSET": 8, "FETCH": 8, "AT": 9, "SPEND": 9, "WITHIN": 9, "USING": 9,
    "EVERY": 9,
}  # fmt: skip
_PRIVACY = 9
_SET_WORDS = ("UNION", "EXCEPT", "INTERSECT")
_JOIN_WORDS = ("JOIN", "INNER", "CROSS", "NATURAL", "LEFT", "RIGHT", "FULL")


def misplaced(place: Place) -> Diagnostic | None:
    """The clause that the error is about, if it is about one."""
    given = _given(place)
    ranks = [rank for _, rank, _ in given]
    kind, latest = place.kind, max(ranks, default=0)
    if kind in _RANKS and _begins_clause(place, place.index):
        if kind in [clause for clause, _, _ in given]:
            return _twice(place, kind)
        if latest > _RANKS[kind]:
            if latest == _PRIVACY and kind == "FROM":
                return _own_clause(place, given[-1][2])
            later = next(clause for clause, rank, _ in given if rank > _RANKS[kind])
            return _order(place, f"{_words(kind)} must come before {_words(later)}", f"write {_ORDER}")
    if kind in _SET_WORDS and latest >= _RANKS["ORDER"]:
        later = next(clause for clause, rank, _ in given if rank >= _RANKS["ORDER"])
        return _order(
            place,
            f"`{kind}` cannot follow {_words(later)}",
            f"put the part before `{kind}` in parentheses, or write {_words(later)} at the end, for the whole",
        )
    if kind in _JOIN_WORDS and latest > _RANKS["FROM"]:
        later = next(clause for clause, rank, _ in given if rank > _RANKS["FROM"])
        return _order(place, f"a join must come before {_words(later)}", "joins belong to FROM")
    before = place.word_at(place.index - 1)
    if before == "BOUNDS" or (before == "SHARE" and kind in ("NUMBER", "PARAM", "LPAR")):
        return _own_clause(place, place.index - 1)
    joined = kind in ("COMMA", "AND") and place.kind_at(place.index + 1) in ("DELTA", "EPSILON")
    if latest == _PRIVACY and (joined or (kind == "EPSILON" and place.kind_at(place.index - 2) == "DELTA")):
        fixes = (place.without(place.index),) if joined and place.reads(place.index, 1, []) else ()
        message, advice = "ε and δ stand side by side, ε first", "write `SPEND EPSILON 1 DELTA 1e-6`"
        return Diagnostic("PQL0108", message, place.span, help=advice, fixes=fixes)
    if kind in ("COMMA", "AS") and given and ranks[-1] == _PRIVACY:
        return _own_clause(place, given[-1][2])
    if kind == "EPSILON" and before == "MAX":
        return Diagnostic(
            "PQL0108",
            "`MAX EPSILON` needs a `WITHIN` before it",
            place.span.to(place.spans[place.index - 1]),
            why="it limits what an accuracy may cost",
            help="write `WITHIN 20 MAX EPSILON 0.5`, or `SPEND EPSILON 0.5`",
        )
    if before == "GIVEN" and place.word_at(place.index) == "COUNT":
        return Diagnostic(
            "PQL0108",
            "`GIVEN` needs a `WITHIN` before it",
            place.span.to(place.spans[place.index - 1]),
            why="it says of how many rows an accuracy is asked for",
            help="write `WITHIN 50 GIVEN COUNT >= 1000`",
        )
    return None


def _given(place: Place) -> list[tuple[str, int, int]]:
    """The clauses of the innermost block up to the error, each with its rank and its first token."""
    blocks: list[list[tuple[str, int, int]]] = [[]]
    for index in range(place.index):
        kind = place.kinds[index]
        if kind == "LPAR":
            blocks.append([])
        elif kind == "RPAR":
            if len(blocks) > 1:
                blocks.pop()
        elif kind in ("SELECT", *_SET_WORDS):
            blocks[-1] = []
        elif kind in _RANKS and _begins_clause(place, index):
            blocks[-1].append((kind, _RANKS[kind], index))
    return blocks[-1]


def _begins_clause(place: Place, index: int) -> bool:
    """Whether a word that can begin a clause does so here: it can also be a name or a part of something else."""
    kind, before, after = place.kinds[index], place.kind_at(index - 1), place.kind_at(index + 1)
    if before in ("AS", "DOT"):
        return False
    match kind:
        case "GROUP" | "ORDER":
            return after == "BY"
        case "FROM":
            return before != "DISTINCT"
        case "USING":
            return after != "LPAR"
        case "AT" | "WITHIN" | "SPEND":
            return after in ("MOST", "NUMBER", "PARAM", "LPAR", "EPSILON", "DELTA")
        case "EVERY":
            return after in ("NUMBER", "HOUR", "DAY", "WEEK")
        case _:
            return True


def _words(clause: str) -> str:
    return f"`{clause} BY`" if clause in ("GROUP", "ORDER") else f"`{clause}`"


def _twice(place: Place, kind: str) -> Diagnostic:
    advice = "join the conditions with `AND`" if kind in ("WHERE", "HAVING", "QUALIFY") else "keep one of them"
    return Diagnostic("PQL0105", f"{_words(kind)} is given twice", place.span, help=advice)


def _order(place: Place, message: str, advice: str) -> Diagnostic:
    return Diagnostic("PQL0109", message, place.span, help=advice)


def _comma_in_number(place: Place, at: int) -> Diagnostic | None:
    """`SPEND EPSILON 0,1` reads as a clause after one expression, and another expression."""
    for number in range(at, place.index + 1):
        if [place.kind_at(number + more) for more in range(3)] == ["NUMBER", "COMMA", "NUMBER"]:
            whole, comma, part = place.spans[number : number + 3]
            before, after = (place.text[span.start : span.end] for span in (whole, part))
            if whole.end == comma.start and comma.end == part.start and "." not in before:
                return Diagnostic("PQL0108", "a number has a point, no comma", comma, help=f"write `{before}.{after}`")
    return None


def _own_clause(place: Place, at: int) -> Diagnostic:
    found = _comma_in_number(place, at)
    if found is not None:
        return found
    return Diagnostic(
        "PQL0108",
        "a privacy clause stands at the end of a query, or inside an aggregate's parentheses",
        place.spans[at],
        "not after a single expression",
        help="write `COUNT(* WITHIN 20)`, `AVG(cost SHARE 2)`, `SUM(x SPEND 0.2)`",
    )
