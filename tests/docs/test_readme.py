"""The README's commands and Python run in a fresh folder, in order, and print what it shows.

Noise differs each time, so the numbers of an answer are compared by their place only; prices, and what a check says,
are compared as they are. `make golden` refreshes what has another form.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from privql.__main__ import main
from tests.docs.markdown import DOCS, ROOT, Page, pages


def form(printed: str) -> str:
    """A text without its noisy numbers, and without the widths that depend on them."""
    lines = [line if "ε = " in line or "Released" in line else _unnumbered(line) for line in printed.split("\n")]
    return re.sub(r"-{2,}", "-", re.sub(r" +", " ", "\n".join(lines)))


def _unnumbered(line: str) -> str:
    return re.sub(r"(?<![\w])-?\d[\d.,]*(e-?\d+)?", "#", line)


def shows(block: str, got: str) -> bool:
    """Whether what a page shows is what is printed, `...` for what it leaves out."""
    at, printed = 0, form(got)
    for part in re.split(r"^\.\.\.\n", form(block), flags=re.MULTILINE):
        found = printed.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return "\n...\n" in block or printed == form(block)


def printed_by(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    program, *arguments = shlex.split(command)
    assert program == "privql"
    capsys.readouterr()
    main(arguments)
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return f"$ {command}\n{captured.out}{captured.err}"


@pytest.mark.parametrize("path", [ROOT / "README.md", *pages(".")], ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_python_do_what_the_page_shows(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = Page(path)
    names: dict[str, object] = {}
    for block in page.blocks:
        if block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.body, str(path), "exec"), names)
        if block.language == "console":
            command = block.body.partition("\n")[0].removeprefix("$ ")
            got = printed_by(command, capsys)
            page.expect(block, got, same=block.body if shows(block.body, got.rstrip("\n") + "\n") else None)
    page.save()


def test_links_lead_somewhere() -> None:
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.relative_to(ROOT)} links to {target}"
