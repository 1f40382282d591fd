"""`privql policy …`: the owner's commands, each as thin as the analyst's."""

from __future__ import annotations

import argparse
import sys

from privql.diagnostics import Source
from privql.surfaces import inputs
from privql.surfaces.formats import Printer
from privql.surfaces.progress import watched
from privql.surfaces.words import (
    ACCEPTED,
    REJECTED,
    Command,
    complain,
    connections_option,
    format_option,
    ledger_option,
)


def _policy_check(options: argparse.Namespace) -> int:
    from privql.policy.build import build_catalog

    given = inputs.query_text(options.policy, None)
    _, found = build_catalog(Source(given.text, given.name))
    rejected = any(diagnostic.severity == "error" for diagnostic in found)
    Printer(options.format, sys.stdout).policy(not rejected, found)
    complain(found)
    return REJECTED if rejected else ACCEPTED


def _policy_apply(options: argparse.Namespace) -> int:
    from privql.pipeline.apply import apply_policy

    inputs.query_text(options.policy, None)  # a file that is no text is wrong usage, whatever it would declare
    applied = apply_policy(
        options.policy,
        options.ledger,
        reason=options.reason,
        by=inputs.analyst_name(options.by),
        connections=options.connections,
        watch=watched,
    )
    Printer(options.format, sys.stdout).applied(applied)
    return ACCEPTED


def _policy_diff(options: argparse.Namespace) -> int:
    from privql.session import policy_diff

    inputs.query_text(options.policy, None)
    diff = policy_diff(options.policy, inputs.existing_ledger(options.ledger))
    Printer(options.format, sys.stdout).told(str(diff), diff.to_json())
    return REJECTED if diff.unreasoned else ACCEPTED


def _policy_history(options: argparse.Namespace) -> int:
    from privql.session import policy_history

    history = policy_history(inputs.existing_ledger(options.ledger))
    Printer(options.format, sys.stdout).told(str(history), history.to_json())
    return ACCEPTED


def _policy_show(options: argparse.Namespace) -> int:
    from privql.pipeline.versions import policy_text

    record = policy_text(inputs.existing_ledger(options.ledger), options.version)
    Printer(options.format, sys.stdout).told(record.text, {"version": record.version, "text": record.text})
    return ACCEPTED


def owner_commands(policy: argparse.ArgumentParser, command: Command) -> None:
    """`command` adds one to the words of the command line."""
    owner = policy.add_subparsers(metavar="check|diff|apply|history|show", required=True)
    for name, does, says in (
        ("check", _policy_check, "read a policy and say what is wrong with it"),
        ("diff", _policy_diff, "say what it would change for the loss; exit 1 if something needs a reason"),
        ("apply", _policy_apply, "make it the policy of a ledger, after its declarations were verified on the data"),
        ("history", _policy_history, "every version: when, by whom, why, and what it changed"),
        ("show", _policy_show, "the text of a version"),
    ):
        made = command(owner, name, does, says)
        if name in ("check", "diff", "apply"):
            made.add_argument("policy", metavar="POLICY", help="a file of CREATE UNIT, TABLE, BUDGET and GRANT")
        if name == "show":
            made.add_argument("version", metavar="VERSION", nargs="?", type=int, help="which one (that in force)")
        if name == "apply":
            connections_option(made)
            made.add_argument("--reason", default="", metavar="TEXT", help="why less may be protected than before")
            made.add_argument("--as", dest="by", metavar="NAME", help="who applies it (the operating system's user)")
        ledger_option(made)
        format_option(made, ("table", "json"))  # none of it is a table of rows
