"""Checks the certificate of an answer by itself: nothing here is shared with what proved, priced or wrote it.

    python -m privql.kernel.verify CERTIFICATE [--policy FILE] [--query FILE] [--answer FILE]

or this file alone, wherever there is Python. A step names a rule, the steps whose conclusions it is given (`of`), what
else it is told (`says`) and what it concludes (`gives`). Rules are methods of what they are given, and their keyword
parameters the form of what they are told. What was declared of tables (`scan`) is believed. For why, see docs/proofs.
"""

import argparse
import json
import re
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from hashlib import sha256
from inspect import getfullargspec
from math import inf, prod
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_origin


class Refused(Exception): ...  # why a certificate proves nothing


def need(holds: object, why: str) -> None:
    if not holds:
        raise Refused(why)


LONGEST, DIGITS, PRICES = 1 << 19, 1200, 500  # of a certificate, of a ratio; how many prices are no ratios
Natural = Annotated[int, range(1 << 16).__contains__]
Many = Annotated[int, lambda n: n >= 1]
Some = Many | None
Share = Annotated[Fraction, lambda x: 0 <= x <= 1]
Chance = Annotated[Fraction, lambda x: 0 < x < 1]
Positive = Annotated[Fraction, lambda x: x > 0]
Amount = Annotated[Fraction, lambda x: 1 <= x * 10**30 <= 10**60]  # for which 120 digits are enough
Hex = Annotated[str, lambda text: re.fullmatch("[0-9a-f]{64}", text)]
Unit = tuple[Annotated[str, str.isprintable], bool]  # its name, and whether a neighbour has another in its place
Columns = frozenset[Natural]  # numbers, which tell nothing of names
Compared = tuple[tuple[Natural | None, str], tuple[Natural | None, str]]  # which columns, if they are some; their types
Declared = tuple[tuple[Natural, str, str, bool], ...]  # columns: name, type, and whether no two rows share a value
Links = tuple[tuple[str, str, str, str], ...]
Bound = Annotated[int, lambda n: abs(n) <= 2**62]
Step = tuple[Bound, Bound, Annotated[int, (1, 2).__contains__]]  # the least, the greatest, and of which degree
Draw = tuple[Share, Positive, Annotated[int, range(64).__contains__]]  # its share of the way, its scale, cuts before
COST = {"unit": Unit, "budget": str, "epsilon": Any, "delta": Any, "paid": tuple[tuple[str, Positive, Share], ...]}
TEXTS = {"salt": Hex, "policy_version": Many, "policy": Hex, "query": Hex, "inputs": Hex, "answer": Hex}
CERTIFICATE = {"certificate": Annotated[int, (1).__eq__], "release": str, "steps": tuple[Any, ...]}
CERTIFICATE |= {"costs": tuple[Any, ...], "commitments": TEXTS, "digest": Hex}
NONE: frozenset[Any] = frozenset()
ONE = frozenset((NONE,))  # no two rows agree in no columns: there is one at most
NULLS = frozenset((-1,))  # in a set that is unique: NULLs aside
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
ROOM = Decimal(f"1.{1:080}")  # 1 + 10^-80, far above what is lost of 120 digits; by + it would be of 28 digits


def read(told: Any, form: Any) -> Any:
    """What is told, as it is meant: of exactly this form, which is a type, or the fields of an object."""
    kind, inner = get_origin(form), get_args(form)
    if form is Any or type(told) is form:
        return told
    if form is Fraction and type(told) is str and len(told) <= DIGITS and re.fullmatch("-?[0-9]+(/[0-9]+)?", told):
        return Fraction(told)
    if isinstance(form, dict) and type(told) is dict and told.keys() == form.keys():
        return {name: read(told[name], each) for name, each in form.items()}
    if kind is Annotated:
        if inner[1](made := read(told, inner[0])):
            return made
    elif kind in (tuple, frozenset):
        every = kind is frozenset or inner[-1] is ...
        if type(told) is list and (every or len(told) == len(inner)):
            return kind(map(read, told, inner[:1] * len(told) if every else inner))
    else:
        for each in inner:  # one of several forms
            with suppress(Refused):
                return read(told, each)
    raise Refused(f"{json.dumps(told)[:40]} is not of the form that it should have")


def written(meant: Any) -> str:
    """The one way to write it: sets in order, ratios in lowest terms, and what has no bound as null."""

    def plain(one: Any) -> Any:
        if isinstance(one, frozenset | MappingProxyType):
            return sorted(sorted(each) if isinstance(each, frozenset) else each for each in one)
        return str(one) if isinstance(one, Fraction) else {k: None if it == inf else it for k, it in vars(one).items()}

    return json.dumps(meant, sort_keys=True, separators=(",", ":"), default=plain)


# ---------------------------------------------------------------- what is concluded, and the rules for it
@dataclass(frozen=True)
class Loss:
    """What a unit loses by a mechanism: its kind, ε and δ."""

    unit: Unit
    event: tuple[str, Fraction, Fraction]


@dataclass(frozen=True)
class Moved:
    """How far one unit moves numbers that are measured, all of them together."""

    unit: Unit
    what: str
    l1: int
    l2_squared: int

    def noise(self, *, way: str, scale: Positive, times: Many) -> Loss:
        """It costs ε = 1 to move numbers by the scale of such noise; a choice, each time."""
        fits = {"sums": ["LAPLACE"], "levels": ["NOISY_MINIMUM"], "counts": ["FLIP", "NOISY_MAX", "EXPONENTIAL"]}
        need(way in fits[self.what], "this noise is for something else")
        return Loss(self.unit, ("ranged" if way == "EXPONENTIAL" else "pure", times * self.l1 / scale, Fraction(0)))

    def gaussian(self, *more: "Moved", deviations: tuple[Positive, ...], epsilon: Amount, delta: Chance) -> Loss:
        """Divided by their deviations all numbers are one vector, which moves by μ at most."""
        need({one.what for one in (self, *more)} == {"sums"}, "this noise is for sums")
        squares = (one.l2_squared / decimal(each) ** 2 for one, each in zip((self, *more), deviations, strict=True))
        need(gaussian_pays(epsilon, delta, sum(squares, Decimal(0))), "this noise costs more than that")
        return Loss(self.unit, ("gaussian", epsilon, delta))

    def gumbel(self, *, scale: Positive, times: Many, order: Amount, epsilon: Positive, delta: Chance) -> Loss:
        """Each choice is of bounded range, so that all together are ρ-concentrated, and some order shows the cost."""
        need(self.what == "counts" and order > 1, "this noise is for counts, and its order is above 1")
        rho = times * (self.l1 / scale) ** 2 / 8
        need(concentrated_pays(epsilon, delta, rho, order), "this noise costs more than that")
        return Loss(self.unit, ("concentrated", epsilon, delta))


@dataclass(frozen=True)
class Rows:
    """Of a relation: how many rows a unit has at most, columns in which they agree, and sets in which no two do."""

    unit: Unit
    named_by: str | None  # values of which type, ROW where each row is its own; null where rows are nobody's any more
    rows: float  # a whole number, or infinity
    columns: Any  # by their numbers, each once: which type was told of it, in a set that copies share and rules add to
    fixed: Columns
    unique: frozenset[Columns]

    def keep(self, *, limit: Many) -> "Rows":
        """Of a unit's rows so many stay."""
        most = min(limit, self.rows)
        return replace(self, rows=most, unique=self.unique | (ONE if most == 1 else NONE))

    def keep_groups(self, groups: "Rows", *, same: tuple[tuple[Natural, Natural], ...]) -> "Rows":
        """Those of its rows stay that equal one of its groups, in these columns and in others of their types."""
        for ours, theirs in same:
            self.columns[ours].update(groups.columns[theirs])
        return replace(self, fixed=self.fixed | {ours for ours, theirs in same if theirs in groups.fixed})

    def compute(self, *, columns: tuple[tuple[Natural, Natural | Columns], ...]) -> "Rows":
        """A row becomes one row: of copies is known what was, and what reads columns that agree agrees."""
        copies = {-1: -1} | {of: name for name, of in reversed(columns) if isinstance(of, int)}
        unique = frozenset(frozenset(copies[one] for one in key) for key in self.unique if key <= copies.keys())
        fixed = frozenset(name for name, of in columns if self.fixed >= ({of} if isinstance(of, int) else of))
        made = [(name, self.columns[of] if isinstance(of, int) else set()) for name, of in columns]
        return replace(self, columns=made, fixed=fixed, unique=unique)

    def learn(self, *among: "Rows", columns: Columns, asks: Columns | None) -> "Rows":
        """A row stays, and learns of its unit's rows or of public ones: what others learn that ask the same."""
        same = columns if asks is not None and asks <= self.fixed else NONE
        return replace(self, columns=[*self.columns.items(), *((at, set()) for at in columns)], fixed=self.fixed | same)

    def lookup(self, *, columns: Columns, on: tuple[Compared, ...], asks: Columns, most: Some) -> "Rows":
        """Of the public rows that equal it in what is compared, in its own type, a row meets so many at most."""
        need(all(ours == theirs for (_, ours), (_, theirs) in on), "rows that differ could be equal in another type")
        fixed, one = (columns, ONE) if most == 1 else (NONE, NONE)
        public = replace(self, rows=most or inf, columns={at: set() for at in columns}, fixed=fixed, unique=one)
        beside = replace(self, unique=NONE).join(public, kind="LEFT", on=on, asks=asks)
        return replace(beside, unique=self.unique if one else NONE)

    def join(self, other: "Rows", *, kind: str, on: tuple[Compared, ...], asks: Columns) -> "Rows":
        """Of a side that is unique in what must equal the other, in its own type, the other's rows meet one each."""
        need({ours for (ours, _), _ in on} <= {None, *asks}, "what is compared is not asked")
        for side, (at, of) in [(side, each) for pair in on for side, each in zip((self, other), pair, strict=True)]:
            if at is not None:
                side.columns[at].add(of)
        left = NULLS.union(ours for (ours, one), (_, another) in on if one == another)
        right = NULLS.union(theirs for (_, one), (theirs, another) in on if one == another)
        one_left, one_right = any(key <= left for key in self.unique), any(key <= right for key in other.unique)
        k, n, same = self.rows, other.rows, other.fixed if asks <= self.fixed else NONE
        ours, theirs = self.unique if one_right else NONE, other.unique if one_left else NONE
        rows, fixed, unique = {
            "INNER": (min(k if one_right else k * n, n if one_left else inf), self.fixed | other.fixed, ours | theirs),
            "LEFT": (k if one_right else k + n - 1 if one_left else k * n, self.fixed | same, ours),
            "FULL": (k + n if one_left or one_right else max(k + n, k * n), NONE, NONE),
        }[kind]
        columns = [*self.columns.items(), *other.columns.items()]
        return replace(self, rows=rows, columns=columns, fixed=fixed, unique=unique)

    def combine(self, other: "Rows", *, op: str) -> "Rows":
        """A union has the rows of both, an intersection rows that are on either side, a difference the left's."""
        need(self.columns.keys() == other.columns.keys(), "the sides have other columns")
        columns = {at: types | other.columns[at] for at, types in self.columns.items()}
        k, n, either = self.rows, other.rows, self.fixed | other.fixed
        kinds = {"UNION": (k + n, NONE), "INTERSECT": (min(k, n), either), "EXCEPT": (k, self.fixed)}
        rows, fixed = kinds[op.removesuffix(" ALL")]
        unique = frozenset((NULLS.union(columns),)) if columns and not op.endswith("ALL") else NONE
        return replace(self, rows=rows, columns=columns, fixed=fixed, unique=unique)

    def gather(self, *, keys: tuple[tuple[Natural, Columns, str], ...], more: Columns, listed: Some) -> "Rows":
        """Each group is a row: one, where a unit's rows agree in all keys; as many as listed values make, at most."""
        own, fixed = [at for at, *_ in keys], frozenset(at for at, reads, _ in keys if reads <= self.fixed)
        rows = min(1 if fixed.issuperset(own) else self.rows, listed or inf)
        one = (NULLS if any(kind == "FLOAT" for *_, kind in keys) else NONE).union(own)  # for a zero has two signs
        columns = [*((at, {kind}) for at, _, kind in keys), *((at, set()) for at in more)]
        return replace(self, rows=rows, columns=columns, fixed=fixed, unique=frozenset((one,)))

    def once(self) -> "Rows":
        """A row is there if anybody has it: with a unit come or go as many as it has, and are nobody's then."""
        return replace(self, named_by=None, fixed=NONE, unique=NONE)

    def _bounded(self, most: float = inf) -> int:
        need(min(most, self.rows) < inf, "nothing bounds how many rows a unit has")
        return int(min(most, self.rows))

    def sums(self, *, groups: Some, by: Columns, cells: bool, steps: tuple[Step] | tuple[Step, Step]) -> Moved:
        """A row adds to one of the groups (null: that were found) a number of steps; or to cells of it, none negative,
        a product of widths, and of two rows in different ones, so that they differ by twice as much."""
        need(cells or [degree for *_, degree in steps] == [1], "one number is added")
        k, several, whole = self._bounded(), groups != 1, prod((high - low) ** degree for low, high, degree in steps)
        low, high = min(steps[0][0], 0), max(steps[0][1], 0)
        far, apart = (whole, 2 * whole) if cells else (max(high, -low), high - low)
        squared = 2 * far**2 if cells else apart**2
        need(all(low <= high for low, high, _ in steps) and k * far >= 1, "steps are clamped, and something is added")
        changed = (2 * k * far, max(squared, 2 * far**2)) if several else (k * apart, squared)
        l1, l2_squared = changed if self.unit[1] else (k * far, far**2)
        orthogonal = several and any(key <= by for key in self.unique)  # each row is in a group of its own
        return Moved(self.unit, "sums", l1, (k if orthogonal else k * k) * l2_squared)

    def counts(self, *, groups: Some, by: Columns) -> Moved:
        """How much more one count rises than others of its group, by 1 where a unit's rows differ in these columns."""
        alone = any(key - NULLS <= by for key in self.unique)
        moved = self._bounded(groups if alone and groups else inf) * (1 + self.unit[1])
        return Moved(self.unit, "counts", moved, moved**2)

    def levels(self) -> Moved:
        """A unit is of one level: the numbers of units beyond others it moves by 1, and all the same way."""
        need(self.rows == 1, "a unit is of one level")
        return Moved(self.unit, "levels", 1, 1)

    def by_rank(self, *, groups: Some, draws: tuple[Draw, ...]) -> Loss:
        """A row moves losses at a share a/b of the way by max(a, b - a), and at each cut it goes and pays one way."""
        return Loss(self.unit, ("ranged", self._paid(draws, 0, groups != 1), Fraction(0)))

    def _paid(self, draws: tuple[Draw, ...], depth: int, several: bool) -> Fraction:
        at, k, changed = [cuts for *_, cuts in draws].index(depth), self._bounded(), self.unit[1]
        a, b = draws[at][0].as_integer_ratio()
        moved = k * b if changed and not several else k * max(a, b - a) * (1 + changed)
        sides = (self._paid(side, depth + 1, True) for side in (draws[:at], draws[at + 1 :]) if side)
        return 2 * moved / draws[at][1] + max(sides, default=0)

    def truncated_geometric(self, *, keys: Columns, most: Some, reach: Some, epsilon: Positive, delta: Chance) -> Loss:
        """A unit counts once in each group of its rows, of which `most` are kept: each has its part of ε and δ."""
        groups = self._bounded(1 if keys <= self.fixed else most or inf) * (1 + self.unit[1])
        need(reach is None or hides(epsilon / groups, delta / groups, reach), "noise of this reach shows one unit more")
        return Loss(self.unit, ("keys", epsilon, delta))


def scan(*, table: str, unit: Unit, by: tuple[str, str] | None, key: bool, columns: Declared, via: Links) -> Rows:
    """Rows without a unit are dropped, and those whose references lead nowhere."""
    need(by[1] != "ROW" and not (via and key) if by else not via, "this is nothing that can be declared")
    unique = frozenset(NULLS | {at} for at, *_, declared in columns if declared)
    fixed = frozenset(at for at, name, kind, _ in columns if (name, kind) == by and not via)
    rows = Rows(unit, by[1] if by else "ROW", inf, [(at, {kind}) for at, _, kind, _ in columns], fixed, unique)
    return rows.keep(limit=1) if key or not by else rows


RULES: Any = {(kind, name): one for kind in (Rows, Moved) for name, one in vars(kind).items() if name[0] != "_"}
RULES[type(None), "scan"] = scan


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / x.denominator


def mills(x: Decimal) -> Decimal:
    """P[Z > x]/φ(x): √(π/2)·e^(x²/2) less x + x³/3 + x⁵/15 + …; or 1/(x + 1/(x + 2/(x + …))), each tail above x."""
    if x >= 8:
        low, high = x, x + 256 / x
        for n in reversed(range(1, 256)):
            low, high = x + n / high, x + n / low
        need(high - low < low * Decimal("1e-90"), "this is beyond all digits")
        return 1 / low
    total, term, n = x, x, 1
    while abs(term) > abs(total) * Decimal("1e-110"):
        n, term = n + 2, term * x * x / (n + 2)
        total += term
    return (PI / 2).sqrt() * (x * x / 2).exp() - total


def gaussian_pays(epsilon: Fraction, delta: Fraction, mu_squared: Decimal) -> bool:
    """P[Z > a] - e^ε·P[Z > b] <= δ for a, b = ε/μ ∓ μ/2, where e^ε·φ(b) = φ(a)."""
    mu = mu_squared.sqrt()
    a, b = decimal(epsilon) / mu - mu / 2, decimal(epsilon) / mu + mu / 2
    dense = (-a * a / 2).exp() / (2 * PI).sqrt()
    return a > -8 and dense * ROOM * (mills(a) * ROOM - mills(b) / ROOM) <= decimal(delta)


def concentrated_pays(epsilon: Fraction, delta: Fraction, rho: Fraction, order: Fraction) -> bool:
    """e^(-(α-1)·(ε - αρ))·(1 - 1/α)^α/(α-1) <= δ, of ρ-zero-concentrated privacy at the order α."""
    exponent = decimal(order) * decimal((order - 1) / order).ln() - decimal((order - 1) * (epsilon - order * rho))
    return exponent.exp() * ROOM / decimal(order - 1) <= decimal(delta)


def hides(epsilon: Fraction, delta: Fraction, reach: int) -> bool:
    """q^k·(1 - q + 2δq) <= δ·(1 + q), q = e^-ε: noise within ±k hides one unit more, but for a chance of δ."""
    q, d = (-decimal(epsilon)).exp(), decimal(delta)
    return epsilon * 10**30 >= 1 and (-decimal(epsilon * reach)).exp() * (1 - q + 2 * d * q) * ROOM <= d * (1 + q)


# ---------------------------------------------------------------- the certificate
def concluded(told: Any, before: list[Any]) -> Any:
    """What a step concludes, drawn anew."""
    step = read(told, {"rule": str, "of": tuple[Natural, ...], "says": Any, "gives": Any})
    of = [before[at] for at in step["of"]]
    rule = RULES.get((type(of[0] if of else None), step["rule"]))
    need(rule and len({(type(one), one.unit) for one in of}) <= 1, "there is no such rule for what it is given")
    by = {one.named_by for one in of if isinstance(one, Rows) and step["rule"] not in ("compute", "sums", "by_rank")}
    need(None not in by and len(by) <= 1, "these rows are nobody's, or of units that are named by other types")
    says = read(step["says"], {name: rule.__annotations__[name] for name in getfullargspec(rule).kwonlyargs})
    reads = [one for name, one in says.items() if name not in ("columns", "more")]  # which are new
    reads += [each for one in says.values() if type(one) is tuple for two in one if type(two) is tuple for each in two]
    need(all(each <= of[0].columns.keys() for each in reads if type(each) is frozenset), "a column is nowhere")
    found = rule(*of, **says)
    if isinstance(found, Rows):
        columns = MappingProxyType(dict(found.columns))
        need(len(columns) == len(found.columns), "two columns have one name")
        need(all(len(types) <= 1 for types in columns.values()), "a column is of two types")
        agreed = columns if found.rows == 1 and found.named_by else found.fixed & {*columns}  # one agrees with itself
        found = replace(found, columns=columns, fixed=frozenset(agreed))
    need(written((says, found)) == written((step["says"], step["gives"])), "it gives something else")
    return found


def verified(text: str) -> dict[str, Any]:
    """What a certificate says, if all of it follows."""
    need(len(text) <= LONGEST, "this is too long for a certificate")
    steps: list[Any] = []
    try:
        told: Any = json.loads(text)
        need(written(told) == text.removesuffix("\n"), "a certificate is written in one way only")
        read(told, CERTIFICATE)
        digest = sha256(written({name: one for name, one in told.items() if name != "digest"}).encode()).hexdigest()
        need(told["digest"] == digest, "its digest is of something else")
        need(sum("delta" in step["says"] for step in told["steps"]) <= PRICES, "too many of its prices are no ratios")
        with localcontext(Context(prec=120, Emin=MIN_EMIN, Emax=MAX_EMAX)):
            for step in told["steps"]:
                steps.append(concluded(step, steps))
        known: dict[str, Any] = {}  # nothing is declared in two ways: no unit, table or column, in capitals or not
        for says in (step["says"] for step in told["steps"] if step["rule"] == "scan"):
            columns = [(says["table"], name, how) for _, name, *how in says["columns"]]
            for *names, how in (*columns, (says["unit"][0], says["unit"]), (says["table"], 0, {**says, "columns": []})):
                need(known.setdefault(written(names).lower(), how) == how, "something is declared in two ways")
        used = {of for step in told["steps"] for of in step["of"]}
        need(all(isinstance(one, Loss) != (at in used) for at, one in enumerate(steps)), "a step leads to no loss")
        costs = [read(line, COST) for line in told["costs"]]
        need([line["unit"] for line in costs] == sorted({one.unit for one in steps}) != [], "these are others' costs")
        for line in costs:
            met = [one.event for one in steps if isinstance(one, Loss) and one.unit == line["unit"]]
            line |= {"epsilon": sum(epsilon for _, epsilon, _ in met), "delta": sum(delta for *_, delta in met)}
            need(Counter(map(written, met)) <= Counter(map(written, line["paid"])), "more was lost than was paid")
        need(written(costs) == written(told["costs"]), "all together it costs something else")
    except (Refused, TypeError, LookupError, ValueError, ArithmeticError, RecursionError) as why:
        said = why if isinstance(why, Refused) else "this is beyond what a certificate could say"
        raise Refused(f"after {len(steps)} steps: {said}" if steps else str(said)) from None
    return dict(told)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="privql.kernel.verify", description="check the certificate of an answer")
    for what in ("certificate", "--policy", "--query", "--answer"):
        parser.add_argument(what, type=Path)
    given = vars(parser.parse_args(arguments))
    try:
        with given.pop("certificate").open("rb") as file:
            told = verified(file.read(LONGEST + 2).decode("ascii"))
        for what in [what for what, path in given.items() if path is not None]:
            text = given[what].read_bytes()
            if what == "answer":  # its columns and rows, as JSON has them
                text = written({name: json.loads(text)[name] for name in ("columns", "rows")}).encode()
            salted = bytes.fromhex(told["commitments"]["salt"]) + f"{what}\0".encode() + text
            need(sha256(salted).hexdigest() == told["commitments"][what], f"its {what} is another one")
    except (Refused, OSError, ValueError, KeyError, TypeError, RecursionError) as why:
        print(f"refused: {why}")
        return 1
    for line in told["costs"]:
        print(f"holds: to {line['unit'][0]} it costs ε = {line['epsilon']}, δ = {line['delta']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
