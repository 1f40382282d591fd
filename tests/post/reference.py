"""What relational algebra means, spelled out in plain Python: slow, small, and independent of any engine."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from privql.check.relations import (
    AggregateCall,
    CheckedQuery,
    Combined,
    Compute,
    Distinct,
    FrameBound,
    Grouped,
    Joined,
    Measured,
    PublicScan,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Sorted,
    SortKey,
    Subquery,
    Where,
    WindowCall,
    Windowed,
)
from privql.finish.table import Table
from privql.functions.scalar import evaluate_term
from privql.kernel.scalars import Scalar

Row = dict[str, Any]
CLOSE = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp", "covar_pop", "covar_samp", "corr", "regr_slope",
                   "regr_intercept"})  # fmt: skip


class Reference:
    def __init__(self, query: CheckedQuery, blocks: Sequence[Table], tables: Mapping[str, Table]) -> None:
        self.query = query
        self.blocks = blocks
        self.tables = tables
        self.shared = dict(query.shared)
        self.subqueries = dict(query.subqueries)

    def answer(self, ids: Sequence[str]) -> list[tuple[Any, ...]]:
        return [tuple(row[id] for id in ids) for row in self.rows(self.query.rel, {})]

    # ---- values

    def value(self, term: Scalar, row: Row) -> Any:
        return evaluate_term(term, _Sight(self, row))

    def subquery(self, subquery: Subquery, around: Row) -> Any:
        rows = self.rows(subquery.rel, around)
        if subquery.kind == "exists":
            return bool(rows)
        values = [row[subquery.column or ""] for row in rows]
        if subquery.kind == "scalar":
            return values[0] if len(values) == 1 else None
        assert subquery.operand is not None
        operand = self.value(subquery.operand, around)
        op = "=" if subquery.kind == "in" else subquery.op
        tests = [_compared(op, operand, value) for value in values]
        if subquery.kind == "all":
            return False if False in tests else None if None in tests else True
        return True if True in tests else None if None in tests else False

    # ---- relations

    def rows(self, rel: Rel, around: Row) -> list[Row]:
        match rel:
            case PublicScan(table=name, columns=columns) | ReleasedScan(release=name, columns=columns):
                table = self.tables[name]
                return [{id: row[table.position(there)] for id, there, _ in columns} for row in table.rows]
            case Measured(block=block, columns=named):
                width = len(self.blocks[block].columns)
                return [
                    {id: row[at] if at < width else number for at, (id, _) in enumerate(named)}
                    for number, row in enumerate(self.blocks[block].rows)
                ]
            case Rows(columns=named, rows=rows):
                return [
                    {id: self.value(term, around) for (id, _), term in zip(named, row, strict=True)} for row in rows
                ]
            case Shared(name=name, columns=columns):
                return [
                    {here: row[there] for here, there, _ in columns} for row in self.rows(self.shared[name], around)
                ]
            case Where(input=below, condition=condition):
                return [row for row in self.rows(below, around) if self.value(condition, around | row) is True]
            case Compute(input=below, columns=computed):
                return [
                    {id: self.value(term, around | row) for id, term in computed} for row in self.rows(below, around)
                ]
            case Joined():
                return self.joined(rel, around)
            case Grouped():
                return self.grouped(rel, around)
            case Windowed():
                return self.windowed(rel, around)
            case Distinct(input=below):
                return _by_value(self.rows(below, around))
            case Combined():
                return self.combined(rel, around)
            case Sorted(input=below, keys=keys, limit=limit, offset=offset):
                rows = self.rows(below, around)
                rows = self.sorted(rows, keys, around)[offset:]
                return rows if limit is None else rows[:limit]
            case _:
                raise AssertionError(rel)

    def joined(self, rel: Joined, around: Row) -> list[Row]:
        left = self.rows(rel.left, around)
        right = [] if rel.lateral else self.rows(rel.right, around)
        matched: set[int] = set()
        out: list[Row] = []
        nothing = dict.fromkeys(_ids(rel.right, self.shared))
        for row in left:
            others = self.rows(rel.right, around | row) if rel.lateral else right
            found = [
                number for number, other in enumerate(others)
                if rel.on is None or self.value(rel.on, around | row | other) is True
            ]  # fmt: skip
            matched.update(found)
            out += [row | others[number] for number in found]
            if not found and rel.kind in ("LEFT", "FULL"):
                out.append(row | nothing)
        if rel.kind in ("RIGHT", "FULL"):
            absent = dict.fromkeys(_ids(rel.left, self.shared))
            out += [absent | other for number, other in enumerate(right) if number not in matched]
        return out

    def combined(self, rel: Combined, around: Row) -> list[Row]:
        ids = [id for id, _ in rel.columns]
        sides = []
        for below, columns in ((rel.left, rel.left_columns), (rel.right, rel.right_columns)):
            sides.append([tuple(row[id] for id in columns) for row in self.rows(below, around)])
        left, right = sides
        if rel.op == "UNION":
            kept = left + right
        elif rel.op == "EXCEPT":
            rest = list(right)
            kept = []
            for row in left:
                if row in rest:
                    if rel.all:
                        rest.remove(row)
                else:
                    kept.append(row)
        else:
            rest = list(right)
            kept = []
            for row in left:
                if row in rest:
                    kept.append(row)
                    rest.remove(row)
        rows = [dict(zip(ids, row, strict=True)) for row in kept]
        if rel.all:
            return rows if rel.op == "UNION" else sorted(rows, key=_value_key)
        return _by_value(rows)

    def sorted(self, rows: list[Row], keys: Sequence[SortKey], around: Row) -> list[Row]:
        for key in reversed(keys):
            rows = sorted(rows, key=cmp_to_key(self._order((key,), around)))
        return rows

    def _order(self, keys: Sequence[SortKey], around: Row) -> Callable[[Row, Row], int]:
        def compare(a: Row, b: Row) -> int:
            for key in keys:
                x, y = self.value(key.value, around | a), self.value(key.value, around | b)
                if x is None or y is None:
                    sign = (x is None) - (y is None)
                    sign = -sign if key.nulls_first else sign
                else:
                    sign = (x > y) - (x < y)
                    sign = -sign if key.descending else sign
                if sign:
                    return sign
            return 0

        return compare

    # ---- groups

    def grouped(self, rel: Grouped, around: Row) -> list[Row]:
        below = self.rows(rel.input, around)
        out = []
        for chosen in rel.sets:
            groups: dict[tuple[Any, ...], list[Row]] = {} if chosen else {(): []}
            for row in below:
                key = tuple(self.value(rel.keys[at][1], around | row) for at in chosen)
                groups.setdefault(key, []).append(row)
            for key, rows in groups.items():
                known = dict(zip(chosen, key, strict=True))
                made = {id: known.get(at) for at, (id, _) in enumerate(rel.keys)}
                made |= {id: self.aggregate(call, rows, around) for id, call in rel.aggregates}
                for id, indices in rel.grouping:
                    made[id] = int("".join("0" if at in known else "1" for at in indices), 2)
                mask = tuple(at not in known for at in range(len(rel.keys)))
                order = tuple((value is None, value) for value in (made[id] for id, _ in rel.keys))
                out.append((order, mask, made))
        return [made for _, _, made in sorted(out, key=lambda group: group[:2])]

    def aggregate(self, call: AggregateCall, rows: Sequence[Row], around: Row) -> Any:
        rows = [row for row in rows if call.where is None or self.value(call.where, around | row) is True]
        if call.order:
            rows = self.sorted(list(rows), call.order, around)
        if not call.args:
            return len(rows)
        values = [tuple(self.value(arg, around | row) for arg in call.args) for row in rows]
        values = [given for given in values if None not in given]
        if call.distinct:
            values = list(dict.fromkeys(values))
            if not call.order:
                values.sort()
        return aggregated(call, values)

    # ---- windows

    def windowed(self, rel: Windowed, around: Row) -> list[Row]:
        below = self.rows(rel.input, around)
        out = [dict(row) for row in below]
        for id, call in rel.calls:
            parts: dict[tuple[Any, ...], list[int]] = {}
            for number, row in enumerate(below):
                key = tuple(self.value(term, around | row) for term in call.partition)
                parts.setdefault(key, []).append(number)
            for numbers in parts.values():
                rows = [below[number] | {"number": number} for number in numbers]
                rows = self.sorted(rows, call.order, around)
                for at, row in enumerate(rows):
                    out[row["number"]][id] = self.window(call, rows, at, around)
        return out

    def window(self, window: WindowCall, rows: list[Row], at: int, around: Row) -> Any:
        call = window.call
        peers = self._peers(window, rows, around)
        first = next(group for group in peers if at in group)
        args = [self.value(arg, around | rows[at]) for arg in call.args]
        match call.function:
            case "row_number":
                return at + 1
            case "rank":
                return first[0] + 1
            case "dense_rank":
                return peers.index(first) + 1
            case "percent_rank":
                return first[0] / (len(rows) - 1) if len(rows) > 1 else 0.0
            case "cume_dist":
                return (first[-1] + 1) / len(rows)
            case "ntile":
                if args[0] is None or args[0] <= 0:
                    return None
                size, more = divmod(len(rows), args[0])
                tiles = [[tile + 1] * (size + (tile < more)) for tile in range(min(args[0], len(rows)))]
                return list(itertools.chain(*tiles))[at]
            case "lag" | "lead":
                return self._neighbour(window, rows, at, args, around)
        start, end = self._frame(window, rows, at, peers, around)
        framed = rows[max(start, 0) : max(end, 0)]
        if call.function in ("first_value", "last_value", "nth_value"):
            values = [self.value(call.args[0], around | row) for row in framed]
            values = [v for v in values if v is not None] if window.ignore_nulls else values
            place = {"first_value": 0, "last_value": len(values) - 1}.get(call.function)
            if place is None:
                place = args[1] - 1 if args[1] is not None else -1
            return values[place] if 0 <= place < len(values) else None
        return self.aggregate(call, framed, around)

    def _neighbour(self, window: WindowCall, rows: list[Row], at: int, args: list[Any], around: Row) -> Any:
        away = args[1] if len(args) > 1 else 1
        if away is None:
            return None
        away = -away if window.call.function == "lag" else away
        values = [self.value(window.call.args[0], around | row) for row in rows]
        if not window.ignore_nulls:
            place = at + away
        elif away == 0:
            place = at
        else:
            step = 1 if away > 0 else -1
            there = [n for n in range(at + step, len(rows) if step > 0 else -1, step) if values[n] is not None]
            place = there[abs(away) - 1] if abs(away) <= len(there) else -1
        return values[place] if 0 <= place < len(rows) else (args[2] if len(args) > 2 else None)

    def _peers(self, window: WindowCall, rows: list[Row], around: Row) -> list[list[int]]:
        compare = self._order(window.order, around)
        groups: list[list[int]] = []
        for at, row in enumerate(rows):
            if groups and compare(rows[groups[-1][0]], row) == 0:
                groups[-1].append(at)
            else:
                groups.append([at])
        return groups

    def _frame(
        self, window: WindowCall, rows: list[Row], at: int, peers: list[list[int]], around: Row
    ) -> tuple[int, int]:
        unit = window.frame_unit or "RANGE"
        start = window.frame_start or FrameBound("UNBOUNDED PRECEDING")
        end = window.frame_end or FrameBound("CURRENT ROW")

        def edge(bound: FrameBound, low: bool) -> int:
            if bound.kind == "UNBOUNDED PRECEDING":
                return 0
            if bound.kind == "UNBOUNDED FOLLOWING":
                return len(rows)
            size = self.value(bound.size, around) if bound.size is not None else 0
            away = -size if bound.kind == "PRECEDING" else size
            if unit == "ROWS":
                return at + away + (not low)
            mine = next(number for number, group in enumerate(peers) if at in group)
            if unit == "GROUPS" or bound.kind == "CURRENT ROW":
                group = mine + (away if unit == "GROUPS" else 0)
                if group < 0:
                    return 0
                if group >= len(peers):
                    return len(rows)
                return peers[group][0] if low else peers[group][-1] + 1
            key = window.order[0]
            here = self.value(key.value, around | rows[at])
            if here is None:
                return peers[mine][0] if low else peers[mine][-1] + 1
            limit = here + (-away if key.descending else away)
            inside = []
            for number, row in enumerate(rows):
                value = self.value(key.value, around | row)
                if value is None:
                    inside.append((number, key.nulls_first))
                else:
                    before = value > limit if key.descending else value < limit
                    after = value < limit if key.descending else value > limit
                    inside.append((number, before if low else not after))
            return sum(1 for _, counted in inside if counted)

        return edge(start, True), edge(end, False)


def aggregated(call: AggregateCall, values: list[tuple[Any, ...]]) -> Any:
    """The SQL aggregate of argument tuples without NULLs."""
    firsts = [given[0] for given in values]
    function = call.function
    if function == "count":
        return len(values)
    if function == "count_if":
        return firsts.count(True)
    if not values:
        return None
    match function:
        case "sum":
            total = sum(firsts)
            if call.type.kind == "INT":
                return total if -(1 << 63) <= total < 1 << 63 else None
            if call.type.kind == "DECIMAL":
                return Fraction(total) if abs(total) * 10**call.type.scale < 10**38 else None
            return total
        case "avg":
            return float(Fraction(sum(map(Fraction, firsts)), len(firsts)))
        case "min":
            return min(firsts)
        case "max":
            return max(firsts)
        case "any_value":
            return firsts[0]
        case "mode":
            most = max(firsts.count(value) for value in firsts)
            return next(value for value in firsts if firsts.count(value) == most)
        case "bool_and":
            return all(firsts)
        case "bool_or":
            return any(firsts)
        case "bit_and" | "bit_or" | "bit_xor":
            out = firsts[0]
            for value in firsts[1:]:
                out = {"bit_and": out & value, "bit_or": out | value, "bit_xor": out ^ value}[function]
            return out
        case "string_agg":
            return values[0][1].join(firsts)
        case "median":
            return statistics.median(firsts)
        case "quantile_cont":
            ordered, share = sorted(firsts), values[0][1]
            place = (len(ordered) - 1) * share
            low = int(place)
            high = min(low + 1, len(ordered) - 1)
            return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
        case "quantile_disc":
            ordered, share = sorted(firsts), Fraction(values[0][1])
            return ordered[max(0, -(-share * len(ordered) // 1) - 1)]
        case "var_pop":
            return statistics.pvariance(firsts)
        case "var_samp":
            return statistics.variance(firsts) if len(firsts) > 1 else None
        case "stddev_pop":
            return statistics.pstdev(firsts)
        case "stddev_samp":
            return statistics.stdev(firsts) if len(firsts) > 1 else None
    return _of_pairs(function, [(Fraction(a), Fraction(b)) for a, b in values])


def _of_pairs(function: str, pairs: list[tuple[Fraction, Fraction]]) -> Any:
    count = len(pairs)
    mean_a, mean_b = sum(a for a, _ in pairs) / Fraction(count), sum(b for _, b in pairs) / Fraction(count)
    ab = sum(((a - mean_a) * (b - mean_b) for a, b in pairs), Fraction(0))
    aa = sum(((a - mean_a) ** 2 for a, _ in pairs), Fraction(0))
    bb = sum(((b - mean_b) ** 2 for _, b in pairs), Fraction(0))
    match function:
        case "covar_pop":
            return float(ab / count)
        case "covar_samp":
            return float(ab / (count - 1)) if count > 1 else None
        case "corr":
            return float(ab) / (float(aa) * float(bb)) ** 0.5 if aa and bb else None
        case "regr_slope":
            return float(ab / bb) if bb else None
        case "regr_intercept":
            return float(mean_a - ab / bb * mean_b) if bb else None
    raise AssertionError(function)


class _Sight(dict[str, Any]):
    """The columns of a row, and subqueries as if they were columns."""

    def __init__(self, reference: Reference, row: Row) -> None:
        super().__init__(row)
        self.reference, self.row = reference, row

    def __missing__(self, name: str) -> Any:
        return self.reference.subquery(self.reference.subqueries[name], self.row)


def _compared(op: str, a: Any, b: Any) -> bool | None:
    if a is None or b is None:
        return None
    return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def _value_key(row: Row) -> tuple[Any, ...]:
    return tuple((value is None, value) for value in row.values())


def _by_value(rows: list[Row]) -> list[Row]:
    unique = {tuple(row.values()): row for row in reversed(rows)}
    return sorted(unique.values(), key=_value_key)


def _ids(rel: Rel, shared: Mapping[str, Rel]) -> list[str]:
    match rel:
        case PublicScan(columns=scanned) | ReleasedScan(columns=scanned) | Shared(columns=scanned):
            return [id for id, _, _ in scanned]
        case Measured(columns=named) | Rows(columns=named):
            return [id for id, _ in named]
        case Where(input=below) | Sorted(input=below) | Distinct(input=below):
            return _ids(below, shared)
        case Compute(columns=computed):
            return [id for id, _ in computed]
        case Joined(left=left, right=right):
            return _ids(left, shared) + _ids(right, shared)
        case Grouped(keys=keys, aggregates=aggregates, grouping=grouping):
            return [*(id for id, _ in keys), *(id for id, _ in aggregates), *(id for id, _ in grouping)]
        case Windowed(input=below, calls=calls):
            return _ids(below, shared) + [id for id, _ in calls]
        case Combined(columns=combined):
            return [id for id, _ in combined]
        case _:
            raise AssertionError(rel)
