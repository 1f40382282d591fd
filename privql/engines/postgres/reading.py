"""Numbers in texts. What a text must look like is asked of a pattern first, and how large it is before it is read."""

from __future__ import annotations

from privql.engines.postgres.expressions import double, let, null, plain, text
from privql.engines.sql.casts import A_FLOAT, A_NUMBER
from privql.engines.sql.expressions import Call, Spelled
from privql.kernel.scalars import FLOAT, INT, TEXT

_NUMBER = text(f"^{A_NUMBER}$")
# All that INT and DECIMAL can tell: leading zeros and more than 40 digits behind the point make no difference to them.
_TOLD = text(r"^ *([+-]?)0*([0-9]{1,38}(?:\.[0-9]{1,40})?)[0-9]* *$")
_NOT_LARGE = text(r"^ *[+-]?0*[0-9]{1,38}(\.[0-9]+)? *$")
_FLOAT = text(f"^{A_FLOAT}$")
_FLOAT_IN_RANGE = text(r"^ *[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9][0-9]?)? *$")
# What is shorter has no more digits than that. (A pattern that counts so many takes ten times as long.)
_FEW, _IN_RANGE = 38, 60
_TELLING = 800  # digits of a number: those of no FLOAT, nor of what lies just between two, go on longer
_TOO_LARGE = f"'{2**1024 - 2**970}'::numeric"  # from here on, the nearest FLOAT would be an infinity
_HALF_OF_LEAST = f"'{5**1075}e-1075'::numeric"  # from there down, it is 0


def is_number(t: Spelled) -> str:
    """Without an exponent."""
    return f"{plain(t)} ~ {_NUMBER}"


def read_exactly(t: Spelled) -> str:
    """A text that is a number without an exponent, as numeric; NULL with more than 38 digits before the point."""
    told = f"regexp_replace({plain(t)}, {_TOLD}, E'\\\\1\\\\2')"
    return (
        f"CASE WHEN length({t}) <= {_FEW} AND {plain(t)} ~ {_NUMBER} THEN btrim({t}, ' ')::numeric"
        f" WHEN {plain(t)} ~ {_NOT_LARGE} THEN {told}::numeric END"
    )


def read_double(call: Call, arg: Spelled) -> str:
    """The FLOAT nearest to what a text says; NULL where it says no number, or one that is too large."""

    def body(t: Spelled) -> str:
        return (
            f"CASE WHEN length({t}) <= {_IN_RANGE} AND {plain(t)} ~ {_FLOAT_IN_RANGE} THEN btrim({t}, ' ')::float8"
            f" WHEN {plain(t)} ~ {_FLOAT} THEN {_long(call, t)} END"
        )

    return call.let((arg,), body)


def _long(call: Call, t: Spelled) -> str:
    """Apart into a sign, digits and an exponent: 0.d₁d₂… times ten to the power of it."""
    before = rf"substring({plain(t)} FROM '^ *[+-]?0*([0-9]*)')"
    behind = rf"coalesce(substring({plain(t)} FROM '[.]([0-9]+)'), '')"
    negative = rf"coalesce(substring({plain(t)} FROM '[eE]([+-])'), '+') = '-'"
    power = rf"coalesce(substring({plain(t)} FROM '[eE][+-]?0*([0-9]+)'), '0')"
    parts = tuple(Spelled(sql, TEXT) for sql in (before, behind, power))

    def split(before: Spelled, behind: Spelled, power: Spelled) -> str:
        digits = f"ltrim({before} || {behind}, '0')"
        shift = (
            f"CASE WHEN {before} = '' THEN length(ltrim({behind}, '0')) - length({behind}) ELSE length({before}) END"
        )
        # An exponent of more digits than a text can make good is out of all range.
        size_of = f"(CASE WHEN length({power}) > 12 THEN '999999999999' ELSE {power} END)::bigint"
        exponent = f"{shift}::bigint + CASE WHEN {negative} THEN -1 ELSE 1 END * {size_of}"
        given = (Spelled(digits, TEXT), Spelled(exponent, INT))
        return call.let(given, lambda digits, exponent: read(digits, exponent))

    def read(digits: Spelled, exponent: Spelled) -> str:
        rest = f"CASE WHEN ltrim(substring({digits}, {_TELLING + 1}), '0') = '' THEN '' ELSE '1' END"
        told = f"left({digits}, {_TELLING}) || {rest}"
        written = f"'0.' || {told} || 'e' || {exponent}"
        at_the_end = let(
            call,
            f"({written})::numeric",
            lambda n: (
                f"CASE WHEN {n} < {_TOO_LARGE} AND {n} > {_HALF_OF_LEAST} THEN ({written})::float8"
                f" WHEN {n} <= {_HALF_OF_LEAST} THEN {double(0.0)} END"
            ),
            INT,
        )
        sign = f"CASE WHEN {plain(t)} ~ '^ *-' THEN {double(-1.0)} ELSE {double(1.0)} END"
        return (
            f"CASE WHEN {digits} = '' OR {exponent} < -330 THEN {double(0.0)} WHEN {exponent} > 330 THEN {null(FLOAT)}"
            f" WHEN {exponent} BETWEEN -300 AND 300 THEN {sign} * ({written})::float8 ELSE {sign} * {at_the_end} END"
        )

    return call.let(parts, split)
