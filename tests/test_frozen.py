"""A frozen record is what `dataclass(frozen=True, slots=True)` makes, in everything that is used of one."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest

from privql.frozen import frozen, inside, rebuilt


@frozen(kw_only=True)
class Base:
    where: int = field(default=0, compare=False, repr=False)


@frozen
class Point(Base):
    x: int
    y: tuple[int, ...] = ()


@frozen
class Other(Base):
    x: int
    y: tuple[int, ...] = ()


@frozen
class Nothing(Base):
    pass


def test_it_is_made_compared_and_shown_by_its_fields() -> None:
    assert Point(1, (2,), where=7) == Point(1, y=(2,), where=8) != Point(2, (2,))
    assert Point(1) != Other(1) and Point(1) != 1 and Nothing() == Nothing()
    assert len({Point(1, where=1), Point(1, where=2), Other(1), Nothing(), Nothing()}) == 3
    assert repr(Point(1, where=3)) == "Point(x=1, y=())"
    assert [each.name for each in fields(Point)] == ["where", "x", "y"]
    match Point(1, (5,)):
        case Point(x, (y,)):
            assert (x, y) == (1, 5)


@frozen
class Held(Base):
    known: dict[str, int] = field(default_factory=dict)


def test_a_default_may_be_made_for_each_record() -> None:
    one, other = Held(), Held()
    one.known["x"] = 1
    assert other.known == {} and Held({"y": 2}).known == {"y": 2} and replace(one).known is one.known


@frozen
class Positive(Base):
    x: int

    def __post_init__(self) -> None:
        if self.x <= 0:
            raise ValueError("not positive")


def test_what_it_may_not_be_it_says_when_it_is_made() -> None:
    assert Positive(1).x == 1
    for make in (lambda: Positive(0), lambda: replace(Positive(1), x=0)):
        with pytest.raises(ValueError, match="not positive"):
            make()


def test_it_cannot_be_changed_but_copied() -> None:
    point = Point(1, where=4)
    for change in (lambda: setattr(point, "x", 2), lambda: setattr(point, "z", 2), lambda: delattr(point, "x")):
        with pytest.raises(FrozenInstanceError):
            change()
    assert replace(point, x=2) == Point(2)
    for again in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert again == point and again.where == 4
    with pytest.raises(TypeError):
        Point()
    with pytest.raises(TypeError):
        Point(1, (), 3)


def test_a_tree_is_walked_and_rebuilt_through_tuples() -> None:
    tree = Point(1, (Point(2), (Other(3), 4), "text"), where=9)
    assert list(inside(tree)) == [Point(2), Other(3)]
    assert list(inside((tree, 5))) == [tree]
    same = rebuilt(tree, lambda record: None)
    assert same is tree

    def doubled(record: object) -> object:
        return Other(record.x * 2) if isinstance(record, Other) else None

    made = rebuilt(tree, doubled)
    assert made == Point(1, (Point(2), (Other(6), 4), "text"))
    assert made.where == 9 and made.y[0] is tree.y[0]
