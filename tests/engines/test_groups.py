"""The groups that nobody listed, and sums over those that were found, against the reference on hostile rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from privql.audit import reference
from privql.audit.reference import Row
from privql.conformance.terms import COLUMNS, hostile_rows
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.engines.sql import groups
from privql.kernel import rules
from privql.kernel.features import Tally
from privql.kernel.scalars import FLOAT, INT, TEXT, Field, Value
from privql.kernel.selection import truncated_geometric
from privql.kernel.stable import Stable
from privql.kernel.sums import Key, Keys, Listed, Sums
from privql.kernel.terms import Scan, Unit
from tests.engines.files import write
from tests.engines.small import cells, engine, scan

SALT = b"\x00salt\xff"
GROUPED = [column for column in COLUMNS if column[0] != "u"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Row], list[DuckDBEngine]]]:
    """The same rows in two orders, on one thread and on eight."""
    random, folder = Random(7), tmp_path_factory.mktemp("groups")
    table = hostile_rows(random, 120)
    engines = []
    for threads in (1, 8):
        path = folder / f"{threads}.parquet"
        write(random.sample(table, len(table)), path)
        engines.append(DuckDBEngine({"table": Source((str(path),))}, threads=threads, optimizer=threads == 1))
    yield table, engines
    for one in engines:
        one.close()


def stable(rows: int | None, unit: bool = True) -> Stable:
    scanned = rules.scan(Scan("table", Unit("u"), ("u", INT) if unit else None, False, COLUMNS))
    return scanned if rows is None else rules.keep_rows(scanned, rows)


def selected(names: list[str], rows: int | None, most: int | None, unit: bool = True) -> Keys:
    given = stable(rows, unit)
    keys = tuple((f"k{at}", Field(name, dict(COLUMNS)[name])) for at, name in enumerate(names))
    return truncated_geometric(given, keys, most, Fraction(1000), Fraction(1, 2)).term


def alike(found: list[tuple[tuple[Value, ...], int]]) -> list[tuple[str, int]]:
    """Told apart by type too: TRUE is not 1, and no zero is negative."""
    return [(repr(group), units) for group, units in found]


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_counted_by_units_in_an_order_of_their_own(
    seed: int, hostile: tuple[list[Row], list[DuckDBEngine]]
) -> None:
    table, engines = hostile
    random = Random(seed)
    names = random.sample([name for name, _ in GROUPED], random.choice((1, 1, 2, 3)))
    rows, most = random.choice(((None, 2), (3, None), (5, 1), (2, 9), (40, 7)))
    term = selected(names, rows, most, unit=random.random() < 0.8)
    wanted = reference.counted(term, {"table": table}, SALT)
    for one in engines:
        assert alike(one.groups(term, SALT)) == alike(wanted)


@pytest.mark.parametrize("seed", range(20))
def test_sums_over_what_was_found(seed: int, hostile: tuple[list[Row], list[DuckDBEngine]]) -> None:
    table, engines = hostile
    random = Random(seed)
    names = random.sample([name for name, _ in GROUPED], random.choice((1, 2, 3)))
    input = stable(3)
    found = [group for group, _ in reference.counted(selected(names, 3, None), {"table": table}, SALT)]
    found = random.sample(found, min(len(found), random.choice((1, 5, 200))))
    listed = Listed(tuple(Field(name, dict(COLUMNS)[name]) for name in names), tuple(found))
    beside = Key(Field("b", dict(COLUMNS)["b"]), (True, None)) if random.random() < 0.5 else None
    keys = (beside, listed) if beside and random.random() < 0.5 else (listed, beside) if beside else (listed,)
    sums = Sums(input.term, keys, (Tally(),))
    wanted = reference.run(sums, {"table": table}, SALT)
    for one in engines:
        assert one.run(sums, SALT).tolist() == wanted


@pytest.mark.parametrize("count", [3, 51, 300])
def test_few_and_many_groups_that_were_found(count: int) -> None:
    """Few are written into the statement, many handed over as arrays; NULL is one of them either way."""
    values = [f"v{at}" for at in range(count)]
    data: dict[str, object] = {
        "x": [*values, *values, None, None, None],
        "y": [float(at % 3) for at in range(2 * count + 3)],
    }
    columns = (("x", TEXT), ("y", FLOAT))
    members: list[tuple[Value, ...]] = [(value, float(at % 3)) for at, value in enumerate(values)]
    members += [(None, float(2 * count % 3)), (None, None), ("nowhere", 0.0)]
    sums = Sums(scan(columns), (Listed((Field("x", TEXT), Field("y", FLOAT)), tuple(members)),), (Tally(),))
    rows: list[Row] = [{"x": x, "y": y} for x, y in zip(data["x"], data["y"], strict=True)]
    assert cells(data, sums) == reference.run(sums, {"t": rows}, SALT)


def test_a_group_listed_twice_is_not_summed_twice() -> None:
    sums = Sums(scan((("x", INT),)), (Listed((Field("x", INT),), ((1,), (1,))),), (Tally(),))
    with pytest.raises(Exception, match="exact way"):
        cells({"x": [1]}, sums)


@pytest.mark.parametrize("zeros", [[-0.0], [-0.0, 0.0], [0.0, -0.0, -0.0]], ids=str)
def test_there_is_one_zero(zeros: list[float]) -> None:
    """Which of them came first would tell of the order of the data."""
    zero = rules.scan(scan((("x", FLOAT),)))
    keys = truncated_geometric(zero, (("k", Field("x", FLOAT)),), None, Fraction(1), Fraction(1, 10))
    with engine({"x": zeros}) as one:
        assert alike(one.groups(keys.term, SALT)) == [("(0.0,)", len(zeros))]


def test_no_row_has_no_group() -> None:
    with engine({"x": [], "u": []}) as one:
        keys = truncated_geometric(
            rules.keep_rows(rules.scan(scan((("x", INT),), ("u", INT))), 2), (("k", Field("x", INT)),), None,
            Fraction(1), Fraction(1, 10),
        ).term  # fmt: skip
        assert one.groups(keys, SALT) == []


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_leaving", lambda column, kind, dialect: column),
        ("groups", lambda found: [(tuple(row[:-1]), row[-1]) for row in found]),
    ],
)
def test_a_planted_fault_is_seen(name: str, fault: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from privql.engines.sql import engine as room

    monkeypatch.setattr(room if name == "groups" else groups, name, fault)
    random = Random(3)
    table = hostile_rows(random, 120)
    write(table, tmp_path / "rows.parquet")
    seen = False
    with DuckDBEngine({"table": Source((str(tmp_path / "rows.parquet"),))}) as one:
        for names in (["f"], ["g"], ["dt"], ["ts"], ["d"], ["s"]):
            term = selected(names, None, None, unit=False)
            try:
                seen |= alike(one.groups(term, SALT)) != alike(reference.counted(term, {"table": table}, SALT))
            except Exception:
                seen = True
    assert seen
