"""What many queries are taken for is what it was: `*.golden` has a line for each, rewritten by `make golden`.

That it is right is for others to test. Here nothing changes unnoticed: not a price, a bound, a proof, a word that is
said, nor a statement that an engine is asked. A line holds digests; `python -m tests.meaning related 17` shows the
texts themselves, in any version of the code, to be compared.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from tests.meaning.corpora import CORPORA, Meaning

REWRITE = os.environ.get("PRIVQL_GOLDEN") == "1"
EACH = 25
PARTS = [(name, start) for name, corpus in CORPORA.items() for start in range(0, corpus.size, EACH)]


def line(meaning: Meaning) -> str:
    return " ".join(f"{what} {sha256(said.encode()).hexdigest()[:6]}" for what, said in meaning.items())


@pytest.mark.parametrize(("name", "start"), PARTS)
def test_what_a_query_is_taken_for_is_what_it_was(name: str, start: int) -> None:
    corpus, path = CORPORA[name], Path(__file__).with_name(f"{name}.golden")
    known = path.read_text("utf-8").splitlines() if path.exists() else []
    found = [line(corpus.meaning(at)) for at in range(start, min(start + EACH, corpus.size))]
    if REWRITE:
        assert "PYTEST_XDIST_WORKER" not in os.environ, "workers overwrite each other's lines: `make golden`"
        known[start : start + EACH] = found
        path.write_text("\n".join(known[: corpus.size]) + "\n", "utf-8")
        return
    assert len(known) == corpus.size, f"run `make golden`: there are {corpus.size} queries"
    for at, (was, now) in enumerate(zip(known[start : start + EACH], found, strict=True), start):
        assert now == was, f"see `python -m tests.meaning {name} {at}`, here and where it was as it was"
