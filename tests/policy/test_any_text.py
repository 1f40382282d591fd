"""Whatever stands in a policy, reading it ends with diagnostics in their one shape, never with an exception."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from privql.diagnostics import Source
from privql.policy.build import build_catalog

TEXTS = re.findall(
    r"```policy\n(.*?)\n```", (Path(__file__).parent / "contradictions.md").read_text(encoding="utf-8"), re.DOTALL
)
WORD = re.compile(r"\s+|\w+|'[^']*'|.", re.DOTALL)


@pytest.mark.parametrize("seed", range(4))
def test_any_text(seed: int) -> None:
    choice = random.Random(seed)
    words = [word for text in TEXTS for word in WORD.findall(text)]
    for _ in range(150):
        mixed = WORD.findall("\n".join(choice.sample(TEXTS, choice.randint(1, 4))))
        for _ in range(choice.randint(0, 6)):
            at = choice.randrange(len(mixed))
            match choice.randrange(3):
                case 0:
                    del mixed[at : at + choice.randint(1, 3)]
                case 1:
                    mixed[at] = choice.choice(words)
                case _:
                    mixed.insert(at, choice.choice(words))
            mixed = mixed or [";"]
        text = "".join(mixed)
        catalog, diagnostics = build_catalog(Source(text, "policy.pql"))
        for each in diagnostics:
            if each.code.startswith("PQL01"):
                continue  # the parser's own
            assert 0 <= each.span.start <= each.span.end <= len(text)
            for said in (each.message, each.why, each.help, each.label):
                assert not said.endswith(".") and "None" not in said and "ast." not in said, text
            for fix in each.fixes:
                assert each.span.start <= fix.span.start <= fix.span.end <= each.span.end
            assert each.code.startswith("PQL07") and (each.help or each.severity != "error")
        assert bool(catalog.tables or catalog.units) <= (not any(each.severity == "error" for each in diagnostics))
