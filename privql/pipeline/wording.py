"""Row functions and relations as SQL's words again, for people: by the names of columns, short rather than whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from privql.check.keys import AROUND
from privql.check.relations import (
    Attribute,
    CheckedQuery,
    FrameBound,
    Measured,
    PrivateScan,
    PublicScan,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Subquery,
    WindowCall,
)
from privql.domains import NUMERIC, number_text, value_text
from privql.frozen import inside
from privql.functions.scalar import function
from privql.kernel.scalars import Apply, Const, Field, Scalar, fields

_DEEP = 12  # of nested operations, those that are shown
_LISTED = 6
_INFIX = {  # how tightly each binds, and how it is written
    "or": (1, "OR"),
    "and": (2, "AND"),
    **{op: (4, sign) for op, sign in (("eq", "="), ("ne", "<>"), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))},
    "is_distinct": (4, "IS DISTINCT FROM"),
    "like": (4, "LIKE"),
    "ilike": (4, "ILIKE"),
    "concat": (5, "||"),
    "add": (6, "+"),
    "sub": (6, "-"),
    "mul": (7, "*"),
    "div": (7, "/"),
    "int_div": (7, "/"),
    "mod": (7, "%"),
}
_TESTS = {"is_null": "NULL", "is_true": "TRUE", "is_false": "FALSE"}


class Words:
    def __init__(self, query: CheckedQuery, attributes: Mapping[str, Attribute]) -> None:
        self.attributes = attributes
        self._subqueries = dict(query.subqueries)
        self._shared: set[str] = set()  # names of several columns of the expression that is being said

    def named(self, id: str) -> str:
        known = self.attributes.get(id)
        return known.name if known is not None else ""

    def name(self, id: str) -> str:
        """A column without one is the number of the row around a correlated query."""
        return self.named(id) or AROUND

    def term(self, term: Scalar, around: int = 0, depth: int = 0) -> str:
        """`around`: how tightly binds what this stands in."""
        if not depth:
            names = Counter(map(self.named, fields(term)))
            self._shared = {name for name, times in names.items() if times > 1}
        match term:
            case Field(name=name):
                asked = self._subqueries.get(name)
                return self._column(name) if asked is None else self._asked(asked, depth)
            case Const(value=(int(months), int(days), int(microseconds))):
                return f"INTERVAL '{_lasting(months, days, microseconds)}'"
            case Const(value=value, type=type):
                moment = type.kind in ("DATE", "TIMESTAMP") and value is not None
                return f"{type.kind} '{value_text(value, type)}'" if moment else value_text(value, type)
            case Apply() if depth > _DEEP:
                return "…"
            case Apply(op=op) if op in _INFIX:
                binds, sign = _INFIX[op]
                parts = [self.term(arg, binds + (at > 0), depth + 1) for at, arg in enumerate(term.args)]
                said = f" {sign} ".join(parts)
                return f"({said})" if binds < around else said
            case _:
                return self._called(term, around, depth + 1)

    def _column(self, id: str) -> str:
        """With its table's alias, where another column has its name."""
        name = self.name(id)
        return f"{self.attributes[id].alias}.{name}" if name in self._shared and self.attributes[id].alias else name

    def _called(self, term: Apply, around: int, depth: int) -> str:
        def words(arg: Scalar, around: int = 0) -> str:
            return self.term(arg, around, depth)

        match term:
            case Apply(op="not", args=(Apply(op=op, args=(arg,)),)) if op in _TESTS:
                return f"{words(arg, 5)} IS NOT {_TESTS[op]}"
            case Apply(op=op, args=(arg,)) if op in _TESTS:
                return f"{words(arg, 5)} IS {_TESTS[op]}"
            case Apply(op="not", args=(arg,)):
                said = f"NOT {words(arg, 3)}"
                return f"({said})" if around > 3 else said
            case Apply(op="neg", args=(arg,)):
                return f"-{words(arg, 8)}"
            case Apply(op="in", args=(arg, *members)):
                shown = [words(member) for member in members[:_LISTED]]
                more = ["…"] if len(members) > _LISTED else []
                return f"{words(arg, 5)} IN ({', '.join([*shown, *more])})"
            case Apply(op="cast", args=(arg,), type=type):
                implied = {type.kind, arg.type.kind} <= NUMERIC or (arg.type.kind, type.kind) == ("DATE", "TIMESTAMP")
                return self.term(arg, around, depth) if implied else f"CAST({words(arg)} AS {type})"
            case Apply(op="extract", args=(Const(value=str(field)), arg)):
                return f"EXTRACT({field.upper()} FROM {words(arg)})"
            case Apply(op="case", args=args):
                pairs = zip(args[:-1:2], args[1::2], strict=False)
                said = "".join(f" WHEN {words(when)} THEN {words(then)}" for when, then in pairs)
                last = f" ELSE {words(args[-1])}" if len(args) % 2 else ""
                return f"CASE{said}{last} END"
            case _:
                named = function(term.op).sql_names
                return f"{named[0] if named else term.op.upper()}({', '.join(words(arg) for arg in term.args)})"

    def _asked(self, asked: Subquery, depth: int) -> str:
        rows = f"(SELECT … FROM {self.sources(asked.rel)})"
        if asked.kind == "scalar" or asked.operand is None:
            return f"EXISTS {rows}" if asked.kind == "exists" else rows
        operand = self.term(asked.operand, 5, depth + 1)
        return f"{operand} IN {rows}" if asked.kind == "in" else f"{operand} {asked.op} {asked.kind.upper()} {rows}"

    def sources(self, rel: Rel) -> str:
        """What a relation reads, in a few words."""
        found: dict[str, None] = {}
        todo: list[object] = [rel]
        while todo:
            match todo.pop():
                case PrivateScan(table=name) | PublicScan(table=name) | ReleasedScan(release=name) | Shared(name=name):
                    found[name] = None
                case Measured(block=block):
                    found[f"measurement {block + 1}"] = None
                case Rows(columns=columns, rows=rows) if columns:
                    found["1 listed row" if len(rows) == 1 else f"{len(rows)} listed rows"] = None
                case node:
                    todo.extend(reversed(list(inside(node))))
        return ", ".join(found) or "a row"

    def window(self, call: WindowCall) -> str:
        args = ", ".join(map(self.term, call.call.args))
        over = []
        if call.partition:
            over.append(f"PARTITION BY {', '.join(map(self.term, call.partition))}")
        if call.order:
            over.append(f"ORDER BY {self.order(call)}")
        if call.frame_unit is not None:
            ends = (self._edge(edge) for edge in (call.frame_start, call.frame_end) if edge is not None)
            over.append(f"{call.frame_unit} {' TO '.join(ends)}")
        return f"{call.call.function.upper()}({args}) OVER ({' '.join(over)})"

    def order(self, call: WindowCall) -> str:
        return ", ".join(self.term(key.value) + (" DESC" if key.descending else "") for key in call.order)

    def _edge(self, edge: FrameBound) -> str:
        return edge.kind if edge.size is None else f"{self.term(edge.size)} {edge.kind}"


def _lasting(months: int, days: int, microseconds: int) -> str:
    """As INTERVAL is written, in one text."""
    seconds = Fraction(microseconds, 10**6)
    sizes = [(Fraction(months), "month"), (Fraction(days), "day"), (seconds, "second")]
    said = [f"{number_text(size)} {unit}{'' if size == 1 else 's'}" for size, unit in sizes if size]
    return " ".join(said) or "0 days"
