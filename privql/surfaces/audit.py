"""`privql audit QUERY`: whether a query keeps what PrivQL claims of it, tried on invented rows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from privql.surfaces import inputs
from privql.surfaces.formats import Printer
from privql.surfaces.inputs import WrongUsage
from privql.surfaces.progress import watched
from privql.surfaces.words import ACCEPTED, INCONCLUSIVE, REJECTED, Command, format_option, ledger_option

if TYPE_CHECKING:
    from privql.diagnostics import Source
    from privql.policy.catalog import Catalog

FAULTS = ("noise", "sensitivity", "clamp", "rows", "parts", "groups", "failure")
ENDS = {"not contradicted": ACCEPTED, "contradicted": REJECTED, "inconclusive": INCONCLUSIVE}
DRAWS, DATABASES = (1000, 10_000_000), (100, 1_000_000)


def audit_command(commands: object, command: Command) -> None:
    says = "try what is claimed of a query: on small databases, on neighbours, by many answers; on invented rows alone"
    made = command(commands, "audit", _audit, says)
    made.epilog = (
        "exit status: 0 where nothing contradicts the claims, 1 where something does, 3 where that is open: no row was "
        "found that some part of the query measures, or a planted fault was not found; 2 for wrong usage"
    )
    made.add_argument("file", nargs="?", metavar="FILE", help="a file of statements; - reads standard input")
    made.add_argument("-c", dest="text", metavar="TEXT", help="the statements themselves")
    ledger_option(made)
    made.add_argument("--policy", metavar="POLICY", help="under a policy file alone, without a ledger")
    made.add_argument("--as", dest="analyst", metavar="NAME", help="who asks (the operating system's user)")
    made.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="bind $NAME; repeatable")
    made.add_argument("--draws", type=int, default=10_000, metavar="N", help="answers of each database (10000)")
    made.add_argument("--databases", type=int, default=2000, metavar="N", help="small databases, about (2000)")
    made.add_argument("--seed", type=int, default=1, metavar="S", help="of the invented rows (1); noise has none")
    made.add_argument("--planted-fault", choices=FAULTS, metavar="FAULT", help=f"to be found: {', '.join(FAULTS)}")
    format_option(made, ("table", "json"))


def _audit(options: argparse.Namespace) -> int:
    given = inputs.query_text(options.file, options.text)
    for option, number, (least, most) in (("draws", options.draws, DRAWS), ("databases", options.databases, DATABASES)):
        if not least <= number <= most:
            raise WrongUsage(f"--{option} takes a number from {least} to {most}, not {number}")
    if not 0 <= options.seed < 2**63:
        raise WrongUsage("--seed is a number from 0 to 2^63 - 1")
    params = inputs.parameters(options.param)
    analyst = inputs.analyst_name(options.analyst)
    policy, catalog, base = _declared(options)

    from privql.audit.auditing import Given, NotThere, audit
    from privql.audit.faults import FAULTS, NO_FAULT
    from privql.audit.replay import Asked
    from privql.diagnostics import Source

    fault = FAULTS[options.planted_fault] if options.planted_fault else NO_FAULT
    asked = Asked(policy, catalog, base, analyst, Source(given.text, given.name), params)
    amount, done = Given(options.draws, options.databases, options.seed, fault=fault), [0.0]
    try:
        with watched("auditing", lambda: done[-1]):
            report = audit(asked, amount, done.append)
    except NotThere:
        raise WrongUsage(f"nothing in this query could be spoiled by the fault `{fault.name}`: {fault.says}") from None
    Printer(options.format, sys.stdout).told(str(report), report.to_json())
    return ENDS[report.verdict]


def _declared(options: argparse.Namespace) -> tuple[Source, Catalog, Path]:
    """The policy, of a file or of a ledger; nothing else of either is read."""
    from privql.ledger import Ledger
    from privql.pipeline.policies import catalog_from_ledger, read_policy
    from privql.policy.build import build_catalog
    from privql.policy.findings import accepted

    if options.policy is not None:
        inputs.query_text(options.policy, None)
        source, base = read_policy(Path(options.policy))
        return source, accepted(*build_catalog(source)), base
    with Ledger.open(inputs.existing_ledger(options.ledger)) as ledger:
        catalog, source, base, _ = catalog_from_ledger(ledger)
    return source, catalog, base
