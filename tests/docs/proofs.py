"""Proofs and the code that they are about: what a page proves is named at its end, with a digest of how it is written.

    ```proves
    kernel/measure.py:sensitivity 5d1f0c2a
    ```

A digest covers a function or a class, and with it the constants and private functions of its module that it is made of;
comments, docstrings and layout are left out. Where code changes, its digest does: somebody reads the page again, and
then says so with `make proofs`, which writes down the new one.

    ```unproved
    kernel/search.py: the least integer for which something holds; what holds is decided by its callers
    ```

in the index says of what there is no proof, and why there need be none.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import privql

ROOM = Path(privql.__file__).parent
PAGES = Path(__file__).parents[2] / "docs" / "proofs"
ROOMS = ("kernel", "noise")

_PROVES = re.compile(r"^```proves\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_UNPROVED = re.compile(r"^```unproved\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DEFINED = ast.FunctionDef | ast.ClassDef


def pages() -> list[Path]:
    return sorted(PAGES.glob("*.md"))


def proved(text: str) -> dict[str, str]:
    """What a page says it proves, `module:name`, and the digests that it was read with."""
    lines = (line.split() for block in _PROVES.findall(text) for line in block.splitlines())
    return {line[0]: line[1] if len(line) > 1 else "" for line in lines if line}


def unproved() -> dict[str, str]:
    """Modules, and names in them, that need no proof, and the reason."""
    lines = (
        line for page in pages() for block in _UNPROVED.findall(page.read_text("utf-8")) for line in block.split("\n")
    )
    return {name: reason.strip() for name, _, reason in (line.partition(": ") for line in lines) if name}


@cache
def written(path: Path) -> Mapping[str, ast.stmt]:
    """What a module defines: functions, classes and constants by their names."""
    out: dict[str, ast.stmt] = {}
    for statement in ast.parse(path.read_text("utf-8")).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                out[name] = statement
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                out[name] = statement
            case _:
                pass
    return out


def public() -> Iterator[str]:
    """Everything that a rule or a sampler is: the functions and classes of the rooms, but for private ones."""
    for room in ROOMS:
        for path in sorted((ROOM / room).glob("*.py")):
            for name, statement in written(path).items():
                if isinstance(statement, _DEFINED) and not name.startswith("_"):
                    yield f"{path.relative_to(ROOM).as_posix()}:{name}"


def digest(named: str) -> str:
    """Empty, if there is no such thing."""
    module, _, name = named.partition(":")
    defined = written(ROOM / module) if (ROOM / module).is_file() else {}
    if name not in defined:
        return ""
    seen, todo = {name}, [name]
    while todo:
        names = {node.id for node in ast.walk(defined[todo.pop()]) if isinstance(node, ast.Name)}
        inner = [each for each in names & defined.keys() - seen if _is_part(each, defined[each])]
        seen.update(inner)
        todo += inner
    text = "\n".join(_plain(defined[each]) for each in sorted(seen))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _is_part(name: str, statement: ast.stmt) -> bool:
    return name.startswith("_") or not isinstance(statement, _DEFINED)


def _plain(node: object) -> str:
    """The same in every version of Python: fields that are empty are left out."""
    match node:
        case ast.AST():
            shown = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
                shown["body"] = node.body[1:]
            inside = ",".join(f"{name}={_plain(value)}" for name, value in sorted(shown.items()))
            return f"{type(node).__name__}({inside})"
        case list():
            return f"[{','.join(map(_plain, node))}]"
        case _:
            return repr(node)


def refreshed(text: str) -> str:
    """A page with the digests of the code as it is; names that are no more stay, and their test fails."""

    def block(found: re.Match[str]) -> str:
        names = proved(found[0])
        width = max(map(len, names), default=0)
        return "```proves\n" + "".join(f"{name:<{width}} {digest(name) or '-'}\n" for name in names) + "```"

    return _PROVES.sub(block, text)


def main() -> int:
    for page in pages():
        text = page.read_text("utf-8")
        if (new := refreshed(text)) != text:
            page.write_text(new, "utf-8")
            print(f"docs/proofs/{page.name}: digests of the code as it is")
    return 0


if __name__ == "__main__":
    sys.exit(main())
