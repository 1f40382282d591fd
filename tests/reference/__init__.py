"""What a kernel term computes, said in Python over lists of rows: slow, and short enough to be believed."""

from tests.reference.columns import types, unit_type
from tests.reference.relations import by_unit, contributed, counted, rows, run
from tests.reference.values import Owned, Publics, Row, Tables, in_steps

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
