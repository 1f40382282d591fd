"""What Python hands in has the type that the signature says, or is refused before anything happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import privql
from tests.surfaces.conftest import POLICY

pytestmark = pytest.mark.wrong_types


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    policy = tmp_path / "policy.pql"
    policy.write_text(POLICY, encoding="utf-8")
    with privql.connect(policy=policy, analyst="alice", data="dummy") as opened:
        yield opened


@pytest.mark.parametrize(
    ("method", "given", "named"),
    [
        ("check", (7,), {}),
        ("check", ("SELECT 1", ["e"]), {}),
        ("check", ("SELECT 1", {1: "e"}), {}),
        ("run", (None,), {}),
        ("run_text", ("SELECT 1",), {"partial": "yes"}),
        ("check_text", ("SELECT 1",), {"name": 5}),
        ("run_file", (3,), {}),
        ("explain", (b"SELECT 1",), {}),
    ],
)
def test_wrong_types_are_refused_by_every_method(session: Any, method: str, given: Any, named: Any) -> None:
    with pytest.raises(privql.PrivQLError) as refused:
        getattr(session, method)(*given, **named)
    assert [found.code for found in refused.value.diagnostics] == ["PQL0511"]


@pytest.mark.parametrize(
    "named",
    [{"ledger": 5}, {"analyst": 5}, {"frames": [1]}, {"frames": {1: 2}}, {"data": "real"}, {"policy": {"a": "b"}}],
)
def test_wrong_types_are_refused_by_connect(named: dict[str, Any]) -> None:
    connect: Any = privql.connect
    with pytest.raises(privql.PrivQLError) as refused:
        connect(**named)
    assert refused.value.diagnostics[0].code == "PQL0511"


def test_right_types_pass(session: Any) -> None:
    assert session.check("SELECT COUNT(*) FROM patients SPEND EPSILON $e", {"e": "0.5"}).ok
    assert session.check("SELECT COUNT(*) FROM patients SPEND EPSILON $e", e=1).ok
    assert session.run("SELECT 1 + $x AS y", params={"x": 2}).to_json()["rows"] == [[3]]


def test_the_module_lists_what_it_has() -> None:
    assert set(privql.__all__) <= set(dir(privql))
    for name in privql.__all__:
        assert getattr(privql, name) is getattr(privql, name)
    with pytest.raises(AttributeError):
        _ = privql.conect


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2, "x", "1/0", "0." + "9" * 20, "0." + "9" * 2500])
def test_what_is_no_confidence_is_refused(session: Any, confidence: Any) -> None:
    answer = session.run("SELECT AVG(age) AS a, COUNT(*) AS n FROM patients SPEND EPSILON 1")
    with pytest.raises(privql.PrivQLError) as refused:
        answer.interval(confidence)
    assert refused.value.diagnostics[0].code == "PQL0511"
    assert answer.interval("0." + "9" * 12).notna().all(axis=None)
