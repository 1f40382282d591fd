"""Spellings of comparisons and of the functions that choose, where Spark has them in its own way."""

from __future__ import annotations

from privql.engines.sql import choices
from privql.engines.sql.expressions import Call, Spelling, function


def among(call: Call) -> str:
    """A longer list is looked up in a table of its values, in which the two zeros are not one number."""
    zero = " + 0.0D" if call.args[0].type.kind == "FLOAT" else ""
    return f"({call.args[0]}{zero} IN ({', '.join(arg.sql + zero for arg in call.args[1:])}))"


# Its own is cheaper than to bind both.
SPELLINGS: dict[str, Spelling] = {**choices.SPELLINGS, "in": among, "nullif": function("nullif")}
