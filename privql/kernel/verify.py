"""Checks the certificate of an answer by itself: nothing here is shared with what proved, priced or wrote it.

    python -m privql.kernel.verify CERTIFICATE [--policy-text FILE] [--query-text FILE] [--answer FILE]

or this file alone, wherever there is Python. A step says what a rule was given and what it concludes; the conclusion is
drawn anew, and must be equal. Prices follow from how far one unit moves what was measured: exactly where they are
fractions, else in correctly rounded decimals with room on the safe side. Then all are added up. What the owner declared
of a table (`scan`) is believed here: who has the policy holds it against that. docs/proofs/certificates.md says why
each rule holds.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from hashlib import sha256
from math import ceil, prod
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Set = frozenset[Any]
VERSION, LONGEST, DIGITS, LIMIT = 1, 1 << 23, 4000, 2**62


class Refused(Exception):
    """Why a certificate proves nothing."""


def need(holds: object, why: str) -> None:
    if not holds:
        raise Refused(why)


# ---------------------------------------------------------------- how it is written


def shaped(told: Any, shape: Any) -> Any:
    """What is told, as it is meant: of exactly these fields and these types. A text is a pattern."""
    match shape:
        case dict():
            need(type(told) is dict and told.keys() == shape.keys(), f"the fields are not {', '.join(shape)}")
            return {name: shaped(told[name], each) for name, each in shape.items()}
        case list() | tuple():
            many = isinstance(shape, list)
            need(type(told) is list and (many or len(told) == len(shape)), "this is no such list")
            return tuple(shaped(one, shape[0 if many else at]) for at, one in enumerate(told))
        case str() | type():
            fits = type(told) is shape or (type(told) is type(shape) is str and re.fullmatch(shape, told))
            need(fits, f"this is no {shape}")
            return told
        case _:
            return shape(told)


def maybe(shape: Any) -> Callable[[Any], Any]:
    return lambda told: None if told is None else shaped(told, shape)


def number(told: Any) -> int:
    need(type(told) is int and told >= 0, "this is no whole number from 0 on")
    return int(told)


def ratio(told: Any) -> Fraction:
    short = type(told) is str and len(told) <= DIGITS and re.fullmatch(r"-?\d+(/0*[1-9]\d*)?", told, re.ASCII)
    need(short and str(Fraction(told)) == told, "this is no ratio in lowest terms")
    return Fraction(told)


def columns(told: Any) -> Set:
    found = shaped(told, [number])
    need(sorted(set(found)) == [*found], "columns are told in order, each once")
    return frozenset(found)


def value(told: Any) -> tuple[Set, int | None, str]:
    """A row function: which columns it reads, which one it is, if it is one, and its type."""
    reads, kind = shaped(told, (lambda told: told, str))
    return (columns(reads), None, kind) if type(reads) is list else (columns([reads]), reads, kind)


def written(meant: Any) -> str:
    """The one way to write it."""

    def plain(one: Any) -> Any:
        return sorted(one, key=lambda of: of if type(of) is int else sorted(of)) if type(one) is frozenset else str(one)

    return json.dumps(meant, sort_keys=True, separators=(",", ":"), default=plain)


KEYS = [{"values": [value], "members": maybe(number), "null": bool}]
PARTS = [{"adds": "tally|total|balance|powers|hats", "steps": [(int, int, number)], "reads": columns, "scale": ratio}]
WAYS = "FLIP|NOISY_MAX|EXPONENTIAL|GUMBEL|HISTOGRAM"
HEX, PAIRS, PRICE = "[0-9a-f]{64}", [(value, value)], {"epsilon": ratio, "delta": ratio}
TOP = {
    "certificate": int,
    "release": maybe(str),
    "units": [{"name": str, "change_one": bool}],
    "steps": [{"rule": str, "of": [number], "says": dict, "gives": dict}],
    "measured": [number],
    "costs": list,
    "charged": maybe([{"unit": number, "budget": str, "events": [[str]]}]),
    "commitments": maybe({"salt": HEX, "policy_version": number, "policy": HEX, "query": HEX, "inputs": HEX}),
    "answer": maybe(HEX),
    "digest": HEX,
}

# ---------------------------------------------------------------- rules for the rows of one unit

ONE, NONE = frozenset((frozenset[Any](),)), frozenset[Any]()  # no two rows agree in no columns: there is one at most
RULES: dict[str, tuple[Any, Json, Any]] = {}


def rule(*given: int, **says: Any) -> Callable[[Any], Any]:
    """A rule for so many relations, and what else it is told."""

    def register(conclusion: Any) -> Any:
        RULES[conclusion.__name__] = given, says, conclusion
        return conclusion

    return register


def determined(rows: Json) -> Set:
    """The columns in which all rows of a unit agree."""
    return frozenset(rows["columns" if rows["owned"] and rows["rows"] == 1 else "fixed"])


def named(*names: Iterable[Any]) -> Set:
    listed = [each for some in names for each in some]
    need(len(set(listed)) == len(listed), "two columns have one name")
    return frozenset(listed)


def read(rows: Json, *some: Iterable[Any]) -> None:
    need(all(rows["columns"] >= set(one) for one in some), "a column is read that is not there")


def owned(*sides: Json) -> None:
    need(all(side["owned"] for side in sides), "these rows are nobody's any more")
    need(len({(side["unit"], side["unit_type"]) for side in sides}) == 1, "rows of different units are related")


def least(*some: int | None) -> int | None:
    return min((one for one in some if one is not None), default=None)


def both(one: int | None, other: int | None, made: Callable[[int, int], int]) -> int | None:
    return None if one is None or other is None else made(one, other)


def meeting(says: Json, ours: Json, theirs: Json) -> tuple[Set, bool]:
    """The columns of both, once what is asked reads no others; and whether all rows of a unit ask the same."""
    read(ours, *(one[0] for one, _ in says["on"]))
    read(theirs, *(other[0] for _, other in says["on"]))
    made = named(ours["columns"], theirs["columns"])
    read({"columns": made}, says["where"])
    return made, (says["where"] & ours["columns"]).union(*(one[0] for one, _ in says["on"])) <= determined(ours)


@rule(0, table=str, unit=number, unit_column=maybe((str, str)), key=bool, unique=[str], columns=[(number, str, str)],
      via=[(str, str, str, str)])  # fmt: skip
def scan(says: Json) -> Json:
    by, ids = says["unit_column"], {name: at for at, name, _ in says["columns"]}
    need(not says["via"] or (by and not says["key"]), "along references rows have a unit column, and it is no key")
    need([*says["unique"]] == sorted(set(says["unique"])), "what is unique is told in order, each once")
    named(name for _, name, _ in says["columns"])
    one = ONE if by is None or says["key"] else NONE
    fixed = frozenset(at for at, *column in says["columns"] if tuple(column) == by and not says["via"])
    unique = one | {frozenset((ids[name],)) for name in says["unique"] if name in ids}
    made = {"unit": says["unit"], "unit_type": by and by[1], "rows": 1 if one else None, "owned": True}
    return made | {"columns": named(ids.values()), "unique": unique, "apart": one, "fixed": fixed}


@rule(1, column=number)
def unit_part(says: Json, rows: Json) -> Json:
    owned(rows)
    read(rows, frozenset((says["column"],)))
    return rows | {"fixed": rows["fixed"] | {says["column"]}}


@rule(1, reads=columns)
def keep_where(says: Json, rows: Json) -> Json:
    read(rows, says["reads"])
    return rows


@rule(1, columns=[(number, value)])
def compute(says: Json, rows: Json) -> Json:
    read(rows, *(reads for _, (reads, _, _) in says["columns"]))
    copies: dict[Any, int] = {}
    for name, (_, column, _) in says["columns"]:
        copies.setdefault(column, name)
    made: Json = {"columns": named(name for name, _ in says["columns"])}
    for told in ("unique", "apart"):
        made[told] = frozenset(frozenset(copies[one] for one in key) for key in rows[told] if key <= copies.keys())
    return rows | made | {"fixed": frozenset(name for name, one in says["columns"] if one[0] <= determined(rows))}


@rule(1, limit=number, order=columns)
def keep_rows(says: Json, rows: Json) -> Json:
    owned(rows)
    read(rows, says["order"])
    need(says["limit"] >= 1, "a unit keeps at least one row")
    most = least(says["limit"], rows["rows"])
    one = ONE if most == 1 else NONE
    return rows | {"rows": most, "unique": rows["unique"] | one, "apart": rows["apart"] | one}


@rule(1, public=[(number, str)], on=[(value, number)], where=columns, most=maybe(number))
def lookup(says: Json, rows: Json) -> Json:
    owned(rows)
    most, types, theirs = says["most"], dict(says["public"]), {"columns": named(at for at, _ in says["public"])}
    need(all(types.get(at) == one[2] for one, at in says["on"]), "columns are compared in their own type")
    need(most is None or most >= 1, "some public row may take part")
    beside, alike = meeting(says | {"on": [(one, ((at,), at, one[2])) for one, at in says["on"]]}, rows, theirs)
    fixed = determined(rows) | (theirs["columns"] if most == 1 and alike else NONE)
    made = {"columns": beside, "rows": both(rows["rows"], most, int.__mul__), "fixed": fixed}
    return rows | made | ({} if most == 1 else {"unique": NONE, "apart": NONE})


@rule(2, kind="INNER|LEFT|FULL", on=PAIRS, where=columns)
def join(says: Json, left: Json, right: Json) -> Json:
    owned(left, right)
    beside, alike = meeting(says, left, right)
    exact = [pair for pair in says["on"] if pair[0][2] == pair[1][2]]
    one_left, one_right = (
        any(key <= {pair[at][1] for pair in exact} for key in side["unique"]) for at, side in enumerate((left, right))
    )
    k, n, inner = left["rows"], right["rows"], says["kind"] == "INNER"
    rows = least(k if one_right else both(k, n, int.__mul__), n if one_left else None)
    if says["kind"] == "FULL":
        rows = both(k, n, lambda k, n: k + n if one_left or one_right else max(k + n, k * n))
        return left | {"columns": beside, "rows": rows, "unique": NONE, "apart": NONE, "fixed": NONE}
    if not inner and one_left | one_right:
        rows = k if one_right else both(rows, k, lambda met, k: met + k - 1)
    unique = (left["unique"] if one_right else NONE) | (right["unique"] if one_left and inner else NONE)
    apart = (left["apart"] if one_right else NONE) | (right["apart"] if one_left and inner else NONE)
    fixed = determined(left) | (determined(right) if inner or alike else NONE)
    return left | {"columns": beside, "rows": rows, "unique": unique, "apart": apart, "fixed": fixed}


@rule(1, 2, column=number, public=maybe([number]), on=PAIRS, where=columns)
def mark(says: Json, rows: Json, *among: Json) -> Json:
    owned(rows, *among)
    need((says["public"] is None) is bool(among), "rows are marked among public ones, or others of their unit")
    _, alike = meeting(says, rows, among[0] if among else {"columns": named(says["public"])})
    own = frozenset((says["column"],))
    return rows | {"columns": named(rows["columns"], own), "fixed": rows["fixed"] | (own if alike else NONE)}


@rule(2, column=number, keys=[(number, value)])
def keep_groups(says: Json, rows: Json, groups: Json) -> Json:
    """A mark, whether a row agrees in all keys with a group that is kept (`Step` sees to it); the rows so marked."""
    values = [one for _, one in says["keys"]]
    kept = mark(says | {"public": None, "on": (), "where": NONE.union(*(one[0] for one in values))}, rows, groups)
    return {**kept, "fixed": kept["fixed"] | {one[1] for one in values if one[1] is not None and groups["rows"] == 1}}


@rule(2, op="UNION ALL|UNION|(INTERSECT|EXCEPT)( ALL)?", columns=[(number, number, number)])
def combine(says: Json, left: Json, right: Json) -> Json:
    owned(left, right)
    read(left, (one for _, one, _ in says["columns"]))
    read(right, (other for _, _, other in says["columns"]))
    names, op, k, n = named(name for name, _, _ in says["columns"]), says["op"].split()[0], left["rows"], right["rows"]
    rows = {"UNION": both(k, n, int.__add__), "INTERSECT": least(k, n), "EXCEPT": k}[op]
    ours = frozenset(name for name, one, _ in says["columns"] if one in determined(left))
    theirs = frozenset(name for name, _, other in says["columns"] if other in determined(right))
    fixed = {"UNION": NONE, "INTERSECT": ours | theirs, "EXCEPT": ours}[op]
    unique = NONE if says["op"].endswith("ALL") else frozenset((names,))
    return left | {"rows": rows, "columns": names, "unique": unique, "apart": NONE, "fixed": fixed}


@rule(1, keys=[(number, value)], features=[(number, columns)], listed=maybe([number]))
def gather(says: Json, rows: Json) -> Json:
    owned(rows)
    keys, listed = says["keys"], says["listed"]
    read(rows, *(one[0] for _, one in keys), *(reads for _, reads in says["features"]))
    need(listed is None or (len(listed) == len(keys) and all(listed)), "the values of each key are listed")
    own, fixed = named(at for at, _ in keys), frozenset(at for at, one in keys if one[0] <= determined(rows))
    most = least(1 if own <= fixed else rows["rows"], None if listed is None else prod(listed))
    apart = NONE if any(one[2] == "FLOAT" for _, one in keys) else frozenset((own,))
    made = {"rows": most, "columns": named(own, (at for at, _ in says["features"]))}
    return rows | made | {"unique": frozenset((own,)), "apart": apart, "fixed": fixed}


@rule(1, columns=[number], reads=columns)
def window(says: Json, rows: Json) -> Json:
    owned(rows)
    read(rows, says["reads"])
    return rows | {"columns": named(rows["columns"], says["columns"])}


@rule(1)
def once(says: Json, rows: Json) -> Json:
    owned(rows)
    return rows | {"unique": NONE, "apart": NONE, "fixed": NONE, "owned": False}


# ---------------------------------------------------------------- what noise costs

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
ROOM = 1 + Decimal("1e-80")  # far above what is lost of 120 digits


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / x.denominator


def mills(x: Decimal) -> Decimal:
    """P[Z > x]/φ(x): √(π/2)·e^(x²/2) less the series x + x³/3 + x⁵/15 + …, or 1/(x + 1/(x + 2/(x + …))), of which each
    tail x + n/(x + …) lies between x and x + n/x."""
    if x < 4:
        total, term, n = x, x, 1
        while term > total * Decimal("1e-110"):
            n += 2
            term *= x * x / n
            total += term
        return (PI / 2).sqrt() * (x * x / 2).exp() - total
    low, high, depth = x, 2 * x, 16
    while high - low > low * Decimal("1e-100"):
        depth *= 2
        low, high = x, x + depth / x
        for n in reversed(range(1, depth)):
            low, high = x + n / high, x + n / low
    return 1 / low


def gaussian_pays(epsilon: Fraction, delta: Fraction, mu_squared: Fraction) -> bool:
    """P[Z > a] - e^ε·P[Z > b] <= δ for a, b = ε/μ ∓ μ/2, where e^ε·φ(b) = φ(a)."""
    middle, half = decimal(epsilon) / decimal(mu_squared).sqrt(), decimal(mu_squared).sqrt() / 2
    a, b = middle - half, middle + half
    dense = (-a * a / 2).exp() / (2 * PI).sqrt()
    if a >= 0:
        return dense * ROOM * (mills(a) * ROOM - mills(b) / ROOM) <= decimal(delta)
    return 1 - dense / ROOM * (mills(-a) + mills(b)) / ROOM <= decimal(delta)


def concentrated_pays(epsilon: Fraction, delta: Fraction, rho: Fraction, order: Fraction) -> bool:
    """e^(-(α-1)·(ε - αρ))·(1 - 1/α)^α/(α-1) <= δ, of ρ-zero-concentrated privacy at the order α."""
    exponent = decimal(order) * decimal((order - 1) / order).ln() - decimal((order - 1) * (epsilon - order * rho))
    return exponent.exp() * ROOM / decimal(order - 1) <= decimal(delta)


def hides(epsilon: Fraction, delta: Fraction, reach: int, room: Decimal) -> bool:
    """q^k·(1 - q + 2δq) <= δ·(1 + q), q = e^-ε: noise within ±k hides one unit more, but for a chance of δ."""
    q, d = (-decimal(epsilon)).exp(), decimal(delta)
    return (-decimal(epsilon * reach)).exp() * (1 - q + 2 * d * q) * room <= d * (1 + q)


def norms(part: Json) -> tuple[int, int, int, int]:
    """The greatest of what a row adds, L1 and L2², and of a difference of two."""
    adds, steps = part["adds"], part["steps"]
    need(all(-LIMIT <= low <= high <= LIMIT for low, high, _ in steps), "steps are clamped within ±2^62")
    need(adds == "powers" or [degree for *_, degree in steps] == [1] * (adds != "tally"), "one number is added")
    if adds == "tally":
        return 1, 1, 1, 1
    if adds == "total":
        far, width = max(map(abs, steps[0][:2])), max(steps[0][1], 0) - min(steps[0][0], 0)
        return far, far**2, width, width**2
    need(1 <= len(steps) <= 2 and all(1 <= degree <= 2 for *_, degree in steps), "powers are of degree 1 or 2")
    whole = prod((high - low) ** degree for low, high, degree in steps)
    need(adds == "balance" or whole <= LIMIT, "the cells of a row hold 2^62 at most")
    need(adds != "hats" or (0 in steps[0][:2] and whole >= 2 and not whole & (whole - 1)), "knots are powers of two")
    return whole, whole**2, 2 * whole, 2 * whole**2


def grouping(keys: Sequence[Json], rows: Json) -> tuple[bool, Set]:
    """Whether there may be several groups, and columns in which rows of one group agree, zeros of both signs apart."""
    need(rows["rows"] is not None, "nothing bounds how many rows a unit has")
    for key in keys:
        read(rows, *(one[0] for one in key["values"]))
        listed = len(key["values"]) == 1 and key["members"]
        need(listed or (key["values"] and key["members"] is None and key["null"]), "groups are listed, or were found")
    several = any(key["members"] is None for key in keys) or prod(key["members"] for key in keys) > 1
    return several, frozenset(column for key in keys for _, column, kind in key["values"] if kind != "FLOAT")


def moves(says: Json, rows: Json) -> list[tuple[Fraction, Json]]:
    """Of each part the scale of its noise, and how far one unit moves it."""
    (several, by), k, parts = grouping(says["keys"], rows), rows["rows"], []
    times = k if several and any(key <= by for key in rows["apart"]) else k * k
    for part in says["parts"]:
        read(rows, part["reads"])
        r1, r2, d1, d2 = norms(part)
        l1, l2 = k * r1, times * r2
        if rows["change_one"]:
            l1, l2 = (2 * k * r1, times * max(d2, 2 * r2)) if several else (k * d1, times * d2)
        need(l1 >= 1 and part["scale"] > 0, "a measurement needs noise")
        parts.append((part["scale"], {"l1": l1, "l2_squared": l2}))
    need(parts, "nothing is measured")
    return parts


@rule(1, keys=KEYS, parts=PARTS)
def laplace(says: Json, rows: Json) -> Json:
    parts = [move | {"epsilon": move["l1"] / scale} for scale, move in moves(says, rows)]
    return {"parts": parts, "events": [("pure", part["epsilon"]) for part in parts]}


@rule(1, keys=KEYS, parts=PARTS, **PRICE)
def gaussian(says: Json, rows: Json) -> Json:
    parts = [move | {"mu_squared": move["l2_squared"] / scale**2} for scale, move in moves(says, rows)]
    return {"parts": parts, **together(says, *parts)}


@rule(**PRICE)
def together(says: Json, *of: Json) -> Json:
    """Divided by their deviations, all cells together move by μ at most."""
    square = sum((one.get("mu_squared", Fraction(0)) for one in of), Fraction(0))
    need(says["epsilon"] > 0 and 0 < says["delta"] < 1 and square > 0, "Gaussian noise takes an ε and a δ")
    need(gaussian_pays(says["epsilon"], says["delta"], square), "this Gaussian noise costs more than that")
    return {"mu_squared": square, "events": [("gaussian", says["epsilon"], says["delta"])]}


@rule(1, keys=[number], counted=bool, reach=maybe(number), **PRICE)
def truncated_geometric(says: Json, rows: Json) -> Json:
    """A unit counts once in a group: its rows were gathered by these keys, or there is one (`Step` sees to it)."""
    k, each, reach = rows["rows"], 1 + rows["change_one"], says["reach"]
    need(rows["owned"] and k and says["keys"] and named(says["keys"]) == rows["columns"], "groups are by all columns")
    epsilon, delta = says["epsilon"] / (k * each), says["delta"] / (k * each)
    need(epsilon >= Fraction(1, 2**12) and Fraction(1, 2**128) <= delta < 1, "this ε and δ find no groups")
    need((reach is not None) is says["counted"] and reach != 0, "noise on numbers has a reach")
    need(reach is None or hides(epsilon, delta, reach, ROOM), "noise of this reach does not hide one unit more")
    need(reach is None or not hides(epsilon, delta, reach - 1, 1 / ROOM), "noise of a shorter reach would do")
    return {"groups": k, "epsilon_each": epsilon, "delta_each": delta, "events": [("keys", *map(says.get, PRICE))]}


@rule(1, level=value, where=columns, levels=number, penalty=number, epsilon=ratio)
def noisy_minimum(says: Json, rows: Json) -> Json:
    read(rows, says["level"][0], says["where"])
    one = rows["owned"] and rows["rows"] == 1 and says["level"][2] == "INT" and says["levels"] >= 1
    need(one and says["epsilon"] > 0, "a unit has one level, of some")
    return {"scale": 1 / says["epsilon"], "events": [("pure", says["epsilon"])]}


@rule(1, keys=KEYS, reads=columns, low=int, high=int, ranks=[(ratio, int)], epsilon=ratio)
def by_rank(says: Json, rows: Json) -> Json:
    """Of several ranks that in the middle is drawn first, by a part of ε: on either side a row pays for the rest."""
    several, _ = grouping(says["keys"], rows)
    read(rows, says["reads"])
    low, high, shares, k = says["low"], says["high"], [share for share, _ in says["ranks"]], rows["rows"]
    need(-LIMIT <= low <= high <= LIMIT and says["epsilon"] > 0 and shares, "a value is drawn from some steps")
    need(shares == sorted(set(shares)) and 0 <= shares[0] <= shares[-1] <= 1, "shares are told in order, from 0 to 1")
    need(max(share.denominator for share in shares) <= 10**9, "a share is a ratio of short numbers")

    def halved(ranks: list[tuple[int, Fraction]], epsilon: Fraction, several: bool) -> Json | None:
        if not ranks:
            return None
        middle = min(len(ranks) // 2, (len(ranks) - 1) // 2, key=lambda i: abs(ranks[i][1] - Fraction(1, 2)))
        at, share = ranks[middle]
        now, a, b = epsilon / len(ranks).bit_length(), share.numerator, share.denominator
        moved = k * b if rows["change_one"] and not several else k * max(a, b - a) * (1 + rows["change_one"])
        need(moved >= 1, "a measurement needs noise")
        clip = b // 2 + ceil((Fraction(7, 10) * (high + 1 - low).bit_length() + 45) / (now / (2 * moved)))
        below = halved([(i, one / share) for i, one in ranks[:middle]], epsilon - now, True)
        above = halved([(i, (one - share) / (1 - share)) for i, one in ranks[middle + 1 :]], epsilon - now, True)
        drawn = {"at": at, "epsilon": now, "moved": moved, "exponent": now / (2 * moved), "clip": clip}
        return drawn | {"before": below, "after": above}

    return {"draw": halved([*enumerate(shares)], says["epsilon"], several), "events": [("ranged", says["epsilon"])]}


@rule(1, keys=KEYS, where=columns, picks=number, way=WAYS, exponent=ratio, order=maybe(ratio), **PRICE)
def most_frequent(says: Json, rows: Json) -> Json:
    """Of all counts, or of how much more one of a group rises than another, so much is moved by one unit."""
    grouping(says["keys"], rows)
    read(rows, says["where"])
    need(rows["owned"] and rows["rows"] and says["keys"], "a unit has some rows, and there are candidates")
    *keys, last = says["keys"]
    epsilon, delta, way, order, most = says["epsilon"], says["delta"], says["way"], says["order"], rows["rows"]
    need(last["members"] and not last["null"] and 1 <= says["picks"] <= last["members"], "candidates are listed")
    told = {key["values"][0][1] for key in says["keys"] if key["members"] and not key["null"]}
    if way != "HISTOGRAM" and any(one <= told for one in rows["unique"]) and all(key["members"] for key in keys):
        most = min(most, prod(key["members"] for key in keys))
    moved = most * (1 + rows["change_one"])
    rho = says["picks"] * (says["exponent"] * moved) ** 2 / 8 if way == "GUMBEL" else None
    need(epsilon > 0 and says["exponent"] > 0, "a choice costs some ε")
    if rho is not None:
        need(order is not None and order > 1 and 0 < delta < 1, "Gumbel noise takes a δ and an order")
        need(concentrated_pays(epsilon, delta, rho, order), "this choice costs more than that")
        return {"moved": moved, "rho": rho, "events": [("concentrated", epsilon, delta)]}
    rounds = 1 if way == "HISTOGRAM" else says["picks"]
    need(not delta and order is None and says["exponent"] * moved * rounds == epsilon, "the exponent is not of this ε")
    return {"moved": moved, "rho": None, "events": [("ranged" if way == "EXPONENTIAL" else "pure", epsilon)]}


# ---------------------------------------------------------------- the certificate


class Step:
    def __init__(self, told: Json, of: list[Step], units: Sequence[Json]) -> None:
        need(told["rule"] in RULES, "there is no such rule")
        given, says, conclusion = RULES[told["rule"]]
        self.rule, self.of, self.says = told["rule"], of, shaped(told["says"], says)
        kinds = {"columns" if "columns" in one.gives else one.rule for one in of}
        fits = kinds == {"gaussian"} if conclusion is together else len(of) in given and kinds <= {"columns"}
        need(fits and self._groups(), "a rule is given what it is about")
        unit = of[0].gives["unit"] if of else self.says["unit"]
        need(unit < len(units) and all(one.gives["unit"] == unit for one in of), "rows are of one unit that there is")
        change = {"change_one": units[unit]["change_one"]}
        self.gives: Json = conclusion(self.says, *(one.gives | change for one in of))
        self.gives = {name: told for name, told in self.gives.items() if name != "change_one"}
        if "events" in self.gives:
            self.gives |= {"unit": unit, **composed(self.gives["events"])}
        need(written(self.gives) == written(told["gives"]), "it gives something else")

    def _groups(self) -> bool:
        """Where a rule is about groups, its last relation is made of them: gathered by their keys, of which some rows
        may be kept."""
        last = self.of[-1] if self.of else self
        made = last.of[0] if last.rule == "keep_rows" else last
        alone = made.rule == "gather" and not made.says["features"]
        if self.rule == "keep_groups":
            return alone and made.of[0] is self.of[0] and bool(made.says["keys"] == self.says["keys"] != ())
        return self.rule != "truncated_geometric" or alone or (made.rule == "compute" and last.gives["rows"] == 1)


def composed(events: Sequence[Any]) -> Json:
    """Of mechanisms chosen one after the other the ε add up, and the δ."""
    epsilon, delta = (sum((one[at] for one in events if len(one) > at), Fraction(0)) for at in (1, 2))
    return {"epsilon": epsilon, "delta": delta, "events": events}


def verified(text: str) -> Json:
    """What a certificate says, if all of it follows."""
    need(len(text) <= LONGEST, "this is too long for a certificate")
    try:
        told: Json = json.loads(text)
        need(written(told) == text.removesuffix("\n"), "a certificate is written in one way only")
    except (ValueError, RecursionError):
        raise Refused("this is no JSON that a certificate would be") from None
    top, steps = shaped(told, TOP), list[Step]()
    sealed = sha256(written({name: told[name] for name in told if name != "digest"}).encode()).hexdigest()
    need(top["certificate"] == VERSION and top["digest"] == sealed, "its version or its digest is another one")
    named(unit["name"] for unit in top["units"])
    for at, each in enumerate(told["steps"]):
        try:
            need(all(of < at for of in each["of"]), "a step follows those that it was given")
            with localcontext(Context(prec=120, Emin=MIN_EMIN, Emax=MAX_EMAX)):
                steps.append(Step(each, [steps[of] for of in each["of"]], top["units"]))
        except (Refused, ArithmeticError) as why:
            raise Refused(f"step {at}, {each['rule'][:20]}: {why}") from None
    used = {*top["measured"], *(of for each in top["steps"] for of in each["of"])}
    need(used == set(range(len(steps))), "each step leads to another, or is measured")
    need([*top["measured"]] == sorted(set(top["measured"])), "what is measured is told in order, each once")
    need(all("events" in steps[at].gives for at in top["measured"]), "only what has noise is measured")
    lost: dict[int, list[Any]] = {}
    for at in top["measured"]:
        lost.setdefault(steps[at].gives["unit"], []).extend(steps[at].gives["events"])
    costs = [{"unit": unit, **composed(events)} for unit, events in sorted(lost.items())]
    need(written(costs) == written(told["costs"]), "all together it costs something else")
    for unit, events in lost.items() if top["charged"] is not None else ():
        paid = Counter(written(event) for line in top["charged"] if line["unit"] == unit for event in line["events"])
        need(Counter(map(written, events)) <= paid, "this was not charged")
    return told


def compared(told: Json, what: str, file: Path) -> None:
    """Whether a text is the one that was committed to; of an answer, its columns and rows as JSON has them."""
    if what == "answer":
        salt, answer = b"", json.loads(file.read_text("utf-8"))
        text, kept = written({name: answer[name] for name in ("columns", "rows")}).encode(), told
    else:
        need(told["commitments"] is not None, "it commits to no texts")
        kept, text = told["commitments"], file.read_bytes()
        salt = bytes.fromhex(kept["salt"]) + f"{what}\0".encode()
    need(sha256(salt + text).hexdigest() == kept[what], f"its {what} is another one")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="privql.kernel.verify", description="check the certificate of an answer")
    parser.add_argument("certificate", type=Path)
    for option in ("--policy-text", "--query-text", "--answer"):
        parser.add_argument(option, dest=option[2:].removesuffix("-text"), type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    try:
        told = verified(given.certificate.read_text("ascii"))
        for what in ("policy", "query", "answer"):
            if getattr(given, what) is not None:
                compared(told, what, getattr(given, what))
    except (Refused, OSError, ValueError, KeyError, TypeError) as why:
        print(f"refused: {why}")
        return 1
    for line in told["costs"]:
        delta = f", δ = {line['delta']}" if line["delta"] != "0" else ""
        print(f"holds: to {told['units'][line['unit']]['name']} it costs ε = {line['epsilon']}{delta}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
