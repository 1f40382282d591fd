"""How far apart two neighbouring databases may leave a relation: one rule a term, each beside the sentence it proves.

In the manner of an LCF prover, a `Stable` can only be made by the rule functions here: who holds one holds its proof.
`rows` bounds how many rows one unit may own (None: no bound). All relations of this file are *unit-wise*: every row
carries the unit it belongs to, and neighbours differ only in the rows of one unit (two under CHANGE ONE: one bag of
rows leaves, another comes, in one unit's place).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from privql.kernel.scalars import Scalar, fields
from privql.kernel.terms import Filter, KeepRows, Project, Relation, Scan, Unit

_RULE = object()


class Unproved(Exception):
    """A term for which there is no rule. Never the fault of the data: it says that a plan is wrong."""


@dataclass(frozen=True, slots=True)
class Stable:
    term: Relation
    unit: Unit
    rows: int | None
    columns: frozenset[str]
    _by: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._by is not _RULE:
            raise Unproved("a stable relation is made by a rule, not by hand")


def scan(term: Scan) -> Stable:
    """Rows without a unit are dropped, so every row has one; adding or removing a unit changes only its own rows.

    At most one row a unit when each row is its own unit, or when the unit is a key: the databases that the owner may
    bind are those that pass that check, so neighbours are drawn from them alone.
    """
    one = term.unit_column is None or term.key
    return Stable(term, term.unit, 1 if one else None, frozenset(name for name, _ in term.columns), _RULE)


def keep_where(input: Stable, condition: Scalar) -> Stable:
    """A filter decides about a row from that row alone, so a unit's rows after it depend on its rows before it."""
    reads(condition, input)
    return Stable(Filter(input.term, condition), input.unit, input.rows, input.columns, _RULE)


def compute(input: Stable, columns: tuple[tuple[str, Scalar], ...]) -> Stable:
    """Each row becomes one row, from itself alone, and keeps its unit."""
    for _, value in columns:
        reads(value, input)
    names = frozenset(name for name, _ in columns)
    if len(names) != len(columns):
        raise Unproved("two columns of one name")
    return Stable(Project(input.term, columns), input.unit, input.rows, names, _RULE)


def keep_rows(input: Stable, limit: int) -> Stable:
    """Which of a unit's rows stay is a function of that unit's rows (and a secret, fixed salt); at most `limit` do."""
    if limit < 1:
        raise Unproved("a unit keeps at least one row")
    rows = limit if input.rows is None else min(limit, input.rows)
    return Stable(KeepRows(input.term, limit), input.unit, rows, input.columns, _RULE)


def reads(value: Scalar, input: Stable) -> None:
    """A row function may read the columns of its row and nothing else."""
    if not fields(value) <= input.columns:
        raise Unproved("a row function reads a column that its relation does not have")
