"""How long texts can be, held against texts: no value of a random term is longer than what is said of the term."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from privql.conformance.pools import TYPES, calls, some_value
from privql.conformance.terms import Terms
from privql.functions.scalar import evaluate
from privql.functions.scalar.registry import evaluate_term
from privql.functions.scalar.text import GROWING, LONGEST
from privql.kernel.scalars import BOOL, TEXT, Apply, Const, Field, Scalar, Value
from privql.kernel.terms import Filter, Project, Scan, Unit
from privql.plan import lengths

STORED = {f"x{at}": type for at, type in enumerate(TYPES)}
(TEXTS,) = (name for name, type in STORED.items() if type == TEXT)
LISTED = ("in", "outside")


def rows(random: Random) -> tuple[Project, dict[str, Value]]:
    """What is read and computed, one column of the other, of a text that is one of a list; and such a row."""
    scan = Scan("calls", Unit("person"), ("x0", STORED["x0"]), False, tuple(STORED.items()))
    of = Field(TEXTS, TEXT)
    kind = Apply("case", (Apply("in", (of, *(Const(one, TEXT) for one in LISTED)), BOOL), of, Const(None, TEXT)), TEXT)
    term, columns = Project(scan, (("kind", kind),)), {"kind": TEXT}
    row: dict[str, Value] = {"kind": random.choice((*LISTED, None))}
    for depth in (1, 2, 2):
        known = {"kind": TEXT, **{name: type for name, type in STORED.items() if type != TEXT}, **columns}
        drawn = Terms(random)
        made = [(f"t{depth}{len(columns)}{at}", drawn.scalar(TEXT, known, depth)) for at in range(2)]
        term = Project(Filter(term, Const(True, BOOL)), (*((name, Field(name, TEXT)) for name in columns), *made))
        row |= {name: some_value(type, random) for name, type in STORED.items() if name not in row}
        row |= {name: evaluate_term(value, row) for name, value in made}
        columns |= dict.fromkeys((name for name, _ in made), TEXT)
    return term, row


def computed(term: object) -> Iterator[tuple[str, Scalar]]:
    while isinstance(term, Project):
        yield from term.columns
        term = term.input.input if isinstance(term.input, Filter) else term.input


def test_no_text_is_longer_than_it_is_said_to_be() -> None:
    random, short, reached = Random(3), 0, 0
    for _ in range(400):
        term, row = rows(random)
        named = lengths.columns(term)
        for name, value in computed(term):
            said, found = lengths.characters(value, named), row[name]
            if isinstance(found, str):
                assert len(found) <= said, (value, found)
                short += said < LONGEST
                reached += len(found) == said
    assert short > 800 and reached > short / 5, "what is said says something"


def test_only_some_functions_make_longer_texts() -> None:
    """What is counted as made are calls of these; a format is looked at where it is written."""
    random, longer = Random(1), set[str]()
    for call in calls():
        one = call.resolved
        if one.result != TEXT or one.op in ("strftime", "to_char"):
            continue
        for _ in range(120):
            args = tuple(call.fixed.get(at, some_value(type, random)) for at, type in enumerate(one.arg_types))
            found = evaluate(one.op, one.arg_types, one.result, args)
            if isinstance(found, str) and len(found) > max(64, *(len(arg) for arg in args if isinstance(arg, str)), 0):
                longer.add(one.op)
    assert longer <= GROWING, longer - GROWING
    assert longer >= {"concat", "replace", "repeat", "lpad", "overlay", "regexp_replace"}
