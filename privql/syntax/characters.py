"""What can be wrong with the characters of a text, and what to write instead."""

from __future__ import annotations

import re
import unicodedata

from privql.diagnostics import Diagnostic, Fix, Span

MAX_NUMBER = 400  # digits, and size of the exponent: nobody downstream meets an integer that takes seconds to make

# Characters that no text may hold, not even in a string or a comment: NUL, half characters, and controls that turn
# the direction of writing, with which a text can be made to look like another.
HOSTILE = re.compile("[\0\ud800-\udfff\u202a-\u202e\u2066-\u2069]")

# Signs of other dialects and of word processors: what to write here, and as an edit where one will do.
FOREIGN: dict[str, tuple[str, str | None]] = {
    "==": ("equality is written with one `=`", "="),
    "&&": ("both together are written `AND`", "AND"),
    "!": ("negation is written `NOT`", "NOT "),
    "<=>": ("equality that counts NULL as a value is written `IS NOT DISTINCT FROM`", "IS NOT DISTINCT FROM"),
    ":=": ("a value is given with `=`", "="),
    "|>": ("there are no pipes: write SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, in this order", None),
    "`": ('a name is quoted with double quotes, `"name"`', None),
    "#>>": ("a field inside a field is written `x -> 'a' ->> 'b'`", None),
    "#>": ("a field inside a field is written `x -> 'a' ->> 'b'`", None),
    "@>": ("what a field holds is compared, `x ->> 'a' = 'b'`", None),
    "?": ("a parameter has a name, `$name`; whether JSON has a field is written `JSON_EXISTS(x, '$.a')`", None),
    "@": ("a parameter is written `$name`", None),
    ":": ("a parameter is written `$name`, a cast `x::INT`", None),
    "$": ("a parameter is written `$name` or `$1`, a string in single quotes", None),
    "{": ("there are no templates and no structs; a parameter is written `$name`", None),
    "}": ("there are no templates and no structs; a parameter is written `$name`", None),
    "\\": ("there are no backslash escapes; a quote inside a string is written twice, `''`", None),
    "#": ("a comment starts with `--`", "--"),
    "‘": ("a string stands in straight single quotes, `'`", None),
    "’": ("a string stands in straight single quotes, `'`", None),
    "“": ("a string stands in straight single quotes, `'`", None),
    "”": ("a string stands in straight single quotes, `'`", None),
    "−": ("minus is written `-`", "-"),
    "–": ("minus is written `-`", "-"),
    "—": ("minus is written `-`", "-"),
    "×": ("multiplication is written `*`", "*"),
    "÷": ("division is written `/`", "/"),
    "≤": ("at most is written `<=`", "<="),
    "≥": ("at least is written `>=`", ">="),
    "≠": ("inequality is written `<>`", "<>"),
    "，": ("a comma is written `,`", ","),
    "；": ("a statement ends with `;`", ";"),
    "（": ("parentheses are written `(` and `)`", "("),
    "）": ("parentheses are written `(` and `)`", ")"),
}


def unfinished(opening: str, span: Span) -> Diagnostic:
    """A string, a quoted name or a comment without its end."""
    thing, closing, advice = {
        "'": ("string", "'", "end it with `'`; a quote inside a string is written twice, `''`"),
        '"': ("quoted name", '"', 'end it with `"`; a string stands in single quotes'),
        "/*": ("comment", "*/", "end it with `*/`; comments nest, so each `/*` inside needs its own"),
    }[opening]
    message = f"this {thing} never ends"
    return Diagnostic("PQL0102", message, span, f"no closing `{closing}` up to the end", help=advice)


def long_number(text: str, span: Span) -> Diagnostic | None:
    """What is wrong with a number that would take seconds to make exact."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > MAX_NUMBER or len(exponent) > 5 or (exponent and abs(int(exponent)) > MAX_NUMBER):
        limit = f"a number has at most {MAX_NUMBER} digits and an exponent within ±{MAX_NUMBER}"
        return Diagnostic("PQL0107", "this number is too long", span, why=limit)
    return None


def foreign(text: str, span: Span) -> Diagnostic:
    """Something that begins no word, sign or literal of the language."""
    if text[0].isdigit() or (text[:1] == "." and len(text) > 1):
        advice = "a number is written `12`, `1_000`, `1.5` or `1e-6`; a name does not start with a digit"
        if text[:2].lower() in ("0x", "0b", "0o"):
            advice = "write the number in decimal digits"
        return Diagnostic("PQL0107", f"`{text[:40]}` is not a number", span, help=advice)
    sign = text[0] if text[0] == "`" else text
    if sign in FOREIGN:
        advice, edit = FOREIGN[sign]
        if len(text) > 2 and sign == "`":
            edit = '"' + text[1:-1].replace('"', '""') + '"'
        fixes = () if edit is None else (Fix(span, edit),)
        shown = "a backquote" if sign == "`" else f"`{text}`"
        return Diagnostic("PQL0106", f"{shown} is not a sign of the language", span, help=advice, fixes=fixes)
    if text.isprintable():
        advice = f'a name with such a character is quoted, `"{text}"`'
        return Diagnostic("PQL0106", f"`{text}` stands for nothing here", span, help=advice)
    return Diagnostic("PQL0106", f"{described(text)} stands for nothing here", span, help="delete it")


def hostile(character: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "PQL0106",
        f"{described(character)} is not allowed in a text",
        span,
        why="with it a text can look like another, or cannot be stored",
        help="delete it; a string that needs it can be a parameter, `$name`",
    )


def described(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"the character U+{ord(character):04X}" + (f" ({name.lower()})" if name else "")
