"""The verifier takes every certificate that the rules lead to, and none in which anything was changed."""

from __future__ import annotations

import ast
import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privql.kernel import events, measure, picks, ranks, relating, selection, verify
from privql.kernel.gaussian import greatest_mu
from privql.kernel.normal import mills
from privql.kernel.selection import Count, reach_of
from privql.kernel.stable import Stable
from privql.kernel.verify import Refused, verified
from privql.kernel.zcdp import best_order, greatest_rho
from tests.kernel.proofs import certified, changed, leaves, proofs, sealed_anew, text

SOAK = bool(os.environ.get("PRIVQL_SOAK"))
BATCHES, EACH, CHANGES = (1000, 100, 1) if SOAK else (8, 20, 3)


def refused(told: str) -> bool:
    try:
        verified(told)
    except Refused:
        return True
    return False


def seeds(batch: int) -> range:
    return range(batch * EACH, (batch + 1) * EACH)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_all_certificates_hold_and_none_in_which_one_thing_was_changed(batch: int) -> None:
    held = caught = tried = 0
    for seed in seeds(batch):
        told, choice = certified(proofs(seed)), random.Random(seed)
        held += not refused(told)
        for path in choice.sample(list(leaves(json.loads(told))), CHANGES):
            caught += refused(text(changed(json.loads(told), path, choice)))
            tried += 1
    print(f"accepted {held} of {EACH}, refused {caught} of {tried} that were changed")
    assert held == EACH and caught == tried


ELSEWHERE = {"release", "commitments"}  # what other papers say: the ledger, the policy, the query, the answer


def concluded(path: tuple[str | int, ...]) -> bool:
    """Whether it is a conclusion or a price - and not what a rule was given or told, from which others follow."""
    return path[0] not in {*ELSEWHERE, "digest"} and not {"says", "of", "budget"} & {*path}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_nobody_forges_a_conclusion_or_a_price_by_making_the_digest_anew(batch: int) -> None:
    caught = tried = 0
    for seed in seeds(batch):
        told, choice = json.loads(certified(proofs(seed))), random.Random(seed)
        for path in choice.sample([path for path in leaves(told) if concluded(path)], CHANGES + 1):
            caught += refused(sealed_anew(changed(told, path, choice)))
            tried += 1
    print(f"refused {caught} of {tried} forged ones")
    assert caught == tried


def _less(of: Callable[..., Any], by: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *given, **named: by(of(*given, **named))


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "a join has as many rows as its longer side": (relating, "_times", relating._most),
    "a union has as many rows as its longer side": (
        relating,
        "_plus",
        lambda one, other, more=0: relating._most(one, other),
    ),
    "any side of a join is unique": (relating, "_unique_in", lambda side, values: True),
    "all rows of a unit ask the same": (relating, "_asks_alike", lambda *given: True),
    "all rows of a unit agree": (Stable, "determined", property(lambda self: self.columns)),
    "half of L2": (
        measure,
        "sensitivity",
        _less(measure.sensitivity, lambda s: replace(s, l2_squared=-(-s.l2_squared // 2))),
    ),
    "one unit changed moves as one more": (
        measure,
        "sensitivity",
        lambda u, *a: SENSITIVITY(replace(u, change_one=False), *a),
    ),
    "powers reach half as far": (measure, "reach", _less(measure.reach, lambda w: replace(w, l1=-(-w.l1 // 2)))),
    "Gaussian noise is cheaper": (measure, "greatest_mu", _less(greatest_mu, lambda mu: 2 * mu)),
    "a unit moves ranks half as far": (ranks, "moved", _less(ranks.moved, lambda far: -(-far // 2))),
    "choices are moved by one": (picks, "moved", lambda *given: 1),
    "Gumbel noise is cheaper": (picks, "greatest_rho", _less(greatest_rho, lambda rho: 2 * rho)),
    "units changed are in as many groups": (selection, "moved", lambda unit, most: most),
    "noise on numbers reaches less far": (selection, "reach_of", _less(reach_of, lambda k: max(k - 1, 1))),
}
SENSITIVITY = measure.sensitivity


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_rule_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    room, name, wrong = FAULTS[fault]
    monkeypatch.setattr(room, name, wrong)
    if name in ("greatest_mu", "greatest_rho"):
        monkeypatch.setattr(events, name, wrong)
    assert any(refused(certified(proofs(seed))) for seed in range(300))


# ---------------------------------------------------------------- numbers of its own


def test_prices_of_noise_are_those_of_the_kernel_to_its_last_digit() -> None:
    choice = random.Random(5)
    for _ in range(60):
        epsilon = Fraction(choice.randint(1, 10**5), choice.choice((1, 10**3, 10**5, 10**9)))
        delta = Fraction(choice.randint(1, 999), 10 ** choice.choice((3, 6, 12, 40)))
        mu, rho, order = greatest_mu(epsilon, delta), greatest_rho(epsilon, delta), best_order(epsilon, delta)
        nearly, more = Fraction(999_999, 10**6), Fraction(100_002, 10**5)
        with verify.localcontext(verify.Context(prec=120)):
            assert verify.gaussian_pays(epsilon, delta, verify.decimal(mu**2))
            assert not verify.gaussian_pays(epsilon, delta, verify.decimal((mu * more) ** 2))
            assert verify.concentrated_pays(epsilon, delta, rho * nearly, order)
            # the kernel leaves out what is small in its series
            assert not verify.concentrated_pays(epsilon, delta, rho * Fraction(11, 10), order)


def test_no_digit_that_was_rounded_makes_a_price_cheaper() -> None:
    """All three are 10^-80 dearer than they are: at the last digit that they tell apart they are refused."""
    exact = verify.Context(prec=400, Emin=verify.MIN_EMIN, Emax=verify.MAX_EMAX)
    assert 1 + Fraction(1, 10**80) == verify.ROOM
    choice, held = random.Random(9), 0
    for _ in range(60):
        order = 1 + Fraction(choice.randint(1, 999), 100) * Fraction(10) ** choice.randint(-9, 26)
        rho = Fraction(choice.randint(1, 999)) * Fraction(10) ** choice.randint(-50, 2)
        epsilon = order * rho + Fraction(choice.randint(1, 999), 10) / (order - 1)
        with verify.localcontext(exact):
            logarithm = verify.decimal(order) * verify.decimal((order - 1) / order).ln()
            off = verify.decimal((order - 1) * (epsilon - order * rho))
            delta = (logarithm - off).exp() / verify.decimal(order - 1)
            less, more = Fraction(delta), Fraction(delta) * (1 + Fraction(2, 10**80))
        with verify.localcontext(verify.Context(prec=120)):
            assert not verify.concentrated_pays(epsilon, less, rho, order)
            assert verify.concentrated_pays(epsilon, more, rho, order)
        small = Fraction(choice.randint(1, 999)) * Fraction(10) ** choice.randint(-30, 0)
        reach = int(choice.randint(1, 900) / small) + 1
        with verify.localcontext(exact):
            q = (-verify.decimal(small)).exp()
            power = (-verify.decimal(small * reach)).exp()
            delta = power * (1 - q) / (1 + q - 2 * q * power)
        if 0 < delta < 1:
            held += 1
            less, more = Fraction(delta), Fraction(delta) * (1 + Fraction(1, 10**70))
            with verify.localcontext(verify.Context(prec=120)):
                assert not verify.hides(small, less, reach) and verify.hides(small, more, reach)
    assert held > 20


def test_orders_and_amounts_that_120_digits_cannot_tell_apart_are_refused() -> None:
    gumbel, gaussian = (next(one for one in CERTIFIED if _rule(one) == rule) for rule in ("gumbel", "gaussian"))
    for told, name, to in ((gumbel, "order", 10**31), (gaussian, "epsilon", 10**31), (gaussian, "epsilon", 10**-31)):
        changed = json.loads(text(told))
        changed["steps"][-1]["says"][name] = str(Fraction(to).limit_denominator(10**40))
        with pytest.raises(Refused, match="not of the form"):
            verified(sealed_anew(changed))
    with verify.localcontext(verify.Context(prec=120)):
        assert not verify.hides(Fraction(1, 10**31), Fraction(1, 2), 10**40)


def test_a_sum_that_is_too_long_to_be_written_is_refused() -> None:
    told = json.loads(HELD)
    table = next(step for step in told["steps"] if step["rule"] == "scan")
    sums = [table, *_summed(table)]
    losses = [_loss(10**1100 + 2 * at + 1) for at in range(6)]
    paid = [one["gives"]["event"] for one in losses]
    line = {"unit": table["gives"]["unit"], "budget": "b", "epsilon": "0", "delta": "0", "paid": paid}
    for one in losses:
        one["gives"]["unit"] = table["gives"]["unit"]
    with pytest.raises(Refused, match="beyond"):
        verified(sealed_anew({**told, "steps": [*sums, *losses], "costs": [line]}))


def _summed(table: dict[str, Any]) -> list[dict[str, Any]]:
    """One row of it a unit, counted."""
    unit = table["gives"]["unit"]
    gives = {**table["gives"], "rows": 1, "fixed": table["gives"]["columns"]}
    gives["unique"] = sorted([*([[]] if [] not in gives["unique"] else []), *gives["unique"]])
    says = {"groups": 1, "by": [], "cells": False, "steps": [[0, 1, 1]]}
    return [
        {"rule": "keep", "of": [0], "says": {"limit": 1}, "gives": gives},
        {"rule": "sums", "of": [1], "says": says, "gives": {"unit": unit, "what": "sums", "l1": 1, "l2_squared": 1}},
    ]


def _loss(scale: int) -> dict[str, Any]:
    gives = {"event": ["pure", f"1/{scale}", "0"]}
    return {"rule": "noise", "of": [2], "says": {"way": "LAPLACE", "scale": str(scale), "times": 1}, "gives": gives}


CERTIFIED = [json.loads(certified(proofs(seed))) for seed in range(120)]


def _rule(told: dict[str, Any]) -> str:
    return str(told["steps"][-1]["rule"])


def test_the_tail_of_the_normal_law_is_the_kernels_to_60_digits() -> None:
    bits = 220
    for x in [Fraction(n, 7) for n in (0, 1, 2, 5, 13, 27, 28, 29, 40, 100, 9000)]:
        low, high = mills(x, bits)
        with verify.localcontext(verify.Context(prec=120)):
            found = Fraction(verify.mills(verify.decimal(x)))
        assert low - 2 <= found * (1 << bits) <= high + 2


def test_the_reach_of_noise_on_numbers_is_the_kernels() -> None:
    choice = random.Random(6)
    for _ in range(60):
        law = Count(Fraction(choice.randint(1, 500), 100), Fraction(choice.randint(1, 99), 10 ** choice.randint(2, 30)))
        k = reach_of(law)
        with verify.localcontext(verify.Context(prec=120)):
            assert verify.hides(law.epsilon, law.delta, k)
            assert k == 1 or not verify.hides(law.epsilon, law.delta, k - 1)


# ---------------------------------------------------------------- whatever is handed in

HELD = certified(proofs(3))
NOT_ONE = {
    "nothing": "",
    "no object": "[]",
    "no fields": "{}",
    "a number": "1",
    "NaN": "NaN",
    "depth": "[" * 100_000,
    "depth of objects": '{"a":' * 50_000,
    "a number without end": '{"certificate":' + "1" * 10_000 + "}",
    "blanks": HELD.replace(":", ": ", 1),
    "a field twice": HELD[:-1] + ',"answer":null}',
    "a field more": sealed_anew({**json.loads(HELD), "more": 1}),
    "a field less": sealed_anew({name: one for name, one in json.loads(HELD).items() if name != "costs"}),
    "not ASCII": HELD.replace("person", "pérson"),
    "too long": HELD + " " * verify.LONGEST,
    "another version": sealed_anew({**json.loads(HELD), "certificate": 2}),
    "a digest in capitals": HELD.replace(json.loads(HELD)["digest"], json.loads(HELD)["digest"].upper()),
}


@pytest.mark.parametrize("name", NOT_ONE)
def test_what_is_no_certificate_is_refused_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_text(NOT_ONE[name], "utf-8")
    assert verify.main([str(tmp_path / "c.json")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("refused: ") and said.count("\n") == 1 and len(said) < 300


def test_nothing_of_another_kind_breaks_it() -> None:
    choice = random.Random(8)
    kinds: tuple[Any, ...] = (None, [], {}, "", "x", "1/0", "-1", "1e5", -1, True, 10**30, [[]], "9" * 5000, 1.5)
    for seed in range(1500 if SOAK else 150):
        told = json.loads(certified(proofs(seed)))
        for path in choice.sample([p[:length] for p in leaves(told) for length in range(1, len(p) + 1)], 6):
            holder: Any = json.loads(text(told))
            made, last = holder, path[-1]
            for each in path[:-1]:
                made = made[each]
            made[last] = choice.choice(kinds)
            refused(sealed_anew(holder))  # or taken: but nothing else


def test_steps_that_lead_nowhere_or_come_too_late_are_refused() -> None:
    told = json.loads(HELD)
    for steps in (told["steps"] + [told["steps"][0]], told["steps"][::-1], told["steps"][1:], []):
        assert refused(sealed_anew({**told, "steps": steps}))
    assert not refused(sealed_anew(told))


# ---------------------------------------------------------------- by itself


def test_it_shares_no_code_with_what_it_checks() -> None:
    path = Path(verify.__file__)
    names = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or "."] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    }
    assert names <= set(sys.stdlib_module_names)
    assert len(path.read_text("utf-8").splitlines()) <= 400  # to be read in one sitting


def test_it_runs_alone_and_compares_texts(tmp_path: Path) -> None:
    (tmp_path / "verify.py").write_bytes(Path(verify.__file__).read_bytes())
    (tmp_path / "c.json").write_text(HELD + "\n", "ascii")
    (tmp_path / "policy").write_text("CREATE UNIT person", "utf-8")
    (tmp_path / "query").write_text("SELECT 2", "utf-8")

    def run(*more: str) -> tuple[int, str]:
        command = [sys.executable, "-I", "-S", "verify.py", "c.json", *more]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
        assert not done.stderr
        return done.returncode, done.stdout

    status, said = run("--policy", "policy")
    assert status == 0 and said.startswith("holds: to person it costs ε = ")
    assert run("--query", "query") == (1, "refused: its query is another one\n")
    assert run("--answer", "gone")[0] == 1


def test_the_certificate_that_the_page_shows_holds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "proofs" / "certificates.md").read_text("utf-8")
    shown = text(json.loads(page.split("```json\n")[1].split("```")[0]))
    assert verified(shown)["costs"][0]["epsilon"] == "1/10"
    rules_listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert rules_listed == ["scan", *(name for _, name in verify.RULES if name != "scan")]


# ---------------------------------------------------------------- joins, by every way in which rows may meet


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "FULL"])
@pytest.mark.parametrize(("one_left", "one_right"), [(False, False), (False, True), (True, False), (True, True)])
def test_the_rows_of_a_join_are_the_most_that_there_can_be(kind: str, one_left: bool, one_right: bool) -> None:
    on = (((0, "INT"), (1, "INT")),)

    def side(rows: float, column: int, one: bool) -> verify.Rows:
        unique = frozenset((frozenset((column,)),) if one else ())
        return verify.Rows(("u", False), "TEXT", rows, {column: set()}, frozenset(), unique)

    for k, n in itertools.product(range(1, 4), repeat=2):
        pairs, most = list(itertools.product(range(k), range(n))), 0
        for meets in itertools.product((False, True), repeat=k * n):
            met = [pair for pair, meet in zip(pairs, meets, strict=True) if meet]
            left, right = [one for one, _ in met], [other for _, other in met]
            # a row of a side that is unique is met by any other row, but no two of them are by one
            if (one_left and len({*right}) < len(met)) or (one_right and len({*left}) < len(met)):
                continue
            alone = (k - len({*left})) * (kind != "INNER") + (n - len({*right})) * (kind == "FULL")
            most = max(most, len(met) + alone)
        found = side(k, 0, one_left).join(side(n, 1, one_right), kind=kind, on=on, asks=frozenset((0,)))
        assert found.rows == most or (kind == "FULL" and most <= found.rows <= k + n)
