"""What is known of the columns of a query over replicates, and the shadow of an expression over them.

A shadow is NULL where the replicate says nothing. Three functions have one that is extended to where they are not
defined, or less: a ratio whose divisor has another sign than the released one says nothing, since the exact divisor
could be that near to 0; the logarithm of nothing is below all numbers; the root of less than nothing is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from privql.check.relations import Rel, Subquery, Where
from privql.finish.resampling import FAR
from privql.kernel.scalars import BOOL, FLOAT, INT, Apply, Const, Field, Scalar, ValueType, fields

_GROWING = frozenset({"add", "sub", "neg", "cast", "round", "floor", "ceil", "trunc", "exp", "degrees", "radians"})
_LOGS = frozenset({"ln", "log10", "log2"})

Lifted = tuple[Rel, str | None]  # and the column that numbers the replicate; None where there is nothing noisy


def shadow(id: str) -> str:
    return f"{id}~"


@dataclass
class Terms:
    """`lift`: the rows of a query in an expression, in each replicate."""

    subqueries: dict[str, Subquery]
    lift: Callable[[Rel], Lifted]
    noisy: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)  # noisy, too, but nothing is known of their noise
    bent: set[str] = field(default_factory=set)  # noisy, and not monotone in their cells
    bounds: set[str] = field(default_factory=set)  # whose shadows say how far they may be off at most, one way or other
    _asked: dict[str, Lifted] = field(default_factory=dict)
    _fresh: int = 0

    def fresh(self, of: str) -> str:
        self._fresh += 1
        return f"{of}~{self._fresh}"

    def reads(self, term: Scalar) -> tuple[bool, bool]:
        """Whether it is noisy, and whether nothing is known of its noise."""
        noisy = lost = False
        for name in fields(term):
            if name in self.subqueries:
                one, other = self._subquery(name)
                noisy, lost = noisy or one, lost or other
            else:
                noisy, lost = noisy or name in self.noisy, lost or name in self.lost
        return noisy, lost

    def _subquery(self, name: str) -> tuple[bool, bool]:
        found = self.subqueries[name]
        if found.kind == "exists":
            return False, False
        if name not in self._asked:
            self._asked[name] = self.lift(found.rel)
        assert found.column is not None
        noisy, lost = found.column in self.noisy, found.column in self.lost
        if found.kind == "scalar":
            return noisy, lost
        operand = self.reads(found.operand) if found.operand is not None else (False, False)
        return False, noisy or lost or any(operand)

    def shadow(self, term: Scalar, number: str) -> Scalar:
        """Its value in the replicate of this number."""
        match term:
            case Field(name=name, type=type) if name in self.subqueries:
                return Field(self._shadow_of_subquery(name, number), type) if any(self.reads(term)) else term
            case Field(name=name, type=type) if name in self.noisy:
                return Field(shadow(name), type)
            case Apply(op=op, args=args, type=type):
                made = Apply(op, tuple(self.shadow(arg, number) for arg in args), type)
                return made if made == term else _extended(term, made)
            case _:
                return term

    def _shadow_of_subquery(self, name: str, number: str) -> str:
        rel, inner = self._asked[name]
        column = self.subqueries[name].column
        assert column is not None
        if inner is not None:
            rel = Where(rel, same(inner, number))
        made = self.fresh(name)
        self.subqueries[made] = Subquery("scalar", rel, shadow(column))
        return made

    def learn(self, id: str, terms: Sequence[Scalar], monotone: bool = True) -> bool:
        """What is known of a column made of these terms; True where it gets a shadow."""
        read = [self.reads(term) for term in terms]
        if any(lost for _, lost in read) or any(map(self._mixes, terms)):
            self.lost.add(id)
        elif any(noisy for noisy, _ in read):
            self.noisy.add(id)
            if not (monotone and all(map(self._monotone, terms))):
                self.bent.add(id)
            if any(self._columns(term) & self.bounds for term in terms):
                self.bounds.add(id)
            return True
        return False

    def follows(self, id: str, others: Collection[str]) -> None:
        """A column whose values are those of one of the others in each row."""
        if not self.lost.isdisjoint(others):
            self.lost.add(id)
            return
        for known in (self.noisy, self.bent, self.bounds):
            if not known.isdisjoint(others):
                known.add(id)

    def _monotone(self, term: Scalar) -> bool:
        """Whether it only grows, or only falls, with each of the noisy numbers in it, or is a ratio of such."""
        match term:
            case Field(name=name) if name in self.subqueries:
                return self.subqueries[name].column not in self.bent
            case Field(name=name):
                return name not in self.bent
            case Apply(op=op, args=args):
                noisy = [arg for arg in args if self.reads(arg)[0]]
                one = len(noisy) <= 1 and (op in _LOGS or op in ("mul", "sqrt", "log", "coalesce", "clamp"))
                return (not noisy or one or op in _GROWING or op == "div") and all(map(self._monotone, noisy))
            case Const():
                return True

    def _mixes(self, term: Scalar) -> bool:
        """Whether it has a number whose shadow is only a bound together with others: they might cancel in it."""
        columns = self._columns(term)
        return bool(columns & self.bounds) and (len(columns) > 1 or not self._monotone(term))

    def _columns(self, term: Scalar) -> set[str]:
        """Its noisy columns, those of the queries in it by their own names."""
        named = fields(term)
        asked = {self.subqueries[name].column for name in named & self.subqueries.keys()}
        return {name for name in {*named, *asked} if name is not None and name in self.noisy}


def _extended(term: Apply, made: Apply) -> Scalar:
    match made.op:
        case "div" if made.args[1] != term.args[1]:
            zero = Const(0.0 if made.args[1].type == FLOAT else 0, made.args[1].type)
            signs = [Apply(op, (side, zero), BOOL) for op in ("gt", "lt") for side in (made.args[1], term.args[1])]
            both = (Apply("and", (signs[0], signs[1]), BOOL), Apply("and", (signs[2], signs[3]), BOOL))
            return only_if(Apply("or", both, BOOL), made)
        case "ln" | "log10" | "log2" | "sqrt" if len(made.args) == 1:
            least = Const(0.0 if made.op == "sqrt" else -FAR, FLOAT)
            zero = Const(0.0, FLOAT)
            beyond = Apply("le", (made.args[0], zero), BOOL)
            return Apply("case", (beyond, least, made), FLOAT)
        case _:
            return made


# ---------------------------------------------------------------- what queries over replicates are written with


def passed(columns: Mapping[str, ValueType]) -> tuple[tuple[str, Scalar], ...]:
    """The same columns again."""
    return tuple((id, Field(id, type)) for id, type in columns.items())


def same(one: str, other: str) -> Scalar:
    return Apply("eq", (Field(one, INT), Field(other, INT)), BOOL)


def only_if(condition: Scalar, value: Scalar) -> Scalar:
    """NULL otherwise."""
    return Apply("case", (condition, value, Const(None, value.type)), value.type)
