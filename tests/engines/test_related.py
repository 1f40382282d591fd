"""Terms that relate rows, on rows made by hand: what they are of, the types that survive, what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privql.audit import reference
from privql.conformance.pools import WIDE, hostile
from privql.engines.duckdb import DuckDBEngine
from privql.engines.duckdb.sources import PLACE
from privql.engines.interface import EngineError, Source, scans
from privql.functions.scalar.numbers import INT_MAX, INT_MIN
from privql.kernel.features import (
    Bits,
    Different,
    Extreme,
    Feature,
    Frame,
    Mode,
    Neighbour,
    Nth,
    Order,
    Over,
    Quantile,
    Rank,
    Steps,
    Tally,
    Total,
    WindowCall,
)
from privql.kernel.scalars import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    TEXT,
    TIMESTAMP,
    Apply,
    Const,
    Field,
    Value,
    ValueType,
    decimal,
)
from privql.kernel.sums import Contribution, Key, Sums
from privql.kernel.terms import (
    Combine,
    Filter,
    Gather,
    Join,
    KeepRows,
    Link,
    Lookup,
    Mark,
    Once,
    Project,
    Public,
    Relation,
    Scan,
    Window,
)
from tests.engines.small import PERSON, SALT, engine

U, X = Field("u", INT), Field("x", INT)
MOST = 2**62


@dataclass(frozen=True)
class Given:
    columns: tuple[tuple[str, ValueType], ...]
    rows: tuple[tuple[Value, ...], ...]


def scan(*columns: tuple[str, ValueType], unit: str | None = "u", table: str = "t") -> Scan:
    return Scan(table, PERSON, None if unit is None else (unit, INT), False, columns)


def renamed(relation: Relation, *columns: tuple[str, Field]) -> Relation:
    return Project(relation, columns)


def asked(data: dict[str, object], relation: Relation, *contributions: Contribution, **publics: Given) -> list[int]:
    with engine(data) as e:
        e.preflight(scans(relation))
        found: list[list[int]] = e.run(Sums(relation, (), contributions or (Tally(),)), SALT, publics).tolist()
    return found[0]


def whole(name: str) -> Total:
    return Total(Steps(Field(name, INT), Fraction(1), -MOST, MOST))


# ---- public rows


@pytest.mark.parametrize(
    "type", [INT, FLOAT, BOOL, TEXT, DATE, TIMESTAMP, decimal(10, 2), decimal(38, 0), WIDE], ids=str
)
def test_public_values_arrive_as_they_are(type: ValueType) -> None:
    values = tuple(dict.fromkeys((*hostile(type), None)))
    public = Public("p", (("n", INT), ("value", type)))
    given = Given(public.columns, tuple(enumerate(values)))
    keys = Key(Field("n", INT), tuple(range(len(values)))), Key(Field("value", type), values)
    with engine({"u": [1]}) as e:
        beside = Lookup(scan(), public, (), None, None)
        found = e.run(Sums(beside, keys, (Tally(),)), SALT, {"p": given}).reshape(len(values), len(values))
        again = e.run(Sums(beside, (), (Tally(),)), SALT, {"p": replace(given, rows=())})
    assert found.tolist() == [[int(i == j) for j in range(len(values))] for i in range(len(values))]
    assert again.tolist() == [[0]]


def test_public_rows_that_were_not_handed_in_are_named() -> None:
    public = Public("prices", (("n", INT),))
    sums = Sums(Lookup(scan(), public, (), None, None), (), (Tally(),))
    with engine({"u": [1]}) as e:
        assert "public_0" in e.emit(sums)  # what would run is known without them
        with pytest.raises(EngineError, match="`prices` is not there"):
            e.run(sums, SALT)


def test_null_meets_nothing_and_no_more_take_part_than_are_let() -> None:
    data = {"u": [1, 2, 3], "x": [5, None, 6]}
    public = Public("p", (("n", INT), ("worth", INT)))
    given = Given(public.columns, ((5, 1), (5, 1), (5, 1), (None, 100), (7, 1)))
    on = ((X, "n"),)
    for most, outer, wanted in ((None, False, [3, 3]), (2, False, [2, 2]), (None, True, [5, 3]), (1, True, [3, 1])):
        assert (
            asked(data, Lookup(scan(("x", INT)), public, on, None, most, outer), Tally(), whole("worth"), p=given)
            == wanted
        )
    marked = Mark(scan(("x", INT)), "there", public, ((X, Field("n", INT)),))
    for among, where in ((True, 1), (False, 2)):
        test = Apply("eq", (Field("there", BOOL), Const(among, BOOL)), BOOL)
        assert asked(data, Filter(marked, test), p=given) == [where]


# ---- along references


def write(folder: Path, **tables: dict[str, object]) -> dict[str, Source]:
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return {name: Source((str(folder / f"{name}.parquet"),)) for name in tables}


def test_units_are_found_along_references_and_broken_chains_dropped(tmp_path: Path) -> None:
    sources = write(
        tmp_path,
        tests={"visit": ["1", "2", " 3", None, "9", "4"], "level": [1, 10, 100, 1000, 10_000, 100_000]},
        visits={"id": [1, 2, 3, 4, None], "stay": ["a", "b", None, "z", "a"]},
        stays={"code": ["a", "b", None], "who": [7, 7, 7]},
    )
    along = Link("visit", "visits", ("id", INT)), Link("stay", "stays", ("code", TEXT))
    level = (("level", INT),)
    tests = Scan("tests", PERSON, ("who", INT), False, level, along)
    with DuckDBEngine(sources, threads=1, owner_log=print) as e:
        e.preflight([tests])
        total = Total(Steps(Field("level", INT), Fraction(1), 0, 10**6))
        assert e.run(Sums(tests, (), (total,)), SALT).tolist() == [[11]]
        assert e.run(Sums(KeepRows(tests, 1), (), (Tally(),)), SALT).tolist() == [[1]]
        for wrong, table, column in (
            (replace(tests, via=(Link("vist", "visits", ("id", INT)), along[1])), "tests", "vist"),
            (replace(tests, via=(Link("visit", "visits", ("no", INT)), along[1])), "visits", "no"),
            (replace(tests, via=(along[0], Link("stey", "stays", ("code", TEXT)))), "visits", "stey"),
            (replace(tests, unit_column=("whom", INT)), "stays", "whom"),
        ):
            with pytest.raises(EngineError) as raised:
                e.preflight([wrong])
            assert (raised.value.kind, raised.value.table, raised.value.column) == ("missing column", table, column)


# ---- rows that are units of their own


def test_rows_that_are_their_own_units_meet_themselves_where_they_have_a_place(tmp_path: Path) -> None:
    for part in ("a", "b"):
        pq.write_table(pa.table({"x": [1, 1, 2]}), tmp_path / f"{part}.parquet")
    here = renamed(scan(("x", INT), unit=None), ("left", X))
    there = Filter(
        renamed(scan(("x", INT), unit=None), ("right", X)), Apply("eq", (Field("right", INT), Const(1, INT)), BOOL)
    )
    joined = Sums(Join("LEFT", here, there), (), (Tally(), whole("right")))
    with DuckDBEngine({"t": Source((str(tmp_path / "*.parquet"),))}, threads=2, owner_log=print) as e:
        assert e.run(joined, SALT).tolist() == [[6, 4]]
        assert PLACE in e.emit(joined)  # a number that is counted up could be another each time
    with engine({"x": [1, 1, 2]}) as e, pytest.raises(EngineError, match="no exact way"):
        e.emit(joined)


def test_units_of_different_kinds_never_meet(tmp_path: Path) -> None:
    """Named by values of different types, or by their places in different tables, or one by a value and one by a place:
    these may look the same."""
    write(tmp_path, t={"u": [1, 2]}, s={"u": [1, 2]})
    texts, own = replace(scan(), unit_column=("u", TEXT)), scan(unit=None)
    pairs = (scan(), texts), (own, scan(unit=None, table="s")), (own, scan()), (scan(), own)
    sources = {name: Source((str(tmp_path / f"{name}.parquet"),)) for name in "ts"}
    with DuckDBEngine(sources, owner_log=print) as e:
        for one, other in (*pairs, (own, own), (scan(), scan(table="s"))):
            for related in (Join("INNER", one, other), Mark(one, "m", other), Combine("UNION ALL", one, other, ())):
                sums = Sums(related, (), (Tally(),))
                if (one, other) in pairs:
                    with pytest.raises(EngineError, match="no exact way"):
                        e.emit(sums)
                else:
                    e.rehearse(sums)


def test_a_row_that_is_its_own_unit_keeps_as_few_as_any_unit() -> None:
    public = Public("p", (("n", INT),))
    four = Lookup(scan(("x", INT), unit=None), public, (), None, None)
    given = Given(public.columns, ((1,), (2,), (3,), (4,)))
    data = {"x": [1, 1, None]}
    assert asked(data, four, p=given) == [12]
    assert asked(data, KeepRows(four, 3), p=given) == [9]
    assert asked(data, Gather(four, (), (("sum", whole("n")),)), Tally(), whole("sum"), p=given) == [3, 30]
    assert asked(data, Once(Project(four, (("n", Field("n", INT)),))), p=given) == [4]


def test_a_row_that_met_several_others_is_cut_though_it_is_its_own_unit(tmp_path: Path) -> None:
    """What is known to be alone is not cut again: nothing may be taken for alone that is not."""
    data: reference.Tables = {"t": [{"x": value} for value in (1, 1, None)]}
    publics = {name: Public(name, ((name, INT),)) for name in "abc"}
    given = {name: Given(public.columns, ((1,), (2,))) for name, public in publics.items()}
    sides: list[list[Relation]] = []
    for at in ("a", "b"):
        one = renamed(scan(("x", INT), unit=None), (f"x{at}", X))
        sides.append([one, *(Lookup(one, publics[at], (), None, most) for most in (None, 1, 2))])
    kinds: tuple[Literal["INNER", "LEFT", "FULL"], ...] = ("INNER", "LEFT", "FULL")
    wheres = None, Const(False, BOOL)
    met = [Join(kind, *both, (), where) for kind in kinds for both in product(*sides) for where in wheres]
    write(tmp_path, t={"x": [1, 1, None]})
    found: set[int] = set()
    with DuckDBEngine({"t": Source((str(tmp_path / "t.parquet"),))}, threads=1, owner_log=print) as e:
        again = [Lookup(each, publics["c"], (), None, most) for each in (*sides[0], *met[::9]) for most in (None, 1)]
        for relation, limit in product([*sides[0], *met, *again], (0, 1, 2)):
            kept = KeepRows(relation, limit)
            sums = Sums(kept, (), (Tally(), *map(whole, reference.types(kept))))
            wanted = reference.run(sums, data, SALT, {name: rows.rows for name, rows in given.items()})
            assert e.run(sums, SALT, given).tolist() == wanted, sums
            found.add(wanted[0][0])
    assert found == {0, 3, 6}


# ---- bounds, zeros, orders


def test_groups_that_are_not_listed_are_dropped() -> None:
    data = {"u": [1, 1, 1, 1, 2], "x": [1, 2, 3, None, 2]}
    for listed, left in (((1, 2), 3), ((2, None), 3), ((None,), 1), ((7,), 0)):
        kept = Gather(scan(("x", INT)), (("k", Field("x", INT)),), (("n", Tally()),), (listed,))
        assert asked(data, kept, Tally()) == [left]


def test_totals_stay_within_their_bounds() -> None:
    data = {"u": [1, 1, 1, 2, 2, 2, 3], "x": [MOST, MOST, MOST, -MOST, -MOST, 1, None]}
    gathered = Gather(scan(("x", INT)), (), (("sum", whole("x")),))
    assert asked(data, gathered, Tally(), whole("sum")) == [3, 0]
    top = Apply("eq", (Field("sum", INT), Const(MOST, INT)), BOOL)
    nothing = Apply("is_null", (Field("sum", INT),), BOOL)
    assert asked(data, gathered, Tally(top), Tally(nothing)) == [1, 1]
    over = Window(scan(("x", INT)), (), (), (("sum", Over(whole("x"), None)),))
    assert asked(data, over, Tally(top)) == [3]


def test_of_two_zeros_one_is_found_whichever_came_first() -> None:
    zero, written = Field("f", FLOAT), Apply("cast", (Field("f", FLOAT),), TEXT)
    minus = Apply("eq", (written, Const("-0.0", TEXT)), BOOL)
    source = scan(("f", FLOAT))
    for values in ([0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0]):
        data = {"u": [1, 1], "f": values}
        one: list[Relation] = [
            Gather(source, (("f", zero),), ()),
            Gather(source, (), (("f", Extreme(zero, True)),)),
            Once(source),
            Combine("INTERSECT", source, source, (("f", "f", "f"),)),
        ]
        for relation in one:
            assert asked(data, relation, Tally(), Tally(minus)) == [1, 0], relation


@pytest.mark.parametrize(("descending", "nulls_first", "first"), [(False, False, 1), (True, False, 3), (True, True, 0)])
def test_the_first_in_an_order_are_kept(descending: bool, nulls_first: bool, first: int) -> None:
    kept = KeepRows(scan(("x", INT)), 1, (Order(X, descending, nulls_first),))
    assert asked({"u": [1] * 4, "x": [2, 3, None, 1]}, kept, Tally(), whole("x")) == [1, first]


def test_no_number_of_a_units_rows_is_out_of_the_range_that_is_known_of_it() -> None:
    """A count may be 0, a place is at least 1: what is within the steps by its range is not clamped again."""
    data: dict[str, object] = {"u": [1, 1, 1, 1, 2, 2, 3], "x": [3, -4, 2, 2, 9, None, -7]}
    rows = [{"u": u, "x": x} for u, x in zip(data["u"], data["x"], strict=True)]
    two, three = Const(2, INT), Const(3, INT)
    within = Apply("clamp", (X, Const(-4, INT), three), INT)
    source = Project(scan(("x", INT)), (("x", X), ("y", within), ("z", Apply("abs", (within,), INT))))
    twos = Apply("eq", (X, two), BOOL)
    features: list[Feature] = [each for where in (None, twos) for each in (Tally(where), Different(X, where))]
    for name in "xyz":
        read, steps = Field(name, INT), Steps(Field(name, INT), Fraction(1), -2, 2)
        features += [Extreme(read, True), Extreme(read, False), Mode(read), Quantile(read, 0.5, "BELOW")]
        features += [Bits("AND", read), Bits("XOR", read), Total(steps), Total(replace(steps, high=-1))]
    calls: list[WindowCall] = [Rank("ROW_NUMBER"), Rank("RANK"), Rank("DENSE_RANK"), Neighbour(X, 1, three)]
    calls += [Nth(X, 2, Frame("ROWS", None, None)), Neighbour(Field("y", INT), -1, Const(9, INT))]
    calls += [Over(each, Frame("ROWS", -1, -1)) for each in features]
    related = (
        Gather(source, (("k", Field("z", INT)),), tuple((f"n{at}", each) for at, each in enumerate(features))),
        Window(source, (), (Order(X),), tuple((f"n{at}", call) for at, call in enumerate(calls))),
        Combine("EXCEPT", source, Filter(source, twos), (("a", "x", "y"), ("b", "y", "z"))),
        Once(source),
    )
    for relation in related:
        totals: list[Total] = []
        found = [row for _, row in reference.rows(relation, {"t": rows}, SALT, {})]
        for name, type in reference.types(relation).items():
            values = [value for value in (row[name] for row in found) if isinstance(value, int) and type == INT]
            for inward in (-1, 1) if values else ():
                low, high = min(values) + inward, max(values) + inward
                for ends in ((low, high), (low, INT_MAX), (INT_MIN, high)):
                    totals.append(Total(Steps(Field(name, INT), Fraction(1), *ends)))
        assert [asked(data, relation, *totals)] == reference.run(Sums(relation, (), (*totals,)), {"t": rows}, SALT)


# ---- shapes


def test_a_constant_beside_a_row_that_meets_none_is_null() -> None:
    right = Project(scan(table="t"), (("one", Const(1, INT)),))
    none = Filter(right, Apply("is_null", (Field("one", INT),), BOOL))
    joined = Join("LEFT", renamed(scan(("x", INT)), ("x", X)), none)
    clamped = Project(joined, (("y", Apply("clamp", (X, Field("one", INT), Const(9, INT)), INT)),))
    assert asked({"u": [1, 2], "x": [5, 6]}, clamped, Tally(), Tally(Apply("is_null", (Field("y", INT),), BOOL))) == [
        2,
        2,
    ]


def test_relations_are_as_deep_as_the_language_lets_them_be() -> None:
    relation: Relation = scan(("x", INT))
    for at in range(12):
        own = (("sum", whole("x")),)
        relation = Mark(relation, f"m{at}", renamed(scan(("x", INT)), (f"y{at}", X)), ((X, Field(f"y{at}", INT)),))
        relation = Window(relation, (), (Order(X),), ((f"w{at}", Over(whole("x"), Frame("GROUPS", None, 0))),))
        relation = Join("INNER", relation, Gather(scan(("x", INT)), ((f"k{at}", X),), ()), ((X, Field(f"k{at}", INT)),))
        relation = KeepRows(relation, 5)
    relation = Gather(relation, (), own)
    assert asked({"u": [1, 1, 2, None], "x": [1, 2, 3, 4]}, relation, Tally(), whole("sum")) == [2, 6]


def test_every_table_that_a_term_reads_is_found() -> None:
    a, b, c = (scan(table=name) for name in "abc")
    public = Public("p", ())
    term = Once(Mark(Join("INNER", Lookup(a, public, (), None, 1), Combine("UNION ALL", b, a, ())), "m", c))
    assert [each.table for each in scans(term)] == ["a", "b", "a", "c"]
    assert scans(Mark(a, "m", public)) == [a]


def test_neighbours_units_are_apart() -> None:
    """A join, a mark or a set operation never lets a row of another unit in."""
    data = {"u": [1, 2, 2], "x": [7, 7, 8]}
    one, other = renamed(scan(("x", INT)), ("a", X)), renamed(scan(("x", INT)), ("b", X))
    pair = ((Field("a", INT), Field("b", INT)),)
    assert asked(data, Join("INNER", one, other, pair)) == [3]
    only = Filter(other, Apply("eq", (Field("b", INT), Const(8, INT)), BOOL))
    assert asked(data, Filter(Mark(one, "m", only), Field("m", BOOL))) == [2]
    assert asked(data, Combine("EXCEPT", one, only, (("c", "a", "b"),))) == [2]


@pytest.mark.parametrize("frame", [Frame("ROWS", -1, 0), Frame("ROWS", 0, 2), Frame("ROWS", None, -1)])
def test_what_ties_in_the_order_has_a_place_in_a_frame_by_its_content(frame: Frame) -> None:
    """However the rows are stored."""
    rows = [{"u": at % 2, "x": at, "y": at % 3} for at in range(60)]
    order = (Order(Field("y", INT)),)
    least = ("least", Over(Extreme(X, False), frame))
    last = ("last", Nth(X, -1, frame))
    window = Window(scan(("x", INT), ("y", INT)), (), order, (least, last))
    sums = Sums(window, (), (whole("least"), whole("last")))
    wanted = reference.run(sums, {"t": rows}, SALT)
    for stored in (rows, rows[::-1]):
        data: dict[str, object] = {c: [row[c] for row in stored] for c in ("u", "x", "y")}
        assert [asked(data, window, whole("least"), whole("last"))] == wanted
