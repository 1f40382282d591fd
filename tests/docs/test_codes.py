"""A code is a line in `codes.py`, a use in the product and a page that fires it: all three or none."""

from __future__ import annotations

import re

import pytest

from privql.codes import CODES
from tests.docs.markdown import DOCS, REWRITE, ROOT, Page

SECTIONS = {
    "01": "Syntax",
    "02": "Names",
    "03": "Types",
    "04": "Privacy",
    "05": "Budget",
    "06": "Engine",
    "07": "Policy",
    "09": "Internal",
}

# What no line of a page can fire: texts beyond all measure, calls from Python, an owner's broken view, and what the
# engine, the ledger's file or PrivQL itself is at fault for. Their pages say what to do.
NOT_FROM_TEXT = {
    "PQL0103", "PQL0104", "PQL0113", "PQL0207", "PQL0509", "PQL0510", "PQL0511", "PQL0601", "PQL0602", "PQL0603",
    "PQL0740", "PQL0741", "PQL0742", "PQL0743", "PQL0744", "PQL0745", "PQL0746", "PQL0747", "PQL0748", "PQL0750",
    "PQL0751", "PQL0901",
}  # fmt: skip


def used() -> set[str]:
    sources = (path for path in (ROOT / "privql").rglob("*.py") if path.name != "codes.py")
    return {code for path in sources for code in re.findall(r"PQL\d{4}", path.read_text(encoding="utf-8"))}


def test_every_code_in_use_has_its_line_and_every_line_is_in_use() -> None:
    assert used() == set(CODES)


def test_every_code_has_its_page_and_every_page_a_code() -> None:
    assert {path.stem for path in (DOCS / "errors").glob("PQL*.md")} == set(CODES)


@pytest.mark.parametrize("code", sorted(CODES))
def test_page_fires_its_code_and_shows_what_passes(code: str) -> None:
    page = Page(DOCS / "errors" / f"{code}.md")
    assert page.text.startswith(f"# {code}: {CODES[code]}\n")
    if code in NOT_FROM_TEXT:
        return
    firing = [block for block in page.blocks if code in (block.options.get("error"), block.options.get("says"))]
    assert firing, "no block fires it"
    assert all(block.shown is not None for block in firing), "the page does not show what is printed"
    passing = [block for block in page.blocks if block.language in ("pql", "policy") and not block.options.get("error")]
    assert [block for block in passing if code != block.options.get("says")], "no block shows what passes"


def test_titles_keep_the_one_shape() -> None:
    for code, title in CODES.items():
        assert code[3:5] in SECTIONS
        assert not title.endswith("."), code
        assert title[0] in "`'" or not title[0].isupper() or title.split()[0].isupper(), code


def test_the_index_lists_every_code() -> None:
    lines = ["# Errors", "", "Each page shows a query that fires the error, what is printed, and a query that passes."]
    for section, name in SECTIONS.items():
        lines += ["", f"## {name}", ""]
        lines += [f"- [{code}]({code}.md) {title}" for code, title in CODES.items() if code[3:5] == section]
    wanted = "\n".join(lines) + "\n"
    index = DOCS / "errors" / "index.md"
    if REWRITE:
        index.write_text(wanted, encoding="utf-8")
    assert index.read_text(encoding="utf-8") == wanted, "`make golden` rewrites it"
