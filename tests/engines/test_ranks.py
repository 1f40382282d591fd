"""The values near a rank: what the engine finds, in one statement or by histograms, is what the reference counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from privql.audit.reference import Row
from privql.audit.reference.ranks import ranked
from privql.conformance.terms import Terms, hostile_rows
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError, Source
from privql.engines.sql import ranks as room
from privql.kernel.features import Steps
from privql.kernel.ranks import FARTHEST, Rank, Ranked, Ranks
from privql.kernel.scalars import FLOAT, INT, TEXT, Field, decimal
from privql.kernel.sums import Key
from privql.kernel.terms import KeepRows
from tests.assurance import assured, length
from tests.engines.files import write
from tests.engines.small import SALT, engine, scan

room_by_group = room._by_group
SEEDS = range(length(20, 3000))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Row], list[DuckDBEngine]]]:
    """The same rows in two orders, on one thread and on eight."""
    random, folder = Random(11), tmp_path_factory.mktemp("ranks")
    table = hostile_rows(random, 150)
    engines = []
    for threads in (1, 8):
        path = folder / f"{threads}.parquet"
        write(random.sample(table, len(table)), path)
        engines.append(DuckDBEngine({"table": Source((str(path),))}, threads=threads, owner_log=print))
    yield table, engines
    for one in engines:
        one.close()


def random_ranks(random: Random, table: list[Row]) -> Ranks:
    while True:
        term = Terms(random).sums(table)
        found = [one for one in term.contributions if isinstance(getattr(one, "steps", None), Steps)]
        if found and term.groups:
            break
    shares = (Fraction(1, 2), Fraction(0), Fraction(1), Fraction(9, 10), Fraction(1, 3))
    chosen = sorted(random.sample(shares, random.choice((1, 1, 2, 3))))
    wanted = tuple(Rank(share, random.choice((0, 0, 0, 1, -1, 7, -7))) for share in chosen)
    far = random.choice((1, 2, 7, 40, 10**4, FARTHEST))
    steps: Steps = found[0].steps
    return Ranks(term.input, term.keys, steps, found[0].where, wanted, far)


def agree(engine: DuckDBEngine, term: Ranks, wanted: list[Ranked]) -> bool:
    try:
        return engine.ranks(term, SALT) == wanted
    except EngineError as error:
        return error.kind == "unsupported"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_engine_finds_what_the_reference_counts(
    seed: int, hostile: tuple[list[Row], list[DuckDBEngine]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with assured("ranks") as tally:
        tally["tried"] += 3
        table, engines = hostile
        random = Random(seed)
        for _ in range(3):
            term = random_ranks(random, table)
            wanted = ranked(term, {"table": table}, SALT)
            assert all(agree(one, term, wanted) for one in engines), term
            with monkeypatch.context() as coarse:
                for name, few in (("_FEW_STEPS", 2), ("_FEW_ROWS", random.choice((1, 20))), ("_BUCKETS", 16)):
                    coarse.setattr(room, name, few)
                coarse.setattr(room, "_GROUPS", 8)
                assert agree(engines[0], term, wanted), term


X = Field("x", INT)
HALF = Rank(Fraction(1, 2))
WIDE = Steps(X, Fraction(1), 0, 10**9)


def ranks_of(data: dict[str, object], term: Ranks) -> list[Ranked]:
    with engine(data) as e:
        e.preflight([scan((("x", INT),), None)])
        return e.ranks(term, SALT)


def test_many_values_are_found_by_histograms_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand times as many rows as are held; and where these are no help, in one statement after all."""
    random = Random(5)
    values = [random.randrange(10**9) for _ in range(100_000)]
    term = Ranks(scan((("x", INT),), None), (), WIDE, None, (HALF,), 10)
    asked: list[room.Buckets] = []
    histogram = room.emit_histogram

    def emit(*args: object) -> object:
        asked.append(args[-2])
        return histogram(*args)

    from privql.engines.sql import engine as connection

    monkeypatch.setattr(connection, "emit_histogram", emit)
    found = ranks_of({"x": values}, term)
    assert asked[0].shift > 0 and asked[-1].shift == 0 and len(asked) == 2
    monkeypatch.setattr(room, "_FEW_STEPS", 10**18)
    assert ranks_of({"x": values}, term) == found and len(asked) == 2
    n, met = found[0]
    ordered = sorted(values)
    assert n == len(values) and 19 <= len(met) <= 23
    assert [step for step, _, _ in met] == ordered[met[0][1] : met[-1][2]]


@pytest.mark.parametrize("low", [-(2**63), -(2**62) - 1, -(2**61), 0])
def test_steps_as_far_apart_as_numbers_are(low: int) -> None:
    """What a value is above the lowest may be more than any number of 64 bits."""
    values = [-(2**63), -(2**62), -(2**61), -1, 0, 0, 1, 2**61, 2**62, 2**63 - 1]
    for width in (2**62 - 1, 2**62, 2**63 - 1, 2**64 - 1):
        steps = Steps(X, Fraction(1), low, min(low + width, 2**63 - 1))
        term = Ranks(scan((("x", INT),), None), (), steps, None, (HALF,), 10)
        assert ranks_of({"x": values}, term) == ranked(term, {"t": [{"x": value} for value in values]}, SALT)


def test_where_all_losses_are_near_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histograms do not lead to fewer rows: then they are given up."""
    monkeypatch.setattr(room, "_FEW_ROWS", 3)
    values = [at * 1_000_000 for at in range(500)]
    term = Ranks(scan((("x", INT),), None), (), WIDE, None, (HALF,), 10**9)
    ((n, met),) = ranks_of({"x": values}, term)
    assert n == 500 and met == [(value, at, at + 1) for at, value in enumerate(values)]


def test_groups_without_values_and_nulls() -> None:
    data: dict[str, object] = {"x": [1, None, 5, None], "g": ["a", "a", "a", "b"]}
    keys = (Key(Field("g", TEXT), ("b", "a", "c", None)),)
    columns = (("x", INT), ("g", TEXT))
    term = Ranks(scan(columns, None), keys, replace(WIDE, high=9), None, (HALF,), 100)
    with engine(data) as e:
        assert e.ranks(term, SALT) == [(0, []), (2, [(1, 0, 1), (5, 1, 2)]), (0, []), (0, [])]


@pytest.mark.parametrize("grid", [Fraction(1), Fraction(4), Fraction(1, 100), Fraction(1, 25), Fraction(1, 2**30)])
@pytest.mark.parametrize("type", [INT, decimal(18, 2), decimal(30, 2), decimal(9, 2), FLOAT], ids=str)
def test_steps_of_every_type(type: object, grid: Fraction) -> None:
    """Also where they are not whole until they are grouped."""
    if type == FLOAT and (grid.numerator & grid.numerator - 1 or grid.denominator & grid.denominator - 1):
        grid = Fraction(1, 2**7)
    values = [1, 2, 2, 3, 500, 77, -3]
    data: dict[str, object] = {"x": values}
    column = (("x", type),)
    steps = Steps(Field("x", type), grid, 0, int(100 / grid))
    term = Ranks(scan(column, None), (), steps, None, (HALF,), 10**6)
    rows: list[Row] = [{"x": float(v) if type == FLOAT else Fraction(v) if type != INT else v} for v in values]
    with engine(data) as e:
        assert e.ranks(term, SALT) == ranked(term, {"t": rows}, SALT)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_COLUMNS", {**room._COLUMNS, "below": "up_to"}),
        ("_by_group", lambda ranks, found: [(0, met) for _, met in room_by_group(ranks, found)]),
    ],
)
def test_a_planted_fault_is_seen(
    name: str, fault: object, hostile: tuple[list[Row], list[DuckDBEngine]], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, engines = hostile
    monkeypatch.setattr(room, name, fault)
    random = Random(2)
    terms = [random_ranks(random, table) for _ in range(40)]
    assert not all(agree(engines[0], term, ranked(term, {"table": table}, SALT)) for term in terms)


def test_a_units_rows_are_cut_alike_in_every_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same salt: which of them are kept is the same in each histogram."""
    random = Random(8)
    data: dict[str, object] = {
        "x": [random.randrange(10**9) for _ in range(3000)],
        "u": [random.randrange(100) for _ in range(3000)],
    }
    kept = KeepRows(scan((("x", INT),), ("u", INT)), 2)
    term = Ranks(kept, (), WIDE, None, (HALF,), 11)
    monkeypatch.setattr(room, "_FEW_ROWS", 20)
    ((n, met),) = ranks_of(data, term)
    assert n == 200 and len(met) >= 9
    monkeypatch.setattr(room, "_FEW_STEPS", 10**18)
    assert ranks_of(data, term) == [(n, met)]
