"""Attackers, against exact answers and through PrivQL: `privql attack NAME`.

Each has what an analyst has, a session, and sends it texts. The same texts go to an engine that answers exactly. What
comes of either is counted, beside what theory says that the budget permits. Whoever is attacked here was invented.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from privql.attacks.outcome import Given, Outcome

ROWS = {  # the least and the most that an attack is made on
    "averaging": (10, 20_000),
    "differencing": (10, 20_000),
    "tracker": (10, 20_000),
    "reconstruct": (16, 4096),
    "membership": (10, 4000),
}


def refused(name: str, rows: int | None) -> str | None:
    """Why an attack is not made on so many."""
    least, most = ROWS[name]
    if rows is not None and not least <= rows <= most:
        return f"{name} is made on {least} to {most} rows, not {rows}"
    if rows is not None and name == "reconstruct" and rows.bit_count() != 1:
        return f"reconstruct is made on a power of two, which Hadamard matrices are there for, not on {rows}"
    return None


def attack(name: str, given: Given, tick: Callable[[float], None] = lambda done: None) -> Outcome:
    """Carry one out; `tick` hears how much of it is done, from 0 to 1."""
    if why := refused(name, given.rows):
        raise ValueError(why)
    outcome: Outcome = import_module(f"privql.attacks.{name}").attack(given, tick)
    return outcome


__all__ = ["ROWS", "Given", "Outcome", "attack", "refused"]
