"""Queries of all kinds, each by its number: random ones, those of the documentation, and these in other words."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from privql.check.env import Env
from privql.conformance.terms import Terms, hostile_rows
from privql.conformance.trees import Trees
from privql.diagnostics import Source
from privql.pipeline.check import check_text
from privql.policy.build import build_catalog
from privql.policy.findings import accepted
from tests.check import clinic, googlesql
from tests.check.test_any_query import Public
from tests.fuzz.pieces import alike, corpus
from tests.fuzz.test_texts import environment
from tests.meaning.meaning import asked, of_check
from tests.meaning.numbers import NUMBERS
from tests.queries import clinic as hospital
from tests.queries.test_shapes import SHAPES
from tests.queries.test_tpch import KEYS, TPCH, text_of
from tests.soundness import test_one_sum, world
from tests.soundness.queries import Queries
from tests.soundness.related_queries import Queries as Related
from tests.soundness.test_related import ENVS, limited

Meaning = dict[str, str]  # its text, and then each thing that it is taken for


@dataclass(frozen=True)
class Corpus:
    size: int
    meaning: Callable[[int], Meaning]


def _of_text(text: str, env: Env) -> Meaning:
    out = {"text": text}
    for at, (check, _) in enumerate(check_text(Source(text), env)):
        for what, said in of_check(check).items():
            out[what] = f"{out.get(what, '')}\n-- {at + 1}\n{said}"
    return out


@cache
def _tables(policy: str) -> Env:
    catalog = accepted(*build_catalog(Source(policy)))
    units = [unit.name for unit in catalog.units]
    ours = dict.fromkeys(units, Fraction(1)), dict.fromkeys(units, Fraction(1, 10**6))
    return Env(catalog, default_epsilon=ours[0], default_delta=ours[1])


def _related(number: int) -> Meaning:
    choice = random.Random(number)
    return _of_text(limited(Related(number).query(), choice), choice.choice(ENVS)[0])


@cache
def _world() -> Env:
    return world.environment()


@cache
def _example() -> Env:
    return environment()


def _documented(number: int) -> Meaning:
    return _of_text("".join(corpus()[0][number]), _example())


def _exchanged(number: int) -> Meaning:
    """Another that begins as the documented one does: drawn by that text alone, so that other pages do not move it."""
    known = corpus()[0][number]
    pick = random.Random("".join(known))
    share = pick.choice((0.03, 0.1, 0.3))
    return _of_text("".join(pick.choice(alike(word)) if pick.random() < share else word for word in known), _example())


def _one_sum(number: int) -> Meaning:
    choice = random.Random(number)
    table, made = choice.choice(("people", "events", "strict")), test_one_sum.combination(choice)
    return _of_text(f"SELECT {made[number % 2]} AS x FROM {table} SPEND EPSILON 1", test_one_sum.ENV)


def _shape(number: int) -> Meaning:
    text = SHAPES[number].values[1]
    assert isinstance(text, str)
    return _of_text(text, _tables(hospital.POLICY))


def _tpch(number: int) -> Meaning:
    return _of_text(text_of(sorted(KEYS)[number]), _tables((TPCH / "policy.pql").read_text("utf-8")))


def _terms(number: int) -> Meaning:
    drawn = random.Random(number)
    term = Terms(drawn).sums(hostile_rows(drawn, 8))
    return {"text": str(term), **asked([term])}


def _trees(number: int) -> Meaning:
    drawn = random.Random(number)
    trees = Trees(drawn, drawn.choice((None, "u", "u", "v")))
    term = trees.sums_of(trees.once(trees.tree(drawn.choice((1, 2, 3, 4)))), [])
    return {"text": str(term), **asked([term])}


def _of_numbers(what: str, number: int) -> Meaning:
    return {name: str(found) for name, found in NUMBERS[what](number).items()}


CORPORA: Mapping[str, Corpus] = {
    "budgets": Corpus(75, lambda at: _of_numbers("budgets", at)),
    "documented": Corpus(len(corpus()[0]), _documented),
    "exchanged": Corpus(len(corpus()[0]), _exchanged),
    "googlesql": Corpus(len(googlesql.TEXTS), lambda at: _of_text(googlesql.TEXTS[at].query, _tables(clinic.POLICY))),
    "noise": Corpus(300, lambda at: _of_numbers("noise", at)),
    "one-sum": Corpus(60, _one_sum),
    "prices": Corpus(150, lambda at: _of_numbers("prices", at)),
    "proofs": Corpus(300, lambda at: _of_numbers("proofs", at)),
    "public": Corpus(150, lambda at: _of_text(Public(at).query(), _tables(clinic.POLICY))),
    "related": Corpus(250, _related),
    "shapes": Corpus(len(SHAPES), _shape),
    "terms": Corpus(200, _terms),
    "tpch": Corpus(len(KEYS), _tpch),
    "trees": Corpus(300, _trees),
    "typed": Corpus(250, lambda at: _of_text(Queries(at).query(), _world())),
}
