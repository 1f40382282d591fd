"""However much of one unit's rows a query would hold at once, it is answered: if it failed, that would tell of them.

The engine has 800 MB, and 10,000 rows that one private row becomes are easily more.
"""

from __future__ import annotations

from string import ascii_lowercase

import pandas as pd
import pytest

from privql import PrivQLError, connect
from privql.functions.scalar.text import LONGEST
from privql.kernel.sums import Sums
from privql.plan import held, weight
from tests.hostile.asked import checked
from tests.hostile.test_resources import keeping

TEXT = 16 + 4 * LONGEST  # bytes of any text that can be made
MADE = "REPEAT(CAST(minutes AS TEXT), 3)"


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        (f"LENGTH(STRING_AGG({MADE}, ',')) AS x FROM visits GROUP BY pid", held.BYTES // (TEXT + 4)),
        (f"LENGTH(MODE({MADE})) AS x FROM visits GROUP BY pid", held.BYTES // TEXT),
        (f"LENGTH(QUANTILE_DISC({MADE}, 0.5)) AS x FROM visits GROUP BY pid", held.BYTES // TEXT),
        (f"LENGTH(MODE({MADE})) + MEDIAN(minutes) AS x FROM visits GROUP BY pid", held.BYTES // (TEXT + 8)),
        (f"LENGTH(STRING_AGG('x', '' ORDER BY {MADE})) AS x FROM visits GROUP BY pid", held.BYTES // (TEXT + 16 + 4)),
        (f"LENGTH(STRING_AGG('x', '{'y' * 99_999}')) AS x FROM visits GROUP BY pid", held.BYTES // (TEXT + 8)),
        (f"LENGTH(STRING_AGG({MADE}, '') OVER (PARTITION BY pid)) AS x FROM visits", int((held.BYTES / TEXT) ** 0.5)),
        (
            f"LENGTH(STRING_AGG({MADE}, '') OVER (PARTITION BY pid ORDER BY vid ROWS 3 PRECEDING)) AS x FROM visits",
            held.BYTES // (4 * TEXT),
        ),
        (
            f"LENGTH(STRING_AGG({MADE}, '') OVER (PARTITION BY pid)) +"
            f" LENGTH(MODE({MADE}) OVER (PARTITION BY pid)) AS x"
            " FROM visits",
            int((held.BYTES / (2 * TEXT)) ** 0.5),
        ),
        (
            f"LENGTH(STRING_AGG({MADE}, '') OVER (PARTITION BY pid)) +"
            f" LENGTH(STRING_AGG({MADE}, '') OVER (PARTITION BY pid, vid - vid)) AS x FROM visits",
            int((held.BYTES / (2 * TEXT)) ** 0.5),
        ),
    ],
)
def test_all_that_is_held_together_has_a_bound(asked: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight, "MADE", 2**40)  # else fewer rows make such texts at all
    term = checked(f"SELECT COUNT(*) FROM (SELECT pid, {asked}) AS t WHERE x > 5 AT MOST 3 ROWS PER UNIT")
    assert isinstance(term, Sums), term
    assert most in [kept.limit for kept in keeping(term)], [kept.limit for kept in keeping(term)]


LITERAL = "y" * 16_000
OF_ONE_ROW = f"(SELECT id, '{LITERAL}' AS t FROM patients CROSS JOIN generate_series(1, 10000) AS g(i) WHERE ill) AS y"
OF_PAIRS = "calls a JOIN calls b ON a.id = b.id WHERE a.ill AND b.ill"
ATTACKS = {
    "texts": (
        ", ".join(f"STRING_AGG(t, '{letter}') AS {letter}" for letter in ascii_lowercase[:10]) + f" FROM {OF_ONE_ROW}",
        " OR ".join(f"{letter} = 'x'" for letter in ascii_lowercase[:10]),
    ),
    "the most frequent": (
        ", ".join(f"MODE(t) FILTER (WHERE '{letter}' < t) AS {letter}" for letter in ascii_lowercase[:10])
        + f" FROM {OF_ONE_ROW}",
        " OR ".join(f"{letter} = 'x'" for letter in ascii_lowercase[:10]),
    ),
    "medians": (
        ", ".join(f"MEDIAN(a.n * 1000 + b.n + {k}) AS t{k}" for k in range(100)) + f" FROM {OF_PAIRS}",
        f"-1 IN ({', '.join(f't{k}' for k in range(100))})",
    ),
}
POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (id INT UNIT patient KEY, ill BOOL);
CREATE PRIVATE TABLE calls (id INT UNIT patient, n INT BETWEEN 0 AND 3600, ill BOOL);
CREATE BUDGET research FOR UNIT patient EPSILON 1;
"""


def attacked(attack: str) -> None:
    """A question of which the engine has much to hold if, and only if, patient 7 is ill."""
    made, wanted = ATTACKS[attack]
    patients = pd.DataFrame({"id": range(50), "ill": [number == 7 for number in range(50)]})
    calls = pd.DataFrame({"id": [7] * 1000, "n": range(1000), "ill": [True] * 1000})
    key = "a.id" if "a.id" in made else "id"
    text = (
        f"SELECT COUNT(*) AS n FROM (SELECT {key} AS id, {made} GROUP BY {key}) AS x WHERE {wanted} SPEND EPSILON 1e-9"
    )
    frames = {"patients": patients, "calls": calls}
    with connect(policy=POLICY, ledger=":memory:", frames=frames, analyst="mallory") as session:
        session.run(text)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_question_does_not_fail_of_one_units_rows(attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight, "MADE", 2**40)  # else two of these are refused before a row is read
    attacked(attack)


def test_planted_without_the_bound_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "BYTES", 2**40)
    monkeypatch.setattr(weight, "MADE", 2**40)
    with pytest.raises(PrivQLError, match="PQL0601"):
        attacked("texts")
