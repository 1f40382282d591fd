"""Parts of units: what a relation is said to be within holds of every database, and what is charged to parts alone is
what units of other parts never meet. Each claim is seen to break where what makes it true is left out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

import pytest

from privql.audit import reference
from privql.audit.reference import types
from privql.kernel import measure, parts, relating, rules
from privql.kernel.events import read_within
from privql.kernel.features import Tally
from privql.kernel.parts import Parts, Within, within
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar
from privql.kernel.stable import Stable
from privql.kernel.sums import Key
from privql.kernel.terms import Filter, Relation, Scan, Unit, UnitPart
from tests.kernel.databases import PUBLIC_ROWS, SALT, UNITS, Database, bag, database, scans
from tests.kernel.relations import Relations

EACH = 40


def equal(column: str, *values: int) -> Scalar:
    field = Field(column, INT)
    if len(values) == 1:
        return Apply("eq", (field, Const(values[0], INT)), BOOL)
    return Apply("in", (field, *(Const(value, INT) for value in values)), BOOL)


class Divided(Relations):
    """Relations over divided tables, in which rows are chosen by constants."""

    def __init__(self, choice: random.Random, unit: Unit) -> None:
        super().__init__(choice, unit)
        self.by = {"people": "p", "visits": "v", "tests": "x"}

    def relation(self, depth: int) -> Stable:
        if depth:
            return super().relation(depth)
        table = self.choice.choice(("visits", "visits", "visits", "tests", "people"))
        made = rules.scan(self.scans[table])
        if self.choice.random() < 0.9:
            made = rules.unit_part(made, self.by[table])
        columns = tuple((self.new(), self.read(Field(c, t))) for c, t in self.scans[table].columns)
        made = rules.compute(made, columns)
        return rules.keep_where(made, self.condition(made)) if self.choice.random() < 0.7 else made

    def read(self, field: Field) -> Scalar:
        """As a policy reads a column: the value, or NULL for what is not on its list."""
        if field.type != INT or self.choice.random() < 0.5:
            return field
        return Apply("case", (equal(field.name, 0, 1), field, Const(None, INT)), INT)

    def condition(self, input: Stable) -> Scalar:
        columns = [c for c, t in types(input.term).items() if t == INT]
        if not columns or self.choice.random() < 0.2:
            return super().condition(input)
        one = equal(self.choice.choice(columns), *self.choice.sample((0, 1, 2), self.choice.choice((1, 1, 2))))
        other = super().condition(input)
        made: tuple[Scalar, ...] = (
            one,
            one,
            Apply("and", (one, other), BOOL),
            Apply("or", (one, other), BOOL),
            Apply("not", (one,), BOOL),
            Apply("ne", one.args, BOOL) if isinstance(one, Apply) and one.op == "eq" else one,
        )
        return self.choice.choice(made)


def part_of(partition: UnitPart, data: Database, choice: random.Random) -> dict[object, object]:
    """By unit, computed from its rows in another way than the term is."""
    scan = partition.input
    owned = reference.by_unit(reference.rows(scan, data.tables(choice), SALT, PUBLIC_ROWS))
    return {
        unit: min(
            {row[partition.column] for row in rows},
            key=lambda value: (
                -[row[partition.column] for row in rows].count(value),
                value is None,
                value or 0,
            ),
        )
        for unit, rows in owned.items()
    }


def broken(claim: Within, relation: Relation, data: Database, choice: random.Random) -> bool:
    """Whether a unit of another part has a row, or a row says another part than its unit's."""
    part = part_of(claim.partition, data, choice)
    for unit, row in reference.rows(relation, data.tables(choice), SALT, PUBLIC_ROWS):
        if unit is None:  # nobody's: who made it is told by the relation below
            continue
        if claim.values is not None and part.get(unit) not in claim.values:
            return True
        if any(row[column] not in (None, part.get(unit)) for column in claim.columns):
            return True
    return False


def found(seeds: Iterable[int]) -> tuple[int, int]:
    """How many claims were made of random relations - those that say which parts - and how many of all were wrong."""
    told = wrong = 0
    for seed in seeds:
        choice = random.Random(seed)
        unit = Unit("person", change_one=choice.random() < 0.4)
        relation = Divided(choice, unit).relation(choice.choice((0, 1, 2, 3))).term
        claim = within(relation)
        if claim is not None:
            told += claim.values is not None
            wrong += any(broken(claim, relation, database(choice), choice) for _ in range(8))
    return told, wrong


def test_units_of_other_parts_have_no_rows() -> None:
    told, wrong = found(range(1200))
    assert told > 150 and not wrong


def _takes(*ops: str) -> Callable[[Within, Scalar], Within]:
    """A filter under OR or NOT taken for one that every row fulfils."""
    right = parts._narrowed

    def narrowed(made: Within, condition: Scalar) -> Within:
        if isinstance(condition, Apply) and condition.op in ops:
            for one in condition.args:
                made = narrowed(made, one)
            return made
        return right(made, condition)

    return narrowed


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_narrowed", _takes("and", "or")),
        ("_narrowed", _takes("and", "not")),
        ("_joined", lambda kind, left, right, right_one=parts._joined: right_one("INNER", left, right)),
        ("_holds_part", lambda value, columns: bool(columns)),
        ("_either", parts._common),
        ("_renamed", lambda one, names: replace(one, columns=frozenset(names))),
    ],
)
def test_a_claim_too_many_is_seen(name: str, fault: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, name, fault)
    assert any(found([seed])[1] for seed in range(600))


def test_a_term_is_divided_where_it_is_read() -> None:
    made = rules.scan(scans(Unit("person"))["visits"])
    divided = rules.unit_part(made, "v")
    assert "v" in divided.fixed and rules.gather(divided, (("k", Field("v", INT)),), ()).rows == 1
    for wrong, column in ((made, "nothing"), (rules.keep_where(made, equal("v", 1)), "v"), (divided, "v")):
        with pytest.raises(Unproved):
            rules.unit_part(wrong, column)
    with pytest.raises(Unproved, match="one way"):
        rules.unit_part(rules.scan(scans(Unit("person"))["tests"]), "f")


def test_which_constants_name_a_part() -> None:
    divided = rules.unit_part(rules.scan(scans(Unit("person"))["visits"]), "v")

    def told(condition: Scalar) -> object:
        claim = within(rules.keep_where(divided, condition).term)
        assert claim is not None
        return claim.values

    assert told(equal("v", 1)) == {1} and told(equal("v", 1, 2)) == {1, 2}
    assert told(Apply("eq", (Const(1, INT), Field("v", INT)), BOOL)) == {1}
    assert told(Apply("and", (equal("v", 1, 2), equal("v", 2, 0)), BOOL)) == {2}
    assert told(Apply("in", (Field("v", INT), Const(None, INT), Const(1, INT)), BOOL)) == {1}
    for op in ("or", "xor"):
        assert told(Apply(op, (equal("v", 1), equal("v", 2)), BOOL)) is None
    assert told(Apply("not", (equal("v", 1),), BOOL)) is None and told(equal("w", 1)) is None
    assert told(Apply("eq", (Field("v", INT), Field("w", INT)), BOOL)) is None
    assert told(Apply("eq", (Field("v", INT), Const(1.0, FLOAT)), BOOL)) is None
    for taken_for, written in ((FLOAT, 1.0), (TEXT, "01")):  # an engine may find 1 equal to either
        assert told(Apply("eq", (Field("v", taken_for), Const(written, taken_for)), BOOL)) is None
        assert told(Apply("eq", (Field("v", taken_for), Const(1, INT)), BOOL)) is None


def test_rows_that_are_nobodys_any_more_say_nothing_of_a_unit() -> None:
    divided = rules.unit_part(rules.scan(scans(Unit("person"))["visits"]), "v")
    one, all_of_them = (rules.once(rows) for rows in (rules.keep_where(divided, equal("v", 1)), divided))
    for rows, values in ((one, {1}), (all_of_them, None)):
        for made in (rows, rules.keep_where(rows, equal("v", 2))):
            claim = within(made.term)
            assert claim is not None and claim.values == values and not claim.columns


def counted(rows: Stable) -> measure.Measured:
    return measure.laplace(rules.keep_rows(rows, 3), (), (Tally(None),), (Fraction(1),))


def test_what_a_proof_reads_is_told_from_its_terms() -> None:
    visits, tests = (scans(Unit("person"))[name] for name in ("visits", "tests"))
    divided = rules.unit_part(rules.scan(visits), "v")
    one, other = (rules.keep_where(divided, equal("v", value)) for value in (1, 2))
    partition = UnitPart(replace(visits, columns=(("v", INT),), unique=frozenset()), "v")
    assert read_within([counted(one)]) == Parts(partition, frozenset({1}))
    assert read_within([counted(one), counted(other)]) == Parts(partition, frozenset({1, 2}))
    assert read_within([counted(one), counted(divided)]) is None and read_within([]) is None
    assert read_within([counted(rules.scan(visits))]) is None
    assert read_within([counted(rules.keep_where(one, equal("v", 2)))]) is None  # of nobody: then of all
    elsewhere = rules.keep_where(rules.unit_part(rules.scan(tests), "x"), equal("x", 1))
    assert read_within([counted(one), counted(elsewhere)]) is None
    beside = relating.join("INNER", one, rules.compute(rules.scan(tests), (("t", Field("x", INT)),)))
    assert read_within([counted(beside)]) == Parts(partition, frozenset({1}))


def met(term: Relation, scan: Scan, one: Database, other: Database, choice: random.Random) -> int:
    """In how many of the parts' counts two neighbours differ: each is a query that is charged to its part alone."""
    moved = 0
    for value in (0, 1, 2):
        made = Filter(term, equal("v", value))
        sums = measure.Sums(made, (Key(Const(True, BOOL), (True,)),), (Tally(None),))
        counts = [reference.run(sums, each.tables(choice), SALT, PUBLIC_ROWS) for each in (one, other)]
        moved += counts[0] != counts[1]
    return moved


@pytest.mark.parametrize("change_one", [False, True])
def test_a_neighbour_is_met_in_one_part_or_changed_in_two(change_one: bool) -> None:
    """And in more, were the rows of a unit not kept in one."""
    choice, most, undivided = random.Random(7), 0, 0
    scan = scans(Unit("person", change_one))["visits"]
    for _ in range(600):
        base, unit = database(choice), choice.choice(UNITS)
        one = base.with_unit(unit, bag(unit, choice) if change_one else None)
        other = base.with_unit(unit, bag(unit, choice))
        most = max(most, met(UnitPart(scan, "v"), scan, one, other, choice))
        undivided = max(undivided, met(scan, scan, one, other, choice))
    assert most == (2 if change_one else 1) and undivided == 3
