"""How an amount is written in a ledger: exactly, as `n/d`."""

import json
from fractions import Fraction

from privql.kernel.filters import Shares


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
