"""How long the texts of a term can be, as far as the term alone says: what one private row can make of a few words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from privql.check.exposed import records
from privql.check.relations import CheckedQuery, Rel
from privql.frozen import inside
from privql.functions.scalar.text import GROWING, LONGEST
from privql.kernel.scalars import TEXT, Apply, Const, Field, Scalar
from privql.kernel.terms import Combine, Gather, Project, Public, Relation, Scan, Window

Named = Mapping[str, Sequence[Scalar]]  # what the columns of a tree are; of stored ones nothing is known
CHARACTER, VALUE = 4, 8  # bytes: a DECIMAL takes two values, a text two and its characters
_AS_TEXT = 64  # characters: more than any number, date or time is written with
_ALIKE = frozenset(
    ("lower", "upper", "trim", "ltrim", "rtrim", "substring", "right", "reverse", "initcap", "translate", "split_part")
)
_ONE_OF = frozenset(("case", "coalesce", "nullif", "greatest", "least"))


def text_bytes(text: Scalar, named: Named) -> int:
    """As an engine holds it: where it is, how long it is, and its characters."""
    return 2 * VALUE + CHARACTER * characters(text, named)


def characters(text: Scalar, named: Named, above: frozenset[str] = frozenset()) -> int:
    """At most so many: of a stored text, or where nothing else is known, as many as texts that are made may have."""

    def most(of: Iterable[Scalar]) -> int:
        return max((characters(one, named, above) for one in of if one.type.kind == "TEXT"), default=0)

    match text:
        case Const(value=value):
            return len(value) if isinstance(value, str) else 0
        case Field(name=name):
            made = [one for one in named.get(name, ()) if one != text]
            if not made:
                return LONGEST
            # what is renamed back and forth is as long as what else it is
            return 0 if name in above else max(characters(one, named, above | {name}) for one in made)
        case Apply(op="case", args=(Apply(op="in", args=(of, *members)), stored, *others)) if of == stored:
            return most((*members, *others))  # one of those that are listed
        case Apply(op="left", args=(whole, Const(value=int(length)))) if length >= 0:
            return min(length, most((whole,)))
        case Apply(op="cast", args=(of,)):
            return most((of,)) if of.type.kind == "TEXT" else _AS_TEXT
        case Apply(op="concat", args=parts):
            return min(LONGEST, sum(most((part,)) for part in parts))
        case Apply(op=op, args=args) if op in _ONE_OF or op == "left":
            return most(args)
        case Apply(op=op, args=(whole, *_)) if op in _ALIKE:
            return most((whole,))
        case _:
            return LONGEST


def columns(term: Relation) -> Named:
    """What is computed anywhere in a tree, by the name that it has there: no two columns of a statement have one name.
    What else has a name, or has it too, may be of any length."""
    named, other, seen = defaultdict[str, list[Scalar]](list), set[str](), set[int]()
    todo: list[object] = [term]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        computed: Iterable[tuple[str, Scalar]] = ()
        match one:
            case Project(columns=computed):
                pass
            case Gather(keys=computed, features=features):
                other |= {name for name, _ in features}
            case Combine(columns=both):
                computed = [(name, Field(side, TEXT)) for name, *sides in both for side in sides]
            case Scan(columns=own) | Public(columns=own):
                other |= {name for name, _ in own}
            case Window(calls=calls):
                other |= {name for name, _ in calls}
            case _:
                pass
        for name, value in computed:
            named[name].append(value)
        todo += inside(one)
    return {name: values for name, values in named.items() if name not in other}


def made_bytes(rel: Rel, query: CheckedQuery, columns: Iterable[Scalar]) -> int:
    """Of the texts among columns of a public relation, if any is made in it that may be longer than what is stored."""
    if not any(isinstance(one, Apply) and one.op in GROWING for one in records(rel, query)):
        return 0
    return sum(text_bytes(one, {}) for one in columns if one.type.kind == "TEXT")
