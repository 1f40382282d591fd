"""Random trees of the language, every node of it, such that `parse(unparse(tree)) == tree`.

`Trees(seed).statement()`, `.query()` and `.expression()`; the same seed gives the same trees. A tree is random in form
only: its names mean nothing, so it seldom passes the checker. `size` is how many nodes deep a tree may grow.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

from privql.syntax import ast

T = TypeVar("T")

NAMES = [
    "a", "b", "region", "Cost", "T1", "_x", "größe", "名前", "a b", 'say "so"', "1st", "select", "Order", "by", "key",
    "KEYS", "date", "max", "within", "at", "spend", "over", "row", "values", "dummy", "DUMMY", "unit", "epsilon",
    "recursive", "interval", "exists", "table", "end", "user", "year", "left", "position", "grouping", "replace",
    "rows", "per", "view", "every", "runs", "reason", "shares", "add", "alter", "refine",
]  # fmt: skip
FUNCTIONS = [
    "count", "SUM", "avg", "quantile", "lag", "replace", "left", "max", "date", "dummy", "coalesce", "position", "TRIM",
    "substring", "Overlay", "Grouping", "row", "cube", "exists", "a b", "select", "within", "ltrim", "every",
]  # fmt: skip
NUMBERS = ["0", "1", "42", "1.50", ".5", "3.", "1e3", "2.5E-3", "1e-6", "007"]
STRINGS = ["", "a", "it's", "-- no comment", "/* nor this", '"', "ünï", "a\nb", "%;"]
OPERATORS = [
    "+", "-", "*", "/", "//", "%", "^", "||", "&", "|", "<<", ">>", "~", "~*", "!~", "!~*", "->", "->>", "=", "<>", "<",
    "<=", ">", ">=", "AND", "OR",
]  # fmt: skip
COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
UNITS = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"]
TYPES = [
    "INT",
    "TEXT",
    "DATE",
    "TIMESTAMP",
    "TIME",
    "DOUBLE",
    "DOUBLE PRECISION",
    "CHARACTER VARYING",
    "DECIMAL",
    "Ünit",
]


class Trees:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    # ------------------------------------------------------------ choices

    def one(self, choices: list[T]) -> T:
        return self.random.choice(choices)

    def chance(self, probability: float = 0.3) -> bool:
        return self.random.random() < probability

    def maybe(self, make: Callable[[], T], probability: float = 0.3) -> T | None:
        return make() if self.chance(probability) else None

    def some(self, make: Callable[[], T], least: int = 1, most: int = 3) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.random.randint(least, most)))

    def name(self) -> str:
        return self.one(NAMES)

    def names(self) -> tuple[str, ...]:
        return self.some(self.name)

    # ------------------------------------------------------------ expressions

    def leaf(self) -> ast.Expr:
        makers: list[Callable[[], ast.Expr]] = [
            lambda: ast.Column(self.some(self.name)),
            lambda: ast.Column((self.name(),)),
            self.number,
            lambda: ast.String(self.one(STRINGS)),
            lambda: ast.Boolean(self.chance()),
            lambda: ast.Null(),
            lambda: ast.Typed(self.one(["DATE", "TIME", "TIMESTAMP"]), self.one(STRINGS)),
            lambda: self.interval(),
            self.param,
        ]
        return self.one(makers)()

    def number(self) -> ast.Number:
        return ast.Number(self.one(NUMBERS))

    def param(self) -> ast.Param:
        return ast.Param(self.one(["x", "eps", "1", "select"]))

    def interval(self) -> ast.Interval:
        if self.chance(0.5):
            return ast.Interval(ast.String(self.one(STRINGS)), self.maybe(lambda: self.one(UNITS), 0.6))
        return ast.Interval(self.one([self.number(), self.param()]), self.one([*UNITS, "MILLISECOND", "MICROSECOND"]))

    def expression(self, size: int = 4) -> ast.Expr:
        if size <= 0 or self.chance(0.15):
            return self.leaf()
        sub = lambda: self.expression(size - 1)  # noqa: E731
        makers: list[Callable[[], ast.Expr]] = [
            lambda: ast.Binary(self.one(OPERATORS), sub(), sub()),
            lambda: ast.Binary(self.one(OPERATORS), sub(), sub()),
            lambda: ast.Unary(self.one(["-", "+", "~", "NOT"]), sub()),
            lambda: ast.Is(sub(), self.one(["NULL", "TRUE", "FALSE", "UNKNOWN"]), self.chance()),
            lambda: ast.IsDistinct(sub(), sub(), self.chance()),
            lambda: ast.Like(sub(), sub(), self.maybe(sub), self.one(["LIKE", "ILIKE", "SIMILAR TO"]), self.chance()),
            lambda: ast.Between(sub(), sub(), sub(), self.chance(), self.chance()),
            lambda: ast.InList(sub(), self.some(sub), self.chance()),
            lambda: ast.InQuery(sub(), self.query(size - 2), self.chance()),
            lambda: ast.Quantified(self.one(COMPARISONS), sub(), self.one(["ALL", "ANY"]), self.query(size - 2)),
            lambda: ast.Exists(self.query(size - 2)),
            lambda: ast.Scalar(self.query(size - 2)),
            lambda: ast.Case(self.maybe(sub), self.some(lambda: (sub(), sub())), self.maybe(sub)),
            lambda: ast.Cast(sub(), self.type()),
            lambda: ast.Extract(self.one(["YEAR", "MONTH", "DOW", "SELECT"]), sub()),
            lambda: ast.Row(self.some(sub)),
            lambda: ast.ListOf(self.some(sub, 0)),
            lambda: ast.Index(sub(), sub()),
            lambda: self.call(size - 1),
            lambda: self.call(size - 1),
        ]
        return self.one(makers)()

    def amount(self, size: int = 1) -> ast.Expr:
        makers: list[Callable[[], ast.Expr]] = [
            self.number,
            lambda: ast.Binary("/", self.number(), self.number()),
            self.param,
            lambda: self.expression(size),
        ]
        return self.one(makers)()

    def type(self) -> ast.TypeName:
        widths: list[tuple[int, ...]] = [(), (10,), (10, 2)]
        return ast.TypeName(self.one(TYPES), self.one(widths))

    def call(self, size: int) -> ast.Call:
        name = self.one(FUNCTIONS)
        if self.chance(0.1):
            return ast.Call(name)
        sub = lambda: self.expression(size)  # noqa: E731
        args: list[Callable[[], ast.Expr]] = [sub, sub, ast.Star, lambda: ast.Named(self.name(), sub())]
        given = self.some(lambda: self.one(args)())
        if self.chance(0.4):
            return ast.Call(name, given)
        return ast.Call(
            name,
            given,
            distinct=self.chance(),
            order=self.maybe(lambda: self.order(size)) or (),
            limit=self.maybe(self.amount, 0.1),
            nulls=self.one([None, None, "IGNORE", "RESPECT"]),
            privacy=self.maybe(self.own_privacy),
            within_group=self.maybe(lambda: self.order(size), 0.2) or (),
            filter=self.maybe(sub),
            over=self.maybe(lambda: self.one([self.name(), self.window(size - 1)])),
        )

    def order(self, size: int) -> tuple[ast.OrderItem, ...]:
        return self.some(
            lambda: ast.OrderItem(self.expression(size), self.chance(), self.one([None, True, False])), most=2
        )

    def window(self, size: int) -> ast.Window:
        return ast.Window(
            self.maybe(self.name),
            self.maybe(lambda: self.some(lambda: self.expression(size))) or (),
            self.maybe(lambda: self.order(size)) or (),
            self.maybe(lambda: ast.Frame(self.one(["ROWS", "RANGE", "GROUPS"]), self.edge(), self.maybe(self.edge))),
        )

    def edge(self) -> ast.FrameEdge:
        if self.chance(0.5):
            return ast.FrameEdge(self.one(["UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING"]))
        return ast.FrameEdge(self.one(["PRECEDING", "FOLLOWING"]), self.one([self.amount(), self.interval()]))

    # ------------------------------------------------------------ the privacy clause

    def own_privacy(self) -> ast.Privacy:
        said: dict[str, Any] = self.spending()
        if self.chance() or not said:
            said["share"] = self.amount()
        said["bounds_auto"] = self.chance()
        return ast.Privacy(**said)

    def privacy(self) -> ast.Privacy:
        said = self.spending()
        said["mechanism"] = self.maybe(lambda: self.one(["LAPLACE", "GAUSSIAN", "AUTO", "SELECT"]))
        if self.chance(0.4) or not any(said.values()):
            said |= self.at_most()
        said["schedule"] = self.maybe(lambda: ast.Schedule(self.every(), self.amount()), 0.1)
        return ast.Privacy(**said)

    def at_most(self) -> dict[str, Any]:
        rows, groups = self.one([(True, False), (False, True), (True, True)])
        return {
            "rows": self.amount() if rows else None,
            "groups": self.amount() if groups else None,
            "per_unit": self.maybe(self.name),
        }

    def every(self) -> ast.Every:
        return ast.Every(self.one([1, 30]), self.one(["HOUR", "DAY", "WEEK"]))

    def spending(self) -> dict[str, Any]:
        match self.random.randrange(4):
            case 0:
                return {"epsilon": self.amount(), "delta": self.maybe(self.amount)}
            case 1:
                return {"delta": self.amount()}
            case 2:
                return {
                    "within": self.amount(),
                    "within_percent": self.chance(),
                    "confidence": self.maybe(self.amount, 0.5),
                    "max_epsilon": self.maybe(self.amount),
                    "given": self.maybe(self.amount),
                    "delta": self.maybe(self.amount, 0.1),
                }
            case _:
                return {}

    # ------------------------------------------------------------ queries

    def query(self, size: int = 4) -> ast.Query:
        ctes = self.maybe(lambda: self.some(lambda: self.cte(size - 2), most=2), 0.2 if size > 1 else 0) or ()
        order = self.maybe(lambda: self.order(size - 2)) or ()
        limit = self.maybe(self.limit)
        offset = self.maybe(self.amount, 0.2)
        privacy = self.maybe(self.privacy)
        wrapped = bool(ctes or order or limit or offset or privacy) and self.chance(0.1)
        body = self.query(size - 1) if wrapped else self.body(size)
        return ast.Query(body, ctes, bool(ctes) and self.chance(), order, limit, offset, privacy)

    def cte(self, size: int) -> ast.Cte:
        return ast.Cte(self.name(), self.maybe(self.names) or (), self.query(size))

    def limit(self) -> ast.Limit:
        per_unit = self.chance()
        return ast.Limit(self.maybe(self.amount, 0.9), per_unit, self.maybe(self.name) if per_unit else None)

    def body(self, size: int, loosest: str = "UNION") -> ast.Body:
        """A SELECT, VALUES or, if it binds as tightly as asked for, a set operation."""
        if size > 1 and loosest and self.chance(0.2):
            op = self.one(["INTERSECT"] if loosest == "INTERSECT" else ["UNION", "EXCEPT", "INTERSECT"])
            left = self.arm(size - 1, "INTERSECT" if op == "INTERSECT" else "UNION")
            right = self.arm(size - 1, "" if op == "INTERSECT" else "INTERSECT")
            return ast.SetOperation(op, self.chance(), left, right)
        if self.chance(0.1):
            return ast.Values(self.some(lambda: self.some(lambda: self.expression(size - 2))))
        return self.select(size)

    def arm(self, size: int, loosest: str) -> ast.Body:
        return self.query(size) if self.chance(0.3) else self.body(size, loosest)

    def select(self, size: int) -> ast.Select:
        sub = lambda: self.expression(size - 2)  # noqa: E731
        return ast.Select(
            self.some(lambda: self.item(size)),
            distinct=self.chance(0.2),
            relations=self.maybe(lambda: self.some(lambda: self.relation(size - 1), most=2), 0.8) or (),
            where=self.maybe(sub),
            group=(groups := self.maybe(lambda: self.some(lambda: self.grouping(size - 2))) or ()),
            group_all=not groups and self.chance(0.1),
            having=self.maybe(sub, 0.2),
            windows=self.maybe(lambda: self.some(lambda: (self.name(), self.window(size - 2)), most=2), 0.2) or (),
            qualify=self.maybe(sub, 0.1),
            options=self.maybe(lambda: self.some(lambda: ast.Named(self.name(), sub()), 0, 2), 0.1),
        )

    def item(self, size: int) -> ast.SelectItem:
        if self.chance(0.2):
            replace = self.maybe(lambda: self.some(lambda: (self.expression(size - 2), self.name()), most=2))
            qualifier = self.maybe(lambda: self.some(self.name, most=2)) or ()
            return ast.SelectItem(ast.Star(qualifier, self.maybe(self.names) or (), replace or ()))
        return ast.SelectItem(self.expression(size - 2), self.maybe(self.name, 0.5))

    def relation(self, size: int) -> ast.Relation:
        if size > 0 and self.chance(0.3):
            left, right = self.relation(size - 1), self.relation(size - 1)
            match self.random.randrange(4):
                case 0:
                    return ast.Join("CROSS", left, right)
                case 1:
                    return ast.Join(self.join_kind(), left, right, natural=True)
                case 2:
                    return ast.Join(self.join_kind(), left, right, using=self.names())
                case _:
                    return ast.Join(self.join_kind(), left, right, on=self.expression(size - 1))
        alias = self.maybe(self.name, 0.5)
        columns = (self.maybe(self.names, 0.2) or ()) if alias else ()
        if size > 0 and self.chance(0.2):
            return ast.Derived(self.query(size - 1), alias, columns, lateral=self.chance())
        if self.chance(0.1):
            return ast.TableFunction(
                self.one(FUNCTIONS), self.some(lambda: self.expression(size - 1), 0), alias, columns
            )
        return ast.TableRef(self.names(), alias, columns, dummy=self.chance(0.2))

    def join_kind(self) -> Any:
        return self.one(["INNER", "LEFT", "RIGHT", "FULL"])

    def grouping(self, size: int) -> ast.Grouping:
        some = lambda: self.some(lambda: self.expression(size))  # noqa: E731
        match self.random.randrange(7):
            case 0:
                return ast.Cube(some())
            case 1:
                return ast.Rollup(some())
            case 2:
                return ast.GroupSet(())
            case 3:
                return ast.GroupingSets(self.some(lambda: self.group_set(size)))
            case 4:
                return ast.GroupKey(self.expression(size), self.one([some(), self.query(size - 1)]))
            case _:
                return ast.GroupKey(self.not_a_row(size))

    def group_set(self, size: int) -> ast.Grouping:
        match self.random.randrange(4):
            case 0:
                return ast.GroupSet(self.some(lambda: self.expression(size), 2))
            case 1:
                return ast.Cube(self.some(lambda: self.expression(size)))
            case 2:
                return ast.GroupSet(())
            case _:
                return ast.GroupKey(self.not_a_row(size))

    def not_a_row(self, size: int) -> ast.Expr:
        """`GROUP BY (a, b)` is read as two keys."""
        expression = self.expression(size)
        return self.leaf() if isinstance(expression, ast.Row) else expression

    # ------------------------------------------------------------ statements

    def statement(self, size: int = 4) -> ast.Statement:
        columns = self.maybe(self.names) or ()
        makers: list[Callable[[], ast.Statement]] = [
            lambda: self.query(size),
            lambda: ast.CreateRelease(self.name(), columns, self.query(size)),
            self.refine,
            lambda: ast.CreateView(self.name(), columns, self.query(size)),
            lambda: ast.Explain(
                self.one([None, self.query(size), ast.CreateRelease(self.name(), columns, self.query(size))])
            ),
            lambda: ast.Show(self.one(["TABLES", "BUDGET", "RELEASES", "SELECT"])),
            lambda: ast.Describe(self.names()),
            lambda: ast.SetOption(self.name(), self.expression(1)),
            lambda: ast.Drop(self.one(["VIEW", "RELEASE"]), self.name()),
            lambda: self.one([ast.Begin(self.maybe(self.amount)), ast.Commit(), ast.Rollback()]),
            lambda: ast.CreateUnit(self.name(), self.chance()),
            self.table,
            self.table,
            self.budget,
            self.alter,
            self.grant,
            lambda: ast.Refresh(self.name(), self.one(STRINGS)),
            lambda: ast.PadTime(self.number(), self.one(["SECOND", "MINUTE"])),
        ]
        return self.one(makers)()

    def constant(self) -> ast.Expr:
        makers: list[Callable[[], ast.Expr]] = [
            self.number,
            lambda: ast.Unary(self.one(["-", "+"]), self.number()),
            lambda: ast.String(self.one(STRINGS)),
            lambda: ast.Boolean(self.chance()),
            lambda: ast.Typed("DATE", "2024-01-01"),
        ]
        return self.one(makers)()

    def column(self) -> ast.ColumnDefinition:
        unit = self.maybe(self.name)
        low, high = self.maybe(lambda: (self.constant(), self.constant())) or (None, None)
        references = self.maybe(lambda: ast.References(self.name(), self.maybe(self.name)), 0.2)
        return ast.ColumnDefinition(
            self.name(),
            self.type(),
            unit=unit,
            unit_alias=self.maybe(self.name) if unit else None,
            key=self.chance(),
            low=low,
            high=high,
            values=self.maybe(lambda: self.one([self.some(self.constant), self.query(1)]), 0.2),
            grid=self.maybe(self.constant, 0.1),
            not_null=self.chance(0.2),
            references=references,
            hidden=self.chance(0.1),
            visible=self.chance(0.1),
        )

    def table(self) -> ast.CreateTable:
        row = self.chance()
        unit = ast.TableUnit(
            self.maybe(self.name) if row else self.name(), row, () if row else self.maybe(self.names) or ()
        )
        from_files = self.chance(0.5)
        return ast.CreateTable(
            self.name(),
            self.chance(0.7),
            self.some(self.column),
            self.maybe(lambda: self.some(self.names, most=2), 0.2) or (),
            unit if self.chance() else None,
            self.maybe(lambda: ast.Privacy(**self.at_most())),
            self.some(lambda: self.one(STRINGS), 0) if from_files else (),
            () if from_files else self.maybe(self.names) or (),
            self.maybe(self.name, 0.3),
        )

    def budget(self) -> ast.CreateBudget:
        rest = [self.maybe(self.amount) for _ in range(4)]
        shares = self.maybe(lambda: self.some(lambda: (self.one(["KEYS", "PLAIN", "SELECT"]), self.amount()))) or ()
        return ast.CreateBudget(self.name(), self.name(), self.amount(), *rest, shares, self.maybe(self.every))

    def alter(self) -> ast.AlterBudget:
        epsilon, delta = self.one([(True, False), (False, True), (True, True)])
        amounts = (self.amount() if epsilon else None), (self.amount() if delta else None)
        return ast.AlterBudget(self.name(), *amounts, self.one(STRINGS))

    def refine(self) -> ast.Refine:
        more = [self.maybe(self.amount) for _ in range(2)]
        asked = ast.Privacy(
            within=self.amount(),
            within_percent=self.chance(),
            confidence=self.maybe(self.amount, 0.5),
            max_epsilon=more[0],
            given=more[1],
        )
        return ast.Refine(self.name(), asked, self.maybe(self.name))

    def grant(self) -> ast.Grant:
        epsilon = self.maybe(self.amount)
        return ast.Grant(self.name(), self.names(), epsilon, self.maybe(self.amount) if epsilon else None)
