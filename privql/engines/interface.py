"""What every engine offers, and what it may say when it fails.

An engine reads sources and computes exact integers of them: sums, groups and ranks. It draws no noise and never sees a
budget. What goes wrong inside it depends on rows, so all of that is one constant error; only facts that the policy
states anyway - a file that is not there, a column that it lacks - are told apart, before anything is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from privql.frozen import frozen
from privql.kernel.ranks import Ranked, Ranks
from privql.kernel.scalars import Value, ValueType
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Combine, Join, Mark, Public, Relation, Scan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Cells = npt.NDArray[Any]  # two dimensions, int64 or, where a cell needs more, object (int)
else:
    Cells = Any  # whoever only checks queries does without numpy

ErrorKind = Literal[
    "missing source",
    "missing column",
    "unreadable source",
    "exposed source",
    "unreachable",
    "unlike its policy",
    "frame unlike its policy",
    "unsupported",
    "unheld",
    "endless",
    "failed",
]


Term = Sums | Keys | Ranks
Columns = tuple[tuple[str, ValueType], ...]
Tables = Mapping[str, tuple[str, ...]]  # by their names in the policy: schema and table, or what a connection has else
Stored = Mapping[str, tuple[Columns, list[dict[str, Value]]]]  # tables of given rows, by name
Group = tuple[tuple[Value, ...], int]
OwnerLog = Callable[[BaseException], None]  # who is handed what an engine truly said


@frozen
class Source:
    """Where a table's rows are: files (paths or globs; Parquet, CSV, TSV or JSON by their suffix), a frame, or `inside`
    a database: a DuckDB one if there is its file, else one that a connection leads to."""

    files: tuple[str, ...] = ()
    frame: object = None  # pandas, Polars or Arrow
    inside: tuple[str, ...] = ()  # schema and table


class EngineError(Exception):
    """A failure in words that no row can change: its kind, and the table and column as the policy names them."""

    def __init__(self, kind: ErrorKind, table: str | None = None, column: str | None = None) -> None:
        self.kind = kind
        self.table = table
        self.column = column
        super().__init__(_MESSAGES[kind].format(table=table, column=column))


_MESSAGES: Mapping[ErrorKind, str] = {
    "missing source": "the data of table `{table}` is not there",
    "missing column": "the data of table `{table}` has no column `{column}`",
    "unreadable source": "the data of table `{table}` cannot be read",
    "exposed source": "the data of table `{table}` can be written by every account",
    "unreachable": "the database with the data of table `{table}` cannot be reached",
    "unlike its policy": "the data of table `{table}` is not what the policy declares",
    "frame unlike its policy": "the frame that is given for table `{table}` is not what the policy declares",
    "unsupported": "the engine has no exact way to compute this query",
    "unheld": "a public text that the query reads has the character of number 0, which the engine cannot hold",
    "endless": "a recursion has more than 100000 rows",
    "failed": "the engine could not complete the query",
}


class PublicRows(Protocol):
    """Rows that anybody may know, in the columns that a `Public` names."""

    @property
    def columns(self) -> Columns: ...

    @property
    def rows(self) -> tuple[tuple[Value, ...], ...]: ...


Publics = Mapping[str, PublicRows]
NO_PUBLICS: Publics = {}


def scans(relation: Relation) -> list[Scan]:
    """Every private table that a term reads, with the columns that it reads there."""
    found: list[Scan] = []
    todo: list[Relation | Public] = [relation]
    while todo:
        match todo.pop():
            case Scan() as scan:
                found.append(scan)
            case Public():
                pass
            case Join(left=left, right=right) | Combine(left=left, right=right):
                todo += (right, left)
            case Mark(input=input, among=among):
                todo += (among, input)
            case each:
                todo.append(each.input)
    return found


class Computing(Protocol):
    """What is drawn upon: exact integers, whoever adds them up."""

    def run(self, sums: Sums, salt: bytes, publics: Publics = NO_PUBLICS) -> Cells:
        """The exact cells, one row a group in the order of `itertools.product` of the keys' members."""

    def ranks(self, ranks: Ranks, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Ranked]:
        """The values of each group near the wanted rank, in order, one group after the other as in `run`."""

    def groups(self, keys: Keys, salt: bytes, publics: Publics = NO_PUBLICS) -> list[Group]:
        """The groups there are, in the order of their values, NULL last; and how many rows each has."""


class Querying(Computing, Protocol):
    """What a query needs before it is charged, too."""

    def preflight(self, scans: Iterable[Scan]) -> None:
        """Raise an `EngineError` if a source or a column that a scan needs is not there."""

    def rehearse(self, term: Term) -> None:
        """Raise an `EngineError` if it cannot be run, as far as that shows before anything is charged: whatever the
        rows are, for none is read."""


class Engine(Querying, Protocol):
    def readable(self, table: str, columns: Columns) -> bool:
        """For the owner: whether every stored value of these columns can be read, if only as NULL."""

    def unique(self, table: str, columns: Columns) -> bool:
        """For the owner: whether no two rows agree in these columns, rows with a NULL among them left aside."""

    def complete(self, table: str, columns: Columns) -> bool:
        """For the owner: whether every row has a value in each of these columns."""

    def close(self) -> None: ...


@runtime_checkable
class Steady(Protocol):
    """An engine that can read its tables in one state for longer than a statement takes."""

    def steady(self) -> None:
        """From now on, all that is read is one state of the tables, or fails. Nothing is asked of a server yet."""

    def let_go(self) -> None:
        """From now on, each statement sees the tables as they are when it begins."""


@runtime_checkable
class Progressing(Protocol):
    """An engine that knows how far it is."""

    def progress(self) -> float | None:
        """For the owner alone, from another thread: which part of the running statement is done, from 0 to 1."""


@frozen
class Advice:
    """What makes queries of a table slow or unwise, and what to do."""

    table: str
    what: str
    help: str


@frozen
class Recognised:
    """By which of a table's columns its rows are known: whose they are, and as which one."""

    owners: Columns  # the unit's, and those that refer to another table
    keys: tuple[tuple[str, ...], ...]  # no two rows of which agree, as is verified


@runtime_checkable
class Advising(Protocol):
    """An engine that can say what its database wants for queries to be fast, and for units to be who they should."""

    def advice(self, tables: Mapping[str, Recognised]) -> list[Advice]:
        """For the owner, and from the catalog: no row is read."""


@runtime_checkable
class Picky(Protocol):
    """An engine to which not every public text can be handed over."""

    def takes(self, text: str) -> bool: ...


def smallest(cells: npt.NDArray[np.object_]) -> Cells:
    """The same integers as int64 if all of them fit."""
    import numpy as np

    try:
        return cells.astype(np.int64)
    except OverflowError:
        return cells
