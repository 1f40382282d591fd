"""Attacks on the verifier by hand: each is refused in one plain sentence, at once, whatever digest it carries."""

from __future__ import annotations

import ast
import copy
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any

import pytest

from privql.kernel import measure, picks, ranks, rules, selection, verify
from privql.kernel.cost import Cost
from privql.kernel.events import Losing
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.gaussian import greatest_mu, root_above
from privql.kernel.scalars import INT, TEXT, Field
from privql.kernel.sums import Key
from privql.kernel.terms import Link, Scan, Unit
from privql.kernel.verify import Refused, verified
from tests.kernel.proofs import certified, sealed_anew, text

Json = dict[str, Any]
PERSON = Unit("person")
A, CANDIDATES = Field("a", INT), Key(Field("b", INT), (1, 2, 3))
TABLE = Scan("t", PERSON, ("id", TEXT), False, (("a", INT), ("b", INT)))
ROWS = rules.keep_rows(rules.scan(TABLE), 2)
ONE, SMALL = Fraction(1), Fraction(1, 10**6)


def sum_of(low: int = 0, high: int = 9, scale: int = 18) -> Losing:
    return measure.laplace(ROWS, (), (Total(Steps(A, ONE, low, high)),), (Fraction(scale),))


def gaussian_of(epsilon: Fraction = ONE, delta: Fraction = SMALL) -> Losing:
    sigma = root_above(Fraction(4) / greatest_mu(epsilon, delta) ** 2)
    return measure.gaussian(ROWS, (), (Tally(),), (sigma,), Cost(epsilon, delta))


MADE: dict[str, Losing] = {
    "sum": sum_of(),
    "gaussian": gaussian_of(),
    "groups": selection.truncated_geometric(ROWS, (("k", A),), None, ONE, SMALL, True),
    "ranks": ranks.by_rank(
        ROWS, (), Steps(A, ONE, 0, 9), None, tuple(ranks.Rank(Fraction(n, 8)) for n in (1, 2, 4, 6, 7)), ONE
    ),
    "gumbel": picks.most_frequent(ROWS, (), CANDIDATES, None, 2, "GUMBEL", ONE, SMALL),
    "choice": picks.most_frequent(ROWS, (), CANDIDATES, None, 2, "FLIP", ONE),
}
TOLD = {name: json.loads(certified((one,))) for name, one in MADE.items()}


def why(told: str) -> str:
    """Why it is refused: in one sentence, at once."""
    start = process_time()
    with pytest.raises(Refused) as found:
        verified(told)
    said = str(found.value)
    assert said.isprintable() and 10 < len(said) < 200 and process_time() - start < 30
    return said


def put(*path: str | int, to: object) -> Callable[[Json], object]:
    def change(told: Any) -> object:
        for each in path[:-1]:
            told = told[each]
        told[path[-1]] = to
        return None

    return change


def last(*path: str | int, to: object) -> Callable[[Json], object]:
    return put("steps", -1, *path, to=to)


def says(name: str, to: object, step: int = -1) -> Callable[[Json], object]:
    return put("steps", step, "says", name, to=to)


def all_costs(kind: str, epsilon: str, delta: str = "0") -> Callable[[Json], object]:
    """Said so wherever it is said."""

    def change(told: Json) -> None:
        event = [kind, epsilon, delta]
        told["steps"][-1]["gives"]["event"] = event
        told["costs"][0] |= {"epsilon": epsilon, "delta": delta, "paid": [event]}

    return change


def both(*changes: Callable[[Json], object]) -> Callable[[Json], object]:
    return lambda told: [change(told) for change in changes]


FORGED: dict[str, tuple[str, Callable[[Json], object]]] = {
    # the order of steps
    "a step before those that it is given": ("sum", lambda told: told["steps"].reverse()),
    "a step that is given itself": ("sum", last("of", to=[3])),
    "two steps that are given each other": ("sum", put("steps", 1, "of", to=[2])),
    "a step that is not there": ("sum", last("of", to=[10**9])),
    "a step from the end": ("sum", last("of", to=[-2])),
    "no steps": ("sum", put("steps", to=[])),
    "no steps that lose": ("sum", lambda told: told["steps"].pop()),
    "a step that leads nowhere": ("sum", lambda told: told["steps"].insert(0, told["steps"][0])),
    "no costs": ("sum", put("costs", to=[])),
    "nothing at all": ("sum", both(put("steps", to=[]), put("costs", to=[]))),
    "costs said twice": ("sum", lambda told: told["costs"].append(told["costs"][0])),
    # numbers that are none
    "NaN": ("sum", says("scale", float("nan"))),
    "infinity": ("sum", put("steps", 1, "gives", "rows", to=float("inf"))),
    "a float": ("sum", put("steps", 1, "says", "limit", to=2.0)),
    "a truth value for a number": ("sum", put("steps", 1, "says", "limit", to=True)),
    "a number for a truth value": ("sum", put("steps", 0, "says", "key", to=0)),
    "a text for a number": ("sum", put("steps", 1, "says", "limit", to="2")),
    "a text for a list": ("sum", says("by", "12", 2)),
    "other digits": ("sum", says("scale", "\u0661\u0668")),
    "a ratio that could be shorter": ("sum", says("scale", "36/2")),
    "a ratio without end": ("sum", says("scale", "1" * 1300)),
    "an exponent": ("sum", says("scale", "18e0")),
    "a ratio over nothing": ("sum", says("scale", "18/0")),
    "a number without end": ("sum", put("steps", 1, "says", "limit", to=10**4000)),
    "steps of 10^4000": ("sum", says("steps", [[0, 10**4000, 1]], 2)),
    "ten thousand factors": ("sum", both(says("steps", [[0, 2, 1]] * 10**4, 2), says("cells", True, 2))),
    "a power without end": ("sum", both(says("steps", [[0, 2, 10**12]], 2), says("cells", True, 2))),
    "columns out of order": ("sum", says("by", [1, 0], 2)),
    "a column twice": ("sum", put("steps", 0, "says", "columns", 1, 0, to=0)),
    # numbers that would make it cheaper
    "no rows": ("sum", put("steps", 1, "says", "limit", to=0)),
    "fewer rows than none": ("sum", put("steps", 1, "says", "limit", to=-1)),
    "sums that are moved backwards": ("sum", put("steps", 2, "gives", "l1", to=-18)),
    "bounds the wrong way": ("sum", says("steps", [[9, 0, 1]], 2)),
    "bounds the wrong way, twice": ("sum", both(says("steps", [[9, 0, 1], [9, 0, 1]], 2), says("cells", True, 2))),
    "no number at all": ("sum", says("steps", [], 2)),
    "noise backwards": ("sum", says("scale", "-18")),
    "no noise": ("sum", says("scale", "0")),
    "a price below the noise": ("sum", all_costs("pure", "1/2")),
    "a price above the noise": ("sum", all_costs("pure", "2")),
    "a negative price": ("sum", all_costs("pure", "-1")),
    "a sum that is less than its parts": ("sum", put("costs", 0, "epsilon", to="1/2")),
    "paid by another event": ("sum", put("costs", 0, "paid", to=[["ranged", "1", "0"]])),
    "paid by the same sum": ("sum", put("costs", 0, "paid", to=[["pure", "1/2", "0"], ["pure", "1/2", "0"]])),
    "nothing paid": ("sum", put("costs", 0, "paid", to=[])),
    "paid for others": ("sum", put("costs", 0, "unit", to=["person", True])),
    "a unit of a name that draws a line of its own": ("sum", lambda told: told.update(json.loads(
        json.dumps(told).replace('"person"', '"nobody it costs nothing\\nholds: to person"')))),
    # noise that costs more than is said
    "Gaussian noise of more δ than charged": ("gaussian", both(says("delta", "1/10000000"), all_costs(
        "gaussian", "1", "1/10000000"))),
    "Gaussian noise of more ε than charged": ("gaussian", both(says("epsilon", "99/100"), all_costs(
        "gaussian", "99/100", "1/1000000"))),
    "Gaussian noise without δ": ("gaussian", both(says("delta", "0"), all_costs("gaussian", "1"))),
    "Gaussian noise with all of δ": ("gaussian", both(says("delta", "1"), all_costs("gaussian", "1", "1"))),
    "no deviations": ("gaussian", says("deviations", [])),
    "two deviations for one sum": ("gaussian", lambda told: told["steps"][-1]["says"]["deviations"].append("1")),
    "a small deviation": ("gaussian", says("deviations", ["1/1000"])),
    "an ε of 10^-1100": ("gaussian", both(says("epsilon", f"1/1{'0' * 1100}"), all_costs(
        "gaussian", f"1/1{'0' * 1100}", "1/1000000"))),
    "a deviation of 10^-1100": ("gaussian", says("deviations", [f"1/1{'0' * 1100}"])),
    "groups of more δ than charged": ("groups", both(says("delta", "1/10000000"), all_costs(
        "keys", "1", "1/10000000"))),
    "groups found by noise that reaches less far": ("groups", says("reach", 1)),
    "groups of more δ than there is": ("groups", both(says("delta", "2"), all_costs("keys", "1", "2"))),
    "choices at an order of 1": ("gumbel", says("order", "1")),
    "choices at no order": ("gumbel", says("order", "0")),
    "choices at an absurd order": ("gumbel", says("order", "1" + "0" * 1100)),
    "choices of more δ than charged": ("gumbel", both(says("delta", "1/10000000"), all_costs(
        "concentrated", "1", "1/10000000"))),
    "a choice fewer": ("choice", says("times", 1)),
    "no choices": ("choice", says("times", 0)),
    "the noise of sums for choices": ("choice", says("way", "LAPLACE")),
    "the noise of choices for sums": ("sum", says("way", "FLIP")),
    "noise of no name": ("sum", says("way", "UNIFORM")),
    # draws
    "two draws first": ("ranks", lambda told: told["steps"][-1]["says"]["draws"][0].__setitem__(2, 0)),
    "no draw first": ("ranks", lambda told: [each.__setitem__(2, each[2] + 1) for each in
        told["steps"][-1]["says"]["draws"]]),
    "three sides of a cut": ("ranks", lambda told: [each.__setitem__(2, min(each[2], 1)) for each in
        told["steps"][-1]["says"]["draws"]]),
    "draws that cut too late": ("ranks", lambda told: [each.__setitem__(2, 10**9 * each[2]) for each in
        told["steps"][-1]["says"]["draws"]]),
    "a draw beyond all": ("ranks", lambda told: told["steps"][-1]["says"]["draws"][0].__setitem__(0, "9/8")),
    "a thousand cuts": ("ranks", says("draws", [["1/2", "1", depth] for depth in range(5000)])),
    # rules
    "a rule of no name": ("sum", last("rule", to="")),
    "a rule that is none": ("sum", last("rule", to="__init__")),
    "a rule that is a helper": ("sum", put("steps", 2, "rule", to="_bounded")),
    "a rule that is a field": ("sum", put("steps", 2, "rule", to="rows")),
    "a rule for something else": ("sum", last("rule", to="keep")),
    "a scan of something": ("sum", put("steps", 0, "of", to=[0])),
    "given twice": ("sum", last("of", to=[2, 2])),
    "given nothing": ("sum", last("of", to=[])),
    "given too little": ("sum", put("steps", 1, "rule", to="keep_groups")),
    "a field more": ("sum", says("why", "because")),
    "a field more of a step": ("sum", last("why", to="because")),
    "a field less": ("sum", lambda told: told["steps"][-1]["says"].pop("times")),
    "no object": ("sum", put("steps", 1, "says", to=[])),
    "nothing concluded": ("sum", put("steps", 1, "gives", to=None)),
}  # fmt: skip


def test_what_is_forged_here_holds_as_it_was_made() -> None:
    for told in TOLD.values():
        verified(text(told))


@pytest.mark.parametrize("name", FORGED)
def test_a_forgery_under_a_digest_of_its_own_is_refused(name: str) -> None:
    of, change = FORGED[name]
    told = copy.deepcopy(TOLD[of])
    change(told)
    assert json.dumps(told) != json.dumps(TOLD[of])
    why(sealed_anew(told))


class _Lax(ast.NodeTransformer):
    """The verifier, if it let everything pass."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        guard = (
            isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "need"
        )
        return ast.Pass() if guard else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[form, _])):
                return form
        return node


def lax() -> Any:
    made = ModuleType("tests.kernel.lax")
    sys.modules[made.__name__] = made  # where dataclasses look for it
    tree = ast.fix_missing_locations(_Lax().visit(ast.parse(Path(verify.__file__).read_text("utf-8"))))
    exec(compile(tree, "lax", "exec", dont_inherit=True), made.__dict__)
    return made


LAX = lax()


def completed(told: Json) -> Json:
    """As the best of forgers would leave it: whatever follows from what was changed is concluded, priced and paid."""
    steps: list[Any] = []
    for step in told["steps"]:
        found = LAX.concluded(step, steps)
        step["gives"] = json.loads(LAX.written(found))
        steps.append(found)
    met = [one.event for one in steps if isinstance(one, LAX.Loss)]
    prices = {"epsilon": str(sum(one[1] for one in met)), "delta": str(sum(one[2] for one in met))}
    told["costs"][0] |= {**prices, "paid": json.loads(LAX.written(met)), "unit": list(steps[0].unit)}
    return told


def step(rule: str, of: list[int], **told: Any) -> Json:
    return {"rule": rule, "of": of, "says": told, "gives": {}}


def instead(*steps: Json) -> Callable[[Json], object]:
    """These after the scan."""
    return lambda told: told["steps"].__setitem__(slice(1, None), list(steps))


def beside(limit: int = 1, **told: Any) -> Callable[[Json], object]:
    """Rows of another table, as it is told, beside these."""

    def change(made: Json) -> None:
        scan = copy.deepcopy(made["steps"][0])
        scan["says"] |= {**told, "columns": []}
        join = step("join", [2, 3], kind="INNER", on=[], asks=[])
        kept = [step("keep", [at], limit=limit) for at in (0, 1)]
        made["steps"][1:] = [scan, *kept, join, {**SUMS, "of": [4]}, {**NOISE, "of": [5]}]

    return change


def scan(*columns: list[Any], **told: Any) -> Json:
    """Of the table, as it is told otherwise."""
    says = copy.deepcopy(TOLD["sum"]["steps"][0]["says"])
    return step("scan", [], **{**says, "columns": [list(column) for column in columns], **told})


def counted(*steps: Json, of: int = -1) -> Callable[[Json], object]:
    """How many rows there are after these, or after one of them."""
    at = of % len(steps)
    sums = {**SUMS, "of": [at]}, {**NOISE, "of": [len(steps)]}
    return lambda told: told["steps"].__setitem__(slice(None), copy.deepcopy([*steps, *sums]))


def asked(rule: str, asks: list[int]) -> Callable[[Json], object]:
    """Ten rows a unit meet others, by what they are asked for; and then units are in as many groups as they met."""
    keys = [[20, [11], "INT"]]
    rows = [scan([0, "a", "INT", False]), step("keep", [0], limit=10)]
    if rule == "lookup":
        on = [[[0, "INT"], [10, "INT"]]]
        rows.append(step("lookup", [1], columns=[10, 11], asks=asks, most=1, on=on))
    else:
        other = scan([10, "x", "INT", False], [11, "y", "INT", False], table="u")
        on = [[[0, "INT"], [10, "INT"]]]
        rows += [other, step("keep", [2], limit=1), step("join", [1, 3], kind="LEFT", on=on, asks=asks)]
    return counted(*rows, step("gather", [len(rows) - 1], keys=keys, more=[], listed=None))


def met(left: str, right: str, ours: int = 0, theirs: int = 10, kind: str = "INT") -> Callable[[Json], object]:
    """A unique column of ten rows meets another of ten, which is said to be of its type."""
    first, other = scan([0, "a", left, True]), scan([10, "x", right, False], table="u")
    kept = [step("keep", [at], limit=10) for at in (0, 1)]
    on = [[[ours, kind], [theirs, kind]]]
    return counted(first, other, *kept, step("join", [2, 3], kind="INNER", on=on, asks=[0]))


KEEP = step("keep", [0], limit=2)
TALLY = {"groups": 1, "by": [], "cells": False, "steps": [[0, 1, 1]]}
SUMS, NOISE = step("sums", [1], **TALLY), step("noise", [2], way="LAPLACE", scale="2", times=1)
PRICED = {"epsilon": "1", "delta": "1/1000000"}
UNSOUND: dict[str, tuple[str, Callable[[Json], object]]] = {
    "no rows": ("sum", says("limit", 0, 1)),
    "fewer rows than none": ("sum", says("limit", -1, 1)),
    "a column that is no column, but NULLs": ("sum", put("steps", 0, "says", "columns", 0, 0, to=-1)),
    "two columns of one name": ("sum", instead(KEEP, step("learn", [1], columns=[0], asks=[]), {**SUMS, "of": [2]},
        {**NOISE, "of": [3]})),
    "noise backwards": ("sum", says("scale", "-18")),
    "noise on nothing": ("sum", instead(KEEP, step("sums", [1], **{**TALLY, "steps": [[0, 0, 1]]}), NOISE)),
    "bounds the wrong way": ("sum", says("steps", [[9, 0, 1]], 2)),
    "bounds that no sum of rows could hold": ("sum", says("steps", [[0, 2**63, 1]], 2)),
    "two numbers for one": ("sum", says("steps", [[0, 1, 1], [0, 2**40, 1]], 2)),
    "a square for a number": ("sum", says("steps", [[0, 9, 2]], 2)),
    "a draw before all": ("ranks", lambda told: told["steps"][-1]["says"]["draws"][0].__setitem__(0, "-1/8")),
    "a draw beyond all": ("ranks", lambda told: told["steps"][-1]["says"]["draws"][0].__setitem__(0, "9/8")),
    "draws backwards": ("ranks", lambda told: told["steps"][-1]["says"]["draws"][0].__setitem__(1, "-9")),
    "half of the draws": ("ranks", says("draws", [])),
    "choices at an order below 1": ("gumbel", says("order", "1/2")),
    "no choices": ("choice", says("times", 0)),
    "the noise of sums for choices": ("choice", says("way", "LAPLACE")),
    "the noise of choices for sums": ("sum", says("way", "FLIP")),
    "Gaussian noise for choices": ("choice", lambda told: told["steps"].__setitem__(-1, step(
        "gaussian", [2], deviations=["100"], **PRICED))),
    "Gumbel noise for sums": ("sum", lambda told: told["steps"].__setitem__(-1, step(
        "gumbel", [2], scale="1000", times=1, order="30", **PRICED))),
    "Gaussian noise that is not paid for": ("gaussian", says("deviations", ["1"])),
    "Gaussian noise for a δ of 0": ("gaussian", says("delta", "0")),
    "Gumbel noise that is not paid for": ("gumbel", says("scale", "1")),
    "groups for a δ of 2": ("groups", says("delta", "2")),
    "groups found by noise that reaches less far": ("groups", says("reach", 1)),
    "levels of two rows a unit": ("sum", instead(KEEP, step("levels", [1]), {**NOISE, "says": {
        "way": "NOISY_MINIMUM", "scale": "2", "times": 1}})),
    "public rows compared in another type": ("sum", instead(KEEP, step("lookup", [1], columns=[7], asks=[0], most=1,
        on=[[[0, "INT"], [7, "FLOAT"]]]), {**SUMS, "of": [2]}, {**NOISE, "of": [3]})),
    "a set operation of sides that differ": ("sum", instead(KEEP, step("compute", [1], columns=[[9, 0]]), step(
        "combine", [1, 2], op="EXCEPT"), {**SUMS, "of": [3]}, {**NOISE, "of": [4]})),
    "rows that are nobody's, each once more": ("sum", instead(KEEP, step("once", [1]), step("keep", [2], limit=1),
        {**SUMS, "of": [3]}, {**NOISE, "of": [4]})),
    "a unit of two types": ("sum", beside(by=["id", "INT"])),
    "fewer rows than none beside as many": ("sum", beside(limit=-1)),
    "two units": ("sum", beside(unit=["ward", False])),
    # what is asked, and what there is
    "public rows that are asked for nothing, though compared": ("sum", asked("lookup", [])),
    "rows beside that are asked for nothing, though compared": ("sum", asked("join", [])),
    "what is asked is nowhere": ("sum", asked("lookup", [0, 30])),
    "two columns compared in a type that one is not of": ("sum", met("INT", "FLOAT")),
    "two columns compared in a type that the other is not of": ("sum", met("FLOAT", "INT")),
    "a column compared that is nowhere": ("sum", met("INT", "INT", theirs=30)),
    "a column compared that is on the other side": ("sum", met("INT", "INT", theirs=0)),
    "a column of ours compared that is nowhere": ("sum", met("INT", "INT", ours=30)),
    "a public column compared that is nowhere": ("sum", counted(scan([0, "a", "INT", False]), KEEP, step(
        "lookup", [1], columns=[10], asks=[0], most=1, on=[[[0, "INT"], [11, "INT"]]]))),
    "a copy compared in another type": ("sum", counted(scan([0, "a", "FLOAT", True]), scan(
        [10, "x", "INT", False], table="u"), step("keep", [0], limit=9), step("keep", [1], limit=9), step(
        "compute", [2], columns=[[1, 0]]), step("join", [4, 3], kind="INNER", asks=[1],
        on=[[[1, "INT"], [10, "INT"]]]))),
    "a column compared in two types, one after the other": ("sum", counted(scan([0, "a", "INT", False]), KEEP, step(
        "compute", [1], columns=[[1, [0]]]), *(step("lookup", [2 + more], columns=[10 + more], asks=[1], most=1, on=[
        [[1, kind], [10 + more, kind]]]) for more, kind in enumerate(("INT", "TEXT"))))),
    "a union of two types": ("sum", counted(scan([0, "a", "INT", False]), scan([0, "x", "FLOAT", False], table="u"),
        step("keep", [0], limit=2), step("keep", [1], limit=2), step("combine", [2, 3], op="UNION"))),
    "groups of another type": ("sum", counted(scan([0, "a", "INT", False]), KEEP, step(
        "gather", [1], keys=[[3, [0], "FLOAT"]], more=[], listed=None), step("keep", [2], limit=1), step(
        "keep_groups", [1, 3], same=[[0, 3]]))),
    "groups by what is nowhere": ("sum", counted(scan([0, "a", "INT", False]), KEEP, step(
        "gather", [1], keys=[[3, [8], "INT"]], more=[], listed=None))),
    "groups that equal what is nowhere": ("sum", counted(scan([0, "a", "INT", False]), KEEP, step(
        "gather", [1], keys=[[3, [0], "INT"]], more=[], listed=None), step("keep_groups", [1, 2], same=[[8, 3]]))),
    "what is computed of what is nowhere": ("sum", counted(scan([0, "a", "INT", False]), KEEP, step(
        "compute", [1], columns=[[3, [8]]]))),
    "a copy of what is nowhere": ("sum", counted(scan([0, "a", "INT", False]), KEEP, step(
        "compute", [1], columns=[[3, 8]]))),
    "what is learnt by what is nowhere": ("sum", counted(scan([0, "a", "INT", False]), KEEP, step(
        "learn", [1], columns=[3], asks=[8]))),
    "sums by what is nowhere": ("sum", says("by", [8], 2)),
    # what no owner can declare
    "a key along a reference": ("sum", counted(scan(key=True, via=[["a", "u", "id", "TEXT"]]))),
    "a reference to no column": ("sum", counted(scan(by=None, via=[["a", "u", "id", "TEXT"]]))),
    "a column that is each row itself": ("sum", counted(scan(by=["id", "ROW"]), KEEP)),
    **{f"a table declared anew: {what}": ("sum", counted(scan(first), step("keep", [0], limit=1), scan(
        second, **told), step("keep", [2], limit=1), step("join", [1, 3], kind="INNER", on=[], asks=[])))
        for what, (first, second, told) in {
            "as a key": ([0, "a", "INT", False], [1, "b", "INT", False], {"key": True}),
            "by another column": ([0, "a", "INT", False], [1, "b", "INT", False], {"by": ["who", "TEXT"]}),
            "in capitals": ([0, "a", "INT", False], [1, "b", "INT", False], {"table": "T", "key": True}),
            "a column is unique": ([0, "a", "INT", False], [1, "a", "INT", True], {}),
            "a column is of another type": ([0, "a", "INT", False], [1, "A", "TEXT", False], {}),
        }.items()},
    "rows that were left out": ("sum", instead(KEEP, SUMS, NOISE, step("keep", [0], limit=1))),
    "a sum without noise": ("sum", instead(KEEP, SUMS, NOISE, {**SUMS})),
}  # fmt: skip


def test_what_the_best_forger_leaves_honest_holds() -> None:
    for told in TOLD.values():
        verified(sealed_anew(completed(copy.deepcopy(told))))
    changed = copy.deepcopy(TOLD["sum"])
    says("limit", 3, 1)(changed)
    verified(sealed_anew(completed(changed)))  # a proof of another query: of which it is, its papers say


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_unsound_is_refused_though_all_that_follows_from_it_was_changed_with_it(name: str) -> None:
    of, change = UNSOUND[name]
    told = copy.deepcopy(TOLD[of])
    change(told)
    with suppress(LookupError, ValueError):  # of what is nowhere nothing follows
        completed(told)
    why(sealed_anew(told))


def test_rows_without_a_bound_have_no_sums() -> None:
    told = {**TOLD["sum"], "steps": [TOLD["sum"]["steps"][0], step("sums", [0], **TALLY), {**NOISE, "of": [1]}]}
    assert "nothing bounds" in why(sealed_anew(told))


def _spliced(rows: Json, sums: Json) -> Json:
    """The sum of one, over the rows of another."""
    made = copy.deepcopy(sums)
    made["steps"][:2] = copy.deepcopy(rows["steps"][:2])
    return made


def test_what_holds_beside_what_is_forged() -> None:
    """The same relations, told as they are: so nothing above is refused for what is right in it."""
    told = copy.deepcopy(TOLD["sum"])
    for change in (asked("lookup", [0]), asked("join", [0]), met("INT", "INT"), met("FLOAT", "FLOAT", kind="FLOAT")):
        change(told)
        verified(sealed_anew(completed(told)))
    asked("join", [0])(told)
    dear = completed(told)["costs"][0]["epsilon"]
    assert (dear, completed(told)["steps"][5]["gives"]["rows"]) == ("5", 10)  # a tenth of it, were nothing asked
    key = scan([0, "a", "INT", False]), step("keep", [0], limit=1), scan([1, "b", "INT", False]), step(
        "keep", [2], limit=1), step("join", [1, 3], kind="INNER", on=[], asks=[])  # fmt: skip
    counted(*key)(told)
    verified(sealed_anew(completed(told)))


@pytest.mark.parametrize("other", [["person", True], ["Person", False]])
def test_one_unit_is_one_unit(other: list[Any]) -> None:
    """However it is written, and whoever its neighbours are: what it costs is one sum, and not two lines."""
    told = copy.deepcopy(TOLD["sum"])
    steps = copy.deepcopy(told["steps"])
    for each in steps:
        each["of"] = [of + len(steps) for of in each["of"]]
        if each["rule"] == "scan":
            each["says"] |= {"unit": other, "table": "u"}
    told["steps"] += steps
    line = completed(told)["costs"][0]
    told["costs"] = []
    for unit in sorted([["person", False], other]):
        (event,) = (
            one["gives"]["event"] for one in told["steps"] if one["gives"].get("event") and one["gives"]["unit"] == unit
        )
        told["costs"].append({**line, "unit": unit, "epsilon": event[1], "delta": "0", "paid": [event]})
    assert "two ways" in why(sealed_anew(told))


def test_steps_of_two_certificates_make_no_third() -> None:
    """The sums of a relation of two rows a unit over one of seven; over one of two rows it is a proof, of that."""
    wide = json.loads(certified((measure.laplace(rules.keep_rows(rules.scan(TABLE), 7), (), (Tally(),), (ONE,)),)))
    assert "gives something else" in why(sealed_anew(_spliced(wide, TOLD["sum"])))
    other = rules.keep_rows(rules.scan(Scan("u", PERSON, ("id", TEXT), False, (("a", INT),))), 2)
    alike = json.loads(certified((measure.laplace(other, (), (Tally(),), (ONE,)),)))
    spliced = _spliced(alike, TOLD["sum"])
    verified(sealed_anew(spliced))  # true of another table: the policy, the ledger and its signature say whose it is
    assert "digest" in why(text(spliced))
    units = json.loads(json.dumps(TOLD["sum"]).replace("person", "ward"))
    mixed = {**TOLD["sum"], "steps": [*TOLD["sum"]["steps"][:2], *units["steps"][2:]]}
    why(sealed_anew(mixed))


def test_rows_of_two_units_and_rows_that_are_nobodys_meet_no_others() -> None:
    steps = [*TOLD["sum"]["steps"][:2]]
    ward = json.loads(json.dumps(steps[0]).replace("person", "ward"))
    same = {**steps[0], "says": {**steps[0]["says"], "by": ["id", "INT"]}, "gives": {**steps[0]["gives"]}}
    same["gives"]["named_by"] = "INT"
    for other in (ward, same):
        join = {"rule": "join", "of": [0, 1], "says": {"kind": "INNER", "on": [], "asks": []}, "gives": {}}
        assert "after 2 steps: " in why(sealed_anew({**TOLD["sum"], "steps": [steps[0], other, join]}))
    nobody = {"rule": "once", "of": [1], "says": {}, "gives": {**steps[1]["gives"], "named_by": None}}
    for rule, told in (("keep", {"limit": 1}), ("learn", {"columns": [9], "asks": None}), ("levels", {})):
        after = {"rule": rule, "of": [2], "says": told, "gives": {}}
        assert "nobody's" in why(sealed_anew({**TOLD["sum"], "steps": [*steps, nobody, after]}))


def test_references_and_keys_do_not_go_together() -> None:
    link = Link("who", "people", ("id", TEXT))
    rows = rules.keep_rows(rules.scan(Scan("t", PERSON, ("id", TEXT), False, (("id", TEXT),), (link,))), 1)
    told = json.loads(certified((measure.laplace(rows, (), (Tally(),), (ONE,)),)))
    verified(text(told))
    told["steps"][0]["says"]["via"] = []  # then the column that names the unit would be one in which its rows agree
    why(sealed_anew(told))


def _body(told: Json) -> str:
    return text(told)


TEXTS: dict[str, str] = {
    "a field twice": _body(TOLD["sum"]).replace('"digest":', '"release":"r7","digest":', 1),
    "a field twice, within": _body(TOLD["sum"]).replace('"limit":2', '"limit":1,"limit":2', 1),
    "deep lists": '{"certificate":' + "[" * 200_000 + "]" * 200_000 + "}",
    "deep objects": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "10 MB": _body({**TOLD["sum"], "release": "r" * 10**7}),
    "10 MB of steps": _body({**TOLD["sum"], "steps": TOLD["sum"]["steps"] * 20_000}),
    "10 MB of digits": '{"certificate":' + "1" * 10**7 + "}",
    "blanks": _body(TOLD["sum"]).replace(",", ", "),
    "two of them": _body(TOLD["sum"]) * 2,
    "fields in another order": json.dumps(dict(reversed(TOLD["sum"].items())), separators=(",", ":")),
    "an escape that need not be": _body(TOLD["sum"]).replace('"person"', '"\\u0070erson"', 1),
    "a lone surrogate": _body({**TOLD["sum"], "release": "\ud800"}),
    "minus nothing": _body(TOLD["sum"]).replace("[0,9,1]", "[-0,9,1]"),
    "a text": '"certificate"',
    "nothing": "",
    "null": "null",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_written_otherwise_is_refused(name: str) -> None:
    assert TEXTS[name] != _body(TOLD["sum"])
    why(TEXTS[name])


def _full(made: Callable[[int], Json]) -> str:
    """About as much of it as a certificate can hold."""
    many = 400
    while many < 10**5 and len(text(made(many * 11 // 10))) < verify.LONGEST:
        many = many * 11 // 10
    return sealed_anew(made(many))


ALIKE = 2**61 - 1  # numbers that differ by it have one hash


def _paid(many: int) -> Json:
    """Prices of one hash, more than were met."""
    line = TOLD["sum"]["costs"][0]
    more = [["pure", str(5 + ALIKE * (at + 1)), "0"] for at in range(many)]
    return {**TOLD["sum"], "costs": [{**line, "paid": [*line["paid"], *more]}]}


def _after(*steps: Json, scanned: Json | None = None) -> Json:
    """Steps after a scan, what they give being left to whoever comes so far."""
    return {**TOLD["sum"], "steps": [scanned or TOLD["sum"]["steps"][0], *steps]}


def _wide(many: int, unique: bool) -> Json:
    """A scan of so many columns that holds, one row a unit."""
    columns = [[at, str(at), "", unique] for at in range(many)]
    says = {**TOLD["sum"]["steps"][0]["says"], "columns": columns, "key": True}
    alone = [[], *([-1, at] for at in range(many) if unique)]
    gives = {"columns": [*range(many)], "fixed": [*range(many)], "rows": 1, "unique": alone}
    return step("scan", [], **says) | {"gives": {**TOLD["sum"]["steps"][0]["gives"], **gives}}


def _joined(many: int) -> Json:
    """By many columns, where each of many is unique."""
    on = [[[at % many, ""], [at % many, ""]] for at in range(2 * many)]
    return _after(step("join", [0, 0], kind="INNER", on=on, asks=[*range(many)]), scanned=_wide(many, True))


def _cells(many: int) -> Json:
    """Row functions of columns of which the sets have few hashes."""
    columns = [[at, [bit for bit in range(14) if at >> bit & 1]] for at in range(many)]
    return _after(step("compute", [0], columns=columns), scanned=_wide(14, False))


def _noise(rule: str, **told: Any) -> Callable[[int], Json]:
    """Prices that are no ratios, each another."""
    of, kind = KINDS[rule]
    head = of["steps"][:-1]

    def made(many: int) -> Json:
        steps, prices = list(head), [str(Fraction(at + 2, at + 1)) for at in range(min(many, verify.PRICES))]
        for each in prices:
            steps.append(step(rule, [len(head) - 1], **told, epsilon=each, delta="1/2"))
            steps[-1]["gives"] = {"event": [kind, each, "1/2"], "unit": ["person", False]}
        return {**of, "steps": steps}

    return made


KINDS = {
    "gaussian": (TOLD["gaussian"], "gaussian"),
    "gumbel": (TOLD["gumbel"], "concentrated"),
    "truncated_geometric": (TOLD["groups"], "keys"),
}
COUNTED = step("counts", [0]) | {"gives": {"l1": 1, "l2_squared": 1, "unit": ["person", False], "what": "counts"}}
SLOW: dict[str, Callable[[int], Json]] = {
    "prices of one hash": _paid,
    "columns of one hash": lambda many: _after(
        step("compute", [0], columns=[[1, [ALIKE * at for at in range(many)]]])),
    "columns of one remainder": lambda many: _after(
        step("learn", [0], columns=[2], asks=[at % 32 << 11 for at in range(many)])),
    "a join by many columns": _joined,
    "many row functions": _cells,
    "Gaussian noise": _noise("gaussian", deviations=["8"]),
    "choices": _noise("gumbel", scale="100", times=1, order="30"),
    "found groups": _noise("truncated_geometric", keys=[0], most=1, reach=400),
    "draws side by side": lambda many: _after(TOLD["ranks"]["steps"][1], step(
        "by_rank", [1], groups=1, draws=[["1/2", "1", min(at, 63)] for at in range(many)])),
    "draws that are cut in two": lambda many: _after(TOLD["ranks"]["steps"][1], step("by_rank", [1], groups=1, draws=[
        ["1/2", str(at), 16 - (at & -at).bit_length()] for at in range(1, min(many, 2**15))])),
    "what is asked of many columns": lambda many: _after(
        step("learn", [0], columns=[*range(many, 2 * many)], asks=[*range(many)]), scanned=_wide(many, False)),
    "choices by many columns": lambda many: _after(*([COUNTED | {"says": {"groups": 1, "by": [*range(many)]}}] * 9),
        scanned=_wide(many, True)),
    "one number added over and over": lambda many: {**TOLD["gaussian"], "steps": [*TOLD["gaussian"]["steps"][:3],
        step("gaussian", [2] * many, deviations=["1"] * many, **PRICED)]},
}  # fmt: skip


@pytest.mark.parametrize("name", SLOW)
def test_no_text_takes_long(name: str) -> None:
    """Two seconds for the longest of them, whoever thought it out."""
    told = _full(SLOW[name])
    assert len(told) <= verify.LONGEST
    start = process_time()
    with suppress(Refused):
        verified(told)
    took = process_time() - start
    print(f"{len(told)} bytes in {took:.2f} s")
    assert took < 2


def test_ratios_of_which_sums_grow_are_added_up_in_time() -> None:
    """As many as a certificate can have, each as long as it may be, and without a common denominator."""
    many, long = verify.LONGEST // 1250, 10**1190
    draws = [["1/2", f"{long // 10**600 + 2 * n + 1}/{10**590 + 2 * n + 1}", n] for n in range(many)]
    rows = {"rule": "by_rank", "of": [1], "says": {"groups": 1, "draws": draws}, "gives": {}}
    assert "after 2 steps: " in why(sealed_anew({**TOLD["sum"], "steps": [*TOLD["sum"]["steps"][:2], rows]}))
    one = TOLD["gaussian"]["steps"]
    noise = {**one[-1], "of": [2] * many}
    noise["says"] = {**noise["says"], "deviations": [str(long + 2 * n + 1) for n in range(many)], "delta": "1/9"}
    assert "after 3 steps: " in why(sealed_anew({**TOLD["gaussian"], "steps": [*one[:-1], noise]}))


def test_as_many_steps_as_a_certificate_can_have_are_read_in_time() -> None:
    """Each is checked and paid for: nothing in it takes longer the more there is."""
    one, steps = TOLD["gaussian"], []
    head, sums, loss = one["steps"][:2], one["steps"][2], one["steps"][3]
    many = verify.LONGEST // len(text([sums, loss])) // 4
    for at in range(many):
        steps += [sums, {**loss, "of": [2 + 2 * at]}]
    paid = [["gaussian", "1", "1/1000000"]] * many
    costs = {**one["costs"][0], "epsilon": str(many), "delta": str(Fraction(many, 10**6)), "paid": paid}
    start = process_time()
    verified(sealed_anew({**one, "steps": [*head, *steps], "costs": [costs]}))
    print(f"{2 * many} steps in {process_time() - start:.1f} s")
