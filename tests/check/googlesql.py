"""The queries of `googlesql.sql`: what GoogleSQL's analyzer and this language say of each.

A heading `-- both`, `-- theirs`, `-- ours` or `-- neither` tells who accepts the queries below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from privql.session import Session


@dataclass(frozen=True)
class Text:
    query: str
    theirs: bool
    ours: bool


def _read(file: str) -> list[Text]:
    found, heading = [], ""
    for paragraph in file.split("\n\n"):
        lines = paragraph.splitlines()
        if lines[0].startswith("-- "):
            heading = lines[0].removeprefix("-- ").split(":")[0]
            lines = lines[1:]
        for query in "\n".join(lines).strip().split(";\n"):
            found.append(Text(query.removesuffix(";"), heading in ("both", "theirs"), heading in ("both", "ours")))
    return found


TEXTS = _read(Path(__file__).with_name("googlesql.sql").read_text(encoding="utf-8"))


def accepted(session: Session, query: str) -> bool:
    return all(one.ok for one in session.check_text(query).statements)
