"""Which tests enter a function is seen of every test, whatever the one before did."""

from __future__ import annotations

import json
from pathlib import Path

from tests.mutation.reached import watch

RULE = """
def rule():
    return 1

def deep():
    return deep()
"""
TESTS = """
import importlib.util, pathlib, pytest

AT = pathlib.Path(__file__).parent / "privql" / "rule.py"
SPEC = importlib.util.spec_from_file_location("rule", AT)
RULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(RULE)

def test_too_deep():
    with pytest.raises(RecursionError):
        RULE.deep()

def test_rule():
    assert RULE.rule() == 1
"""


def test_a_test_is_watched_after_one_that_recursed_too_deep(tmp_path: Path) -> None:
    (tmp_path / "privql").mkdir()
    (tmp_path / "privql" / "rule.py").write_text(RULE, "utf-8")
    (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
    watch(tmp_path, [str(tmp_path)], tmp_path / "reached.json")
    found = json.loads((tmp_path / "reached.json").read_text("utf-8"))["tests"]
    entered = {name.rpartition("::")[2]: test["entered"] for name, test in found.items()}
    assert entered == {"test_too_deep": ["privql/rule.py:deep"], "test_rule": ["privql/rule.py:rule"]}
