"""`privql conformance ADDRESS`: whether the engine there means what it should, over invented values alone."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from privql.surfaces.formats import Printer
from privql.surfaces.inputs import WrongUsage
from privql.surfaces.progress import watched
from privql.surfaces.words import ACCEPTED, REJECTED, Command, connections_option, format_option

if TYPE_CHECKING:
    from privql.conformance.report import Report


def quickly(address: object) -> tuple[int, str]:
    """For the doctor: how many cases, and the first that is wrong."""
    report = _tried(address, quick=True, seed=0)
    return report.cases, next((f"{each.operation}, {each.example}" for each in report.outcomes if each.example), "")


def _tried(address: object, quick: bool, seed: int) -> Report:
    from privql.conformance.kit import FULL, QUICK, conformance
    from privql.engines.opening import of_values

    opening, holds = of_values(address)
    return conformance(lambda stored: opening(stored, lambda cause: None), QUICK if quick else FULL, seed, holds)


def _conformance(options: argparse.Namespace) -> int:
    from privql.engines.connections import ConnectionProblem, Connections, has_secret
    from privql.engines.interface import EngineError

    given: str = options.address
    if has_secret(given):
        raise WrongUsage(
            "a password on a command line is seen by all of the machine: name a connection, or use ~/.pgpass"
        )
    try:
        named = "://" not in given
        address = Connections(file=options.connections, folder=os.getcwd()).find(given) if named else given
        with watched(f"trying {given}", None):
            report = _tried(address, options.quick, options.seed)
    except ConnectionProblem as problem:
        raise WrongUsage(f"{problem}; {problem.help}") from None
    except EngineError:
        raise WrongUsage(f"nobody answers at {given!r}, or not to you") from None
    Printer(options.format, sys.stdout).told(str(report), report.to_json())
    return ACCEPTED if report.ok else REJECTED


def conformance_command(commands: Any, command: Command) -> None:
    says = "try an engine: every operation over hostile values, beside its meaning; exit 1 if one differs"
    made = command(commands, "conformance", _conformance, says)
    made.add_argument("address", nargs="?", default="duckdb://", metavar="ADDRESS", help="or a connection (DuckDB)")
    made.add_argument("--quick", action="store_true", help="a few cases of each instead of all")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="other random values and terms (0)")
    connections_option(made)
    format_option(made, ("table", "json"))
