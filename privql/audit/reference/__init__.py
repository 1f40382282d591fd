"""What a kernel term computes, said in Python over lists of rows: slow, and short enough to be believed."""

from privql.audit.reference.columns import types, unit_type
from privql.audit.reference.relations import by_unit, contributed, counted, rows, run
from privql.audit.reference.values import Owned, Publics, Row, Tables, in_steps

__all__ = [
    "Owned",
    "Publics",
    "Row",
    "Tables",
    "by_unit",
    "contributed",
    "counted",
    "in_steps",
    "rows",
    "run",
    "types",
    "unit_type",
]
