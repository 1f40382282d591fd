"""What could have stood where a text went wrong, in words that people use."""

from __future__ import annotations

from functools import cache

from privql.syntax.automaton import automaton

# Of many words that could follow, those that a person would rather be told.
_FIRST = (
    "COMMA", "RPAR", "RSQB", "AS", "SELECT", "FROM", "ON", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "SPEND",
    "WITHIN", "USING", "THEN", "WHEN", "ELSE", "END", "BY", "EPSILON", "DELTA", "UNIT", "TABLE", "VIEW", "BUDGET",
    "RELEASE", "PERCENT", "AND",
)  # fmt: skip
_PAIRED = {"GROUP": "GROUP BY", "ORDER": "ORDER BY", "PARTITION": "PARTITION BY", "_WITHIN_GROUP": "WITHIN GROUP"}
_CLASSES = {
    "IDENT": "a name",
    "NUMBER": "a number",
    "STRING": "a string in single quotes",
    "PARAM": "a parameter `$name`",
    "$END": "the end",
}
_SHOWN = 6


def expected(follows: frozenset[str]) -> str:
    """What could be read next of these terminals, as `a name, `FROM` or the end`; empty if it would say nothing."""
    machine, said = automaton(), []
    if follows >= {"NUMBER", "STRING", "IDENT", "CASE", "LPAR"}:
        said.append("an expression")
        follows -= _starts_of_expressions()
    elif follows >= {"NUMBER", "PARAM", "LPAR"}:
        said.append("an amount")
        follows -= {"NUMBER", "PARAM", "LPAR"}
    if follows >= {"OPERATOR", "COMPARISON", "SIGN"}:
        said.append("an operator")
        follows -= _operators()
    words, later = machine.keywords, []
    if "IDENT" in follows and "QUOTED" not in follows:
        said.append("a type")
        follows -= {"IDENT", "DATE", "TIME", "TIMESTAMP", "DOUBLE", "CHARACTER"}
    elif "TABLE" in follows and "THEN" in follows:
        said.append("a name")  # any word at all
        follows -= {"IDENT", "QUOTED"} | words
    elif "PRECISION" in follows:
        said.append("a name")
        follows -= {"IDENT", "QUOTED"} | (words - machine.classes["reserved"])
    elif "IDENT" in follows:
        later.append("a name")  # an alias, or the clauses that need AS before theirs
        follows -= {"IDENT", "QUOTED"} | (words - machine.classes["reserved"] - machine.classes["needs_as"])
    ranked = sorted(follows, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    said += [*(spelled(name) for name in ranked if name != "$END"), *later]
    if "$END" in follows:
        said.insert(_SHOWN - 1, "the end")
    shown = said[:_SHOWN]
    if len(said) > _SHOWN:
        return ", ".join(shown) + ", …"
    return ", ".join(shown[:-1]) + (" or " if shown[:-1] else "") + "".join(shown[-1:])


def spelled(terminal: str) -> str:
    """A terminal as one writes it."""
    if terminal in _CLASSES:
        return _CLASSES[terminal]
    signs = [sign for sign, name in automaton().signs.items() if name == terminal]
    return f"`{signs[0] if signs else _PAIRED.get(terminal, terminal)}`"


@cache
def _starts_of_expressions() -> frozenset[str]:
    machine = automaton()
    return machine.admitted([machine.starts["expression"]])


@cache
def _operators() -> frozenset[str]:
    """What can follow a number inside an expression."""
    machine = automaton()
    states = [machine.starts["expression"]]
    machine.advance(states, [machine.terminals.index("NUMBER")])
    return (machine.admitted(states) - {"$END"}) | {"DOT", "LPAR"}
