"""Every tree survives being written and read; every node's span is exactly its text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from privql.diagnostics import Source
from privql.syntax import ast, parse_expression, parse_file, parse_query, parse_statement, unparse
from tests.assurance import assured, length
from tests.generate_ast import Trees

TREES = length(600, 30_000)


def nodes(tree: Any) -> Iterator[ast.Node]:
    if isinstance(tree, tuple):
        for each in tree:
            yield from nodes(each)
    elif isinstance(tree, ast.Node):
        yield tree
        for field in dataclasses.fields(tree):
            yield from nodes(getattr(tree, field.name))


@pytest.fixture(scope="module")
def statements() -> list[ast.Statement]:
    return [Trees(seed).statement() for seed in range(TREES)]


def test_statements_survive(statements: list[ast.Statement]) -> None:
    with assured("grammar") as tally:
        tally["tried"] += len(statements)
        for statement in statements:
            text = unparse(statement)
            assert parse_statement(text) == statement, text


def test_queries_and_expressions_survive() -> None:
    for seed in range(TREES // 3):
        query, expression = Trees(seed).query(), Trees(seed).expression(6)
        assert parse_query(unparse(query)) == query
        assert parse_expression(unparse(expression)) == expression


def test_canonical_text_is_a_fixed_point(statements: list[ast.Statement]) -> None:
    for statement in statements[:200]:
        text = unparse(statement)
        assert "\n" not in text.replace("a\nb", "")
        assert unparse(parse_statement(text)) == text


def test_the_generator_makes_every_node_with_every_field(statements: list[ast.Statement]) -> None:
    """Else the round trip proves less than it says."""
    usual: dict[type, dict[str, set[bool]]] = {}
    for node in nodes(tuple(statements)):
        seen = usual.setdefault(type(node), {})
        for field in dataclasses.fields(node):
            seen.setdefault(field.name, set()).add(getattr(node, field.name) in (None, (), False))
    every = {each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.Node)}
    assert usual.keys() == every - {ast.Node}
    for kind, fields in usual.items():
        for field in dataclasses.fields(kind):
            if field.default in (None, (), False):
                assert fields[field.name] == {True, False}, (kind, field.name)


def test_spans_are_exact(statements: list[ast.Statement]) -> None:
    """The text at a node's span, read alone, is that node; other nodes begin and end at a token inside their parent."""
    read_alone = 0
    for statement in statements[:400]:
        text = unparse(statement)
        tree = parse_statement(text)
        assert tree.span == type(tree.span)(0, len(text))
        for node in nodes(tree):
            piece = text[node.span.start : node.span.end]
            assert (piece == piece.strip() and piece) or node == ast.Window(), (node, piece)
            for child in nodes(tuple(getattr(node, field.name) for field in dataclasses.fields(node))):
                assert node.span.start <= child.span.start <= child.span.end <= node.span.end
            if isinstance(node, ast.Star | ast.Named):
                continue
            if isinstance(node, get_args(ast.Expr)):
                assert parse_expression(piece) == node
                read_alone += 1
            elif isinstance(node, ast.Query):
                assert parse_query(piece) == node
                read_alone += 1
    assert read_alone > 1_000


def test_a_file_of_many_statements(statements: list[ast.Statement]) -> None:
    text = ";;\n-- a comment; with a semicolon\n".join(unparse(each) for each in statements[:200])
    parsed, wrong = parse_file(Source(text))
    assert wrong == []
    assert [each.statement for each in parsed] == statements[:200]
    for each in parsed:
        assert parse_statement(text[each.span.start : each.span.end]) == each.statement
