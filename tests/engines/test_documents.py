"""JSON in a text: the engine, our reader and Python's own agree on random documents, whole ones and broken ones."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from privql.conformance.rows import Row
from privql.functions.scalar import evaluate
from privql.functions.scalar.documents import LONGEST, MISSING, read
from privql.kernel.scalars import BOOL, INT, TEXT, Apply, Const, Field, Scalar
from tests.assurance import assured, length
from tests.engines.hosts import HOSTS, Host

DOCUMENTS = length(1500, 60_000)
_X = Field("x", TEXT)
_PATHS = ("$.a", "$.a.b", "$[0]", "$.a[1]", '$."a b"', "$.a[-1]", "$.é", '$."0"', '$."\'"', '$."$.a[0]"', "$[0].a")
_LEAVES = (
    "1", "0", "-0", "1.50", "1e5", "1E+2", "-7", "1e400", "18446744073709551615", "18446744073709551616", "0.1",
    "-9223372036854775808", "-9223372036854775809", '"x"', '"\\u00e9"', '"\\u0000"', '"5"', '""', '" 1 , "', '"\\""',
    '"\\ud83d\\ude00"', '"a\\/b"', "true", "false", "null",
)  # fmt: skip
_BROKEN = (
    "{", "}", "[", "]", ":", ",", '"', "\\", "-", "NaN", "Infinity", "nan", "01", "1.", ".5", "1e", "+1", "tru", "\x00",
    "\x0c", "\ufeff", "/**/", "'a'", '"\x01"', '"\\ud800"', '"\\ude00"', '"\\x"', "\u00a0", "1 2", '"a""b"', "0 ",
)  # fmt: skip
_KEYS = ('"a"', '"a"', '"b"', '"a b"', '"\\u0061"', '"0"', '""', '"é"', '"\'"', '"$.a[0]"')


def _document(random: Random, depth: int) -> str:
    def blank() -> str:
        return random.choice(("", "", "", " ", "\n\t"))

    def between(parts: list[str]) -> str:
        return blank() + f"{blank()},{blank()}".join(parts) + blank()

    kind, size = random.random(), random.randint(0, 4)
    if depth == 0 or kind < 0.35:
        return random.choice(_LEAVES)
    if kind < 0.7:
        fields = [f"{random.choice(_KEYS)}{blank()}:{blank()}{_document(random, depth - 1)}" for _ in range(size)]
        return "{" + between(fields) + "}"
    return "[" + between([_document(random, depth - 1) for _ in range(size)]) + "]"


def _broken(random: Random, text: str) -> str:
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        at = random.randrange(len(text) + 1)
        skipped = random.choice((0, 0, 1, 2))
        text = text[:at] + (random.choice((*_BROKEN, *_LEAVES)) if skipped == 0 else "") + text[at + skipped :]
    return text


def _by_python(text: str) -> Any:
    """Without the names of fields that come again; an error where it is no JSON."""

    def first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        json.dumps(pairs, ensure_ascii=False).encode()  # also in what comes again half a character is none
        return dict(reversed(pairs))

    def refused(word: str) -> None:
        raise ValueError(word)

    found = json.loads(text, object_pairs_hook=first, parse_int=_Written, parse_float=_Written, parse_constant=refused)
    json.dumps(found, ensure_ascii=False).encode()  # half a character is none
    return found


class _Written(str):
    """A number as it is written."""


def _plain(found: Any) -> Any:
    match found:
        case dict():
            return {key: _plain(value) for key, value in found.items()}
        case list():
            return [_plain(value) for value in found]
        case _:
            return getattr(found, "text", found)


@pytest.mark.parametrize("host", HOSTS)
def test_three_readers_agree(host: Host) -> None:
    with assured("documents") as tally:
        tally["tried"] += DOCUMENTS
        random = Random(31)
        texts = [str(host.kept(_broken(random, _document(random, 3)))) for _ in range(DOCUMENTS)]
        whole = 0
        for text in texts:
            try:
                wanted = _by_python(text)
            except ValueError:
                assert read(text) is MISSING, text
            else:
                assert _plain(read(text)) == wanted, text
                whole += 1
        assert 0.3 * DOCUMENTS < whole < 0.7 * DOCUMENTS
        deep = ["[" * n + "]" * n for n in (1000, 100_000)] + [
            '{"a":' * 5000 + "1" + "}" * 5000,
            "[1" * 2000 + "]" * 2000,
        ]
        rows: list[Row] = [{"x": text} for text in texts[:: host.SLOWER]]
        terms: list[Scalar] = [Apply("json_valid", (_X,), BOOL), Apply("json_typeof", (_X,), TEXT)]
        for path in _PATHS:
            args = (_X, Const(path, TEXT))
            results = {"json_value": TEXT, "json_exists": BOOL, "json_typeof": TEXT, "json_array_length": INT}
            terms += [Apply(op, args, type) for op, type in results.items()]
        taken = 0
        with host.connect() as connection:
            host.load(connection, "t", (("x", TEXT),), rows)
            for row, found in zip(rows, host.evaluated(connection, "t", terms), strict=True):
                for term, got in zip(terms, found, strict=True):
                    assert isinstance(term, Apply)
                    given = tuple(arg.value if isinstance(arg, Const) else row["x"] for arg in term.args)
                    wanted = evaluate(term.op, tuple(arg.type for arg in term.args), term.type, given)
                    assert got == wanted, (str(row["x"])[:200], term.op, given[1:], wanted, got)
                    taken += term.op == "json_value" and got is not None
            host.load(connection, "t", (("x", TEXT),), [{"x": text} for text in deep])
            nested = Apply("json_typeof", (_X, Const("$[0]", TEXT)), TEXT)
            read_on = host.evaluated(connection, "t", [terms[0], nested])
            long = ["[" + " " * (LONGEST - 2) + end for end in ("]", " ]")]
            host.load(connection, "t", (("x", TEXT),), [{"x": text} for text in long])
            assert host.evaluated(connection, "t", [terms[0], terms[1]]) == [(True, "array"), (False, None)]
        assert read(long[0]) == [] and read(long[1]) is MISSING, "nothing that would fill an engine's memory is read"
        assert read_on == [(True, "array"), (True, "array"), (True, None), (False, None)]
        assert taken > len(rows) / 10
