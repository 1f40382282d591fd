"""`privql doctor`: the owner's look at data, connections and ledger."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from privql.surfaces import inputs
from privql.surfaces.conformance import quickly
from privql.surfaces.formats import Printer
from privql.surfaces.progress import watched
from privql.surfaces.words import ACCEPTED, REJECTED, Command, connections_option, format_option, ledger_option


def _doctor(options: argparse.Namespace) -> int:
    from privql.ledger import on_server
    from privql.pipeline.doctor import doctor

    inputs.query_text(options.policy, None)
    there = on_server(options.ledger) or Path(options.ledger).is_file()
    found = doctor(options.policy, options.ledger if there else None, options.connections, watched, quickly)
    Printer(options.format, sys.stdout).told(str(found), found.to_json())
    return ACCEPTED if found.ok else REJECTED


def doctor_command(commands: Any, command: Command) -> None:
    says = "the owner's: look at data, connections and ledger; exit 1 if something is wrong"
    made = command(commands, "doctor", _doctor, says)
    made.add_argument("--policy", required=True, metavar="POLICY", help="the policy whose tables are looked at")
    connections_option(made)
    ledger_option(made)
    format_option(made, ("table", "json"))
