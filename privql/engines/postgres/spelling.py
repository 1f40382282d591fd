"""Every scalar operation's spelling in PostgreSQL, by its name in `privql.functions.scalar`.

The meaning is the Python one there; the conformance kit compares the two over hostile values. A CASE guards what would
raise, but only from rows: what is constant the planner computes beforehand, be its branch taken or not. So operations
of constants alone are computed here, by their meaning, and a guarded one never makes a constant of its arguments that
could raise.
"""

from __future__ import annotations

from privql.engines.postgres import (
    building,
    casts,
    documents,
    moments,
    numbers,
    powers,
    regular,
    texts,
    times,
    whole,
    writing,
)
from privql.engines.postgres.expressions import is_null, literal
from privql.engines.sql import choices
from privql.engines.sql.expressions import Call, Spelled, Spelling, by_type
from privql.functions.scalar import evaluate, function
from privql.functions.scalar.declare import canonical


def _known(op: str, spelling: Spelling) -> Spelling:
    """What constants alone determine is a constant."""

    def spelled(call: Call) -> Spelled | str:
        given = [is_null(arg) for arg in call.args]
        if any(given) and op in _STRICT:
            return literal(None, call.result)
        if all(null or arg.value is not None for null, arg in zip(given, call.args, strict=True)):
            values = tuple(canonical(arg.value, arg.type) for arg in call.args)
            return literal(evaluate(op, tuple(arg.type for arg in call.args), call.result, values), call.result)
        return spelling(call)

    return spelled


_ALL: dict[str, Spelling] = {
    **numbers.SPELLINGS,
    **powers.SPELLINGS,
    **choices.SPELLINGS,
    **whole.SPELLINGS,
    **texts.SPELLINGS,
    **building.SPELLINGS,
    **regular.SPELLINGS,
    **documents.SPELLINGS,
    **times.SPELLINGS,
    **moments.SPELLINGS,
    **writing.SPELLINGS,
    **casts.SPELLINGS,
    "add": by_type(numbers.add, times.add),
    "sub": by_type(numbers.sub, times.sub),
    "pi": lambda call: literal(evaluate("pi", (), call.result, ()), call.result),
}
_STRICT = {op for op in _ALL if op != "if" and function(op).strict}
SPELLINGS: dict[str, Spelling] = {op: _known(op, spelling) for op, spelling in _ALL.items() if op != "if"}
SPELLINGS["if"] = choices.case
