"""Every code a diagnostic can carry, one line each; `docs/errors` has a page per code that fires it.

01 syntax, 02 names, 03 types, 04 privacy, 05 budget, 06 engine, 07 policy, 09 internal.
"""

from __future__ import annotations

from typing import Final

CODES: Final[dict[str, str]] = {
    "PQL0701": "a policy holds the owner's statements only",
    "PQL0702": "a name is declared twice",
    "PQL0703": "a column has an unknown type",
    "PQL0704": "a column can hold no value",
    "PQL0705": "a declared value does not fit its type",
    "PQL0706": "column options contradict each other",
    "PQL0707": "a grid does not fit its column",
    "PQL0708": "no unit has this name",
    "PQL0709": "a private table does not say whose its rows are",
    "PQL0710": "a table tells its unit in two ways",
    "PQL0711": "a public table has a private option",
    "PQL0712": "a column cannot tell a unit",
    "PQL0713": "a reference leads nowhere",
    "PQL0714": "a reference cannot hold",
    "PQL0715": "declarations go in a circle",
    "PQL0716": "AT MOST of a table is not a bound on its rows",
    "PQL0717": "KEY names a column that is not there",
    "PQL0718": "an amount of budget is not one",
    "PQL0719": "a default exceeds its limit",
    "PQL0720": "no budget has this name",
    "PQL0721": "a budget is granted twice to one analyst",
    "PQL0722": "a grant's limit exceeds the budget",
    "PQL0723": "REFRESH names no table",
    "PQL0724": "a table's source cannot be read",
    "PQL0725": "a query of the policy names no table it may read",
    "PQL0726": "a unit cannot flow along this column",
    "PQL0730": "a number has no bounds",
    "PQL0731": "a value is listed twice",
    "PQL0732": "AT MOST changes nothing",
    "PQL0733": "a budget and a table do not meet",
}
