"""Every contradiction of a policy, and all that its owner reads about it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from privql.diagnostics import Source
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog

GOLDEN = Path(__file__).parent / "contradictions.md"
CASE = re.compile(r"## (.+?)\n\n```policy\n(.*?)\n```\n\n```text\n(.*?)```\n", re.DOTALL)
CASES = {found[1]: found for found in CASE.finditer(GOLDEN.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("title", CASES)
def test_contradiction(title: str) -> None:
    found = CASES[title]
    catalog, diagnostics = build_catalog(Source(found[2], "policy.pql"))
    shown = "\n\n".join(map(str, diagnostics)) + "\n"
    if os.environ.get("PRIVQL_GOLDEN"):
        text = GOLDEN.read_text(encoding="utf-8")
        old = f"## {title}\n\n```policy\n{found[2]}\n```\n\n```text\n{found[3]}```\n"
        assert text.count(old) == 1
        GOLDEN.write_text(text.replace(old, old.replace(f"```text\n{found[3]}", f"```text\n{shown}")), encoding="utf-8")
        return
    assert diagnostics, "nothing was found"
    assert shown == found[3]
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        assert catalog == Catalog(), "a contradictory policy declares nothing"


def test_every_code_of_a_policys_text_is_fired() -> None:
    rooms = (Path(__file__).parents[2] / "privql" / "policy").glob("*.py")
    used = {code for path in rooms for code in re.findall(r"PQL07[0-3]\d", path.read_text(encoding="utf-8"))}
    shown = set(re.findall(r"PQL07\d\d", GOLDEN.read_text(encoding="utf-8")))
    assert used == shown
