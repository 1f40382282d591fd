"""`privql ledger …`: what the owner and an auditor do with a ledger."""

from __future__ import annotations

import argparse
import json
import sys

from privql.surfaces import inputs
from privql.surfaces.formats import Printer
from privql.surfaces.inputs import WrongUsage
from privql.surfaces.words import ACCEPTED, REJECTED, Command, format_option, ledger_option


def _verify(options: argparse.Namespace) -> int:
    from privql.pipeline.entries import audit

    anchors = None if options.anchor is None else inputs.query_text(options.anchor, None).text
    found = audit(inputs.existing_ledger(options.ledger), anchors)
    text = "\n".join(found) or "the ledger is whole: its chain holds, each charge was affordable, every sum is right"
    Printer(options.format, sys.stdout).told(text, {"ok": not found, "wrong": list(found)})
    return REJECTED if found else ACCEPTED


def _anchor(options: argparse.Namespace) -> int:
    from privql.pipeline.entries import anchor

    print(anchor(inputs.existing_ledger(options.ledger)))
    return ACCEPTED


def _show(options: argparse.Namespace) -> int:
    from privql.pipeline.entries import show

    if options.last is not None and (options.what or options.last < 1):
        raise WrongUsage("--last takes how many of all entries, one or more, and no name beside it")
    shown = show(inputs.existing_ledger(options.ledger), " ".join(options.what) or None, options.last)
    Printer(options.format, sys.stdout).told(str(shown), shown.to_json())
    return ACCEPTED


def _export(options: argparse.Namespace) -> int:
    from privql.pipeline.entries import export

    for line in export(inputs.existing_ledger(options.ledger), options.answers):
        print(json.dumps(line, ensure_ascii=False, allow_nan=False))
    return ACCEPTED


def _what_if(options: argparse.Namespace) -> int:
    from privql.pipeline.what_if import what_if

    changed = options.epsilon, options.delta, options.shares
    if (options.policy is None) == (options.budget is None):
        raise WrongUsage("give --policy POLICY, or --budget NAME with what would be different of it")
    if options.policy is not None:
        if any(changed):
            raise WrongUsage("--epsilon, --delta and --shares are of one --budget")
        inputs.query_text(options.policy, None)
    told = what_if(inputs.existing_ledger(options.ledger), options.policy, options.budget, *changed)
    Printer(options.format, sys.stdout).told(str(told), told.to_json())
    return ACCEPTED


def _forget(options: argparse.Namespace) -> int:
    from privql.pipeline.entries import forget

    if options.release is None and options.analyst is None and options.before is None:
        raise WrongUsage("say what to forget: a release, --analyst NAME or --before DATE")
    ledger, by = inputs.existing_ledger(options.ledger), inputs.analyst_name(options.by)
    gone = forget(ledger, options.release, options.analyst, options.before, by)
    text = f"forgotten: {', '.join(gone)}" if gone else "there is nothing left to forget of that"
    Printer(options.format, sys.stdout).told(text, {"forgotten": list(gone)})
    return ACCEPTED


def _incidents(options: argparse.Namespace) -> int:
    from privql.ledger import on_server
    from privql.pipeline.entries import incidents

    found = incidents(inputs.existing_ledger(options.ledger))
    none = "beside a ledger on a server no incidents are kept" if on_server(options.ledger) else "nothing failed"
    told = "\n".join(f"{one.number}  {one.at}  {one.release_id} of {one.analyst}: {one.words}" for one in found)
    Printer(options.format, sys.stdout).told(told or none, {"incidents": [one.to_json() for one in found]})
    return ACCEPTED


def _allow(options: argparse.Namespace) -> int:
    from privql.pipeline.entries import allow

    allow(inputs.existing_ledger(options.ledger), options.releases)
    told = f"{', '.join(options.releases)} may be taken up again"
    Printer(options.format, sys.stdout).told(told, {"allowed": options.releases})
    return ACCEPTED


def ledger_commands(ledger: argparse.ArgumentParser, command: Command) -> None:
    """`command` adds one to the words of the command line."""
    owner = ledger.add_subparsers(metavar="verify|anchor|show|export|what-if|incidents|allow|forget", required=True)

    made = command(owner, "verify", _verify, "check the chain, every charge and every sum; exit 1 if one is wrong")
    made.add_argument("--anchor", metavar="FILE", help="what `anchor` wrote before: finds an older or rewritten file")
    _common(made)

    made = command(owner, "anchor", _anchor, "one line that says where the chain is, to be kept elsewhere")
    ledger_option(made)

    made = command(owner, "show", _show, "what was charged: who, what, for how much, from which budget, and its state")
    made.add_argument("what", nargs="*", metavar="RELEASE", help="one of them in full: r7, or plan 2")
    made.add_argument("--last", type=int, metavar="N", help="only the last so many")
    _common(made)

    made = command(owner, "export", _export, "every entry of the chain as a JSON object a line, oldest first")
    made.add_argument("--answers", action="store_true", help="with the answers that were released")
    ledger_option(made)

    made = command(owner, "what-if", _what_if, "which charges other budgets would have refused; changes nothing")
    made.add_argument("--policy", metavar="POLICY", help="all budgets and grants as in this file")
    made.add_argument("--budget", metavar="NAME", help="one budget of the policy in force, with")
    made.add_argument("--epsilon", metavar="AMOUNT", help="another ε")
    made.add_argument("--delta", metavar="AMOUNT", help="another δ")
    made.add_argument("--shares", metavar="SHARES", help="δ split otherwise: 'KEYS 1/4, PLAIN 3/4'")
    _common(made)

    made = command(owner, "incidents", _incidents, "what failed after it was charged, in the engine's own words")
    _common(made)

    made = command(owner, "allow", _allow, "let what failed or has no answer be taken up again, once you looked at it")
    made.add_argument("releases", nargs="+", metavar="RELEASE", help="which: r7 r9")
    _common(made)

    made = command(owner, "forget", _forget, "erase texts and answers of charges, which stay charged")
    made.add_argument("release", nargs="?", metavar="RELEASE", help="one release: r7")
    made.add_argument("--analyst", metavar="NAME", help="all of this analyst's")
    made.add_argument("--before", metavar="DATE", help="all that were charged before: 2026-01-31")
    made.add_argument("--as", dest="by", metavar="NAME", help="who forgets (the operating system's user)")
    _common(made)


def _common(made: argparse.ArgumentParser) -> None:
    ledger_option(made)
    format_option(made, ("table", "json"))  # none of it is a table of rows
