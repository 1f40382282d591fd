"""How amounts are written in a ledger, exactly, as `n/d`; and what units meet."""

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction

from privql.kernel import events as mechanisms
from privql.kernel.events import Events
from privql.kernel.filters import Shares
from privql.names import fold


def written(amount: Fraction) -> str:
    return f"{amount.numerator}/{amount.denominator}"


def written_if(amount: Fraction | None) -> str | None:
    return None if amount is None else written(amount)


def read(text: str) -> Fraction:
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator))


def read_if(text: str | None) -> Fraction | None:
    return None if text is None else read(text)


def shares_written(shares: Shares) -> str:
    return json.dumps([written(share) for share in (shares.keys, shares.plain, shares.renyi, shares.gauss)])


def shares_read(text: str) -> Shares:
    return Shares(*map(read, json.loads(text)))


def met_written(met: Iterable[tuple[str, Events]]) -> dict[str, str]:
    """By folded unit."""
    return {fold(unit): mechanisms.written(events) for unit, events in met}


def met_read(said: Mapping[str, str]) -> dict[str, Events]:
    return {unit: mechanisms.read(text) for unit, text in said.items()}
