"""Texts made to hurt: refused clearly and at once, and never anything but a `PrivQLError`."""

from __future__ import annotations

import copy
import random
import sys
import time

import pytest

from privql.diagnostics import PrivQLError, Source
from privql.syntax import parse_expression, parse_file, parse_statement, unparse
from privql.syntax.lexer import MAX_FAULTS
from privql.syntax.parse import MAX_DEPTH, MAX_TEXT, MAX_TOKENS
from tests.assurance import assured, length
from tests.generate_ast import Trees

FUZZED = length(500, 100_000)
SIZE = 90_000

PIECES = [
    "", "'", '"', "(", ")", ";", "--", "/*", "*/", ",", ".", "$", "1e", "\\", "\0", "é", "\ud800", "\u202e", "=", "e",
    "_", " ", "SELECT", " FROM ", "WITHIN GROUP (", "0" * 500, "9e9", "½", "²",
]  # fmt: skip

CHAINS = {
    "1 + 1 + …": "SELECT 1" + " + 1" * 40_000,
    "a OR a OR …": "SELECT * FROM t WHERE a" + " OR a" * 40_000,
    "NOT NOT …": "SELECT " + "NOT " * SIZE + "a",
    "- - …": "SELECT " + "- " * SIZE + "a",
    "CASE CASE …": "SELECT " + "CASE WHEN " * 45_000 + "1",
    "f(f(…": "SELECT " + "f(" * 30_000 + "1" + ")" * 30_000,
    "[[…": "SELECT " + "[" * 45_000 + "]" * 45_000,
    "(SELECT (SELECT …": "SELECT " + "(SELECT " * 30_000 + "1" + ")" * 30_000,
    "a JOIN a JOIN …": "SELECT * FROM a" + " CROSS JOIN a" * 30_000,
    "UNION UNION …": "SELECT 1" + " UNION SELECT 1" * 30_000,
    "x::INT::INT…": "SELECT x" + "::INT" * 45_000,
    "x IS NULL IS NULL …": "SELECT x" + " IS NULL" * 45_000,
    "x[1][1]…": "SELECT x" + "[1]" * 30_000,
    "EXPLAIN WITH WITH …": "WITH a AS (" * 20_000,
    "GROUPING SETS …": "SELECT 1 GROUP BY " + "GROUPING SETS (" * 30_000,
}


def refusal(text: str) -> tuple[str, float]:
    began = time.process_time()
    with pytest.raises(PrivQLError) as caught:
        parse_statement(text)
    return caught.value.diagnostics[0].code, time.process_time() - began


@pytest.mark.parametrize("text", CHAINS.values(), ids=list(CHAINS))
def test_depth(text: str) -> None:
    code, took = refusal(text)
    assert code == ("PQL0101" if text.endswith(("WHEN 1", "(")) else "PQL0104")
    assert took < 2


def test_the_deepest_tree_can_be_walked() -> None:
    """By a walker of eight frames a level, with Python's default limit and a few hundred frames below it."""
    assert sys.getrecursionlimit() >= 1000
    chains = [
        "+".join("1" * MAX_DEPTH),
        "NOT " * (MAX_DEPTH - 1) + "a",
        "f(" * (MAX_DEPTH - 1) + "1" + ")" * (MAX_DEPTH - 1),
    ]
    for text in chains:
        tree = parse_expression(text)
        assert parse_expression(unparse(tree)) == tree == copy.deepcopy(tree)
        assert hash(tree) == hash(copy.deepcopy(tree))
        assert repr(tree)
    for text in ["+".join("1" * (MAX_DEPTH + 1)), "NOT " * MAX_DEPTH + "a"]:
        with pytest.raises(PrivQLError, match="PQL0104"):
            parse_expression(text)


def test_parentheses_alone_make_no_depth() -> None:
    assert unparse(parse_expression("(" * 1_000 + "a" + ")" * 1_000)) == "a"


def test_size() -> None:
    assert refusal("SELECT '" + "a" * MAX_TEXT + "'")[0] == "PQL0103"
    code, took = refusal("x" * 10_000_000)
    assert code == "PQL0103"
    assert took < 0.1
    parsed, wrong = parse_file(Source("SELECT 1;" * 2_000_000))
    assert parsed == []
    assert [each.code for each in wrong] == ["PQL0103"]
    assert refusal("SELECT " + "1," * MAX_TOKENS + "1")[0] == "PQL0103"


def test_a_long_list_is_only_long() -> None:
    began = time.process_time()
    statement = parse_statement(f"SELECT * FROM t WHERE x IN ({', '.join(map(str, range(40_000)))})")
    assert time.process_time() - began < 2
    assert unparse(statement).endswith(" 39999)")


def test_as_many_errors_as_anyone_reads() -> None:
    for text in (
        "SELEC 1;" * 100_000,
        "?;" * 300_000,
        "'" * 1_000_001,
        "?" * 1_000_000,
        "\0" * 1_000_000,
        "/*" * 500_000,
    ):
        began = time.process_time()
        _, wrong = parse_file(Source(text))
        assert 1 <= len(wrong) <= MAX_FAULTS + 1
        assert time.process_time() - began < 2


def test_time_is_linear() -> None:
    statement = (
        "SELECT region, COUNT(*) AS n FROM patients WHERE age BETWEEN 1 AND 9 GROUP BY region SPEND EPSILON 0.1;\n"
    )

    def took(count: int) -> float:
        source = Source(statement * count)
        began = time.process_time()
        parsed, wrong = parse_file(source)
        assert len(parsed) == count and not wrong
        return time.process_time() - began

    took(10)
    assert took(2_000) < 40 * min(took(200), took(200), took(200))


@pytest.mark.parametrize("seed", range(4))
def test_no_text_makes_anything_but_a_diagnostic(seed: int) -> None:
    with assured("grammar") as tally:
        tally["tried"] += FUZZED // 4
        choose = random.Random(seed)
        for number in range(FUZZED // 4):
            text = unparse(Trees(number).statement(2))
            for _ in range(choose.randint(1, 6)):
                at, width = choose.randrange(len(text) + 1), choose.randint(0, 9)
                piece = choose.choice([*PIECES, chr(choose.randrange(0x110000))])
                text = text[:at] + piece + text[at + width :]
            began = time.process_time()
            parsed, wrong = parse_file(Source(text))
            for each in wrong:
                str(each)
                each.to_json()
            for statement in parsed:
                assert parse_statement(unparse(statement.statement)) == statement.statement
            assert time.process_time() - began < 2
