"""The reference of the scalar functions is written from their declarations."""

from __future__ import annotations

import textwrap
from fractions import Fraction

from privql.functions.scalar.declare import ScalarFunction
from privql.functions.scalar.registry import all_functions, resolve
from privql.kernel.scalars import INT, Value, ValueType
from tests.docs.markdown import DOCS, REWRITE

HEAD = """\
# Functions

Every scalar function is total: what would fail is NULL, on every engine. An argument that is NULL makes the result NULL
unless its description says otherwise. Arguments convert from INT to DECIMAL to FLOAT and from DATE to TIMESTAMP by
themselves. From the bounds of its arguments the checker infers the bounds of every result.

Of a released number, `ERROR`, `LOW` and `HIGH` are [its interval](results.md#errors).
"""


def spelled(value: Value, type: ValueType) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return f"'{value}'"
        case Fraction():
            return str(float(value))
        case _ if type.kind in ("DATE", "TIMESTAMP"):
            from privql.finish.writing import plain

            return f"{type.kind} '{plain(value, type)}'"
        case _:
            return str(value)


def entry(function: ScalarFunction) -> str:
    arguments = tuple(argument.type for argument in function.example.args)
    resolved = resolve(function.op, arguments, tuple(argument.value for argument in function.example.args))
    result = INT if resolved is None else resolved.result  # a cast names its own type
    short = {name for name, _, _ in function.given}  # the description tells of them
    names = [name for name in function.sql_names if name not in short]
    title = ", ".join(names) if function.kind == "function" else function.doc.split("`")[1]
    return "\n".join(
        [
            f"### `{title}`",
            "",
            *textwrap.wrap(function.doc, 118, break_long_words=False, break_on_hyphens=False),
            "",
            *(f"- `{signature}`" for signature in function.signatures),
            "",
            f"`{function.example.sql}` is `{spelled(function.example.gives, result)}`.",
        ]
    )


def reference() -> str:
    parts = [HEAD.rstrip()]
    for kind, title in (("function", "Functions by name"), ("operator", "Operators")):
        parts.append(f"## {title}")
        parts += [entry(function) for function in all_functions() if function.kind == kind]
    return "\n\n".join(parts) + "\n"


def test_the_reference_is_what_is_declared() -> None:
    page = DOCS / "language" / "functions.md"
    if REWRITE:
        page.write_text(reference(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == reference(), "`make golden` rewrites it"
