"""The language's words, strings, numbers and parameters in colour."""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from privql.syntax.automaton import automaton

KEYWORDS: tuple[str, ...] = tuple(sorted(automaton().keywords))


class QueryLexer(RegexLexer):
    name = "PrivQL"
    flags = re.IGNORECASE | re.MULTILINE
    tokens = {  # noqa: RUF012 - how pygments wants it
        "root": [
            (r"\s+", Whitespace),
            (r"--[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r"'(?:[^']|'')*'?", String.Single),
            (r'"(?:[^"]|"")*"?', Name),
            (r"\$\w+", Name.Variable),
            (r"[0-9][0-9_]*(?:\.[0-9_]*)?(?:e[+-]?[0-9]+)?", Number),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (r"\w+", Name),
            (r"[(),;.]", Punctuation),
            (r".", Operator),
        ],
        "comment": [
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[^*/]+|.", Comment.Multiline),
        ],
    }
