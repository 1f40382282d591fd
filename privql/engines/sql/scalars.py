"""A row function as one expression of a size linear in the term.

No argument is written twice unless it is a name or a literal: any other is bound first (`Call.let`).

What an expression holds: INT 64 bits, FLOAT a double, and so on, exactly of its type. A FLOAT is finite, or - while
the operations that follow keep NaN and infinities apart from numbers - may be `loose`: not finite stands for NULL. It
is settled before anything that could tell. INT arithmetic is as wide as it may have to be, unless constants and clamps
in the term prove that 64 bits do.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import assert_never

from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Call, Spelled
from privql.kernel.scalars import Apply, Const, Field, Scalar, ValueType


class ScalarEmitter:
    """Spells terms over columns that the caller names.

    `field` gives the expression of a column, which must be a leaf and of the column's type; its name must not begin
    with two underscores, as those of bound arguments do.
    """

    def __init__(self, field: Callable[[Field], Spelled], dialect: Dialect) -> None:
        self._field = field
        self._dialect = dialect
        self._names = count()

    def sql(self, term: Scalar) -> str:
        return self.settled(term).sql

    def settled(self, term: Scalar) -> Spelled:
        """The term's expression, NULL where it would not be finite."""
        return self._settle(self.spelled(term))

    def spelled(self, term: Scalar) -> Spelled:
        """The term's expression, perhaps loose."""
        todo: list[tuple[Scalar, bool]] = [(term, False)]
        done: list[Spelled] = []
        while todo:
            node, ready = todo.pop()
            match node:
                case Field():
                    done.append(self._field(node))
                case Const(value=value, type=type):
                    done.append(self._dialect.literal(value, type))
                case Apply(op=op, args=args, type=type):
                    if not ready:
                        todo.append((node, True))
                        todo.extend((arg, False) for arg in reversed(args))
                        continue
                    given = tuple(done[len(done) - len(args) :])
                    del done[len(done) - len(args) :]
                    done.append(self._apply(op, given, type))
                case _:
                    assert_never(node)
        return done.pop()

    def _apply(self, op: str, args: tuple[Spelled, ...], result: ValueType) -> Spelled:
        if op not in self._dialect.takes_loose:
            args = tuple(map(self._settle, args))
        made = self._dialect.spellings[op](Call(op, args, result, self._names, self._dialect))
        return made if isinstance(made, Spelled) else Spelled(made, result)

    def _settle(self, spelled: Spelled) -> Spelled:
        if not spelled.loose:
            return spelled
        finite = Call("", (), spelled.type, self._names, self._dialect).let(
            (spelled,), lambda x: f"CASE WHEN {self._dialect.finite(x)} THEN {x} END"
        )
        return Spelled(finite, spelled.type)
