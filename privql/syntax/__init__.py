"""Text to tree and back: lexer, parser, tree, unparser."""

from privql.syntax.names import RESERVED, quote
from privql.syntax.parse import Parsed, opening, parse_expression, parse_file, parse_query, parse_statement
from privql.syntax.unparse import unparse

__all__ = [
    "RESERVED",
    "Parsed",
    "opening",
    "parse_expression",
    "parse_file",
    "parse_query",
    "parse_statement",
    "quote",
    "unparse",
]
