"""Intervals enclose the exact number as often as they say, and are no wider than that takes.

`make soak MACHINE=intervals` simulates ten thousand releases of every case.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.coverage import Case, Figures, Simulated, cases, judged
from privql.finish import resampling
from privql.finish.resampling import bounds_of
from privql.kernel.tails import halfwidth
from tests.assurance import SOAK, assured

QUICK = {"SUM / COUNT", "LN(COUNT)", "n - LAG(n)", "VAR_POP", "COVAR_POP", "REGR_SLOPE", "ABS(n - LAG(n))", "CORR"}
BY_LAW = {"COUNT", "SUM", "AVG"}
USUAL = Fraction(95, 100)


def one_of_each() -> list[Case]:
    chosen: dict[str, Case] = {}
    for case in cases():
        if case.name in QUICK | BY_LAW and case.rows >= 40 and case.noise == "laplace":
            chosen.setdefault(case.name, case)
    return list(chosen.values())


def told(simulated: Simulated, name: str) -> list[tuple[float, float]]:
    """The intervals that there are, of one number simulated."""
    found = simulated.release(simulated.noisy(), name).ends(0, USUAL)
    return [(float(str(low)), float(str(high))) for low, high in filter(None, found)]


def test_quick_cases_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each within what its number of releases lets it stray, and together closely. Few replicates only make the ends
    stray more; on average they cover as often."""
    monkeypatch.setattr(resampling, "MOST_DRAWS", 1)
    found: list[Figures] = []
    for case in one_of_each():
        releases = 300 if case.name in BY_LAW | {"SUM / COUNT", "LN(COUNT)", "n - LAG(n)"} else 100
        made = judged(case, releases)
        found.append(made)
        assert made.coverage >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / made.given), str(case)
    assert {case.name for case in one_of_each()} == QUICK | BY_LAW
    given = sum(made.given for made in found)
    assert sum(made.covered for made in found) >= (0.95 - 3 * math.sqrt(0.05 * 0.95 / given)) * given


def test_replicates_of_a_difference_are_as_wide_as_its_law() -> None:
    """Of two counts the noise of both, whose law is known: the shortest interval of equal tails."""
    simulated = Simulated(next(one for one in cases() if one.name == "n - LAG(n)" and one.rows == 1000), 60)
    widths = [high - low for low, high in told(simulated, "width")]
    scale = 10.0
    reach = np.arange(-2000, 2001)
    one = np.exp(-np.abs(reach) / scale)
    both = np.convolve(one / one.sum(), one / one.sum())
    below = np.cumsum(both)
    shortest = 2 * (len(both) // 2 - int(np.searchsorted(below, 0.025)))
    assert 0.97 * shortest <= np.mean(widths) <= 1.03 * shortest
    assert halfwidth(Fraction(10), USUAL) * 2 < shortest


def test_what_no_rows_can_be_is_left_out() -> None:
    """Of five rows at ε = 1 a correlation may be nearly anything; that is from -1 to 1."""
    found = next(one for one in cases() if one.name == "CORR" and one.rows == 5 and one.shape == "y = x")
    simulated = Simulated(found, 100)
    ends = told(simulated, "corr")
    assert all(-1 <= low <= high <= 1 for low, high in ends)
    assert 2 * sum(pair == (-1, 1) for pair in ends) > len(ends) > 0
    varied = next(one for one in cases() if one.name == "VAR_POP" and one.rows == 5)
    simulated = Simulated(varied, 50)
    ends = told(simulated, "var")
    assert ends and all(0 <= low <= high <= 2500 for low, high in ends)


def test_a_divisor_that_could_be_nothing_says_nothing() -> None:
    """A ratio has no ends where its count could as well have another sign; the logarithm of a count that could be
    nothing has one."""
    small = {case.name: case for case in cases() if case.rows == 3}
    log = small["LN(COUNT)"]
    ratio = replace(small["SUM / COUNT"], epsilon=Fraction(1, 20))  # noise of scale 40: hardly ever a count is 0
    simulated = Simulated(ratio, 100)
    cells = [(1500 + 10 * at, count) for at in range(25) for count in (10, 40, 1000, -10)]
    found = simulated.release(cells, "ratios").ends(0, USUAL)
    for (_, count), pair in zip(cells, found, strict=True):
        assert pair is not None
        assert all(isinstance(end, float) and math.isinf(end) == (count < 1000) for end in pair)
    found = Simulated(log, 200).release([(each % 7 + 1,) for each in range(200)], "logs").ends(0, USUAL)
    for each, pair in enumerate(found):
        count = each % 7 + 1
        assert pair is not None and isinstance(pair[0], float) and isinstance(pair[1], float)
        assert 2 < count < 6 or math.isinf(pair[0]) == (count <= 2)
        assert math.log(count) < pair[1] < math.log(count + 8)


@pytest.mark.parametrize("at", range(len(list(cases()))) if SOAK else ())
def test_every_case_covers(at: int) -> None:
    case = list(cases())[at]
    with assured("intervals") as tally:
        tally["tried"] += 10_000
        made = judged(case, 10_000)
        assert made.coverage >= 0.94, str(case)
        if case.regular:
            assert made.width <= 1.12 and made.open == 0, str(case)


def test_a_smaller_confidence_covers_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MOST_DRAWS", 1)
    simulated = Simulated(next(one for one in cases() if one.name == "SUM / COUNT" and one.rows == 40), 120)
    release = simulated.release(simulated.noisy(), "nested")
    assert release.spreads is not None
    truth = next(each for each in simulated.truth() if each is not None)
    covered = []
    for confidence in (Fraction(1, 2), Fraction(8, 10), Fraction(99, 100)):
        spread = release.spreads(confidence)[0]
        ends = bounds_of(spread, [row[0] for row in release.rows], release.columns[0].type, confidence)
        covered.append(sum(pair is not None and pair[0] <= truth <= pair[1] for pair in ends) / len(ends))
    assert covered == sorted(covered)
    for share, wanted in zip(covered, (0.5, 0.8, 0.99), strict=True):
        assert abs(share - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / 120) + 0.01
