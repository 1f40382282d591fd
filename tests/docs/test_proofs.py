"""No rule and no sampler without a proof, and none that changes while its proof stays as it was."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.docs import proofs
from tests.docs.proofs import digest, pages, proved, public, unproved

PROVED = [(page, name, known) for page in pages() for name, known in proved(page.read_text("utf-8")).items()]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_what_a_page_proves_is_as_it_was_when_it_was_read(page: Path) -> None:
    changed = []
    for name, known in proved(page.read_text("utf-8")).items():
        now = digest(name)
        if not now:
            changed.append(f"{name} is no more: take it out of docs/proofs/{page.name}, or say where it went")
        elif now != known:
            changed.append(f"{name} changed: re-read docs/proofs/{page.name}, then `make proofs`")
    assert not changed, "\n".join(changed)


def test_every_rule_and_every_sampler_is_proved_somewhere() -> None:
    named = {name for _, name, _ in PROVED} | unproved().keys()
    missing = [name for name in public() if name not in named and name.split(":")[0] not in named]
    assert not missing, "name these on the page that proves them, in docs/proofs: " + ", ".join(missing)


def test_what_needs_no_proof_is_there_has_a_reason_and_is_not_proved() -> None:
    there, named = set(public()), {name for _, name, _ in PROVED}
    for name, reason in unproved().items():
        assert name in there or name in {each.split(":")[0] for each in there}, name
        assert len(reason.split()) > 3, name
        assert name not in named, name


def test_each_is_proved_on_one_page() -> None:
    assert [name for name, many in Counter(name for _, name, _ in PROVED).items() if many > 1] == []


def test_every_page_is_in_the_index_and_proves_something() -> None:
    index = (proofs.PAGES / "index.md").read_text("utf-8")
    for page in pages():
        if page.name != "index.md":
            assert f"({page.name})" in index, page.name
            assert proved(page.read_text("utf-8")), page.name


MODULE = """
LIMIT = 3


def _part(x):
    return x + LIMIT


def public(x):
    '''Says what it does.'''
    return _part(x)  # and why


def other(x):
    return public(x)
"""
NO_CHANGE = [
    ("Says what it does.", "Says it otherwise."),
    ("  # and why", ""),
    ("\n\n\n", "\n\n\n\n"),
    ("def other(x)", "def other(y)"),
]
CHANGE = [
    ("LIMIT = 3", "LIMIT = 4"),
    ("x + LIMIT", "x - LIMIT"),
    ("return _part(x)", "return -_part(x)"),
    ("_part(x)  #", "_part(x, 1)  #"),
]


@pytest.mark.parametrize(("old", "new"), [*NO_CHANGE, *CHANGE])
def test_a_digest_changes_with_the_code_and_what_it_is_made_of(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "ROOM", tmp_path)
    digests = []
    for name, text in (("one.py", MODULE), ("two.py", MODULE.replace(old, new))):
        ast.parse(text)
        (tmp_path / name).write_text(text)
        digests.append(digest(f"{name}:public"))
    assert (digests[0] == digests[1]) is ((old, new) in NO_CHANGE)


def test_make_proofs_writes_the_digests_of_the_code_as_it_is() -> None:
    page = "text\n\n```proves\nkernel/measure.py:sensitivity 00000000\nkernel/measure.py:gone 11111111\n```\n"
    fresh = proofs.refreshed(page)
    assert proved(fresh) == {"kernel/measure.py:sensitivity": digest("kernel/measure.py:sensitivity"),
                             "kernel/measure.py:gone": "-"}  # fmt: skip
    assert proofs.refreshed(fresh) == fresh and fresh.startswith("text\n\n```proves\n")
