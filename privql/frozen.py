"""Frozen records that are cheap to define: `dataclass(frozen=True, slots=True)` in all but the time it takes.

The standard decorator compiles six functions a class, about 0.3 ms; for the hundred classes of the two trees that is
a third of what `privql check` may take to start. Here one function a class is compiled, when it is first needed, and
the others are shared.

Trees of records are walked by `inside` and made anew by `rebuilt`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, replace
from operator import attrgetter, is_
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_PLAIN = frozenset({str, bool, int, float, type(None)})  # what most parts are that have none themselves


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = ...) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T] | None = None, /, *, kw_only: bool = False) -> type[T] | Callable[[type[T]], type[T]]:
    def define(plain: type[T]) -> type[T]:
        if not plain.__doc__:  # else `dataclass` writes one, and inspects the signature for it
            plain.__doc__ = plain.__name__
        made: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(plain)
        _initialise(made)
        compared = [each.name for each in fields(made) if each.compare]
        _share(made, attrgetter(*compared) if compared else _nothing)
        return made  # type: ignore[no-any-return]

    return define if cls is None else define(cls)


def _initialise(made: Any) -> None:
    """`__init__` is compiled when the first record is made: of most classes a query makes none."""

    def first(self: Any, *values: Any, **named: Any) -> None:
        made.__init__ = _compiled(made)
        made.__init__(self, *values, **named)

    made.__init__ = first


def _compiled(made: Any) -> Any:
    """`__init__` with the fields as its parameters, those that are keyword-only behind a star."""
    known: dict[str, Any] = {}
    plain: list[str] = ["self"]
    named: list[str] = []
    body = ["pass"]
    for each in fields(made):
        parameter = value = each.name
        if each.default is not MISSING:
            known[f"default_{each.name}"] = each.default
            parameter += f"=default_{each.name}"
        elif each.default_factory is not MISSING:
            known |= {"MISSING": MISSING, f"default_{each.name}": each.default_factory}
            parameter += "=MISSING"
            value = f"default_{each.name}() if {each.name} is MISSING else {each.name}"
        (named if each.kw_only else plain).append(parameter)
        known[f"set_{each.name}"] = getattr(made, each.name).__set__  # of the slot: quicker than by its name
        body.append(f"set_{each.name}(self, {value})")
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*plain, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(body), known)
    return known["__init__"]


def _share(made: Any, values: Callable[[Any], Any]) -> None:
    def same(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def digest(self: Any) -> int:
        return hash((self.__class__, values(self)))

    made.__eq__, made.__hash__, made.__repr__ = same, digest, _shown
    made.__setattr__ = made.__delattr__ = _refuse
    made.__getstate__, made.__setstate__ = _state, _restore  # slots without a __dict__ cannot be copied otherwise


def _nothing(record: Any) -> tuple[()]:
    return ()


def _shown(record: Any) -> str:
    told = (f"{each.name}={getattr(record, each.name)!r}" for each in fields(record) if each.repr)
    return f"{type(record).__name__}({', '.join(told)})"


def _state(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, each.name) for each in fields(record))


def _restore(record: Any, state: tuple[Any, ...]) -> None:
    for each, value in zip(fields(record), state, strict=True):
        object.__setattr__(record, each.name, value)


def _refuse(record: Any, name: str, *value: object) -> None:
    raise FrozenInstanceError(f"cannot change `{name}` of a {type(record).__name__}")


def inside(node: Any) -> list[Any]:
    """The records directly inside a record or a tuple, in order, through any tuples between."""
    found: list[Any] = []
    for part in node if isinstance(node, tuple) else _parts(node):
        if part.__class__ in _PLAIN:
            continue
        if isinstance(part, tuple):
            found += inside(part)
        elif hasattr(part, "__match_args__"):
            found.append(part)
    return found


def _parts(record: Any) -> tuple[Any, ...]:
    """What a record is made of by position: a place in a text is keyword-only, and no part of the tree."""
    names = record.__match_args__
    if len(names) < 2:
        return tuple([getattr(record, name) for name in names])
    read = _READ.get(names)
    if read is None:
        read = _READ[names] = attrgetter(*names)
    return read(record)


_READ: dict[tuple[str, ...], Callable[[Any], Any]] = {}  # by the names of the parts


def rebuilt(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with each record as `change` makes it or, where that is None, with its parts rebuilt."""
    if isinstance(node, tuple):
        parts = tuple([part if part.__class__ in _PLAIN else rebuilt(part, change) for part in node])
        return node if all(map(is_, parts, node)) else parts
    if not hasattr(node, "__match_args__"):
        return node
    made = change(node)
    return rebuilt_inside(node, change) if made is None else made


def rebuilt_inside(record: Any, change: Callable[[Any], Any]) -> Any:
    changed = {}
    for name in record.__match_args__:
        old = getattr(record, name)
        if old.__class__ not in _PLAIN and (new := rebuilt(old, change)) is not old:
            changed[name] = new
    return replace(record, **changed) if changed else record
