"""`privql attack NAME`: attackers of invented people, beside what theory permits them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from privql.surfaces.inputs import WrongUsage
from privql.surfaces.words import ACCEPTED, REJECTED, Command

NAMES = ("averaging", "differencing", "tracker", "reconstruct", "membership")
EPSILON, DELTA = (Decimal("0.01"), Decimal(20)), (Decimal("1e-30"), Decimal("0.01"))
WIDTH = 40


def attack_command(commands: object, command: Command) -> None:
    says = "try an attack on invented people: with exact answers, through PrivQL, and what theory permits"
    made = command(commands, "attack", _attack, says)
    made.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    made.add_argument("--epsilon", default="1", metavar="E", help="the budget's ε (1)")
    made.add_argument("--delta", default="1e-6", metavar="D", help="its δ (1e-6); 0 for none")
    made.add_argument("--rows", type=int, metavar="N", help="how many secrets there are")
    made.add_argument("--seed", type=int, default=1, metavar="S", help="of the invented people (1); noise has none")
    made.add_argument("--out", metavar="PICTURE", help="an SVG file to draw it in")


def _attack(options: argparse.Namespace) -> int:
    from privql.attacks import Given, attack, refused

    epsilon = _amount("--epsilon", options.epsilon, *EPSILON)
    delta = _amount("--delta", options.delta, *DELTA, zero=True)
    if not 0 <= options.seed < 2**63:
        raise WrongUsage("--seed is a number from 0 to 2^63 - 1")
    if options.out is not None and (not Path(options.out).parent.is_dir() or Path(options.out).is_dir()):
        raise WrongUsage(f"cannot write {options.out!r}: name a file in a folder that is there")
    if why := refused(options.name, options.rows):
        raise WrongUsage(f"--rows: {why}")
    tick, done = _progress()
    try:
        outcome = attack(options.name, Given(epsilon, delta, options.rows, options.seed), tick)
    finally:
        done()
    print(outcome)
    if options.out is not None:
        try:
            Path(options.out).write_text(outcome.picture, encoding="utf-8")
        except OSError as failure:
            raise WrongUsage(f"cannot write {options.out!r}: {failure.strerror}") from None
    if outcome.within:
        return ACCEPTED
    sys.stdout.flush()
    print("privql: this is more, or less, than theory says of it: a fault in PrivQL, please report it", file=sys.stderr)
    return REJECTED


def _amount(option: str, given: str, least: Decimal, most: Decimal, *, zero: bool = False) -> Fraction:
    try:
        amount = Decimal(given if len(given) <= 40 else "NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    if amount.is_finite() and (least <= amount <= most or (zero and amount == 0)):
        return Fraction(amount)
    raise WrongUsage(f"{option} takes {'0, or ' if zero else ''}a decimal number from {least} to {most}, not {given!r}")


def _progress() -> tuple[Callable[[float], None], Callable[[], None]]:
    """A bar where there is somebody to see it, and how to take it away."""
    if sys.stderr is None or not sys.stderr.isatty():
        return lambda part: None, lambda: None

    def tick(part: float) -> None:
        full = round(min(part, 1.0) * WIDTH)
        print(f"\r{'█' * full}{'░' * (WIDTH - full)} {100 * part:3.0f}%", end="", file=sys.stderr, flush=True)

    return tick, lambda: print(f"\r{' ' * (WIDTH + 6)}\r", end="", file=sys.stderr, flush=True)
