"""However long the texts that a query makes of a unit's rows, it is answered: if it failed, that would tell of them.

Few words make long texts: of each row, of each public row that one private row meets, and again in each window.
"""

from __future__ import annotations

from string import ascii_lowercase
from types import SimpleNamespace
from typing import cast

import pandas as pd
import pytest

from privql import PrivQLError, connect
from privql.check.env import Env
from privql.diagnostics import Diagnostic
from privql.diagnostics import Source as Text
from privql.frozen import inside
from privql.functions.scalar.text import LONGEST
from privql.kernel.sums import Sums
from privql.kernel.terms import Gather
from privql.pipeline.check import check_text
from privql.plan import lengths, weight
from privql.plan.related import Related
from privql.policy.build import build_catalog
from tests.hostile.test_resources import keeping

POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (id INT UNIT patient KEY, ill BOOL, sex TEXT IN ('F', 'M'), note TEXT);
CREATE PRIVATE TABLE calls (id INT UNIT patient, n INT BETWEEN 0 AND 9999, kind TEXT IN ('in', 'out'), said TEXT);
CREATE BUDGET research FOR UNIT patient EPSILON 1;
"""
ENV = Env(build_catalog(Text(POLICY, "policy"))[0])
TEXT = 16 + 4 * LONGEST  # bytes of any text that can be made
FIT = 64 << 20  # bytes of texts that one unit's rows may make
LONG = "REPEAT('😀', 16384 - n % {})"


def planned(query: str) -> Sums | Diagnostic:
    (check, _), *_ = check_text(Text(f"{query} AT MOST 3 ROWS PER UNIT SPEND EPSILON 1", "query"), ENV)
    if check.plan is None:
        return check.diagnostics[0]
    (block,) = check.plan.blocks
    assert block.measured is not None and isinstance(block.measured.term, Sums)
    return block.measured.term


def limits(query: str) -> set[int]:
    """To how many rows a unit is cut, wherever it is."""
    term = planned(query)
    assert isinstance(term, Sums), term
    return {kept.limit for kept in keeping(term)} - {3}


@pytest.mark.parametrize(
    ("asked", "texts"),
    [
        ("WHERE said || said > 'a'", 1),
        ("WHERE said || '-' || said > 'a' OR REPLACE(said, 'a', 'b') = 'b'", 3),
        ("WHERE REVERSE(REPEAT(said, 2)) = 'x'", 1 + weight.TAKEN_APART["reverse"]),
        ("WHERE JSON_VALUE('[' || said || ']', '$[0]') = 'x'", 2 + weight.TAKEN_APART["json_value"]),
        ("WHERE INITCAP(said || said) = 'x'", 1 + weight.TAKEN_APART["initcap"]),
        ("WHERE JSON_EXISTS(said || said, '$.a')", 1 + weight.TAKEN_APART["json_exists"]),
        ("WHERE JSON_TYPEOF(said || said) = 'null'", 1 + weight.TAKEN_APART["json_typeof"]),
        ("WHERE JSON_ARRAY_LENGTH(said || said) = 1", 1 + weight.TAKEN_APART["json_array_length"]),
        ("WHERE JSON_VALID(said || said)", 1 + weight.TAKEN_APART["json_valid"]),
    ],
)
def test_of_each_unit_so_many_rows_make_long_texts(asked: str, texts: int) -> None:
    assert limits(f"SELECT COUNT(*) FROM calls {asked}") == {FIT // (texts * TEXT)}


def test_what_a_window_carries_on_counts_again() -> None:
    made = "(SELECT id, n, said || said AS t FROM calls) AS a"
    once = f"(SELECT ROW_NUMBER() OVER (PARTITION BY id ORDER BY t) AS k, t FROM {made}) AS b WHERE k > LENGTH(t)"
    twice = f"(SELECT LAG(t) OVER (PARTITION BY id ORDER BY n) AS k, t FROM {made}) AS b WHERE k > t"
    assert limits(f"SELECT COUNT(*) FROM {once}") == {FIT // (2 * TEXT)}, "made, and by another name"
    assert limits(f"SELECT COUNT(*) FROM {twice}") == {FIT // (3 * TEXT)}


COPIES = ("SUBSTRING(t, {})", "CASE WHEN n > {} THEN t END", "LEFT(t, 16000 + {})", "GREATEST(t, '{}')")


@pytest.mark.parametrize("copy", COPIES)
def test_copies_of_a_text_that_was_made_count_each(copy: str) -> None:
    copies = ", ".join(f"{copy.format(at)} AS t{at}" for at in range(9))
    made = f"(SELECT DISTINCT id, n, {copies} FROM (SELECT id, n, said || said AS t FROM calls) AS a) AS b"
    assert max(limits(f"SELECT COUNT(*) FROM {made}")) <= FIT // (10 * TEXT)


WRITTEN = " OR ".join(f"said = '{letter * 900}'" for letter in ascii_lowercase)
PUBLIC = "(SELECT i, REPEAT('a', 16384 - i % 7) AS t FROM generate_series(1, 3) AS g(i)) AS p"


@pytest.mark.parametrize(
    ("asked", "texts"),
    [
        ("(SELECT id, COUNT(DISTINCT SUBSTRING(said || said, 2)) AS d FROM calls GROUP BY id) AS a WHERE d > 3", 2),
        (f"calls JOIN {PUBLIC} ON n = i WHERE t > said", 1),
        (f"calls WHERE STRFTIME(DATE '2020-01-01' + n, '{'%A' * 500}') = 'x'", 4_000_000 // TEXT),
        (f"calls WHERE {WRITTEN}", 1),
    ],
    ids=["different texts", "of public rows", "a format", "written out"],
)
def test_texts_made_in_any_way_count(asked: str, texts: int) -> None:
    assert 1 <= max(limits(f"SELECT COUNT(*) FROM {asked}")) <= FIT // (texts * TEXT)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("said", LONGEST),
        ("kind", 3),
        ("UPPER(kind) || ':' || kind", 7),
        ("GREATEST('abc', kind, 'abcde')", 5),
        ("COALESCE(kind, 'longer')", 6),
        ("CASE WHEN n > 3 THEN 'abcd' ELSE kind END", 4),
        ("LEFT(said, 9)", 9),
        ("LEFT(said, -9)", LONGEST),
        ("CAST(n AS TEXT)", 64),
        ("REPEAT(kind, 2)", LONGEST),
        ("REPLACE(kind, 'i', 'oooo')", LONGEST),
    ],
)
def test_how_long_a_text_can_be(text: str, most: int) -> None:
    term = planned(f"SELECT COUNT(*) FROM (SELECT DISTINCT id, {text} AS t FROM calls) AS a WHERE t > 'a'")
    assert isinstance(term, Sums), term
    values = [value for one in gathered(term) for _, value in one.keys if value.type.kind == "TEXT"]
    assert {lengths.characters(value, lengths.columns(term.input)) for value in values} == {most}


def test_a_text_of_either_query_is_as_long_as_the_longer_one() -> None:
    either = "(SELECT id, kind AS t FROM calls UNION ALL SELECT id, 'abcd' FROM calls)"
    assert all(limit > 50_000 for limit in limits(f"SELECT COUNT(*) FROM {either} AS a WHERE t || t = 'x'"))


def gathered(term: object) -> list[Gather]:
    found = [term] if isinstance(term, Gather) else []
    return found + [one for each in inside(term) for one in gathered(each)]


@pytest.mark.parametrize(
    "asked",
    [
        "calls WHERE kind || '-' || CAST(n AS TEXT) > 'a'",  # not long
        "(SELECT id, UPPER(kind) || ':' AS t FROM calls) AS a WHERE t || t = 'x'",
        "(SELECT DISTINCT id, kind || 'x' AS t FROM calls) AS a WHERE t || t = 'x'",
        "calls WHERE LEFT(said, 9) || LEFT(said, 9) = 'x'",
        "calls WHERE REVERSE(said) = 'x' AND JSON_VALUE(said, '$.a') = 'x'",  # as they are stored
    ],
)
def test_texts_that_are_short_or_stored_take_no_rows_away(asked: str) -> None:
    assert all(limit > 50_000 for limit in limits(f"SELECT COUNT(*) FROM {asked}"))


def test_tables_that_only_come_together_share_what_fits_and_those_that_meet_multiply() -> None:
    made, fit = "SELECT COUNT(*) FROM calls AS a{} WHERE a.said || a.said > 'a'", FIT // TEXT
    beside = " AND EXISTS (SELECT 1 FROM calls AS b WHERE b.id = a.id AND b.n = 7)"
    assert limits(made.format("") + beside) == {fit // 2}
    assert limits(made.format(" JOIN calls AS b ON b.id = a.id")) == {int(fit**0.5)}
    assert limits(made.format(" JOIN patients AS b ON b.id = a.id")) == {fit}  # of one row each, none is left out


@pytest.mark.parametrize("met", [1, 5])
@pytest.mark.parametrize("tables", [1, 2, 3, 6])
def test_no_more_rows_are_read_than_fit_and_no_fewer(tables: int, met: int) -> None:
    """First as if rows only came together, then as if all of them met; one is read in any case."""

    class Many:
        _tables, meetings, fits = tables, SimpleNamespace(met=met), staticmethod(lambda _: False)

    for most in (*range(200), *range(200, FIT // weight.LITTLE, 97)):
        together, meeting = (light.rows for light in Related.lighter(cast(Related, Many), most, 7))
        assert together is not None and meeting is not None and min(together, meeting) >= 1
        assert together == 1 or together * tables * met <= most
        assert meeting == 1 or meeting**tables * met <= most
        assert (together + 1) * tables * met > most and (meeting + 1) ** tables * met > most


def test_one_row_a_unit_is_one_row() -> None:
    assert not limits("SELECT COUNT(*) FROM patients WHERE JSON_VALUE(note || note, '$.a') = 'x'")


def test_where_a_row_meets_many_its_stored_texts_are_read_to_a_length() -> None:
    """A stored text may be of any length, and each of the rows carries it along."""
    asked = "SELECT COUNT(*) FROM patients, generate_series(1, {}) AS g(i) WHERE LENGTH({}) > i"
    assert "op='left', args=(Field(name='note'" in repr(planned(asked.format(1000, "note")))
    assert f"Const(value={FIT // (4 * 9000)}, " in repr(planned(asked.format(9000, "note"))), "the less, the more"
    found = planned(asked.format(1100, "note || note"))
    assert isinstance(found, Diagnostic) and found.code == "PQL0407", found
    assert "texts could be made for each of 1,100 rows" in found.message
    assert "op='left'" not in repr(planned(asked.format(9000, "sex")))
    many = "patients, generate_series(1, 300) AS g(i), generate_series(1, 300) AS h(j)"
    found = planned(f"SELECT COUNT(*) FROM {many} WHERE sex = '{'y' * 900}' OR i + j > 3")
    assert isinstance(found, Diagnostic) and found.code == "PQL0407", "little, and often"
    assert not limits("SELECT COUNT(*) FROM calls, generate_series(1, 5) AS g(i) WHERE LENGTH(said) > i"), "nor cut"


ATTACKS = {
    "documents": "FROM calls WHERE said = 'x' AND"
    " JSON_VALUE(CASE WHEN n >= 0 THEN REPEAT('[', 8000 + n % 2) || REPEAT(']', 8000 + n % 2) END, '$.a') = 'x'",
    "different": "FROM (SELECT DISTINCT id, n, "
    + ", ".join(f"{LONG.format(5 + at)} AS t{at}" for at in range(6))
    + " FROM calls WHERE said = 'x') AS a",
}


def attacked(attack: str) -> None:
    """A question of which the engine has much to hold if, and only if, patient 7 said so."""
    calls = pd.DataFrame({"id": [7] * 6000, "n": range(6000), "kind": "in", "said": "x"})
    frames = {"patients": pd.DataFrame({"id": [7], "ill": [True], "sex": "F", "note": "x"}), "calls": calls}
    with connect(policy=POLICY, ledger=":memory:", frames=frames, analyst="mallory") as session:
        session.run(f"SELECT COUNT(*) AS n {ATTACKS[attack]} AT MOST 5 ROWS PER UNIT SPEND EPSILON 1e-9")


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_question_does_not_fail_of_one_units_rows(attack: str) -> None:
    attacked(attack)


@pytest.mark.parametrize("attack", ATTACKS)
def test_planted_without_the_bound_it_fails(attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight, "MADE", 2**40)
    with pytest.raises(PrivQLError, match="PQL0601"):
        attacked(attack)
