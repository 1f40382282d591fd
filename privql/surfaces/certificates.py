"""`privql verify`, and the files that `privql run --certificates` leaves."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privql.surfaces import inputs
from privql.surfaces.formats import Printer
from privql.surfaces.inputs import WrongUsage
from privql.surfaces.words import ACCEPTED, REJECTED, Command, format_option

if TYPE_CHECKING:
    from privql.finish.result import Release


def folder(given: str | None) -> Path | None:
    """Where certificates go: known to be there before anything is spent."""
    if given is None:
        return None
    try:
        Path(given).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError):
        raise WrongUsage(f"{given!r} is no folder that certificates could be put into") from None
    return Path(given)


def leave(release: Release, folder: Path | None) -> None:
    """The certificates of an answer, or of all answers of a plan, each under the name of its release."""
    for one in (release, *release.answers) if folder is not None else ():
        if one.proof is not None:
            assert folder is not None
            (folder / f"{one.release_id}.json").write_text(one.proof + "\n", "ascii")


def _verify(options: argparse.Namespace) -> int:
    from privql.pipeline.attesting import attested

    text = inputs.query_text(options.file, None).text
    policy = None if options.policy is None else inputs.query_text(options.policy, None).text
    found = attested(text, policy, None if options.ledger is None else inputs.existing_ledger(options.ledger))
    Printer(options.format, sys.stdout).told(str(found), found.to_json())
    return ACCEPTED if found.wrong is None else REJECTED


def certificate_commands(commands: Any, command: Command) -> None:
    made = command(commands, "verify", _verify, "check the certificate of an answer; exit 1 if it proves nothing")
    made.add_argument("file", metavar="CERTIFICATE", help="one of those that `run --certificates FOLDER` leaves")
    made.add_argument("--policy", metavar="POLICY", help="the policy, as it was applied: what it declares is held too")
    made.add_argument("--ledger", metavar="LEDGER", help="the ledger of the release: what it charged is held, too")
    format_option(made)
