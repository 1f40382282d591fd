"""The shipped table is the grammar's, the grammar has no conflict, and its words are names wherever they should be."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lark.exceptions import GrammarError

import privql.syntax
from privql.syntax import RESERVED, ast, parse_query, parse_statement, quote, table, unparse
from privql.syntax.automaton import automaton
from privql.syntax.lexer import lex
from privql.syntax.names import KEYWORDS
from privql.syntax.parse import _actions

PACKAGE = Path(privql.syntax.__file__).parent

# Of the words of this language, those that PostgreSQL 17 reserves (its documentation, appendix C), at least where a
# column is named.
POSTGRESQL_RESERVES = frozenset(
    {
        "ALL", "AND", "ANY", "ARRAY", "AS", "ASC", "BOTH", "CASE", "CAST", "CREATE", "CROSS", "DEFAULT", "DESC",
        "DISTINCT", "ELSE", "END", "EXCEPT", "FALSE", "FETCH", "FOR", "FROM", "FULL", "GRANT", "GROUP",
        "HAVING", "ILIKE", "IN", "INNER", "INTERSECT", "IS", "ISNULL", "JOIN", "LATERAL", "LEADING", "LEFT",
        "LIKE", "LIMIT", "NATURAL", "NOT", "NOTNULL", "NULL", "OFFSET", "ON", "ONLY", "OR", "ORDER", "OUTER",
        "PLACING", "REFERENCES", "RIGHT", "SELECT", "SIMILAR", "SOME", "SYMMETRIC", "TABLE", "THEN", "TO", "TRAILING",
        "TRUE", "UNION", "USING", "WHEN", "WHERE", "WINDOW", "WITH",
    }
)  # fmt: skip

# `@` is the word; the same text with a name that is no word must have the same tree, but for the name.
POSITIONS = [
    "SELECT @ FROM t",
    "SELECT @, @ + 1, -@, NOT @, (@), @ IS NULL FROM t WHERE @ = 1 AND @ LIKE 'a' OR @ BETWEEN @ AND @",
    "SELECT @.a, a.@, @.*, * EXCLUDE (@), * REPLACE (1 AS @) FROM t",
    "SELECT a AS @ FROM t",
    'SELECT "@" FROM "@"',
    "SELECT a FROM @",
    "SELECT a FROM @ AS b, @.@ AS c, d AS @, (SELECT 1) AS @ (@, @)",
    "SELECT a FROM @ JOIN @ USING (@) LEFT JOIN @ ON @ = 1",
    "WITH @ AS (SELECT 1), @ (@) AS (SELECT 2) SELECT * FROM @",
    "WITH RECURSIVE @ AS (SELECT 1) SELECT 1",
    "SELECT 1 FROM t GROUP BY @, ROLLUP (@), @ KEYS (@) HAVING @ ORDER BY @ DESC, @ NULLS LAST",
    "SELECT f(@), f(DISTINCT @), f(@ => 1), f(x ORDER BY @ LIMIT 1), x[@], [@], CAST(@ AS INT), @::INT FROM t",
    "SELECT CASE @ WHEN @ THEN @ ELSE @ END, EXTRACT(YEAR FROM @), x IN (@, @), @ IN (1) FROM t",
    "SELECT f(x) OVER (PARTITION BY @ ORDER BY @), f(x) OVER @ FROM t WINDOW @ AS (ORDER BY @)",
    "CREATE PRIVATE TABLE @ (@ INT, b TEXT REFERENCES @(@), KEY (@)) UNIT p VIA @ FROM @.@",
    "CREATE VIEW @ (@) AS SELECT 1",
    "CREATE RELEASE @ AS SELECT 1",
    "CREATE BUDGET @ FOR UNIT p EPSILON 1",
    "GRANT @ TO @, @",
    "REFRESH @ AS 'v'",
    "DROP VIEW @",
    "DESCRIBE @.@",
    "SET @ = @",
]


def test_the_table_is_built_from_the_grammar() -> None:
    assert (PACKAGE / "table.json").read_text(encoding="utf-8") == table.serialise(table.build(table.grammar_text()))


def test_a_conflict_is_refused() -> None:
    ambiguous = table.grammar_text().replace(
        '| "NOT"i negation ', '| "NOT"i negation | "NOT"i expr -> nonsense\n         | "NOT"i negation '
    )
    with pytest.raises(GrammarError):
        table.build(ambiguous)


def test_every_action_has_its_function() -> None:
    assert len(_actions()) == len(automaton().actions)
    for name, function in zip(automaton().actions, _actions(), strict=True):
        assert callable(function) and function.__module__.startswith("privql.syntax.build_"), name


def test_only_words_that_postgresql_reserves_are_reserved() -> None:
    assert RESERVED == POSTGRESQL_RESERVES & KEYWORDS


@pytest.mark.parametrize("position", POSITIONS)
def test_every_other_word_is_a_name(position: str) -> None:
    plain = unparse(parse_statement(position.replace("@", "zz")))
    for word in sorted(KEYWORDS - POSTGRESQL_RESERVES):
        for spelled in (word, word.lower()):
            assert unparse(parse_statement(position.replace("@", spelled))).replace('"', "") == plain.replace(
                "zz", spelled
            )


@pytest.mark.parametrize("position", POSITIONS)
def test_what_can_follow_is_what_can_be_read_on_with(position: str) -> None:
    """Behind every token of a statement: found for all terminals at once, and one by one."""
    machine = automaton()
    kinds = lex(position.replace("@", "a")).tokens.kinds
    for end in range(len(kinds)):
        states = [machine.starts["statement"]]
        assert machine.advance(states, kinds[:end]) == end
        one_by_one = {name for kind, name in enumerate(machine.terminals) if machine.advance(list(states), [kind])}
        assert machine.admitted(states) == one_by_one


def test_every_word_at_all_is_a_name_after_as_and_after_a_dot() -> None:
    for word in KEYWORDS:
        query = parse_query(f"SELECT a AS {word}, t.{word} FROM t")
        assert isinstance(query.body, ast.Select)
        assert query.body.items[0].alias == word
        assert query.body.items[1].expr == ast.Column(("t", word))


def test_quote_quotes_what_must_be() -> None:
    assert [quote(name) for name in ("a", "date", "A_1", "größe")] == ["a", "date", "A_1", "größe"]
    assert quote("select") == '"select"'
    assert quote("") == '""'
    assert quote('a"b') == '"a""b"'
    assert quote("1a") == '"1a"'
    assert quote("ſelect") == "ſelect"  # no ASCII letter, so no other case of SELECT


def test_nothing_at_run_time_needs_lark_or_a_slow_import() -> None:
    code = (
        "import sys, privql.syntax as s; s.parse_statement('SELECT 1');"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('lark', 'numpy', 'pandas', 'interegular')))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_zipped_package_finds_its_table_and_grammar(tmp_path: Path) -> None:
    """As in a wheel: the grammar stands inside the package."""
    wheel = tmp_path / "privql.zip"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in [*PACKAGE.glob("*.py"), PACKAGE / "table.json", *PACKAGE.parent.glob("*.py")]:
            archive.write(file, file.relative_to(PACKAGE.parent.parent))
        archive.write(PACKAGE.parent.parent / "grammar" / "privql.lark", "privql/grammar/privql.lark")
    code = (
        "import privql, privql.syntax as s; from privql.syntax.table import grammar_text, serialise, build\n"
        "assert '.zip' in privql.__file__\n"
        "print(s.unparse(s.parse_statement('select 1')), len(grammar_text()))"
    )
    environment = {"PYTHONPATH": str(wheel), "PATH": ""}
    said = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment, cwd=tmp_path)
    assert said.split() == ["SELECT", "1", str(len(table.grammar_text()))]


def test_the_table_is_plain_data() -> None:
    assert json.loads((PACKAGE / "table.json").read_text(encoding="utf-8")).keys() >= {"terminals", "rules", "rows"}
