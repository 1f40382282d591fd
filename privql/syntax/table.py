"""The parse table: built from `grammar/privql.lark` by lark, shipped as `table.json`.

`python -m privql.syntax.table` rebuilds it. Nothing at run time imports this module, so that a query never waits for
lark. Building is strict: a conflict in the grammar is an error.

States with nothing else to do reduce by their commonest rule without looking ahead ("default reductions"), and
equal rows are kept once. A wrong word is still never shifted, so that every error is found at the same word.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from lark import Lark
from lark.grammar import Rule, Terminal
from lark.parsers.lalr_analysis import Shift

STARTS = ("statement", "expression")
CLASSES = ("reserved", "not_function", "needs_as")  # rules of words that are no name in some places
# Every sign that the lexer knows, besides the `;` between statements.
SIGNS = re.findall(r"\S+", ", ( ) [ ] . :: => = <> != <= >= < > || << >> ->> -> & | !~* !~ ~* ~ + - * // / % ^")


def grammar_text() -> str:
    """The grammar, from a checkout or an editable install, a wheel, or a zipped wheel."""
    package = files("privql")
    installed = package.joinpath("grammar", "privql.lark")
    if installed.is_file():
        return installed.read_text(encoding="utf-8")
    return (Path(str(package)).parent / "grammar" / "privql.lark").read_text(encoding="utf-8")


def reader(grammar: str) -> Lark:
    """lark's own parser of the grammar: what the table comes from, and what the tests compare with."""
    return Lark(grammar, parser="lalr", lexer="basic", strict=True, start=list(STARTS), maybe_placeholders=False)


def build(grammar: str) -> dict[str, Any]:
    """The table as plain data. Terminal 0 is the end of the text; an action is a state to go to or `~rule`,
    and the number after the last state is success."""
    lark = reader(grammar)
    automaton = lark.parser.parser._parse_table
    terminals = ["$END", *sorted(t.name for t in lark.terminals if t.name not in lark.ignore_tokens)]
    number = {name: index for index, name in enumerate(terminals)}
    nonterminals = sorted({str(rule.origin.name) for rule in lark.rules})
    rules = sorted(lark.rules, key=_order)
    rule_number = {rule: index for index, rule in enumerate(rules)}
    names = sorted({action for rule in rules if (action := _action(rule))})

    order = _renumber(automaton)
    rows: list[dict[int, int]] = []
    defaults: list[int | None] = []
    gotos: dict[str, dict[int, int]] = defaultdict(dict)
    for state in order:
        row: dict[int, int] = {}
        for symbol, (kind, target) in automaton.states[state].items():
            if symbol in number:
                row[number[symbol]] = order[target] if kind is Shift else ~rule_number[target]
            elif symbol in nonterminals:
                gotos[symbol][order[state]] = order[target]
        default = _commonest(action for action in row.values() if action < 0)
        if state in automaton.end_states.values():
            row[0] = len(order)
        rows.append({terminal: action for terminal, action in row.items() if action != default})
        defaults.append(default)

    distinct: dict[tuple[tuple[int, int], ...], int] = {}
    row_of = [distinct.setdefault(tuple(sorted(row.items())), len(distinct)) for row in rows]
    return {
        "terminals": terminals,
        "keywords": _keywords(lark),
        "signs": _signs(lark),
        "classes": {name: _members(lark, name) for name in CLASSES},
        "actions": names,
        "rules": [[nonterminals.index(rule.origin.name), len(rule.expansion), *_shape(rule, names)] for rule in rules],
        "defaults": defaults,
        "row_of": row_of,
        "rows": [[part for pair in row for part in pair] for row in distinct],
        "gotos": [_goto(gotos[name]) for name in nonterminals],
        "starts": {start: order[automaton.start_states[start]] for start in STARTS},
    }


def _order(rule: Rule) -> tuple[str, list[str], str]:
    return str(rule.origin.name), [str(symbol.name) for symbol in rule.expansion], str(rule.alias)


def _renumber(automaton: Any) -> dict[int, int]:
    """States in the order of a walk from the starts: lark's own numbers differ from run to run."""
    order: dict[int, int] = {}
    waiting = [automaton.start_states[start] for start in reversed(STARTS)]
    while waiting:
        state = waiting.pop()
        if state in order:
            continue
        order[state] = len(order)
        shifts = [(str(symbol), target) for symbol, (kind, target) in automaton.states[state].items() if kind is Shift]
        waiting += [target for _, target in sorted(shifts, reverse=True)]
    return order


def _action(rule: Rule) -> str | None:
    """The function that makes the tree of this rule; none where lark makes no node, either."""
    kept = _kept(rule)
    if rule.alias is None:
        if rule.origin.name.startswith("_"):
            return None
        if rule.options.expand1:
            if len(kept) != 1 or kept[0] < 0:
                raise ValueError(f"an alternative of ?{rule.origin.name} needs a name: {rule}")
            return None
    return str(rule.alias or rule.origin.name)


def _kept(rule: Rule) -> list[int]:
    """Positions of the children that stay; `~position` where a child is spliced into its parent."""
    kept = []
    for position, symbol in enumerate(rule.expansion):
        if isinstance(symbol, Terminal):
            if rule.options.keep_all_tokens or not symbol.filter_out:
                kept.append(position)
        else:
            kept.append(~position if symbol.name.startswith("_") else position)
    return kept


def _shape(rule: Rule, names: list[str]) -> list[Any]:
    """[action, kept children]; the action is -1 for a list to be spliced and -2 for a child passed through."""
    action = _action(rule)
    if action is not None:
        return [names.index(action), _kept(rule)]
    return [-1 if rule.origin.name.startswith("_") else -2, _kept(rule)]


def _goto(targets: dict[int, int]) -> list[int]:
    """[commonest target, then state, target, … where it is another]."""
    commonest = _commonest(targets.values()) or 0
    return [
        commonest,
        *(part for state, target in sorted(targets.items()) if target != commonest for part in (state, target)),
    ]


def _commonest(values: Iterable[int]) -> int | None:
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value)) if counts else None


def _keywords(lark: Lark) -> list[str]:
    words = [t for t in lark.terminals if t.pattern.type == "str" and t.pattern.value[0].isalpha()]
    for word in words:
        if word.name != word.pattern.value.upper():
            raise ValueError(f"the keyword {word.pattern.value} is called {word.name}")
    return sorted(word.name for word in words)


def _members(lark: Lark, rule: str) -> list[str]:
    return sorted(str(each.expansion[0].name) for each in lark.rules if each.origin.name == rule)


def _signs(lark: Lark) -> dict[str, str]:
    """Which terminal each sign is: exactly one."""
    found = {}
    for sign in SIGNS:
        terminals = [t.name for t in lark.terminals if re.fullmatch(t.pattern.to_regexp(), sign)]
        if len(terminals) != 1:
            raise ValueError(f"the sign {sign} is {terminals or 'no terminal'}")
        found[sign] = terminals[0]
    return found


def main() -> None:
    target = Path(__file__).with_name("table.json")
    target.write_text(serialise(build(grammar_text())), encoding="utf-8")
    print(f"{target}: {target.stat().st_size} bytes")


def serialise(table: dict[str, Any]) -> str:
    """One line a part: compact, and a change of the grammar is a readable change of the file."""
    parts = (f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in table.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
