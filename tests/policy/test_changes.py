"""What a version of the policy changes for the loss: each kind of difference, by what it does to the protection."""

from __future__ import annotations

import pytest

from privql.diagnostics import Source
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog
from privql.policy.change import Change
from privql.policy.changes import changes
from privql.policy.findings import accepted

POLICY = """\
CREATE UNIT patient;
CREATE UNIT firm;
CREATE PUBLIC TABLE regions (code TEXT KEY) FROM 'regions.csv';
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY,
  sex TEXT IN ('F', 'M'),
  age INT BETWEEN 0 AND 120,
  note TEXT HIDDEN
) FROM 'patients.csv';
CREATE PRIVATE TABLE visits (patient_id TEXT UNIT patient, day INT KEY) AT MOST 20 ROWS PER UNIT FROM 'visits.csv';
CREATE BUDGET research FOR UNIT patient EPSILON 3 DELTA 1e-6;
GRANT research TO alice LIMIT EPSILON 1 EACH;
GRANT research TO bob;
"""


def catalog(text: str) -> Catalog:
    return accepted(*build_catalog(Source(text, "policy.pql")))


def between(*texts: str) -> tuple[Change, ...]:
    """What the last changes, the others having been in force before it."""
    *before, new = map(catalog, texts)
    return changes(before, new)


def told(*texts: str) -> list[tuple[str, str]]:
    return [(change.effect, change.what) for change in between(*texts)]


SINGLE = [
    ("EPSILON 3", "EPSILON 5", "weaker", "`research` has ε = 5, and had 3"),
    ("EPSILON 3", "EPSILON 2", "stronger", "`research` has ε = 2, and had 3"),
    ("DELTA 1e-6", "DELTA 1e-5", "weaker", "`research` has δ = 0.00001, and had 0.000001"),
    (" DELTA 1e-6", "", "stronger", "`research` has δ = 0, and had 0.000001"),
    ("DELTA 1e-6", "DELTA 1e-6 SHARES (KEYS 1/2)", "weaker", "`research` splits its δ otherwise"),
    ("DELTA 1e-6", "DELTA 1e-6 SHARES (KEYS 1/4)", None, None),
    ("DELTA 1e-6", "DELTA 1e-6 MAX EPSILON 1 PER QUERY", "neutral", "`research` has other terms for a single query"),
    ("DELTA 1e-6", "DELTA 1e-6 EVERY 30 DAYS", "weaker", "`research` renews every 30 days, and did not"),
    ("LIMIT EPSILON 1", "LIMIT EPSILON 2", "weaker", "the limit of `alice` in `research` is higher"),
    ("LIMIT EPSILON 1 EACH", "", "weaker", "the limit of `alice` in `research` is higher"),
    ("LIMIT EPSILON 1 EACH", "LIMIT EPSILON 1 DELTA 1e-7 EACH", "stronger",
     "the limit of `alice` in `research` is lower"),
    ("TO bob", "TO bob, carol", "weaker", "`carol` may use `research` now"),
    ("GRANT research TO bob;\n", "", "stronger", "`bob` may no longer use `research`"),
    ("TO bob", "TO Bob", None, None),
    ("GRANT research TO alice LIMIT EPSILON 1 EACH;\nGRANT research TO bob;\n", "", "weaker",
     "every analyst may use every budget"),
    ("UNIT patient;", "UNIT patient NEIGHBOURS CHANGE ONE;", "weaker",
     "neighbours of `patient` now differ in what one has"),
    ("CREATE UNIT firm;\n", "", "neutral", "`firm` is no unit any more"),
    ("CREATE UNIT firm;", "CREATE UNIT firm; CREATE UNIT ward;", "neutral", "`ward` is a unit now"),
    ("TEXT HIDDEN", "TEXT", "weaker", "`patients.note` is no longer hidden"),
    ("INT BETWEEN 0 AND 120", "INT BETWEEN 0 AND 120 HIDDEN", "stronger", "`patients.age` is hidden now"),
    ("UNIT patient KEY", "UNIT patient VISIBLE KEY", "weaker", "`patients.patient_id` is visible now"),
    ("'M')", "'M', 'X')", "neutral", "`patients.sex` is declared otherwise"),
    ("0 AND 120", "0 AND 99", "neutral", "`patients.age` is declared otherwise"),
    (",\n  note TEXT HIDDEN", "", None, None),
    ("note TEXT HIDDEN", "note TEXT HIDDEN, x INT", "neutral", "`patients.x` is a new column"),
    ("UNIT patient, day", "UNIT firm, day", "weaker",
     "the rows of `visits` belong to `firm` (by `patient_id`), and belonged to `patient` (by `patient_id`)"),
    ("AT MOST 20", "AT MOST 30", "neutral", "`visits` keeps 30 rows of a unit, and kept 20 rows"),
    ("AT MOST 20 ROWS PER UNIT ", "", "neutral", "`visits` keeps any number of rows of a unit, and kept 20 rows"),
    ("day INT KEY", "day INT", "neutral", "the keys of `visits` are others"),
    ("'visits.csv'", "'new.csv'", "neutral", "`visits` is read from other files"),
    ("GRANT research TO bob", "REFRESH visits AS '2026'; GRANT research TO bob", "neutral",
     "the data of `visits` is stated to be '2026'"),
    ("CREATE UNIT firm", "CREATE VIEW v AS SELECT age FROM patients; CREATE UNIT firm", "neutral",
     "the views are others"),
    ("CREATE UNIT firm", "PAD TIME TO 2 SECONDS; CREATE UNIT firm", "stronger", "time is padded to 2 s, and was not"),
    ("CREATE UNIT firm", "-- only a remark\nCREATE UNIT firm", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "effect", "what"), SINGLE)
def test_one_difference(old: str, new: str, effect: str | None, what: str | None) -> None:
    assert POLICY.count(old) == 1
    assert told(POLICY, POLICY.replace(old, new)) == ([] if effect is None else [(effect, what)])


def test_the_first_policy_changes_nothing() -> None:
    assert told(POLICY) == []
    assert told(POLICY, POLICY) == []


def test_what_becomes_weaker_one_way_is_not_stronger_the_other_way_if_they_cannot_be_compared() -> None:
    one = POLICY.replace("UNIT patient;", "UNIT patient NEIGHBOURS CHANGE ONE;")
    assert told(one, POLICY) == [("weaker", "neighbours of `patient` now differ in whether one is there")]
    other = POLICY.replace("UNIT patient, day", "UNIT firm, day")
    assert [effect for effect, _ in told(other, POLICY)] == ["weaker"]


PUBLIC = "CREATE PUBLIC TABLE patients (patient_id TEXT KEY, age INT) FROM 'patients.csv';"
PRIVATE = POLICY[POLICY.index("CREATE PRIVATE TABLE patients") : POLICY.index("CREATE PRIVATE TABLE visits")]


def test_a_private_table_made_public_under_its_name_or_another_is_seen_once() -> None:
    plain = POLICY.replace(PRIVATE, PUBLIC)
    assert told(POLICY, plain) == [("weaker", "`patients` is public, and was private")]
    assert told(POLICY, plain, plain) == []
    renamed = POLICY.replace(PRIVATE, PUBLIC.replace("TABLE patients", "TABLE open_rows"))
    assert told(POLICY, renamed)[0] == ("weaker", "`open_rows` makes the rows of `patients` public")
    assert told(POLICY, renamed, renamed) == []
    assert ("stronger", "`patients` is private, and was public") in told(plain, POLICY)


@pytest.mark.parametrize(
    ("gone", "old", "new"),
    [
        (PRIVATE, "TEXT HIDDEN", "TEXT"),
        (PRIVATE, PRIVATE, PUBLIC),
        (PRIVATE, "patient_id TEXT UNIT patient KEY", "patient_id TEXT UNIT firm KEY"),
        (",\n  note TEXT HIDDEN", "note TEXT HIDDEN", "note TEXT"),
    ],
)
def test_what_was_left_out_for_a_while_is_compared_with_what_it_was(gone: str, old: str, new: str) -> None:
    without, back = POLICY.replace(gone, ""), POLICY.replace(old, new)
    assert not [what for effect, what in told(POLICY, without) if effect == "weaker"]
    assert told(POLICY, without, back)[0][0] == "weaker"
    assert "weaker" not in [effect for effect, _ in told(POLICY, without, POLICY)]


def test_a_table_by_another_name_is_compared_with_the_one_that_had_its_files() -> None:
    copy = PRIVATE.replace("TABLE patients", "TABLE people").replace("TEXT HIDDEN", "TEXT")
    assert told(POLICY, POLICY + copy) == [("weaker", "`people.note` is no longer hidden")]
    assert told(POLICY, POLICY + copy, POLICY + copy) == []


def test_a_budget_that_comes_is_more_money() -> None:
    second = POLICY + "CREATE BUDGET second FOR UNIT patient EPSILON 1 DELTA 1e-7;"
    (change,) = between(POLICY, second)
    assert (change.effect, change.why) == ("weaker", "one patient may lose ε = 1, δ = 0.0000001 more")
    assert told(second, POLICY) == [("stronger", "`second` is no budget of `patient` any more")]
    assert told(second, POLICY, second) == [("weaker", "`second` is a budget again")]
    fresh = "CREATE UNIT ward; CREATE BUDGET wards FOR UNIT ward EPSILON 1;"
    assert [effect for effect, _ in told(POLICY, POLICY + fresh)] == ["neutral", "neutral"]


def test_shares_are_remembered_while_a_budget_is_away() -> None:
    split = POLICY.replace("DELTA 1e-6", "DELTA 1e-6 SHARES (KEYS 0)")
    budget = POLICY[POLICY.index("CREATE BUDGET") :]
    found = told(POLICY, POLICY.replace(budget, ""), split)
    assert ("weaker", "`research` splits its δ otherwise") in found


RAISE = "ALTER BUDGET research ADD EPSILON 1 DELTA 1e-6 REASON 'a second study';"


def test_a_raise_gives_its_own_reason() -> None:
    raised = between(POLICY, POLICY + RAISE)
    assert [(each.effect, each.reason) for each in raised] == [("weaker", "a second study")] * 2
    assert "reason: a second study" in str(raised[0])
    again = POLICY + RAISE + RAISE
    assert [each.reason for each in between(POLICY + RAISE, again)] == ["a second study"] * 2
    assert told(again, POLICY + RAISE)[0][0] == "stronger"


def test_a_raise_covers_what_it_adds_and_no_more() -> None:
    """Nor can an old reason be used again, or that of another amount."""
    more = POLICY.replace("EPSILON 3", "EPSILON 3.5")
    assert [each.reason for each in between(POLICY, more + RAISE)] == ["", "a second study"]
    assert [each.reason for each in between(POLICY + RAISE, more + RAISE)] == [""]
    only_delta = "ALTER BUDGET research ADD DELTA 1e-6 REASON 'more groups';"
    assert [each.reason for each in between(POLICY, more + only_delta)] == ["", "more groups"]
    less = POLICY.replace("EPSILON 3", "EPSILON 2")
    assert [each.effect for each in between(POLICY, less + RAISE)] == ["weaker"]  # δ alone is more


def test_a_unit_is_missed_where_its_tables_are_still_there() -> None:
    whole = "CREATE UNIT a; CREATE UNIT b; CREATE PRIVATE TABLE t (id TEXT UNIT a KEY);"
    assert ("weaker", "`a` is no unit any more") in told(
        whole, whole.replace("CREATE UNIT a;", "").replace("UNIT a", "UNIT b")
    )


def test_a_unit_that_was_away_is_compared_with_what_it_was() -> None:
    with_ward = POLICY + "CREATE UNIT ward;"
    one = POLICY + "CREATE UNIT ward NEIGHBOURS CHANGE ONE;"
    assert told(with_ward, POLICY, one) == [("weaker", "neighbours of `ward` now differ in what one has")]
    assert told(with_ward, POLICY, with_ward) == []


def test_a_budget_that_renews_sooner_is_weaker_and_one_that_renews_later_or_never_is_stronger() -> None:
    days = {every: POLICY.replace("DELTA 1e-6", f"DELTA 1e-6 EVERY {every} DAYS") for every in (7, 30)}
    assert told(days[30], days[7]) == [("weaker", "`research` renews every week, and did every 30 days")]
    assert told(days[7], days[30]) == [("stronger", "`research` renews every 30 days, and did every week")]
    assert told(days[30], POLICY) == [("stronger", "`research` does not renew, and did every 30 days")]
    (more,) = between(days[30], days[30].replace("EPSILON 3", "EPSILON 4"))
    assert (more.effect, more.why) == ("weaker", "one patient may lose 1 more every 30 days")


@pytest.mark.parametrize(
    ("before", "now", "effect"),
    [("2 SECONDS", "1.9 SECONDS", "weaker"), ("2 SECONDS", "1 MINUTE", "stronger"), ("120 SECONDS", "2 MINUTES", None)],
)
def test_time_that_is_padded_to_less_is_weaker(before: str, now: str, effect: str | None) -> None:
    found = between(*(f"{POLICY}PAD TIME TO {length};" for length in (before, now)))
    assert [each.effect for each in found] == ([] if effect is None else [effect])
    (gone,) = between(f"{POLICY}PAD TIME TO {before};", POLICY)
    assert gone.effect == "weaker" and gone.what.startswith("time is no longer padded, and was to ")
