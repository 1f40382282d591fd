"""Every ```pql and ```policy block of the documentation does what its page says, word for word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import privql
from privql.diagnostics import Diagnostic, Source
from privql.policy.build import build_catalog
from privql.session import Session
from tests.docs.markdown import DOCS, ROOT, Block, Page, pages

POLICY = DOCS / "example" / "policy.pql"


SESSIONS: dict[str, Session] = {}


@pytest.fixture(scope="module", autouse=True)
def _closing() -> Iterator[None]:
    yield
    for opened in SESSIONS.values():
        opened.close()
    SESSIONS.clear()


def session(analyst: str) -> Session:
    """Checking changes nothing, so that all pages may share one."""
    if analyst not in SESSIONS:
        SESSIONS[analyst] = privql.connect(policy=str(POLICY), ledger=":memory:", analyst=analyst, data="dummy")
    return SESSIONS[analyst]


def printed(block: Block) -> tuple[tuple[Diagnostic, ...], str]:
    """The diagnostics of a block, and what a person sees."""
    if block.language == "policy":
        _, found = build_catalog(Source(block.body, "policy.pql"))
        return tuple(found), "\n\n".join(map(str, found))
    if "explain" in block.options:
        return (), session(block.options.get("as", "alice")).explain_text(block.body)
    checked = session(block.options.get("as", "alice")).check_text(
        block.body, name="query.pql", params=dict(parameters(block))
    )
    if checked.diagnostics:
        return checked.diagnostics, "\n\n".join(map(str, checked.diagnostics))
    return (), str(checked)


def parameters(block: Block) -> Iterator[tuple[str, str]]:
    for pair in filter(None, block.options.get("params", "").split(",")):
        name, _, value = pair.partition(":")
        yield name, value


@pytest.mark.parametrize("path", [ROOT / "README.md", *pages(".")], ids=lambda path: str(path.relative_to(ROOT)))
def test_page(path: Path) -> None:
    page = Page(path)
    for block in page.blocks:
        if block.language not in ("pql", "policy"):
            continue
        diagnostics, text = printed(block)
        errors = [diagnostic.code for diagnostic in diagnostics if diagnostic.severity == "error"]
        expected = block.options.get("error")
        said = block.options.get("says")
        assert said is None or said in [each.code for each in diagnostics], f"{page.where(block)} says:\n{text}"
        if expected is None:
            assert not errors, f"{page.where(block)} is rejected:\n{text}"
        else:
            assert errors[:1] == [expected], f"{page.where(block)} gives {errors or 'no error'}:\n{text}"
        if block.shown is not None:
            page.expect(block.shown, text)
    page.save()
