"""A value that cannot be read decides nothing: it is the owner's before anything is charged."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.pipeline import places

POLICY = """
CREATE UNIT person;
CREATE PRIVATE TABLE people (id INT UNIT person KEY, note TEXT, x INT BETWEEN 0 AND 9) FROM 'people.parquet';
CREATE BUDGET research FOR UNIT person EPSILON 3;
"""
QUERY = "SELECT COUNT(*) FROM people WHERE note = 'a' SPEND EPSILON 1"


def write(folder: Path, texts: list[bytes]) -> None:
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    buffers = [None, pa.array(offsets, pa.int32()).buffers()[1], pa.py_buffer(b"".join(texts))]
    notes = pa.StringArray.from_buffers(len(texts), *buffers[1:])
    rows = pa.table({"id": list(range(len(texts))), "note": notes, "x": [1] * len(texts)})
    pq.write_table(rows, folder / "people.parquet")


def codes(error: PrivQLError) -> list[str]:
    return [diagnostic.code for diagnostic in error.diagnostics]


def test_a_damaged_file_is_not_applied(tmp_path: Path) -> None:
    (tmp_path / "policy.pql").write_text(POLICY)
    write(tmp_path, [b"a", b"\xff\xfe"])
    with pytest.raises(PrivQLError) as refused:
        privql.apply(tmp_path / "policy.pql", ledger=tmp_path / "ledger.db")
    assert codes(refused.value) == ["PQL0741"]
    assert not (tmp_path / "ledger.db").exists()


def test_a_file_damaged_later_is_refused_before_it_is_charged(tmp_path: Path) -> None:
    (tmp_path / "policy.pql").write_text(POLICY)
    write(tmp_path, [b"a", b"b"])
    privql.apply(tmp_path / "policy.pql", ledger=tmp_path / "ledger.db")
    with privql.connect(tmp_path / "ledger.db", analyst="alice") as session:
        assert session.run(QUERY).cost.epsilon == 1
        write(tmp_path, [b"a", b"\xff\xfe"])
        for query in (QUERY.replace("'a'", "'b'"), "SELECT COUNT(*) FROM people SPEND EPSILON 1"):
            with pytest.raises(PrivQLError) as refused:
                session.run(query)
            assert codes(refused.value) == ["PQL0603"]
        assert session.budget().budgets[0].spent.epsilon == 1


def test_files_that_move_under_a_query_give_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "policy.pql").write_text(POLICY)
    write(tmp_path, [b"a", b"b"])
    privql.apply(tmp_path / "policy.pql", ledger=tmp_path / "ledger.db")
    with privql.connect(tmp_path / "ledger.db", analyst="alice") as session:
        held = places.fingerprint
        told = iter([True, True])  # when the engine is opened, and when the key is held
        monkeypatch.setattr(places, "fingerprint", lambda rows: held(rows) if next(told, False) else "moved")
        with pytest.raises(PrivQLError) as failed:
            session.run(QUERY)
        assert codes(failed.value) == ["PQL0601"]
        monkeypatch.undo()
        assert session.budget().budgets[0].spent.epsilon == 1
        session.run(QUERY)  # resumes the charge
        assert session.budget().budgets[0].spent.epsilon == 1


def test_a_frame_that_cannot_be_read_is_refused_before_it_is_charged() -> None:
    class Unwritable:
        def __str__(self) -> str:
            raise ValueError("p17 is here")

    frame = pd.DataFrame({"id": [1, 2], "note": ["a", Unwritable()], "x": [1, 2]})
    with privql.connect(policy=POLICY.replace(" FROM 'people.parquet'", ""), frames={"people": frame}) as session:
        with pytest.raises(PrivQLError) as refused:
            session.run(QUERY)
        assert codes(refused.value) == ["PQL0603"] and "p17" not in str(refused.value)
        assert session.budget().budgets[0].spent.epsilon == 0
