"""Every domain rule says too much rather than too little: on random domains, results lie where it says they lie."""

from __future__ import annotations

from collections import Counter
from random import Random

from privql.conformance.pools import Call, calls, domain_with, in_type, some_value
from privql.domains import Domain, finite, grid_of
from privql.functions.scalar import Resolved, evaluate, infer
from privql.kernel.scalars import INT, Value
from tests.assurance import assured, length

ROUNDS = length(25, 5000)  # for each function, shared by its signatures
TRIES = 8

CALLS = calls()
_SIGNATURES = Counter(call.resolved.op for call in CALLS)


def _rounds(call: Call) -> range:
    return range(max(ROUNDS // _SIGNATURES[call.resolved.op], 10))


def _argument(call: Call, place: int, random: Random) -> tuple[Domain, list[Value]]:
    type = call.resolved.arg_types[place]
    if place in call.fixed:
        value = call.fixed[place]
        return finite([value], False, grid_of(type)), [value]
    return domain_with(type, random)


def _result_types(resolved: Resolved, values: tuple[Value, ...]) -> Value:
    result = evaluate(resolved.op, resolved.arg_types, resolved.result, values)
    assert in_type(result, resolved.result), f"{resolved} of {values!r} is {result!r}"
    return result


def test_results_lie_in_the_inferred_domain() -> None:
    with assured("functions") as tally:
        tally["tried"] += sum(len(_rounds(call)) for call in CALLS)
        random = Random(20)
        for call in CALLS:
            resolved = call.resolved
            for _ in _rounds(call):
                args = [_argument(call, place, random) for place in range(len(resolved.arg_types))]
                domains = tuple(domain for domain, _ in args)
                inferred = infer(resolved.op, resolved.arg_types, resolved.result, domains)
                assert all(in_type(v, resolved.result) for v in inferred.values or ()), (
                    f"{call} on {domains}: {inferred}"
                )
                if not all(values for _, values in args):
                    continue
                for _ in range(TRIES):
                    chosen = tuple(random.choice(values) for _, values in args)
                    result = _result_types(resolved, chosen)
                    assert result in inferred, f"{call} of {chosen!r} is {result!r}, not in {inferred}\nfrom {domains}"


def test_what_is_never_null_is_never_null_at_the_ends() -> None:
    """The ends of intervals are where overflow and empty divisors are: they are tried in every combination."""
    with assured("functions") as tally:
        tally["tried"] += sum(len(_rounds(call)) for call in CALLS)
        random = Random(21)
        for call in CALLS:
            resolved = call.resolved
            for _ in _rounds(call):
                args = [_argument(call, place, random) for place in range(len(resolved.arg_types))]
                domains = tuple(domain for domain, _ in args)
                ends = tuple(_ends(domain, values, call, place) for place, (domain, values) in enumerate(args))
                inferred = infer(resolved.op, resolved.arg_types, resolved.result, domains)
                for corner in _corners(ends):
                    result = _result_types(resolved, corner)
                    assert result in inferred, f"{call} of {corner!r} is {result!r}, not in {inferred}\nfrom {domains}"


def _ends(domain: Domain, values: list[Value], call: Call, place: int) -> list[Value]:
    numbers = sorted(v for v in values if v is not None and not isinstance(v, (str, tuple)))
    texts = [v for v in values if isinstance(v, (str, tuple))]
    zero = [v for v in (0, -1) if call.resolved.arg_types[place] == INT and v in domain]
    return [*numbers[:1], *numbers[-1:], *texts[:2], *zero, *([None] if domain.nullable else [])]


def _corners(ends: tuple[list[Value], ...]) -> list[tuple[Value, ...]]:
    corners: list[tuple[Value, ...]] = [()]
    for choices in ends:
        corners = [(*corner, choice) for corner in corners for choice in choices][:200]
    return corners


def test_evaluation_is_total_on_hostile_values() -> None:
    with assured("functions") as tally:
        tally["tried"] += sum(len(_rounds(call)) for call in CALLS)
        random = Random(22)
        for call in CALLS:
            resolved = call.resolved
            for _ in _rounds(call):
                values = tuple(
                    call.fixed[place]
                    if place in call.fixed
                    else random.choice((None, *(some_value(t, random) for _ in range(4))))
                    for place, t in enumerate(resolved.arg_types)
                )
                _result_types(resolved, values)
