"""Documentation that is a test: the fenced blocks of a page, in order, each with its language and options.

    ```pql                     accepted by the checker
    ```pql error=PQL0402       rejected, this code first
    ```pql explain             accepted; what is printed is what EXPLAIN says
    ```pql as=bob              asked by another analyst than alice; `params=e:0.5,k:3` binds parameters
    ```policy                  a policy of its own, accepted
    ```policy error=PQL0701    a policy of its own, rejected
    ```policy says=PQL0730     accepted, with this note or warning
    ```python                  runs, top to bottom, page by page
    ```console                 commands after `$`, and what they print

A ```text block right after one of these holds what is printed for it. Any other language (sql, grammar, …) is prose.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REWRITE = os.environ.get("PRIVQL_GOLDEN") == "1"

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    line: int
    language: str
    options: dict[str, str]
    body: str
    start: int  # of the body, in the page
    shown: Block | None  # the ```text block right after


class Page:
    """One page, its blocks, and what they should have shown."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.blocks: list[Block] = []
        self.edits: list[tuple[Block, str]] = []
        following: Block | None = None
        for fence in reversed(list(_FENCE.finditer(self.text))):
            language, *words = fence["info"].split() or [""]
            options = {name: value for name, _, value in (word.partition("=") for word in words)}
            line = self.text.count("\n", 0, fence.start("body")) + 1
            shown = following if following is not None and following.language == "text" else None
            following = Block(line, language, options, fence["body"], fence.start("body"), shown)
            self.blocks.insert(0, following)

    def where(self, block: Block) -> str:
        return f"{self.path.relative_to(ROOT)}:{block.line}"

    def expect(self, shown: Block, got: str, same: str | None = None) -> None:
        """The page shows `got`. `same`: what the page's text must equal when only its form can be held."""
        got = got.rstrip("\n") + "\n"
        if shown.body == got or shown.body == same:
            return
        if REWRITE:
            self.edits.append((shown, got))
            return
        assert shown.body == got, f"{self.where(shown)} shows something else; `make golden` rewrites it"

    def save(self) -> None:
        """Under `make golden`, write what the page should have shown; back to front, so that offsets hold."""
        for shown, got in reversed(self.edits):
            self.text = self.text[: shown.start] + got + self.text[shown.start + len(shown.body) :]
        if self.edits:
            self.path.write_text(self.text, encoding="utf-8")


def pages(folder: str) -> list[Path]:
    return sorted((DOCS / folder).rglob("*.md"))
