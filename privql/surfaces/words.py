"""What the commands share: how they end, how they complain, and the options that most of them take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from privql.diagnostics import Diagnostic
from privql.surfaces.formats import FORMATS

ACCEPTED, REJECTED, WRONG, INCONCLUSIVE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141
Command = Callable[[Any, str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def complain(diagnostics: Sequence[Diagnostic]) -> None:
    sys.stdout.flush()
    if diagnostics:
        print("\n\n".join(str(diagnostic) for diagnostic in diagnostics), file=sys.stderr)


def ledger_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ledger", default="ledger.db", metavar="LEDGER", help="where budget is kept (ledger.db)")


def format_option(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    parser.add_argument("--format", choices=formats, default="table", help="how to print (table)")


def connections_option(parser: argparse.ArgumentParser) -> None:
    help = "where the policy's connections lead (connections.toml beside the policy, or PRIVQL_CONNECTIONS)"
    parser.add_argument("--connections", metavar="FILE", help=help)
