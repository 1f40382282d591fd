"""What each rule bounds is reached by some database; and what no rule proves cannot be written."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from privql.audit import reference
from privql.kernel import relating, rules
from privql.kernel.features import (
    Bits,
    Extreme,
    Feature,
    Frame,
    Mode,
    Moment,
    Neighbour,
    Nth,
    Order,
    Over,
    Quantile,
    Rank,
    Splice,
    Steps,
    Tally,
    Total,
    WindowCall,
)
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar
from privql.kernel.stable import Stable
from privql.kernel.terms import Link, Public, Scan, SetOperation, Unit
from tests.kernel.databases import PUBLIC, PUBLIC_ROWS, SALT, Database, bag, nobody, scans

PERSON = Unit("person")
NUMBER, V, W = (Field(c, INT) for c in ("number", "v", "w"))
PARITY = Apply("mod", (NUMBER, Const(2, INT)), INT)
VISIT, X, Y = (Field(c, INT) for c in ("visit", "x", "y"))
PEOPLE, VISITS, TESTS = (rules.scan(scans(PERSON)[table]) for table in ("people", "visits", "tests"))
TWO, THREE = rules.keep_rows(VISITS, 2), rules.keep_rows(TESTS, 3)
DIFFERENT = rules.gather(TESTS, tuple((c, Field(c, t)) for c, t in reference.types(TESTS.term).items()), ())
ONE_VISIT, ONE_TEST = rules.keep_rows(VISITS, 1), rules.keep_rows(TESTS, 1)


def beside(kind: str, left: Stable, right: Stable, *on: tuple[Scalar, Scalar], where: Scalar | None = None) -> Stable:
    return relating.join(kind, left, right, on, where)


def combined(op: SetOperation, *columns: tuple[str, str, str], right: Stable = THREE) -> Stable:
    return relating.combine(op, TWO, right, columns)


VALUES, VALUE = rules.gather(THREE, (("value", X),), ()), Field("value", INT)
# one row by its bound, and not by a key
AT_MOST_ONE = relating.combine("INTERSECT ALL", ONE_VISIT, TESTS, (("a", "v", "x"),))
AS_FEW = relating.combine("INTERSECT ALL", ONE_TEST, VISITS, (("b", "y", "w"),))

REACHED: dict[str, tuple[Stable, int]] = {
    "scan of a key": (PEOPLE, 1),
    "keep rows": (TWO, 2),
    "keep rows of fewer": (rules.keep_rows(TWO, 5), 2),
    "filter": (rules.keep_where(TWO, Apply("ge", (V, Const(0, INT)), BOOL)), 2),
    "columns": (rules.compute(TWO, (("a", V),)), 2),
    "lookup of one": (relating.lookup(TWO, PUBLIC, ((V, "pa"),), None, 1, False), 2),
    "lookup of two": (relating.lookup(TWO, PUBLIC, ((V, "pa"),), None, 2, True), 4),
    "lookup of all in reach": (relating.lookup(TWO, PUBLIC, (), None, 7, False), 14),
    "inner join, by what is made of a key": (beside("INNER", THREE, TWO, (X, PARITY)), 6),
    "cross join": (beside("INNER", TWO, THREE), 6),
    "inner join, right unique": (beside("INNER", THREE, TWO, (VISIT, NUMBER)), 3),
    "inner join, left unique": (beside("INNER", TWO, THREE, (NUMBER, VISIT)), 3),
    "inner join, right without a bound": (beside("INNER", THREE, VISITS, (VISIT, NUMBER)), 3),
    "inner join, left without a bound": (beside("INNER", VISITS, THREE, (NUMBER, VISIT)), 3),
    "left join": (beside("LEFT", TWO, THREE, (V, X)), 6),
    "left join, right unique": (beside("LEFT", THREE, TWO, (VISIT, NUMBER)), 3),
    "left join, left unique": (beside("LEFT", TWO, THREE, (NUMBER, VISIT)), 4),
    "inner join, both unique": (beside("INNER", TWO, VALUES, (NUMBER, VALUE)), 2),
    "left join, both unique": (beside("LEFT", TWO, VALUES, (NUMBER, VALUE)), 2),
    "left join of one row": (beside("LEFT", PEOPLE, THREE), 3),
    "full join, of one row each": (beside("FULL", AT_MOST_ONE, AS_FEW, (Field("a", INT), Field("b", INT))), 2),
    "full join, all met": (beside("FULL", TWO, THREE, (V, X)), 6),
    "full join, none met": (beside("FULL", ONE_VISIT, ONE_TEST, (V, X)), 2),
    "full join, none of more met": (beside("FULL", ONE_VISIT, THREE, (V, X)), 4),
    "full join, right unique": (beside("FULL", THREE, TWO, (VISIT, NUMBER)), 5),
    "full join, left unique": (beside("FULL", TWO, THREE, (NUMBER, VISIT)), 5),
    "mark": (relating.mark(TWO, "m", THREE, ((NUMBER, VISIT),)), 2),
    "gather": (rules.gather(THREE, (("a", X), ("b", Y)), (("n", Tally()),)), 3),
    "gather without keys": (rules.gather(TESTS, (), (("n", Tally()),)), 1),
    "gather of more listed than rows": (rules.gather(THREE, (("a", X), ("b", Y)), (), ((0, 1), (0, 1))), 3),
    "gather of listed keys": (rules.gather(TESTS, (("a", X),), (("n", Tally()),), ((1, None),)), 2),
    "union all": (combined("UNION ALL", ("a", "v", "x")), 5),
    "intersect": (combined("INTERSECT", ("a", "v", "x")), 2),
    "intersect all": (combined("INTERSECT ALL", ("a", "v", "x")), 2),
    "intersect with fewer": (combined("INTERSECT", ("a", "v", "x"), right=ONE_TEST), 1),
    "except": (combined("EXCEPT", ("a", "v", "x")), 2),
    "except all": (combined("EXCEPT ALL", ("a", "v", "x")), 2),
    "window": (rules.window(TWO, (), (), (("n", Rank("RANK")),)), 2),
    "once": (rules.once(TWO), 2),
}


@pytest.mark.parametrize("name", REACHED)
def test_the_bound_on_rows_is_what_some_unit_reaches(name: str) -> None:
    stable, most = REACHED[name]
    assert stable.rows == most
    choice, reached = random.Random(name), 0
    for _ in range(3000):
        alone = Database({"u0": bag("u0", choice)}, nobody(choice))
        reached = max(reached, len(reference.rows(stable.term, alone.tables(choice), SALT, PUBLIC_ROWS)))
        if reached == most:
            break
    assert reached == most


def test_what_has_no_bound_claims_none() -> None:
    unbounded = (
        VISITS,
        relating.lookup(TWO, PUBLIC, ((V, "pa"),), None, None, False),
        beside("INNER", TWO, TESTS, (V, X)),
        beside("LEFT", TWO, TESTS, (NUMBER, VISIT)),
        beside("LEFT", VISITS, THREE, (V, X)),
        beside("FULL", PEOPLE, VISITS, (Field("code", INT), NUMBER)),
        rules.gather(TESTS, (("a", X),), ()),
        combined("UNION ALL", ("a", "v", "x"), right=TESTS),
    )
    assert [stable.rows for stable in unbounded] == [None] * len(unbounded)


def keys(*sets: str) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(key.split()) for key in sets)


ALONE = rules.scan(replace(scans(PERSON)["tests"], unit_column=None, via=()))
UNIQUE: dict[str, tuple[Stable, frozenset[frozenset[str]]]] = {
    "scan": (VISITS, keys("number")),
    "scan of a key": (PEOPLE, keys("", "code")),
    "scan of rows of their own": (ALONE, keys("")),
    "scan without its key": (rules.scan(replace(scans(PERSON)["visits"], columns=(("v", INT),))), keys()),
    "a copy alone": (rules.compute(VISITS, (("a", NUMBER),)), keys("a")),
    "copies": (rules.compute(VISITS, (("a", NUMBER), ("b", V))), keys("a")),
    "not what is computed": (rules.compute(VISITS, (("number", PARITY),)), keys()),
    "not what is left of two columns": (rules.compute(DIFFERENT, (("x", X),)), keys()),
    "one row": (rules.keep_rows(VISITS, 1), keys("", "number")),
    "lookup of one": (relating.lookup(VISITS, PUBLIC, ((V, "pa"),), None, 1, True), keys("number")),
    "lookup of two": (relating.lookup(VISITS, PUBLIC, ((V, "pa"),), None, 2, True), keys()),
    "inner join, right unique": (beside("INNER", DIFFERENT, VISITS, (X, NUMBER)), keys("visit x y f")),
    "inner join, both unique": (beside("INNER", PEOPLE, VISITS, (Field("p", INT), NUMBER)), keys("", "code", "number")),
    "left join, left unique": (beside("LEFT", VISITS, TESTS, (NUMBER, X)), keys()),
    "left join of one row": (beside("LEFT", PEOPLE, VISITS), keys()),
    "full join": (beside("FULL", PEOPLE, VISITS, (Field("code", INT), NUMBER)), keys()),
    "gather": (rules.gather(TESTS, (("a", X), ("b", Y)), (("n", Tally()),)), keys("a b")),
    "gather without keys": (rules.gather(TESTS, (), (("n", Tally()),)), keys("")),
    "union all": (combined("UNION ALL", ("a", "v", "x")), keys()),
    "intersect": (combined("INTERSECT", ("a", "v", "x"), ("b", "w", "y")), keys("a b")),
    "except": (combined("EXCEPT", ("a", "v", "x"), ("b", "w", "y")), keys("a b")),
    "except all": (combined("EXCEPT ALL", ("a", "v", "x"), ("b", "w", "y")), keys()),
    "window": (rules.window(VISITS, (), (), (("n", Rank("ROW_NUMBER")),)), keys("number")),
    "once": (rules.once(PEOPLE), keys()),
}


@pytest.mark.parametrize("name", UNIQUE)
def test_what_stays_unique(name: str) -> None:
    stable, unique = UNIQUE[name]
    assert stable.unique == unique


NAMED = rules.scan(replace(scans(PERSON)["visits"], columns=(("id", TEXT), ("v", INT), ("w", INT))))
ID, CODE, PA = Field("id", TEXT), Field("code", INT), Field("pa", INT)
ON_THEIRS = beside("INNER", VISITS, PEOPLE)
IN_ONE = rules.keep_groups(VISITS, (("g", V),), 1)
COLUMNS, TURNED = (("a", "v", "x"), ("b", "w", "y")), (("a", "x", "v"), ("b", "y", "w"))
DETERMINED: dict[str, tuple[Stable, str]] = {
    "scan": (VISITS, ""),
    "the unit itself": (NAMED, "id"),
    "scan of a key": (PEOPLE, "code p"),
    "one row": (rules.keep_rows(VISITS, 1), "number v w"),
    "two rows": (TWO, ""),
    "filter": (rules.keep_where(ON_THEIRS, Apply("ge", (V, CODE), BOOL)), "code p"),
    "columns": (rules.compute(ON_THEIRS, (("a", CODE), ("b", Apply("add", (CODE, V), INT)), ("c", V))), "a"),
    "a constant": (rules.compute(VISITS, (("a", Const(1, INT)),)), "a"),
    "lookup of one": (relating.lookup(ON_THEIRS, PUBLIC, ((CODE, "pa"),), None, 1, True), "code p pa pb"),
    "lookup of two": (relating.lookup(ON_THEIRS, PUBLIC, ((CODE, "pa"),), None, 2, True), "code p"),
    "one row's lookup of two": (relating.lookup(PEOPLE, PUBLIC, ((CODE, "pa"),), None, 2, True), "code p"),
    "lookup by what varies": (relating.lookup(ON_THEIRS, PUBLIC, ((V, "pa"),), None, 1, True), "code p"),
    "lookup where it varies": (
        relating.lookup(ON_THEIRS, PUBLIC, ((CODE, "pa"),), Apply("eq", (V, PA), BOOL), 1, True),
        "code p",
    ),
    "join": (ON_THEIRS, "code p"),
    "left join by nothing": (beside("LEFT", VISITS, PEOPLE), "code p"),
    "left join by what varies": (beside("LEFT", VISITS, PEOPLE, (V, CODE)), ""),
    "left join where it varies": (beside("LEFT", VISITS, PEOPLE, where=Apply("eq", (V, CODE), BOOL)), ""),
    "left join from one": (beside("LEFT", PEOPLE, VISITS), "code p"),
    "full join": (beside("FULL", VISITS, PEOPLE), ""),
    "mark": (relating.mark(ON_THEIRS, "m", TESTS, ((CODE, X),)), "code p m"),
    "mark of what varies": (relating.mark(ON_THEIRS, "m", TESTS, ((V, X),)), "code p"),
    "gather": (rules.gather(ON_THEIRS, (("a", CODE), ("b", V)), (("n", Tally()),)), "a"),
    "gather by what is known": (rules.gather(ON_THEIRS, (("a", CODE),), (("n", Tally()),)), "a n"),
    "one group": (IN_ONE, "v"),
    "two groups": (rules.keep_groups(VISITS, (("g", V),), 2), ""),
    "of one listed": (rules.keep_groups(VISITS, (("g", V),), 2, ((1,),)), "v"),
    "union": (combined("UNION ALL", ("a", "v", "x")), ""),
    "intersect": (relating.combine("INTERSECT ALL", IN_ONE, TESTS, COLUMNS), "a"),
    "intersect, right": (
        relating.combine("INTERSECT ALL", TESTS, IN_ONE, TURNED),
        "a",
    ),
    "except": (relating.combine("EXCEPT ALL", IN_ONE, TESTS, COLUMNS), "a"),
    "except from what varies": (
        relating.combine("EXCEPT ALL", TESTS, IN_ONE, TURNED),
        "",
    ),
    "once": (rules.once(PEOPLE), ""),
}


@pytest.mark.parametrize("name", DETERMINED)
def test_what_a_unit_determines(name: str) -> None:
    """No more is claimed than each database keeps; and where something is not, some database has it vary."""
    stable, columns = DETERMINED[name]
    assert stable.determined == frozenset(columns.split())
    choice, varied = random.Random(name), set[str]()
    open_ = stable.columns - stable.determined
    for _ in range(3000):
        alone = Database({"u0": bag("u0", choice)}, nobody(choice))
        rows = [row for _, row in reference.rows(stable.term, alone.tables(choice), SALT, PUBLIC_ROWS)]
        varied |= {c for c in stable.columns if len({row[c] for row in rows}) > 1}
        assert not varied & stable.determined
        if varied:
            break
    assert varied or not open_ or not stable.owned


def test_units_in_parts_agree_in_their_part_and_in_all_that_they_agreed_in() -> None:
    assert rules.unit_part(NAMED, "v").fixed == {"id", "v"}


def test_a_unit_read_as_another_type_or_of_another_table_is_not_known_to_be_one_value() -> None:
    for table, type in (("visits", INT), ("tests", TEXT)):
        assert not rules.scan(replace(scans(PERSON)[table], columns=(("id", type),))).determined


def test_a_group_by_what_a_unit_determines_is_one_row() -> None:
    assert rules.gather(ON_THEIRS, (("a", CODE),), (("n", Tally()),)).rows == 1
    assert rules.gather(ON_THEIRS, (("a", CODE), ("b", V)), ()).rows is None
    assert rules.gather(VISITS, (("a", V),), (), ((1,),)).rows == 1
    assert rules.gather(IN_ONE, (("a", V),), (("n", Tally()),)).rows == 1


def test_only_values_of_one_type_meet_one_key() -> None:
    """As FLOAT 2^53 and 2^53 + 1 are one number: an engine that converts would find two rows."""
    as_float = Apply("cast", (X,), FLOAT)
    assert beside("INNER", THREE, VISITS, (X, NUMBER)).rows == 3
    assert beside("INNER", THREE, VISITS, (as_float, NUMBER)).rows is None
    assert beside("INNER", VISITS, THREE, (NUMBER, as_float)).rows is None
    with pytest.raises(Unproved, match="another type"):
        relating.lookup(THREE, PUBLIC, ((as_float, "pa"),), None, 1, False)


OTHERS: dict[str, Stable] = {
    "another unit": rules.scan(scans(Unit("household"))["tests"]),
    "other neighbours": rules.scan(scans(Unit("person", change_one=True))["tests"]),
    "units named in another type": rules.scan(replace(scans(PERSON)["tests"], unit_column=("id", INT))),
    "rows of their own": ALONE,
    "nobody's rows": rules.once(TESTS),
}


@pytest.mark.parametrize("name", OTHERS)
def test_only_rows_of_one_unit_are_related(name: str) -> None:
    other = OTHERS[name]
    for left, right in ((VISITS, other), (other, VISITS)):
        for kind in ("INNER", "LEFT", "FULL"):
            with pytest.raises(Unproved):
                beside(kind, left, right)
        with pytest.raises(Unproved):
            relating.mark(left, "m", right)
        one, two = ("v", "x") if left is VISITS else ("x", "v")
        with pytest.raises(Unproved):
            relating.combine("UNION ALL", left, right, (("a", one, two),))


NOBODYS = rules.once(TWO)
NOWHERE = Field("nowhere", INT)
STEPS = Steps(V, Fraction(1), 0, 1)
AREAS = Public("areas", (("v", INT),))
TWICE = Public("areas", (("pa", INT), ("pa", INT)))
REFUSED: dict[str, Callable[[], object]] = {
    # what is nobody's is in no unit's hands
    "keep rows of nobody": lambda: rules.keep_rows(NOBODYS, 1),
    "lookup of nobody": lambda: relating.lookup(NOBODYS, PUBLIC, (), None, 1, False),
    "mark nobody's rows": lambda: relating.mark(NOBODYS, "m", PUBLIC),
    "gather of nobody": lambda: rules.gather(NOBODYS, (), ()),
    "window over nobody": lambda: rules.window(NOBODYS, (), (), ()),
    "once more": lambda: rules.once(NOBODYS),
    # references
    "a key along references": lambda: rules.scan(replace(scans(PERSON)["tests"], key=True)),
    "references without a unit": lambda: rules.scan(
        Scan("t", PERSON, None, False, (), via=(Link("a", "b", ("c", TEXT)),))
    ),
    # columns that are not there
    "order": lambda: rules.keep_rows(VISITS, 1, (Order(NOWHERE),)),
    "lookup value": lambda: relating.lookup(VISITS, PUBLIC, ((NOWHERE, "pa"),), None, 1, False),
    "lookup column": lambda: relating.lookup(VISITS, PUBLIC, ((V, "pc"),), None, 1, False),
    "lookup where": lambda: relating.lookup(VISITS, PUBLIC, (), NOWHERE, 1, False),
    "join on the other side": lambda: beside("INNER", VISITS, TESTS, (X, NUMBER)),
    "join on the left": lambda: beside("INNER", VISITS, TESTS, (X, X)),
    "join on the right": lambda: beside("INNER", VISITS, TESTS, (NUMBER, V)),
    "join where": lambda: beside("INNER", VISITS, TESTS, where=NOWHERE),
    "mark on": lambda: relating.mark(VISITS, "m", TESTS, ((X, X),)),
    "mark on the other": lambda: relating.mark(VISITS, "m", TESTS, ((V, V),)),
    "mark where": lambda: relating.mark(VISITS, "m", TESTS, (), NOWHERE),
    "gather key": lambda: rules.gather(VISITS, (("a", NOWHERE),), ()),
    "groups by nothing": lambda: rules.keep_groups(VISITS, (), 1),
    "groups of nobody": lambda: rules.keep_groups(NOBODYS, (("a", V),), 1),
    "no group at all": lambda: rules.keep_groups(VISITS, (("a", V),), 0),
    "gather of too few lists": lambda: rules.gather(VISITS, (("a", V),), (), ()),
    "gather of an empty list beside another": lambda: rules.gather(VISITS, (("a", V), ("b", W)), (), ((1,), ())),
    "gather of an empty list": lambda: rules.gather(VISITS, (("a", V),), (), ((),)),
    "gather of a value listed twice": lambda: rules.gather(VISITS, (("a", V),), (), ((1, 1),)),
    "gather feature": lambda: rules.gather(VISITS, (), (("a", Extreme(NOWHERE, True)),)),
    "gather where": lambda: rules.gather(VISITS, (), (("a", Tally(NOWHERE)),)),
    "gather steps": lambda: rules.gather(VISITS, (), (("a", Total(replace(STEPS, value=NOWHERE))),)),
    "combine left": lambda: combined("UNION ALL", ("a", "x", "x")),
    "combine right": lambda: combined("UNION ALL", ("a", "v", "v")),
    "window partition": lambda: rules.window(VISITS, (NOWHERE,), (), ()),
    "window order": lambda: rules.window(VISITS, (), (Order(NOWHERE),), ()),
    "window value": lambda: over(("a", Neighbour(NOWHERE, 1, V))),
    "window default": lambda: over(("a", Neighbour(V, 1, NOWHERE))),
    "window feature": lambda: over(("a", Over(Tally(NOWHERE), None))),
    "window place": lambda: over(("a", Nth(NOWHERE, 1, None))),
    "quantile": lambda: of_groups(Quantile(NOWHERE, 0.5, "LEAST")),
    "mode": lambda: of_groups(Mode(NOWHERE)),
    "bits": lambda: of_groups(Bits("OR", NOWHERE)),
    "text": lambda: of_groups(Splice(Field("nowhere", TEXT), "", ())),
    "order of texts": lambda: of_groups(Splice(Const("", TEXT), "", (Order(NOWHERE),))),
    "moment": lambda: of_groups(Moment((STEPS, Steps(NOWHERE, Fraction(1), 0, 1)))),
    # what cannot be computed
    "bits of a text": lambda: of_groups(Bits("OR", Const("", TEXT))),
    "a text of numbers": lambda: of_groups(Splice(V, "", ())),
    "a share beyond all": lambda: of_groups(Quantile(V, 1.5, "LEAST")),
    "a share below none": lambda: of_groups(Quantile(V, -0.5, "LEAST")),
    "no factor": lambda: of_groups(Moment(())),
    "three factors": lambda: of_groups(Moment((STEPS, STEPS, STEPS))),
    "a wide factor": lambda: of_groups(Moment((Steps(V, Fraction(1), -1, 2**62),))),
    "two wide factors": lambda: of_groups(Moment((STEPS, Steps(V, Fraction(1), -1, 2**40)))),
    "a place before the first": lambda: over(("a", Nth(V, 0, None))),
    "a frame beyond all": lambda: over(("a", Over(Tally(), Frame("ROWS", None, 2**62 + 1)))),
    "a frame before all": lambda: over(("a", Over(Tally(), Frame("ROWS", -(2**62) - 1, None)))),
    # two columns of one name
    "lookup beside its own": lambda: relating.lookup(VISITS, AREAS, (), None, 1, False),
    "lookup of twins": lambda: relating.lookup(VISITS, TWICE, (), None, 1, False),
    "join with itself": lambda: beside("INNER", VISITS, VISITS),
    "mark's column": lambda: relating.mark(VISITS, "v", TESTS),
    "mark by itself": lambda: relating.mark(VISITS, "m", VISITS),
    "gather twins": lambda: rules.gather(VISITS, (("a", V),), (("a", Tally()),)),
    "combine twins": lambda: combined("UNION ALL", ("a", "v", "x"), ("a", "w", "x")),
    "window's column": lambda: over(("v", Rank("RANK"))),
    "window twins": lambda: over(("a", Rank("RANK")), ("a", Rank("RANK"))),
    # bounds
    "no row at all": lambda: rules.keep_rows(VISITS, 0),
    "no public row": lambda: relating.lookup(VISITS, PUBLIC, (), None, 0, False),
    "steps without a bound": lambda: rules.gather(VISITS, (), (("a", Total(replace(STEPS, high=2**62 + 1))),)),
    # a proof of something else
}


@pytest.mark.parametrize(("low", "high"), [(-(2**62), 2**62), (2**62, 2**62), (-(2**62), -(2**62))])
def test_steps_reach_to_their_limit(low: int, high: int) -> None:
    assert rules.gather(VISITS, (), (("a", Total(replace(STEPS, low=low, high=high))),)).rows == 1
    assert over(("a", Over(Tally(), Frame("ROWS", low, high)))).columns > VISITS.columns


def test_factors_reach_to_their_limit() -> None:
    for low, high in ((0, 2**40), (-1, 2**40 - 1), (-(2**40), 0)):
        assert of_groups(Moment((Steps(V, Fraction(1), low, high),) * 2)).rows == 1
    for low, high in ((0, 2**62), (-1, 2**62 - 1), (-(2**61), 2**61)):
        assert of_groups(Moment((Steps(V, Fraction(1), low, high),))).rows == 1


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_shares_reach_from_the_least_to_the_greatest(share: float) -> None:
    assert of_groups(Quantile(V, share, "LEAST")).rows == 1


def of_groups(feature: Feature) -> Stable:
    return rules.gather(VISITS, (), (("a", feature),))


def over(*calls: tuple[str, WindowCall]) -> Stable:
    return rules.window(VISITS, (), (), calls)


@pytest.mark.parametrize("name", REFUSED)
def test_there_is_no_rule_for(name: str) -> None:
    with pytest.raises(Unproved):
        REFUSED[name]()
