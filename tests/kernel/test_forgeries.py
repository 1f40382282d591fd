"""Attacks on the verifier by hand: each is refused in one plain sentence, at once, whatever digest it carries."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest

from privql.kernel import measure, rules
from privql.kernel.features import Tally
from privql.kernel.scalars import INT, TEXT
from privql.kernel.terms import Link, Scan
from privql.kernel.verify import verified
from tests.kernel.forging import ONE, PERSON, TABLE, TOLD, Json, all_costs, both, last, put, says, why
from tests.kernel.proofs import certified, sealed_anew, text

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


def _spliced(rows: Json, sums: Json) -> Json:
    """The sum of one, over the rows of another."""
    made = copy.deepcopy(sums)
    made["steps"][:2] = copy.deepcopy(rows["steps"][:2])
    return made


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
