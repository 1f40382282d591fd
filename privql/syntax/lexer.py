"""Text to tokens, with one compiled regular expression.

Every word of the grammar is its keyword wherever it stands, and its signs are read longest first. Comments nest, as
in PostgreSQL. A fault does not stop the reading: the first of each statement is kept as a diagnostic, so that every
statement of a file gets its own.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from privql.diagnostics import Diagnostic, Span
from privql.frozen import frozen
from privql.syntax import characters
from privql.syntax.automaton import Tokens, automaton

MAX_FAULTS = 100
SEMICOLON = -1  # ends a statement; no terminal of the grammar

_DIGITS = r"[0-9]++(?:_[0-9]++)*+"
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_WORD, _SIGN, _NUMBER, _STRING, _QUOTED, _PARAM, _END, _COMMENT, _FOREIGN, _OTHER = range(1, 11)


@frozen
class Lexed:
    tokens: Tokens
    faults: list[Diagnostic]


@cache
def _pattern() -> re.Pattern[str]:
    signs = "|".join(re.escape(sign) for sign in sorted(automaton().signs, key=len, reverse=True))
    foreign = "|".join(re.escape(sign) for sign in characters.FOREIGN if len(sign) > 1)
    return re.compile(
        r"(?:\s++|--[^\n]*+|/\*(?:[^*/]++|\*(?!/)|/(?!\*))*+\*/)*+(?:"
        r"([^\W\d]\w*+)"
        rf"|(?!{foreign}|/\*|\.[0-9])({signs})"
        rf"|((?:{_DIGITS}(?:\.(?:{_DIGITS})?+)?+|\.{_DIGITS})(?:[eE][+-]?+[0-9]++)?+(?![\w.]))"
        r"|('[^']*+(?:''[^']*+)*+')"
        r'|("[^"]*+(?:""[^"]*+)*+")'
        r"|\$([^\W\d]\w*+|[0-9]++(?!\w))"
        r"|(;)"
        r"|(/\*)"
        rf"|({foreign})"
        r"|(\.?[0-9][\w.]*+|`[^`\n]+`|.)"
        r"|\Z)",
        re.DOTALL,
    )


@cache
def terminal(name: str) -> int:
    return automaton().terminals.index(name)


@cache
def _words() -> dict[str, int]:
    return {word: terminal(word) for word in automaton().keywords}


@cache
def _signs() -> dict[str, int]:
    return {sign: terminal(name) for sign, name in automaton().signs.items()}


def lex(text: str) -> Lexed:
    tokens = Tokens([], [], [], [])
    kinds, texts, starts, ends = tokens.kinds, tokens.texts, tokens.starts, tokens.ends
    faults = _hostile(text)
    match, words, signs = _pattern().match, _words(), _signs()
    ident, quoted, string, number, param = map(terminal, ("IDENT", "QUOTED", "STRING", "NUMBER", "PARAM"))
    within, group, within_group = map(terminal, ("WITHIN", "GROUP", "_WITHIN_GROUP"))
    at, faultless, open_end = 1 if text.startswith("\ufeff") else 0, True, False
    while len(faults) < MAX_FAULTS:
        found = match(text, at)
        assert found is not None  # whatever the character, some alternative reads it
        which = found.lastindex
        if which is None:
            break
        start, at = found.span(which)
        meaning = found[which]
        fault = None
        if which == _WORD:
            # Only ASCII letters have a case: U+017F is no S, and U+0131 no I.
            kind = words.get(meaning.upper(), ident) if meaning.isascii() else ident
        elif which == _SIGN:
            kind = signs[meaning]
            if meaning == "(" and kinds[-2:] == [within, group]:
                # One token, so that `WITHIN GROUP (ORDER BY …)` is told from the clause `WITHIN 20` in time.
                del kinds[-1], texts[-1], starts[-1], ends[-2]
                kinds[-1] = within_group
        elif which == _NUMBER:
            kind, meaning = number, meaning.replace("_", "")
            if len(meaning) > 4:
                fault = characters.long_number(meaning, Span(start, at))
        elif which == _STRING:
            kind, meaning = string, meaning[1:-1].replace("''", "'")
        elif which == _QUOTED:
            kind, meaning = quoted, meaning[1:-1].replace('""', '"')
            if not meaning:
                advice = "an empty string is written `''`"
                fault = Diagnostic("PQL0107", "a quoted name cannot be empty", Span(start, at), help=advice)
        elif which == _PARAM:
            kind, start = param, start - 1
        elif which == _END:
            kind, faultless = SEMICOLON, True
        else:
            if which == _COMMENT:
                at = _comment_end(text, start)
                if at >= 0:
                    continue
            open_end = at < 0 or meaning in ("'", '"')
            if open_end:
                fault = characters.unfinished(meaning, Span(start, start + len(meaning)))
                at = len(text)
            elif faultless:
                fault = characters.foreign(meaning, Span(start, at))
        if fault is not None and faultless:
            faults.append(fault)
            faultless = False
        if which >= _COMMENT or open_end:
            continue
        kinds.append(kind)
        texts.append(meaning)
        starts.append(start)
        ends.append(at)
    return Lexed(tokens, sorted(faults, key=lambda fault: fault.span))


def _comment_end(text: str, start: int) -> int:
    """Where a comment with comments inside ends; -1 if it does not."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return -1


def _hostile(text: str) -> list[Diagnostic]:
    """The first characters that no text may hold, wherever they hide."""
    if not characters.HOSTILE.search(text):
        return []
    found = islice(characters.HOSTILE.finditer(text), MAX_FAULTS - 1)
    return [characters.hostile(one[0], Span(*one.span())) for one in found]
