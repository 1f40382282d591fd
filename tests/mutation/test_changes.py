"""The faults that are tried: of every kind, each in one place, and each a change."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from tests.mutation.__main__ import ROOT, without_place
from tests.mutation.changes import changes

SOURCE = '''"""Says what it is for: 1."""
LIMIT = 2

@cached(1)
def rule(a: int | None = None, low: int = 0) -> int | None:
    if a is None or not low:
        raise Unproved("nothing below 1")
    note(a)
    most = min(a * 2, LIMIT)
    found = {x for x in most if x}
    match a:
        case 1 if low:
            return found | most
        case _:
            return Domain(a + low, nullable=a < low)

class Held:
    def ends(self) -> bool:
        return -self.low if self.high else [True, *zip(self, strict=True)]
'''


def test_each_fault_is_one_change(tmp_path: Path) -> None:
    (tmp_path / "rule.py").write_text(SOURCE, "utf-8")
    found = changes(tmp_path, "rule.py")
    original = ast.unparse(ast.parse(SOURCE)).splitlines()
    for change in found:
        faulty = ast.unparse(change.tree(SOURCE)).splitlines()
        assert faulty != original, change
        if len(faulty) == len(original):
            assert sum(one != other for one, other in zip(original, faulty, strict=True)) == 1, change
        compile(change.tree(SOURCE), "rule.py", "exec")
    assert len({change.key for change in found}) == len(found)
    assert [(change.function, change.line, change.kind, change.after) for change in found if change.line < 8] == [
        ("<module>", 2, "one more", "3"),
        ("<module>", 2, "one less", "1"),
        ("rule", 5, "one more", "1"),
        ("rule", 5, "one less", "-1"),
        ("rule", 6, "no guard", "if False: raise Unproved('nothing below 1')"),
        ("rule", 6, "and/or", "a is None and (not low)"),
        ("rule", 6, "one condition less", "not low"),
        ("rule", 6, "one condition less", "a is None"),
        ("rule", 6, "comparison", "a is not None"),
        ("rule", 6, "no not", "low"),
    ]
    assert {change.function for change in found} == {"<module>", "rule", "Held.ends"}
    assert {change.kind for change in found if change.line >= 8} == {
        "left out", "the other end", "no clamp", "one side", "one more", "one less", "no filter", "no such case",
        "no guard", "sign", "nullable", "comparison", "one branch", "truth",
    }  # fmt: skip
    assert sum(change.kind == "truth" for change in found) == 1


def test_what_is_argued_to_be_no_fault_can_still_be_made() -> None:
    argued = json.loads((ROOT / "tests/mutation/argued.json").read_text("utf-8")).keys()
    made = {without_place(one.key) for path in {key.split(":")[0] for key in argued} for one in changes(ROOT, path)}
    assert argued <= made
