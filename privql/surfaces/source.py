"""`privql source script CONNECTION`: a role for the server that may read what the policy declares, and nothing else."""

from __future__ import annotations

import argparse
import sys

from privql.surfaces import inputs
from privql.surfaces.words import ACCEPTED, Command


def _script(options: argparse.Namespace) -> int:
    from privql.engines.postgres.roles import Granted, role_script
    from privql.names import fold
    from privql.pipeline.policies import read_policy
    from privql.policy.build import build_catalog
    from privql.policy.findings import accepted

    inputs.query_text(options.policy, None)
    source, _ = read_policy(options.policy)
    catalog = accepted(*build_catalog(source))
    tables = [table for table in catalog.tables if table.place == fold(options.connection)]
    if not tables:
        raise inputs.WrongUsage(f"no table of the policy is `FROM {options.connection}.…`")
    granted = [Granted(table.connection[1:], tuple(column.name for column in table.columns)) for table in tables]
    sys.stdout.write(role_script(options.role, granted))
    return ACCEPTED


def source_commands(source: argparse.ArgumentParser, command: Command) -> None:
    words = source.add_subparsers(metavar="script", required=True)
    made = command(words, "script", _script, "print SQL that makes a role which reads what the policy declares alone")
    made.add_argument("connection", metavar="CONNECTION", help="a PostgreSQL server, as the policy names it")
    made.add_argument("--policy", required=True, metavar="POLICY", help="the policy whose tables it is to read")
    made.add_argument("--role", default="privql_reader", metavar="NAME", help="what to call it (privql_reader)")
