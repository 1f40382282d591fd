"""Text to trees: statements split at `;`, each read on its own, so that each reports its own error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

from privql.diagnostics import Diagnostic, PrivQLError, Source, Span
from privql.frozen import frozen
from privql.syntax import (
    ast,
    build_calls,
    build_expressions,
    build_parts,
    build_queries,
    build_relations,
    build_statements,
)
from privql.syntax.automaton import Action, Deep, Stuck, automaton
from privql.syntax.diagnose import unexpected
from privql.syntax.lexer import MAX_FAULTS, SEMICOLON, Lexed, lex

MAX_TEXT = 1 << 20  # characters of one text
MAX_TOKENS = 100_000  # of one statement
MAX_DEPTH = 100  # nodes on a way from root to leaf: whoever walks a tree may recurse
_SHOWN = 80  # characters of a text that is too long


@frozen
class Parsed:
    statement: ast.Statement
    span: Span


def parse_file(source: Source) -> tuple[list[Parsed], list[Diagnostic]]:
    """Every statement that can be read, and what is wrong with the others, in the order of the text."""
    parsed: list[Parsed] = []
    wrong: list[Diagnostic] = []
    if fault := _too_long(source):
        return [], [fault]
    lexed = lex(source.text)
    for begin, end, fault in _statements(lexed, len(source.text)):
        if len(wrong) == MAX_FAULTS:
            at = Span(lexed.tokens.starts[begin], lexed.tokens.starts[begin] + 1) if begin < end else wrong[-1].span
            wrong.append(Diagnostic("PQL0103", f"more than {MAX_FAULTS} statements have errors", at, "not read on"))
            break
        try:
            if fault:
                raise PrivQLError(fault)
            if begin < end:
                span = Span(lexed.tokens.starts[begin], lexed.tokens.ends[end - 1])
                parsed.append(Parsed(_read("statement", source.text, lexed, begin, end), span))
        except PrivQLError as error:
            wrong += error.diagnostics
    return parsed, [each.in_source(source) for each in wrong]


def opening(source: Source) -> Callable[[Span], list[str]]:
    """The first three words of the statement that has an error there: what it would have begun or made."""
    text = source.text if len(source.text) <= MAX_TEXT else source.text[:_SHOWN]  # else the error is at its beginning
    lexed = lex(text)
    kinds, starts, ends = lexed.tokens.kinds, lexed.tokens.starts, lexed.tokens.ends
    begins = [0, *(index + 1 for index, kind in enumerate(kinds) if kind == SEMICOLON)]

    def words(at: Span) -> list[str]:
        begin = next((one for one in reversed(begins) if one < len(starts) and starts[one] <= at.start), len(starts))
        return [text[starts[index] : ends[index]] for index in range(begin, min(begin + 3, len(starts)))]

    return words


def parse_statement(text: str | Source) -> ast.Statement:
    """The one statement of a text."""
    return cast(ast.Statement, _one("statement", text))


def parse_query(text: str | Source) -> ast.Query:
    statement = _one("statement", text)
    if not isinstance(statement, ast.Query):
        source = _source(text)
        raise PrivQLError(Diagnostic("PQL0113", "this statement is not a query", statement.span), source)
    return statement


def parse_expression(text: str | Source) -> ast.Expr:
    return cast(ast.Expr, _one("expression", text))


def _source(text: str | Source) -> Source:
    return text if isinstance(text, Source) else Source(text)


def _one(start: str, text: str | Source) -> ast.Node:
    source = _source(text)
    try:
        if fault := _too_long(source):
            raise PrivQLError(fault)
        lexed = lex(source.text)
        found = [one for one in _statements(lexed, len(source.text)) if one[0] < one[1] or one[2]]
        if not found:
            whole, advice = Span(0, max(1, len(source.text))), "comments and `;` alone say nothing"
            raise PrivQLError(Diagnostic("PQL0113", f"there is no {start} here", whole, help=advice))
        for begin, end, fault in found[:2]:
            if fault:
                raise PrivQLError(fault)
            if begin != found[0][0]:
                span = Span(lexed.tokens.starts[begin], lexed.tokens.ends[end - 1])
                raise PrivQLError(Diagnostic("PQL0113", f"only one {start} can stand here", span, "a second one"))
            tree: ast.Node = _read(start, source.text, lexed, begin, end)
        return tree
    except PrivQLError as error:
        raise error.in_source(source) from None


def _too_long(source: Source) -> Diagnostic | None:
    length = len(source.text)
    if length <= MAX_TEXT:
        return None
    why = f"it has {length:,} characters, and {MAX_TEXT:,} are read"
    beginning = Source(source.text[:_SHOWN], source.name)  # to draw it, all lines of its text would be counted
    return Diagnostic("PQL0103", "this text is too long", Span(0, 1), why=why).in_source(beginning)


def _statements(lexed: Lexed, length: int) -> Iterator[tuple[int, int, Diagnostic | None]]:
    """The tokens of each statement, as begin and end, and the fault of its characters, if it has one."""
    kinds, starts = lexed.tokens.kinds, lexed.tokens.starts
    faults = iter(lexed.faults)
    fault = next(faults, None)
    begin = 0
    semicolons = [index for index, kind in enumerate(kinds) if kind == SEMICOLON]
    for index in [*semicolons, len(kinds)]:
        stop = starts[index] if index < len(kinds) else length + 1
        first = fault if fault and fault.span.start < stop else None
        yield begin, index, first
        while fault and fault.span.start < stop:
            fault = next(faults, None)
        begin = index + 1


def _read(start: str, text: str, lexed: Lexed, begin: int, end: int) -> Any:
    tokens = lexed.tokens
    if end - begin > MAX_TOKENS:
        at = Span(tokens.starts[begin], tokens.ends[begin])
        why = f"it has {end - begin:,} words and signs, and {MAX_TOKENS:,} are read"
        raise PrivQLError(Diagnostic("PQL0103", "this statement is too long", at, why=why))
    try:
        return automaton().parse(start, tokens, begin, end, _actions(), MAX_DEPTH)
    except Stuck as stuck:
        raise PrivQLError(unexpected(start, text, tokens, begin, end, stuck.index)) from None
    except Deep as deep:
        raise PrivQLError(
            Diagnostic(
                "PQL0104",
                "this is nested too deep",
                deep.span,
                why=f"no more than {MAX_DEPTH} levels are read; `a OR b OR c` has two",
                help="write a long chain of comparisons as `x IN (…)`, and a deep query with WITH",
            )
        ) from None


@cache
def _actions() -> tuple[Action, ...]:
    """The function for each action of the table: the one of that name in a `build_*` module."""
    found: dict[str, Action] = {}
    for module in (build_parts, build_expressions, build_calls, build_relations, build_queries, build_statements):
        found |= {
            name: each for name, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__
        }
    return tuple(found[name] for name in automaton().actions)
