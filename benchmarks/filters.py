"""How many queries a budget bears, by each way of adding up, and how much is lost to certainty.

    python benchmarks/filters.py [--peer-python PATH]

prints the table of docs/accounting.md. With a peer, an interpreter that has dp-accounting (`--peer-python`, or
PRIVQL_PEERS), it holds plans of random events to the privacy loss distributions of that library as well: what is
claimed here is never below its optimistic estimate, and the gap to it is printed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events, Kind, cost_of, read, written
from privql.kernel.filters import DEFAULT, Filter, Shares, order_for
from privql.kernel.gaussian import greatest_mu, least_epsilon
from privql.kernel.losses import NO_LOSS, Loss, loss_of
from privql.kernel.plans import planned

NONE = Fraction(0)
BUDGETS = [(Fraction(1), Fraction(1, 10**6)), (Fraction(3), Fraction(1, 10**6))]
FOR_PLANS = Shares(NONE, Fraction(1), NONE, NONE)
FOR_PLANS_AND_KEYS = Shares(Fraction(1, 4), Fraction(3, 4), NONE, NONE)
MOST = 10**5


def event(kind: Kind, epsilon: str, delta: str = "0") -> Event:
    return Event(kind, Cost(Fraction(epsilon), Fraction(delta)))


def noisy(deviation: Fraction, delta: str) -> Event:
    """A count with Gaussian noise of about this deviation."""
    epsilon = least_epsilon(1 / deviation, Fraction(delta))
    assert greatest_mu(epsilon, Fraction(delta)) >= Fraction(99, 100) / deviation
    return Event("gaussian", Cost(epsilon, Fraction(delta)))


WORKLOADS: list[tuple[str, Events]] = [
    ("counts at ε = 0.1", (event("pure", "1/10"),)),
    ("counts at ε = 0.01", (event("pure", "1/100"),)),
    ("medians at ε = 0.1", (event("ranged", "1/10"),)),
    ("counts with Gaussian noise as large as at ε = 0.1", (noisy(Fraction(1414, 100), "1e-9"),)),
    ("the most frequent value at ε = 0.1, δ = 1e-9", (event("concentrated", "1/10", "1e-9"),)),
    ("groups found at ε = 0.1, δ = 1e-9, with their counts", (event("keys", "1/10", "1e-9"),)),
    ("all of the above, but the second, one after another", ()),
]
WORKLOADS[-1] = (WORKLOADS[-1][0], tuple(e for at, (_, each) in enumerate(WORKLOADS) if at != 1 for e in each))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=os.environ.get("PRIVQL_PEERS"))
    parser.add_argument("--plans", type=int, default=40, help="random plans that are shown to the peer")
    options = parser.parse_args()
    print("| queries | budget | by sums | one by one | as one plan | … with all of δ for plans |")
    print("|---|---|---|---|---|---|")
    for name, each in WORKLOADS:
        for epsilon, delta in BUDGETS:
            whole = FOR_PLANS_AND_KEYS if any(e.kind == "keys" for e in each) else FOR_PLANS
            usual, planning = (Filter(epsilon, delta, s, order_for(epsilon, delta, s)) for s in (DEFAULT, whole))
            counts = added(each, usual), one_by_one(each, usual), as_one(each, usual), as_one(each, planning)
            print(f"| {name} | {epsilon}, {float(delta):g} | {' | '.join(map(str, counts))} |")
    speed()
    if options.peer_python:
        compare(options.peer_python, options.plans)


def added(each: Events, one: Filter) -> int:
    def enough(number: int) -> bool:
        total = sum((cost_of((each[at % len(each)],)) for at in range(number)), Cost())
        return total <= Cost(one.epsilon, one.delta)

    return most(enough)


def one_by_one(each: Events, one: Filter) -> int:
    return most(lambda number: one.admits(repeated(one, each, number)))


def as_one(each: Events, one: Filter) -> int:
    def enough(number: int) -> bool:
        events = tuple(each[at % len(each)] for at in range(number))
        return one.admits(planned(events, one.shares.plain * one.delta, one.order))

    return most(enough)


def repeated(one: Filter, each: Events, number: int) -> Loss:
    whole, rest = divmod(number, len(each))
    total, power = one.loss(each[:rest]), one.loss(each)
    while whole:
        total, power, whole = (total + power if whole & 1 else total), power + power, whole >> 1
    return total


def most(enough: Callable[[int], bool]) -> int:
    """How many are enough, of what is monotone."""
    low, high = 0, 1
    while high < MOST and enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def speed() -> None:
    one = Filter(*BUDGETS[1], DEFAULT, order_for(*BUDGETS[1], DEFAULT))
    rng, spent = random.Random(1), NO_LOSS
    new, known, left = [], [], []
    for _ in range(100):
        events = (event("pure", f"{rng.randint(1, 10**6)}/100000000"),)
        for times in (new, known):
            start = time.perf_counter()
            one.admits(spent + one.loss(events))
            times.append(time.perf_counter() - start)
        spent += one.loss(events)
        start = time.perf_counter()
        one.left(spent)
        left.append(time.perf_counter() - start)
    for name, times in (("a charge, a new price", new), ("a charge, a known price", known), ("what is left", left)):
        print(f"{name}: {1000 * sorted(times)[len(times) // 2]:.3f} ms, at worst {1000 * max(times):.3f} ms")
    for number, same in ((50, True), (500, False)):
        events = tuple(event("pure", "1/10" if same else f"{rng.randint(1, 1000)}/10000") for _ in range(number))
        loss_of(events)
        start = time.perf_counter()
        planned(events, BUDGETS[1][1])
        print(f"a plan of {number} events, {'all equal' if same else 'mixed'}: {time.perf_counter() - start:.3f} s")


PEER = """
import functools, json, math, sys
from dp_accounting.pld import privacy_loss_distribution as pld
out = []
for events, mu, delta in json.load(sys.stdin):
    both = []
    for pessimistic in (False, True):
        how = {"pessimistic_estimate": pessimistic, "value_discretization_interval": 2e-5}
        parts = [pld.from_gaussian_mechanism(1 / mu, **how)] if mu else []
        for epsilon, times in events:  # a bit, told wrong or at random: noise of 2/(1 + e^epsilon)
            parts.append(pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2, **how).self_compose(times))
        both.append(functools.reduce(lambda one, other: one.compose(other), parts).get_epsilon_for_delta(delta))
    out.append(both)
print(json.dumps(out))
"""


def compare(python: str, number: int) -> None:
    rng, asked, ours = random.Random(2), [], []
    for _ in range(number):
        delta = Fraction(1, 10 ** rng.randint(5, 9))
        sizes = [Fraction(rng.choice((rng.randint(1, 50), 10, 5)), 100) for _ in range(rng.randint(1, 6))]
        times = [rng.randint(1, 40) for _ in sizes]
        events = tuple(Event("pure", Cost(size)) for size, many in zip(sizes, times, strict=True) for _ in range(many))
        gaussians = tuple(event("gaussian", "1/10", "1e-9") for _ in range(rng.choice((0, 0, 5, 40))))
        square = sum((greatest_mu(e.cost.epsilon, e.cost.delta) ** 2 for e in gaussians), NONE)
        assert read(written(events + gaussians)) == events + gaussians
        ours.append(planned(events + gaussians, delta))
        asked.append(([(float(s), t) for s, t in zip(sizes, times, strict=True)], float(square) ** 0.5, float(delta)))
    answer = subprocess.run([python, "-c", PEER], input=json.dumps(asked), capture_output=True, text=True, check=True)
    gaps = []
    for loss, (low, high), question in zip(ours, json.loads(answer.stdout), asked, strict=True):
        gaps.append(float(loss.epsilon) / low - 1 if low else 0.0)
        # its pessimistic ε is above the true one, and ours may be below that; below the optimistic one it may not be
        if float(loss.epsilon) < low * (1 - 1e-6):
            print("BELOW THE TRUTH:", question, float(loss.epsilon), low, high)
    print(
        f"{number} plans beside dp-accounting: above its optimistic ε by {100 * sum(gaps) / number:.3f} % on average, ",
        end="",
    )
    print(f"{100 * max(gaps):.3f} % at most, {100 * min(gaps):.3f} % at least")


if __name__ == "__main__":
    main()
