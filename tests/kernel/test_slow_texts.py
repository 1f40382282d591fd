"""Nothing that can be told takes the verifier long, whoever thought it out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from time import process_time
from typing import Any

import pytest

from privql.kernel import verify
from privql.kernel.verify import Refused, verified
from tests.kernel.forging import PRICED, TOLD, Json, step, why
from tests.kernel.proofs import sealed_anew, text


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
