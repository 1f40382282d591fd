"""The page on threats names a test for each: every one is there, by its path and name, and runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.markdown import DOCS, ROOT

PAGE = DOCS / "threat-model.md"
_NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
_ATTACK = re.compile(r"^\| (?!attack)(.+?) \| (.*) \|$", re.MULTILINE)


def rows(page: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each attack of the page, and the tests beside it."""
    tables = page[page.index("## What was tried") :]
    return [(attack, _NAMED.findall(beside)) for attack, beside in _ATTACK.findall(tables)]


def missing(named: list[tuple[str, str]]) -> list[str]:
    return [f"{path}::{name}" for path, name in named if name not in _tests(ROOT / "tests" / path)]


def _tests(path: Path) -> set[str]:
    """What pytest collects of a file, as far as its text says: no fixtures, and nothing that is always left out."""
    if not path.is_file() or not path.name.startswith("test_"):
        return set()
    found = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    left_out = ("pytest.mark.skip", "pytest.mark.xfail")
    return {
        node.name
        for node in found
        if node.name.startswith("test_")
        and not any(ast.unparse(one).partition("(")[0] in left_out for one in node.decorator_list)
    }


def test_every_attack_has_a_test_and_every_test_is_there() -> None:
    found = rows(PAGE.read_text())
    assert len(found) >= 30
    assert [attack for attack, named in found if not named] == []
    assert missing([one for _, named in found for one in named]) == []


@pytest.mark.parametrize(
    "broken", ["hostile/test_channels.py::test_gone", "hostile/test_gone.py::test_x", "hostile/clinic.py::table"]
)
def test_a_test_that_is_gone_is_missed(broken: str) -> None:
    there = "docs/test_threats.py::test_every_row_is_read"
    page = f"## What was tried\n| attack | test |\n| this | `{there}` |\n"
    assert missing(rows(page)[0][1]) == []
    ((_, named),) = rows(page.replace(there, broken))
    assert missing(named) == [broken]


def test_every_row_is_read() -> None:
    text = PAGE.read_text()
    lines = text[text.index("## What was tried") :].splitlines()
    assert len(rows(text)) == sum(line.startswith("| ") and not line.startswith("| attack") for line in lines)
