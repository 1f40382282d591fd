"""Why a statement cannot be read on: each common slip by its name, with what to write instead.

A repair is offered as an edit only if the statement, so edited, is read.
"""

from __future__ import annotations

import difflib

from privql.diagnostics import Diagnostic, Fix
from privql.syntax.automaton import Tokens, automaton
from privql.syntax.clauses import misplaced
from privql.syntax.dialects import foreign_word
from privql.syntax.expected import expected
from privql.syntax.names import plain
from privql.syntax.place import Place, place

_GLUED = {"GROUPBY": ("GROUP", "BY"), "ORDERBY": ("ORDER", "BY"), "PARTITIONBY": ("PARTITION", "BY")}
_BEGINS = frozenset({"SELECT", "CREATE", "GRANT", "EXPLAIN"})  # statements, and nothing after a whole one
# What is written, what is meant, and what to say.
_MISQUOTED = (
    ("QUOTED", "STRING", "double quotes are for names"),
    ("STRING", "QUOTED", "single quotes are for strings"),
    ("IDENT", "STRING", "a string stands in single quotes"),
)
_LONG = 10_000  # tokens of a statement that no person wrote, and for which no repair is tried
# Words that are easily left out, and what they can only follow, if they could be names elsewhere.
_FORGOTTEN = {
    "BY": ("GROUP", "ORDER", "PARTITION"), "UNIT": ("PER", "FOR"), "AS": (), "THEN": (), "END": (), "TABLE": (),
    "TO": (), "AND": (), "FROM": (),
}  # fmt: skip
_OFTEN_NAMES = frozenset(
    {
        "ALL", "ANY", "ARRAY", "ASC", "BOTH", "CASE", "CAST", "CREATE", "DEFAULT", "DESC", "ELSE", "END", "FOR", "FULL",
        "GRANT", "GROUP", "LEADING", "LEFT", "NATURAL", "ONLY", "ORDER", "REFERENCES", "RIGHT", "SOME", "SYMMETRIC",
        "TABLE", "TO", "TRAILING", "USING", "WINDOW",
    }
)  # fmt: skip


def unexpected(start: str, text: str, tokens: Tokens, begin: int, end: int, index: int) -> Diagnostic:
    """What is wrong at token `index` of the statement tokens[begin:end]."""
    here = place(start, text, tokens, begin, end, index)
    causes = (foreign_word, misplaced, _commas, _misspelled, _misquoted, _missing_comma, _parentheses, _forgotten)
    for cause in causes if end - begin <= _LONG else ():
        if found := cause(here):
            return found
    message = "the statement ends too early" if here.ended else f"unexpected {here.shown(here.index)}"
    return Diagnostic("PQL0101", message, here.span, _label(here), help=_guess(here))


def _label(here: Place) -> str:
    return f"expected {expected(here.admitted(here.index))}"


def _commas(here: Place) -> Diagnostic | None:
    index = here.index
    for at in (index - 1, index):
        if here.kind_at(at) == "COMMA" and here.reads(at, 1, []):
            fix = here.without(at)
            return Diagnostic("PQL0110", "a comma too many", here.spans[at], help="leave it out", fixes=(fix,))
    if here.kind == "COMMA" and here.reads(index, 1, ["AND"]):
        advice = "write `BETWEEN low AND high`"
        fix = here.instead(index, "AND")
        return Diagnostic("PQL0110", "a comma where `AND` is meant", here.span, help=advice, fixes=(fix,))
    return None


def _missing_comma(here: Place) -> Diagnostic | None:
    if here.index == 0 or here.ended or here.kind in ("EQUAL", "LPAR"):
        return None
    if here.kind_at(here.index - 2) == "AS" and here.reads(here.index - 1, 0, ["IDENT"]):
        at = here.spans[here.index - 1]
        return Diagnostic(
            "PQL0101", "a name is missing after `AS`", at, help=f"{here.shown(here.index - 1)} is read as one"
        )
    if not here.reads(here.index, 0, ["COMMA"]):
        return None
    fix = here.insertion(",", glued=True)
    message = f"a comma is missing before {here.shown(here.index)}"
    return Diagnostic("PQL0110", message, here.span, help="separate them by `,`", fixes=(fix,))


def _misspelled(here: Place) -> Diagnostic | None:
    """A word that is nearly the one that fits, at the error or just before it."""
    for at in (here.index, here.index - 1):
        word = here.word_at(at)
        if word in _GLUED and here.reads(at, 1, _GLUED[word]):
            return _replace(here, at, f"{here.shown(at)} is two words", " ".join(_GLUED[word]))
        for near in _near(here, at):
            if here.reads(at, 1, [near]):
                return _replace(here, at, f"unexpected {here.shown(at)}", near, f"did you mean `{near}`?")
    at = here.index
    if here.kind in _OFTEN_NAMES and here.kind_at(at + 1) != "BY" and here.reads(at, 1, ["QUOTED"]):
        quoted = f'"{here.text[here.span.start : here.span.end]}"'
        return _replace(
            here, at, f"{here.shown(at)} is a word of the language", quoted, f"as a name, quote it: `{quoted}`"
        )
    return None


def _misquoted(here: Place) -> Diagnostic | None:
    """A string in the quotes of a name, a name in those of a string, or a string of a list in none."""
    at = here.index
    for written, meant, message in _MISQUOTED:
        if here.kind != written or meant not in here.admitted(at):
            continue
        text = here.text[here.span.start : here.span.end]
        if written == "IDENT" and not _among_texts(here):
            continue  # elsewhere a bare word is rather a slip
        if written == "STRING" and (len(text) == 2 or here.kind_at(at - 1) not in automaton().keywords):
            continue  # after a string or a type's name it is rather another value
        content = text if written == "IDENT" else text[1:-1].replace(text[0] * 2, text[0])
        right = plain(content) if meant == "QUOTED" else "'" + content.replace("'", "''") + "'"
        fixes = (here.written(at, right),) if here.reads(at, 1, [meant]) else ()
        label = f"a {'string' if meant == 'STRING' else 'name'} is meant here"
        return Diagnostic("PQL0114", message, here.span, label, help=f"write `{right}`", fixes=fixes)
    return None


def _among_texts(here: Place) -> bool:
    """In the list of a column's values, `TEXT IN (F, M)`."""
    opening = here.open_parenthesis()
    called = here.kind_at(here.index + 1) == "LPAR"
    return (
        opening is not None and here.word_at(opening - 1) == "IN" and here.word_at(opening - 2) == "TEXT" and not called
    )


def _near(here: Place, at: int) -> list[str]:
    """Keywords that could stand there and look like what does."""
    word = here.word_at(at)
    if here.kind_at(at) != "IDENT" or len(word) < 3:
        return []
    fitting = here.admitted(at) & automaton().keywords
    return difflib.get_close_matches(word, sorted(fitting), n=3, cutoff=0.66)


def _replace(here: Place, at: int, message: str, by: str, advice: str = "") -> Diagnostic:
    fix = Fix(here.spans[at], by)
    return Diagnostic("PQL0101", message, here.spans[at], help=advice or f"write `{by}`", fixes=(fix,))


def _parentheses(here: Place) -> Diagnostic | None:
    opening = here.open_parenthesis()
    if here.kind == "RPAR" and opening is None:
        fixes = (here.without(here.index),) if here.reads(here.index, 1, []) else ()
        return Diagnostic("PQL0111", "this `)` closes nothing", here.span, help="leave it out", fixes=fixes)
    if opening is not None:
        closes = here.reads(here.index, 0, ["RPAR"])
        if closes or here.ended:
            fixes = (here.insertion(")", glued=True),) if closes else ()
            where = f"before {here.shown(here.index)}" if not here.ended else "at the end"
            advice = f"write `)` {where}" if closes else ""
            return Diagnostic("PQL0111", "this `(` is never closed", here.spans[opening], help=advice, fixes=fixes)
    return None


def _forgotten(here: Place) -> Diagnostic | None:
    """A word or a sign that makes the statement readable, or one without which it is."""
    if here.index == 0:
        return None
    at = here.index
    previous = here.kind_at(at - 1)
    if here.kind == "EQUAL" and previous in automaton().keywords and here.reads(at, 1, []):
        return Diagnostic("PQL0101", "unexpected `=`", here.span, help="leave it out", fixes=(here.without(at),))
    if here.kind in ("EQUAL", "COMPARISON") and here.reads(at, 0, ["AND", "IDENT"]):
        return Diagnostic(
            "PQL0101", "comparisons do not chain", here.span, help="write `a < b AND b < c`, or `b BETWEEN a AND c`"
        )
    admitted = here.admitted(at)
    if admitted >= {"ON", "USING"} and not admitted & {"$END", "THEN"}:
        return Diagnostic(
            "PQL0101", "this join has no condition", here.span, help="write `ON a.k = b.k` or `USING (k)`"
        )
    for kind, after in _FORGOTTEN.items():
        fits = previous in after if after else previous not in ("AS", "DOT", "SHOW")
        fits = fits and not (kind == "AND" and here.kind in ("NUMBER", "STRING"))
        if fits and here.reads(at, 0, [kind]):
            where = f"before {here.shown(at)}" if not here.ended else "at the end"
            fix = here.insertion(kind)
            message = f"`{kind}` is missing {where}"
            return Diagnostic("PQL0101", message, here.span, _label(here), help=f"write `{kind}`", fixes=(fix,))
    if here.kind_at(at - 2) == "AT" and here.reads(at, 0, ["PERCENT"]):
        fix = here.insertion("%", glued=True)
        message, advice = "a confidence is a percentage", "write `AT 95%`"
        return Diagnostic("PQL0101", message, here.span, "expected `%`", help=advice, fixes=(fix,))
    return None


def _guess(here: Place) -> str:
    """Another statement that begins here; or a near word that would lead further, though more is wrong."""
    if here.kind in _BEGINS and "$END" in here.admitted(here.index):
        return "end the statement before it with `;`"
    for at in (here.index, here.index - 1):
        for near in _near(here, at)[:1]:
            if difflib.SequenceMatcher(None, here.word_at(at), near).ratio() >= 0.75:
                return f"did you mean `{near}` for {here.shown(at)}?"
    return ""
