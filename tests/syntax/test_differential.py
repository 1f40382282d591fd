"""Our lexer and automaton against lark's own of the same grammar: the same trees, the same refusals."""

from __future__ import annotations

import random
from typing import Any

import pytest
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from privql.syntax import table, unparse
from privql.syntax.automaton import Stuck, Tokens, automaton
from privql.syntax.lexer import lex
from privql.syntax.names import KEYWORDS
from tests.assurance import assured, length
from tests.generate_ast import Trees

TEXTS = length(150, 20_000)
PIECES = [*sorted(KEYWORDS), *automaton().signs, "a", '"b c"', "'it''s'", "1.5e3", "$p", "x1", "WITHIN GROUP ("]


@pytest.fixture(scope="module")
def lark() -> Lark:
    return table.reader(table.grammar_text())


def by_lark(lark: Lark, text: str) -> Any:
    def plain(tree: Any) -> Any:
        if isinstance(tree, Token):
            return f"{tree.start_pos}:{tree}"
        assert isinstance(tree, Tree)
        return (str(tree.data), [plain(child) for child in tree.children])

    try:
        return plain(lark.parse(text, start="statement"))
    except UnexpectedInput:
        return None


def by_ours(text: str) -> Any:
    lexed = lex(text)
    if lexed.faults:
        return None
    given = lexed.tokens
    pieces = [f"{start}:{text[start:end]}" for start, end in zip(given.starts, given.ends, strict=True)]
    tokens = Tokens(given.kinds, pieces, given.starts, given.ends)
    actions = [lambda _, *children, name=name: (name, list(children)) for name in automaton().actions]
    try:
        return automaton().parse("statement", tokens, 0, len(given.kinds), actions, 0)
    except Stuck:
        return None


def scattered(text: str, choose: random.Random) -> str:
    """The same tokens in another case and with other space between them."""
    tokens = lex(text).tokens
    pieces = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
    out = []
    for piece in pieces:
        out.append(choose.choice([piece.lower(), piece.title(), piece]) if piece.upper() in KEYWORDS else piece)
        glue = (
            ["\n", "\t", " ", "  "]
            if piece.upper().startswith("WITHIN")
            else ["\n", " ", " -- ;'\n", " /* a ' */ ", " /**/ "]
        )
        out.append(choose.choice(glue))
    return "".join(out)


def mutated(text: str, choose: random.Random) -> str:
    tokens = lex(text).tokens
    pieces = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
    for _ in range(choose.randint(1, 3)):
        at = choose.randrange(len(pieces) + 1)
        match choose.randrange(4):
            case 0:
                del pieces[at : at + choose.randint(1, 2)]
            case 1:
                pieces.insert(at, choose.choice(PIECES))
            case 2:
                pieces[at : at + 1] = [choose.choice(PIECES)]
            case _:
                other = choose.randrange(len(pieces) + 1)
                pieces[at:at], pieces[other:other] = pieces[other : other + 1], pieces[at : at + 1]
    return " ".join(pieces)


def test_generated_texts(lark: Lark) -> None:
    with assured("grammar") as tally:
        tally["tried"] += TEXTS
        choose = random.Random(1)
        for seed in range(TEXTS):
            text = scattered(unparse(Trees(seed).statement(3)), choose)
            ours = by_ours(text)
            assert ours is not None, text
            assert ours == by_lark(lark, text), text


def test_mutated_texts(lark: Lark) -> None:
    with assured("grammar") as tally:
        tally["tried"] += TEXTS
        choose = random.Random(2)
        refused = 0
        for seed in range(TEXTS):
            text = mutated(unparse(Trees(seed).statement(3)), choose)
            ours = by_ours(text)
            assert ours == by_lark(lark, text), text
            refused += ours is None
        assert 0.5 * TEXTS < refused < TEXTS  # both verdicts are tried
