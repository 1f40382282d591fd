"""What an owner should know before others ask: whether data, connections and ledger are as they should be.

Each finding says what to do. None tells a row, or how many there are: this may be read aloud.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, Literal

from privql.diagnostics import Diagnostic, PrivQLError, Source
from privql.engines.connections import ConnectionProblem, Connections, shown
from privql.engines.interface import Advising, EngineError, Recognised
from privql.engines.interface import Source as Rows
from privql.engines.opening import Engines, kind_of
from privql.frozen import frozen
from privql.ledger import Ledger, LedgerError, on_server
from privql.pipeline.policies import OwnersLog, bindings, engines, leads, read_policy
from privql.pipeline.verify import Watch, unwatched, verify, without_values
from privql.pipeline.versions import compared
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog, Table
from privql.policy.findings import accepted

SLOW_DISK, SLOW_TABLE = 0.05, 20.0  # seconds: to have 4 KB on disk, and to read a table once
LITTLE_MEMORY, LITTLE_ROOM = 2 << 30, 5 << 30  # bytes
Conforms = Callable[[object], tuple[int, str]]
_TEXTS = {"csv": "CSV", "tsv": "TSV", "json": "JSON", "ndjson": "JSON", "jsonl": "JSON"}


@frozen
class Finding:
    """`wrong`: queries fail, or what they promise is not so. `unwise`: slow, or risky. `well`: looked at, and right."""

    level: Literal["well", "unwise", "wrong"]
    about: str
    what: str
    help: str = ""

    def __str__(self) -> str:
        return f"{self.level:<8}{self.about}: {self.what}" + (f"\n{'':8}{self.help}" if self.help else "")

    def to_json(self) -> dict[str, str]:
        return {"level": self.level, "about": self.about, "what": self.what, "help": self.help}


@frozen
class Diagnosis:
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not any(each.level == "wrong" for each in self.findings)

    def __str__(self) -> str:
        count = {level: sum(each.level == level for each in self.findings) for level in ("wrong", "unwise", "well")}
        told = ", ".join(f"{number} {level}" for level, number in count.items())
        return "\n".join([*map(str, self.findings), told])

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "findings": [each.to_json() for each in self.findings]}


def doctor(
    policy: str | Path,
    ledger: str | Path | None = None,
    connections: Mapping[str, object] | str | os.PathLike[str] | None = None,
    watch: Watch = unwatched,
    conforms: Conforms | None = None,
) -> Diagnosis:
    """The owner's. Without a `ledger` that is not looked at; a policy that cannot be read is a PrivQLError. `conforms`
    tries the engine at an address, and says how many cases there were, and what is wrong."""
    source, base = read_policy(policy)
    catalog, found = build_catalog(source)
    accepted(catalog, found)
    leading, log = leads(connections, base), OwnersLog()
    bound = bindings(catalog, base, None, leading)
    read = engines(catalog, bound, leading, log)
    try:
        findings = [
            *_policy(found),
            *_machine(bound),
            *(each for table in catalog.tables for each in _table(table, source, bound, read, log, watch)),
            *_advice(catalog, bound, read),
            *([] if ledger is None else _ledger(ledger, catalog)),
        ]
    finally:
        read.close()
    return Diagnosis((*_connections(catalog, leading, conforms, watch), *findings))


def _policy(found: list[Diagnostic]) -> Iterator[Finding]:
    for each in found:
        yield Finding("unwise", "the policy", each.message, each.help)


def _connections(catalog: Catalog, leading: Connections, conforms: Conforms | None, watch: Watch) -> Iterator[Finding]:
    names = {table.place: table.connection[0] if table.connection else "" for table in catalog.tables}
    tried: set[object] = set()
    for name in names.values():
        address: object = "duckdb://"  # what reads files and frames
        if name:
            try:
                address = leading.find(name)
            except ConnectionProblem:
                continue  # said of its tables
            yield Finding("well", name, f"leads to {shown(address)}")
        alike = "duckdb" if kind_of(address) == "duckdb" else address  # whichever file it reads, it is the same engine
        if conforms is not None and alike not in tried:
            tried.add(alike)
            with watch(f"trying {name or 'the engine of files'}", None):
                yield _exact(name or "files", address, conforms)


def _exact(name: str, address: object, conforms: Conforms) -> Finding:
    try:
        cases, wrong = conforms(address)
    except (ConnectionProblem, EngineError) as problem:
        return Finding("wrong", name, f"its engine cannot be tried: {problem}", getattr(problem, "help", ""))
    if wrong:
        help = f"nobody may be answered by it: `privql conformance {name if name != 'files' else ''}` says what differs"
        return Finding("wrong", name, f"its engine computes something else than it should: {wrong}", help)
    return Finding("well", name, f"its engine computes what it should, in {cases} cases")


# ---------------------------------------------------------------- tables


def _table(
    table: Table,
    source: Source,
    bound: Mapping[str, Rows],
    read: Engines,
    log: OwnersLog,
    watch: Watch,
) -> Iterator[Finding]:
    if table.name not in bound:
        yield Finding("unwise", table.name, "has no FROM: its rows come from Python, and are looked at there")
        return
    rows, began = bound[table.name], time.monotonic()
    try:
        wrong = verify(Catalog(tables=(table,)), read, source, [table.name], log, watch)
        empty = [] if wrong else without_values(table, read, watch)
    except EngineError as error:
        wrong, empty = [], []
        yield Finding("wrong", table.name, str(error), "what the engine said stands in no message: look at the data")
    for each in wrong:
        what = " ".join(filter(None, [each.message, f"({each.why})" if each.why else ""]))
        yield Finding("wrong" if each.severity == "error" else "unwise", table.name, what, each.help)
    for column in empty:
        help = "declare the type that the data has, or cast it there: read as declared every row is NULL"
        yield Finding("wrong", f"{table.name}.{column.name}", "holds no value of its declared type", help)
    took = time.monotonic() - began
    if not wrong and not empty:
        keys = ", its keys hold" if table.keys else ""
        yield Finding("well", table.name, f"every declared column is there{keys}")
    if took > SLOW_TABLE:
        yield Finding("unwise", table.name, f"reading it takes {took:.0f} s", "queries wait as long: see what follows")
    yield from _files(table, rows)


def _files(table: Table, rows: Rows) -> Iterator[Finding]:
    from privql.engines.duckdb.sources import paths

    files = paths(rows)
    kinds = {file.lower().removesuffix(".gz").rpartition(".")[2] for file in files} if not rows.inside else set()
    for kind in sorted({_TEXTS[kind] for kind in kinds if kind in _TEXTS}):
        help = "write it as Parquet, whose columns are read one by one: `COPY (FROM 'a.csv') TO 'a.parquet'` in DuckDB"
        yield Finding("unwise", table.name, f"is read from {kind}, all of each line for every query", help)
    if os.name == "posix":
        shared = {each for file in files for each in (file, os.path.dirname(file)) if _shared(each)}
        if shared:
            few = ", ".join(f"`{each}`" for each in sorted(shared)[:3])
            help = f"`chmod g-w` on {few}, unless all of the group may change the data"
            yield Finding("unwise", table.name, "may be written by a group of accounts", help)


def _shared(path: str) -> bool:
    """Whether a group may write it that is not the owner's own."""
    found = os.stat(path)
    return bool(found.st_mode & stat.S_IWGRP) and found.st_gid != found.st_uid and not found.st_mode & stat.S_ISVTX


def _advice(catalog: Catalog, bound: Mapping[str, Rows], read: Engines) -> Iterator[Finding]:
    """What the database of a connection wants. One that cannot be reached was said before."""
    places: dict[str, dict[str, Recognised]] = {}
    for table in catalog.tables:
        if table.connection and table.name in bound:
            owners = [column for name in (table.unit_column, *table.via) if name and (column := table.column(name))]
            known = Recognised(tuple((column.name, column.type) for column in owners), table.keys)
            places.setdefault(table.place, {})[table.name] = known
    for tables in places.values():
        with suppress(EngineError):
            engine = read.of_table(next(iter(tables)))
            if isinstance(engine, Advising):
                yield from (Finding("unwise", one.table, one.what, one.help) for one in engine.advice(tables))


# ---------------------------------------------------------------- the machine and the ledger


def _machine(bound: Mapping[str, Rows]) -> Iterator[Finding]:
    memory = _memory()
    if memory is not None and memory < LITTLE_MEMORY:
        help = "queries whose units are many write to disk what does not fit: give it 2 GB or more"
        yield Finding("unwise", "the machine", f"has {memory / (1 << 30):.1f} GB of memory", help)
    room = shutil.disk_usage(tempfile.gettempdir()).free
    wanted = max(LITTLE_ROOM, 2 * sum(size for rows in bound.values() for size in _sizes(rows)))
    if room < wanted:
        help = f"what does not fit into memory goes there: make room for {wanted / (1 << 30):.0f} GB, or set TMPDIR"
        told = f"has {room / (1 << 30):.1f} GB left in `{tempfile.gettempdir()}`"
        yield Finding("unwise", "the machine", told, help)


def _sizes(rows: Rows) -> list[int]:
    from privql.engines.duckdb.sources import paths

    return [os.path.getsize(file) for file in paths(rows)]


def _memory() -> int | None:
    """What the machine has, or the group of processes that this one is in may take."""
    found: list[int] = []
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            found.append(int(Path(limit).read_text()))
    return min(found, default=None)


def _ledger(ledger: str | Path, catalog: Catalog) -> Iterator[Finding]:
    try:
        with Ledger.open(ledger) as opened:
            diff = compared(opened, catalog)
    except (LedgerError, PrivQLError) as problem:
        yield Finding("wrong", "the ledger", str(problem).splitlines()[0], "`privql ledger verify` looks further")
        return
    version = diff.version
    if diff.changes:
        told = f"its version {version} of the policy is another than this one"
        help = "queries follow the ledger's: `privql policy diff` says what differs"
        yield Finding("unwise", "the ledger", told, help)
    else:
        yield Finding("well", "the ledger", f"has this policy in force, as version {version}")
    if on_server(ledger):
        return
    path = Path(ledger).resolve()
    parts = (path, *path.parent.glob(f"{path.name}-*"))
    if os.name == "posix" and any(os.stat(each).st_mode & stat.S_IWOTH for each in parts):
        help = f"`chmod o-w {path}`: who writes in it spends for others, or gives budgets back"
        yield Finding("wrong", "the ledger", "can be written by every account of the machine", help)
    took = _to_disk(path.parent)
    if took is not None and took > SLOW_DISK:
        help = "each charge waits for the disk several times: put it on a disk of this machine, best an SSD"
        yield Finding("unwise", "the ledger", f"lies on a disk that takes {1000 * took:.0f} ms to keep a word", help)


def _to_disk(folder: Path) -> float | None:
    """Seconds until a page is on the disk, as a charge must be; None where nothing may be written."""
    took = []
    try:
        with tempfile.TemporaryFile(dir=folder) as page:
            for _ in range(5):
                began = time.monotonic()
                page.write(bytes(4096))
                page.flush()
                os.fsync(page.fileno())
                took.append(time.monotonic() - began)
    except OSError:
        return None
    return median(took)
